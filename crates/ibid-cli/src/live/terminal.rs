//! The full screen of the terminal, restored whatever happens, and the thread that reads keys.
use std::io::{Write as _, stderr, stdin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::board::{KeyPress, LiveView};
use ibid_core::{Error, ErrorKind, Result};

/// Capacity of the queue of keys. A longer paste loses its end.
const MAX_QUEUED_KEYS: usize = 256;

/// How long the thread polls for keys before it checks whether to stop. It never blocks in a read: after a panic has restored the
/// terminal, a read would last to the end of a line.
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Switches to the alternate screen, hides the cursor and clears.
const ENTER_SCREEN: &str = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[2J";
/// Shows the cursor and switches back.
const LEAVE_SCREEN: &str = "\u{1b}[?25h\u{1b}[?1049l";

/// The settings of the terminal before the full screen; `None` outside the full screen.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// The full screen. Dropping it restores the terminal.
pub(super) struct FullScreen {
    keys: Receiver<KeyPress>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    shown: Vec<String>,
    size: (usize, usize),
}

fn terminal_error(fault: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Setup, "drawing on the terminal")
        .with_source(fault)
        .with_hint("leave out --live for plain progress")
}

impl FullScreen {
    /// Enters the full screen and starts to read keys.
    ///
    /// # Errors
    /// `Setup` if the terminal cannot be switched to raw mode.
    pub(super) fn enter() -> Result<FullScreen> {
        static HOOK: Once = Once::new();
        // Restore the terminal before a panic is printed, else its message would vanish with the alternate screen.
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                restore();
                before(info);
            }));
        });
        let known = tcgetattr(stdin()).map_err(terminal_error)?;
        let mut raw = known.clone();
        raw.make_raw();
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
        if let Err(fault) = tcsetattr(stdin(), OptionalActions::Now, &raw) {
            restore();
            return Err(terminal_error(fault));
        }
        write_stderr(ENTER_SCREEN).map_err(terminal_error)?;
        let (send, keys) = channel(MAX_QUEUED_KEYS);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || read_keys(&send, &stopped));
        Ok(FullScreen { keys, stop, thread: Some(thread), shown: Vec::new(), size: (0, 0) })
    }

    /// Whether a panic has restored the terminal. The run may go on, because not every panic ends it.
    pub(super) fn is_lost(&self) -> bool {
        let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        before.is_none()
    }

    /// Draws the lines of the board that have changed; nothing if the screen is lost.
    ///
    /// # Errors
    /// `Setup` if the terminal cannot be written.
    pub(super) fn draw(&mut self, board: &mut LiveView) -> Result<()> {
        if self.is_lost() {
            return Ok(());
        }
        let size = terminal_size::terminal_size_of(stderr());
        let size = size.map_or((80, 24), |size| (usize::from(size.0.0), usize::from(size.1.0)));
        if size != self.size {
            self.shown.clear();
            self.size = size;
        }
        let lines = board.lines(size.0, size.1, jiff::Timestamp::now());
        let mut text = String::new();
        if self.shown.is_empty() {
            text.push_str("\u{1b}[2J");
        }
        for (nth, line) in lines.iter().enumerate() {
            if self.shown.get(nth) != Some(line) {
                text += &format!("\u{1b}[{};1H{line}\u{1b}[K", nth + 1);
            }
        }
        self.shown = lines;
        if text.is_empty() { Ok(()) } else { write_stderr(&text).map_err(terminal_error) }
    }

    /// The next key. Never resolves once the terminal is closed.
    pub(super) async fn next_key(&mut self) -> KeyPress {
        match self.keys.recv().await {
            Some(key) => key,
            None => std::future::pending().await,
        }
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // The thread stops within POLL_INTERVAL. Until then no other code may read the terminal.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        restore();
    }
}

fn write_stderr(text: &str) -> std::io::Result<()> {
    let mut err = stderr().lock();
    err.write_all(text.as_bytes())?;
    err.flush()
}

/// Restores the terminal, once.
fn restore() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
        let _ = write_stderr(LEAVE_SCREEN);
    }
}

