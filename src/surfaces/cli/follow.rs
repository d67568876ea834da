//! Following a run: progress on stderr, the report or JSON on stdout, Ctrl-C in between.
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;

use super::args::{Form, Output};
use super::asking::Asking;
use super::console::Console;
use super::exit::{Done, Exit, Stop};
use super::indexing::{self, Indexing};
use super::live::{self, Whole, Wish, wish};
use super::online::online;
use super::progress::{self, View};
use super::signals::Signals;
use super::view;
use crate::app::{App, Progress, Running};
use crate::config::Surroundings;
use crate::domain::{Report, RunId};
use crate::error::{Error, Kind, Result};
use crate::record::{Envelope, Run, RunStatus, ToolStory};
use crate::seams::Order;
use crate::surfaces::export::{self, Made, Options, Pages, escape, json};

/// Shows a run until it ends, then delivers what it made.
pub(super) async fn follow(
    app: &App,
    running: Running,
    output: &Output,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    let began = Instant::now();
    let id = running.id.clone();
    let mut full = Whole::begin(&id, output, console)?;
    let shown = match full {
        // One of the two draws.
        Some(_) => Console {
            quiet: true,
            live: false,
            ..console
        },
        None => console,
    };
    let mut screen = Screen::new(&id, output, shown, began);
    let mut signals = Signals::listen()?;
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut story = running.follow(0);
    let finish = running.finisher();
    let mut preparing = running.preparing();
    let mut end = std::pin::pin!(running.wait());
    let mut asked = false;
    let mut asking = Asking::default();
    let run = loop {
        tokio::select! {
            run = &mut end => break run?,
            told = story.next() => match told? {
                Some(event) => {
                    asking.heard(&event.event);
                    if let Some(full) = &mut full {
                        full.board.apply(&event);
                    }
                    screen.show(&event)?;
                }
                None => break end.await?,
            },
            said = asking.next() => if asking.take(said, app, &id, console).await? {
                console.tell(&format!("its plan still waits; go on with: ibid resume {id}"));
                return Ok(Exit::Stopped);
            },
            Ok(()) = preparing.changed() => {
                let so_far = *preparing.borrow_and_update();
                match &mut full {
                    Some(full) => full.board.say(&so_far.map_or_else(String::new, indexing::words)),
                    None => screen.indexing(so_far),
                }
            }
            wish = wish(&mut full, &mut signals) => {
                match (wish, &mut full) {
                    (Wish::Leave, _) => {
                        drop(full.take());
                        console.tell(&format!("left; {}; go on with: ibid resume {id}", live::HERE));
                        return Ok(Exit::Stopped);
                    }
                    (Wish::Steer(words), Some(full)) => {
                        full.order(app, &id, Order::Steer(words), "It will be looked into, too.").await;
                        continue;
                    }
                    (Wish::Cancel, Some(full)) => {
                        full.order(app, &id, Order::Cancel, "Cancelling…").await;
                        continue;
                    }
                    (Wish::Finish, Some(full)) if asked || preparing.borrow().is_some() => {
                        let why = if asked { "It is finishing already." } else { "There is nothing to finish with yet." };
                        full.board.say(why);
                        continue;
                    }
                    _ => {}
                }
                // While folders are being indexed there is nothing yet to finish with.
                let indexing = preparing.borrow().is_some();
                if asked || indexing || asking.approving() {
                    screen.clear();
                    drop(full.take());
                    if asking.open() {
                        console.tell("");
                    }
                    let kept = if indexing { "; what is indexed so far is kept" } else { "" };
                    console.tell(&format!("stopped{kept}; go on with: ibid resume {id}"));
                    return Ok(Exit::Stopped);
                }
                asked = true;
                finish();
                match &mut full {
                    Some(full) => full.board.say("Finishing with what there is… (Ctrl-C again stops now)"),
                    None => screen.finishing(&id),
                }
            }
            _ = tick.tick() => {
                if asking.due() {
                    screen.clear();
                    if let Some(full) = &mut full {
                        full.lend();
                    }
                    asking.begin(app, console)?;
                }
                if !asking.open() {
                    match &mut full {
                        Some(full) => full.draw()?,
                        None => screen.draw(),
                    }
                }
            }
        }
    };
    while let Some(event) = story.next().await? {
        screen.show(&event)?;
    }
    drop(full);
    screen.clear();
    let pages = export::pages(app, run.report.as_deref()).await?;
    let exit = deliver(&run, &pages, output, surroundings, console, began)?;
    online(app, &run, console).await;
    if let Some(fault) = app.telemetry_fault() {
        let said = format!(
            "{} {}",
            console.err.yellow("warning:"),
            escape::line(&fault.chain())
        );
        console.tell(&said);
    }
    Ok(exit)
}

