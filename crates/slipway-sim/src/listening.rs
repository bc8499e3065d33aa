//! A simulator on a socket of its own.

use std::{io, net::SocketAddr};

use axum::Router;
use tokio::{net::TcpListener, task::JoinHandle};

/// A served router. It stops, in the middle of whatever it does, when this is dropped.
#[derive(Debug)]
pub struct Listening {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Listening {
    /// Serves on a free port of this machine.
    pub async fn start(router: Router) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            // Ends only with its task: errors of single connections stay with those.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { address, task })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}
