//! The child process that parses hostile documents: it sets limits and a sandbox on itself, then reads documents and replies.
//!
//! A document of a few kilobytes can make a parser use all memory or overflow its stack, which `catch_unwind` does not stop.
//! And a document that exploits a parser must find no file, no network and no other program.
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::ipc::{ParseReply, ParseRequest, read_frame, write_frame};
use crate::parse_error::ParseError;
use crate::parsed_document::ParsedDocument;
use crate::{parse, pdf, sandbox};

/// The first argument that makes the program a child.
pub const COMMAND: &str = "__document";

/// The exit code of a child that could not set its limits (`EX_OSERR`).
pub(crate) const UNCONFINED: u8 = 71;
/// The exit code of a child that could not execute its program (`EX_UNAVAILABLE`).
const NO_PROGRAM: u8 = 69;
/// The exit code of a child whose input or output failed (`EX_IOERR`).
const IO_FAILED: u8 = 74;

/// Bytes of stack of the parsing thread, but at most a quarter of the memory. A document that nests deeper ends only this
/// process.
const STACK_BYTES: u64 = 64 << 20;
/// Bytes of a request; the document follows in its own frame.
const MAX_REQUEST_BYTES: usize = 1 << 20;

/// What a child can be asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChildTask {
    /// Parse documents one after the other. Each comes as a frame on the socket that is standard input.
    Parse,
    /// Execute `pdftotext`: print the text of the PDF on standard input, with a form feed after each page.
    PdfText,
    /// Execute `pdfinfo`: print the properties of the PDF on standard input.
    PdfProperties,
    /// Execute `pdfinfo`: print the XMP packet of the PDF on standard input.
    PdfPacket,
    /// Try to escape from the part of the sandbox that the next argument names, and print what was possible.
    Probe,
}

impl ChildTask {
    const ALL: [ChildTask; 5] = [
        ChildTask::Parse,
        ChildTask::PdfText,
        ChildTask::PdfProperties,
        ChildTask::PdfPacket,
        ChildTask::Probe,
    ];

    /// The task's name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ChildTask::Parse => "parse",
            ChildTask::PdfText => "pdf-text",
            ChildTask::PdfProperties => "pdf-properties",
            ChildTask::PdfPacket => "pdf-packet",
            ChildTask::Probe => "probe",
        }
    }
}

/// Runs `__document TASK MEMORY_BYTES CPU_SECONDS`. `args` are those after the command's own name; `path` is the search path.
pub fn child_main(args: &[OsString], path: &OsStr) -> ExitCode {
    let word = |nth: usize| args.get(nth).and_then(|arg| arg.to_str());
    let number = |nth: usize| word(nth).and_then(|word| word.parse::<u64>().ok());
    let task = ChildTask::ALL.into_iter().find(|it| word(0) == Some(it.name()));
    let (Some(task), Some(memory), Some(seconds)) = (task, number(1), number(2)) else {
        return ExitCode::from(2);
    };
    if sandbox::set_limits(memory, seconds).is_err() {
        return ExitCode::from(UNCONFINED);
    }
    match task {
        ChildTask::Parse => serve(memory),
        ChildTask::PdfText => exec_program("pdftotext", path, &["-eol", "unix", "-q", "-", "-"]),
        ChildTask::PdfProperties => exec_program("pdfinfo", path, &["-isodates", "-"]),
        ChildTask::PdfPacket => exec_program("pdfinfo", path, &["-meta", "-"]),
        ChildTask::Probe => probe(word(3).unwrap_or_default()),
    }
}

/// The executable `name` on the search path `path`.
pub(crate) fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let runnable = |program: &PathBuf| {
        program
            .metadata()
            .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path)
        .filter(|path| path.is_absolute())
        .map(|path| path.join(name))
        .find(runnable)
}

