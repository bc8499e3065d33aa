//! What a server answered, and short ways to say what was expected.

use http::HeaderMap;
use serde_json::Value;

/// A whole answer.
pub struct Answer {
    /// What was asked, for messages.
    pub request: String,
    /// Its status code.
    pub code: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// The body as text.
    pub text: String,
    /// The body, if it is JSON; else null.
    pub body: Value,
}

impl Answer {
    /// It worked and nothing new was made.
    #[track_caller]
    pub fn ok(self) -> Value {
        self.code(200)
    }

    /// It worked and something new was made.
    #[track_caller]
    pub fn created(self) -> Value {
        self.code(201)
    }

    /// It was answered with this code.
    #[track_caller]
    pub fn code(self, code: u16) -> Value {
        assert_eq!(self.code, code, "{}: {}", self.request, self.text);
        self.body
    }

    /// It was refused, with this code, this `reason` and exactly this message.
    #[track_caller]
    pub fn refused(self, code: u16, reason: &str, message: &str) -> Value {
        let body = self.refused_with(code, reason, "");
        assert_eq!(body["message"], message, "the message");
        body
    }

    /// It was refused, with this code, this `reason` and this somewhere in the message.
    #[track_caller]
    pub fn refused_with(self, code: u16, reason: &str, part: &str) -> Value {
        let Self { request, text, body, .. } = self;
        assert_eq!(self.code, code, "{request}: {text}");
        assert_eq!(body["kind"], "Status", "{request}: {text}");
        assert_eq!(body["apiVersion"], "v1", "{request}: {text}");
        assert_eq!(body["status"], "Failure", "{request}: {text}");
        assert_eq!(body["code"], code, "{request}: {text}");
        assert_eq!(body["reason"].as_str().unwrap_or_default(), reason, "{request}: {text}");
        let message = body["message"].as_str().unwrap_or_default();
        assert!(message.contains(part), "{request}: `{message}` does not contain `{part}`");
        body
    }

    /// The warnings that came with it.
    pub fn warnings(&self) -> Vec<String> {
        let values = self.headers.get_all("warning").iter();
        // `299 - "text"`, with quotes in the text escaped.
        values
            .filter_map(|value| value.to_str().ok()?.split_once('"')?.1.strip_suffix('"'))
            .map(|text| text.replace("\\\"", "\""))
            .collect()
    }
}

/// Short ways to read JSON in assertions.
pub trait Json {
    /// A text by its path, such as `/metadata/name`; empty if it is not there.
    fn text(&self, pointer: &str) -> &str;
    /// The texts a list of objects has at a path.
    fn texts(&self, list: &str, pointer: &str) -> Vec<String>;
}

impl Json for Value {
    fn text(&self, pointer: &str) -> &str {
        self.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    fn texts(&self, list: &str, pointer: &str) -> Vec<String> {
        let items = self.pointer(list).and_then(Value::as_array).cloned().unwrap_or_default();
        items.iter().map(|item| item.text(pointer).to_owned()).collect()
    }
}
