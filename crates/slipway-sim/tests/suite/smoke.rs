//! Smoke.
use slipway_sim::real::Kube;

#[tokio::test(flavor = "multi_thread")]
async fn a_real_kube_apiserver_starts() {
    let started = std::time::Instant::now();
    let kube = Kube::start().await.unwrap_or_else(|e| panic!("{e}"));
    println!("ready after {:?} {:?}", started.elapsed(), kube.client().apiserver_version().await.unwrap());
    let started = std::time::Instant::now();
    std::fs::write("/tmp/kc.yaml", kube.kubeconfig()).unwrap();
    if std::env::var("HOLD").is_ok() { std::thread::sleep(std::time::Duration::from_secs(3600)); }
    drop(kube);
    println!("gone after {:?}", started.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_garden_starts() {
    let started = std::time::Instant::now();
    let garden = slipway_sim::real::Garden::start().await.unwrap_or_else(|e| panic!("{e} {:?}", std::error::Error::source(&e)));
    println!("ready after {:?}", started.elapsed());
    std::fs::write("/tmp/kg.yaml", garden.kubeconfig()).unwrap();
    if std::env::var("HOLD").is_ok() { std::thread::sleep(std::time::Duration::from_secs(3600)); }
}
