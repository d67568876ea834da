//! The program of an MCP server: started with a clean environment, read within bounds, killed when dropped.
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use ibid_core::{Error, ErrorKind, Result};

/// How much of the end of stderr is kept, in bytes.
const STDERR_BYTES: usize = 2_000;
/// The variables of this process that every program gets.
const PASSED: [&str; 3] = ["PATH", "HOME", "LANG"];

/// A running program and its process group.
pub(super) struct ChildServer {
    group: Option<Pid>,
    _child: Child,
    stderr: Arc<Mutex<VecDeque<u8>>>,
}

impl Drop for ChildServer {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl ChildServer {
    /// Starts `program`, which gets `PATH`, `HOME`, `LANG` and `env` as its environment. Returns it with its pipes; the one
    /// that is read fails after `room` bytes.
    ///
    /// # Errors
    /// `Setup` if it cannot be started.
    pub(super) fn start(
        program: &str,
        args: &[String],
        env: &[(String, String)],
        room: Arc<AtomicUsize>,
    ) -> Result<(ChildServer, BoundedReader<ChildStdout>, ChildStdin)> {
        let failed = |cause: io::Error| {
            Error::new(ErrorKind::Setup, format!("starting {program}"))
                .with_source(cause)
                .with_hint("check that the program is installed and can be executed")
        };
        let passed = PASSED.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
        let mut child = Command::new(program)
            .args(args)
            .env_clear()
            .envs(passed)
            .envs(env.iter().map(|(name, value)| (OsStr::new(name), OsStr::new(value))))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let stderr = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(pipe) = child.stderr.take() {
            // Ends with the program, which closes the pipe.
            tokio::spawn(keep_end(pipe, Arc::clone(&stderr)));
        }
        let server = ChildServer { group, _child: child, stderr };
        match (stdin, stdout) {
            (Some(stdin), Some(stdout)) => {
                Ok((server, BoundedReader { inner: stdout, room }, stdin))
            }
            _ => Err(failed(io::Error::other("it has no pipes"))),
        }
    }

    /// The last line that it wrote to stderr, for the operator.
    pub(super) fn last_words(&self) -> Option<String> {
        let kept: Vec<u8> =
            self.stderr.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        let text = String::from_utf8_lossy(&kept);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        Some(line.chars().filter(|c| !c.is_control()).take(200).collect())
    }
}

/// Reads a pipe to its end and keeps the last bytes, so that a program that writes much is not blocked.
async fn keep_end(mut pipe: ChildStderr, kept: Arc<Mutex<VecDeque<u8>>>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(&buffer[..count]);
        let excess = kept.len().saturating_sub(STDERR_BYTES);
        kept.drain(..excess);
    }
}

/// A reader that fails when more was read than there is room for. Each call makes new room.
pub(super) struct BoundedReader<R> {
    inner: R,
    room: Arc<AtomicUsize>,
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let count = buffer.filled().len() - before;
        let take = |room: usize| room.checked_sub(count);
        Poll::Ready(
            self.room
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                .map(|_| ())
                .map_err(|_| io::Error::other("the answer is too large")),
        )
    }
}