fn read_keys(send: &Sender<KeyPress>, stop: &AtomicBool) {
    let mut held: Vec<u8> = Vec::new();
    let mut piece = [0; 256];
    while !stop.load(Ordering::SeqCst) {
        let terminal = stdin();
        let mut waited = [PollFd::new(&terminal, PollFlags::IN)];
        let n = match poll(&mut waited, Some(&POLL_INTERVAL)) {
            Ok(0) => 0,
            Ok(_) => match rustix::io::read(&terminal, &mut piece) {
                Ok(n @ 1..) => n,
                Err(Errno::INTR | Errno::AGAIN) => continue,
                // The terminal is closed.
                Ok(0) | Err(_) => return,
            },
            Err(Errno::INTR) => continue,
            Err(_) => return,
        };
        held.extend_from_slice(&piece[..n]);
        // After a pause, an incomplete sequence will not be completed.
        for key in parse_keys(&mut held, n == 0) {
            let _ = send.try_send(key);
        }
    }
}

/// Takes the keys out of `held`. Incomplete sequences stay there, unless `all` is set.
fn parse_keys(held: &mut Vec<u8>, all: bool) -> Vec<KeyPress> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(&byte) = held.get(at) {
        let rest = held.get(at..).unwrap_or_default();
        let long = match byte {
            0x1b => escape_len(rest),
            0xc2..=0xdf => Some(2),
            0xe0..=0xef => Some(3),
            0xf0..=0xf4 => Some(4),
            _ => Some(1),
        };
        let whole = long.filter(|long| *long <= rest.len());
        let long = match (whole, all) {
            (Some(long), _) => long,
            (None, true) => rest.len(),
            (None, false) => break,
        };
        out.extend(key_for(rest.get(..long).unwrap_or_default()));
        at += long;
    }
    held.drain(..at);
    out
}

/// Length of the escape sequence at the beginning of `rest`, or `None` if it is incomplete.
fn escape_len(rest: &[u8]) -> Option<usize> {
    match rest.get(1)? {
        b'[' => {
            let end = rest.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte))?;
            Some(end + 3)
        }
        b'O' => Some(3),
        // The Escape key, then another key.
        _ => Some(1),
    }
}

fn key_for(bytes: &[u8]) -> Option<KeyPress> {
    match bytes {
        [0x03] => Some(KeyPress::Interrupt),
        [b'\r' | b'\n'] => Some(KeyPress::Enter),
        [0x1b] => Some(KeyPress::Escape),
        [0x7f | 0x08] => Some(KeyPress::Back),
        [0x1b, ..] => Some(KeyPress::Other),
        _ => {
            let text = std::str::from_utf8(bytes).ok()?;
            let c = text.chars().next().filter(|c| !c.is_control())?;
            Some(KeyPress::Char(c))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(bytes: &[u8], all: bool) -> (Vec<KeyPress>, usize) {
        let mut held = bytes.to_vec();
        let keys = parse_keys(&mut held, all);
        (keys, held.len())
    }

    #[test]
    fn bytes_of_a_terminal_are_keys() {
        assert_eq!(parsed(b"q\r", false), (vec![KeyPress::Char('q'), KeyPress::Enter], 0));
        assert_eq!(parsed("é水".as_bytes(), false).0, [KeyPress::Char('é'), KeyPress::Char('水')]);
        // Half a letter and half a sequence wait for the rest, but not for ever.
        assert_eq!(parsed(&"水".as_bytes()[..2], false), (vec![], 2));
        assert_eq!(parsed(&"水".as_bytes()[..2], true), (vec![], 0));
        assert_eq!(parsed(b"\x1b", false), (vec![], 1));
        assert_eq!(parsed(b"\x1b", true), (vec![KeyPress::Escape], 0));
        // An arrow is one key and no letter.
        assert_eq!(parsed(b"\x1b[Af", false).0, [KeyPress::Other, KeyPress::Char('f')]);
        assert_eq!(parsed(b"\x1b[1;5C", false).0, [KeyPress::Other]);
        assert_eq!(
            parsed(b"\x1bOP\x7f\x03", false).0,
            [KeyPress::Other, KeyPress::Back, KeyPress::Interrupt]
        );
        assert_eq!(parsed(&[0xff, b'x'], false).0, [KeyPress::Char('x')]);
        assert_eq!(parsed(&[0xf0], true).1, 0);
    }
}
