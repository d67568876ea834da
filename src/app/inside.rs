//! Which hosts are the operator's own matter.
use super::App;
use crate::adapters::web::guard::Guard;
use crate::config::Settings;
use crate::seams::host_of;

impl App {
    /// Whether `host`, with or without its port, is told to the operator alone: it is none of the open web, or settings or the
    /// environment say that a service is there.
    pub fn is_inside(&self, host: &str) -> bool {
        // The guard without the operator's blocks: what these open is inside.
        let outside = Guard::default().target(&format!("http://{host}/")).is_ok();
        !outside || named(&self.settings).any(|it| host_of(it) == host)
    }
}

/// Every address that the settings and the environment name.
fn named(settings: &Settings) -> impl Iterator<Item = &str> {
    let telemetry = &settings.telemetry;
    let models = settings.endpoints.values().map(|it| &it.base_url);
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
