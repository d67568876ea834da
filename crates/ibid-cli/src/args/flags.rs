//! Flags that override settings.
use super::documents::{CheckArgs, ReadArgs};
use super::question::MethodArgs;
use super::review::JudgeArgs;
use ibid::config::Flag;
use ibid_core::{Error, ErrorKind, Result};

impl CheckArgs {
    /// The settings that these flags set.
    ///
    /// # Errors
    /// `Usage` for an unknown role.
    pub fn flags(&self) -> Result<Vec<Flag>> {
        self.model.iter().map(|it| model_flag(it)).collect()
    }
}

impl ReadArgs {
    /// The settings that these flags set.
    ///
    /// # Errors
    /// `Usage` for an unknown role.
    pub fn flags(&self) -> Result<Vec<Flag>> {
        self.model.iter().map(|it| model_flag(it)).collect()
    }
}

impl JudgeArgs {
    /// The settings that these flags set.
    ///
    /// # Errors
    /// `Usage` for an unknown role or an invalid budget.
    pub fn flags(&self) -> Result<Vec<Flag>> {
        let work = MethodArgs {
            model: self.model.clone(),
            budget: self.budget.clone(),
            ..MethodArgs::default()
        };
        work.flags()
    }
}

impl MethodArgs {
    /// The settings that these flags set.
    ///
    /// # Errors
    /// `Usage` for an unknown role or an invalid budget.
    pub fn flags(&self) -> Result<Vec<Flag>> {
        // The last of two flags wins.
        let mut flags = self.input.clone();
        let single = [
            ("effort", "--effort", &self.effort),
            ("strategy", "--strategy", &self.strategy),
            ("breadth", "--breadth", &self.breadth),
            ("depth", "--depth", &self.depth),
            ("max_iterations", "--max-iterations", &self.max_iterations),
            ("completeness_threshold", "--completeness-threshold", &self.completeness_threshold),
            ("summary_tokens", "--summary-tokens", &self.summary_tokens),
        ];
        for (name, flag, value) in single {
            if let Some(value) = value {
                flags.push(Flag { name, flag, value: value.clone() });
            }
        }
        if self.fresh {
            flags.push(Flag { name: "fresh", flag: "--fresh", value: "true".to_owned() });
        }
        for model in &self.model {
            flags.push(model_flag(model)?);
        }
        for budget in &self.budget {
            for (name, value) in ibid::config::budget_spec::parse(budget)? {
                flags.push(Flag { name, flag: "--budget", value });
            }
        }
        Ok(flags)
    }
}

/// The setting that `provider:model` or `role=provider:model` sets.
fn model_flag(model: &str) -> Result<Flag> {
    let (name, value) = match model.split_once('=') {
        None => ("model", model),
        Some((role, value)) => (role_setting(role)?, value),
    };
    Ok(Flag { name, flag: "--model", value: value.to_owned() })
}

/// The name of the setting for the model of `role`.
fn role_setting(role: &str) -> Result<&'static str> {
    let found = ibid::config::SETTINGS
        .iter()
        .map(|setting| setting.name)
        .find(|name| name.strip_prefix("models.") == Some(role));
    found.ok_or_else(|| {
        Error::new(ErrorKind::Usage, format!("--model: unknown role `{role}`"))
            .with_hint("roles are planner, researcher, summarizer, writer, verifier and judge")
    })
}
