//! The child process that reads what may be hostile: limits set on itself, one document in on
//! standard input, text out on standard output.
//!
//! A document of a few kilobytes can make a parser eat all memory or overflow its stack, which no
//! `catch_unwind` stops; so neither PDFs nor office containers are parsed in the process that does
//! the work.
use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, setrlimit};
use serde_json::json;

use super::{docx, epub};

/// The first argument that makes the program a child.
pub const COMMAND: &str = "__document";

/// Exit codes by which the child tells what was wrong with the document.
pub(super) const BROKEN: u8 = 65;
pub(super) const ENCRYPTED: u8 = 66;

/// What a child may be asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    /// The text of a PDF: plain text with a form feed after each page where it becomes `pdftotext`,
    /// else one JSON object a line: the properties, then the pages.
    Pdf,
    /// The properties of a PDF as `pdfinfo` tells them; nothing where there is no `pdfinfo`.
    PdfProperties,
    /// The XMP packet of a PDF; nothing where there is no `pdfinfo`.
    PdfPacket,
    /// A Word document as a draft in JSON, or what is wrong with it.
    Docx,
    /// A book, the same.
    Epub,
}

impl Task {
    const ALL: [Task; 5] = [
        Task::Pdf,
        Task::PdfProperties,
        Task::PdfPacket,
        Task::Docx,
        Task::Epub,
    ];

    /// Its word on the command line.
    pub(super) fn word(self) -> &'static str {
        match self {
            Task::Pdf => "pdf",
            Task::PdfProperties => "pdf-properties",
            Task::PdfPacket => "pdf-packet",
            Task::Docx => "docx",
            Task::Epub => "epub",
        }
    }
}

/// Reads one document as `__document TASK MEMORY_BYTES CPU_SECONDS` asks and exits.
///
/// `args` are those after the command's own name. Where `pdftotext` or `pdfinfo` is what is wanted
/// and on the search path, the child becomes it.
pub fn child_main(args: &[OsString]) -> ExitCode {
    let word = |nth: usize| args.get(nth).and_then(|it| it.to_str());
    let number = |nth: usize| word(nth).and_then(|it| it.parse::<u64>().ok());
    let task = Task::ALL.into_iter().find(|it| word(0) == Some(it.word()));
    let (Some(task), Some(memory), Some(seconds)) = (task, number(1), number(2)) else {
        return ExitCode::from(2);
    };
    if confine(memory, seconds).is_err() {
        return ExitCode::from(71);
    }
    let utf8 = ["-enc", "UTF-8"];
    match task {
        Task::Pdf => {
            become_program(
                "pdftotext",
                &[&utf8[..], &["-eol", "unix", "-q", "-", "-"]].concat(),
            );
            answer(pdf_lines)
        }
        Task::PdfProperties => {
            become_program("pdfinfo", &[&utf8[..], &["-isodates", "-"]].concat());
            ExitCode::SUCCESS
        }
        Task::PdfPacket => {
            become_program("pdfinfo", &[&utf8[..], &["-meta", "-"]].concat());
            ExitCode::SUCCESS
        }
        Task::Docx => answer(|bytes| draft(docx::read(bytes))),
        Task::Epub => answer(|bytes| draft(epub::read(bytes))),
    }
}

/// Takes from this process what it does not need.
fn confine(memory: u64, seconds: u64) -> rustix::io::Result<()> {
    let limit = |resource, most| {
        let exact = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, exact)
    };
    // It is of a group of its own, so nothing else would end it with its parent.
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    limit(Resource::As, memory)?;
    limit(Resource::Cpu, seconds)?;
    limit(Resource::Fsize, 0)?;
    limit(Resource::Nofile, 32)?;
    limit(Resource::Core, 0)
}

/// The program of this name on the search path, if it is there and may be run.
pub(super) fn program(name: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let path = std::env::var_os("PATH")?;
    let runnable = |it: &PathBuf| {
        it.metadata()
            .is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&path)
        .filter(|it| it.is_absolute())
        .map(|it| it.join(name))
        .find(runnable)
}

/// Becomes the program of this name; returns only where there is none or it cannot be run.
fn become_program(name: &str, args: &[&str]) {
    use std::os::unix::process::CommandExt as _;
    let Some(program) = program(name) else {
        return;
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let _ = std::process::Command::new(program)
        .args(args)
        .env_clear()
        .env("PATH", path)
        .exec();
}

/// Reads the document and prints what `read` makes of it.
fn answer(read: impl FnOnce(&[u8]) -> Result<String, u8> + Send + 'static) -> ExitCode {
    let mut bytes = Vec::new();
    if std::io::stdin().lock().read_to_end(&mut bytes).is_err() {
        return ExitCode::from(BROKEN);
    }
    // A deep document needs a deep stack; what is deeper still ends this process, not the parent.
    let reading = std::thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(move || read(&bytes));
    match reading.map(std::thread::JoinHandle::join) {
        Ok(Ok(Ok(out))) => match std::io::stdout().lock().write_all(out.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(74),
        },
        Ok(Ok(Err(code))) => ExitCode::from(code),
        _ => ExitCode::from(BROKEN),
    }
}

/// A draft, or what stood in its way, as JSON for the parent.
fn draft<T: serde::Serialize>(read: T) -> Result<String, u8> {
    serde_json::to_string(&read).map_err(|_| BROKEN)
}

/// The document's properties and its pages, one JSON object a line.
fn pdf_lines(bytes: &[u8]) -> Result<String, u8> {
    let parsed = unpdf::Unpdf::new()
        .lenient()
        .sequential()
        .parse_bytes(bytes);
    let parsed = parsed.map_err(|it| match it {
        unpdf::Error::Encrypted | unpdf::Error::InvalidPassword => ENCRYPTED,
        other => {
            let _ = writeln!(std::io::stderr(), "{other}");
            BROKEN
        }
    })?;
    let about = &parsed.document().metadata;
    let head = json!({
        "title": about.title,
        "author": about.author,
        "created": about.created.map(|it| it.to_string()),
    });
    let mut out = format!("{head}\n");
    for page in &parsed.document().pages {
        let blocks: Vec<_> = page.elements.iter().flat_map(block).collect();
        out.push_str(&format!(
            "{}\n",
            json!({"page": page.number, "blocks": blocks})
        ));
    }
    Ok(out)
}

/// A block as `[kind, level, text]`.
fn block(block: &unpdf::model::Block) -> Vec<serde_json::Value> {
    use unpdf::model::Block;
    match block {
        Block::Paragraph(it) => {
            let text = it.plain_text();
            if let Some(level) = it.heading_level() {
                vec![json!(["heading", level, text])]
            } else if it.is_list_item() {
                let level = it.style.list_info.as_ref().map_or(0, |it| it.level);
                vec![json!(["list_item", level.saturating_add(1), text])]
            } else {
                vec![json!(["prose", 0, text])]
            }
        }
        Block::Table(table) => table
            .rows
            .iter()
            .map(|row| {
                let cells: Vec<String> = row
                    .cells
                    .iter()
                    .map(|it| it.plain_text().replace('\n', " "))
                    .collect();
                json!(["table_row", 0, cells.join(" | ")])
            })
            .collect(),
        Block::Code { content } => vec![json!(["code", 0, content])],
        Block::Raw { content } => vec![json!(["prose", 0, content])],
        _ => Vec::new(),
    }
}
