//! Ctrl-C and SIGTERM.
use crate::console::Console;
use crate::exit::{CommandError, ExitStatus};
use ibid_core::{Error, ErrorKind, Result};

/// Runs `work`, which may index folders. Ctrl-C or SIGTERM drops it; the index keeps what is done.
///
/// # Errors
/// Those of `work`; `CommandError::Reported` after a signal.
pub(super) async fn unless_stopped<T>(
    console: Console,
    work: impl Future<Output = std::result::Result<T, CommandError>>,
) -> std::result::Result<T, CommandError> {
    let mut signals = Signals::listen()?;
    tokio::select! {
        done = work => done,
        () = signals.next() => {
            if console.live {
                console.clear_line();
            }
            console.eprint_line("stopped; what is indexed so far is kept; run the same command again to continue");
            Err(CommandError::Reported(ExitStatus::Stopped))
        }
    }
}

/// Runs `work`, which saves nothing. Ctrl-C or SIGTERM drops it.
///
/// # Errors
/// Those of `work`; `CommandError::Reported` after a signal.
pub(super) async fn until_stopped<T>(
    work: impl Future<Output = Result<T>>,
) -> std::result::Result<T, CommandError> {
    let mut signals = Signals::listen()?;
    tokio::select! {
        done = work => Ok(done?),
        () = signals.next() => Err(CommandError::Reported(ExitStatus::Stopped)),
    }
}

/// Ctrl-C and SIGTERM, which have the same effect.
pub(super) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    /// Starts to listen.
    ///
    /// # Errors
    /// `Setup` if the signals cannot be handled.
    pub(super) fn listen() -> Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| {
            signal(kind).map_err(|fault| {
                Error::new(ErrorKind::Setup, "listening for Ctrl-C").with_source(fault)
            })
        };
        Ok(Signals {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Resolves at the next signal.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
