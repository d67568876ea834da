//! Working on the rows of a batch, several at once, each as a run of its own.
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::output::BatchOutput;
use super::progress::BatchProgress;
use super::rows::BatchRow;
use crate::console::Console;
use crate::exit::{CommandResult, ExitStatus};
use crate::online_eval::judge_online;
use crate::progress::clock;
use crate::signals::Signals;
use ibid::app::App;
use ibid_core::domain::{Report, RunId};
use ibid_core::record::Run;
use ibid_core::{ErrorKind, Result};
use ibid_report::escape::single_line;
use ibid_report::json;
use ibid_report::markdown::{pluralize, report_body};

/// How a row ended.
enum RowOutcome {
    /// Its article is in OUT.
    Delivered {
        run: RunId,
        resumed: bool,
        /// Whether `--strict` is on and its conditions are not met.
        not_strict: bool,
    },
    /// It has no article; the next batch tries it again.
    Failed { why: String, exit: ExitStatus },
}

/// Works on the rows of a batch.
pub(super) struct BatchRunner<'a> {
    pub(super) app: &'a App,
    pub(super) output: BatchOutput,
    /// Whether articles have footnotes with quotes.
    pub(super) quotes: bool,
    pub(super) strict: bool,
    pub(super) console: Console,
}

impl BatchRunner<'_> {
    /// Works on `todo`, at most `jobs` at once.
    pub(super) async fn run_rows(
        &self,
        todo: &[&BatchRow],
        jobs: usize,
        all: usize,
    ) -> CommandResult {
        let mut progress = BatchProgress {
            console: self.console,
            began: Instant::now(),
            all,
            done: all - todo.len(),
            failed: 0,
            drawn: false,
        };
        // Opened once and kept open for all rows.
        let _providers = match todo.first() {
            Some(first) => Some(self.app.open_providers(first.question.clone()).await?),
            None => None,
        };
        let mut signals = Signals::listen()?;
        let mut tick = tokio::time::interval(Duration::from_millis(200));
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let (finish, finishing) = watch::channel(false);
        let mut waiting = todo.iter();
        let mut running = FuturesUnordered::new();
        let mut exits: Vec<ExitStatus> = Vec::new();
        let mut any_not_strict = false;
        loop {
            while running.len() < jobs && !*finish.borrow() {
                let Some(row) = waiting.next() else { break };
                running.push(self.answer(row, finishing.clone()));
            }
            tokio::select! {
                ended = running.next() => {
                    let Some((row, ended)) = ended else { break };
                    match ended.inspect_err(|_| progress.clear())? {
                        RowOutcome::Delivered { run, resumed, not_strict } => {
                            any_not_strict |= not_strict;
                            progress.done += 1;
                            let how = if resumed { ", resumed" } else { "" };
                            progress.print_line(&format!("row {}: {run}{how}", row.id));
                        }
                        RowOutcome::Failed { why, exit } => {
                            exits.push(exit);
                            progress.failed += 1;
                            progress.clear();
                            let mark = self.console.err.red("✗");
                            self.console.eprint_line(&format!("{mark} row {}: {why}", single_line(&row.id.to_string())));
                        }
                    }
                }
                () = signals.next() => {
                    progress.clear();
                    if *finish.borrow() {
                        self.console.eprint_line("stopped; run the same command again to continue");
                        return Ok(ExitStatus::Stopped);
                    }
                    finish.send_replace(true);
                    self.console.eprint_line(&format!(
                        "Finishing {} with the evidence so far… (Ctrl-C again stops now; run the same command again to continue)",
                        pluralize(running.len() as u64, "row")
                    ));
                }
                _ = tick.tick() => progress.draw(running.len()),
            }
        }
        progress.clear();
        let left = all - progress.done - progress.failed;
        Ok(self.summarize(&progress, &exits, any_not_strict, left))
    }

    /// Prints the totals and returns the exit code.
    fn summarize(
        &self,
        progress: &BatchProgress,
        exits: &[ExitStatus],
        any_not_strict: bool,
        left: usize,
    ) -> ExitStatus {
        let again = match (progress.failed, left) {
            (0, 0) => String::new(),
            (0, left) => format!(", {left} not started"),
            (failed, 0) => format!(", {failed} failed"),
            (failed, left) => format!(", {failed} failed, {left} not started"),
        };
        if !self.console.quiet || !again.is_empty() {
            let hint =
                if again.is_empty() { "" } else { "; run the same command again to continue" };
            self.console.eprint_line(&format!(
                "{} of {} in {}{again}{hint} · {}",
                progress.done,
                pluralize(progress.all as u64, "row"),
                self.output.path().display(),
                clock(progress.began.elapsed().as_secs())
            ));
        }
        match exits {
            [] if left > 0 => ExitStatus::Stopped,
            [] if any_not_strict => ExitStatus::Strict,
            [] => ExitStatus::Delivered,
            all if all.iter().all(|exit| *exit == ExitStatus::NoAnswer) => ExitStatus::NoAnswer,
            _ => ExitStatus::Failure,
        }
    }

    /// Answers one row. Returns an error, which ends the batch, only for a failure that every row would meet.
    async fn answer<'r>(
        &self,
        row: &'r BatchRow,
        finishing: watch::Receiver<bool>,
    ) -> (&'r BatchRow, Result<RowOutcome>) {
        let ended = match self.run(row, finishing).await {
            Ok((run, resumed)) => self.deliver(row, run, resumed).await,
            Err(fault) if matches!(fault.kind(), ErrorKind::Setup | ErrorKind::Internal) => {
                Err(fault)
            }
            Err(fault) => Ok(RowOutcome::Failed {
                why: single_line(&fault.chain()),
                exit: ExitStatus::from_kind(fault.kind()),
            }),
        };
        (row, ended)
    }

    /// Runs a row to its end: its recorded run if that can be used, else a new one. Returns whether the run was recorded.
    async fn run(
        &self,
        row: &BatchRow,
        mut finishing: watch::Receiver<bool>,
    ) -> Result<(Run, bool)> {
        let recorded = match self.output.run_of(&row.id, &row.prompt) {
            None => None,
            // A run is recorded before it starts, so it may not exist.
            Some(id) => match self.app.run(&id).await {
                Err(fault) if fault.kind() == ErrorKind::NotFound => None,
                found => Some(found?),
            },
        };
        let (running, resumed) = match recorded {
            Some(run) if run.status.ended() && has_report(&run) => return Ok((run, true)),
            Some(run) if !run.status.ended() => (self.app.resume(&run.id).await?, true),
            _ => {
                let id = self.app.new_run_id();
                self.output.record_run(&row.id, &row.prompt, &id)?;
                (self.app.start_with_id(id, row.question.clone()).await?, false)
            }
        };
        let finish = running.finish_handle();
        let mut end = std::pin::pin!(running.wait());
        loop {
            tokio::select! {
                run = &mut end => return Ok((run?, resumed)),
                Ok(()) = finishing.changed() => finish(),
            }
        }
    }

    /// Writes the article of an ended run, or says why there is no article.
    async fn deliver(&self, row: &BatchRow, run: Run, resumed: bool) -> Result<RowOutcome> {
        let exit = ExitStatus::from_run(&run, self.strict);
        let Some(report) = run.report.as_deref().filter(|_| has_report(&run)) else {
            let exit = match exit {
                ExitStatus::Delivered | ExitStatus::Strict => ExitStatus::NoAnswer,
                exit => exit,
            };
            let why = json::failure(&run, exit.subtype()).map_or_else(
                || "found nothing relevant in what was read".to_owned(),
                |failure| failure.chain(),
            );
            return Ok(RowOutcome::Failed {
                why: format!("{} ({})", single_line(&why), run.id),
                exit,
            });
        };
        let folders = run.question.as_ref().map_or(&[][..], |it| it.folders.as_slice());
        let article = report_body(&with_folder_names(report, folders), self.quotes);
        self.output.write_article(&row.id, &row.prompt, &article)?;
        judge_online(self.app, &run, self.console).await;
        Ok(RowOutcome::Delivered {
            run: run.id.clone(),
            resumed,
            not_strict: exit == ExitStatus::Strict,
        })
    }
}

