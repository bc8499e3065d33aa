//! The sample outside system: it greets by name, and takes a note that a greeting was passed on.
//!
//! Not a real system. It is here so that the sample steps talk to something, and so that the next
//! client has a file to be copied from: wire types, calls, tests. What an answer means is decided in
//! `call.rs`; a system whose callers act on more than that has an error enum of its own, as the Director's.

use http::Method;
use serde::{Deserialize, Serialize};
use slipway_model::OperationId;

pub use crate::call::Error;
use crate::{call::Connection, connections::SystemClient};

/// A greeting.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Greeting {
    /// The words.
    pub greeting: String,
}

/// A note that a greeting was passed on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Report {
    /// Under which key.
    #[serde(rename = "override")]
    pub override_key: String,
    /// Somebody has read the greeting.
    pub read: bool,
}

#[derive(Serialize)]
struct NewReport<'a> {
    #[serde(rename = "override")]
    override_key: &'a str,
}

/// The client.
#[derive(Clone)]
pub struct Client(Connection);

impl SystemClient for Client {
    const NAME: &'static str = "hello";

    fn over(connection: Connection) -> Self {
        Self(connection)
    }
}

impl Client {
    /// How to greet somebody. Changes nothing.
    pub async fn greeting(&self, name: &str) -> Result<Greeting, Error> {
        self.0.call(Method::GET, &["greetings", name]).read("a greeting").await
    }

    /// Notes that the greeting was passed on under this key. The same note twice is one note.
    pub async fn report(&self, id: OperationId, override_key: &str) -> Result<(), Error> {
        let path = ["reports", &id.to_string()];
        self.0.call(Method::PUT, &path).json(&NewReport { override_key }).send().await.map(drop)
    }

    /// The note, and whether the greeting has been read. Changes nothing.
    pub async fn find_report(&self, id: OperationId) -> Result<Report, Error> {
        self.0.call(Method::GET, &["reports", &id.to_string()]).read("a report").await
    }
}

#[cfg(test)]
mod tests {
    use slipway_sim::{Fault, Systems};

    use super::*;
    use crate::testing::simulated;

    #[tokio::test]
    async fn a_greeting_is_read_noted_and_found() {
        let (sim, id) = (Systems::default(), "0198c0de-0000-7000-8000-000000000000".parse().expect("id"));
        let hello: Client = simulated(&sim);
        assert_eq!(hello.greeting("ann").await.expect("a greeting").greeting, "Hello, ann!");
        assert!(hello.find_report(id).await.expect_err("no report").is_not_found());
        hello.report(id, "greeting.text").await.expect("noted");
        let report = hello.find_report(id).await.expect("a report");
        assert_eq!((report.override_key.as_str(), report.read), ("greeting.text", false));
        sim.hello.dial().next(Fault::WrongJson);
        let error = hello.greeting("ann").await.expect_err("no greeting");
        assert_eq!(error.to_string(), "hello answered something that is not a greeting");
        assert_eq!(sim.hello.complaints(), Vec::<String>::new());
    }
}
