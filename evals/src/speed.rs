//! How fast, how large: medians of several runs, each beside the bound it must keep.
//!
//! `evals speed [--ibid PATH] [--runs N]`
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::program::{Home, binary, median, number};
use super::sets::{self, Set};
use super::{Fault, Measured, Outcome, generated};

struct Figure {
    what: &'static str,
    value: f64,
    unit: &'static str,
    bound: f64,
    /// Whether more is better.
    more: bool,
    how: String,
}

impl Figure {
    fn holds(&self) -> bool {
        if self.more { self.value >= self.bound } else { self.value <= self.bound }
    }
}

/// Measures everything and prints one table.
pub(crate) fn run(args: &[String]) -> Outcome {
    let binary = binary(args)?;
    let runs = number(args, "--runs", 9)?;
    let mut figures = vec![help(&binary, runs.max(30))?, library(&binary, runs.max(8))?];
    let mut missing = Vec::new();
    let bioasq = sets::one("bioasq").and_then(|one| large(&binary, runs, &one));
    let pages = sets::one("pages").and_then(|one| reading(&binary, runs, &one.folder));
    for (what, found) in [("index build and memory", bioasq), ("reading web pages", pages)] {
        match found {
            Ok(more) => figures.extend(more),
            Err(fault) => missing.push(format!("{what} was not measured: {fault}")),
        }
    }
    table(&figures);
    let broken = figures.iter().filter(|figure| !figure.holds()).count();
    if broken > 0 {
        missing.insert(0, format!("{broken} of {} bounds are not kept", figures.len()));
    }
    if missing.is_empty() {
        Ok(Measured::new(figures.len(), "figures"))
    } else {
        Err(missing.join("\n").into())
    }
}

/// Every figure on little data; how fast and how large is only printed.
pub(crate) fn small(args: &[String]) -> Outcome {
    let binary = binary(args)?;
    let dir = tempfile::tempdir()?;
    generated::collection(dir.path())?;
    let questions = vec!["What does the Alder Bridge carry?".to_owned()];
    let set = Set { name: "generated", folder: dir.path().to_owned(), questions };
    let web = sets::one("library")?.folder.join("web");
    let mut figures = vec![help(&binary, 3)?, library(&binary, 2)?];
    figures.extend(large(&binary, 1, &set)?);
    figures.extend(reading(&binary, 1, &web)?);
    table(&figures);
    Ok(Measured::new(figures.iter().filter(|figure| figure.value > 0.0).count(), "figures"))
}

fn table(figures: &[Figure]) {
    println!("| figure | measured | bound | holds | how |\n| --- | --- | --- | --- | --- |");
    for it in figures {
        let sign = if it.more { "≥" } else { "≤" };
        let holds = if it.holds() { "yes" } else { "NO" };
        println!(
            "| {} | {:.1} {} | {sign} {} {} | {holds} | {} |",
            it.what, it.value, it.unit, it.bound, it.unit, it.how
        );
    }
}

fn help(binary: &Path, runs: usize) -> Result<Figure, Fault> {
    let home = Home::new(binary)?;
    let mut times = Vec::new();
    for _ in 0..runs {
        times.push(seconds(&mut home.command(&["--help"]))?.as_secs_f64() * 1000.0);
    }
    Ok(Figure {
        what: "`ibid --help`",
        value: median(&mut times),
        unit: "ms",
        bound: 20.0,
        more: false,
        how: format!("median of {runs}, process start to exit"),
    })
}

fn library(binary: &Path, runs: usize) -> Result<Figure, Fault> {
    let set = sets::one("library")?;
    let home = Home::new(binary)?;
    let folder = text(&set.folder)?;
    done(&mut home.command(&["index", "add", folder]))?;
    let mut times = Vec::new();
    for question in set.questions.iter().cycle().take(runs) {
        let began = Instant::now();
        let (code, _) = home.ask(question, folder)?;
        times.push(began.elapsed().as_secs_f64());
        if code != 0 && code != 3 {
            return Err(format!("`{question}` ended with {code}").into());
        }
    }
    let slowest = times.iter().copied().fold(0.0, f64::max);
    let count = times.len();
    Ok(Figure {
        what: "a run over the sample library, indexed",
        value: median(&mut times),
        unit: "s",
        bound: 1.0,
        more: false,
        how: format!(
            "median of {count} runs over the questions of the library; slowest {slowest:.2} s"
        ),
    })
}

