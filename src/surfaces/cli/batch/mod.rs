//! `ibid batch FILE -o OUT`: many questions, each a run of its own, one line an article.
mod sheet;

use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::args::{Ask, Batch, Output};
use super::ask::{question, searched, tell_model};
use super::console::Console;
use super::documents::json_lines;
use super::exit::{Done, Exit};
use super::follow::columns;
use super::online::online;
use super::progress::{clip, clock};
use super::signals::Signals;
use super::with_app;
use crate::app::App;
use crate::config::{Loaded, Surroundings};
use crate::domain::{Mode, Question, RunId};
use crate::error::{Error, Kind, Result};
use crate::record::Run;
use crate::surfaces::export::escape::line;
use crate::surfaces::export::json;
use crate::surfaces::export::markdown::{article, counted};

use sheet::Sheet;

/// One row of FILE.
struct Row {
    /// As it stands there: text or number.
    id: Value,
    prompt: String,
    question: Question,
}

/// Columns of the bar.
const BAR: usize = 20;

/// `ibid batch FILE -o OUT`.
pub(super) fn batch(
    it: &Batch,
    loaded: &Loaded,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    // Every row is looked at before anything is spent.
    let rows = rows(it, loaded, surroundings)?;
    let sheet = Sheet::open(&surroundings.cwd.join(&it.output), console)?;
    let mut todo = Vec::new();
    for row in &rows {
        if !sheet.has(&row.id, &row.prompt)? {
            todo.push(row);
        }
    }
    let done = rows.len() - todo.len();
    if !console.quiet {
        let kept = match done {
            0 => String::new(),
            n => format!(", {n} answered already"),
        };
        console.tell(&format!("{}{kept}", counted(rows.len() as u64, "row")));
    }
    if todo.is_empty() {
        return Ok(Exit::Delivered);
    }
    tell_model(&loaded.settings, console);
    with_app(loaded, async |app| {
        let desk = Desk {
            app,
            sheet,
            quotes: !it.no_quotes,
            strict: it.strict,
            console,
        };
        desk.work(&todo, it.jobs as usize, rows.len()).await
    })
}

/// The rows of FILE as questions, by the flags.
fn rows(it: &Batch, loaded: &Loaded, surroundings: &Surroundings) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    for (nth, row) in json_lines("FILE", &surroundings.cwd.join(&it.file), &it.file)? {
        let at = format!("reading FILE {} line {nth}", it.file.display());
        let wrong = |what: String| {
            Error::new(Kind::Usage, format!("{at}: {what}"))
                .hint("write rows {\"id\": …, \"prompt\": \"…\"}")
        };
        let id = match &row["id"] {
            id @ (Value::String(_) | Value::Number(_)) => id.clone(),
            _ => {
                return Err(wrong(
                    "field `id` is missing, or neither text nor a number".to_owned(),
                ));
            }
        };
        if rows.iter().any(|it| it.id == id) {
            return Err(wrong(format!("field `id` is {id}, as in a row before")));
        }
        let prompt = ["prompt", "question", "query"]
            .iter()
            .find_map(|it| row[*it].as_str())
            .filter(|it| it.chars().any(char::is_alphanumeric));
        let Some(prompt) = prompt else {
            return Err(wrong(
                "field `prompt` is missing, empty or no text".to_owned(),
            ));
        };
        let ask = Ask {
            question: Some(prompt.to_owned()),
            sources: it.sources.clone(),
            turns: super::args::Turns::default(),
            clarify: false,
            work: it.work.clone(),
            output: Output {
                lang: it.lang.clone(),
                ..Output::default()
            },
        };
        let question = question(&ask, Mode::Report, loaded, surroundings)
            .and_then(searched)
            .map_err(|fault| {
                let hint = fault.help().unwrap_or_default().to_owned();
                Error::new(fault.kind(), at.clone())
                    .because(fault)
                    .hint(hint)
            })?;
        rows.push(Row {
            id,
            prompt: prompt.to_owned(),
            question,
        });
    }
    if rows.is_empty() {
        return Err(Error::new(
            Kind::Usage,
            format!(
                "reading FILE {}: there are no rows in it",
                it.file.display()
            ),
        )
        .hint("write one {\"id\": …, \"prompt\": \"…\"} a line"));
    }
    Ok(rows)
}

