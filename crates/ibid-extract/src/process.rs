//! A child process that parses documents. This process enforces its time and output limits, whatever the child does.
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, setpriority_process};

use crate::child::{COMMAND, ChildTask, UNCONFINED};
use crate::ipc::{MAX_REPLY, ParseReply, ParseRequest, read_frame, write_frame};
use crate::parse_error::ParseError;
use crate::sandbox::Confinement;
use ibid_core::ReadFailure;

/// After this time on one document a process gets a lower priority, and it is not used again.
pub(crate) const SLOW_DOCUMENT: Duration = Duration::from_secs(1);
/// The nice value of a slow process: other processes get about three quarters of the processor.
const SLOW_NICE: i32 = 5;
/// A process is replaced after this many documents or this much time, so that leaks do not add up.
const MAX_DOCUMENTS: u32 = 500;
const MAX_BUSY: Duration = Duration::from_secs(60);

/// Limits on a child process.
#[derive(Debug, Clone)]
pub(crate) struct ChildLimits {
    /// Wall-clock seconds for one document.
    pub(crate) seconds: u64,
    /// Address space in bytes.
    pub(crate) memory_bytes: u64,
    /// The search path for `pdftotext` and `pdfinfo`.
    pub(crate) path: OsString,
}

impl ChildLimits {
    /// The error of a document that took more than its wall-clock time.
    pub(crate) fn timeout_error(&self) -> ParseError {
        ParseError::new(
            ReadFailure::Timeout,
            format!("parsing took more than {} seconds", self.seconds),
        )
    }
}

/// A child process that any thread can end, even while another thread talks to it.
#[derive(Debug)]
pub(crate) struct ChildHandle {
    pid: Pid,
    child: Mutex<ChildState>,
}

/// A child, and its exit status once it has been waited for. Until then no other process can get its process id.
#[derive(Debug)]
struct ChildState {
    child: Child,
    status: Option<ExitStatus>,
}

impl ChildHandle {
    pub(crate) fn new(child: Child) -> Arc<ChildHandle> {
        let pid = Pid::from_child(&child);
        let status = None;
        Arc::new(ChildHandle { pid, child: Mutex::new(ChildState { child, status }) })
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    fn child(&self) -> MutexGuard<'_, ChildState> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills the child and all processes that it started.
    pub(crate) fn kill(&self) {
        if self.child().status.is_none() {
            let _ = kill_process_group(self.pid, Signal::KILL);
        }
    }

    /// Kills the child unless it has ended already, and returns its exit status.
    pub(crate) fn kill_and_wait(&self) -> Option<ExitStatus> {
        self.kill();
        self.wait()
    }

    /// Waits for the end of the child. Blocks other calls, so use it only when the child is about to end.
    pub(crate) fn wait(&self) -> Option<ExitStatus> {
        let mut state = self.child();
        if state.status.is_none() {
            state.status = state.child.wait().ok();
        }
        state.status
    }

    fn lower_priority(&self) {
        if self.child().status.is_none() {
            let _ = setpriority_process(Some(self.pid), SLOW_NICE);
        }
    }
}

/// The state of a job. A caller that no longer waits for the job uses it to end the child that works on it.
#[derive(Debug, Default)]
pub(crate) struct JobControl(Mutex<JobState>);

#[derive(Debug, Default)]
enum JobState {
    #[default]
    Unattached,
    Attached(Arc<ChildHandle>),
    Cancelled,
}

impl JobControl {
    fn job_state(&self) -> MutexGuard<'_, JobState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that `child` works on the job. If the job is cancelled, kills the child at once.
    pub(crate) fn attach(&self, child: &Arc<ChildHandle>) {
        let mut state = self.job_state();
        match *state {
            JobState::Cancelled => child.kill(),
            _ => *state = JobState::Attached(Arc::clone(child)),
        }
    }

    /// Records that no child works on the job. Cancelling it kills nothing from now on.
    pub(crate) fn detach(&self) {
        let mut state = self.job_state();
        if matches!(*state, JobState::Attached(_)) {
            *state = JobState::Unattached;
        }
    }

