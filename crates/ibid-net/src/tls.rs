//! One TLS configuration for all clients: the system's certificates are read once, not for each host of each run,
//! which dominated time and memory when many runs started at once.
use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls_platform_verifier::BuilderVerifierExt as _;

/// Returns the TLS configuration of the process. Certificates installed later take effect at the next start.
///
/// # Errors
/// If the system's certificates cannot be read; the next call tries again.
pub(super) fn client_config() -> Result<ClientConfig, rustls::Error> {
    // The copy shares the certificates.
    cached_config().cloned()
}

fn cached_config() -> Result<&'static ClientConfig, rustls::Error> {
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

/// The cryptography provider of the process, ring, also installed as the default.
pub(super) fn provider() -> Arc<CryptoProvider> {
    static DONE: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    let it = DONE.get_or_init(|| {
        let it = ring::default_provider();
        // Fails if a provider is already installed, which is fine.
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
        if let (Ok(one), Ok(other)) = (cached_config(), cached_config()) {
            assert!(std::ptr::eq(one, other));
        }
    }
}
