//! A real etcd with a real kube-apiserver.
//!
//! There is no controller manager. So namespaces are not emptied and stay `Terminating`, owners are
//! not followed, default service accounts do not appear, and the roles `admin`, `edit` and `view` are
//! empty. Tests use fresh namespaces and write the roles they need.

use std::time::Duration;

use kube::Client;

use super::{
    Error,
    binaries::Binaries,
    certificates::{Certificates, LIFE},
    process::Process,
    workplace::{Workplace, spare_port},
};
use crate::{
    clock,
    kubeconfig::{self, Credentials},
    pki::Ca,
};

/// From an empty etcd on two busy cores it took 6 s; a machine that builds meanwhile takes longer.
const READY_WITHIN: Duration = Duration::from_secs(120);

/// What a cluster is started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Tests: nothing must survive a power cut, and memory is short.
    Tests,
    /// Comparisons: etcd syncs every write, as in production, and nobody's memory is limited.
    Comparisons,
}

/// A real cluster. It ends when this is dropped.
pub struct Kube {
    // In this order they are dropped: an API server without its etcd would hang.
    apiserver: Process,
    etcd: Process,
    binaries: Binaries,
    certificates: Certificates,
    etcd_url: String,
    url: String,
    admin: String,
    client: Client,
    workplace: Workplace,
}

impl Kube {
    /// Starts one for tests, from the programs that the environment names, and waits until it is ready.
    pub async fn start() -> Result<Self, Error> {
        Self::start_for(Purpose::Tests, Binaries::from_env()?).await
    }

    /// Starts one and waits until it is ready.
    pub async fn start_for(purpose: Purpose, binaries: Binaries) -> Result<Self, Error> {
        let machine = |what| move |error| Error::Machine(what, error);
        let workplace = Workplace::new().map_err(machine("create a folder"))?;
        let certificates = Certificates::write(workplace.path().join("certificates"))?;
        let port = || spare_port().map_err(machine("find a free port"));
        let (etcd_port, peer_port, port) = (port()?, port()?, port()?);
        let etcd_url = format!("https://127.0.0.1:{etcd_port}");
        let url = format!("https://127.0.0.1:{port}");

        let folder = workplace.path();
        let mut args = etcd_args(&certificates, &etcd_url, peer_port);
        let (mut etcd_memory, mut apiserver_memory) = (vec![], vec![]);
        if purpose == Purpose::Tests {
            // Nothing here must survive a power cut, and waiting for the disk is a third of all writes.
            args.push(flag(("unsafe-no-fsync", "true".to_owned())));
            (etcd_memory, apiserver_memory) = (vec![("GOMEMLIMIT", "200MiB")], vec![("GOMEMLIMIT", "500MiB")]);
        }
        let mut etcd = Process::start("etcd", &binaries.path("etcd"), folder, &args, &etcd_memory)
            .map_err(machine("start etcd"))?;
        // At once: it waits for its etcd by itself, and has enough to do until then.
        let args = apiserver_args(&certificates, &etcd_url, &url, port);
        let mut apiserver =
            Process::start("kube-apiserver", &binaries.path("kube-apiserver"), folder, &args, &apiserver_memory)
                .map_err(machine("start kube-apiserver"))?;

        let admin = admin_kubeconfig(&certificates, &url)?;
        let client = kubeconfig::client(&admin).await?;
        until_healthy(&client, "/readyz", &mut [&mut apiserver, &mut etcd]).await?;
        Ok(Self { apiserver, etcd, binaries, certificates, etcd_url, url, admin, client, workplace })
    }

    /// Starts another server of the same folder of programs, in the same folder, beside it: one that shares its
    /// etcd and its authorities. It ends when what is answered is dropped.
    pub fn start_beside(&self, program: &'static str, args: &[String], memory: &str) -> Result<Process, Error> {
        let path = self.binaries.path(program);
        Process::start(program, &path, self.folder(), args, &[("GOMEMLIMIT", memory)])
            .map_err(|error| Error::Machine("start a server", error))
    }

    /// Writes the certificate of such a server, as `<file>.crt` and `<file>.key`.
    pub fn write_server_certificate(&self, file: &str, names: &[&str]) -> Result<(), Error> {
        self.certificates.write_server(file, names)
    }

    /// Where the certificate or key of this name is: `apiserver.crt`, `client-ca.crt`, `etcd-client.key` ...
    pub fn certificate(&self, name: &str) -> String {
        self.certificates.file(name)
    }

    /// Where its etcd is.
    pub fn etcd_url(&self) -> &str {
        &self.etcd_url
    }

    /// The administrator's kubeconfig for another server of the same authorities.
    pub fn kubeconfig_for(&self, url: &str) -> Result<String, Error> {
        admin_kubeconfig(&self.certificates, url)
    }

    /// The address, `https://127.0.0.1:<port>`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The certificate of the authority that signed the server's.
    pub fn ca(&self) -> &str {
        &self.certificates.server.0.certificate
    }