    /// Cancels the job and kills the child that works on it.
    pub(crate) fn cancel(&self) {
        let before = std::mem::replace(&mut *self.job_state(), JobState::Cancelled);
        if let JobState::Attached(child) = before {
            child.kill();
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        matches!(*self.job_state(), JobState::Cancelled)
    }
}

/// The command that starts `program` as a child for `task`, with `cpu_seconds` of processor time. The child inherits nothing
/// of this process's environment but the search path.
pub(crate) fn child_command(
    program: &Path,
    task: ChildTask,
    limits: &ChildLimits,
    cpu_seconds: u64,
) -> Command {
    let mut command = Command::new(program);
    command
        .arg(COMMAND)
        .arg(task.name())
        .arg(limits.memory_bytes.to_string())
        .arg(cpu_seconds.to_string())
        .env_clear()
        .env("PATH", &limits.path)
        .current_dir("/")
        // Its own group, so that Ctrl-C at the terminal does not kill it and look like a damaged document.
        .process_group(0);
    // The program itself may need it to start.
    if let Some(libraries) = std::env::var_os("LD_LIBRARY_PATH") {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    command
}

pub(crate) fn start_error(cause: &std::io::Error) -> ParseError {
    ParseError::new(
        ReadFailure::Unsupported,
        format!("the parser process cannot be started: {cause}"),
    )
}

/// Why a process did not reply.
#[derive(Debug)]
pub(crate) enum ProcessFailure {
    /// The deadline passed.
    Timeout,
    /// The process ended.
    Ended(Option<ExitStatus>),
    /// The reply was too large or invalid.
    InvalidReply(&'static str),
}

impl ProcessFailure {
    /// Whether the process was killed. No document can do that: it was the system, a person, or the limit of its time.
    pub(crate) fn is_kill(&self) -> bool {
        let killed = |status: &ExitStatus| status.signal() == Some(Signal::KILL.as_raw());
        matches!(self, ProcessFailure::Ended(Some(status)) if killed(status))
    }

    pub(crate) fn to_parse_error(&self, limits: &ChildLimits) -> ParseError {
        const XCPU: i32 = Signal::XCPU.as_raw();
        const KILL: i32 = Signal::KILL.as_raw();
        match self {
            ProcessFailure::Timeout => limits.timeout_error(),
            ProcessFailure::InvalidReply(why) => ParseError::new(ReadFailure::TooLarge, *why),
            ProcessFailure::Ended(status) => {
                let signal = status.and_then(|status| status.signal());
                let code = status.and_then(|status| status.code());
                match (signal, code) {
                    (Some(XCPU | KILL), _) => ParseError::new(
                        ReadFailure::Timeout,
                        "parsing took too much processor time, or the parser was killed",
                    ),
                    (_, Some(code)) if code == i32::from(UNCONFINED) => ParseError::new(
                        ReadFailure::Unsupported,
                        "the parser cannot be confined on this system",
                    ),
                    _ => ParseError::new(
                        ReadFailure::Broken,
                        "damaged document: the parser crashed or ran out of memory",
                    ),
                }
            }
        }
    }
}

/// A process that parses documents, one at a time.
pub(crate) struct ParserProcess {
    handle: Arc<ChildHandle>,
    socket: UnixStream,
    confinement: Option<Confinement>,
    /// The only owner whose documents it parses.
    owner: Arc<str>,
    memory_bytes: u64,
    documents: u32,
    busy: Duration,
    /// Whether it must not be used again.
    spent: bool,
}

impl ParserProcess {
    /// Starts a process for `owner`.
    pub(crate) fn start(
        program: &Path,
        owner: &Arc<str>,
        limits: &ChildLimits,
    ) -> std::io::Result<ParserProcess> {
        let (socket, theirs) = UnixStream::pair()?;
        let cpu_seconds = limits.seconds.saturating_add(MAX_BUSY.as_secs());
        let child = child_command(program, ChildTask::Parse, limits, cpu_seconds)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(ParserProcess {
            handle: ChildHandle::new(child),
            socket,
            confinement: None,
            owner: Arc::clone(owner),
            memory_bytes: limits.memory_bytes,
            documents: 0,
            busy: Duration::ZERO,
            spent: false,
        })
    }

    /// Whether it may parse another document, for `owner` and within `limits`.
    pub(crate) fn can_serve(&self, owner: &Arc<str>, limits: &ChildLimits) -> bool {
        let fresh = !self.spent && self.documents < MAX_DOCUMENTS && self.busy < MAX_BUSY;
        fresh && self.owner == *owner && self.memory_bytes == limits.memory_bytes
    }

    pub(crate) fn handle(&self) -> Arc<ChildHandle> {
        Arc::clone(&self.handle)
    }

    /// The sandbox that is in force in it; `None` before its first reply.
    pub(crate) fn confinement(&self) -> Option<Confinement> {
        self.confinement
    }

    /// Sends `request` with `bytes` and waits for the reply, at most until `until`.
    pub(crate) fn request(
        &mut self,
        request: &ParseRequest,
        bytes: &[&[u8]],
        until: Instant,
    ) -> Result<ParseReply, ProcessFailure> {
        let started = Instant::now();
        // If anything below fails, the process is not used again.
        self.spent = true;
        let mut socket = DeadlineSocket {
            socket: &self.socket,
            handle: &self.handle,
            slow: started + SLOW_DOCUMENT,
            until,
            is_slow: false,
        };
        let result = exchange(&mut socket, request, bytes, self.confinement.is_none());
        let is_slow = socket.is_slow;
        self.documents += 1;
        self.busy += started.elapsed();
        match result {
            Ok((confinement, reply)) => {
                self.confinement = self.confinement.or(confinement);
                self.spent = is_slow;
                Ok(reply)
            }
            Err(cause) => Err(self.failure(&cause, until)),
        }
    }

    fn failure(&self, cause: &std::io::Error, until: Instant) -> ProcessFailure {
        use std::io::ErrorKind;
        match cause.kind() {
            _ if Instant::now() >= until => {
                self.handle.kill_and_wait();
                ProcessFailure::Timeout
            }
            ErrorKind::InvalidData | ErrorKind::InvalidInput => {
                self.handle.kill_and_wait();
                ProcessFailure::InvalidReply("its text is larger than a document may be")
            }
            // The child closed its end of the socket: it has ended, or it is ended now.
            ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
                ProcessFailure::Ended(self.handle.kill_and_wait())
            }
            _ => {
                self.handle.kill_and_wait();
                ProcessFailure::InvalidReply("the parser sent an invalid reply")
            }
        }
    }
}

impl Drop for ParserProcess {
    fn drop(&mut self) {
        self.handle.kill_and_wait();
    }
}

/// Sends a request and reads the reply, and before it the greeting of a new process.
fn exchange(
    socket: &mut DeadlineSocket<'_>,
    request: &ParseRequest,
    bytes: &[&[u8]],
    is_new: bool,
) -> std::io::Result<(Option<Confinement>, ParseReply)> {
    let request = serde_json::to_vec(request)?;
    write_frame(socket, &[&request])?;
    write_frame(socket, bytes)?;
    let mut next = || -> std::io::Result<ParseReply> {
        let eof = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        let frame = read_frame(socket, MAX_REPLY)?.ok_or_else(eof)?;
        serde_json::from_slice(&frame).map_err(|_| std::io::Error::other("invalid reply"))
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

/// A socket with a deadline: a call waits at most until then. After [`SLOW`] the child's priority is lowered.
struct DeadlineSocket<'a> {
    socket: &'a UnixStream,
    handle: &'a ChildHandle,
    slow: Instant,
    until: Instant,
    is_slow: bool,
}

impl DeadlineSocket<'_> {
    /// How long the next call may wait.
    ///
    /// # Errors
    /// `TimedOut` if the deadline has passed.
    fn remaining(&mut self) -> std::io::Result<Duration> {
        let now = Instant::now();
        if !self.is_slow && now >= self.slow {
            self.handle.lower_priority();
            self.is_slow = true;
        }
        if now >= self.until {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        let next = if self.is_slow { self.until } else { self.slow.min(self.until) };
        // A timeout of zero would mean forever.
        Ok(next.saturating_duration_since(now).max(Duration::from_millis(1)))
    }

    fn is_retryable(cause: &std::io::Error) -> bool {
        use std::io::ErrorKind;
        matches!(cause.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
    }
}

impl Read for DeadlineSocket<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let timeout = self.remaining()?;
            self.socket.set_read_timeout(Some(timeout))?;
            match (&mut self.socket).read(into) {
                Err(cause) if DeadlineSocket::is_retryable(&cause) => {}
                result => return result,
            }
        }
    }
}

impl Write for DeadlineSocket<'_> {
    fn write(&mut self, from: &[u8]) -> std::io::Result<usize> {
        loop {
            let timeout = self.remaining()?;
            self.socket.set_write_timeout(Some(timeout))?;
            match (&mut self.socket).write(from) {
                Err(cause) if DeadlineSocket::is_retryable(&cause) => {}
                result => return result,
            }
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
