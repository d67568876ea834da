//! `evals fleet`: a simulation of many servers.
use crate::measured::Measured;
use crate::{Outcome, fleet_simulation};

/// Simulates fleets of 10, 100 and 1,000 servers.
pub(crate) fn run(_: &[String]) -> Outcome {
    print(&fleet_simulation::report())
}

/// Simulates two of them.
pub(crate) fn small(_: &[String]) -> Outcome {
    print(&fleet_simulation::small_report())
}

fn print(report: &str) -> Outcome {
    println!("{report}");
    let rows = report.lines().filter(|line| line.starts_with('|')).count();
    Ok(Measured::new(rows, "rows"))
}
