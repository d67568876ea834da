//! Whether reading a document takes twice as long for one of twice the size, whatever is in it.
//!
//! `evals linear [--only TEXT] [--to KB] [--ibid PATH]`
pub(crate) mod families;
mod reading;

use std::time::Instant;

use ibid_extract::{ExtractLimits, Parser};

use self::families::{Family, all};
use crate::program::{binary, flag, number};
use crate::{Fault, Measured, Outcome, peers};

/// The smallest size, bytes; each further one is twice the last.
const FIRST: usize = 64 << 10;
/// The largest size, kB, unless said otherwise.
const LAST: usize = 8 << 10;
/// How much longer twice as much may take.
const GROWTH: f64 = 2.3;
/// Seconds that one MB may take.
const SECONDS: f64 = 2.0;
/// Seconds below which a time says more of the machine than of the reader.
const TELLING: f64 = 0.02;
/// Times that a growth is fitted to, those of the largest sizes.
const FITTED: usize = 4;
/// How often a document is read, unless it takes long.
const RUNS: usize = 3;
/// Seconds from which once is enough, and up to which the largest may take as long as it wants: where memory comes from is
/// then more of it than what is done.
const LONG: f64 = 0.5;
/// Seconds from which a family that keeps no bound is not doubled further.
const TOO_LONG: f64 = 3.0;

/// What came of one family.
struct GrowthRow {
    family: Family,
    /// Bytes and seconds, the smallest first.
    times: Vec<(usize, f64)>,
    /// What was read of the largest.
    read: String,
}

impl GrowthRow {
    /// How much longer twice as much takes, fitted to the largest sizes; none where all is too fast to tell.
    fn growth(&self) -> Option<f64> {
        let telling = self.times.iter().filter(|time| time.1 >= TELLING);
        let points: Vec<(f64, f64)> =
            telling.map(|telling| ((telling.0 as f64).log2(), telling.1.log2())).collect();
        let points = &points[points.len().saturating_sub(FITTED)..];
        if points.len() < 3 {
            return None;
        }
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
        let both: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
        let own: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
        Some((both / own).exp2())
    }

    /// Seconds that one MB of the largest takes.
    fn per_mb(&self) -> f64 {
        let last = self.times.last().copied().unwrap_or((1, 0.0));
        last.1 / (last.0 as f64 / f64::from(1 << 20))
    }

    /// Which bounds are not kept.
    fn faults(&self) -> Vec<&'static str> {
        let long = self.times.last().is_some_and(|time| time.1 > LONG);
        let grows = long && self.growth().is_some_and(|growth| growth > GROWTH);
        let slow = long && self.per_mb() > SECONDS;
        let faults = [(grows, "GROWS"), (slow, "SLOW")];
        faults.iter().filter(|error| error.0).map(|error| error.1).collect()
    }
}

/// Reads documents of every family and size, and prints how long each took.
pub(crate) fn run(args: &[String]) -> Outcome {
    let only = flag(args, "--only").unwrap_or_default();
    let last = number(args, "--to", LAST)? << 10;
    let mut families: Vec<Family> = all();
    families.retain(|family| family.name.contains(only));
    let (count, broken) = measure(args, families, last)?;
    match broken {
        _ if count == 0 => Err(format!("no family has `{only}` in its name").into()),
        0 => Ok(Measured::new(count, "families")),
        _ => Err(format!("{broken} of {count} families are not read in linear time").into()),
    }
}

/// One family of each reader in the smallest size; how long it takes is only printed.
pub(crate) fn small(args: &[String]) -> Outcome {
    let mut families: Vec<Family> = all();
    families.dedup_by_key(|family| family.form);
    let all = families.len();
    match measure(args, families, FIRST)?.0 {
        count if count == all => Ok(Measured::new(count, "families")),
        count => Err(format!("{count} of {all} families were read").into()),
    }
}

/// Prints the table of families in sizes up to `last`; how many were read, and how many keep a bound not.
fn measure(
    args: &[String],
    mut families: Vec<Family>,
    last: usize,
) -> Result<(usize, usize), Fault> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut limits = ExtractLimits { path, ..ExtractLimits::default() };
    match binary(args) {
        Ok(program) => limits.parser = Some(Parser::from_program(program)),
        Err(fault) => {
            println!("PDFs, Word documents and books are left out: {fault}");
            families.retain(|family| !family.form.is_confined());
        }
    }
    head(last);
    let mut broken = 0;
    for family in &families {
        let row = measured(*family, last, &limits);
        broken += usize::from(!row.faults().is_empty());
        print(&row, last);
    }
    Ok((families.len(), broken))
}

fn sizes(last: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(FIRST), |it| Some(it * 2)).take_while(move |it| *it <= last)
}

fn measured(family: Family, last: usize, limits: &ExtractLimits) -> GrowthRow {
    let mut row = GrowthRow { family, times: Vec::new(), read: String::new() };
    for size in sizes(last) {
        let document = (family.make)(size);
        let mut least = f64::INFINITY;
        for _ in 0..RUNS {
            let begun = Instant::now();
            let before = (peers::processor_seconds(begun), of_children());
            row.read = reading::read(family.form, &document, limits);
            let own = peers::processor_seconds(begun) - before.0;
            let took = match (before.1, of_children()) {
                _ if !family.form.is_confined() => own,
                (Some(before), Some(after)) if after > before => own + after - before,
                // A child that goes on has not told yet what it took.
                _ => begun.elapsed().as_secs_f64(),
            };
            least = least.min(took);
            if least > LONG {
                break;
            }
        }
        row.times.push((size, least));
        // The next would take far longer than it may.
        let megabytes = size as f64 / f64::from(1 << 20);
        if least > TOO_LONG && least > 3.0 * SECONDS * megabytes {
            break;
        }
    }
    row
}

/// Seconds of processor time that children took which have ended, in ticks of 10 ms; none where the kernel does not tell.
fn of_children() -> Option<f64> {
    let told = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program stands in brackets and may hold blanks.
    let fields = told.rsplit_once(')')?.1.split_ascii_whitespace();
    let ticks = fields.skip(13).take(2).map(|field| field.parse::<f64>().ok());
    Some(ticks.sum::<Option<f64>>()? / 100.0)
}

fn head(last: usize) {
    let sizes: Vec<String> = sizes(last).map(|size| format!("{} kB", size >> 10)).collect();
    println!(
        "| family | {} | growth | s/MB | bounds | what was read of the largest |",
        sizes.join(" | ")
    );
    println!("|{}", " --- |".repeat(sizes.len() + 5));
}

fn print(row: &GrowthRow, last: usize) {
    let mut times: Vec<String> = row.times.iter().map(|time| format!("{:.3}", time.1)).collect();
    times.resize(sizes(last).count(), "—".to_owned());
    let growth = row.growth();
    println!(
        "| {} | {} | {} | {:.2} | {} | {} |",
        row.family.name,
        times.join(" | "),
        growth.map_or_else(|| "—".to_owned(), |it| format!("{it:.2}")),
        row.per_mb(),
        match row.faults().as_slice() {
            [] => "kept".to_owned(),
            faults => faults.join(" "),
        },
        row.read,
    );
}
