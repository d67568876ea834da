//! One configuration of TLS for all clients: the system's certificates are read once and not for each host of each run, which took most of
//! the time and memory in which many runs begin at once.
use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls_platform_verifier::BuilderVerifierExt as _;

/// What connections of the process are made with. Certificates that the system gets later count from the next start.
///
/// # Errors
/// When the system's certificates cannot be read; asked again, they are looked for again.
pub(super) fn config() -> Result<ClientConfig, rustls::Error> {
    // A copy shares the certificates.
    known().cloned()
}

fn known() -> Result<&'static ClientConfig, rustls::Error> {
    static KNOWN: OnceLock<ClientConfig> = OnceLock::new();
    if let Some(known) = KNOWN.get() {
        return Ok(known);
    }
    let mut made = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    made.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(KNOWN.get_or_init(|| made))
}

/// The cryptography of the process: ring, installed for those who ask for the default.
pub(super) fn provider() -> Arc<CryptoProvider> {
    static DONE: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    let it = DONE.get_or_init(|| {
        let it = ring::default_provider();
        // An error says that one is installed already, which is as good.
        let _already = it.clone().install_default();
        Arc::new(it)
    });
    Arc::clone(it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_read_once() {
        // A machine may have none.
        if let (Ok(one), Ok(other)) = (known(), known()) {
            assert!(std::ptr::eq(one, other));
        }
    }
}
