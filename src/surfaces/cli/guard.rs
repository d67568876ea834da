//! `ibid doctor --guard`: what the guard of the open web says to an address.
use std::path::Path;

use serde_json::{Value, json};

use super::console::Console;
use super::documents::json_lines;
use super::exit::{Done, Exit};
use crate::app::web::{Known, explain, guard};
use crate::config::{Surroundings, layers};

/// One address.
pub(super) fn one(surroundings: &Surroundings, url: &str, console: Console) -> Done {
    let guard = guard(&layers::load(surroundings, &[])?.settings)?;
    console.line(&explain(&guard, &json!(url), url, Known::default()).to_string())?;
    Ok(Exit::Delivered)
}

/// Rows `{id, url, dns, chain}`; a row without an address is blocked like one whose address is none.
pub(super) fn file(surroundings: &Surroundings, file: &Path, console: Console) -> Done {
    let guard = guard(&layers::load(surroundings, &[])?.settings)?;
    for (_, row) in json_lines("--guard-file", &surroundings.cwd.join(file), file)? {
        let url = row["url"].as_str().unwrap_or_default();
        let given = |name| row.get(name).filter(|it: &&Value| !it.is_null());
        let known = Known {
            dns: given("dns"),
            chain: given("chain"),
        };
        console.line(&explain(&guard, &row["id"], url, known).to_string())?;
    }
    Ok(Exit::Delivered)
}
