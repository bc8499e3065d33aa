//! A cluster for `kubectl`: serves until Ctrl-C and writes a kubeconfig.
//!
//! `cargo run -p kube-sandbox --example kubectl -- <kubeconfig> [<folder to keep everything in>]`, then
//! `kubectl --kubeconfig <kubeconfig> create configmap a --from-literal=x=1`

use std::{env, error::Error, path::PathBuf};

use kube_sandbox::{Server, Settings};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut words = env::args_os().skip(1).map(PathBuf::from);
    let kubeconfig = words.next().unwrap_or_else(|| "kubeconfig".into());
    let server = Server::start(Settings { folder: words.next(), ..Settings::default() }).await?;
    server.add_cluster("test").await?;
    let door = server.listen(([127, 0, 0, 1], 0).into()).await?;
    std::fs::write(&kubeconfig, server.kubeconfig("test", door.address()))?;
    println!("{} answers; its kubeconfig is {}; Ctrl-C ends it", door.url(), kubeconfig.display());
    tokio::signal::ctrl_c().await?;
    Ok(())
}
