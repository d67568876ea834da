use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::{free_ports, fresh_dir};

/// A PostgreSQL that listens on the loopback.
#[derive(Debug)]
pub struct PostgresServer {
    bin: PathBuf,
    dir: PathBuf,
    port: u16,
}

impl PostgresServer {
    /// Starts one; `None` where PostgreSQL is not installed.
    ///
    /// # Errors
    /// Where it is and cannot be started.
    pub fn start() -> Option<io::Result<PostgresServer>> {
        installed_postgres().map(PostgresServer::make)
    }

    fn make(bin: PathBuf) -> io::Result<PostgresServer> {
        let port = free_ports(1)?[0];
        let dir = fresh_dir("pg", port)?;
        if is_root() {
            // The server refuses to run as root.
            told(Command::new("chown").arg("postgres").arg(&dir).output()?)?;
        }
        let server = PostgresServer { bin, dir, port };
        let data = server.data();
        let mut init = server.command("initdb");
        init.args([
            "--auth=trust",
            "--username=postgres",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "-D",
        ]);
        told(init.arg(&data).output()?)?;
        server.start_again()?;
        Ok(server)
    }

    /// Where it is, without a database.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}", self.port)
    }

    /// Where it listens on the loopback.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Stops it as a power cut would, and starts it again.
    ///
    /// # Errors
    /// Where it does not come back.
    pub fn restart(&self) -> io::Result<()> {
        self.kill()?;
        self.start_again()
    }

    /// Starts it again.
    ///
    /// # Errors
    /// Where it does not come back.
    pub fn start_again(&self) -> io::Result<()> {
        let options = format!(
            "-p {} -k {} -c listen_addresses=127.0.0.1 -c max_connections=300 -c synchronous_commit=on -c fsync=off -c track_commit_timestamp=on",
            self.port,
            self.dir.display()
        );
        let mut start = self.command("pg_ctl");
        start.arg("-D").arg(self.data()).arg("-l").arg(self.dir.join("log"));
        start.args(["-w", "-t", "60", "-o", &options, "start"]);
        // The server outlives pg_ctl and would hold a pipe open for ever.
        let status = start.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        match status.success() {
            true => Ok(()),
            false => Err(io::Error::other(
                std::fs::read_to_string(self.dir.join("log")).unwrap_or_default(),
            )),
        }
    }

    /// Stops it as a power cut would.
    ///
    /// # Errors
    /// Where it does not run.
    pub fn kill(&self) -> io::Result<()> {
        let mut stop = self.command("pg_ctl");
        stop.arg("-D").arg(self.data());
        told(stop.args(["-m", "immediate", "-w", "stop"]).output()?)
    }

    fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    fn command(&self, program: &str) -> Command {
        let program = self.bin.join(program);
        let mut command = match is_root() {
            true => {
                let mut it = Command::new("setpriv");
                it.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]);
                it.arg(program);
                it
            }
            false => Command::new(program),
        };
        command.current_dir(&self.dir).stdin(Stdio::null());
        command
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        let _ = self.kill();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// The newest programs of PostgreSQL on this machine, those of Debian first.
#[must_use]
pub fn installed_postgres() -> Option<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|it| {
            let version = it.file_name().to_str()?.parse().ok()?;
            Some((version, it.path().join("bin")))
        })
        .filter(|it| whole(&it.1))
        .collect();
    versions.sort();
    let on_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|it| whole(it))
    };
    versions.pop().map(|it| it.1).or_else(on_path)
}

fn whole(bin: &Path) -> bool {
    ["initdb", "pg_ctl", "postgres"].iter().all(|it| bin.join(it).is_file())
}

pub(crate) fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|it| it.stdout.starts_with(b"0\n"))
}

fn told(it: Output) -> io::Result<()> {
    match it.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(String::from_utf8_lossy(&it.stderr).into_owned())),
    }
}
