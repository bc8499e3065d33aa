//! Pages that are made from the tables.

use slipway_engine::{ProcessTable, Row};
use slipway_model::time::spell;
use slipway_provisioner::{OperationKind, Provisioner};

use crate::laws::LAWS;

fn page(table: &ProcessTable<Provisioner>) -> String {
    let kind = OperationKind::all().find(|kind| kind.process_name() == table.name).expect("every process has its kind");
    let file = table.name.trim_start_matches("provisioner_");
    format!(
        "# Process {name}\n\n<!-- Made from the table in slipway-provisioner/src/processes/{file}.rs. `UPDATE=1 cargo test -p slipway-provisioner` rewrites it. -->\n\n\
         Version {version}, known to clients as `{kind}`, runs as `{engine}`, and has {budget} for everything. The names of the stages are what\n\
         clients read; each stage has a deadline of its own, counted from when it is entered.\n\n\
         A stage that is finished never runs again; one that is not begins anew after a restart.\n\n{rows}",
        name = table.name,
        version = table.version,
        kind = kind.as_str(),
        engine = table.kind,
        budget = spell(table.budget),
        rows = all_rows(table),
    )
}

fn all_rows(table: &ProcessTable<Provisioner>) -> String {
    let mut text = rows(table.rows);
    if !table.finalizers.is_empty() {
        text.push_str(&format!("\nBefore the end, whatever it is:\n\n{}", rows(table.finalizers)));
    }
    text
}

fn rows(rows: &[Row<Provisioner>]) -> String {
    let mut text = String::from("| Stage | Step | Component |\n|---|---|---|\n");
    for Row { stage, step, .. } in rows {
        text.push_str(&format!("| `{stage}` | `{}` | `{}` |\n", step.name(), step.component()));
    }
    text
}

#[test]
fn every_process_has_its_page_and_it_is_up_to_date() {
    LAWS.assert_pages_are_up_to_date(page, all_rows);
}
