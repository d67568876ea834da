//! The connection to Temporal.
use std::time::Duration;

use temporalio_client::errors::ClientConnectError;
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions, TlsOptions};
use url::Url;

/// The deadline of one call to Temporal.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Where Temporal is.
#[derive(Clone)]
pub struct TemporalSettings {
    /// `http://host:port`, or `https://…` for TLS.
    pub address: Url,
    /// The namespace, which must exist.
    pub namespace: String,
    /// The task queue that the servers of a fleet share.
    pub task_queue: String,
    /// The API key, if Temporal asks for one.
    pub api_key: Option<String>,
    /// Certificates of authorities that are trusted besides the system's, PEM.
    pub root_certificates: Option<Vec<u8>>,
}

/// Connects a client.
pub(super) async fn connect(
    settings: &TemporalSettings,
) -> std::result::Result<Client, ClientConnectError> {
    let tls = (settings.address.scheme() == "https").then(|| match &settings.root_certificates {
        Some(pem) => TlsOptions::builder().server_root_ca_cert(pem.clone()).build(),
        None => TlsOptions::default(),
    });
    let options = ConnectionOptions::new(settings.address.clone())
        .identity(format!("ibid {}", std::process::id()))
        .connect_timeout(CALL_TIMEOUT)
        .maybe_tls_options(tls)
        .maybe_api_key(settings.api_key.clone())
        .build();
    let connection = Connection::connect(options).await?;
    Ok(Client::new(connection, ClientOptions::new(&settings.namespace).build())?)
}
