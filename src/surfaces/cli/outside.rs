//! What is outside: the engines there are, and which hosts a run has contacted.
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::console::{Console, bare};
use super::exit::{Done, Exit};
use super::{runs, wait, with_app};
use crate::app::engines::{Standing, standing, try_out};
use crate::config::Loaded;
use crate::domain::{SourceKind, Traffic};
use crate::error::Error;
use crate::record::{SentQuery, sent_queries};

/// `ibid engines`.
pub(super) fn engines(loaded: &Loaded, as_json: bool, try_them: bool, console: Console) -> Done {
    let settings = &loaded.settings;
    let mut failed = false;
    for it in standing(settings) {
        let tried: Option<Result<(), Error>> = (try_them && it.ready)
            .then(|| wait(try_out(settings, it.name)))
            .transpose()?;
        failed |= matches!(tried, Some(Err(_)));
        if as_json {
            console.line(&row(&it, tried.as_ref()).to_string())?;
        } else {
            console.print(&shown(&it, tried.as_ref(), console))?;
        }
    }
    if !as_json && !try_them {
        console.line(&format!(
            "\n{}",
            console.out.dim("Ready ones are asked by themselves where no folder is named; --engine NAME chooses. --try sends each ready one a small search.")
        ))?;
    }
    Ok(match failed {
        true => Exit::Setup,
        false => Exit::Delivered,
    })
}

fn kinds(it: &Standing) -> Vec<String> {
    let word = |kind: SourceKind| {
        serde_json::to_value(kind)
            .ok()
            .and_then(|it| it.as_str().map(str::to_owned))
    };
    it.verticals
        .iter()
        .filter_map(|it| word(SourceKind::from(*it)))
        .collect()
}

/// What is missing, where something is.
fn missing(it: &Standing) -> Option<String> {
    if it.ready {
        return None;
    }
    Some(match it.needs_key {
        true => format!("set {}", it.key_var),
        false => format!("set {}", it.base_var),
    })
}

fn row(it: &Standing, tried: Option<&Result<(), Error>>) -> Value {
    let mut row = json!({
        "name": it.name, "about": it.about, "finds": kinds(it), "ready": it.ready, "configured": it.configured,
        "auto": it.by_itself, "key": it.key_var, "base_url": it.base_var, "missing": missing(it), "checked_against_real_answers": it.seen,
    });
    match tried {
        Some(Ok(())) => row["answers"] = true.into(),
        Some(Err(fault)) => {
            row["answers"] = false.into();
            row["fault"] = fault.chain().into();
            row["fix"] = fault.help().into();
        }
        None => {}
    }
    row
}

fn shown(it: &Standing, tried: Option<&Result<(), Error>>, console: Console) -> String {
    let paint = console.out;
    let mark = match (it.ready, tried) {
        (_, Some(Err(_))) => paint.red("✗"),
        (true, _) => paint.green("✓"),
        (false, _) => paint.dim("·"),
    };
    let by_name = if it.by_itself { "" } else { ", only by name" };
    let mut out = format!(
        "{mark} {:<16} {:<22} {}{by_name}\n",
        it.name,
        kinds(it).join(", "),
        it.about
    );
    if let Some(missing) = missing(it) {
        out += &format!("  {:<16} {}\n", "", paint.dim(&missing));
    } else if it.configured && !it.key_var.is_empty() {
        out += &format!("  {:<16} {}\n", "", paint.dim("set up"));
    }
    if let Some(Err(fault)) = tried {
        out += &format!("  {:<16} {}\n", "", bare(&fault.chain()));
        if let Some(fix) = fault.help() {
            out += &format!("  {:<16} {} {fix}\n", "", paint.bold("fix:"));
        }
    }
    out
}

/// `ibid show R --egress`.
pub(super) fn egress(loaded: &Loaded, name: &str, as_json: bool, console: Console) -> Done {
    with_app(loaded, async |app| {
        let run = runs::find(app, name).await?;
        let traffic = app.traffic(&run).await?;
        let queries = sent_queries(&app.events(&run, 0).await?);
        if as_json {
            let hosts: Vec<Value> = traffic
                .iter()
                .map(|(host, it)| json!({"host": host, "requests": it.requests, "bytes_sent": it.sent, "bytes_received": it.received}))
                .collect();
            console.line(&json!({"run": run, "hosts": hosts, "queries": queries}).to_string())?;
            return Ok(Exit::Delivered);
        }
        console.print(&table(&traffic, console))?;
        console.print(&sent(&queries, console))?;
        Ok(Exit::Delivered)
    })
}

/// The queries that left the machine, each with where its words come from.
fn sent(queries: &[SentQuery], console: Console) -> String {
    let mut out = String::new();
    for it in queries {
        if out.is_empty() {
            out += &format!("\n{}\n", console.out.bold("queries"));
        }
        let origin = format!("({})", it.origin.join(", "));
        out += &format!(
            "{}: {} {}\n",
            bare(&it.engine),
            bare(&it.query),
            console.out.dim(&bare(&origin))
        );
    }
    out
}

fn table(traffic: &BTreeMap<String, Traffic>, console: Console) -> String {
    if traffic.is_empty() {
        return "Nobody was contacted: nothing left this machine.\n".to_owned();
    }
    let wide = traffic
        .keys()
        .map(|it| it.chars().count())
        .max()
        .unwrap_or(0)
        .max(4);
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
            bare(host),
            it.requests,
            it.sent,
            it.received
        );
    }
    let last = format!(
        "{:<wide$} {:>9} {:>12} {:>14}",
        "all", all.requests, all.sent, all.received
    );
    out += &format!("{}\n", console.out.dim(&last));
    out
}
