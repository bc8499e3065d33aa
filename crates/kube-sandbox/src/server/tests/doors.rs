//! TLS: who gets in, and what a closed door looks like.

use kube::{
    Config,
    config::{KubeConfigOptions, Kubeconfig},
};

use super::*;

async fn client(kubeconfig: &str) -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("a configuration")).expect("a client")
}

async fn code(kubeconfig: &str) -> u16 {
    let namespaces = Api::<Namespace>::all(client(kubeconfig).await);
    match namespaces.list(&Default::default()).await {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(_) => 0,
    }
}

#[tokio::test]
async fn good_credentials_open_and_others_are_told_401() {
    let (server, cluster) = server().await;
    let door = server.listen(([127, 0, 0, 1], 0).into()).await.expect("a door");
    let url = format!("{}{}", door.url(), Server::path("c"));
    let with = |credentials: &Credentials<'_>| server.kubeconfig_with("c", &url, credentials);
    assert_eq!(code(&server.kubeconfig("c", door.address())).await, 200);
    assert_eq!(code(&with(&Credentials::Token(server.admin_token()))).await, 200);
    assert_eq!(code(&with(&Credentials::Token("made-up"))).await, 401);
    let ann = server.sign_client("ann", &[], LIFE).expect("a certificate");
    assert_eq!(code(&with(&Credentials::Certificate(&ann))).await, 403);
    let stranger = Ca::new("x").expect("a CA").client("ann", &["system:masters"], LIFE).expect("a certificate");
    assert_eq!(code(&with(&Credentials::Certificate(&stranger))).await, 401);
    let ended = server.0.ca.client("ann", &["system:masters"], Duration::ZERO).expect("a certificate");
    clock::sleep(Duration::from_millis(1100)).await;
    assert_eq!(code(&with(&Credentials::Certificate(&ended))).await, 401);
    let account =
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "s", "namespace": "default" } });
    let account = cluster.create(account).await.expect("an account");
    let claims = |end: i64| {
        json!({
            "aud": [crate::auth::tokens::ISSUER], "exp": clock::now().as_second() + end,
            "kubernetes.io": { "namespace": "default", "serviceaccount": { "name": "s", "uid": account["metadata"]["uid"] } },
        })
    };
    assert_eq!(code(&with(&Credentials::Token(&cluster.tokens().sign(&claims(60))))).await, 403);
    assert_eq!(code(&with(&Credentials::Token(&cluster.tokens().sign(&claims(-1))))).await, 401);
    cluster.delete(&Place { plural: "serviceaccounts", ..place("s") }, &Default::default()).await.expect("gone");
    assert_eq!(code(&with(&Credentials::Token(&cluster.tokens().sign(&claims(60))))).await, 401);
}

#[tokio::test]
async fn a_door_of_ones_own_knows_its_own_clients_and_can_be_closed() {
    let (server, _) = server().await;
    let (ca, clients) = (Ca::new("own").expect("a CA"), Ca::new("own-clients").expect("a CA"));
    let certificate = ca.server(&["127.0.0.1".to_owned()], LIFE).expect("a certificate");
    let door =
        server.expose("c", &certificate, &clients.0.certificate, ([127, 0, 0, 1], 0).into()).await.expect("a door");
    let admin = clients.client("admin", &["system:masters"], LIFE).expect("a certificate");
    let config = |pair: &Pair| kubeconfig::render("c", &door.url(), &ca.0.certificate, &Credentials::Certificate(pair));
    assert_eq!(code(&config(&admin)).await, 200);
    let other = server.sign_client("admin", &["system:masters"], LIFE).expect("a certificate");
    assert_eq!(code(&config(&other)).await, 401, "the common CA means nothing here");
    door.refuse(true);
    assert_eq!(code(&config(&admin)).await, 0, "hibernated");
    door.refuse(false);
    assert_eq!(code(&config(&admin)).await, 200, "awake");
    let config = config(&admin);
    drop(door);
    clock::sleep(Duration::from_millis(20)).await;
    assert_eq!(code(&config).await, 0, "gone");
}
