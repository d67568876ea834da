//! Search engines, and the hosts that a run has contacted: `engines`, `show --egress`.
use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::console::{Console, strip_ansi};
use crate::exit::{CommandResult, ExitStatus};
use crate::find_run::find;
use crate::mcp_sources::print_sources;
use crate::runtime::{block_on, with_app};
use ibid::app::engines::{EngineStatus, probe, statuses};
use ibid::config::LoadedConfig;
use ibid_core::Error;
use ibid_core::domain::{SourceKind, Traffic};
use ibid_core::record::{SentQuery, sent_queries};

/// `ibid engines`.
pub(super) fn engines(
    loaded: &LoadedConfig,
    as_json: bool,
    try_them: bool,
    console: Console,
) -> CommandResult {
    let settings = &loaded.settings;
    let mut failed = false;
    for engine in statuses(settings) {
        let tried: Option<Result<(), Error>> = (try_them && engine.ready)
            .then(|| block_on(probe(settings, engine.name)))
            .transpose()?;
        failed |= matches!(tried, Some(Err(_)));
        if as_json {
            console.print_line(&row(&engine, tried.as_ref()).to_string())?;
        } else {
            console.print(&format_engine(&engine, tried.as_ref(), console))?;
        }
    }
    failed |= print_sources(settings, as_json, try_them, console)?;
    if !as_json && !try_them {
        console.print_line(&format!(
            "\n{}",
            console.out.dim("Without --folder or --engine, runs use all ready engines except those marked `only with --engine`. --try sends each ready engine a small search.")
        ))?;
    }
    Ok(if failed { ExitStatus::Setup } else { ExitStatus::Delivered })
}

fn kinds(engine: &EngineStatus) -> Vec<String> {
    let word = |kind: SourceKind| {
        serde_json::to_value(kind).ok().and_then(|word| word.as_str().map(str::to_owned))
    };
    engine.verticals.iter().filter_map(|vertical| word(SourceKind::from(*vertical))).collect()
}

/// What the user has to set before the engine can be used.
fn missing(engine: &EngineStatus) -> Option<String> {
    if engine.ready {
        return None;
    }
    Some(if engine.needs_key {
        format!("set {}", engine.key_var)
    } else {
        format!("set {}", engine.base_var)
    })
}

fn row(engine: &EngineStatus, tried: Option<&Result<(), Error>>) -> Value {
    let mut row = json!({
        "name": engine.name, "about": engine.about, "finds": kinds(engine), "ready": engine.ready, "configured": engine.configured,
        "auto": engine.in_auto, "key": engine.key_var, "base_url": engine.base_var, "missing": missing(engine), "checked_against_real_answers": engine.verified,
    });
    match tried {
        Some(Ok(())) => row["answers"] = true.into(),
        Some(Err(fault)) => {
            row["answers"] = false.into();
            row["fault"] = fault.chain().into();
            row["fix"] = fault.hint().into();
        }
        None => {}
    }
    row
}

fn format_engine(
    engine: &EngineStatus,
    tried: Option<&Result<(), Error>>,
    console: Console,
) -> String {
    let paint = console.out;
    let mark = match (engine.ready, tried) {
        (_, Some(Err(_))) => paint.red("✗"),
        (true, _) => paint.green("✓"),
        (false, _) => paint.dim("·"),
    };
    let by_name = if engine.in_auto { "" } else { ", only with --engine" };
    let mut out = format!(
        "{mark} {:<16} {:<22} {}{by_name}\n",
        engine.name,
        kinds(engine).join(", "),
        engine.about
    );
    if let Some(missing) = missing(engine) {
        out += &format!("  {:<16} {}\n", "", paint.dim(&missing));
    } else if engine.configured && !engine.key_var.is_empty() {
        out += &format!("  {:<16} {}\n", "", paint.dim("set up"));
    }
    if let Some(Err(fault)) = tried {
        out += &format!("  {:<16} {}\n", "", strip_ansi(&fault.chain()));
        if let Some(fix) = fault.hint() {
            out += &format!("  {:<16} {} {fix}\n", "", paint.bold("fix:"));
        }
    }
    out
}

/// `ibid show R --egress`.
pub(super) fn egress(
    loaded: &LoadedConfig,
    name: &str,
    as_json: bool,
    console: Console,
) -> CommandResult {
    with_app(loaded, async |app| {
        let run = find(app, name).await?;
        let traffic = app.traffic(&run).await?;
        let queries = sent_queries(&app.events(&run, 0).await?);
        if as_json {
            let hosts: Vec<Value> = traffic
                .iter()
                .map(|(host, it)| json!({"host": host, "requests": it.requests, "bytes_sent": it.sent, "bytes_received": it.received}))
                .collect();
            console
                .print_line(&json!({"run": run, "hosts": hosts, "queries": queries}).to_string())?;
            return Ok(ExitStatus::Delivered);
        }
        console.print(&table(&traffic, console))?;
        console.print(&format_queries(&queries, console))?;
        Ok(ExitStatus::Delivered)
    })
}

/// The queries sent to other hosts, each with the origin of its words.
fn format_queries(queries: &[SentQuery], console: Console) -> String {
    let mut out = String::new();
    for query in queries {
        if out.is_empty() {
            out += &format!("\n{}\n", console.out.bold("queries"));
        }
        let origin = format!("({})", query.origin.join(", "));
        out += &format!(
            "{}: {} {}\n",
            strip_ansi(&query.engine),
            strip_ansi(&query.query),
            console.out.dim(&strip_ansi(&origin))
        );
    }
    out
}

fn table(traffic: &BTreeMap<String, Traffic>, console: Console) -> String {
    if traffic.is_empty() {
        return "No host was contacted; nothing left this machine.\n".to_owned();
    }
    let wide = traffic.keys().map(|key| key.chars().count()).max().unwrap_or(0).max(4);
    let head = format!(
        "{:<wide$} {:>9} {:>12} {:>14}",
        "host", "requests", "bytes sent", "bytes received"
    );
    let mut out = format!("{}\n", console.out.bold(&head));
    let mut all = Traffic::default();
    for (host, it) in traffic {
        all.add(*it);
        out += &format!(
            "{:<wide$} {:>9} {:>12} {:>14}\n",
            strip_ansi(host),
            it.requests,
            it.sent,
            it.received
        );
    }
    let last =
        format!("{:<wide$} {:>9} {:>12} {:>14}", "all", all.requests, all.sent, all.received);
    out += &format!("{}\n", console.out.dim(&last));
    out
}
