//! The whole screen, taken and given back whatever happens; keys, read by a thread that ends with it.
use std::io::{Write as _, stderr, stdin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::{Board, Key};
use crate::error::{Error, Kind, Result};

/// Keys that wait at most; a person types slower, and a paste that overruns it loses its end.
const KEYS: usize = 256;

/// How long keys are waited for: then the thread looks whether it is still wanted. It never waits within a read, which would last to
/// the end of a line once a panic has given the terminal back.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Takes the other screen of the terminal and hides the cursor; the way back.
const TAKE: &str = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[2J";
const GIVE: &str = "\u{1b}[?25h\u{1b}[?1049l";

/// What the terminal was before it was ours; none where it is not.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// The screen as long as this lives.
pub(super) struct Full {
    keys: Receiver<Key>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    shown: Vec<String>,
    size: (usize, usize),
}

fn wrong(fault: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(Kind::Setup, "drawing on the terminal")
        .because(fault)
        .hint("leave out --live to have plain progress")
}

impl Full {
    /// Takes the screen.
    ///
    /// # Errors
    /// `Setup` where the terminal does not let itself be taken.
    pub(super) fn enter() -> Result<Full> {
        static HOOK: Once = Once::new();
        // What a panic says must be read on a screen that lasts.
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                restore();
                before(info);
            }));
        });
        let known = tcgetattr(stdin()).map_err(wrong)?;
        let mut raw = known.clone();
        raw.make_raw();
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
        if let Err(fault) = tcsetattr(stdin(), OptionalActions::Now, &raw) {
            restore();
            return Err(wrong(fault));
        }
        put(TAKE).map_err(wrong)?;
        let (send, keys) = channel(KEYS);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || read(&send, &stopped));
        Ok(Full {
            keys,
            stop,
            thread: Some(thread),
            shown: Vec::new(),
            size: (0, 0),
        })
    }

    /// Whether a panic has given the screen back meanwhile. What it says stands on the other screen, and the run may go on: not
    /// every panic is the end of it.
    pub(super) fn is_lost(&self) -> bool {
        let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        before.is_none()
    }

    /// Draws the board: the lines that differ from those that are shown. Nothing where the screen is lost.
    ///
    /// # Errors
    /// `Setup` where the terminal is gone.
    pub(super) fn draw(&mut self, board: &mut Board) -> Result<()> {
        if self.is_lost() {
            return Ok(());
        }
        let size = terminal_size::terminal_size_of(stderr());
        let size = size.map_or((80, 24), |it| (usize::from(it.0.0), usize::from(it.1.0)));
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
        match text.is_empty() {
            true => Ok(()),
            false => put(&text).map_err(wrong),
        }
    }

    /// The next key; waits for ever once no more can come.
    pub(super) async fn key(&mut self) -> Key {
        match self.keys.recv().await {
            Some(key) => key,
            None => std::future::pending().await,
        }
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Nobody else may read the terminal before the thread has let go of it, a tenth of a second from now.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        restore();
    }
}

fn put(text: &str) -> std::io::Result<()> {
    let mut err = stderr().lock();
    err.write_all(text.as_bytes())?;
    err.flush()
}

/// Gives the screen back, once.
fn restore() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
        let _ = put(GIVE);
    }
}

fn read(send: &Sender<Key>, stop: &AtomicBool) {
    let mut held: Vec<u8> = Vec::new();
    let mut piece = [0; 256];
    while !stop.load(Ordering::SeqCst) {
        let terminal = stdin();
        let mut waited = [PollFd::new(&terminal, PollFlags::IN)];
        let n = match poll(&mut waited, Some(&LOOK)) {
            Ok(0) => 0,
            Ok(_) => match rustix::io::read(&terminal, &mut piece) {
                Ok(n @ 1..) => n,
                Err(Errno::INTR | Errno::AGAIN) => continue,
                // The terminal is gone.
                Ok(0) | Err(_) => return,
            },
            Err(Errno::INTR) => continue,
            Err(_) => return,
        };
        held.extend_from_slice(&piece[..n]);
        // What is only half there after a tenth of a second is all there is.
        for key in keys(&mut held, n == 0) {
            let _ = send.try_send(key);
        }
    }
}

/// The keys that these bytes mean, which are taken out; with `all` none is left to wait for more.
fn keys(held: &mut Vec<u8>, all: bool) -> Vec<Key> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(&byte) = held.get(at) {
        let rest = held.get(at..).unwrap_or_default();
        let long = match byte {
            0x1b => escape(rest),
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
        out.extend(meant(rest.get(..long).unwrap_or_default()));
        at += long;
    }
    held.drain(..at);
    out
}

/// How long the sequence is that these bytes begin with; `None` where it is not all there.
fn escape(rest: &[u8]) -> Option<usize> {
    match rest.get(1)? {
        b'[' => {
            let end = rest
                .iter()
                .skip(2)
                .position(|it| (0x40..=0x7e).contains(it))?;
            Some(end + 3)
        }
        b'O' => Some(3),
        // Esc and then another key.
        _ => Some(1),
    }
}

fn meant(bytes: &[u8]) -> Option<Key> {
    match bytes {
        [0x03] => Some(Key::Interrupt),
        [b'\r' | b'\n'] => Some(Key::Enter),
        [0x1b] => Some(Key::Escape),
        [0x7f | 0x08] => Some(Key::Back),
        [0x1b, ..] => Some(Key::Other),
        _ => {
            let text = std::str::from_utf8(bytes).ok()?;
            let c = text.chars().next().filter(|it| !it.is_control())?;
            Some(Key::Char(c))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8], all: bool) -> (Vec<Key>, usize) {
        let mut held = bytes.to_vec();
        let keys = keys(&mut held, all);
        (keys, held.len())
    }

    #[test]
    fn bytes_of_a_terminal_are_keys() {
        assert_eq!(of(b"q\r", false), (vec![Key::Char('q'), Key::Enter], 0));
        assert_eq!(
            of("é水".as_bytes(), false).0,
            [Key::Char('é'), Key::Char('水')]
        );
        // Half a letter and half a sequence wait for the rest, but not for ever.
        assert_eq!(of(&"水".as_bytes()[..2], false), (vec![], 2));
        assert_eq!(of(&"水".as_bytes()[..2], true), (vec![], 0));
        assert_eq!(of(b"\x1b", false), (vec![], 1));
        assert_eq!(of(b"\x1b", true), (vec![Key::Escape], 0));
        // An arrow is one key and no letter.
        assert_eq!(of(b"\x1b[Af", false).0, [Key::Other, Key::Char('f')]);
        assert_eq!(of(b"\x1b[1;5C", false).0, [Key::Other]);
        assert_eq!(
            of(b"\x1bOP\x7f\x03", false).0,
            [Key::Other, Key::Back, Key::Interrupt]
        );
        assert_eq!(of(&[0xff, b'x'], false).0, [Key::Char('x')]);
        assert_eq!(of(&[0xf0], true).1, 0);
    }
}
