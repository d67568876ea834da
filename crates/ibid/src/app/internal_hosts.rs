//! Hosts that only the operator may see.
use super::App;
use crate::config::Settings;
use ibid_core::ports::host_and_port;
use ibid_net::web::guard::SsrfGuard;

impl App {
    /// Whether `host`, with or without its port, is shown to the operator only: it is not on the public web, or the settings or the
    /// environment name a service there.
    pub fn is_internal_host(&self, host: &str) -> bool {
        // The guard without `allow_net`: the hosts that it opens are internal.
        let is_public = SsrfGuard::default().check(&format!("http://{host}/")).is_ok();
        !is_public || configured_addresses(&self.settings).any(|text| host_and_port(text) == host)
    }
}

/// Every address in the settings and the environment.
fn configured_addresses(settings: &Settings) -> impl Iterator<Item = &str> {
    let telemetry = &settings.telemetry;
    let models = settings.endpoints.values().map(|value| &value.base_url);
    let others = [
        &settings.embedding.base_url,
        &settings.rerank.base_url,
        &settings.vectors.base_url,
        &telemetry.endpoint,
        &telemetry.traces_endpoint,
        &telemetry.metrics_endpoint,
    ];
    let set = models.chain(others).map(String::as_str);
    set.chain(settings.variables.addresses())
}
