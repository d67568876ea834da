//! What a run leaves behind: the report or JSON on stdout or in the file that `-o` names, and the last lines on stderr.
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::args::{OutputArgs, ReportFormat};
use crate::console::{Console, columns_of};
use crate::exit::{CommandError, CommandResult, ExitStatus};
use crate::{progress, terminal_report};
use ibid::config::ProcessEnv;
use ibid_core::domain::{OutputMode, Report};
use ibid_core::record::{Run, RunStatus};
use ibid_core::{Error, ErrorKind, Result};
use ibid_report::{ExportOptions, ExportOutput, PagesByHash, json};

/// Where the report of a run goes, and since when the user waits for it.
#[derive(Clone, Copy)]
pub(super) struct RunOutput<'a> {
    pub(super) args: &'a OutputArgs,
    pub(super) env: &'a ProcessEnv,
    pub(super) console: Console,
    pub(super) began: Instant,
}

impl<'a> RunOutput<'a> {
    /// The output of a run that begins now.
    pub(super) fn new(
        args: &'a OutputArgs,
        env: &'a ProcessEnv,
        console: Console,
    ) -> RunOutput<'a> {
        RunOutput { args, env, console, began: Instant::now() }
    }
}

/// Checks, before anything is spent, that the report can be written where `-o` says, or printed without `-o`. Creates the
/// directory that a path with a trailing slash names.
///
/// # Errors
/// `Usage` if the directory does not exist or is not writable, or if the format cannot be printed.
pub(super) fn check_output_path(output: &OutputArgs, env: &ProcessEnv) -> Result<()> {
    let Some(given) = &output.output else {
        return check_printable(output.format.unwrap_or_default());
    };
    let to = env.cwd.join(given);
    let wrong = |place: &Path| {
        Error::new(ErrorKind::Usage, format!("writing -o {}", place.display()))
            .with_hint("name a file in an existing, writable directory")
    };
    let as_directory = to.as_os_str().to_string_lossy().ends_with('/');
    if as_directory {
        std::fs::create_dir_all(&to).map_err(|fault| wrong(&to).with_source(fault))?;
    }
    let place = match to.parent() {
        Some(parent) if !to.exists() => parent,
        _ => &to,
    };
    if !to.exists() && !place.is_dir() {
        return Err(wrong(&to).with_source(format!("there is no directory {}", place.display())));
    }
    rustix::fs::access(place, rustix::fs::Access::WRITE_OK)
        .map_err(|fault| wrong(&to).with_source(std::io::Error::from(fault)))
}

/// Prints or writes the report or JSON of an ended run, and says on stderr how it ended.
///
/// # Errors
/// Those of rendering and of the output.
pub(super) fn deliver(run: &Run, pages: &PagesByHash, output: RunOutput<'_>) -> CommandResult {
    let RunOutput { args: output, env, console, began } = output;
    let exit = ExitStatus::from_run(run, output.strict);
    let to = output.output.as_ref().map(|path| env.cwd.join(path));
    let options = ExportOptions { quotes: !output.no_quotes, ..ExportOptions::default() };
    let object = (output.json || output.jsonl)
        .then(|| json::result(run, exit.subtype(), pages, !output.no_quotes).to_string());
    let written = match (&run.report, &to) {
        // With --json the file gets the object of stdout, whether there is a report or not.
        (_, Some(to)) if output.json => {
            let path = output_path(to, &format!("{}.json", run.id))?;
            write_text(&path, &format!("{}\n", object.as_deref().unwrap_or_default()))?;
            Some(path)
        }
        (Some(report), Some(to)) => {
            let form = output.format.or_else(|| ReportFormat::from_path(to));
            Some(write(report, form.unwrap_or_default(), options, pages, to)?)
        }
        _ => None,
    };
    if let Some(object) = &object {
        console.print_line(object)?;
    } else if let (Some(report), None) = (&run.report, &written) {
        show(report, output.format, options, pages, console)?;
    }
    print_end(run, exit, written.as_deref(), console, began);
    Ok(exit)
}

fn print_end(
    run: &Run,
    exit: ExitStatus,
    written: Option<&Path>,
    console: Console,
    began: Instant,
) {
    if run.status == RunStatus::Cancelled {
        console.eprint_line(&format!("run {} was cancelled", run.id));
        return;
    }
    if exit != ExitStatus::NoAnswer
        && let Some(why) = json::failure(run, exit.subtype())
    {
        let mut fault = Error::new(why.kind(), format!("run {}", run.id)).with_source(why.chain());
        if let Some(hint) = why.hint() {
            fault = fault.with_hint(hint);
        }
        console.print_error(&fault);
        return;
    }
    match exit {
        ExitStatus::NoAnswer => {
            let why = json::failure(run, exit.subtype());
            let why = why.as_ref().map_or_else(String::new, |why| format!(": {}", why.chain()));
            console.eprint_line(&format!("{} no answer{why}", console.err.yellow("○")));
            console.eprint_line(&format!(
                "{} {}",
                console.err.style("1;36", "hint:"),
                json::NO_ANSWER_HINT
            ));
        }
        ExitStatus::Strict => console.eprint_line(&format!(
            "{} --strict: a check or the evidence gate failed",
            console.err.red("✗")
        )),
        _ => {
            let is_answer = run.question.as_ref().is_some_and(|it| it.mode == OutputMode::Answer);
            let undecided = run.report.as_deref().and_then(Report::undecided);
            if let Some(why) = undecided.filter(|_| is_answer) {
                console.eprint_line(&format!("{} {why}", console.err.style("1;36", "note:")));
            }
        }
    }
    if !console.quiet {
        let path = written.map(|path| path.display().to_string());
        let summary =
            progress::summary_line(run, began.elapsed().as_secs(), path.as_deref(), console.err);
        if !summary.is_empty() {
            console.eprint_line(&summary);
        }
    }
}

