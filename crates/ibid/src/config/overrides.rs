//! Applies flags to the question of an earlier run: how a fork differs from its recording.
use super::layers::LoadedConfig;
use super::origin::SettingOrigin;
use super::settings::Settings;
use ibid_core::domain::{Budget, ModelChoice, ModelRole, Question};
use ibid_core::{Error, ErrorKind, Result};

impl LoadedConfig {
    /// The limits that were set explicitly, without those of an effort: the caller may choose another effort.
    pub fn configured_budget(&self) -> Budget {
        let is_set = |name: &str| {
            let mut rows = self.resolved.rows();
            let row = rows.find(|row| row.0.name == name);
            row.is_some_and(|row| {
                !matches!(row.2, SettingOrigin::Default | SettingOrigin::Effort(_))
            })
        };
        let all = self.settings.budget;
        Budget {
            seconds: all.seconds.filter(|_| is_set("budget.seconds")),
            calls: all.calls.filter(|_| is_set("budget.calls")),
            ..all
        }
    }

    /// Applies the values of flags, and of an effort that a flag set, to `question`. The rest of it stays.
    ///
    /// # Errors
    /// None as long as settings are named like the fields of [`ibid_core::domain::ResearchSettings`] and [`ibid_core::domain::Budget`], which
    /// a test checks.
    pub fn apply_flags(&self, question: &mut Question) -> Result<()> {
        let broken =
            |it| Error::new(ErrorKind::Internal, "applying flags to a question").with_source(it);
        let json = |settings: &Settings| {
            Ok(serde_json::json!({
                "method": serde_json::to_value(&settings.method)?,
                "budget": serde_json::to_value(settings.budget)?,
            }))
        };
        let new = json(&self.settings).map_err(broken)?;
        let mut method = serde_json::to_value(&question.method).map_err(broken)?;
        let mut budget = serde_json::to_value(question.budget).map_err(broken)?;
        for (setting, _, _) in self.resolved.rows().filter(|row| row.2.is_flag()) {
            let name = setting.name;
            if let Some(bound) = name.strip_prefix("budget.") {
                budget[bound] = new["budget"][bound].clone();
            } else if !new["method"][name].is_null() {
                method[name] = new["method"][name].clone();
            }
            for role in ModelRole::ALL {
                let own = name.strip_prefix("models.") == Some(role.as_str());
                if !own && name != "model" {
                    continue;
                }
                match self.settings.models.get(&role) {
                    Some(spec) => question.models.insert(role, spec.clone()),
                    // `none` removes the model of the role.
                    None => {
                        question.models.retain(|it, _| it != role);
                        if question.models.is_empty() {
                            question.models = ModelChoice::None;
                        }
                    }
                }
            }
        }
        question.method = serde_json::from_value(method).map_err(broken)?;
        question.budget = serde_json::from_value(budget).map_err(broken)?;
        Ok(())
    }
}
