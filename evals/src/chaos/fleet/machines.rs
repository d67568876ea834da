//! A fleet on one machine: PostgreSQL, Temporal, SeaweedFS and servers of Ibid, each of which can be killed.
use std::fs::File;
use std::io::Read as _;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use test_servers::{PostgresServer, SeaweedServer, TemporalServer};

use crate::Fault;

/// How long a client waits for a server, which may be about to be killed.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(20);

/// What a script may kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Machine {
    Server(usize),
    Postgres,
    Temporal,
    Seaweed,
}

impl Machine {
    pub(super) fn name(self) -> String {
        match self {
            Machine::Server(nth) => format!("server {nth}"),
            Machine::Postgres => "PostgreSQL".to_owned(),
            Machine::Temporal => "Temporal".to_owned(),
            Machine::Seaweed => "SeaweedFS".to_owned(),
        }
    }
}

/// Where the world of the runs is.
pub(super) struct Addresses {
    pub(super) web_port: u16,
    pub(super) model_port: u16,
}

/// How the servers are set.
pub(super) struct FleetSettings {
    pub(super) binary: PathBuf,
    pub(super) servers: usize,
    /// Runs that each server works on at the same time.
    pub(super) slots: usize,
    /// Calls at the same time that the key of the model allows.
    pub(super) model_calls: usize,
}

pub(super) struct Fleet {
    postgres: PostgresServer,
    temporal: TemporalServer,
    seaweed: SeaweedServer,
    settings: FleetSettings,
    addresses: Addresses,
    servers: Vec<Server>,
    /// What runs share: the name of the database, of the bucket and of the task queue.
    scene: String,
    dir: tempfile::TempDir,
    pub(super) client: reqwest::Client,
}

struct Server {
    child: Option<Child>,
    port: u16,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.servers.iter_mut().for_each(Server::kill);
    }
}

