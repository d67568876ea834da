//! What flags set, laid over a question that was asked before: how a fork differs from what it forks.
use super::origin::Origin;
use super::{Loaded, Settings};
use crate::domain::{Budget, ModelChoice, ModelRole, Question};
use crate::error::{Error, Kind, Result};

impl Loaded {
    /// The bounds of a run that somebody has set. What an effort stands for is none of them: who asks may choose another.
    pub fn configured_budget(&self) -> Budget {
        let is_set = |name: &str| {
            let mut rows = self.resolved.rows();
            let row = rows.find(|it| it.0.name == name);
            row.is_some_and(|it| !matches!(it.2, Origin::Default | Origin::Effort(_)))
        };
        let all = self.settings.budget;
        Budget {
            seconds: all.seconds.filter(|_| is_set("budget.seconds")),
            calls: all.calls.filter(|_| is_set("budget.calls")),
            ..all
        }
    }

    /// Lays what flags set, and what an effort set by a flag stands for, over `question`; all else of it
    /// stays as it is.
    ///
    /// # Errors
    /// Never for settings that are named as the fields of [`crate::domain::Method`] and
    /// [`crate::domain::Budget`] are; a test holds them to it.
    pub fn lay_flags_over(&self, question: &mut Question) -> Result<()> {
        let broken = |it| Error::new(Kind::Internal, "laying flags over a question").because(it);
        let json = |it: &Settings| {
            Ok(serde_json::json!({
                "method": serde_json::to_value(&it.method)?,
                "budget": serde_json::to_value(it.budget)?,
            }))
        };
        let new = json(&self.settings).map_err(broken)?;
        let mut method = serde_json::to_value(&question.method).map_err(broken)?;
        let mut budget = serde_json::to_value(question.budget).map_err(broken)?;
        for (setting, _, _) in self.resolved.rows().filter(|it| it.2.is_flag()) {
            let name = setting.name;
            if let Some(bound) = name.strip_prefix("budget.") {
                budget[bound] = new["budget"][bound].clone();
            } else if !new["method"][name].is_null() {
                method[name] = new["method"][name].clone();
            }
            for role in ModelRole::ALL {
                let own = name.strip_prefix("models.") == Some(role.word());
                if !own && name != "model" {
                    continue;
                }
                match self.settings.models.get(&role) {
                    Some(spec) => question.models.insert(role, spec.clone()),
                    // `none` is a word of its own, not the lack of one.
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
