//! A process that parses for this one: started, asked, ended. It is held to time and size from here, whatever it does itself.
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, setpriority_process};

use super::child::{COMMAND, Task, UNCONFINED};
use super::sandbox::Confinement;
use super::wire::{MAX_REPLY, ParseReply, ParseRequest, receive, send};
use super::{Limits, Trouble};
use crate::record::FailReason;

/// A document that takes longer is worked on with a lower priority from then on, and its process is not used again.
pub(super) const SLOW: Duration = Duration::from_secs(1);
/// Priority of what is slow: others go first, three times of four.
const GIVING_WAY: i32 = 5;
/// Documents and seconds after which a process is replaced, so that nothing adds up.
const DOCUMENTS: u32 = 500;
const BUSY: Duration = Duration::from_secs(60);

/// A child process that may be ended from any thread, also while another talks to it.
#[derive(Debug)]
pub(super) struct ChildHandle {
    pid: Pid,
    child: Mutex<Reaped>,
}

/// A child, and how it ended once it has been waited for: until then its number is its own.
#[derive(Debug)]
struct Reaped {
    child: Child,
    status: Option<ExitStatus>,
}

impl ChildHandle {
    pub(super) fn new(child: Child) -> Arc<ChildHandle> {
        let pid = Pid::from_child(&child);
        let status = None;
        Arc::new(ChildHandle {
            pid,
            child: Mutex::new(Reaped { child, status }),
        })
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    fn child(&self) -> MutexGuard<'_, Reaped> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends it with all that it started.
    pub(super) fn kill(&self) {
        if self.child().status.is_none() {
            let _ = kill_process_group(self.pid, Signal::KILL);
        }
    }

    /// Ends it and takes leave of it: how it ended, by itself or by this.
    pub(super) fn end(&self) -> Option<ExitStatus> {
        self.kill();
        self.wait()
    }

    /// Waits for its end, which is known to be near.
    pub(super) fn wait(&self) -> Option<ExitStatus> {
        let mut held = self.child();
        if held.status.is_none() {
            held.status = held.child.wait().ok();
        }
        held.status
    }

    /// Lets everything else go first.
    fn give_way(&self) {
        if self.child().status.is_none() {
            let _ = setpriority_process(Some(self.pid), GIVING_WAY);
        }
    }
}

/// Where a job stands, so that whoever no longer waits for it can end the process that works on it.
#[derive(Debug, Default)]
pub(super) struct JobControl(Mutex<JobState>);

#[derive(Debug, Default)]
enum JobState {
    #[default]
    Apart,
    With(Arc<ChildHandle>),
    Cancelled,
}

impl JobControl {
    fn job_state(&self) -> MutexGuard<'_, JobState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that `child` works on it now. One that nobody waits for any more is ended at once.
    pub(super) fn attach(&self, child: &Arc<ChildHandle>) {
        let mut state = self.job_state();
        match *state {
            JobState::Cancelled => child.kill(),
            _ => *state = JobState::With(Arc::clone(child)),
        }
    }

    /// Says that no child works on it any more; after this none is ended for it.
    pub(super) fn detach(&self) {
        let mut state = self.job_state();
        if matches!(*state, JobState::With(_)) {
            *state = JobState::Apart;
        }
    }

