//! The child process that reads what may be hostile: limits set on itself, one document in on
//! standard input, text out on standard output.
//!
//! A PDF of a few kilobytes can make a parser eat all memory or overflow its stack, which no
//! `catch_unwind` stops; so no PDF is parsed in the process that does the work.
use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, setrlimit};
use serde_json::json;

/// The first argument that makes the program a child.
pub const COMMAND: &str = "__document";

/// Exit codes by which the child tells what was wrong with the document.
pub(super) const BROKEN: u8 = 65;
pub(super) const ENCRYPTED: u8 = 66;

/// Reads one document as `__document FORMAT MEMORY_BYTES CPU_SECONDS` asks and exits.
///
/// `args` are those after the command's own name. Where `pdftotext` is on the search path the
/// child becomes it; its output is plain text with a form feed after each page. Otherwise the text
/// comes as one JSON object a line: the document's properties, then its pages.
pub fn child_main(args: &[OsString]) -> ExitCode {
    let number = |nth: usize| {
        args.get(nth)
            .and_then(|it| it.to_str())
            .and_then(|it| it.parse::<u64>().ok())
    };
    let (Some("pdf"), Some(memory), Some(seconds)) = (
        args.first().and_then(|it| it.to_str()),
        number(1),
        number(2),
    ) else {
        return ExitCode::from(2);
    };
    if confine(memory, seconds).is_err() {
        return ExitCode::from(71);
    }
    if let Some(program) = pdftotext() {
        become_program(&program);
    }
    read_pdf()
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
    limit(Resource::As, memory)?;
    limit(Resource::Cpu, seconds)?;
    limit(Resource::Fsize, 0)?;
    limit(Resource::Nofile, 32)?;
    limit(Resource::Core, 0)
}

fn pdftotext() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|it| it.is_absolute())
        .map(|it| it.join("pdftotext"))
        .find(|it| it.is_file())
}

/// Becomes `pdftotext`; returns only where that fails.
fn become_program(program: &std::path::Path) {
    use std::os::unix::process::CommandExt as _;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let _ = std::process::Command::new(program)
        .args(["-enc", "UTF-8", "-eol", "unix", "-q", "-", "-"])
        .env_clear()
        .env("PATH", path)
        .exec();
}

fn read_pdf() -> ExitCode {
    let mut bytes = Vec::new();
    if std::io::stdin().lock().read_to_end(&mut bytes).is_err() {
        return ExitCode::from(BROKEN);
    }
    // A deep document needs a deep stack; what is deeper still ends this process, not the parent.
    let reading = std::thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(move || pdf_lines(&bytes));
    match reading.map(std::thread::JoinHandle::join) {
        Ok(Ok(Ok(out))) => match std::io::stdout().lock().write_all(out.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(74),
        },
        Ok(Ok(Err(code))) => ExitCode::from(code),
        _ => ExitCode::from(BROKEN),
    }
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
