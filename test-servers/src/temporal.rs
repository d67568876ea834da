use std::io;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::{KilledOnDrop, TEMPORAL, free_ports, fresh_dir};

/// How long it may take to listen.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Temporal's development server, with what it knows in a file.
#[derive(Debug)]
pub struct TemporalServer {
    process: Option<KilledOnDrop>,
    dir: PathBuf,
    port: u16,
}

impl TemporalServer {
    /// Starts one.
    ///
    /// # Errors
    /// If it is not installed, or does not listen within a minute.
    pub fn start() -> io::Result<TemporalServer> {
        let port = free_ports(1)?[0];
        let dir = fresh_dir("temporal", port)?;
        let mut server = TemporalServer { process: None, dir, port };
        server.start_again()?;
        Ok(server)
    }

    /// Kills it, as a power cut would.
    ///
    /// # Errors
    /// If there is no such process.
    pub fn kill(&mut self) -> io::Result<()> {
        self.process.take().map_or(Ok(()), |mut process| process.kill())
    }

    /// Starts it again with what it knew.
    ///
    /// # Errors
    /// As [`TemporalServer::start`].
    pub fn start_again(&mut self) -> io::Result<()> {
        let mut command = Command::new(TEMPORAL.path());
        command.args(["server", "start-dev", "--headless", "--ip", "127.0.0.1"]);
        command.args(["--log-level", "error", "--port", &self.port.to_string()]);
        command.arg("--db-filename").arg(self.dir.join("temporal.db"));
        for value in [
            "matching.enableFairness=true",
            "matching.numTaskqueueReadPartitions=1",
            "matching.numTaskqueueWritePartitions=1",
        ] {
            command.args(["--dynamic-config-value", value]);
        }
        self.process = Some(KilledOnDrop::spawn(&mut command, &self.dir.join("log"))?);
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if begun.elapsed() > START_TIMEOUT {
                let log = std::fs::read_to_string(self.dir.join("log")).unwrap_or_default();
                return Err(io::Error::other(format!("Temporal does not start: {log}")));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Where it listens on the loopback.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for TemporalServer {
    fn drop(&mut self) {
        self.process = None;
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
