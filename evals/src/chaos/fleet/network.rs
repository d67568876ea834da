//! The network of a server, which can be cut: nothing passes then, and no connection ends.
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::Fault;

/// How often what waits at a cut looks whether it is mended.
const LOOK: Duration = Duration::from_millis(50);

/// Every connection of a server to others and of others to it.
#[derive(Debug, Default)]
pub(super) struct Network {
    is_cut: Arc<AtomicBool>,
}

impl Network {
    pub(super) fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
    }

    pub(super) fn mend(&self) {
        self.is_cut.store(false, Ordering::SeqCst);
    }

    /// Leads to the server at `port` of this machine. Returns the port to connect to.
    pub(super) fn lead_to(&self, port: u16) -> Result<u16, Fault> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let own_port = listener.local_addr()?.port();
        let is_cut = Arc::clone(&self.is_cut);
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let is_cut = Arc::clone(&is_cut);
                std::thread::spawn(move || connect(&near, port, &is_cut));
            }
        });
        Ok(own_port)
    }
}

fn wait_while(is_cut: &AtomicBool) {
    while is_cut.load(Ordering::SeqCst) {
        std::thread::sleep(LOOK);
    }
}

fn connect(near: &TcpStream, port: u16, is_cut: &Arc<AtomicBool>) -> Option<()> {
    wait_while(is_cut);
    let far = TcpStream::connect(("127.0.0.1", port)).ok()?;
    far.set_nodelay(true).ok()?;
    near.set_nodelay(true).ok()?;
    let (from, to, cut) = (far.try_clone().ok()?, near.try_clone().ok()?, Arc::clone(is_cut));
    std::thread::spawn(move || copy(from, to, &cut));
    copy(near.try_clone().ok()?, far, is_cut);
    Some(())
}

/// Copies until one side ends, and then ends both.
fn copy(mut from: TcpStream, mut to: TcpStream, is_cut: &AtomicBool) {
    let mut buffer = [0; 16_384];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        wait_while(is_cut);
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    wait_while(is_cut);
    // The other side may have ended both already.
    let _ = to.shutdown(std::net::Shutdown::Both);
    let _ = from.shutdown(std::net::Shutdown::Both);
}