/// Makes sure, before anything is spent, that the report can be written where `-o` says.
///
/// # Errors
/// `Usage` for a place that is not there or may not be written.
pub(super) fn writable(output: &Output, surroundings: &Surroundings) -> Result<()> {
    let Some(given) = &output.output else {
        // Told before anything is spent.
        return printable(output.format.unwrap_or_default());
    };
    let to = surroundings.cwd.join(given);
    let wrong = |place: &Path| {
        Error::new(Kind::Usage, format!("writing -o {}", place.display()))
            .hint("name a file in a directory that exists and that you may write")
    };
    let as_directory = to.as_os_str().to_string_lossy().ends_with('/');
    if as_directory {
        std::fs::create_dir_all(&to).map_err(|fault| wrong(&to).because(fault))?;
    }
    let place = match to.parent() {
        Some(parent) if !to.exists() => parent,
        _ => &to,
    };
    if !to.exists() && !place.is_dir() {
        return Err(wrong(&to).because(format!("there is no directory {}", place.display())));
    }
    rustix::fs::access(place, rustix::fs::Access::WRITE_OK)
        .map_err(|fault| wrong(&to).because(std::io::Error::from(fault)))
}

/// What is shown meanwhile.
struct Screen {
    view: View,
    console: Console,
    jsonl: bool,
    /// What `--progress-json` tells.
    story: Option<ToolStory>,
    began: Instant,
    drawn: usize,
    frame: usize,
    /// How far the folders' index is, while it is being made.
    indexing: Option<(Indexing, Progress)>,
}

impl Screen {
    fn new(id: &RunId, output: &Output, console: Console, began: Instant) -> Screen {
        Screen {
            view: View::new(id.clone()),
            // Lines for a program have no block drawn around them.
            console: Console {
                live: console.live && !output.progress_json,
                ..console
            },
            jsonl: output.jsonl,
            story: output.progress_json.then(ToolStory::default),
            began,
            drawn: 0,
            frame: 0,
            indexing: None,
        }
    }

    fn show(&mut self, event: &Envelope) -> std::result::Result<(), Stop> {
        self.view.apply(event);
        if self.jsonl {
            let line = serde_json::to_string(event)
                .map_err(|fault| Error::new(Kind::Internal, "writing an event").because(fault))?;
            self.console.line(&line)?;
        }
        if let Some(story) = &mut self.story {
            if let Some(told) = story.heard(event) {
                let line = serde_json::to_string(&told).map_err(|fault| {
                    Error::new(Kind::Internal, "writing progress").because(fault)
                })?;
                self.console.tell(&line);
            }
            return Ok(());
        }
        if !self.console.quiet
            && !self.console.live
            && let Some(text) = progress::plain(event, self.console.verbose)
        {
            let seconds = self.began.elapsed().as_secs();
            self.console
                .tell(&format!("[{}] {text}", progress::clock(seconds)));
        } else if !self.console.quiet && self.console.verbose {
            self.above(event);
        }
        Ok(())
    }

    /// How far the folders' index is. On a terminal it is a line of the block, so only a log is told
    /// by [`Indexing`] itself.
    fn indexing(&mut self, so_far: Option<Progress>) {
        let Some(so_far) = so_far else {
            self.indexing = None;
            return;
        };
        let console = self.console;
        let (told, last) = self
            .indexing
            .get_or_insert_with(|| (Indexing::new(console), so_far));
        *last = so_far;
        if !console.live {
            told.heard(so_far);
        }
    }

