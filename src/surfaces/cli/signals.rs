//! Ctrl-C and SIGTERM.
use super::console::Console;
use super::exit::{Exit, Stop};
use crate::error::{Error, Kind, Result};

/// Does `work` unless Ctrl-C or SIGTERM comes first: that drops it, and what was indexed is kept.
pub(super) async fn unless_stopped<T>(
    console: Console,
    work: impl Future<Output = std::result::Result<T, Stop>>,
) -> std::result::Result<T, Stop> {
    let mut signals = Signals::listen()?;
    tokio::select! {
        done = work => done,
        () = signals.next() => {
            if console.live {
                console.wipe();
            }
            console.tell("stopped; what is indexed so far is kept, and the same command goes on");
            Err(Stop::Told(Exit::Stopped))
        }
    }
}

/// Does `work`, which keeps nothing, unless Ctrl-C or SIGTERM comes first.
pub(super) async fn until_stopped<T>(
    work: impl Future<Output = Result<T>>,
) -> std::result::Result<T, Stop> {
    let mut signals = Signals::listen()?;
    tokio::select! {
        done = work => Ok(done?),
        () = signals.next() => Err(Stop::Told(Exit::Stopped)),
    }
}

/// Ctrl-C and SIGTERM, which mean the same.
pub(super) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    /// Hears them from now on.
    pub(super) fn listen() -> Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| {
            signal(kind)
                .map_err(|fault| Error::new(Kind::Setup, "listening for Ctrl-C").because(fault))
        };
        Ok(Signals {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// The next of them.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
