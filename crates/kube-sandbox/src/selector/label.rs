//! `app=web,tier in (a,b),!old`.

use serde_json::Value;

use super::{
    SelectorError,
    names::{key_faults, value_faults},
};

/// Which labels an object must have; all requirements hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Greater,
    Less,
}

impl LabelSelector {
    /// Reads the text of a `labelSelector` parameter.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut parser = Parser { tokens: lex(text), at: 0 };
        let requirements = parser.selector().map_err(SelectorError)?;
        Ok(Self { requirements })
    }

    /// Whether the labels of this object fit.
    pub fn matches(&self, object: &Value) -> bool {
        let labels = object.pointer("/metadata/labels");
        self.requirements.iter().all(|requirement| {
            let label = labels.and_then(|labels| labels.get(&requirement.key)).and_then(Value::as_str);
            requirement.matches(label)
        })
    }

    /// Whether everything fits.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }
}

impl Requirement {
    fn matches(&self, label: Option<&str>) -> bool {
        let is_one_of = |label: &str| self.values.iter().any(|value| value == label);
        let compared = |label: &str| Some(label.parse::<i64>().ok()?.cmp(&self.values.first()?.parse().ok()?));
        match self.operator {
            Operator::In => label.is_some_and(is_one_of),
            Operator::NotIn => !label.is_some_and(is_one_of),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::Greater => label.and_then(compared).is_some_and(std::cmp::Ordering::is_gt),
            Operator::Less => label.and_then(compared).is_some_and(std::cmp::Ordering::is_lt),
        }
    }
}

/// A word, or one of the signs.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Sign(&'static str),
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Sign(sign) => sign,
            Self::End => "",
        }
    }
}

/// Longer signs first: `==` is not two `=`.
const SIGNS: &[&str] = &["==", "!=", "=", "!", ",", "(", ")", ">", "<"];

