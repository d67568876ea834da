//! What the chores of this repository share.
use std::env;
use std::process::Command;

/// Cargo without the variables that it sets for the program it runs: build scripts that depend on them, such as ring's, would
/// run again, and all that depends on ring would be compiled again.
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let prefixes =
        ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_BIN_", "CARGO_PRIMARY_"];
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if prefixes.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    command
}