/// Index speed and peak memory over a set of short documents.
fn large(binary: &Path, runs: usize, set: &Set) -> Result<Vec<Figure>, Fault> {
    let folder = text(&set.folder)?;
    let documents = fs::read_to_string(set.folder.join("corpus.jsonl"))?.lines().count();
    let mut rates = Vec::new();
    let mut peaks = Vec::new();
    if documents == 0 {
        return Err(format!("{} has no documents", set.name).into());
    }
    let tries = runs.min(5);
    for nth in 0..tries {
        let home = Home::new(binary)?;
        let began = Instant::now();
        let indexing = peak(&mut home.command(&["index", "add", folder]))?;
        rates.push(documents as f64 / began.elapsed().as_secs_f64());
        let question = set.questions.get(nth).ok_or("no questions")?;
        let asking = peak(&mut home.command(&["run", question, "--folder", folder, "-q"]))?;
        peaks.push(indexing.max(asking));
    }
    Ok(vec![
        Figure {
            what: "index build",
            value: median(&mut rates),
            unit: "documents/s",
            bound: 5000.0,
            more: true,
            how: format!(
                "median of {tries}, {documents} documents ({}) into an empty cache",
                set.name
            ),
        },
        Figure {
            what: "peak memory",
            value: median(&mut peaks),
            unit: "MB",
            bound: 80.0,
            more: false,
            how: format!(
                "median of {tries}, the larger of indexing {documents} documents and one run over them"
            ),
        },
    ])
}

/// Reading web pages in one process on one core.
fn reading(binary: &Path, runs: usize, folder: &Path) -> Result<Vec<Figure>, Fault> {
    let mut pages: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|dir| dir.map(|dir| dir.path())).collect::<Result<_, _>>()?;
    if pages.is_empty() {
        return Err(format!("there are no pages in {}", folder.display()).into());
    }
    pages.sort();
    let home = Home::new(binary)?;
    let tries = runs.min(5);
    let mut rates = Vec::new();
    for _ in 0..tries {
        let plain = home.command(&["read", "--jsonl"]);
        // One core: the bound is for one core, whatever the machine has.
        let mut pinned = Command::new("taskset");
        pinned
            .args(["-c", "0"])
            .arg(plain.get_program())
            .args(plain.get_args())
            .args(&pages)
            .env_clear();
        for (name, value) in plain.get_envs() {
            if let Some(value) = value {
                pinned.env(name, value);
            }
        }
        rates.push(pages.len() as f64 / seconds(&mut pinned)?.as_secs_f64());
    }
    Ok(vec![Figure {
        what: "`ibid read`, web pages",
        value: median(&mut rates),
        unit: "pages/s",
        bound: 100.0,
        more: true,
        how: format!("median of {tries}, {} pages in one process on one core", pages.len()),
    }])
}

fn text(path: &Path) -> Result<&str, Fault> {
    path.to_str().ok_or_else(|| "the path is not UTF-8".into())
}

fn done(command: &mut Command) -> Result<(), Fault> {
    seconds(command).map(|_| ())
}

/// How long a command takes from start to exit; it must end well.
fn seconds(command: &mut Command) -> Result<Duration, Fault> {
    let began = Instant::now();
    let output = command.stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
    let took = began.elapsed();
    if output.status.success() {
        Ok(took)
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{command:?} ended with {}: {said}", output.status).into())
    }
}

/// Peak resident memory of a command in MB (10^6 bytes): the kernel's own high-water mark, read every
/// millisecond until the process is gone. Only what grew in the last millisecond can be missed.
pub(crate) fn peak(command: &mut Command) -> Result<f64, Fault> {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    until_gone(command, &mut child)
}

/// What a command says, and its peak memory as [`peak`] reads it.
pub(crate) fn watched(command: &mut Command) -> Result<(String, f64), Fault> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut out = child.stdout.take().ok_or("no output")?;
    let reading = std::thread::spawn(move || {
        let mut said = String::new();
        out.read_to_string(&mut said).map(|_| said)
    });
    let peak = until_gone(command, &mut child)?;
    let said = reading.join().map_err(|_| "the output was not read")??;
    Ok((said, peak))
}

fn until_gone(command: &Command, child: &mut Child) -> Result<f64, Fault> {
    let status = format!("/proc/{}/status", child.id());
    let mut kilobytes = 0.0_f64;
    loop {
        let said = fs::read_to_string(&status).unwrap_or_default();
        let mark = said
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .and_then(|it| it.trim().trim_end_matches(" kB").parse::<f64>().ok());
        kilobytes = kilobytes.max(mark.unwrap_or(0.0));
        if let Some(end) = child.try_wait()? {
            return match end.code() {
                Some(0 | 3) if kilobytes > 0.0 => Ok(kilobytes * 1024.0 / 1e6),
                _ => Err(format!("{command:?} ended with {end}").into()),
            };
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
