//! Values of objects as values of CEL.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use kube_cel::{
    KubeCelExt as _,
    cel::{
        Context, Program, Value as Cel,
        objects::{Key, Map as CelMap},
    },
};
use serde_json::Value;

use super::node::{Node, Type};

thread_local! {
    /// Kubernetes' functions; building the table takes longer than most rules.
    pub(super) static FUNCTIONS: Context<'static> = Context::default().with_all();
    static AS_TIMESTAMP: Option<Program> = Program::compile("timestamp(text)").ok();
    static AS_DURATION: Option<Program> = Program::compile("duration(text)").ok();
}

/// `2.0` passes for an integer everywhere but in CEL.
pub(super) fn float_for_integer(node: &Node, value: &Value) -> Option<&'static str> {
    match value {
        Value::Number(number) if node.ty == Type::Integer && number.is_f64() => {
            Some("invalid data, expected int, got float64")
        }
        Value::Object(fields) => {
            let child = |name: &String| node.properties.get(name).map(|child| &**child).or_else(|| node.each());
            fields.iter().find_map(|(name, value)| float_for_integer(child(name)?, value))
        }
        Value::Array(items) => items.iter().find_map(|item| float_for_integer(node.items.as_deref()?, item)),
        _ => None,
    }
}

/// What the schema says nothing about.
static OPEN: LazyLock<Node> = LazyLock::new(Node::open);

/// A value of CEL.
pub(super) fn convert(node: &Node, value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(truth) => Cel::Bool(*truth),
        Value::Number(number) => match (node.ty, number.as_i64()) {
            (Type::Number, _) | (_, None) => Cel::Float(number.as_f64().unwrap_or_default()),
            (_, Some(whole)) => Cel::Int(whole),
        },
        Value::String(text) => typed_text(node, text),
        Value::Array(items) => {
            let child = node.items.as_deref().unwrap_or(&OPEN);
            Cel::List(Arc::new(items.iter().map(|item| convert(child, item)).collect()))
        }
        Value::Object(fields) => {
            let map: HashMap<Key, Cel> = fields
                .iter()
                .map(|(name, value)| {
                    let (key, child) = match node.field(name) {
                        Some(child) => (escape(name), child),
                        None => (name.clone(), node.each().unwrap_or(&OPEN)),
                    };
                    (Key::String(Arc::new(key)), convert(child, value))
                })
                .collect();
            Cel::Map(CelMap { map: Arc::new(map) })
        }
    }
}

/// Times and durations are values of their own in CEL.
fn typed_text(node: &Node, text: &str) -> Cel {
    let plain = || Cel::String(Arc::new(text.to_owned()));
    let program = match node.format.as_deref() {
        Some("date-time") => &AS_TIMESTAMP,
        Some("duration") => &AS_DURATION,
        _ => return plain(),
    };
    FUNCTIONS.with(|functions| {
        let mut context = functions.new_inner_scope();
        context.add_variable_from_value("text", plain());
        program
            .with(|program| program.as_ref().and_then(|program| program.execute(&context).ok()))
            .unwrap_or_else(plain)
    })
}

/// Words of CEL that cannot be field names in it.
const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The name of a field as rules write it.
pub(super) fn escape(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__").replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__")
}
