//! The certificates of a real cluster, made anew for every start.
//!
//! Four authorities, as a real cluster has: whoever may talk to etcd may not call the API for that,
//! and whoever may call the API may not speak in the name of others. A test with one authority for
//! everything would never notice a mistaken one.

use std::{fs, path::PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

use super::Error;

/// A certificate and its key, as PEM.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) certificate: String,
    pub(super) key: String,
}

/// An authority that signs.
pub(super) struct Authority {
    pub(super) certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(super) fn new(name: &str) -> Result<Self, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { certificate, issuer: Issuer::new(params, key) })
    }

    /// A certificate of a server, which etcd also uses as a client of itself.
    pub(super) fn server(&self, name: &str, alternatives: &[&str]) -> Result<Pair, Error> {
        let alternatives: Vec<String> = alternatives.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(alternatives)?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    /// A certificate of a client: its name is the user, its organisations are the groups.
    pub(super) fn client(&self, user: &str, groups: &[&str]) -> Result<Pair, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        for group in groups {
            params.distinguished_name.push(DnType::OrganizationName, *group);
        }
        params.distinguished_name.push(DnType::CommonName, user);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    fn sign(&self, mut params: CertificateParams) -> Result<Pair, Error> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Pair { certificate, key: key.serialize_pem() })
    }
}

/// All authorities of one cluster, and the files the servers read.
pub(super) struct Certificates {
    folder: PathBuf,
    pub(super) server: Authority,
    pub(super) client: Authority,
    /// Signs service-account tokens; kept to sign an expired one.
    pub(super) tokens: KeyPair,
}

const LOOPBACK: [&str; 2] = ["localhost", "127.0.0.1"];

impl Certificates {
    /// Makes all of them and writes what the servers read into a folder.
    pub(super) fn write(folder: PathBuf) -> Result<Self, Error> {
        let etcd = Authority::new("etcd-ca")?;
        let server = Authority::new("server-ca")?;
        let client = Authority::new("client-ca")?;
        let front_proxy = Authority::new("front-proxy-ca")?;
        let tokens = KeyPair::generate()?;
        let this = Self { folder, server, client, tokens };

        let kubernetes = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.0.0.1"];
        let kubernetes: Vec<&str> = LOOPBACK.into_iter().chain(kubernetes).collect();
        let gardener: Vec<&str> = LOOPBACK.into_iter().chain(["gardener-apiserver.kube-system.svc"]).collect();
        this.write_pair("etcd-server", &etcd.server("etcd-server", &LOOPBACK)?)?;
        this.write_pair("etcd-client", &etcd.client("etcd-client", &[])?)?;
        this.write_pair("apiserver", &this.server.server("kube-apiserver", &kubernetes)?)?;
        this.write_pair("gardener-apiserver", &this.server.server("gardener-apiserver", &gardener)?)?;
        this.write_pair("front-proxy-client", &front_proxy.client("front-proxy-client", &[])?)?;
        this.write_file("etcd-ca.crt", &etcd.certificate)?;
        this.write_file("client-ca.crt", &this.client.certificate)?;
        this.write_file("front-proxy-ca.crt", &front_proxy.certificate)?;
        this.write_file("sa.key", &this.tokens.serialize_pem())?;
        this.write_file("sa.pub", &this.tokens.public_key_pem())?;
        Ok(this)
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
