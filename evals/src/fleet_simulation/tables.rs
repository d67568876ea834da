//! The report: tables in Markdown, and sentences that are chosen by the results.
use super::parameters::Parameters;
use super::result::{SATURATED, SimulationResult, StationKind, StationLoad, percentile};
use super::simulation::Cause;
use super::{Limits, WOKEN_INTERVAL};

/// Days of a month, for costs.
const MONTH: f64 = 30.0;

/// A Markdown table.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let rule = line(vec!["---"; head.len()]);
    let rows = rows.iter().map(|row| line(row.iter().map(String::as_str).collect()));
    format!("{}{rule}{}\n", line(head.to_vec()), rows.collect::<String>())
}

/// A whole number with a comma after each three digits.
pub(super) fn thousands(number: f64) -> String {
    let digits = format!("{:.0}", number.abs());
    let mut text = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with its two leading digits, as text: more would say more than the figures that went in.
fn rounded(number: f64) -> String {
    let unit = 10_f64.powf(number.max(1.0).log10().floor() - 1.0);
    thousands((number / unit).round() * unit)
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        none if none < 0.05 => "0 %".to_owned(),
        little if little < 1.0 => format!("{little:.1} %"),
        much => format!("{much:.0} %"),
    }
}

/// The time that a station was busy, and what was asked of it where that is more.
fn load_text(load: StationLoad) -> String {
    let busy = percent(load.busy);
    match load.asked {
        asked if asked > 1.05 => format!("{busy}, asked for {}", percent(asked)),
        _ => busy,
    }
}

/// The figures that went in.
pub(super) fn parameter_table(parameters: &Parameters) -> String {
    let row = |row: (&str, String, &str)| vec![row.0.to_owned(), row.1, row.2.to_owned()];
    let rows: Vec<Vec<String>> = parameters.rows().into_iter().map(row).collect();
    table(&["figure", "value", "from"], &rows)
}

fn name_of(result: &SimulationResult) -> Vec<String> {
    let it = &result.scenario;
    vec![thousands(it.servers as f64), thousands(it.runs_per_day), it.name.clone()]
}

/// Each scenario: how busy its stations were, and what its runs waited for.
pub(super) fn load_table(results: &[SimulationResult]) -> String {
    let kinds = [
        StationKind::Key,
        StationKind::Web,
        StationKind::Postgres,
        StationKind::ShareLock,
        StationKind::Slots,
    ];
    let others =
        [StationKind::Cores, StationKind::Temporal, StationKind::Objects, StationKind::Tokens];
    let mut head = vec!["servers", "runs a day", "scenario"];
    head.extend(kinds.iter().chain(&others).map(|it| it.name()));
    head.extend([
        "wait for a slot, p50, p99",
        "run, p50, p99",
        "runs in the fleet",
        "completed an hour, of",
    ]);
    head.push("saturated");
    let row = |result: &SimulationResult| {
        let mut row = name_of(result);
        row.extend(kinds.iter().chain(&others).map(|it| load_text(result.load(*it))));
        let counts = &result.counts;
        let growing = if result.grows() { ", growing" } else { "" };
        let both = |times: &[f64]| {
            format!("{:.1}, {:.1} s{growing}", percentile(times, 0.5), percentile(times, 0.99))
        };
        row.push(both(&counts.waits));
        row.push(both(&counts.run_times));
        row.push(thousands(result.mean_in_system));
        let asked = thousands(result.counts.arrived / result.scenario.measured * 3_600.0);
        row.push(format!("{}, {asked}", thousands(result.completed_per_hour())));
        let saturated: Vec<&str> = result.saturated().iter().map(|it| it.kind.name()).collect();
        row.push(if saturated.is_empty() { "none".to_owned() } else { saturated.join("; ") });
        row
    };
    table(&head, &results.iter().map(row).collect::<Vec<_>>())
}

/// What asks PostgreSQL for how much of its capacity.
pub(super) fn postgres_table(results: &[SimulationResult]) -> String {
    let mut head = vec!["servers", "runs a day", "scenario"];
    head.extend(Cause::ALL.iter().map(|it| it.1));
    head.push("all");
    let row = |result: &SimulationResult| {
        let mut row = name_of(result);
        row.extend(result.postgres.iter().map(|share| percent(*share)));
        row.push(percent(result.postgres.iter().sum()));
        row
    };
    table(&head, &results.iter().map(row).collect::<Vec<_>>())
}

