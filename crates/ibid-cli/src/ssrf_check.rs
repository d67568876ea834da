//! `ibid doctor --guard`: whether the SSRF guard allows a web address.
use std::path::Path;

use serde_json::{Value, json};

use crate::console::Console;
use crate::exit::{CommandResult, ExitStatus};
use crate::jsonl::json_lines;
use ibid::app::web::{WebFixture, explain, guard};
use ibid::config::{ProcessEnv, layers};

/// Checks one address.
pub(super) fn check_url(env: &ProcessEnv, url: &str, console: Console) -> CommandResult {
    let guard = guard(&layers::load(env, &[])?.settings)?;
    console.print_line(&explain(&guard, &json!(url), url, WebFixture::default()).to_string())?;
    Ok(ExitStatus::Delivered)
}

/// Checks the rows `{id, url, dns, chain}` of a file. A row without a valid address is blocked.
pub(super) fn check_file(env: &ProcessEnv, file: &Path, console: Console) -> CommandResult {
    let guard = guard(&layers::load(env, &[])?.settings)?;
    for (_, row) in json_lines("--guard-file", &env.cwd.join(file), file)? {
        let url = row["url"].as_str().unwrap_or_default();
        let given = |name| row.get(name).filter(|value: &&Value| !value.is_null());
        let known = WebFixture { dns: given("dns"), chain: given("chain") };
        console.print_line(&explain(&guard, &row["id"], url, known).to_string())?;
    }
    Ok(ExitStatus::Delivered)
}