impl Server {
    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Fleet {
    /// Starts what the servers need.
    pub(super) async fn start(
        settings: FleetSettings,
        addresses: Addresses,
    ) -> Result<Fleet, Fault> {
        let postgres = PostgresServer::start().ok_or("PostgreSQL is not installed")??;
        let needs = |error| format!("{error}; `cargo xtask test --features ibid-cli/fleet -E 'package(ibid-fleet)'` installs it");
        let temporal = TemporalServer::start().map_err(needs)?;
        let seaweed = SeaweedServer::start().map_err(needs)?;
        let client = reqwest::Client::builder().no_proxy().timeout(CLIENT_TIMEOUT).build()?;
        Ok(Fleet {
            postgres,
            temporal,
            seaweed,
            settings,
            addresses,
            servers: Vec::new(),
            scene: String::new(),
            dir: tempfile::tempdir()?,
            client,
        })
    }

    /// Stops all servers of Ibid, and starts new ones that know nothing of what was before.
    pub(super) async fn set(&mut self, scene: &str) -> Result<(), Fault> {
        self.servers.iter_mut().for_each(Server::kill);
        self.servers.clear();
        scene.clone_into(&mut self.scene);
        self.execute(&format!("create database {scene}")).await?;
        for nth in 0..self.settings.servers {
            let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            self.servers.push(Server { child: None, port });
            self.start_server(nth)?;
        }
        for nth in 0..self.servers.len() {
            self.wait_until_ready(nth).await?;
        }
        Ok(())
    }

    async fn execute(&self, statement: &str) -> Result<(), Fault> {
        use sqlx::Connection as _;
        let url = format!("{}/postgres", self.postgres.url());
        let mut connection = sqlx::PgConnection::connect(&url).await?;
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned())).execute(&mut connection).await?;
        Ok(connection.close().await?)
    }

    /// The database of the scene.
    pub(super) fn database(&self) -> String {
        format!("{}/{}", self.postgres.url(), self.scene)
    }

    fn start_server(&mut self, nth: usize) -> Result<(), Fault> {
        let home = self.dir.path().join(format!("{}-{nth}", self.scene));
        std::fs::create_dir_all(&home)?;
        let log = File::options().create(true).append(true).open(self.log(nth))?;
        let address = format!("127.0.0.1:{}", self.servers[nth].port);
        let child = Command::new(&self.settings.binary)
            .args(["serve", "--fleet", "--addr", &address])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &home)
            .env("IBID_STORE_URL", self.database())
            .env("IBID_PAGES_URL", format!("s3://pages/{}", self.scene))
            .env("AWS_ENDPOINT", self.seaweed.endpoint())
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", SeaweedServer::ACCESS_KEY)
            .env("AWS_SECRET_ACCESS_KEY", SeaweedServer::SECRET_KEY)
            .env("IBID_FLEET_ADDRESS", format!("http://127.0.0.1:{}", self.temporal.port()))
            .env("IBID_FLEET_TASK_QUEUE", &self.scene)
            .env("IBID_SERVE_CONCURRENCY", self.settings.slots.to_string())
            .env("IBID_SERVE_QUEUE", "10000")
            .env("IBID_SERVE_QUEUE_EACH", "10000")
            .env("IBID_MODEL", "openai:m-1")
            .env("IBID_PRICE", "1/2")
            .env("IBID_MODEL_CONCURRENCY", self.settings.model_calls.to_string())
            .env("OPENAI_API_KEY", "sk-test")
            .env("OPENAI_BASE_URL", format!("http://127.0.0.1:{}/v1", self.addresses.model_port))
            .env("SEARXNG_URL", format!("http://127.0.0.1:{}/searxng", self.addresses.web_port))
            .env("IBID_ALLOW_NET", "127.0.0.0/8")
            .env("IBID_LOOKUPS", "false")
            // What a cache holds depends on which server a run came to.
            .env("IBID_PAGE_CACHE_HOURS", "0")
            .env("IBID_SEARCH_CACHE_HOURS", "0")
            .envs(crate::program::model_variable())
            .current_dir(&home)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        self.servers[nth].child = Some(child);
        Ok(())
    }

    fn log(&self, nth: usize) -> PathBuf {
        self.dir.path().join(format!("{}-{nth}.log", self.scene))
    }

    /// What a server has said.
    pub(super) fn said(&self, nth: usize) -> String {
        let mut text = String::new();
        if let Ok(mut file) = File::open(self.log(nth)) {
            // A log that cannot be read says nothing.
            let _ = file.read_to_string(&mut text);
        }
        text
    }

    async fn wait_until_ready(&mut self, nth: usize) -> Result<(), Fault> {
        for _ in 0..240 {
            if let Ok(response) = self.client.get(self.url(nth, "/readyz")).send().await
                && response.status().is_success()
            {
                return Ok(());
            }
            if let Some(child) = &mut self.servers[nth].child
                && child.try_wait()?.is_some()
            {
                return Err(format!("a server does not start: {}", self.said(nth)).into());
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        Err(format!("a server is not ready within a minute: {}", self.said(nth)).into())
    }

    /// Where SeaweedFS shows the objects of the scene.
    pub(super) fn objects_url(&self) -> String {
        format!("{}/buckets/pages/{}", self.seaweed.files(), self.scene)
    }

    /// The addresses of the servers.
    pub(super) fn urls(&self) -> Vec<String> {
        (0..self.servers.len()).map(|nth| self.url(nth, "")).collect()
    }

    /// Processor time that the servers have used, seconds.
    pub(super) fn processor_seconds(&self) -> f64 {
        let children = self.servers.iter().filter_map(|server| server.child.as_ref());
        children.filter_map(|child| processor_seconds(child.id())).sum()
    }

    pub(super) fn url(&self, nth: usize, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.servers[nth % self.servers.len()].port)
    }

    pub(super) fn kill(&mut self, machine: Machine) -> Result<(), Fault> {
        match machine {
            Machine::Server(nth) => self.servers[nth].kill(),
            Machine::Postgres => self.postgres.kill()?,
            Machine::Temporal => self.temporal.kill()?,
            Machine::Seaweed => self.seaweed.kill()?,
        }
        Ok(())
    }

    pub(super) fn start_again(&mut self, machine: Machine) -> Result<(), Fault> {
        match machine {
            Machine::Server(nth) => self.start_server(nth)?,
            Machine::Postgres => self.postgres.start_again()?,
            Machine::Temporal => self.temporal.start_again()?,
            Machine::Seaweed => self.seaweed.start_again()?,
        }
        Ok(())
    }

    /// Starts again what has ended by itself, as a supervisor would. Returns how many servers had.
    pub(super) fn supervise(&mut self) -> Result<usize, Fault> {
        let mut ended = 0;
        for nth in 0..self.servers.len() {
            let Some(child) = &mut self.servers[nth].child else { continue };
            if child.try_wait()?.is_some() {
                ended += 1;
                self.start_server(nth)?;
            }
        }
        Ok(ended)
    }
}

/// Clock ticks in a second, as Linux reports times to programs.
const TICKS_PER_SECOND: f64 = 100.0;

/// Processor time that a process has used, seconds.
fn processor_seconds(pid: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may have blanks.
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / TICKS_PER_SECOND)
}
