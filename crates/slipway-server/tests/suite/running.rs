//! A server in this process, on a port of its own.

use std::{net::SocketAddr, time::Duration};

use serde_json::Value;
use slipway_server::{Server, Sources, config};
use slipway_sim::raw_http::{self, Answer};

pub(crate) const TOKEN: &str = "the-token-of-the-tests";

/// A running server and its folder.
pub(crate) struct Running {
    pub(crate) server: Server,
    pub(crate) address: SocketAddr,
    _folder: tempfile::TempDir,
}

pub(crate) async fn server() -> Running {
    server_with(&[("SLIPWAY_HELLO__URL", "http://127.0.0.1:9")]).await
}

/// A server with these settings over the usual ones.
pub(crate) async fn server_with(more: &[(&str, &str)]) -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    let environment = [
        ("SLIPWAY_DATABASE__URL", format!("sqlite:{}", folder.path().join("slipway.db").display())),
        ("SLIPWAY_SECRETS__ACTIVE_KEY", "k1".to_owned()),
        ("SLIPWAY_SECRETS__KEYS__K1", "42".repeat(32)),
        ("SLIPWAY_AUTH__TOKEN", TOKEN.to_owned()),
        ("SLIPWAY_LISTEN", "127.0.0.1:0".to_owned()),
    ];
    let more = more.iter().map(|(name, value)| (*name, (*value).to_owned()));
    let environment = environment.into_iter().chain(more).map(|(name, value)| (name.to_owned(), value)).collect();
    let settings = config::load(&Sources { environment, ..Sources::default() }).expect("good settings");
    let server = Server::start(settings).await.expect("started");
    server.until_ready().await;
    let address = server.address();
    Running { server, address, _folder: folder }
}

impl Running {
    /// One request with the right token.
    pub(crate) async fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        self.send_with(method, path, Some(TOKEN), body).await
    }

    pub(crate) async fn send_with(&self, method: &str, path: &str, token: Option<&str>, body: &str) -> Answer {
        let (to, method, path, body) = (self.address, method.to_owned(), path.to_owned(), body.to_owned());
        let token = token.map(str::to_owned);
        tokio::task::spawn_blocking(move || raw_http::send(to, &method, &path, token.as_deref(), &body))
            .await
            .expect("joined")
            .expect("an answer")
    }

    /// One request that must have this status; its JSON.
    pub(crate) async fn json(&self, method: &str, path: &str, body: &str, status: u16) -> Value {
        let answer = self.send(method, path, body).await;
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        serde_json::from_str(&answer.body).expect("JSON")
    }

    /// Asks again until the answer is as wished; a minute is for ever.
    pub(crate) async fn until(&self, path: &str, is: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..600 {
            let answer = self.json("GET", path, "", 200).await;
            if is(&answer) {
                return answer;
            }
            pause().await;
        }
        panic!("{path} never became what it should: {:?}", self.send("GET", path, "").await);
    }
}

#[expect(clippy::disallowed_methods, reason = "between two looks at a real server, real time passes")]
async fn pause() {
    tokio::time::sleep(Duration::from_millis(100)).await;
}
