//! Kill it, resume it, compare: the report must be the same, and no answered call asked again.
//!
//! First one run is left alone; its report is the measure. Then the program is killed (SIGKILL) at
//! random moments, and made to abort at every named crash point, the first and the third time it
//! is passed, and again while it resumes. After each, `ibid resume` must give the same final object but for
//! what names the run or tells the time, the events must be numbered without gaps, and every call that
//! was answered before the kill must still have been sent exactly as often as then.
//!
//! `evals crash [--kills N] [--set NAME] [--question TEXT] [--seed N] [--ibid PATH]`
use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use ibid_core::ports::CRASH_POINTS;
use serde_json::Value;

use super::program::{Home, binary, final_object, flag, median, number, with};
use super::{Fault, Measured, Outcome, sets};

struct Trial<'a> {
    base: &'a Home,
    question: &'a str,
    folder: &'a str,
    /// What the undisturbed run told.
    expected: Value,
}

#[derive(Default)]
struct CrashCounts {
    kills: usize,
    /// Killed before the question was accepted: nothing was promised.
    unaccepted: usize,
    /// The run had ended before the kill came.
    too_late: usize,
    same: usize,
    answered_calls: usize,
    faults: Vec<String>,
}

/// Kills and resumes until told enough.
pub(crate) fn run(args: &[String]) -> Outcome {
    kill(args, 50, CRASH_POINTS, &[1, 3])
}

/// A kill at a random moment, and one at each of the points where a call or the report is kept.
pub(crate) fn small(args: &[String]) -> Outcome {
    let args = with(args, &["--set", "text"]);
    kill(&args, 1, &["call.after_intent", "call.after_result", "report.after_commit"], &[1])
}

fn kill(args: &[String], kills: usize, points: &[&str], passes: &[u32]) -> Outcome {
    let binary = binary(args)?;
    let kills = number(args, "--kills", kills)?;
    let seed = number(args, "--seed", 1)? as u64;
    let set = sets::one(flag(args, "--set").unwrap_or("library"))?;
    let question = flag(args, "--question")
        .or(set.questions.first().map(String::as_str))
        .ok_or("no question")?;
    let folder = set.folder.to_str().ok_or("the folder's path is not UTF-8")?;

    let base = Home::new(&binary)?;
    base.call(&["index", "add", folder])?;
    let (trial, typical) = undisturbed(&base, question, folder)?;

    let mut random = CrashCounts::default();
    let mut chance = seed;
    for _ in 0..kills {
        let share = f64::from(next(&mut chance)) / f64::from(u32::MAX);
        let moment = typical.mul_f64(share * 1.1);
        if let Err(fault) = trial.kill_after(moment, &mut random) {
            random.faults.push(format!("killed after {moment:?}: {fault}"));
        }
    }
    report("random moments", &random);

    // A release has no crash points.
    let points = if cfg!(debug_assertions) { points } else { &[] };
    let mut named = CrashCounts::default();
    for point in points {
        for nth in passes {
            let at = format!("{point}:{nth}");
            if let Err(fault) = trial.abort_at(&at, *nth == 1, &mut named) {
                named.faults.push(format!("{at}: {fault}"));
            }
        }
    }
    match points {
        [] => println!("named points: not measured; only a build without --release has them"),
        _ => report("named points", &named),
    }
    let faults = random.faults.len() + named.faults.len();
    if faults > 0 {
        return Err(format!("{faults} faults").into());
    }
    if random.answered_calls + named.answered_calls == 0 {
        return Err("no run was killed after a call was answered".into());
    }
    Ok(Measured::new(random.same + named.same, "resumed runs"))
}

fn report(name: &str, it: &CrashCounts) {
    println!(
        "{name}: {} kills ({} before acceptance, {} after the end) · {}/{} resumed to the same report · {} answered calls, 0 asked again unless listed",
        it.kills,
        it.unaccepted,
        it.too_late,
        it.same,
        it.kills - it.unaccepted,
        it.answered_calls
    );
    for fault in &it.faults {
        println!("  {fault}");
    }
}

/// The measure: three undisturbed runs that agree, and how long one takes.
fn undisturbed<'a>(
    base: &'a Home,
    question: &'a str,
    folder: &'a str,
) -> Result<(Trial<'a>, Duration), Fault> {
    let mut times = Vec::new();
    let mut told: Vec<Value> = Vec::new();
    for _ in 0..3 {
        let home = base.sibling()?;
        let began = Instant::now();
        let (code, object) = home.ask(question, folder)?;
        times.push(began.elapsed().as_secs_f64());
        if code != 0 {
            return Err(format!("the undisturbed run ended with {code}").into());
        }
        told.push(comparable(object));
    }
    if told.iter().any(|value| *value != told[0]) {
        return Err("undisturbed runs differ among themselves".into());
    }
    let trial = Trial { base, question, folder, expected: told.swap_remove(0) };
    Ok((trial, Duration::from_secs_f64(median(&mut times))))
}

