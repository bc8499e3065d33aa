//! The simulated systems: one row each.

use std::{fmt, io};

use axum::{
    Router,
    body::{Body, to_bytes},
};
use bytes::Bytes;
use http::{Request, Response};
use tower::ServiceExt;

use crate::listening::Listening;

pub mod desk;
pub mod director;
pub mod hello;
pub mod oauth;
pub mod reconciler;

use desk::Desk;
use director::Director;
use hello::Hello;
use reconciler::Reconciler;

/// One simulated system.
pub struct System {
    /// Its name.
    pub name: &'static str,
    /// What it stands for.
    pub about: &'static str,
    /// Its HTTP service.
    pub router: fn(&Systems) -> Router,
    /// Its faults, and its complaints about clients.
    pub desk: fn(&Systems) -> &Desk,
    /// What a client must be told.
    pub entrance: fn(&Systems) -> Entrance,
}

/// What a client of a system must be told, beside where the system listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entrance {
    /// Where its service begins, such as `/graphql`; empty for the root.
    pub path: &'static str,
    /// As whom to come.
    pub login: EntranceLogin,
}

/// As whom a client comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntranceLogin {
    /// As anybody.
    None,
    /// By user and password.
    Basic {
        /// The user.
        user: String,
        /// The password.
        password: String,
    },
    /// By bearer tokens for a client.
    Client {
        /// Where its tokens are, such as `/oauth2/token`.
        token_path: &'static str,
        /// Its id.
        id: String,
        /// Its secret.
        secret: String,
    },
}

impl Entrance {
    /// The root, for anybody.
    const OPEN: Self = Self { path: "", login: EntranceLogin::None };
}

/// All of them. The sandbox serves, lists, breaks and connects what stands here.
pub static SYSTEMS: &[System] = &[
    System {
        name: "hello",
        about: "the sample system: greets by name",
        router: |systems| systems.hello.router(),
        desk: |systems| &systems.hello,
        entrance: |_| Entrance::OPEN,
    },
    System {
        name: "director",
        about: "the registry of runtimes, and the token endpoint in front of it",
        router: |systems| systems.director.router(),
        desk: |systems| &systems.director,
        entrance: |systems| systems.director.entrance(),
    },
    System {
        name: "reconciler",
        about: "keeps Kyma in clusters as configured",
        router: |systems| systems.reconciler.router(),
        desk: |systems| &systems.reconciler,
        entrance: |_| Entrance::OPEN,
    },
];

/// The state of all simulated systems.
#[derive(Debug, Clone, Default)]
pub struct Systems {
    /// The sample system.
    pub hello: Hello,
    /// The registry of runtimes.
    pub director: Director,
    /// Keeps Kyma in clusters.
    pub reconciler: Reconciler,
}

impl Systems {
    /// Serves every system on a free port of its own; names and sockets in the order of the table.
    pub async fn listen(&self) -> io::Result<Vec<(&'static str, Listening)>> {
        let mut all = Vec::new();
        for system in SYSTEMS {
            all.push((system.name, Listening::start((system.router)(self)).await?));
        }
        Ok(all)
    }

    /// One exchange with the system of this name without a socket in between: the same service, no
    /// network.
    pub async fn exchange(&self, system: &str, request: Request<Bytes>) -> Result<Response<Bytes>, Broken> {
        let system = SYSTEMS.iter().find(|row| row.name == system).ok_or(Broken("there is no such system"))?;
        let answer = (system.router)(self).oneshot(request.map(Body::from)).await;
        let (head, body) = answer.map_err(|never| match never {})?.into_parts();
        match to_bytes(body, usize::MAX).await {
            Ok(body) => Ok(Response::from_parts(head, body)),
            Err(_) => Err(Broken("the connection broke in the middle of the answer")),
        }
    }
}

/// An exchange without an answer, or with half of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken(&'static str);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Broken {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::dial::Fault;

    fn request() -> Request<Bytes> {
        Request::get("/no/such/path").body(Bytes::new()).expect("request")
    }

    #[test]
    fn every_system_has_a_name_of_its_own_and_says_what_it_stands_for() {
        assert_eq!(SYSTEMS.iter().map(|system| system.name).collect::<BTreeSet<_>>().len(), SYSTEMS.len());
        assert!(SYSTEMS.iter().all(|system| !system.about.is_empty()));
    }

    #[tokio::test]
    async fn every_system_refuses_what_it_does_not_know_and_breaks_at_will() {
        let systems = Systems::default();
        for system in SYSTEMS {
            let answer = systems.exchange(system.name, request()).await.expect("an answer");
            assert!(
                answer.status().is_client_error() && answer.status() != 404,
                "{}: {}",
                system.name,
                answer.status()
            );
            assert_eq!((system.desk)(&systems).complaints().len(), 1, "{}", system.name);
            (system.desk)(&systems).dial().next(Fault::Status(503));
            assert_eq!(systems.exchange(system.name, request()).await.expect("an answer").status(), 503);
            assert_eq!((system.desk)(&systems).dial().clear(), 0, "the fault is used up");
        }
        assert!(systems.exchange("nobody", request()).await.is_err());
    }

    #[tokio::test]
    async fn every_system_listens_on_a_socket_of_its_own() {
        let sockets = Systems::default().listen().await.expect("free ports");
        let urls: BTreeSet<_> = sockets.iter().map(|(_, socket)| socket.url()).collect();
        assert_eq!(urls.len(), SYSTEMS.len());
    }
}
