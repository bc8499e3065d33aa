//! `x-kubernetes-validations`: rules in CEL, among them those that compare with the old value.
//!
//! The rules run on values converted by the schema: named fields under their escaped names, keys of
//! maps as they are, numbers and times with the type the schema gives them. A rule that needs a
//! function or macro our CEL lacks is passed over: refusing right objects would hinder more than
//! accepting a few wrong ones.

use std::sync::Arc;

use kube_cel::cel::{ExecutionError, IdedExpr, Value as Cel, objects::OptionalValue, parser::Parser};
use serde_json::{Map, Value};

use super::{
    cel_value::{FUNCTIONS, convert, float_for_integer},
    correlate,
    node::{Node, Type},
    path,
    typing::{self, Wanted},
};
use crate::status::{Cause, CauseReason};

/// One rule.
#[derive(Debug)]
pub(crate) struct Rule {
    text: String,
    message: String,
    reason: Option<String>,
    field_path: String,
    optional_old_self: bool,
    uses_old_self: bool,
    program: Result<IdedExpr, String>,
    message_program: Option<Result<IdedExpr, String>>,
}

impl Rule {
    /// The rules of one level.
    pub(super) fn read_all(schema: &Map<String, Value>) -> Vec<Self> {
        let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array).map(Vec::as_slice);
        rules.unwrap_or_default().iter().map(Self::read).collect()
    }

    fn read(rule: &Value) -> Self {
        let text = |name: &str| rule.get(name).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
        // With optional fields, `self.?color`, which rules of Kubernetes have.
        let compile = |text: &str| {
            let parser = Parser::default().enable_optional_syntax(true);
            parser.parse(text).map_err(|error| error.to_string())
        };
        let program = compile(&text("rule"));
        let uses_old_self = program.as_ref().is_ok_and(|program| program.references().has_variable("oldSelf"));
        let message_expression = text("messageExpression");
        Self {
            message: text("message"),
            reason: rule.get("reason").and_then(Value::as_str).map(str::to_owned),
            field_path: text("fieldPath"),
            optional_old_self: rule.get("optionalOldSelf").and_then(Value::as_bool).unwrap_or(false),
            uses_old_self,
            program,
            message_program: (!message_expression.is_empty()).then(|| compile(&message_expression)),
            text: text("rule"),
        }
    }

    /// Why the rule of this level itself is wrong, and in which of its fields.
    pub(super) fn faults(&self, node: &Node) -> Vec<(&'static str, String)> {
        let mut faults = Vec::new();
        let typed = |program, wanted| typing::fault(program, node, wanted, self.optional_old_self);
        match &self.program {
            Err(error) => faults.push(("rule", format!("compilation failed: {error}"))),
            Ok(program) => faults.extend(typed(program, Wanted::Truth).map(|why| ("rule", why))),
        }
        match &self.message_program {
            None => {}
            Some(Err(error)) => {
                faults.push(("messageExpression", format!("messageExpression compilation failed: {error}")));
            }
            Some(Ok(program)) => faults.extend(typed(program, Wanted::Text).map(|why| ("messageExpression", why))),
        }
        faults
    }

    /// Whether the rule compares with the old value.
    pub(super) fn uses_old_self(&self) -> bool {
        self.uses_old_self
    }

    fn named(&self) -> &str {
        if self.message.is_empty() { &self.text } else { &self.message }
    }

    fn judge(&self, node: &Node, value: &Value, old: Option<&Value>, at: &str) -> Option<Cause> {
        let Ok(program) = &self.program else { return None };
        if self.uses_old_self && old.is_none() && !self.optional_old_self {
            return None;
        }
        // What fails now but is as it was may stay; only rules about the change itself still count.
        if !self.uses_old_self && old == Some(value) {
            return None;
        }
        if let Some(mistyped) = float_for_integer(node, value) {
            let detail = format!("{mistyped} evaluating rule: {}", self.named());
            return Some(Cause::invalid(at, &Value::from(node.ty.as_str()), &detail));
        }
        let outcome = evaluate(program, node, value, old, self.optional_old_self);
        let shown_type = node.ty.as_str();
        let omitted = matches!(node.ty, Type::Object | Type::Array);
        match outcome {
            Ok(Cel::Bool(true)) | Err(ExecutionError::UndeclaredReference(_)) => None,
            // Our CEL stumbles where `self.?color` finds nothing, instead of going on with nothing.
            Err(ExecutionError::NoSuchKey(_)) if self.text.contains(".?") || self.text.contains("[?") => None,
            Ok(_) => {
                let detail = self.message_for(node, value, old);
                Some(self.cause(&self.place(at), (!omitted).then_some(value), &detail))
            }
            Err(error) => {
                let detail = format!("{} evaluating rule: {}", spelled(&error), self.named());
                Some(Cause::invalid(at, &Value::from(shown_type), &detail))
            }
        }
    }

    /// The message: the expression's if it gives one line of text, else the fixed one, else the rule.
    fn message_for(&self, node: &Node, value: &Value, old: Option<&Value>) -> String {
        if let Some(Ok(program)) = &self.message_program
            && let Ok(Cel::String(text)) = evaluate(program, node, value, old, self.optional_old_self)
        {
            let text = text.trim();
            if !text.is_empty() && !text.contains(['\n', '\r']) {
                return text.to_owned();
            }
        }
        if self.message.is_empty() { format!("failed rule: {}", self.text) } else { self.message.clone() }
    }

    fn place(&self, at: &str) -> String {
        let below = self.field_path.trim_start_matches('.').replace("['", "[").replace("']", "]");
        if below.is_empty() { at.to_owned() } else { path::child(at, &below) }
    }

    fn cause(&self, at: &str, value: Option<&Value>, detail: &str) -> Cause {
        let valued = |title: &str| value.map_or_else(|| title.to_owned(), |value| format!("{title}: {value}"));
        let (reason, message) = match self.reason.as_deref() {
            Some("FieldValueForbidden") => (CauseReason::FieldValueForbidden, format!("Forbidden: {detail}")),
            Some("FieldValueRequired") => (CauseReason::FieldValueRequired, format!("Required value: {detail}")),
            Some("FieldValueDuplicate") => (CauseReason::FieldValueDuplicate, valued("Duplicate value")),
            _ => (CauseReason::FieldValueInvalid, format!("{}: {detail}", valued("Invalid value"))),
        };
        let field = if at.is_empty() { "<nil>".to_owned() } else { at.to_owned() };
        Cause { field, reason, message }
    }
}

