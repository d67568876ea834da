//! MCP servers as sources: `engines add mcp`, `engines rm`, and their lines in `engines`.
use serde_json::json;

use crate::args::{AddMcpArgs, AddedSource, EnginesChange};
use crate::console::{Console, strip_ansi};
use crate::exit::{CommandError, CommandResult, ExitStatus};
use crate::runtime::block_on;
use ibid::app::engines::probe_mcp;
use ibid::config::mcp_sources::{McpSourceEntry, add, remove};
use ibid::config::{ProcessEnv, Settings, layers};
use ibid_core::Error;

/// `ibid engines add` and `rm`.
pub(super) fn manage(change: EnginesChange, env: &ProcessEnv, console: Console) -> CommandResult {
    let user = layers::find_files(env)?.user;
    match change {
        EnginesChange::Add { source: AddedSource::Mcp(args) } => {
            let AddMcpArgs { name, url, token_env, env, search, fetch, command } = args;
            let entry = McpSourceEntry { command, env, url, token_env, search, fetch };
            add(&user, &name, &entry)?;
            console.eprint_line(&format!(
                "added mcp:{name} to {}; `ibid doctor` tries it",
                user.display()
            ));
            Ok(ExitStatus::Delivered)
        }
        EnginesChange::Rm { name } => {
            let name = name.strip_prefix("mcp:").unwrap_or(&name);
            remove(&user, name)?;
            console.eprint_line(&format!("removed mcp:{name} from {}", user.display()));
            Ok(ExitStatus::Delivered)
        }
    }
}

/// Prints the configured servers, and tries them if asked to. Returns whether one failed.
///
/// # Errors
/// When the output cannot be written.
pub(super) fn print_sources(
    settings: &Settings,
    as_json: bool,
    try_them: bool,
    console: Console,
) -> Result<bool, CommandError> {
    let mut failed = false;
    for source in &settings.mcp_sources {
        let name = source.engine_name();
        let tried: Option<Result<String, Error>> =
            try_them.then(|| block_on(probe_mcp(source))).transpose()?;
        failed |= matches!(tried, Some(Err(_)));
        if as_json {
            let mut row = json!({"name": name, "about": "MCP server", "finds": ["web"], "ready": true, "auto": true});
            if let Some(tried) = &tried {
                row["answers"] = tried.is_ok().into();
                row["found"] = tried.as_ref().ok().cloned().into();
                row["fault"] = tried.as_ref().err().map(Error::chain).into();
            }
            console.print_line(&row.to_string())?;
            continue;
        }
        let mark = match tried {
            Some(Err(_)) => console.out.red("✗"),
            _ => console.out.green("✓"),
        };
        let about = match &tried {
            None => "MCP server".to_owned(),
            Some(Ok(found)) => strip_ansi(found),
            Some(Err(fault)) => strip_ansi(&fault.chain()),
        };
        console.print_line(&format!("{mark} {name:<16} {:<22} {about}", "web"))?;
        if let Some(fix) = tried.as_ref().and_then(|it| it.as_ref().err()?.hint()) {
            console.print_line(&format!(
                "  {:<16} {} {}",
                "",
                console.out.bold("fix:"),
                strip_ansi(fix)
            ))?;
        }
    }
    Ok(failed)
}
