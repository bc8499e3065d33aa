//! Tables for people. Columns may change; programs use `-o json`.

use comfy_table::{ContentArrangement, Table, presets};
use slipway_clients::broker::wire::{Operation, OperationDetails, Record};

fn table<const N: usize>(head: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_header(head);
    table
}

pub(super) fn operations(operations: &[Operation]) -> String {
    let mut table = table(["ID", "INSTANCE", "PROCESS", "STATE", "CREATED", "DESCRIPTION"]);
    for op in operations {
        table.add_row([&op.id, &op.instance_id, &op.process, &state(op), &op.created_at, &op.description]);
    }
    table.trim_fmt()
}

/// The state, and what stands against it.
fn state(op: &Operation) -> String {
    match (&op.pause, &op.cancel) {
        _ if op.finished_at.is_some() => op.state.clone(),
        (_, Some(_)) => format!("{} (to be canceled)", op.state),
        (Some(_), None) => format!("{} (paused)", op.state),
        (None, None) if op.stranded.is_some() => format!("{} (stranded)", op.state),
        (None, None) => op.state.clone(),
    }
}

pub(super) fn details(details: &OperationDetails) -> String {
    let op = &details.operation;
    let mut lines = vec![
        format!("operation    {}", op.id),
        format!("instance     {}", op.instance_id),
        format!("process      {} ({})", op.process, op.kind),
        format!("state        {}", state(op)),
        format!("description  {}", op.description),
        format!("created      {}", op.created_at),
    ];
    let mut optional = |name: &str, value: Option<String>| {
        lines.extend(value.map(|value| format!("{name:<13}{value}")));
    };
    optional("finished", op.finished_at.clone());
    optional("deadline", op.deadline.clone());
    optional("waits on", op.waits_on.clone().filter(|_| op.finished_at.is_none()));
    optional("next look", op.next_look_at.clone());
    optional("stranded", op.stranded.clone());
    optional("paused", op.pause.as_ref().map(|wish| format!("by {}: {}", wish.by, wish.why)));
    optional("cancel", op.cancel.as_ref().map(|wish| format!("by {}: {}", wish.by, wish.why)));
    optional(
        "error",
        op.last_error.as_ref().map(|e| format!("{} ({}, {}, step {})", e.message, e.reason, e.component, e.step)),
    );

    let mut steps = table(["STAGE", "STEP", "STATUS", "RUNS", "LAST RUN", "NEXT LOOK", "REASON"]);
    let or_empty = |text: &Option<String>| text.clone().unwrap_or_default();
    for step in &details.steps {
        steps.add_row([
            step.stage.clone(),
            step.step.clone(),
            step.status.clone(),
            step.attempts.to_string(),
            or_empty(&step.last_run_at),
            or_empty(&step.next_run_at),
            or_empty(&step.reason),
        ]);
    }
    format!("{}\n\n{}", lines.join("\n"), steps.trim_fmt())
}

pub(super) fn records(records: &[Record]) -> String {
    let mut table = table(["NUMBER", "AT", "KIND", "WHAT HAPPENED"]);
    for record in records {
        table.add_row([&record.id.to_string(), &record.at, &record.kind, &record.sentence]);
    }
    table.trim_fmt()
}