/// Runs all rules of a value and below it.
pub(super) fn check(node: &Node, value: &Value, old: Option<&Value>, at: &str, causes: &mut Vec<Cause>) {
    if value.is_null() {
        return;
    }
    let old = old.filter(|old| !old.is_null());
    causes.extend(node.rules.iter().filter_map(|rule| rule.judge(node, value, old, at)));
    match value {
        Value::Object(fields) => {
            let old = old.filter(|_| !node.atomic_map);
            for (name, value) in fields {
                let old = old.and_then(|old| old.get(name));
                if let Some(child) = node.properties.get(name) {
                    check(child, value, old, &path::child(at, name), causes);
                } else if let Some(child) = node.each() {
                    check(child, value, old, &path::key(at, name), causes);
                }
            }
        }
        Value::Array(items) => {
            let Some(child) = &node.items else { return };
            let old = correlate::Items::of(node, old);
            for (index, item) in items.iter().enumerate() {
                check(child, item, old.like(item), &path::index(at, index), causes);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn evaluate(
    program: &IdedExpr,
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    optional_old_self: bool,
) -> Result<Cel, ExecutionError> {
    FUNCTIONS.with(|functions| {
        let mut context = functions.new_inner_scope();
        context.add_variable_from_value("self", convert(node, value));
        let old = old.map(|old| convert(node, old));
        if optional_old_self {
            let optional = old.map_or_else(OptionalValue::none, OptionalValue::of);
            context.add_variable_from_value("oldSelf", Cel::Opaque(Arc::new(optional)));
        } else if let Some(old) = old {
            context.add_variable_from_value("oldSelf", old);
        }
        Cel::resolve(program, &context)
    })
}

/// The most usual errors as CEL's first implementation words them.
fn spelled(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::NoSuchOverload => "no such overload".to_owned(),
        ExecutionError::IndexOutOfBounds(index) => match index {
            Cel::Int(index) => format!("index out of bounds: {index}"),
            other => format!("index out of bounds: {other:?}"),
        },
        other => other.to_string(),
    }
}
