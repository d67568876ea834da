use std::io;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use crate::postgres::is_root;
use crate::{KilledOnDrop, free_ports, fresh_dir};

/// PgBouncer in transaction mode before a PostgreSQL on the loopback. Its two sessions on the server go to another client after each
/// transaction.
#[derive(Debug)]
pub struct PgBouncer {
    _process: KilledOnDrop,
    dir: PathBuf,
    port: u16,
}

impl PgBouncer {
    /// Starts one before the server at `server_port`, as its user `postgres`.
    ///
    /// # Errors
    /// If it is not installed, cannot be started or does not listen in time.
    pub fn start(server_port: u16) -> io::Result<PgBouncer> {
        let port = free_ports(1)?[0];
        let dir = fresh_dir("pgbouncer", port)?;
        let settings = dir.join("pgbouncer.ini");
        // As Debian ships it, but for the mode and the number of sessions.
        std::fs::write(
            &settings,
            format!(
                "[databases]\n* = host=127.0.0.1 port={server_port} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
                 listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 2\n"
            ),
        )?;
        let log = dir.join("log");
        let mut command = Command::new("pgbouncer");
        if is_root() {
            // It refuses to run as root.
            command.args(["-u", "postgres"]);
        }
        let process = KilledOnDrop::spawn(command.arg(&settings), &log)?;
        let server = PgBouncer { _process: process, dir, port };
        server.wait_until_it_listens(&log)?;
        Ok(server)
    }

    /// Where it is, without a database.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}", self.port)
    }

    fn wait_until_it_listens(&self, log: &Path) -> io::Result<()> {
        for _ in 0..600 {
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return Ok(());
            }
            sleep(Duration::from_millis(50));
        }
        Err(io::Error::other(std::fs::read_to_string(log).unwrap_or_default()))
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// Whether PgBouncer is installed.
#[must_use]
pub fn has_pgbouncer() -> bool {
    let version = Command::new("pgbouncer").arg("--version").output();
    version.is_ok_and(|it| it.status.success())
}
