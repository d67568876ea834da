use std::io;
use std::path::PathBuf;
use std::process::Command;

use crate::{KilledOnDrop, SEAWEEDFS, free_ports, fresh_dir};

/// The services of one `weed server`, whose ports would else be fixed.
const PORTS: [&str; 8] = [
    "s3.port",
    "s3.port.grpc",
    "master.port",
    "master.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "filer.port",
    "filer.port.grpc",
];

/// SeaweedFS with its S3 API. It listens some seconds after it was started.
#[derive(Debug)]
pub struct SeaweedServer {
    process: Option<KilledOnDrop>,
    dir: PathBuf,
    ports: Vec<u16>,
}

impl SeaweedServer {
    /// Its only account.
    pub const ACCESS_KEY: &str = "a-key";
    /// The secret of [`Self::ACCESS_KEY`].
    pub const SECRET_KEY: &str = "its-secret";

    /// Starts one.
    ///
    /// # Errors
    /// If it is not installed or cannot be started.
    pub fn start() -> io::Result<SeaweedServer> {
        let ports = free_ports(PORTS.len())?;
        let dir = fresh_dir("weed", ports[0])?;
        let identity = format!(
            r#"{{"identities": [{{"name": "ibid", "actions": ["Admin", "Read", "Write", "List"],
            "credentials": [{{"accessKey": "{}", "secretKey": "{}"}}]}}]}}"#,
            Self::ACCESS_KEY,
            Self::SECRET_KEY
        );
        std::fs::write(dir.join("s3.json"), identity)?;
        let mut server = SeaweedServer { process: None, dir, ports };
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

    /// Starts it again with what it stored.
    ///
    /// # Errors
    /// As [`SeaweedServer::start`].
    pub fn start_again(&mut self) -> io::Result<()> {
        let mut command = Command::new(SEAWEEDFS.path());
        command
            .current_dir(&self.dir)
            .args(["server", "-s3", "-s3.config=s3.json", "-dir=.", "-ip=127.0.0.1"])
            .args(["-master.volumeSizeLimitMB=64", "-volume.max=20"])
            // Other services, with fixed ports.
            .args(["-s3.port.iceberg=0", "-s3.port.lance=0"])
            .args(PORTS.iter().zip(&self.ports).map(|(flag, port)| format!("-{flag}={port}")));
        self.process = Some(KilledOnDrop::spawn(&mut command, &self.dir.join("log"))?);
        Ok(())
    }

    /// Where its S3 API listens on the loopback.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.ports[0]
    }

    /// The address below which every stored object can be read without a key, as `/buckets/NAME/KEY`.
    #[must_use]
    pub fn files(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports[6])
    }
}

impl Drop for SeaweedServer {
    fn drop(&mut self) {
        self.process = None;
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