/// Replaces this process by the program `name`, which inherits the limits and the sandbox. Returns only on failure.
fn exec_program(name: &str, path: &OsStr, args: &[&str]) -> ExitCode {
    use std::os::unix::process::CommandExt as _;
    let Some(program) = find_program(name, path) else {
        return ExitCode::from(NO_PROGRAM);
    };
    sandbox::lock_down_for_program(&program);
    let failed = std::process::Command::new(program)
        .args(["-enc", "UTF-8"])
        .args(args)
        .env_clear()
        .env("PATH", path)
        .exec();
    let _ = writeln!(std::io::stderr(), "{failed}");
    ExitCode::from(NO_PROGRAM)
}

fn probe(part: &str) -> ExitCode {
    let confinement = sandbox::lock_down_with(part);
    let report = serde_json::json!({"confinement": confinement, "escapes": sandbox::try_escapes()});
    match writeln!(std::io::stdout(), "{report}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(IO_FAILED),
    }
}

/// Enters the sandbox, then parses documents until the other end closes the socket.
fn serve(memory: u64) -> ExitCode {
    let socket = std::io::stdin().as_fd().try_clone_to_owned();
    let socket = socket.map(UnixStream::from);
    let Ok((mut socket, other)) =
        socket.and_then(|socket| socket.try_clone().map(|twin| (socket, twin)))
    else {
        return ExitCode::from(UNCONFINED);
    };
    let confinement = sandbox::lock_down();
    // Threads inherit the sandbox from the thread that starts them.
    let watch = std::thread::Builder::new().spawn(move || exit_on_hangup(&other));
    let serve = std::thread::Builder::new()
        .stack_size(usize::try_from(STACK_BYTES.min(memory / 4)).unwrap_or(1 << 20))
        .spawn(move || {
            send_reply(&mut socket, &ParseReply::Ready(confinement))?;
            while let Some(request) = read_frame(&mut socket, MAX_REQUEST_BYTES)? {
                let request = serde_json::from_slice(&request)?;
                let Some(bytes) = read_frame(&mut socket, u32::MAX as usize)? else {
                    break;
                };
                let reply = handle_request(&request, &bytes);
                drop(bytes);
                send_reply(&mut socket, &reply)?;
            }
            Ok::<_, std::io::Error>(())
        });
    match (watch, serve.map(std::thread::JoinHandle::join)) {
        (Ok(_), Ok(Ok(Ok(())))) => ExitCode::SUCCESS,
        _ => ExitCode::from(IO_FAILED),
    }
}

/// Ends this process when the other end closes the socket: the reply is no longer wanted.
fn exit_on_hangup(socket: &UnixStream) {
    use rustix::event::{PollFd, PollFlags, poll};
    loop {
        let mut wait = [PollFd::new(socket, PollFlags::empty())];
        match poll(&mut wait, None) {
            Ok(_) if wait[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) => {
                std::process::exit(0)
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

fn send_reply(socket: &mut UnixStream, reply: &ParseReply) -> std::io::Result<()> {
    write_frame(socket, &[&serde_json::to_vec(reply)?])
}

fn handle_request(request: &ParseRequest, bytes: &[u8]) -> ParseReply {
    let parsed = |read: &dyn Fn() -> Result<ParsedDocument, ParseError>| {
        let panicked = |_| Err(ParseError::parser_failed());
        ParseReply::Parsed(catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(panicked))
    };
    match request {
        ParseRequest::Parse { format, name, content_type } => {
            parsed(&|| parse::parse_document(bytes, *format, name, content_type.as_deref()))
        }
        ParseRequest::PdfText { name, text, dictionary, cut } => {
            let (text, rest) = bytes.split_at((*text).min(bytes.len()));
            let (dictionary, packet) = rest.split_at((*dictionary).min(rest.len()));
            parsed(&|| {
                let draft = pdf::from_poppler(text, dictionary, packet, *cut)?;
                draft.complete(name)
            })
        }
        ParseRequest::Probe => ParseReply::Probed(sandbox::try_escapes()),
    }
}
