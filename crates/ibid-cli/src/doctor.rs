//! `ibid doctor`: checks what a run needs and shows how to fix what is wrong.
use serde_json::{Value, json};

use crate::console::Console;
use crate::exit::{CommandResult, ExitStatus};
use crate::fleet;
use crate::runtime::block_on;
use ibid::config::{ProcessEnv, layers};
use ibid_server::health::{
    HealthFinding, HealthState, changed_settings, finding_from_error, local_findings,
    service_findings,
};

/// `ibid doctor`.
pub(super) fn doctor(env: &ProcessEnv, as_json: bool, console: Console) -> CommandResult {
    let (findings, changed) = match layers::load(env, &[]) {
        Ok(loaded) => {
            let found = block_on(async {
                let mut found = local_findings(&loaded).await;
                found.extend(service_findings(&loaded.settings).await);
                found.extend(fleet::finding(&loaded.settings).await);
                found
            })?;
            (found, changed_settings(&loaded))
        }
        Err(fault) => {
            let fix = "correct the file or variable that the error names";
            (vec![finding_from_error("settings", &fault, fix)], Vec::new())
        }
    };
    let exit = if findings.iter().any(|finding| finding.state == HealthState::Error) {
        ExitStatus::Setup
    } else {
        ExitStatus::Delivered
    };
    if as_json {
        let checks: Vec<Value> = findings.iter().map(row).collect();
        let settings: Vec<Value> = changed
            .iter()
            .map(|(name, value, origin)| json!({"name": name, "value": value, "origin": origin}))
            .collect();
        console.print_line(
            &json!({"ok": exit == ExitStatus::Delivered, "checks": checks, "settings": settings})
                .to_string(),
        )?;
        return Ok(exit);
    }
    // Quiet: only what is wrong.
    let is_shown = |it: &&HealthFinding| !console.quiet || it.state != HealthState::Ok;
    for finding in findings.iter().filter(is_shown) {
        console.print(&format_finding(finding, console))?;
    }
    if console.quiet {
        return Ok(exit);
    }
    if !changed.is_empty() {
        console.print_line(&format!(
            "\n{}",
            console.out.bold("Settings that differ from the default")
        ))?;
    }
    for (name, value, origin) in &changed {
        console.print_line(&format!(
            "  {} = {value}  {}",
            console.out.cyan(name),
            console.out.dim(&format!("# {origin}"))
        ))?;
    }
    Ok(exit)
}

fn row(finding: &HealthFinding) -> Value {
    let state = match finding.state {
        HealthState::Ok => "ok",
        HealthState::Warning => "warning",
        HealthState::Error => "fault",
    };
    json!({"name": finding.name, "state": state, "found": finding.found, "fix": finding.fix})
}

fn format_finding(finding: &HealthFinding, console: Console) -> String {
    let mark = match finding.state {
        HealthState::Ok => console.out.green("✓"),
        HealthState::Warning => console.out.yellow("!"),
        HealthState::Error => console.out.red("✗"),
    };
    let mut out = format!("{mark} {:<10} {}\n", finding.name, finding.found);
    if let Some(fix) = &finding.fix {
        out += &format!("  {:<10} {} {fix}\n", "", console.out.bold("fix:"));
    }
    out
}