/// The report with the documents of `folders` named by the name of their folder and not by their path.
fn with_folder_names(report: &Report, folders: &[String]) -> Report {
    let mut report = report.clone();
    for source in &mut report.sources {
        let file = source.file.as_mut();
        for address in file.into_iter().chain([&mut source.url]) {
            if let Some(named) = folder_address(address, folders) {
                *address = named;
            }
        }
    }
    report
}

/// `folder:docs/rain.md` for the `file:` address of a document of the folder `docs`, and its file name elsewhere; `None` for
/// other addresses.
fn folder_address(address: &str, folders: &[String]) -> Option<String> {
    let path = url::Url::parse(address).ok().filter(|url| url.scheme() == "file")?;
    let path = path.to_file_path().ok()?;
    let inside = folders.iter().map(Path::new).find_map(|folder| {
        Some(Path::new(folder.file_name()?).join(path.strip_prefix(folder).ok()?))
    });
    let named = inside.or_else(|| path.file_name().map(PathBuf::from))?;
    Some(format!("folder:{}", named.to_string_lossy().replace('%', "%25")))
}

/// Whether a run has a report with at least one claim.
fn has_report(run: &Run) -> bool {
    let report = run.report.as_deref();
    report.is_some_and(|report| report.claims().next().is_some())
}
