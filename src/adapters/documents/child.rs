//! The child processes that parse what may be hostile: limits and a sandbox set on themselves, then documents in and drafts out.
//!
//! A document of a few kilobytes can make a parser eat all memory or overflow its stack, which no `catch_unwind` stops; and a
//! parser that a document takes over must find nothing: no file, no network, no other program.
use std::ffi::OsString;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

use super::wire::{ParseReply, ParseRequest, receive, send};
use super::{ParsedDocument, Trouble, parse, pdf, sandbox};
use crate::record::FailReason;

/// The first argument that makes the program a child.
pub const COMMAND: &str = "__document";

/// The exit code of a child that could not take its limits.
pub(super) const UNCONFINED: u8 = 71;
/// The exit code of a child that found no program to become.
pub(super) const NO_PROGRAM: u8 = 69;

/// The most stack of the thread that parses: a deep document needs a deep one, and what is deeper still ends this process
/// alone. A quarter of the memory at most.
const STACK: u64 = 64 << 20;

/// What a child may be asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    /// Parse one document after the other, each as a frame on the socket that is standard input.
    Parse,
    /// Become `pdftotext`: the text of the PDF on standard input, a form feed after each page.
    PdfText,
    /// Become `pdfinfo`: the properties of a PDF.
    PdfProperties,
    /// Become `pdfinfo`: the XMP packet of a PDF.
    PdfPacket,
    /// Try what must not be possible behind the walls that the next argument names, and print what was.
    Probe,
}

impl Task {
    const ALL: [Task; 5] = [
        Task::Parse,
        Task::PdfText,
        Task::PdfProperties,
        Task::PdfPacket,
        Task::Probe,
    ];

    /// Its word on the command line.
    pub(super) fn word(self) -> &'static str {
        match self {
            Task::Parse => "parse",
            Task::PdfText => "pdf-text",
            Task::PdfProperties => "pdf-properties",
            Task::PdfPacket => "pdf-packet",
            Task::Probe => "probe",
        }
    }
}

/// Does what `__document TASK MEMORY_BYTES CPU_SECONDS` asks and exits. `args` are those after the command's own name.
pub fn child_main(args: &[OsString]) -> ExitCode {
    let word = |nth: usize| args.get(nth).and_then(|it| it.to_str());
    let number = |nth: usize| word(nth).and_then(|it| it.parse::<u64>().ok());
    let task = Task::ALL.into_iter().find(|it| word(0) == Some(it.word()));
    let (Some(task), Some(memory), Some(seconds)) = (task, number(1), number(2)) else {
        return ExitCode::from(2);
    };
    if sandbox::limit(memory, seconds).is_err() {
        return ExitCode::from(UNCONFINED);
    }
    match task {
        Task::Parse => serve(memory),
        Task::PdfText => become_program("pdftotext", &["-eol", "unix", "-q", "-", "-"]),
        Task::PdfProperties => become_program("pdfinfo", &["-isodates", "-"]),
        Task::PdfPacket => become_program("pdfinfo", &["-meta", "-"]),
        Task::Probe => probe(word(3).unwrap_or_default()),
    }
}

/// The program of this name on the search path `path`, if it is there and may be run.
pub(super) fn program(name: &str, path: &OsString) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let runnable = |it: &PathBuf| {
        it.metadata()
            .is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path)
        .filter(|it| it.is_absolute())
        .map(|it| it.join(name))
        .find(runnable)
}

/// Becomes the program of this name, which keeps the limits and the sandbox; returns only where it cannot.
fn become_program(name: &str, args: &[&str]) -> ExitCode {
    use std::os::unix::process::CommandExt as _;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let Some(program) = program(name, &path) else {
        return ExitCode::from(NO_PROGRAM);
    };
    sandbox::lock_down_for(&program);
    let failed = std::process::Command::new(program)
        .args(["-enc", "UTF-8"])
        .args(args)
        .env_clear()
        .env("PATH", path)
        .exec();
    let _ = writeln!(std::io::stderr(), "{failed}");
    ExitCode::from(NO_PROGRAM)
}

fn probe(walls: &str) -> ExitCode {
    let confinement = sandbox::lock_down_by(walls);
    let told = serde_json::json!({"confinement": confinement, "escapes": sandbox::escapes()});
    match writeln!(std::io::stdout(), "{told}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(74),
    }
}

/// Locks itself down, then parses document after document until nobody wants another.
fn serve(memory: u64) -> ExitCode {
    let socket = std::io::stdin().as_fd().try_clone_to_owned();
    let socket = socket.map(UnixStream::from);
    let Ok((mut socket, other)) = socket.and_then(|it| it.try_clone().map(|twin| (it, twin)))
    else {
        return ExitCode::from(UNCONFINED);
    };
    let confinement = sandbox::lock_down();
    // Threads take the sandbox over from the one that starts them.
    let watch = std::thread::Builder::new().spawn(move || end_with(&other));
    let serve = std::thread::Builder::new()
        .stack_size(usize::try_from(STACK.min(memory / 4)).unwrap_or(1 << 20))
        .spawn(move || {
            answer(&mut socket, &ParseReply::Ready(confinement))?;
            while let Some(request) = receive(&mut socket, 1 << 20)? {
                let request = serde_json::from_slice(&request)?;
                let Some(bytes) = receive(&mut socket, u32::MAX as usize)? else {
                    break;
                };
                let reply = reply(&request, &bytes);
                drop(bytes);
                answer(&mut socket, &reply)?;
            }
            Ok::<_, std::io::Error>(())
        });
    match (watch, serve.map(std::thread::JoinHandle::join)) {
        (Ok(_), Ok(Ok(Ok(())))) => ExitCode::SUCCESS,
        _ => ExitCode::from(74),
    }
}

/// Ends this process when the other end is gone: whatever is being parsed then, nobody waits for it.
fn end_with(socket: &UnixStream) {
    use rustix::event::{PollFd, PollFlags, poll};
    loop {
        let mut wait = [PollFd::new(socket, PollFlags::empty())];
        match poll(&mut wait, None) {
            Ok(_)
                if wait[0]
                    .revents()
                    .intersects(PollFlags::HUP | PollFlags::ERR) =>
            {
                std::process::exit(0)
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

fn answer(socket: &mut UnixStream, reply: &ParseReply) -> std::io::Result<()> {
    send(socket, &[&serde_json::to_vec(reply)?])
}

fn reply(request: &ParseRequest, bytes: &[u8]) -> ParseReply {
    let parsed = |read: &dyn Fn() -> Result<ParsedDocument, Trouble>| {
        let broken = |_| Err(Trouble::new(FailReason::Broken, "its reader gave up"));
        ParseReply::Parsed(catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(broken))
    };
    match request {
        ParseRequest::Parse {
            format,
            name,
            content_type,
        } => parsed(&|| parse::document(bytes, *format, name, content_type.as_deref())),
        ParseRequest::PdfText {
            name,
            text,
            dictionary,
            cut,
        } => {
            let (text, rest) = bytes.split_at((*text).min(bytes.len()));
            let (dictionary, packet) = rest.split_at((*dictionary).min(rest.len()));
            parsed(&|| {
                let draft = pdf::of_programs(text, dictionary, packet, *cut)?;
                parse::whole(draft, name)
            })
        }
        ParseRequest::Probe => ParseReply::Probed(sandbox::escapes()),
    }
}