/// What the looks for runs of dead servers ask of PostgreSQL, by the number of servers and of runs that have not ended. Computed.
pub(super) fn look_table(parameters: &Parameters) -> String {
    let unended = [100.0, 1_000.0, 10_000.0, 100_000.0];
    let heads: Vec<String> = unended.iter().map(|it| format!("{} runs", thousands(*it))).collect();
    let mut head = vec!["servers"];
    head.extend(heads.iter().map(String::as_str));
    let row = |servers: f64| {
        let share = |runs: &f64| {
            let rows = (runs + servers) * parameters.row_cost;
            let looks = servers / parameters.look_interval;
            percent(looks * (parameters.read_cost + rows) / parameters.postgres_commits)
        };
        let mut row = vec![thousands(servers)];
        row.extend(unended.iter().map(share));
        row
    };
    table(&head, &[10.0, 100.0, 1_000.0].map(row))
}

/// What the looks at commands ask of PostgreSQL when all slots of a fleet are taken. Computed.
pub(super) fn poll_table(parameters: &Parameters) -> String {
    let row = |servers: f64| {
        let runs = servers * parameters.slots as f64;
        let share = |interval: f64| {
            percent(runs / interval * parameters.read_cost / parameters.postgres_commits)
        };
        let looks = [parameters.poll_interval, WOKEN_INTERVAL].map(share);
        [thousands(servers), thousands(runs)].into_iter().chain(looks).collect()
    };
    let looks = format!("looks every {} s", parameters.poll_interval);
    let head = ["servers", "active runs", looks.as_str(), "wake-ups"];
    table(&head, &[10.0, 100.0, 1_000.0].map(row))
}

/// What a month costs, for the scenarios that change nothing, if all runs are served.
pub(super) fn cost_table(results: &[SimulationResult]) -> String {
    let head = ["servers", "runs a day", "servers, $ a month", "PostgreSQL", "Temporal"];
    let rest = ["object store", "models", "all", "a run", "a run without models"];
    let rows: Vec<Vec<String>> = results.iter().map(cost_row).collect();
    let mut distinct: Vec<Vec<String>> = Vec::new();
    for row in rows {
        if !distinct.contains(&row) {
            distinct.push(row);
        }
    }
    table(&[head, rest].concat(), &distinct)
}

fn cost_row(result: &SimulationResult) -> Vec<String> {
    let (it, prices) = (&result.scenario.parameters, &result.scenario.parameters.prices);
    let runs = result.scenario.runs_per_day * MONTH;
    let stored_tb =
        result.scenario.runs_per_day * it.retention_days * it.stored_pages * it.page_bytes / 1e12;
    let servers = result.scenario.servers as f64 * prices.server;
    let puts = runs * it.stored_pages / 1e6 * prices.million_puts;
    let objects = stored_tb * prices.stored_tb + puts;
    let models = runs * prices.models_per_run;
    let machines = servers + prices.postgres + prices.temporal + objects;
    let all = machines + models;
    let mut row =
        vec![thousands(result.scenario.servers as f64), thousands(result.scenario.runs_per_day)];
    row.extend([servers, prices.postgres, prices.temporal, objects, models, all].map(thousands));
    row.extend([all, machines].map(|usd| format!("${:.4}", usd / runs.max(1.0))));
    row
}

/// The runs a day at which each station becomes saturated.
pub(super) fn limit_table(limits: &[Limits]) -> String {
    let mut head = vec!["servers", "calls at once of the key"];
    head.extend(limits.iter().take(1).flat_map(|it| it.reached.iter().map(|at| at.0.name())));
    head.push("first");
    let row = |it: &Limits| {
        let mut row = vec![thousands(it.servers as f64), thousands(it.key_calls as f64)];
        row.extend(it.reached.iter().map(|at| match at.1 {
            runs if runs.is_finite() => rounded(runs),
            _ => "never".to_owned(),
        }));
        row.push(it.first().0.name().to_owned());
        row
    };
    table(&head, &limits.iter().map(row).collect::<Vec<_>>())
}