impl Trial<'_> {
    fn args(&self) -> [&str; 6] {
        ["run", self.question, "--folder", self.folder, "--json", "-q"]
    }

    fn kill_after(&self, moment: Duration, tally: &mut CrashCounts) -> Result<(), Fault> {
        let home = self.base.sibling()?;
        let mut child =
            home.command(&self.args()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        std::thread::sleep(moment);
        tally.kills += 1;
        if child.try_wait()?.is_some() {
            tally.too_late += 1;
        }
        child.kill()?;
        child.wait()?;
        self.recover(&home, tally)
    }

    /// Aborts at a named point, then at the same point while resuming, then lets it resume.
    fn abort_at(&self, at: &str, must_hit: bool, tally: &mut CrashCounts) -> Result<(), Fault> {
        let home = self.base.sibling()?;
        let output = home.command(&self.args()).env("IBID_CRASH_AT", at).output()?;
        if output.status.code().is_some() {
            // A point that is passed fewer than three times cannot be hit the third time.
            return if must_hit {
                Err(format!("never hit: the run ended with {}", output.status).into())
            } else {
                Ok(())
            };
        }
        tally.kills += 1;
        if let Some(run) = newest(&home)? {
            home.command(&["resume", &run, "--json", "-q"]).env("IBID_CRASH_AT", at).output()?;
        }
        self.recover(&home, tally)
    }

    /// Resumes the run of `home` and compares.
    fn recover(&self, home: &Home, tally: &mut CrashCounts) -> Result<(), Fault> {
        let Some(run) = newest(home)? else {
            tally.unaccepted += 1;
            return Ok(());
        };
        let before = answered(home)?;
        let output = home.call(&["resume", &run, "--json", "-q"])?;
        let (code, object) = final_object(&output)?;
        if code != 0 {
            return Err(format!("resume ended with {code}: {object}").into());
        }
        let told = comparable(object);
        if told != self.expected {
            return Err(format!("another report: {}", difference(&self.expected, &told)).into());
        }
        let after = answered(home)?;
        tally.answered_calls += before.len();
        for (key, sent) in &before {
            if after.get(key) != Some(sent) {
                return Err(format!("call {key} was answered and asked again").into());
            }
        }
        let events = home.rows("select cast(seq as text), run from events order by run, seq")?;
        for (nth, row) in events.iter().enumerate() {
            if row[0] != (nth + 1).to_string() {
                return Err(format!("event {} is numbered {}", nth + 1, row[0]).into());
            }
        }
        tally.same += 1;
        Ok(())
    }
}

/// The newest run of a home, if one was accepted.
fn newest(home: &Home) -> Result<Option<String>, Fault> {
    let output = home.call(&["ls", "--json"])?;
    let stdout = String::from_utf8(output.stdout)?;
    let Some(line) = stdout.lines().next() else {
        return Ok(None);
    };
    let row: Value = serde_json::from_str(line)?;
    let id = row["run_id"].as_str().ok_or("`ls --json` gives no run_id")?;
    Ok(Some(id.to_owned()))
}

/// Every answered call by its key, with how often it was sent and what came back.
fn answered(home: &Home) -> Result<BTreeMap<String, (String, String)>, Fault> {
    let rows = home.rows(
        "select run || key, cast(sent as text), coalesce(answer, '') from steps where state = 'answered'",
    )?;
    Ok(rows.into_iter().map(|row| (row[0].clone(), (row[1].clone(), row[2].clone()))).collect())
}

/// The final object without what differs from run to run: the run's two names and what the clock says.
fn comparable(mut object: Value) -> Value {
    let names = ["run_id", "trace_id"].map(|it| object[it].as_str().unwrap_or_default().to_owned());
    if let Some(fields) = object.as_object_mut() {
        fields.remove("duration_ms");
    }
    let names = names.iter().filter(|name| !name.is_empty());
    let unnamed = names.fold(object.to_string(), |text, it| text.replace(it, "RUN"));
    serde_json::from_str(&unnamed).unwrap_or(object)
}

/// The first field in which two objects differ, short enough to read.
fn difference(expected: &Value, told: &Value) -> String {
    let (Some(one), Some(other)) = (expected.as_object(), told.as_object()) else {
        return format!("{told:.300}");
    };
    one.iter().find(|(name, value)| other.get(*name) != Some(value)).map_or_else(
        || "fields were added".to_owned(),
        |(name, value)| {
            let got = other.get(name).unwrap_or(&Value::Null).to_string();
            let value = value.to_string();
            let same = value.bytes().zip(got.bytes()).take_while(|pair| pair.0 == pair.1).count();
            let from = |text: &str| -> String {
                let bytes = text.as_bytes().get(same.saturating_sub(40)..);
                String::from_utf8_lossy(bytes.unwrap_or_default()).chars().take(160).collect()
            };
            format!("`{name}`: …{} instead of …{}", from(&got), from(&value))
        },
    )
}

/// SplitMix64 (public domain), the upper half.
fn next(state: &mut u64) -> u32 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::comparable;

    #[test]
    fn two_runs_that_differ_in_name_and_time_alone_are_the_same() {
        let run = |id: &str, trace: &str, took: u32, title: &str| {
            comparable(json!({
                "run_id": id, "trace_id": trace, "duration_ms": took,
                "title": title, "next": format!("ibid show {id}"),
            }))
        };
        let one = run("r_01A", "0198-a", 7, "Rain");
        assert_eq!(one, run("r_01B", "0198-b", 9, "Rain"));
        assert_ne!(one, run("r_01B", "0198-b", 9, "Snow"));
    }
}
