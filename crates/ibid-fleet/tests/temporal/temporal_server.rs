//! A Temporal of one's own for a while, gone when dropped.
use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ibid_core::Result;
use ibid_core::ports::{FleetQueue as _, FleetTurn};
use ibid_fleet::{TemporalQueue, TemporalSettings};

use super::fake_server::run_id;

/// A server that listens on the loopback.
pub(crate) struct TemporalServer {
    child: Child,
    dir: tempfile::TempDir,
    port: u16,
    counts: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl TemporalServer {
    pub(crate) fn start() -> TemporalServer {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let dir = tempfile::tempdir().unwrap();
        let child = start(&dir, port);
        TemporalServer { child, dir, port, counts: Arc::default() }
    }

    pub(crate) fn kill_and_restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.child = start(&self.dir, self.port);
    }

    /// How often its servers have begun to work on each run.
    pub(crate) fn counts(&self) -> Arc<Mutex<BTreeMap<String, usize>>> {
        Arc::clone(&self.counts)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn queue(&self) -> TemporalQueue {
        queue_at(self.port, "default").0
    }

    pub(crate) fn queue_in(&self, namespace: &str) -> Probe {
        queue_at(self.port, namespace)
    }
}

impl Drop for TemporalServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A queue that a test only tries.
pub(crate) struct Probe(TemporalQueue);

impl Probe {
    pub(crate) async fn ping_submit(&self) -> Result<()> {
        self.0.ping().await?;
        let turn = FleetTurn { party: "a".to_owned(), weight: 1.0 };
        self.0.submit(&run_id(0).parse().unwrap(), &turn).await
    }
}

pub(crate) fn queue_at(port: u16, namespace: &str) -> Probe {
    Probe(TemporalQueue::new(TemporalSettings {
        address: format!("http://127.0.0.1:{port}").parse().unwrap(),
        namespace: namespace.to_owned(),
        task_queue: "ibid".to_owned(),
        api_key: None,
        root_certificates: None,
    }))
}

fn start(dir: &tempfile::TempDir, port: u16) -> Child {
    let mut command = Command::new(program());
    command.args([
        "server",
        "start-dev",
        "--headless",
        "--ip",
        "127.0.0.1",
        "--log-level",
        "error",
    ]);
    command.arg("--port").arg(port.to_string());
    command.arg("--db-filename").arg(dir.path().join("temporal.db"));
    for value in [
        "matching.enableFairness=true",
        "matching.numTaskqueueReadPartitions=1",
        "matching.numTaskqueueWritePartitions=1",
    ] {
        command.args(["--dynamic-config-value", value]);
    }
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60), "Temporal does not start");
        std::thread::sleep(Duration::from_millis(50));
    }
    child
}

/// The program `temporal`: that of the variable, or the one that `cargo xtask test` installs below the target directory.
fn program() -> PathBuf {
    std::env::var_os("IBID_TEST_TEMPORAL").map_or_else(
        || {
            let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
            let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
            PathBuf::from(root).join(target).join("pypi/bin/temporal")
        },
        PathBuf::from,
    )
}