/// A line for each limit: what the simulation at that load says.
pub(super) fn limit_lines(limits: &[Limits]) -> String {
    let line = |it: &Limits| {
        let (kind, runs) = it.first();
        format!(
            "- {} servers, {} calls at once: first {}, from {} runs a day on. At {} it is busy for {} of the time, and a \
             run takes {:.0} s (median).\n",
            thousands(it.servers as f64),
            thousands(it.key_calls as f64),
            kind.name(),
            rounded(runs),
            rounded(it.check.scenario.runs_per_day),
            percent(it.check.load(kind).busy),
            percentile(&it.check.counts.run_times, 0.5),
        )
    };
    limits.iter().map(line).collect::<String>() + "\n"
}

/// A line for each scenario: what is saturated, the likely cause first, or what is nearest to it.
pub(super) fn scenario_lines(results: &[SimulationResult]) -> String {
    let line = |result: &SimulationResult| {
        let it = &result.scenario;
        let saturated: Vec<String> = result
            .saturated()
            .iter()
            .map(|load| format!("{} ({})", load.kind.name(), load_text(*load)))
            .collect();
        let what = match result.busiest() {
            Some(busiest) if saturated.is_empty() => format!(
                "nothing is saturated; the highest load is that of {} ({})",
                busiest.kind.name(),
                percent(busiest.busy)
            ),
            _ => format!(
                "saturated: {}; {} of {} runs an hour complete",
                saturated.join(", "),
                thousands(result.completed_per_hour()),
                thousands(result.counts.arrived / it.measured * 3_600.0),
            ),
        };
        let filling = match (result.grows(), result.load(StationKind::Slots).is_saturated()) {
            (true, false) => " Its slots are still filling up, so fewer runs end than later.",
            _ => "",
        };
        let late = result.counts.longest_share_turn;
        let shares = match it.parameters.share_max_age {
            most if late > most => format!(
                " A renewal of a share takes up to {late:.0} s; after {most} s a server may start no call."
            ),
            _ => String::new(),
        };
        format!(
            "- {} servers, {} runs a day, {}: {what}.{filling}{shares}\n",
            thousands(it.servers as f64),
            thousands(it.runs_per_day),
            it.name
        )
    };
    results.iter().map(line).collect::<String>() + "\n"
}

/// Whether the looks of runs at their commands saturate PostgreSQL: pairs of scenarios with looks and with wake-ups.
pub(super) fn poll_lines(pairs: &[(&SimulationResult, &SimulationResult)]) -> String {
    let line = |(polls, wakes): &(&SimulationResult, &SimulationResult)| {
        let all = polls.load(StationKind::Postgres).busy;
        let without = wakes.load(StationKind::Postgres).busy;
        let share = polls.postgres_share(Cause::Polls);
        let mut causes: Vec<(&str, f64)> =
            Cause::ALL.iter().map(|it| (it.1, polls.postgres_share(it.0))).collect();
        causes.sort_by(|a, b| b.1.total_cmp(&a.1));
        let largest = causes.first().copied().unwrap_or(("nothing", 0.0));
        let verdict = match (all >= SATURATED, without >= SATURATED) {
            (true, false) => "Without the looks PostgreSQL is not saturated",
            (true, true) => "PostgreSQL is saturated with the looks and without them",
            (false, _) => "The looks do not saturate PostgreSQL",
        };
        let it = &polls.scenario;
        format!(
            "- {} servers, {} runs a day, {}: looks at commands take {} of PostgreSQL's capacity, and with wake-ups {}. It \
             is busy for {} of the time, and with wake-ups for {}. {verdict}; its largest part is {} ({}).\n",
            thousands(it.servers as f64),
            thousands(it.runs_per_day),
            it.name,
            percent(share),
            percent(wakes.postgres_share(Cause::Polls)),
            percent(all),
            percent(without),
            largest.0,
            percent(largest.1),
        )
    };
    pairs.iter().map(line).collect::<String>() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_a_comma_after_each_three_digits() {
        let texts = [7.0, 950.4, 1_000.0, 123_456.0, 1_000_000.0].map(thousands);
        assert_eq!(texts, ["7", "950", "1,000", "123,456", "1,000,000"]);
    }

    #[test]
    fn a_table_has_a_rule_and_as_many_cells_in_each_line() {
        let text = table(&["a", "b"], &[vec!["1".to_owned(), "2".to_owned()]]);
        assert_eq!(text, "| a | b |\n| --- | --- |\n| 1 | 2 |\n\n");
    }
}
