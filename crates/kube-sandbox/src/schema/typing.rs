//! What can be told of a rule before it ever runs: names nobody declared, fields the schema does not
//! have, operators between values that can never meet, results that are no yes or no.
//!
//! The real server compiles rules with types and refuses a definition whose rules cannot work; otherwise
//! the mistake would be found by the first object. Our CEL has no types, so they are followed here, as far
//! as the schema gives them. Whatever is not known for sure is [`Ty::Any`] and passes: a right definition
//! is never refused.

use kube_cel::cel::{
    IdedExpr,
    common::ast::{Expr, LiteralValue, operators as op},
};

use super::{
    cel_value::escape,
    node::{Additional, Node, Type},
};

/// What a rule must come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// A rule.
    Truth,
    /// A message.
    Text,
}

/// The type of an expression.
#[derive(Debug, Clone, Copy)]
enum Ty<'a> {
    Any,
    Bool,
    Number,
    Text,
    /// A list of such items.
    List(Option<&'a Node>),
    /// An object or map with this schema.
    Object(&'a Node),
}

/// Of one sort; what is inside does not count.
impl PartialEq for Ty<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl<'a> Ty<'a> {
    fn of(node: &'a Node) -> Self {
        match node.ty {
            _ if node.int_or_string || node.nullable => Self::Any,
            Type::Boolean => Self::Bool,
            Type::Integer | Type::Number => Self::Number,
            // Bytes, times and durations are types of their own.
            Type::String if node.format.is_none() => Self::Text,
            Type::Array => Self::List(node.items.as_deref()),
            Type::Object => Self::Object(node),
            Type::String | Type::Any => Self::Any,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Any => "dyn",
            Self::Bool => "bool",
            Self::Number => "int",
            Self::Text => "string",
            Self::List(_) => "list",
            Self::Object(_) => "object",
        }
    }

    /// There may be values that are of both.
    fn meets(self, other: Self) -> bool {
        self == other || self == Self::Any || other == Self::Any
    }

    fn is(self, wanted: Self) -> bool {
        self == Self::Any || self == wanted
    }
}

/// Names that are no variables: types are values too.
const TYPES: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "dyn",
    "duration",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "timestamp",
    "type",
    "uint",
];

/// The variables in sight, the innermost last.
type Scope<'a> = Vec<(String, Ty<'a>)>;

/// Why the rule of this level cannot work.
pub(super) fn fault(rule: &IdedExpr, node: &Node, wanted: Wanted, has_optional_old_self: bool) -> Option<String> {
    let old = if has_optional_old_self { Ty::Any } else { Ty::of(node) };
    let mut scope = vec![("self".to_owned(), Ty::of(node)), ("oldSelf".to_owned(), old)];
    match infer(rule, &mut scope) {
        Err(why) => Some(format!("compilation failed: ERROR: <input>:1:1: {why}")),
        Ok(found) if wanted == Wanted::Truth && !found.is(Ty::Bool) => {
            Some("cel expression must evaluate to a bool".to_owned())
        }
        Ok(found) if wanted == Wanted::Text && !found.is(Ty::Text) => {
            Some("messageExpression must evaluate to a string".to_owned())
        }
        Ok(_) => None,
    }
}

fn infer<'a>(expression: &IdedExpr, scope: &mut Scope<'a>) -> Result<Ty<'a>, String> {
    match &expression.expr {
        Expr::Ident(name) => variable(name, scope),
        Expr::Literal(literal) => Ok(match literal {
            LiteralValue::Boolean(_) => Ty::Bool,
            LiteralValue::Double(_) | LiteralValue::Int(_) | LiteralValue::UInt(_) => Ty::Number,
            LiteralValue::String(_) => Ty::Text,
            LiteralValue::Bytes(_) | LiteralValue::Null => Ty::Any,
        }),
        Expr::Select(select) => {
            let found = field(infer(&select.operand, scope)?, &select.field)?;
            Ok(if select.test { Ty::Bool } else { found })
        }
        Expr::List(list) => {
            list.elements.iter().try_for_each(|item| infer(item, scope).map(drop))?;
            Ok(Ty::List(None))
        }
        Expr::Call(call) => {
            // `math.greatest(...)`: the name before the dot is part of the function's.
            let target = match call.target.as_deref() {
                Some(IdedExpr { expr: Expr::Ident(name), .. }) if variable(name, scope).is_err() => None,
                Some(target) => Some(infer(target, scope)?),
                None => None,
            };
            let mut arguments = Vec::new();
            for argument in &call.args {
                arguments.push(infer(argument, scope)?);
            }
            result(&call.func_name, target, &arguments)
        }
        Expr::Comprehension(all) => {
            let range = infer(&all.iter_range, scope)?;
            let begin = infer(&all.accu_init, scope)?;
            let item = match range {
                Ty::List(items) => items.map_or(Ty::Any, Ty::of),
                Ty::Object(_) => Ty::Text,
                Ty::Any | Ty::Bool | Ty::Number | Ty::Text => Ty::Any,
            };
            let outside = scope.len();
            scope.push((all.iter_var.clone(), if all.iter_var2.is_some() { Ty::Any } else { item }));
            scope.extend(all.iter_var2.iter().map(|name| (name.clone(), Ty::Any)));
            scope.push((all.accu_var.clone(), begin));
            infer(&all.loop_cond, scope)?;
            infer(&all.loop_step, scope)?;
            let found = infer(&all.result, scope);
            scope.truncate(outside);
            found
        }
        Expr::Map(_) | Expr::Struct(_) | Expr::Unspecified => Ok(Ty::Any),
    }
}

