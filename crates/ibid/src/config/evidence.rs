//! The number of rounds of the mode `evidence`.
use super::layers::LoadedConfig;
use super::origin::SettingOrigin;

/// Rounds of `evidence` when no setting says otherwise.
const DEFAULT_ROUNDS: u32 = 3;

impl LoadedConfig {
    /// The rounds of the mode `evidence`: `max_iterations` if it is set, else three. `None` when `depth` or `effort` is set, which then
    /// decides.
    pub fn evidence_rounds(&self) -> Option<u32> {
        let is_set = |name: &str| {
            let mut rows = self.resolved.rows();
            rows.any(|row| row.0.name == name && !matches!(row.2, SettingOrigin::Default))
        };
        if is_set("depth") {
            return None;
        }
        Some(if is_set("max_iterations") {
            self.settings.method.max_iterations
        } else {
            DEFAULT_ROUNDS
        })
    }
}
