//! A server to try things on by hand: `cargo run -p slipway-sim --example kube -- <folder> [<port>]`.

use slipway_sim::kube::{Server, Settings};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().expect("a folder");
    let port: u16 = arguments.next().map_or(Ok(6443), |port| port.parse())?;
    let server = Server::start(Settings { folder: Some(folder.clone().into()), ..Settings::default() }).await?;
    let door = server.listen(([127, 0, 0, 1], port).into()).await?;
    for name in ["kcp", "garden"] {
        server.add_cluster(name).await?;
        let path = format!("{folder}/kubeconfig-{name}.yaml");
        std::fs::write(&path, server.kubeconfig(name, door.address()))?;
        println!("export KUBECONFIG={path}");
    }
    tokio::signal::ctrl_c().await?;
    Ok(())
}