fn variable<'a>(name: &str, scope: &Scope<'a>) -> Result<Ty<'a>, String> {
    match scope.iter().rev().find(|(known, _)| known == name) {
        Some((_, ty)) => Ok(*ty),
        None if TYPES.contains(&name) || name.starts_with('@') => Ok(Ty::Any),
        None => Err(format!("undeclared reference to '{name}' (in container '')")),
    }
}

fn field<'a>(of: Ty<'a>, name: &str) -> Result<Ty<'a>, String> {
    match of {
        Ty::Any => Ok(Ty::Any),
        Ty::Object(node) => match (&node.additional, node.properties.iter().find(|(known, _)| escape(known) == name)) {
            (_, Some((_, child))) => Ok(Ty::of(child)),
            (Additional::Each(child), None) => Ok(Ty::of(child)),
            (Additional::Anything, None) => Ok(Ty::Any),
            (Additional::Nothing, None) if node.preserve_unknown || node.embedded => Ok(Ty::Any),
            (Additional::Nothing, None) => Err(format!("undefined field '{name}'")),
        },
        Ty::Bool | Ty::Number | Ty::Text | Ty::List(_) => {
            Err(format!("type '{}' does not support field selection", of.name()))
        }
    }
}

/// What a function or operator gives, if these can be its arguments.
fn result<'a>(name: &str, target: Option<Ty<'a>>, arguments: &[Ty<'a>]) -> Result<Ty<'a>, String> {
    let no_overload = || {
        let all: Vec<&str> = arguments.iter().map(|one| one.name()).collect();
        Err(format!("found no matching overload for '{name}' applied to '({})'", all.join(", ")))
    };
    let among = |wanted: &[Ty<'_>]| arguments.iter().all(|one| wanted.iter().any(|wanted| one.meets(*wanted)));
    match (name, arguments) {
        (op::LOGICAL_AND | op::LOGICAL_OR, _) => match arguments.iter().find(|one| !one.is(Ty::Bool)) {
            Some(other) => Err(format!("expected type 'bool' but found '{}'", other.name())),
            None => Ok(Ty::Bool),
        },
        (op::LOGICAL_NOT, [one]) => {
            if one.is(Ty::Bool) {
                Ok(Ty::Bool)
            } else {
                no_overload()
            }
        }
        (op::EQUALS | op::NOT_EQUALS, [left, right]) => {
            if left.meets(*right) {
                Ok(Ty::Bool)
            } else {
                no_overload()
            }
        }
        (op::LESS | op::LESS_EQUALS | op::GREATER | op::GREATER_EQUALS, [left, right]) => {
            let ordered = among(&[Ty::Bool, Ty::Number, Ty::Text]);
            if ordered && left.meets(*right) { Ok(Ty::Bool) } else { no_overload() }
        }
        (op::ADD, [left, right]) => {
            let fits = left.meets(*right) && among(&[Ty::Number, Ty::Text, Ty::List(None)]);
            if fits { Ok(if *left == Ty::Any { *right } else { *left }) } else { no_overload() }
        }
        (op::IN, [_, range]) => match range {
            Ty::Any | Ty::List(_) | Ty::Object(_) => Ok(Ty::Bool),
            Ty::Bool | Ty::Number | Ty::Text => no_overload(),
        },
        (op::CONDITIONAL, [condition, left, right]) if condition.is(Ty::Bool) => {
            Ok(if left == right { *left } else { Ty::Any })
        }
        (op::INDEX, [Ty::List(Some(items)), _]) => Ok(Ty::of(items)),
        ("size", _) => match target.or(arguments.first().copied()) {
            Some(Ty::Bool | Ty::Number) => no_overload(),
            _ => Ok(Ty::Number),
        },
        ("startsWith" | "endsWith" | "matches" | "contains", _) if target == Some(Ty::Text) => Ok(Ty::Bool),
        ("startsWith" | "endsWith" | "matches", _) if target.is_some_and(|target| !target.is(Ty::Text)) => {
            no_overload()
        }
        ("string", [_]) if target.is_none() => Ok(Ty::Text),
        _ => Ok(Ty::Any),
    }
}