/// How a row ended.
enum Ended {
    /// Its article is in OUT.
    Delivered {
        run: RunId,
        resumed: bool,
        strict: bool,
    },
    /// It is to be tried again.
    Failed { why: String, exit: Exit },
}

/// What all rows are worked on with.
struct Desk<'a> {
    app: &'a App,
    sheet: Sheet,
    quotes: bool,
    strict: bool,
    console: Console,
}

impl Desk<'_> {
    /// Works on `todo`, at most `jobs` at once.
    async fn work(&self, todo: &[&Row], jobs: usize, all: usize) -> Done {
        let mut board = Board {
            console: self.console,
            began: Instant::now(),
            all,
            done: all - todo.len(),
            failed: 0,
            drawn: false,
        };
        // Opened once, and kept open for all rows.
        let _doors = match todo.first() {
            Some(first) => Some(self.app.hold(first.question.clone()).await?),
            None => None,
        };
        let mut signals = Signals::listen()?;
        let mut tick = tokio::time::interval(Duration::from_millis(200));
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let (finish, finishing) = watch::channel(false);
        let mut waiting = todo.iter();
        let mut running = FuturesUnordered::new();
        let mut exits: Vec<Exit> = Vec::new();
        let mut loose = false;
        loop {
            while running.len() < jobs && !*finish.borrow() {
                let Some(row) = waiting.next() else { break };
                running.push(self.answer(row, finishing.clone()));
            }
            tokio::select! {
                ended = running.next() => {
                    let Some((row, ended)) = ended else { break };
                    match ended.inspect_err(|_| board.clear())? {
                        Ended::Delivered { run, resumed, strict } => {
                            loose |= strict;
                            board.done += 1;
                            let how = if resumed { ", resumed" } else { "" };
                            board.tell(&format!("row {}: {run}{how}", row.id));
                        }
                        Ended::Failed { why, exit } => {
                            exits.push(exit);
                            board.failed += 1;
                            board.clear();
                            let mark = self.console.err.red("✗");
                            self.console.tell(&format!("{mark} row {}: {why}", line(&row.id.to_string())));
                        }
                    }
                }
                () = signals.next() => {
                    board.clear();
                    if *finish.borrow() {
                        self.console.tell("stopped; the same command goes on");
                        return Ok(Exit::Stopped);
                    }
                    finish.send_replace(true);
                    self.console.tell(&format!(
                        "Finishing {} with the evidence so far… (Ctrl-C again stops now; the same command goes on)",
                        counted(running.len() as u64, "row")
                    ));
                }
                _ = tick.tick() => board.draw(running.len()),
            }
        }
        board.clear();
        let left = all - board.done - board.failed;
        Ok(self.end(&board, &exits, loose, left))
    }

    /// What all came to, in words and as an exit code.
    fn end(&self, board: &Board, exits: &[Exit], loose: bool, left: usize) -> Exit {
        let again = match (board.failed, left) {
            (0, 0) => String::new(),
            (0, left) => format!(", {left} not begun"),
            (failed, 0) => format!(", {failed} failed"),
            (failed, left) => format!(", {failed} failed, {left} not begun"),
        };
        if !self.console.quiet || !again.is_empty() {
            let hint = if again.is_empty() {
                ""
            } else {
                "; the same command goes on"
            };
            self.console.tell(&format!(
                "{} of {} in {}{again}{hint} · {}",
                board.done,
                counted(board.all as u64, "row"),
                self.sheet.path().display(),
                clock(board.began.elapsed().as_secs())
            ));
        }
        match exits {
            [] if left > 0 => Exit::Stopped,
            [] if loose => Exit::Strict,
            [] => Exit::Delivered,
            // Where sources carry none of the answers, that is what there is to say.
            all if all.iter().all(|it| *it == Exit::NoAnswer) => Exit::NoAnswer,
            _ => Exit::Failure,
        }
    }

    /// Answers one row. A fault that every row would meet ends the batch.
    async fn answer<'r>(
        &self,
        row: &'r Row,
        finishing: watch::Receiver<bool>,
    ) -> (&'r Row, Result<Ended>) {
        let ended = match self.run(row, finishing).await {
            Ok((run, resumed)) => self.deliver(row, run, resumed).await,
            Err(fault) if matches!(fault.kind(), Kind::Setup | Kind::Internal) => Err(fault),
            Err(fault) => Ok(Ended::Failed {
                why: line(&fault.chain()),
                exit: Exit::of(fault.kind()),
            }),
        };
        (row, ended)
    }

    /// The ended run of a row: the one that is kept for it, to its end, or a new one.
    async fn run(&self, row: &Row, mut finishing: watch::Receiver<bool>) -> Result<(Run, bool)> {
        let known = match self.sheet.run_of(&row.id, &row.prompt) {
            None => None,
            // A run is written down before it is begun: it may never have been.
            Some(id) => match self.app.run(&id).await {
                Err(fault) if fault.kind() == Kind::NotFound => None,
                found => Some(found?),
            },
        };
        let (running, resumed) = match known {
            Some(run) if run.status.ended() && answered(&run) => return Ok((run, true)),
            Some(run) if !run.status.ended() => (self.app.resume(&run.id).await?, true),
            _ => {
                let id = self.app.new_id();
                self.sheet.note(&row.id, &row.prompt, &id)?;
                (self.app.start_as(id, row.question.clone()).await?, false)
            }
        };
        let finish = running.finisher();
        let mut end = std::pin::pin!(running.wait());
        loop {
            tokio::select! {
                run = &mut end => return Ok((run?, resumed)),
                Ok(()) = finishing.changed() => finish(),
            }
        }
    }

    /// Writes the article of an ended run, or says why there is none.
    async fn deliver(&self, row: &Row, run: Run, resumed: bool) -> Result<Ended> {
        let exit = Exit::of_run(&run, self.strict);
        let Some(report) = run.report.as_deref().filter(|_| answered(&run)) else {
            let exit = match exit {
                Exit::Delivered | Exit::Strict => Exit::NoAnswer,
                exit => exit,
            };
            let why = json::fault(&run, exit.subtype()).map_or_else(
                || "nothing that was read speaks to it".to_owned(),
                |it| it.chain(),
            );
            return Ok(Ended::Failed {
                why: format!("{} ({})", line(&why), run.id),
                exit,
            });
        };
        self.sheet
            .deliver(&row.id, &row.prompt, &article(report, self.quotes))?;
        online(self.app, &run, self.console).await;
        Ok(Ended::Delivered {
            run: run.id.clone(),
            resumed,
            strict: exit == Exit::Strict,
        })
    }
}

