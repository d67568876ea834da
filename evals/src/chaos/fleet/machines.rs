//! A fleet on one machine: PostgreSQL, Temporal, SeaweedFS and servers of Ibid, each of which can be killed.
use std::fs::File;
use std::io::Read as _;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use test_servers::{PostgresServer, SeaweedServer, TemporalServer};

use super::network::Network;
use crate::Fault;

/// How long a client waits for a server, which may be about to be killed.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(20);

/// What a script may kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum KillTarget {
    Server(usize),
    Postgres,
    Temporal,
    Seaweed,
}

impl KillTarget {
    pub(super) fn name(self) -> String {
        match self {
            KillTarget::Server(nth) => format!("server {nth}"),
            KillTarget::Postgres => "PostgreSQL".to_owned(),
            KillTarget::Temporal => "Temporal".to_owned(),
            KillTarget::Seaweed => "SeaweedFS".to_owned(),
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
    servers: Vec<FleetServer>,
    /// What runs share: the name of the database, of the bucket and of the task queue.
    scene: String,
    dir: tempfile::TempDir,
    pub(super) client: reqwest::Client,
}

struct FleetServer {
    child: Option<Child>,
    port: u16,
    network: Network,
    /// Where its network leads, if it is one that can be cut.
    ports: Option<NetworkPorts>,
}

/// The ports by which a server whose network can be cut reaches others, and by which they reach it.
#[derive(Clone, Copy)]
struct NetworkPorts {
    own: u16,
    postgres: u16,
    temporal: u16,
    seaweed: u16,
    model: u16,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.servers.iter_mut().for_each(FleetServer::kill);
    }
}

impl FleetServer {
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
        let needs = |error| {
            format!(
                "{error}; `cargo xtask test --features ibid-cli/fleet -E 'package(ibid-fleet)'` installs it"
            )
        };
        let temporal = TemporalServer::start().map_err(needs)?;
        let seaweed = SeaweedServer::start().map_err(needs)?;
        let client = reqwest::Client::builder().no_proxy().timeout(CLIENT_TIMEOUT).build()?;
        let fleet = Fleet {
            postgres,
            temporal,
            seaweed,
            settings,
            addresses,
            servers: Vec::new(),
            scene: String::new(),
            dir: tempfile::tempdir()?,
            client,
        };
        fleet.wait_for_objects().await?;
        Ok(fleet)
    }

    /// Waits until SeaweedFS answers, which refuses who has no key, and shows its objects.
    pub(super) async fn wait_for_objects(&self) -> Result<(), Fault> {
        let url = format!("http://127.0.0.1:{}/", self.seaweed.port());
        for _ in 0..120 {
            if let Ok(response) = self.client.get(&url).send().await
                && response.status() == reqwest::StatusCode::FORBIDDEN
                && self.client.get(self.seaweed.files()).send().await.is_ok()
            {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        Err("SeaweedFS does not answer within 30 s".into())
    }

    /// Stops all servers of Ibid, and starts new ones that know nothing of what was before. `can_cut` says whether the network of
    /// each can be cut.
    pub(super) async fn set(&mut self, scene: &str, can_cut: bool) -> Result<(), Fault> {
        self.servers.iter_mut().for_each(FleetServer::kill);
        self.servers.clear();
        scene.clone_into(&mut self.scene);
        self.execute(&format!("create database {scene}")).await?;
        for nth in 0..self.settings.servers {
            let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            let network = Network::default();
            let ports = match can_cut {
                true => Some(self.lead(&network, port)?),
                false => None,
            };
            self.servers.push(FleetServer { child: None, port, network, ports });
            self.start_server(nth)?;
        }
        for nth in 0..self.servers.len() {
            self.wait_until_ready(nth).await?;
        }
        Ok(())
    }

    fn lead(&self, network: &Network, port: u16) -> Result<NetworkPorts, Fault> {
        Ok(NetworkPorts {
            own: network.lead_to(port)?,
            postgres: network.lead_to(self.postgres.port())?,
            temporal: network.lead_to(self.temporal.port())?,
            seaweed: network.lead_to(self.seaweed.port())?,
            model: network.lead_to(self.addresses.model_port)?,
        })
    }

    /// Cuts the network of a server.
    pub(super) fn cut(&self, nth: usize) {
        self.servers[nth].network.cut();
    }

    /// Mends what [`Fleet::cut`] did.
    pub(super) fn mend(&self, nth: usize) {
        self.servers[nth].network.mend();
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
        let ports = self.ports(nth);
        let child = Command::new(&self.settings.binary)
            .args(["serve", "--fleet", "--addr", &address])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &home)
            .env(
                "IBID_STORE_URL",
                format!("postgres://postgres@127.0.0.1:{}/{}", ports.postgres, self.scene),
            )
            .env("IBID_PAGES_URL", format!("s3://pages/{}", self.scene))
            .env("AWS_ENDPOINT", format!("http://127.0.0.1:{}", ports.seaweed))
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", SeaweedServer::ACCESS_KEY)
            .env("AWS_SECRET_ACCESS_KEY", SeaweedServer::SECRET_KEY)
            .env("IBID_FLEET_ADDRESS", format!("http://127.0.0.1:{}", ports.temporal))
            .env("IBID_FLEET_TASK_QUEUE", &self.scene)
            .env("IBID_SERVE_CONCURRENCY", self.settings.slots.to_string())
            // By whatever port: one that can be cut is reached by another.
            .env("IBID_SERVE_HOSTS", "127.0.0.1")
            .env("IBID_SERVE_QUEUE", "10000")
            .env("IBID_SERVE_QUEUE_EACH", "10000")
            .env("IBID_MODEL", "openai:m-1")
            .env("IBID_PRICE", "1/2")
            .env("IBID_MODEL_CONCURRENCY", self.settings.model_calls.to_string())
            .env("OPENAI_API_KEY", "sk-test")
            .env("OPENAI_BASE_URL", format!("http://127.0.0.1:{}/v1", ports.model))
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

    fn ports(&self, nth: usize) -> NetworkPorts {
        let server = &self.servers[nth];
        server.ports.unwrap_or(NetworkPorts {
            own: server.port,
            postgres: self.postgres.port(),
            temporal: self.temporal.port(),
            seaweed: self.seaweed.port(),
            model: self.addresses.model_port,
        })
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
        format!("http://127.0.0.1:{}{path}", self.ports(nth % self.servers.len()).own)
    }

    pub(super) fn kill(&mut self, machine: KillTarget) -> Result<(), Fault> {
        match machine {
            KillTarget::Server(nth) => self.servers[nth].kill(),
            KillTarget::Postgres => self.postgres.kill()?,
            KillTarget::Temporal => self.temporal.kill()?,
            KillTarget::Seaweed => self.seaweed.kill()?,
        }
        Ok(())
    }

    pub(super) fn start_again(&mut self, machine: KillTarget) -> Result<(), Fault> {
        match machine {
            KillTarget::Server(nth) => self.start_server(nth)?,
            KillTarget::Postgres => self.postgres.start_again()?,
            KillTarget::Temporal => self.temporal.start_again()?,
            KillTarget::Seaweed => self.seaweed.start_again()?,
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