/// Prints a report in `form`; without one, laid out for a terminal, or as Markdown elsewhere.
///
/// # Errors
/// `Usage` if the format cannot be printed.
pub(super) fn show(
    report: &Report,
    form: Option<ReportFormat>,
    options: ExportOptions<'_>,
    pages: &PagesByHash,
    console: Console,
) -> std::result::Result<(), CommandError> {
    if form.is_none() && console.read {
        return console.print(&terminal_report::report(
            report,
            console.out,
            columns_of(std::io::stdout()),
        ));
    }
    let form = form.unwrap_or_default();
    check_printable(form)?;
    match form.render(report, pages, options)? {
        ExportOutput::Text(text) => console.print(&text),
        binary => console.print_bytes(&binary.into_bytes()?),
    }
}

/// Refuses to print binary formats to a terminal and formats of several files anywhere.
fn check_printable(form: ReportFormat) -> Result<()> {
    let info = form.info();
    if info.folder {
        return Err(multi_file_error(form));
    }
    if form.is_binary() && std::io::stdout().is_terminal() {
        let fault = Error::new(ErrorKind::Usage, format!("format `{}` is binary", info.name));
        return Err(fault.with_hint(format!("write it to a file with -o FILE.{}", info.ending)));
    }
    Ok(())
}

fn multi_file_error(form: ReportFormat) -> Error {
    let name = form.info().name;
    Error::new(ErrorKind::Usage, format!("format `{name}` has several files"))
        .with_hint("write them to a folder with -o DIR/ or an archive with -o FILE.zip")
}

/// Writes a report to the file `to`, or under its run's name into the directory `to`. Returns the path.
///
/// # Errors
/// `Setup` if the file cannot be written, `Usage` if a format of several files is written to one.
pub(super) fn write(
    report: &Report,
    form: ReportFormat,
    options: ExportOptions<'_>,
    pages: &PagesByHash,
    to: &Path,
) -> Result<PathBuf> {
    let rendered = form.render(report, pages, options)?;
    let archive = to.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"));
    if let (ExportOutput::Folder(files), false) = (&rendered, archive) {
        // A path with the format's extension asks for one file, not for a folder of that name.
        if ReportFormat::from_path(to) == Some(form) && !to.is_dir() {
            return Err(multi_file_error(form));
        }
        let folder = output_path(to, &format!("{}-{}", report.run, form.info().name))?;
        for (name, bytes) in files {
            let path = folder.join(name);
            let parent = path.parent().unwrap_or(&folder);
            std::fs::create_dir_all(parent).map_err(|fault| write_error(parent, fault))?;
            write_bytes(&path, bytes)?;
        }
        return Ok(folder);
    }
    let path = output_path(to, &format!("{}.{}", report.run, form.extension(report)))?;
    write_bytes(&path, &rendered.into_bytes()?)?;
    Ok(path)
}

/// The file that `-o` means: `to`, or `name` in the directory `to`, which is created if missing.
///
/// # Errors
/// `Setup` if the directory cannot be created.
pub(super) fn output_path(to: &Path, name: &str) -> Result<PathBuf> {
    if !to.is_dir() && !to.as_os_str().to_string_lossy().ends_with('/') {
        return Ok(to.to_owned());
    }
    std::fs::create_dir_all(to).map_err(|fault| write_error(to, fault))?;
    Ok(to.join(name))
}

/// Writes `text` to the file that `-o` means, `to` or `name` in the directory `to`, or prints it without `-o`.
///
/// # Errors
/// `Setup` if the file cannot be written, and those of printing.
pub(super) fn write_or_print(
    text: &str,
    to: Option<&Path>,
    name: &str,
    console: Console,
) -> CommandResult {
    match to {
        Some(to) => {
            let path = output_path(to, name)?;
            write_text(&path, text)?;
            console.eprint_line(&format!("wrote {}", path.display()));
        }
        None => console.print(text)?,
    }
    Ok(ExitStatus::Delivered)
}

/// Writes a file that `-o` names.
///
/// # Errors
/// `Setup` if the file cannot be written.
pub(super) fn write_text(path: &Path, text: &str) -> Result<()> {
    write_bytes(path, text.as_bytes())
}

fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(|fault| write_error(path, fault))
}

fn write_error(path: &Path, fault: std::io::Error) -> Error {
    Error::new(ErrorKind::Setup, format!("writing -o {}", path.display()))
        .with_source(fault)
        .with_hint("name a writable file or directory")
}