/// Whether there is something in the report of a run.
fn answered(run: &Run) -> bool {
    let report = run.report.as_deref();
    report.is_some_and(|it| it.claims().next().is_some())
}

/// How far the batch is, for who watches.
struct Board {
    console: Console,
    began: Instant,
    all: usize,
    done: usize,
    failed: usize,
    drawn: bool,
}

impl Board {
    /// A bar on one line, where a person watches.
    fn draw(&mut self, running: usize) {
        if self.console.quiet || !self.console.live {
            return;
        }
        let filled = BAR * self.done / self.all.max(1);
        let bar = format!("{}{}", "█".repeat(filled), "░".repeat(BAR - filled));
        let failed = match self.failed {
            0 => String::new(),
            n => format!(" · {n} failed"),
        };
        let text = format!(
            "{bar} {}/{} · {running} running{failed} · {}",
            self.done,
            self.all,
            clock(self.began.elapsed().as_secs())
        );
        self.console.wipe();
        self.console.put(&clip(&text, columns()));
        self.drawn = true;
    }

    /// A line in a log, and above the bar with `-v`.
    fn tell(&mut self, text: &str) {
        if self.console.quiet || (self.console.live && !self.console.verbose) {
            return;
        }
        self.clear();
        let at = clock(self.began.elapsed().as_secs());
        self.console
            .tell(&format!("[{at}] {}/{} {}", self.done, self.all, line(text)));
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            self.console.wipe();
        }
    }
}

/// What a fault about a file is called by.
fn unusable(what: &str, path: &Path) -> Error {
    Error::new(Kind::Usage, format!("{what} -o {}", path.display()))
}