    /// The programs it was started from.
    pub fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    /// A client of the administrator, a member of `system:masters`.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &str {
        &self.admin
    }

    /// The kubeconfig of a user with a client certificate; rights come from RBAC alone.
    pub fn kubeconfig_of(&self, user: &str, groups: &[&str]) -> Result<String, Error> {
        let pair = self.certificates.client.client(user, groups, LIFE)?;
        Ok(kubeconfig::render("real", &self.url, self.ca(), &Credentials::Certificate(&pair)))
    }

    /// A kubeconfig whose client certificate comes from an authority nobody here trusts.
    pub fn kubeconfig_of_stranger(&self) -> Result<String, Error> {
        let pair = Ca::new("client-ca")?.client("admin", &["system:masters"], LIFE)?;
        Ok(kubeconfig::render("real", &self.url, self.ca(), &Credentials::Certificate(&pair)))
    }

    /// A kubeconfig with a bearer token; an empty one means no credentials at all.
    pub fn kubeconfig_with_token(&self, token: &str) -> String {
        kubeconfig::render("real", &self.url, self.ca(), &Credentials::Token(token))
    }

    /// A service-account token with any claims, rightly signed: how tests get an expired one.
    pub fn sign_token(&self, claims: &serde_json::Value) -> String {
        super::tokens::sign(&self.certificates.tokens, claims)
    }

    /// Ids of its processes, kube-apiserver and etcd, for those who measure them.
    pub fn processes(&self) -> [Option<u32>; 2] {
        [self.apiserver.id(), self.etcd.id()]
    }

    /// Where its logs are.
    pub fn folder(&self) -> &std::path::Path {
        self.workplace.path()
    }

    /// Ends it in the right order and in its own time, which takes about three seconds.
    pub fn terminate(mut self) {
        self.apiserver.terminate();
        self.etcd.terminate();
    }
}

fn admin_kubeconfig(certificates: &Certificates, url: &str) -> Result<String, Error> {
    let admin = certificates.client.client("admin", &["system:masters"], LIFE)?;
    Ok(kubeconfig::render("real", url, &certificates.server.0.certificate, &Credentials::Certificate(&admin)))
}

/// Waits until a path answers 200, or one of the processes has ended.
pub async fn until_healthy(client: &Client, path: &str, processes: &mut [&mut Process]) -> Result<(), Error> {
    let mut waited = Duration::ZERO;
    loop {
        let request = http::Request::get(path).body(Vec::new()).expect("a path");
        let answer = clock::within(Duration::from_secs(5), client.request_text(request)).await;
        if let Some(Ok(_)) = answer {
            return Ok(());
        }
        let not_ready =
            |process: &Process, what| Error::NotReady { program: process.program(), what, log: process.end_of_log() };
        for process in processes.iter_mut() {
            if let Some(status) = process.ended() {
                return Err(not_ready(process, format!("ended with {status}")));
            }
        }
        if waited > READY_WITHIN {
            return Err(not_ready(processes[0], format!("is not ready after {waited:?}")));
        }
        let pause = Duration::from_millis(50);
        clock::sleep(pause).await;
        waited += pause;
    }
}

fn etcd_args(certificates: &Certificates, url: &str, peer_port: u16) -> Vec<String> {
    let peer = format!("http://127.0.0.1:{peer_port}");
    [
        ("name", "default".to_owned()),
        ("data-dir", "etcd".to_owned()),
        ("listen-client-urls", url.to_owned()),
        ("advertise-client-urls", url.to_owned()),
        ("listen-peer-urls", peer.clone()),
        ("initial-advertise-peer-urls", peer.clone()),
        ("initial-cluster", format!("default={peer}")),
        ("cert-file", certificates.file("etcd-server.crt")),
        ("key-file", certificates.file("etcd-server.key")),
        ("client-cert-auth", "true".to_owned()),
        ("trusted-ca-file", certificates.file("etcd-ca.crt")),
        ("quota-backend-bytes", (2_u64 << 30).to_string()),
        ("logger", "zap".to_owned()),
        ("log-level", "warn".to_owned()),
    ]
    .into_iter()
    .map(flag)
    .collect()
}

fn apiserver_args(certificates: &Certificates, etcd: &str, url: &str, port: u16) -> Vec<String> {
    let file = |name| certificates.file(name);
    [
        ("bind-address", "127.0.0.1".to_owned()),
        ("advertise-address", "127.0.0.1".to_owned()),
        ("secure-port", port.to_string()),
        ("etcd-servers", etcd.to_owned()),
        ("etcd-cafile", file("etcd-ca.crt")),
        ("etcd-certfile", file("etcd-client.crt")),
        ("etcd-keyfile", file("etcd-client.key")),
        ("tls-cert-file", file("apiserver.crt")),
        ("tls-private-key-file", file("apiserver.key")),
        ("client-ca-file", file("client-ca.crt")),
        ("service-account-issuer", url.to_owned()),
        ("api-audiences", url.to_owned()),
        ("service-account-key-file", file("sa.pub")),
        ("service-account-signing-key-file", file("sa.key")),
        ("authorization-mode", "RBAC".to_owned()),
        ("anonymous-auth", "false".to_owned()),
        ("service-cluster-ip-range", "10.0.0.0/24".to_owned()),
        ("requestheader-client-ca-file", file("front-proxy-ca.crt")),
        ("requestheader-allowed-names", "front-proxy-client".to_owned()),
        ("requestheader-username-headers", "X-Remote-User".to_owned()),
        ("requestheader-group-headers", "X-Remote-Group".to_owned()),
        ("requestheader-extra-headers-prefix", "X-Remote-Extra-".to_owned()),
        ("proxy-client-cert-file", file("front-proxy-client.crt")),
        ("proxy-client-key-file", file("front-proxy-client.key")),
        // Nobody creates the default service accounts that this one insists on.
        ("disable-admission-plugins", "ServiceAccount".to_owned()),
        ("endpoint-reconciler-type", "none".to_owned()),
        ("profiling", "false".to_owned()),
        ("max-requests-inflight", "800".to_owned()),
        ("max-mutating-requests-inflight", "400".to_owned()),
        ("v", "1".to_owned()),
    ]
    .into_iter()
    .map(flag)
    .collect()
}

/// A flag as these servers read it.
fn flag((name, value): (&str, String)) -> String {
    format!("--{name}={value}")
}
