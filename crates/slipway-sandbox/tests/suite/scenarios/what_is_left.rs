//! A cluster that goes leaves nothing behind.

use slipway_sandbox::{Options, World, world::gcp};
use slipway_sim::ground::{NAMESPACE, PROJECT, RUNTIMES, SHOOTS};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deprovisioned_cluster_leaves_nothing_in_garden_control_plane_and_director() {
    let world = World::start(Options::for_tests()).await;
    let names = |kind: &str| {
        let (kcp, garden) = (&world.clusters().kcp, world.clusters().garden.cluster());
        let objects = match kind {
            "runtimes" | "gardenerclusters" => kcp.list(RUNTIMES, kind, NAMESPACE),
            "secrets" => kcp.list("", kind, NAMESPACE),
            "shoots" => garden.list(SHOOTS, kind, PROJECT),
            other => garden.list("", other, PROJECT),
        };
        let name = |object: &serde_json::Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        objects.iter().map(name).collect::<Vec<String>>()
    };
    let kinds = ["runtimes", "gardenerclusters", "secrets", "shoots", "configmaps"];
    let before = kinds.map(names);

    let shop = world.provision(gcp("shop").with_kyma()).await;
    shop.until_ready().await;
    let director = &world.systems().director;
    assert_eq!((director.runtimes().len(), director.connections().len()), (1, 1));
    assert_eq!(director.runtimes()[0].condition, "CONNECTED");
    assert!(world.systems().reconciler.kyma_version(&shop.id).is_some(), "Kyma is installed");
    let during = kinds.map(names);
    assert!(before.iter().zip(&during).all(|(before, during)| before.len() < during.len()), "{during:?}");

    shop.deprovision().await.until_succeeded().await;
    assert_eq!(kinds.map(names), before);
    assert!(shop.inside().is_none(), "the cluster itself is gone");
    assert!(director.runtimes().is_empty() && director.connections().is_empty());
    assert_eq!(world.systems().reconciler.clusters(), [(shop.id.clone(), "deleted")], "it remembers for a while");
}
