//! Certificates of Shoots: their CAs, the client certificates in kubeconfigs, the certificate of their
//! endpoint.
//!
//! Two kinds of time. What a client checks (CAs, server certificates) is valid for a century, because
//! clients go by the real clock. What the simulator checks (client certificates) follows the simulated
//! clock: a kubeconfig of ten minutes ends after ten simulated minutes, which at a scale of 600 is a
//! second.
//!
//! Keys are EC P-256, made when they are needed. A real Gardener API server signs with RSA alone, and
//! RSA keys cannot be made here (nor quickly anywhere); for it there is a pool of prepared ones in
//! `certificates/rsa-pool.pem`. They protect nothing but simulated clusters on this machine. Shoots share
//! them, so their CAs differ by name: a certificate of one is refused by another all the same.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::pki_types::{PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, pem::PemObject as _};
use x509_parser::prelude::FromDer as _;

static RSA_POOL: &str = include_str!("certificates/rsa-pool.pem");

/// Bytes in front of the PKCS #1 key in a PKCS #8 key of 2048 bits.
const PKCS8_HEADER: usize = 26;

/// A certificate that cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be made.
    #[error("the certificate cannot be made")]
    Make(#[from] rcgen::Error),
    /// It cannot be read.
    #[error("the certificate cannot be read")]
    Read,
}

/// A certificate with its key, both as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// The private key, PKCS #8.
    pub key: String,
}

/// Who a certificate is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Common name.
    pub name: String,
    /// Organisations.
    pub groups: Vec<String>,
}

fn params(name: &str, group: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    if !group.is_empty() {
        params.distinguished_name.push(DnType::OrganizationName, group);
    }
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    params.not_after = rcgen::date_time_ymd(2120, 1, 1);
    params
}

impl Pair {
    /// A certificate authority.
    pub fn authority(name: &str) -> Result<Self, Error> {
        let key = KeyPair::generate()?;
        let certificate = authority_params(name).self_signed(&key)?;
        Ok(Self { certificate: certificate.pem(), key: key.serialize_pem() })
    }

    /// A certificate authority with one of the prepared RSA keys; `which` chooses. Its key is written as PKCS #1.
    pub fn rsa_authority(name: &str, which: u64) -> Result<Self, Error> {
        let keys: Vec<PrivatePkcs8KeyDer<'_>> = PrivatePkcs8KeyDer::pem_slice_iter(RSA_POOL.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|_| Error::Read)?;
        let index = usize::try_from(which % keys.len().max(1) as u64).unwrap_or_default();
        let pkcs8 = keys.get(index).ok_or(Error::Read)?;
        let key = KeyPair::from_pkcs8_der_and_sign_algo(pkcs8, &rcgen::PKCS_RSA_SHA256)?;
        let certificate = authority_params(name).self_signed(&key)?;
        // PKCS #8 wraps PKCS #1: a version, an algorithm, and then the key itself as the last octet string.
        let inner = pkcs8.secret_pkcs8_der().get(PKCS8_HEADER..).ok_or(Error::Read)?;
        let lines: Vec<String> = STANDARD
            .encode(inner)
            .as_bytes()
            .chunks(64)
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect();
        let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\n", lines.join("\n"));
        Ok(Self { certificate: certificate.pem(), key })
    }

