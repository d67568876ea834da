//! Runs the programs of poppler as confined children, with limits on their time and output.
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Instant;

use rustix::process::{Signal, WaitId, WaitIdOptions, waitid};

use crate::child::ChildTask;
use crate::parse_error::ParseError;
use crate::pdf::{self, MAX_TEXT};
use crate::process::{ChildHandle, ChildLimits, JobControl, child_command, start_error};
use ibid_core::ReadFailure;

/// Bytes of standard error that are kept.
const MAX_STDERR_BYTES: u64 = 4_000;

/// The output of the programs for one PDF.
pub(crate) struct PopplerOutput {
    /// The text, with a form feed after each page.
    pub(crate) text: Vec<u8>,
    /// Whether the text was cut.
    pub(crate) cut: bool,
    /// The properties; empty if `pdfinfo` failed.
    pub(crate) dictionary: Vec<u8>,
    /// The XMP packet; empty if there is none, or if the properties are complete without it.
    pub(crate) packet: Vec<u8>,
}

/// Reads a PDF with the programs of poppler, until `until` at the latest. `program` is the program that becomes them. If the
/// properties cannot be read, the text is still returned.
pub(crate) fn read_pdf(
    program: &Path,
    bytes: &[u8],
    limits: &ChildLimits,
    until: Instant,
    control: &JobControl,
) -> Result<PopplerOutput, ParseError> {
    let run = |task| {
        let command = child_command(program, task, limits, limits.seconds);
        run_program(command, bytes, limits, until, control)
    };
    let output = run(ChildTask::PdfText)?;
    output.check()?;
    let dictionary = run(ChildTask::PdfProperties).map_or_else(|_| Vec::new(), |it| it.text);
    let packet = if pdf::needs_packet(&dictionary) {
        run(ChildTask::PdfPacket).map_or_else(|_| Vec::new(), |it| it.text)
    } else {
        Vec::new()
    };
    Ok(PopplerOutput { text: output.text, cut: output.cut, dictionary, packet })
}

/// The output of one program.
struct ProgramOutput {
    /// The first [`MAX_TEXT`] bytes of standard output.
    text: Vec<u8>,
    /// The beginning of standard error.
    stderr: String,
    /// Whether standard output was cut.
    cut: bool,
    status: ExitStatus,
}

impl ProgramOutput {
    /// Returns why the program failed, if it did.
    fn check(&self) -> Result<(), ParseError> {
        // A program whose output was cut has been killed by us.
        if self.cut || self.status.success() {
            return Ok(());
        }
        if self.stderr.to_lowercase().contains("incorrect password") {
            return Err(pdf::encrypted_error());
        }
        let limit_signals = [Signal::XCPU.as_raw(), Signal::KILL.as_raw()];
        Err(match self.status.signal() {
            Some(signal) if limit_signals.contains(&signal) => {
                ParseError::new(ReadFailure::Timeout, "parsing took too much processor time")
            }
            Some(_) => ParseError::new(
                ReadFailure::Broken,
                "damaged PDF: the parser crashed or ran out of memory",
            ),
            None => pdf::damaged_error(&self.stderr),
        })
    }
}

/// An event from a thread that watches the child.
enum ChildEvent {
    /// Standard output was closed; at most [`MAX_TEXT`] bytes and one more.
    Text(Vec<u8>),
    /// The child ended.
    Ended,
}

/// Starts a child with `command`, and passes it `bytes`.
fn run_program(
    mut command: Command,
    bytes: &[u8],
    limits: &ChildLimits,
    until: Instant,
    control: &JobControl,
) -> Result<ProgramOutput, ParseError> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|cause| start_error(&cause))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let child = ChildHandle::new(child);
    control.attach(&child);
    let pid = child.pid();
    let (sender, events) = mpsc::channel();
    let end_sender = sender.clone();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || {
            // If the child stops reading early, its status says why.
            stdin.map(|mut stdin| stdin.write_all(bytes))
        });
        let stderr = scope.spawn(move || {
            let mut text = String::new();
            if let Some(stderr) = stderr {
                let _ = stderr.take(MAX_STDERR_BYTES).read_to_string(&mut text);
            }
            text
        });
        scope.spawn(move || {
            let mut text = Vec::new();
            if let Some(stdout) = stdout {
                let _ = stdout.take(MAX_TEXT as u64 + 1).read_to_end(&mut text);
            }
            let _ = sender.send(ChildEvent::Text(text));
        });
        scope.spawn(move || {
            // `NOWAIT` leaves the child to `ChildHandle`, so that its process id is not reused while it may still be killed.
            let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), ended) {}
            let _ = end_sender.send(ChildEvent::Ended);
        });
        let (text, ended) = wait_for_output(&events, until);
        let in_time = ended && text.is_some();
        let status = if in_time { child.wait() } else { child.kill_and_wait() };
        let stderr = stderr.join().unwrap_or_default();
        let mut text = text.unwrap_or_default();
        let cut = text.len() > MAX_TEXT;
        text.truncate(MAX_TEXT);
        match status {
            Some(status) if cut || in_time => Ok(ProgramOutput { text, stderr, cut, status }),
            _ => Err(limits.timeout_error()),
        }
    });
    control.detach();
    output
}

/// Waits for the output and the end of a child, or until the output is too long, or until `until`. Returns the output, if it
/// came in time, and whether the child has ended.
fn wait_for_output(events: &mpsc::Receiver<ChildEvent>, until: Instant) -> (Option<Vec<u8>>, bool) {
    let (mut text, mut ended) = (None, false);
    while text.is_none() || !ended {
        match events.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(ChildEvent::Text(all)) if all.len() > MAX_TEXT => return (Some(all), ended),
            Ok(ChildEvent::Text(all)) => text = Some(all),
            Ok(ChildEvent::Ended) => ended = true,
            Err(_) => break,
        }
    }
    (text, ended)
}