    /// Says that nobody waits for it any more, and ends the child that works on it.
    pub(super) fn cancel(&self) {
        let before = std::mem::replace(&mut *self.job_state(), JobState::Cancelled);
        if let JobState::With(child) = before {
            child.kill();
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        matches!(*self.job_state(), JobState::Cancelled)
    }
}

/// What starts a child of `program` for `task`: nothing of this process's environment goes with it but the search path.
pub(super) fn command(program: &Path, task: Task, limits: &Limits, seconds: u64) -> Command {
    let mut command = Command::new(program);
    command
        .arg(COMMAND)
        .arg(task.word())
        .arg(limits.pdf_memory_bytes.to_string())
        .arg(seconds.to_string())
        .env_clear()
        .env("PATH", &limits.path)
        .current_dir("/")
        // A group of its own: Ctrl-C at the terminal is for us to act on, and must not look like a damaged document.
        .process_group(0);
    // Where the program itself needs it to start.
    if let Some(libraries) = std::env::var_os("LD_LIBRARY_PATH") {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    command
}

pub(super) fn unstarted(cause: &std::io::Error) -> Trouble {
    Trouble::new(
        FailReason::Unsupported,
        format!("its reader cannot be started: {cause}"),
    )
}

/// Why a process did not answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The deadline came first.
    Late,
    /// It ended.
    Ended(Option<ExitStatus>),
    /// It answered with more than it may, or with what is no answer.
    Garbled(&'static str),
}

impl Failure {
    /// Whether it was killed, which no document can do to it: the system or a person did, or the limit of its time.
    pub(super) fn is_kill(&self) -> bool {
        let killed = |it: &ExitStatus| it.signal() == Some(Signal::KILL.as_raw());
        matches!(self, Failure::Ended(Some(status)) if killed(status))
    }

    pub(super) fn trouble(&self, limits: &Limits) -> Trouble {
        const XCPU: i32 = Signal::XCPU.as_raw();
        const KILL: i32 = Signal::KILL.as_raw();
        match self {
            Failure::Late => Trouble::new(
                FailReason::Timeout,
                format!("reading it took more than {} seconds", limits.pdf_seconds),
            ),
            Failure::Garbled(why) => Trouble::new(FailReason::TooLarge, *why),
            Failure::Ended(status) => {
                let signal = status.and_then(|it| it.signal());
                let code = status.and_then(|it| it.code());
                match (signal, code) {
                    (Some(XCPU | KILL), _) => Trouble::new(
                        FailReason::Timeout,
                        "reading it took too much processor time, or its reader was killed",
                    ),
                    (_, Some(code)) if code == i32::from(UNCONFINED) => Trouble::new(
                        FailReason::Unsupported,
                        "its reader cannot be confined on this system",
                    ),
                    _ => Trouble::new(
                        FailReason::Broken,
                        "damaged document: its reader gave up within its memory",
                    ),
                }
            }
        }
    }
}

/// A process that parses documents, one at a time.
pub(super) struct ParserProcess {
    handle: Arc<ChildHandle>,
    socket: UnixStream,
    confinement: Option<Confinement>,
    /// For whom it parses: never for two.
    owner: Arc<str>,
    memory: u64,
    documents: u32,
    busy: Duration,
    spent: bool,
}

impl ParserProcess {
    /// Starts one.
    pub(super) fn start(
        program: &Path,
        owner: &Arc<str>,
        limits: &Limits,
    ) -> std::io::Result<ParserProcess> {
        let (socket, theirs) = UnixStream::pair()?;
        let seconds = limits.pdf_seconds.saturating_add(BUSY.as_secs());
        let child = command(program, Task::Parse, limits, seconds)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(ParserProcess {
            handle: ChildHandle::new(child),
            socket,
            confinement: None,
            owner: Arc::clone(owner),
            memory: limits.pdf_memory_bytes,
            documents: 0,
            busy: Duration::ZERO,
            spent: false,
        })
    }

    /// Whether it may parse another document, for `owner` and within `limits`.
    pub(super) fn serves(&self, owner: &Arc<str>, limits: &Limits) -> bool {
        let fresh = !self.spent && self.documents < DOCUMENTS && self.busy < BUSY;
        fresh && self.owner == *owner && self.memory == limits.pdf_memory_bytes
    }

    pub(super) fn handle(&self) -> Arc<ChildHandle> {
        Arc::clone(&self.handle)
    }

    /// What it has taken from itself, once it has answered.
    pub(super) fn confinement(&self) -> Option<Confinement> {
        self.confinement
    }

    /// Has it do what `request` asks with `bytes`, until `until` at the latest.
    pub(super) fn ask(
        &mut self,
        request: &ParseRequest,
        bytes: &[&[u8]],
        until: Instant,
    ) -> Result<ParseReply, Failure> {
        let begun = Instant::now();
        // Whatever goes wrong below, it is not asked again.
        self.spent = true;
        let mut timed = Timed {
            socket: &self.socket,
            handle: &self.handle,
            slow: begun + SLOW,
            until,
            gave_way: false,
        };
        let asked = exchange(&mut timed, request, bytes, self.confinement.is_none());
        let gave_way = timed.gave_way;
        self.documents += 1;
        self.busy += begun.elapsed();
        match asked {
            Ok((confinement, reply)) => {
                self.confinement = self.confinement.or(confinement);
                self.spent = gave_way;
                Ok(reply)
            }
            Err(cause) => Err(self.failure(&cause, until)),
        }
    }

    fn failure(&self, cause: &std::io::Error, until: Instant) -> Failure {
        use std::io::ErrorKind;
        match cause.kind() {
            _ if Instant::now() >= until => {
                self.handle.end();
                Failure::Late
            }
            ErrorKind::InvalidData | ErrorKind::InvalidInput => {
                self.handle.end();
                Failure::Garbled("its text is larger than a document may be")
            }
            // Its end of the socket is closed because it has ended, or it is ended for that.
            ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
                Failure::Ended(self.handle.end())
            }
            _ => {
                self.handle.end();
                Failure::Garbled("its reader gave no answer that can be understood")
            }
        }
    }
}

impl Drop for ParserProcess {
    fn drop(&mut self) {
        self.handle.end();
    }
}

fn exchange(
    timed: &mut Timed<'_>,
    request: &ParseRequest,
    bytes: &[&[u8]],
    is_new: bool,
) -> std::io::Result<(Option<Confinement>, ParseReply)> {
    let request = serde_json::to_vec(request)?;
    send(timed, &[&request])?;
    send(timed, bytes)?;
    let mut next = || -> std::io::Result<ParseReply> {
        let eof = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        let frame = receive(timed, MAX_REPLY)?.ok_or_else(eof)?;
        let unread = |_| std::io::Error::other("no reply");
        serde_json::from_slice(&frame).map_err(unread)
    };
    let mut confinement = None;
    if is_new {
        match next()? {
            ParseReply::Ready(it) => confinement = Some(it),
            _ => return Err(std::io::Error::other("no greeting")),
        }
    }
    Ok((confinement, next()?))
}

/// The socket with a deadline: every call waits until then at most, and what is slow gives way.
struct Timed<'a> {
    socket: &'a UnixStream,
    handle: &'a ChildHandle,
    slow: Instant,
    until: Instant,
    gave_way: bool,
}

impl Timed<'_> {
    /// How long the next call may wait; `None` when the deadline is past.
    fn patience(&mut self) -> std::io::Result<Duration> {
        let now = Instant::now();
        if !self.gave_way && now >= self.slow {
            self.handle.give_way();
            self.gave_way = true;
        }
        let next = match self.gave_way {
            true => self.until,
            false => self.slow.min(self.until),
        };
        let left = self.until.saturating_duration_since(now);
        match left.is_zero() {
            true => Err(std::io::ErrorKind::TimedOut.into()),
            // Zero would mean for ever.
            false => Ok(next
                .saturating_duration_since(now)
                .max(Duration::from_millis(1))),
        }
    }

    fn again(cause: &std::io::Error) -> bool {
        use std::io::ErrorKind;
        matches!(
            cause.kind(),
            ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
        )
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let patience = self.patience()?;
            self.socket.set_read_timeout(Some(patience))?;
            match (&mut self.socket).read(into) {
                Err(cause) if Timed::again(&cause) => {}
                it => return it,
            }
        }
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, from: &[u8]) -> std::io::Result<usize> {
        loop {
            let patience = self.patience()?;
            self.socket.set_write_timeout(Some(patience))?;
            match (&mut self.socket).write(from) {
                Err(cause) if Timed::again(&cause) => {}
                it => return it,
            }
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
