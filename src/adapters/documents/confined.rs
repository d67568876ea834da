//! The parent's side of the child process: bytes in, what it says out, and an end in time.
use std::io::{Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::child::{self, Task};
use super::{Limits, Trouble};
use crate::record::FailReason;

/// The most a child may say about one document.
pub(super) const MAX_OUTPUT: u64 = 16 << 20;

/// What a child said.
pub(super) struct Said {
    /// Standard output, at most [`MAX_OUTPUT`] bytes of it.
    pub(super) text: Vec<u8>,
    /// The beginning of standard error.
    complaint: String,
    /// Whether there was more to come.
    pub(super) cut: bool,
    status: ExitStatus,
}

impl Said {
    /// Whether it did what it was asked; if not, why, said of `what`.
    pub(super) fn verdict(&self, what: &str) -> Result<(), Trouble> {
        // Ended by us, for it had said enough.
        if self.cut || self.status.success() {
            return Ok(());
        }
        let said = self.complaint.to_lowercase();
        let first = self.complaint.lines().next().unwrap_or_default().trim();
        if self.status.code() == Some(i32::from(child::ENCRYPTED))
            || said.contains("incorrect password")
        {
            return Err(Trouble::new(
                FailReason::Unsupported,
                "it is encrypted and needs a password",
            ));
        }
        if let Some(signal) = self.status.signal() {
            // SIGXCPU and SIGKILL: the CPU limit.
            return Err(if matches!(signal, 24 | 9) {
                Trouble::new(
                    FailReason::Timeout,
                    "reading it took too much processor time",
                )
            } else {
                Trouble::new(
                    FailReason::Broken,
                    format!("damaged {what}: its reader gave up within its memory"),
                )
            });
        }
        let why = if first.is_empty() || first.len() > 300 {
            String::new()
        } else {
            format!(": {first}")
        };
        Err(Trouble::new(
            FailReason::Broken,
            format!("damaged {what}{why}"),
        ))
    }
}

/// What a thread beside the child has to tell.
enum News {
    Text(Vec<u8>),
    Ended,
}

/// Has a child do `task` on `bytes`, until `until` at the latest.
pub(super) fn ask(
    task: Task,
    bytes: &[u8],
    limits: &Limits,
    until: Instant,
) -> Result<Said, Trouble> {
    let mut child = Command::new(&limits.child)
        .arg(child::COMMAND)
        .arg(task.word())
        .arg(limits.pdf_memory_bytes.to_string())
        .arg(limits.pdf_seconds.to_string())
        // A group of its own: Ctrl-C at the terminal is for us to act on, and must not look like a
        // damaged document.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|it| {
            Trouble::new(
                FailReason::Unsupported,
                format!("its reader cannot be started: {it}"),
            )
        })?;
    let pid = Pid::from_child(&child);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (tell, told) = mpsc::channel();
    let tell_end = tell.clone();
    std::thread::scope(|scope| {
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
                let _ = it.take(MAX_OUTPUT + 1).read_to_end(&mut text);
            }
            let _ = tell.send(News::Text(text));
        });
        scope.spawn(move || {
            // `NOWAIT` leaves the child for `Child::wait`, so that its number stays its own until
            // nobody can want to kill it any more.
            let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), ended) {}
            let _ = tell_end.send(News::Ended);
        });
        let (mut text, mut ended) = (None, false);
        while text.is_none() || !ended {
            match told.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(News::Text(it)) if it.len() as u64 > MAX_OUTPUT => {
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
        let cut = text.len() as u64 > MAX_OUTPUT;
        let status = finish(&mut child, pid, ended && in_time);
        text.truncate(usize::try_from(MAX_OUTPUT).unwrap_or(usize::MAX));
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
    })
}

/// The moment by which all children for one document must have ended.
pub(super) fn deadline(limits: &Limits) -> Instant {
    Instant::now() + Duration::from_secs(limits.pdf_seconds)
}

/// Takes leave of the child and of what it may have started; ends them where they have not ended.
fn finish(child: &mut Child, pid: Pid, ended: bool) -> Option<ExitStatus> {
    if !ended {
        // Whoever it started holds its output open, so the whole group goes.
        let _ = kill_process_group(pid, Signal::KILL);
        let _ = child.kill();
    }
    child.wait().ok()
}
