//! What `evidence` does where nobody says how many rounds.
use super::{Loaded, Origin};

/// Rounds of `evidence` (row D1).
const ROUNDS: u32 = 3;

impl Loaded {
    /// How many rounds evidence is gathered in where that is all that is wanted: three, and where `max_iterations` alone is
    /// set, as many; `None` where `depth` or `effort` is set, which then says.
    pub fn rounds_of_evidence(&self) -> Option<u32> {
        let is_set = |name: &str| {
            let mut rows = self.resolved.rows();
            rows.any(|it| it.0.name == name && !matches!(it.2, Origin::Default))
        };
        if is_set("depth") {
            return None;
        }
        match is_set("max_iterations") {
            true => Some(self.settings.method.max_iterations),
            false => Some(ROUNDS),
        }
    }
}