    /// A client certificate of this authority for a span of time.
    pub fn client(&self, name: &str, group: &str, from: Timestamp, to: Timestamp) -> Result<Self, Error> {
        let mut params = params(name, group);
        let moment = |time: Timestamp| {
            let seconds = u64::try_from(time.as_second()).unwrap_or_default();
            rcgen::date_time_ymd(1970, 1, 1) + std::time::Duration::from_secs(seconds)
        };
        (params.not_before, params.not_after) = (moment(from), moment(to));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    /// A server certificate of this authority for loopback and these names.
    pub fn server(&self, name: &str, hosts: &[&str]) -> Result<Self, Error> {
        let mut params = params(name, "");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.subject_alt_names.push(SanType::IpAddress(std::net::Ipv4Addr::LOCALHOST.into()));
        for host in hosts {
            params.subject_alt_names.push(SanType::DnsName((*host).try_into()?));
        }
        self.sign(params)
    }

    /// The authority's own name is read from its certificate, because it is not kept apart.
    fn sign(&self, mut params: CertificateParams) -> Result<Self, Error> {
        params.use_authority_key_identifier_extension = true;
        let issuer = authority_params(&subject(&self.certificate)?.name);
        let issuer = Issuer::new(issuer, signing_key(&self.key)?);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &issuer)?;
        Ok(Self { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

/// A key to sign with, from PKCS #8 or from the PKCS #1 that a real Gardener insists on.
fn signing_key(pem: &str) -> Result<KeyPair, Error> {
    let Ok(inner) = PrivatePkcs1KeyDer::from_pem_slice(pem.as_bytes()) else { return Ok(KeyPair::from_pem(pem)?) };
    let inner = inner.secret_pkcs1_der();
    // PKCS #8 is PKCS #1 behind a version (0) and the algorithm (rsaEncryption without parameters).
    const VERSION_AND_ALGORITHM: [u8; 18] =
        [0x02, 1, 0, 0x30, 13, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1, 5, 0];
    let mut body = VERSION_AND_ALGORITHM.to_vec();
    body.extend(tagged(0x04, inner)?);
    let key = PrivatePkcs8KeyDer::from(tagged(0x30, &body)?);
    Ok(KeyPair::from_pkcs8_der_and_sign_algo(&key, &rcgen::PKCS_RSA_SHA256)?)
}

/// DER: a tag, a length of two bytes, the content. Keys are always long enough for that form.
fn tagged(tag: u8, content: &[u8]) -> Result<Vec<u8>, Error> {
    let [high, low] = u16::try_from(content.len()).map_err(|_| Error::Read)?.to_be_bytes();
    Ok([&[tag, 0x82, high, low], content].concat())
}

fn authority_params(name: &str) -> CertificateParams {
    let mut params = params(name, "");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    params
}

/// The subject of the first certificate in a PEM text.
pub fn subject(pem: &str) -> Result<Subject, Error> {
    let (_, pem) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).map_err(|_| Error::Read)?;
    subject_of(&pem.contents)
}

/// The subject of a certificate.
pub fn subject_of(der: &[u8]) -> Result<Subject, Error> {
    let (_, certificate) = x509_parser::certificate::X509Certificate::from_der(der).map_err(|_| Error::Read)?;
    let text = |value: &x509_parser::x509::AttributeTypeAndValue<'_>| value.as_str().map(str::to_owned).ok();
    let subject = certificate.subject();
    let name = subject.iter_common_name().find_map(text).ok_or(Error::Read)?;
    Ok(Subject { name, groups: subject.iter_organization().filter_map(text).collect() })
}

/// From when to when the first certificate in a PEM text is valid.
pub fn validity(pem: &str) -> Result<(Timestamp, Timestamp), Error> {
    let (_, pem) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).map_err(|_| Error::Read)?;
    let (_, certificate) =
        x509_parser::certificate::X509Certificate::from_der(&pem.contents).map_err(|_| Error::Read)?;
    let moment = |seconds: i64| Timestamp::from_second(seconds).map_err(|_| Error::Read);
    let validity = certificate.validity();
    Ok((moment(validity.not_before.timestamp())?, moment(validity.not_after.timestamp())?))
}

/// Clocks differ a little; a certificate is valid from shortly before it was asked for.
pub const BACKDATED: SignedDuration = SignedDuration::from_mins(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_certificate_says_who_and_how_long() {
        let ca = Pair::authority("ca-client").expect("ca");
        let from: Timestamp = "2026-01-05T10:00:00Z".parse().expect("time");
        let to = from + SignedDuration::from_mins(10);
        let pair = ca.client("gardener.cloud:admin:ann", "admins", from, to).expect("certificate");
        let expected = Subject { name: "gardener.cloud:admin:ann".into(), groups: vec!["admins".into()] };
        assert_eq!(subject(&pair.certificate).expect("subject"), expected);
        assert_eq!(validity(&pair.certificate).expect("validity"), (from, to));
        assert!(ca.server("kube-apiserver", &["api.shop.dev.shoots.example"]).is_ok());
        assert!(subject("nothing").is_err());
        let rsa = Pair::rsa_authority("ca-client-x", 3).expect("ca");
        assert!(rsa.key.starts_with("-----BEGIN RSA PRIVATE KEY-----\nMII"));
        assert_eq!(subject(&rsa.certificate).expect("subject").name, "ca-client-x");
    }
}