    /// On a terminal with `-v`: the plain line scrolls by above the block.
    fn above(&mut self, event: &Envelope) {
        if let Some(text) = progress::plain(event, true) {
            self.clear();
            let width = columns();
            self.console
                .tell(&self.console.err.dim(&progress::clip(&text, width)));
            self.draw();
        }
    }

    fn draw(&mut self) {
        if self.console.quiet || !self.console.live {
            return;
        }
        self.frame += 1;
        let mut lines = self.view.lines(
            self.console.err,
            columns(),
            self.frame,
            self.began.elapsed().as_secs(),
        );
        if let Some((_, so_far)) = &self.indexing {
            let text = format!("  {}", indexing::words(*so_far));
            lines.push(progress::clip(&text, columns()));
        }
        let mut text = self.back();
        self.drawn = lines.len();
        text.push_str(&lines.join("\u{1b}[K\n"));
        self.console.tell(&(text + "\u{1b}[K"));
    }

    /// The codes that go back over what was drawn and wipe it.
    fn back(&self) -> String {
        if self.drawn == 0 {
            return String::new();
        }
        format!("\u{1b}[{}A\u{1b}[J", self.drawn)
    }

    fn clear(&mut self) {
        if self.drawn > 0 {
            self.console.put(&self.back());
            self.drawn = 0;
        }
    }

    fn finishing(&mut self, id: &RunId) {
        self.clear();
        let found = self.view.run().evidence;
        let pieces = if found == 1 { "piece" } else { "pieces" };
        self.console.tell(&format!(
            "Finishing with the {found} {pieces} of evidence so far… \
             (Ctrl-C again stops now; run saved: ibid resume {id})"
        ));
    }
}

/// Columns of stderr.
pub(super) fn columns() -> usize {
    columns_of(std::io::stderr())
}

/// Columns that can be written without a line breaking.
pub(super) fn columns_of(stream: impl std::os::fd::AsFd) -> usize {
    terminal_size::terminal_size_of(stream)
        .map_or(80, |it| usize::from(it.0.0))
        .saturating_sub(1)
        .max(20)
}

/// Prints or writes what a run made, and says how it ended.
pub(super) fn deliver(
    run: &Run,
    pages: &Pages,
    output: &Output,
    surroundings: &Surroundings,
    console: Console,
    began: Instant,
) -> Done {
    let exit = Exit::of_run(run, output.strict);
    let to = output.output.as_ref().map(|it| surroundings.cwd.join(it));
    let options = Options {
        quotes: !output.no_quotes,
        ..Options::default()
    };
    let object = (output.json || output.jsonl)
        .then(|| json::result(run, exit.subtype(), pages, !output.no_quotes).to_string());
    let written = match (&run.report, &to) {
        // The file gets what stdout gets, whether there is a report in it or not.
        (_, Some(to)) if output.json => {
            let path = place(to, &format!("{}.json", run.id))?;
            put(
                &path,
                &format!("{}\n", object.as_deref().unwrap_or_default()),
            )?;
            Some(path)
        }
        (Some(report), Some(to)) => {
            let form = output.format.or_else(|| Form::of_path(to));
            Some(write(report, form.unwrap_or_default(), options, pages, to)?)
        }
        _ => None,
    };
    if let Some(object) = &object {
        console.line(object)?;
    } else if let (Some(report), None) = (&run.report, &written) {
        show(report, output.format, options, pages, console)?;
    }
    tell_end(run, exit, written.as_deref(), console, began);
    Ok(exit)
}

fn tell_end(run: &Run, exit: Exit, written: Option<&Path>, console: Console, began: Instant) {
    let shown = written.map(|it| it.display().to_string());
    if run.status == RunStatus::Cancelled {
        console.tell(&format!("run {} was cancelled", run.id));
        return;
    }
    if exit != Exit::NoAnswer
        && let Some(why) = json::fault(run, exit.subtype())
    {
        let mut fault = Error::new(why.kind(), format!("run {}", run.id)).because(why.chain());
        if let Some(hint) = why.help() {
            fault = fault.hint(hint);
        }
        console.fault(&fault);
        return;
    }
    match exit {
        Exit::NoAnswer => {
            console.tell(&format!(
                "{} no answer: nothing in {} speaks to it",
                console.err.yellow("○"),
                read_pages(run.pages)
            ));
            console.tell(&format!(
                "{} {}",
                console.err.on("1;36", "hint:"),
                json::ELSEWHERE
            ));
        }
        Exit::Strict => console.tell(&format!(
            "{} --strict: not every check and the evidence gate passed",
            console.err.red("✗")
        )),
        _ => {}
    }
    if !console.quiet {
        let stat = progress::stat(
            run,
            began.elapsed().as_secs(),
            shown.as_deref(),
            console.err,
        );
        if !stat.is_empty() {
            console.tell(&stat);
        }
    }
}

