//! The certificates of a real cluster, made anew for every start.
//!
//! Four authorities, as a real cluster has: whoever may talk to etcd may not call the API for that,
//! and whoever may call the API may not speak in the name of others. A test with one authority for
//! everything would never notice a mistaken one.

use std::{fs, path::PathBuf, time::Duration};

use rcgen::KeyPair;

use super::Error;
use crate::pki::{Ca, Pair, PkiError};

/// Longer than any test runs.
pub(super) const LIFE: Duration = Duration::from_secs(30 * 86_400);

/// All authorities of one cluster, and the files the servers read.
pub(super) struct Certificates {
    folder: PathBuf,
    pub(super) server: Ca,
    pub(super) client: Ca,
    /// Signs service-account tokens; kept to sign an expired one.
    pub(super) tokens: KeyPair,
}

const LOOPBACK: [&str; 2] = ["localhost", "127.0.0.1"];

impl Certificates {
    /// Makes all of them and writes what the servers read into a folder.
    pub(super) fn write(folder: PathBuf) -> Result<Self, Error> {
        let etcd = Ca::new("etcd-ca")?;
        let server = Ca::new("server-ca")?;
        let client = Ca::new("client-ca")?;
        let front_proxy = Ca::new("front-proxy-ca")?;
        let tokens = KeyPair::generate().map_err(PkiError::from)?;
        let this = Self { folder, server, client, tokens };

        let kubernetes = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.0.0.1"];
        this.write_pair("etcd-server", &etcd.server(&LOOPBACK.map(str::to_owned), LIFE)?)?;
        this.write_pair("etcd-client", &etcd.client("etcd-client", &[], LIFE)?)?;
        this.write_server("apiserver", &kubernetes)?;
        this.write_pair("front-proxy-client", &front_proxy.client("front-proxy-client", &[], LIFE)?)?;
        this.write_file("etcd-ca.crt", &etcd.0.certificate)?;
        this.write_file("client-ca.crt", &this.client.0.certificate)?;
        this.write_file("front-proxy-ca.crt", &front_proxy.0.certificate)?;
        this.write_file("sa.key", &this.tokens.serialize_pem())?;
        this.write_file("sa.pub", &this.tokens.public_key_pem())?;
        Ok(this)
    }

    /// Writes a certificate of a server on this machine that is also called so.
    pub(super) fn write_server(&self, file: &str, names: &[&str]) -> Result<(), Error> {
        let names: Vec<String> = LOOPBACK.iter().chain(names).map(|&name| name.to_owned()).collect();
        self.write_pair(file, &self.server.server(&names, LIFE)?)
    }

    /// The path of a file, for a flag.
    pub(super) fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    fn write_pair(&self, name: &str, pair: &Pair) -> Result<(), Error> {
        self.write_file(&format!("{name}.crt"), &pair.certificate)?;
        self.write_file(&format!("{name}.key"), &pair.key)
    }

    fn write_file(&self, name: &str, text: &str) -> Result<(), Error> {
        fs::write(self.folder.join(name), text).map_err(|error| Error::Machine("write a certificate", error))
    }
}
