//! The simulated systems: one row each.

use std::io;

use axum::Router;

use crate::{dial::Dial, listening::Listening};

pub mod hello;

use hello::Hello;

/// One simulated system.
pub struct System {
    /// Its name.
    pub name: &'static str,
    /// What it stands for.
    pub about: &'static str,
    /// Its HTTP service.
    pub router: fn(&Systems) -> Router,
    /// Its faults.
    pub dial: fn(&Systems) -> &Dial,
}

/// All of them. The sandbox serves, lists and breaks what stands here.
pub static SYSTEMS: &[System] = &[System {
    name: "hello",
    about: "the sample system: greets by name",
    router: |systems| systems.hello.router(),
    dial: |systems| systems.hello.dial(),
}];

/// The state of all simulated systems.
#[derive(Debug, Clone, Default)]
pub struct Systems {
    /// The sample system.
    pub hello: Hello,
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
}
