//! Keys and certificates: a CA of one's own, and what it signs.

use std::{net::IpAddr, time::Duration};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::clock;

/// Clocks differ by a few minutes; what we sign is good from a little before now.
const BEFORE: Duration = Duration::from_secs(300);
/// A CA for a laptop outlives the laptop.
const CA_LIFE: Duration = Duration::from_secs(10 * 365 * 86_400);

/// Why a certificate could not be made or read.
#[derive(Debug, thiserror::Error)]
#[error("a certificate could not be made")]
pub struct PkiError(#[from] rcgen::Error);

/// A certificate with its key, both as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

/// A certificate authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ca(pub Pair);

fn params(name: &str, groups: &[&str], life: Duration) -> CertificateParams {
    let mut params = CertificateParams::default();
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, name);
    for group in groups {
        subject.push(DnType::OrganizationName, *group);
    }
    params.distinguished_name = subject;
    let now = std::time::SystemTime::from(clock::now());
    params.not_before = (now - BEFORE).into();
    params.not_after = (now + life).into();
    params
}

impl Ca {
    /// A new one.
    pub fn new(name: &str) -> Result<Self, PkiError> {
        let mut params = params(name, &[], CA_LIFE);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        Ok(Self(Pair { certificate: certificate.pem(), key: key.serialize_pem() }))
    }

    /// A certificate for a server at these names and addresses. It serves as a client's too: etcd shows its own
    /// to itself.
    pub fn server(&self, names: &[String], life: Duration) -> Result<Pair, PkiError> {
        let mut params = params("kube-apiserver", &[], life);
        params.subject_alt_names = names
            .iter()
            .map(|name| match name.parse::<IpAddr>() {
                Ok(address) => Ok(SanType::IpAddress(address)),
                Err(_) => Ok(SanType::DnsName(name.as_str().try_into()?)),
            })
            .collect::<Result<_, rcgen::Error>>()?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    /// A certificate for a user in these groups.
    pub fn client(&self, name: &str, groups: &[&str], life: Duration) -> Result<Pair, PkiError> {
        let mut params = params(name, groups, life);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    /// Its name, as its certificate has it.
    fn name(&self) -> Option<String> {
        let der = CertificateDer::from_pem_slice(self.0.certificate.as_bytes()).ok()?;
        let (_, certificate) = X509Certificate::from_der(&der).ok()?;
        certificate.subject().iter_common_name().next()?.as_str().ok().map(ToOwned::to_owned)
    }

    fn sign(&self, mut params: CertificateParams) -> Result<Pair, PkiError> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        let mut own = CertificateParams::default();
        own.distinguished_name = DistinguishedName::new();
        own.distinguished_name.push(DnType::CommonName, self.name().unwrap_or_default());
        let issuer = Issuer::new(own, KeyPair::from_pem(&self.0.key)?);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &issuer)?;
        Ok(Pair { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}