fn read_pages(n: u32) -> String {
    match n {
        0 => "what was found".to_owned(),
        1 => "the one page read".to_owned(),
        n => format!("the {n} pages read"),
    }
}

/// Prints a report: in the form asked for, else set for the eye where a person reads, else as Markdown.
pub(super) fn show(
    report: &Report,
    form: Option<Form>,
    options: Options<'_>,
    pages: &Pages,
    console: Console,
) -> std::result::Result<(), Stop> {
    if form.is_none() && console.read {
        return console.print(&view::report(
            report,
            console.out,
            columns_of(std::io::stdout()),
        ));
    }
    let form = form.unwrap_or_default();
    printable(form)?;
    match form.make(report, pages, options)? {
        Made::Text(text) => console.print(&text),
        made => console.bytes(&made.bytes()?),
    }
}

/// Refuses to print what is no text to a terminal, and what is several files at all.
pub(super) fn printable(form: Form) -> Result<()> {
    let about = form.about();
    if about.folder {
        return Err(several(form));
    }
    if form.is_binary() && std::io::stdout().is_terminal() {
        let fault = Error::new(Kind::Usage, format!("form `{}` is no text", about.name));
        return Err(fault.hint(format!("name a file for it with -o FILE.{}", about.ending)));
    }
    Ok(())
}

fn several(form: Form) -> Error {
    let name = form.about().name;
    Error::new(Kind::Usage, format!("form `{name}` is several files"))
        .hint("name a folder for them with -o DIR/, or an archive with -o FILE.zip")
}

/// Writes a report to a file, or under its run's name into a directory. Gives the path.
pub(super) fn write(
    report: &Report,
    form: Form,
    options: Options<'_>,
    pages: &Pages,
    to: &Path,
) -> Result<PathBuf> {
    let made = form.make(report, pages, options)?;
    let archive = to
        .extension()
        .is_some_and(|it| it.eq_ignore_ascii_case("zip"));
    if let (Made::Folder(files), false) = (&made, archive) {
        // Who names a file wants one, not a folder of its name.
        if Form::of_path(to) == Some(form) && !to.is_dir() {
            return Err(several(form));
        }
        let folder = place(to, &format!("{}-{}", report.run, form.about().name))?;
        for (name, bytes) in files {
            let path = folder.join(name);
            let parent = path.parent().unwrap_or(&folder);
            std::fs::create_dir_all(parent).map_err(|fault| unwritten(parent, fault))?;
            put_bytes(&path, bytes)?;
        }
        return Ok(folder);
    }
    let path = place(to, &format!("{}.{}", report.run, form.ending(report)))?;
    put_bytes(&path, &made.bytes()?)?;
    Ok(path)
}

/// The file that `-o` means: itself, or `name` in the directory it is, which is made where it is not.
pub(super) fn place(to: &Path, name: &str) -> Result<PathBuf> {
    if !to.is_dir() && !to.as_os_str().to_string_lossy().ends_with('/') {
        return Ok(to.to_owned());
    }
    std::fs::create_dir_all(to).map_err(|fault| unwritten(to, fault))?;
    Ok(to.join(name))
}

/// Writes what `-o` asks for.
pub(super) fn put(path: &Path, text: &str) -> Result<()> {
    put_bytes(path, text.as_bytes())
}

fn put_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(|fault| unwritten(path, fault))
}

fn unwritten(path: &Path, fault: std::io::Error) -> Error {
    Error::new(Kind::Setup, format!("writing -o {}", path.display()))
        .because(fault)
        .hint("name a file or directory that you may write")
}
