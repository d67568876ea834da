//! The programs of poppler as children: bytes in, what they say out, and an end in time.
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Instant;

use rustix::process::{Signal, WaitId, WaitIdOptions, waitid};

use super::child::Task;
use super::pdf::{self, MAX_TEXT};
use super::process::{ChildHandle, JobControl, command, unstarted};
use super::{Limits, Trouble};
use crate::record::FailReason;

/// What the programs said of one PDF.
pub(super) struct PdfPieces {
    /// Its text, a form feed after each page.
    pub(super) text: Vec<u8>,
    /// Whether there was more of it.
    pub(super) cut: bool,
    /// Its properties; empty where `pdfinfo` does not tell.
    pub(super) dictionary: Vec<u8>,
    /// Its XMP packet; empty where there is none, or nothing for it to add.
    pub(super) packet: Vec<u8>,
}

/// Has the programs of poppler read a PDF, until `until` at the latest. That its properties cannot be read is no reason to lose
/// its words.
pub(super) fn read_pdf(
    program: &Path,
    bytes: &[u8],
    limits: &Limits,
    until: Instant,
    control: &JobControl,
) -> Result<PdfPieces, Trouble> {
    let ask = |task| ask(program, task, bytes, limits, until, control);
    let said = ask(Task::PdfText)?;
    said.verdict()?;
    let dictionary = ask(Task::PdfProperties).map_or_else(|_| Vec::new(), |it| it.text);
    let packet = match pdf::wants_packet(&dictionary) {
        true => ask(Task::PdfPacket).map_or_else(|_| Vec::new(), |it| it.text),
        false => Vec::new(),
    };
    Ok(PdfPieces {
        text: said.text,
        cut: said.cut,
        dictionary,
        packet,
    })
}

/// What a program said.
struct Said {
    /// Standard output, at most [`MAX_TEXT`] bytes of it.
    text: Vec<u8>,
    /// The beginning of standard error.
    complaint: String,
    /// Whether there was more to come.
    cut: bool,
    status: ExitStatus,
}

impl Said {
    /// Whether it did what it was asked; if not, why.
    fn verdict(&self) -> Result<(), Trouble> {
        // Ended by us, for it had said enough.
        if self.cut || self.status.success() {
            return Ok(());
        }
        if self.complaint.to_lowercase().contains("incorrect password") {
            return Err(pdf::encrypted());
        }
        let ours = [Signal::XCPU.as_raw(), Signal::KILL.as_raw()];
        Err(match self.status.signal() {
            Some(signal) if ours.contains(&signal) => Trouble::new(
                FailReason::Timeout,
                "reading it took too much processor time",
            ),
            Some(_) => Trouble::new(
                FailReason::Broken,
                "damaged PDF: its reader gave up within its memory",
            ),
            None => pdf::damaged(&self.complaint),
        })
    }
}

/// What a thread beside the child has to tell.
enum News {
    Text(Vec<u8>),
    Ended,
}

/// Has a child become the program of `task` and read `bytes`.
fn ask(
    program: &Path,
    task: Task,
    bytes: &[u8],
    limits: &Limits,
    until: Instant,
    control: &JobControl,
) -> Result<Said, Trouble> {
    let mut child = command(program, task, limits, limits.pdf_seconds)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|it| unstarted(&it))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let child = ChildHandle::new(child);
    control.attach(&child);
    let pid = child.pid();
    let most = MAX_TEXT as u64;
    let (tell, told) = mpsc::channel();
    let tell_end = tell.clone();
    let said = std::thread::scope(|scope| {
        scope.spawn(move || {
            // A child that stops reading early has its reasons; its status tells them.
            stdin.map(|mut it| it.write_all(bytes))
        });
        let complaint = scope.spawn(move || {
            let mut said = String::new();
            if let Some(it) = stderr {
                let _ = it.take(4_000).read_to_string(&mut said);
            }
            said
        });
        scope.spawn(move || {
            let mut text = Vec::new();
            if let Some(it) = stdout {
                let _ = it.take(most + 1).read_to_end(&mut text);
            }
            let _ = tell.send(News::Text(text));
        });
        scope.spawn(move || {
            // `NOWAIT` leaves the child for `ChildHandle`, so that its number stays its own until nobody can want to kill it
            // any more.
            let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), ended) {}
            let _ = tell_end.send(News::Ended);
        });
        let (mut text, mut ended) = (None, false);
        while text.is_none() || !ended {
            match told.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(News::Text(it)) if it.len() as u64 > most => {
                    text = Some(it);
                    break;
                }
                Ok(News::Text(it)) => text = Some(it),
                Ok(News::Ended) => ended = true,
                Err(_) => break,
            }
        }
        let in_time = text.is_some();
        let mut text = text.unwrap_or_default();
        let cut = text.len() as u64 > most;
        let status = match ended && in_time {
            true => child.wait(),
            false => child.end(),
        };
        text.truncate(MAX_TEXT);
        let complaint = complaint.join().unwrap_or_default();
        match status {
            Some(status) if cut || (ended && in_time) => Ok(Said {
                text,
                complaint,
                cut,
                status,
            }),
            _ => Err(Trouble::new(
                FailReason::Timeout,
                format!("reading it took more than {} seconds", limits.pdf_seconds),
            )),
        }
    });
    control.detach();
    said
}
