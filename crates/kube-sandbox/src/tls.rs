//! TLS: who is at the other end of a connection.
//!
//! A real server takes any client certificate at the handshake and says 401 to a wrong one in HTTP,
//! where a client can read it; a refused handshake would look like a broken network. So the
//! handshake only proves that the client holds the key, and the chain is checked afterwards.

use std::sync::Arc;

use rustls::{
    DigitallySignedStruct, DistinguishedName, Error, RootCertStore, ServerConfig, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem::PemObject},
    server::{
        WebPkiClientVerifier,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
};

use super::{auth::authn, http::Asker, pki::Pair};
use crate::clock;

/// Why a TLS configuration could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A certificate or key is no PEM.
    #[error("a certificate or key cannot be read")]
    Pem(#[from] rustls::pki_types::pem::Error),
    /// It is PEM, but of no use.
    #[error("a certificate or key cannot be used")]
    Rustls(#[from] Error),
    /// The client CA is of no use.
    #[error("the client CA cannot be used")]
    Verifier(#[from] rustls::server::VerifierBuilderError),
}

/// What one listener needs.
#[derive(Debug, Clone)]
pub(crate) struct Tls {
    pub(crate) config: Arc<ServerConfig>,
    clients: Arc<dyn ClientCertVerifier>,
}

/// Serves `server`, and knows clients by `client_ca`.
pub(crate) fn tls(server: &Pair, client_ca: &str) -> Result<Tls, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(client_ca.as_bytes()) {
        roots.add(certificate?)?;
    }
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build()?;
    let config = config(&server.certificate, &server.key, clients.root_hint_subjects())?;
    Ok(Tls { config: Arc::new(config), clients })
}

/// Serves this certificate to anyone; clients are told whose certificates are hoped for.
pub fn config(certificate: &str, key: &str, hints: &[DistinguishedName]) -> Result<ServerConfig, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())?;
    let anyone = Arc::new(Anyone { provider: provider.clone(), hints: hints.to_vec() });
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(anyone)
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

impl Tls {
    /// Who showed these certificates. Asked for every request, because certificates end while connections live.
    pub(crate) fn asker(&self, certificates: Option<&[CertificateDer<'static>]>) -> Asker {
        let Some([own, rest @ ..]) = certificates else { return Asker::Nobody };
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(
            u64::try_from(clock::now().as_second()).unwrap_or_default(),
        ));
        match self.clients.verify_client_cert(own, rest, now) {
            Ok(_) => authn::certificate(own).map_or(Asker::BadCertificate, Asker::Certificate),
            Err(_) => Asker::BadCertificate,
        }
    }
}

/// Takes any certificate whose key the client holds.
#[derive(Debug)]
struct Anyone {
    provider: Arc<CryptoProvider>,
    hints: Vec<DistinguishedName>,
}

impl ClientCertVerifier for Anyone {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
