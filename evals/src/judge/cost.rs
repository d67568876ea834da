//! What a measurement asks of its judge at most, shown before the first call, and the consent to pay for it.
use std::io::{BufRead as _, IsTerminal as _, Write as _};

use crate::Fault;

/// What the calls of a judge cost at most.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct JudgeCost {
    /// Calls whose answers are not cached.
    pub(crate) calls: u64,
    /// Calls whose answers are.
    pub(crate) cached: u64,
    /// Tokens sent.
    pub(crate) input: u64,
    /// Tokens received.
    pub(crate) output: u64,
    /// US dollars; `None` if the price is unknown.
    pub(crate) usd: Option<f64>,
}

impl JudgeCost {
    /// One line for the person who pays.
    pub(crate) fn text(&self, judge: &str, attempts: u32) -> String {
        let JudgeCost { calls, cached, input, output, .. } = self;
        let cached = match cached {
            0 => String::new(),
            cached => format!(" ({cached} more are cached)"),
        };
        let dollars = match self.usd {
            None => "at an unknown price".to_owned(),
            Some(0.0) => "free of charge".to_owned(),
            Some(usd) => {
                format!("${usd:.2}; ${:.2} if no answer is usable", usd * f64::from(attempts))
            }
        };
        format!(
            "{judge} is asked {calls} times{cached}: at most {input} tokens in, {output} out, {dollars}"
        )
    }

    /// Whether it may be spent: it is free, or the person said so with `--yes` or says so now.
    pub(crate) fn consent(&self, yes: bool) -> Result<(), Fault> {
        if self.calls == 0 || self.usd == Some(0.0) || yes {
            return Ok(());
        }
        let stdin = std::io::stdin();
        if stdin.is_terminal() {
            eprint!("Go on? [y/N] ");
            std::io::stderr().flush()?;
            let mut line = String::new();
            stdin.lock().read_line(&mut line)?;
            if matches!(line.trim(), "y" | "Y" | "yes") {
                return Ok(());
            }
            return Err("nothing was asked".into());
        }
        Err("the judge costs money: add --yes to go on".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_price_is_said_and_needs_consent_and_nothing_to_ask_needs_none() {
        let cost = JudgeCost { calls: 2, cached: 1, input: 900, output: 100, usd: None };
        let text = cost.text("m/x", 3);
        assert!(text.contains("2 times (1 more are cached)"), "{text}");
        assert!(text.contains("unknown price"), "{text}");
        assert!(cost.consent(true).is_ok());
        assert!(JudgeCost { usd: Some(0.0), ..cost }.consent(false).is_ok());
        assert!(JudgeCost { calls: 0, ..cost }.consent(false).is_ok());
        let paid = JudgeCost { usd: Some(0.5), ..cost };
        assert!(paid.text("m/x", 3).contains("$0.50; $1.50"), "{}", paid.text("m/x", 3));
    }
}
