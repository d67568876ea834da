//! `ibid doctor`: whether everything a run needs is there, and the exact fix where it is not.
use serde_json::{Value, json};

use super::console::Console;
use super::exit::{Done, Exit};
use super::wait;
use crate::config::{Surroundings, layers};
use crate::surfaces::health::{Finding, State, changed, inside, of_error, outside};

/// `ibid doctor`.
pub(super) fn doctor(surroundings: &Surroundings, as_json: bool, console: Console) -> Done {
    let (findings, changed) = match layers::load(surroundings, &[]) {
        Ok(loaded) => {
            let found = wait(async {
                let mut found = inside(&loaded).await;
                found.extend(outside(&loaded.settings).await);
                found
            })?;
            (found, changed(&loaded))
        }
        Err(fault) => {
            let fix = "mend the file or variable that is named";
            (vec![of_error("settings", &fault, fix)], Vec::new())
        }
    };
    let exit = if findings.iter().any(|it| it.state == State::Bad) {
        Exit::Setup
    } else {
        Exit::Delivered
    };
    if as_json {
        let checks: Vec<Value> = findings.iter().map(row).collect();
        let settings: Vec<Value> = changed
            .iter()
            .map(|(name, value, origin)| json!({"name": name, "value": value, "origin": origin}))
            .collect();
        console.line(
            &json!({"ok": exit == Exit::Delivered, "checks": checks, "settings": settings})
                .to_string(),
        )?;
        return Ok(exit);
    }
    for it in &findings {
        console.print(&shown(it, console))?;
    }
    if !changed.is_empty() {
        console.line(&format!(
            "\n{}",
            console.out.bold("Settings that are not the default")
        ))?;
    }
    for (name, value, origin) in changed {
        console.line(&format!(
            "  {} = {value}  {}",
            console.out.cyan(&name),
            console.out.dim(&format!("# {origin}"))
        ))?;
    }
    Ok(exit)
}

fn row(it: &Finding) -> Value {
    let state = match it.state {
        State::Good => "ok",
        State::Doubtful => "warning",
        State::Bad => "fault",
    };
    json!({"name": it.name, "state": state, "found": it.found, "fix": it.fix})
}

fn shown(it: &Finding, console: Console) -> String {
    let mark = match it.state {
        State::Good => console.out.green("✓"),
        State::Doubtful => console.out.yellow("!"),
        State::Bad => console.out.red("✗"),
    };
    let mut out = format!("{mark} {:<10} {}\n", it.name, it.found);
    if let Some(fix) = &it.fix {
        out += &format!("  {:<10} {} {fix}\n", "", console.out.bold("fix:"));
    }
    out
}
