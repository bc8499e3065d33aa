//! The handshake at a Shoot's door: whoever holds the key of the certificate they show gets in.
//!
//! A real API server asks for the certificate, lets anybody finish the handshake and answers `401` to
//! whom it does not know; and it looks again with every request, because certificates end while
//! connections live. So the handshake proves possession, and nothing else.

use std::sync::Arc;

use rustls::{
    DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem::PemObject as _},
    server::danger::{ClientCertVerified, ClientCertVerifier},
};

use crate::garden::certificates::Pair;

/// The configuration of a door with this certificate.
pub(super) fn config(server: &Pair) -> Result<ServerConfig, String> {
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(server.certificate.as_bytes()).collect();
    let key = PrivateKeyDer::from_pem_slice(server.key.as_bytes()).map_err(|error| told(&error))?;
    let mut config = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| told(&error))?
        .with_client_cert_verifier(Arc::new(Possession(provider)))
        .with_single_cert(chain.map_err(|error| told(&error))?, key)
        .map_err(|error| told(&error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

#[derive(Debug)]
struct Possession(Arc<CryptoProvider>);

impl ClientCertVerifier for Possession {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
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
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