fn lex(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches([' ', '\t', '\r', '\n']);
    while !rest.is_empty() {
        if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            tokens.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        } else {
            let is_end = |letter: char| letter.is_ascii_whitespace() || "=!(),<>".contains(letter);
            let length = rest.find(is_end).unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..length].to_owned()));
            rest = &rest[length..];
        }
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }
    tokens.push(Token::End);
    tokens
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, String> {
        let starts = |token: &Token| matches!(token, Token::Word(_) | Token::Sign("!"));
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::End => return Ok(requirements),
                token if starts(token) => {
                    let requirement =
                        self.requirement().map_err(|error| format!("unable to parse requirement: {error}"))?;
                    requirements.push(requirement);
                    match self.next() {
                        Token::End => return Ok(requirements),
                        Token::Sign(",") if starts(self.peek()) => {}
                        Token::Sign(",") => {
                            return Err(format!("found '{}', expected: identifier after ','", self.peek().text()));
                        }
                        other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
                    }
                }
                other => {
                    return Err(format!("found '{}', expected: !, identifier, or 'end of string'", other.text()));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let is_negated = *self.peek() == Token::Sign("!");
        if is_negated {
            self.at += 1;
        }
        let key = match self.next() {
            Token::Word(key) => key,
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        let wrong = key_faults(&key);
        if !wrong.is_empty() {
            return Err(format!("<nil>: Invalid value: {key:?}: {}", wrong.join("; ")));
        }
        if is_negated {
            return Ok(Requirement { key, operator: Operator::DoesNotExist, values: Vec::new() });
        }
        if matches!(self.peek(), Token::End | Token::Sign(",")) {
            return Ok(Requirement { key, operator: Operator::Exists, values: Vec::new() });
        }
        let (operator, values) = match self.next() {
            Token::Word(word) if word == "in" => (Operator::In, self.values()?),
            Token::Word(word) if word == "notin" => (Operator::NotIn, self.values()?),
            Token::Sign("=" | "==") => (Operator::In, vec![self.exact_value()?]),
            Token::Sign("!=") => (Operator::NotIn, vec![self.exact_value()?]),
            Token::Sign(">") => (Operator::Greater, vec![self.exact_value()?]),
            Token::Sign("<") => (Operator::Less, vec![self.exact_value()?]),
            other => {
                return Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", other.text()));
            }
        };
        check_values(&key, operator, &values)?;
        Ok(Requirement { key, operator, values })
    }

    fn exact_value(&mut self) -> Result<String, String> {
        match self.peek().clone() {
            Token::End | Token::Sign(",") => Ok(String::new()),
            Token::Word(word) => {
                self.at += 1;
                Ok(word)
            }
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    fn values(&mut self) -> Result<Vec<String>, String> {
        let open = self.next();
        if open != Token::Sign("(") {
            return Err(format!("found '{}' expected: '('", open.text()));
        }
        let mut values = Vec::new();
        let mut word = None;
        loop {
            match self.next() {
                Token::Word(one) if word.is_none() => word = Some(one),
                Token::Sign(",") => values.push(word.take().unwrap_or_default()),
                Token::Sign(")") => {
                    values.push(word.take().unwrap_or_default());
                    values.sort();
                    values.dedup();
                    return Ok(values);
                }
                other if word.is_some() => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
                other if values.is_empty() => {
                    return Err(format!("found '{}', expected: ',', ')' or identifier", other.text()));
                }
                other => return Err(format!("found '{}', expected: ',', or identifier", other.text())),
            }
        }
    }
}

fn check_values(key: &str, operator: Operator, values: &[String]) -> Result<(), String> {
    let mut wrong = Vec::new();
    for (index, value) in values.iter().enumerate() {
        if matches!(operator, Operator::Greater | Operator::Less) && value.parse::<i64>().is_err() {
            let why = "for 'Gt', 'Lt' operators, the value must be an integer";
            wrong.push(format!("values[{index}]: Invalid value: {value:?}: {why}"));
        }
        let faults = value_faults(value);
        if !faults.is_empty() {
            wrong.push(format!("values[{index}][{key}]: Invalid value: {value:?}: {}", faults.join("; ")));
        }
    }
    match &wrong[..] {
        [] => Ok(()),
        [one] => Err(one.clone()),
        all => Err(format!("[{}]", all.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_choose_by_labels() {
        let object = json!({ "metadata": { "labels": { "app": "web", "tier": "a", "size": "5", "empty": "" } } });
        for (text, expected) in [
            ("", true),
            ("app", true),
            ("!app", false),
            ("!nope", true),
            ("app=web", true),
            ("app==web, tier=a", true),
            ("app=db", false),
            ("app!=db", true),
            ("nope!=db", true),
            ("tier in (a, b)", true),
            ("tier notin (a,b)", false),
            ("nope notin (a)", true),
            ("nope in (a)", false),
            ("size>4", true),
            ("size<5", false),
            ("app>1", false),
            ("empty=", true),
            ("empty in ()", true),
            ("empty in (,x)", true),
            ("app=", false),
        ] {
            let selector = LabelSelector::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(selector.matches(&object), expected, "{text}");
            assert_eq!(selector.is_empty(), text.is_empty());
        }
    }

    #[test]
    fn wrong_selectors_are_refused_in_the_words_of_the_real_server() {
        for (text, expected) in [
            ("app=web,", "found '', expected: identifier after ','"),
            (",app", "found ',', expected: !, identifier, or 'end of string'"),
            ("app web", "unable to parse requirement: found 'web', expected: in, notin, =, ==, !=, gt, lt"),
            ("app in a", "unable to parse requirement: found 'a' expected: '('"),
            ("app in (a b)", "unable to parse requirement: found 'b', expected: ',' or ')'"),
            ("app=(", "unable to parse requirement: found '(', expected: identifier"),
            ("!", "unable to parse requirement: found '', expected: identifier"),
            ("app=web extra", "found 'extra', expected: ',' or 'end of string'"),
            (
                "app>x",
                "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
            ),
        ] {
            assert_eq!(LabelSelector::parse(text), Err(SelectorError(expected.to_owned())), "{text}");
        }
        let error = LabelSelector::parse("-a=b").expect_err("a wrong key").0;
        assert!(error.starts_with("unable to parse requirement: <nil>: Invalid value: \"-a\": name part must consist"));
        let error = LabelSelector::parse("a=b-").expect_err("a wrong value").0;
        assert!(error.starts_with("unable to parse requirement: values[0][a]: Invalid value: \"b-\": a valid label"));
    }
}
