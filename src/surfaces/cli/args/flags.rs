//! Flags as settings.
use super::{Check, Judge, Read, Work};
use crate::config::Flag;
use crate::error::{Error, Kind, Result};

impl Check {
    /// The settings that its flags set.
    ///
    /// # Errors
    /// Kind `Usage` for a role that is none.
    pub fn flags(&self) -> Result<Vec<Flag>> {
        self.model.iter().map(|it| model_flag(it)).collect()
    }
}

impl Read {
    /// The settings that its flags set.
    ///
    /// # Errors
    /// Kind `Usage` for a role that is none.
    pub fn flags(&self) -> Result<Vec<Flag>> {
        self.model.iter().map(|it| model_flag(it)).collect()
    }
}

impl Judge {
    /// The settings that its flags set.
    ///
    /// # Errors
    /// Kind `Usage` for a role that is none, or a budget that means nothing.
    pub fn flags(&self) -> Result<Vec<Flag>> {
        let work = Work {
            model: self.model.clone(),
            budget: self.budget.clone(),
            ..Work::default()
        };
        work.flags()
    }
}

impl Work {
    /// The settings that its flags set.
    ///
    /// # Errors
    /// Kind `Usage` for a budget that means nothing.
    pub fn flags(&self) -> Result<Vec<Flag>> {
        let mut flags = Vec::new();
        let single = [
            ("effort", "--effort", &self.effort),
            ("strategy", "--strategy", &self.strategy),
            ("breadth", "--breadth", &self.breadth),
            ("depth", "--depth", &self.depth),
            ("max_iterations", "--max-iterations", &self.max_iterations),
            (
                "completeness_threshold",
                "--completeness-threshold",
                &self.completeness_threshold,
            ),
            ("summary_tokens", "--summary-tokens", &self.summary_tokens),
        ];
        for (name, flag, value) in single {
            if let Some(value) = value {
                flags.push(Flag {
                    name,
                    flag,
                    value: value.clone(),
                });
            }
        }
        if self.fresh {
            flags.push(Flag {
                name: "fresh",
                flag: "--fresh",
                value: "true".to_owned(),
            });
        }
        for model in &self.model {
            flags.push(model_flag(model)?);
        }
        for budget in &self.budget {
            for (name, value) in crate::config::amounts::parse(budget)? {
                flags.push(Flag {
                    name,
                    flag: "--budget",
                    value,
                });
            }
        }
        Ok(flags)
    }
}

/// `provider:model` or `role=provider:model` as a setting.
fn model_flag(model: &str) -> Result<Flag> {
    let (name, value) = match model.split_once('=') {
        None => ("model", model),
        Some((role, value)) => (role_setting(role)?, value),
    };
    Ok(Flag {
        name,
        flag: "--model",
        value: value.to_owned(),
    })
}

/// The setting of a role's model.
fn role_setting(role: &str) -> Result<&'static str> {
    let found = crate::config::SETTINGS
        .iter()
        .map(|it| it.name)
        .find(|it| it.strip_prefix("models.") == Some(role));
    found.ok_or_else(|| {
        Error::new(Kind::Usage, format!("--model: there is no role `{role}`"))
            .hint("write planner, researcher, summarizer, writer, verifier or judge before the `=`")
    })
}
