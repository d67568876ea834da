//! The typed settings.
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::default_model;
use super::resolved::{ResolvedSettings, hours, millis, seconds};
use super::telemetry::TelemetryConfig;
use super::value::SecretString;
use super::variables::EnvVars;
use ibid_core::domain::{Budget, ModelChoice, ModelRole, ReasoningEffort, ResearchSettings};
use ibid_core::{Error, ErrorKind, Result};
use ibid_sources::mcp::McpSourceConfig;

/// Every setting, resolved. A field has the name of its setting, or says which it has; `Settings::from_resolved` fills those that are skipped.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Settings {
    /// The directory of `ibid.db`.
    pub data_dir: PathBuf,
    /// The PostgreSQL server that stores runs instead.
    #[serde(skip)]
    pub store_url: Option<SecretString>,
    /// The pooler before it.
    #[serde(skip)]
    pub store_pooler_url: Option<SecretString>,
    /// The object store of pages; empty to keep them in the database.
    #[serde(skip)]
    pub pages_url: String,
    /// Days for which runs are kept after their end; `None` keeps them.
    pub retention_days: Option<u32>,
    /// The MCP server.
    pub mcp: McpConfig,
    /// The export of traces and metrics.
    pub telemetry: TelemetryConfig,
    /// The directory of folder indexes and of the web cache.
    pub cache_dir: PathBuf,
    /// Directory of embedding models; empty to look around the program and in `data_dir`.
    #[serde(default)]
    pub models_dir: PathBuf,
    /// Folders that are always searched.
    pub folders: Vec<PathBuf>,
    /// Gitignore-style globs of files to exclude; a leading `!` includes.
    pub globs: Vec<String>,
    /// Blocks of non-public addresses that may be reached, as `10.0.0.0/8`.
    pub allow_net: Vec<String>,
    /// Search engines, in the order in which they are searched, as written: `auto`, `web`, `pubmed`, …
    pub engines: Vec<String>,
    /// The MCP servers that are sources, from `[mcp_sources.NAME]` in the user's configuration file.
    #[serde(skip)]
    pub mcp_sources: Vec<McpSourceConfig>,
    /// Reading and caching web pages.
    #[serde(flatten)]
    pub web: WebConfig,
    /// A contact for the services that are called; may be empty.
    pub contact: String,
    /// The models of questions that name none.
    #[serde(skip)]
    pub models: ModelChoice,
    /// The endpoints of roles that have their own.
    #[serde(skip)]
    pub endpoints: BTreeMap<ModelRole, ModelEndpoint>,
    /// The key variable that chose the models, where no model is named.
    #[serde(skip)]
    pub models_by_key: Option<&'static str>,
    /// Judging finished runs.
    #[serde(flatten)]
    pub judging: JudgeConfig,
    /// The embedding model.
    pub embedding: ServiceConfig,
    /// The reranker.
    pub rerank: ServiceConfig,
    /// The vectors of folders.
    pub vectors: VectorConfig,
    /// The context window of the models: tokens of prompt and answer together.
    pub model_window: u32,
    /// The price of the models, as written; empty for list prices.
    pub price: String,
    /// A file with prices and capabilities of models; empty for none.
    pub model_table: PathBuf,
    /// The environment and the `.env` in force, for looking up keys by name.
    #[serde(skip)]
    pub variables: EnvVars,
    /// The search path, for programs that read documents.
    #[serde(skip)]
    pub search_path: OsString,
    /// The numbers of the method.
    #[serde(flatten)]
    pub method: ResearchSettings,
    /// The limits of a run.
    pub budget: Budget,
    /// The largest document that is read, in bytes.
    pub max_document_bytes: u64,
    /// The time limit of a PDF, seconds.
    pub pdf_seconds: u64,
    /// The memory limit of a PDF, bytes.
    pub pdf_memory_bytes: u64,
    /// Concurrent searches and reads, over all runs of the process.
    pub concurrency: usize,
    /// Calls in flight with one key of a provider of models, over all processes of the store.
    pub model_concurrency: usize,
    /// Tokens of the calls that start within a minute with one key, over all processes of the store.
    pub model_tokens_per_minute: Option<u64>,
    /// The server.
    pub serve: ServeConfig,
    /// A fleet of servers.
    pub fleet: FleetConfig,
}

/// Settings of the server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct ServeConfig {
    /// The address and port to listen on, as written.
    pub addr: String,
    /// The host names that are served.
    pub hosts: Vec<String>,
    /// The variable that holds the operator's token.
    pub token_env: String,
    /// The variable that holds the signing key of webhooks.
    pub webhook_secret_env: String,
    /// Models that callers may choose besides the configured ones.
    pub models: Vec<String>,
    /// Active runs.
    pub concurrency: usize,
    /// Waiting runs.
    pub queue: usize,
    /// Waiting runs of one user.
    pub queue_each: usize,
    /// Parked runs of one user.
    #[serde(rename = "waiting_each")]
    pub parked_each: usize,
    /// Concurrent requests of one user.
    pub requests_each: usize,
    /// How long a run may wait for input before it is parked.
    #[serde(rename = "input_seconds", deserialize_with = "seconds")]
    pub patience: Duration,
    /// Days after their end at which runs are deleted; `None` keeps them.
    #[serde(rename = "retention_days")]
    pub keep_days: Option<u32>,
    /// Open connections.
    pub connections: usize,
    /// Open connections of one address without a valid token.
    pub connections_per_address: usize,
    /// Addresses of proxies, which have no limit by address, as written.
    pub proxies: Vec<String>,
    /// The timeout of a request body.
    #[serde(rename = "body_seconds", deserialize_with = "seconds")]
    pub body_within: Duration,
    /// The largest request body, in bytes.
    pub max_body_bytes: usize,
    /// Whether the server is a member of a fleet.
    pub fleet: bool,
}

/// Settings of a fleet of servers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct FleetConfig {
    /// The address of Temporal, as written.
    pub address: String,
    /// The namespace in Temporal.
    pub namespace: String,
    /// The task queue in Temporal.
    pub task_queue: String,
    /// The variable that holds the API key of Temporal.
    pub api_key_env: String,
    /// A PEM file of certificate authorities; empty for those of the system.
    pub root_certificates: String,
}

/// Settings for reading and caching web pages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct WebConfig {
    /// The page readers, in the order in which they are tried, as written: `auto`, `embedded`, `jina`, …
    pub readers: Vec<String>,
    /// The program of the reader `chromium`; empty for the one on the search path.
    pub chromium: String,
    /// Whether papers are looked up by their ids at Crossref and the like.
    pub lookups: bool,
    /// Whether robots.txt is obeyed.
    pub robots: bool,
    /// Concurrent requests to one host.
    pub host_requests: usize,
    /// The minimum time between two requests to one host.
    #[serde(rename = "host_pace_ms", deserialize_with = "millis")]
    pub host_pace: Duration,
    /// How long a cached page is used.
    #[serde(rename = "page_cache_hours", deserialize_with = "hours")]
    pub page_cache: Duration,
    /// How long a cached search result is used.
    #[serde(rename = "search_cache_hours", deserialize_with = "hours")]
    pub search_cache: Duration,
    /// The size limit of the cache, in bytes.
    #[serde(rename = "web_cache_bytes")]
    pub cache_bytes: u64,
    /// Whether the cache is not read.
    pub fresh: bool,
}

/// Settings of the MCP server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct McpConfig {
    /// The transport of `ibid mcp`.
    pub transport: McpTransport,
    /// Whether the server has the tool `agentic_search`.
    pub agentic_search: bool,
}

/// The transport of `ibid mcp`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpTransport {
    /// Over stdin and stdout.
    #[default]
    Stdio,
    /// Over HTTP, as part of `ibid serve`.
    Http,
}

/// Settings for judging finished runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct JudgeConfig {
    /// The model, `provider:model`; without one, runs are judged by counts alone.
    #[serde(skip)]
    pub model: Option<String>,
    /// Whether each run is judged when its report is ready.
    #[serde(rename = "online_evals")]
    pub online: bool,
}

/// The endpoint of one role's model. Empty fields are as for the other roles.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct ModelEndpoint {
    /// The base URL.
    pub base_url: String,
    /// The variable that holds the key.
    pub api_key_env: String,
    /// The context window: tokens of prompt and answer together.
    pub max_context: Option<u32>,
    /// The price, in the form of the setting `price`.
    pub price: String,
    /// How much the model reasons.
    pub reasoning: ReasoningSetting,
}

/// How much a model reasons before it answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningSetting {
    /// As the step needs it.
    #[default]
    Auto,
    /// As little as it can.
    None,
    /// Little.
    Low,
    /// As much as most models do by themselves.
    Medium,
    /// Much.
    High,
}

impl ReasoningSetting {
    /// The effort, if it is the same for all steps.
    pub fn effort(self) -> Option<ReasoningEffort> {
        match self {
            ReasoningSetting::Auto => None,
            ReasoningSetting::None => Some(ReasoningEffort::None),
            ReasoningSetting::Low => Some(ReasoningEffort::Low),
            ReasoningSetting::Medium => Some(ReasoningEffort::Medium),
            ReasoningSetting::High => Some(ReasoningEffort::High),
        }
    }
}

/// The vectors of folders.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct VectorConfig {
    /// The most passages of a folder that get vectors.
    pub max_passages: u64,
    /// The base URL of a vector server; empty for the cache directory.
    pub base_url: String,
    /// The variable that holds its key.
    pub api_key_env: String,
}

/// An embedding model or a reranker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct ServiceConfig {
    /// The name of the model, as written.
    #[serde(default)]
    pub model: String,
    /// The base URL; empty for the default of the provider.
    pub base_url: String,
    /// The variable that holds the key; empty for the default of the provider.
    pub api_key_env: String,
}

impl ServiceConfig {
    /// The address and the key as a [`ModelEndpoint`].
    pub fn endpoint(&self) -> ModelEndpoint {
        ModelEndpoint {
            base_url: self.base_url.clone(),
            api_key_env: self.api_key_env.clone(),
            ..ModelEndpoint::default()
        }
    }
}

impl Settings {
    /// The settings with these values. A test changes each row of [`SETTINGS`](super::table::SETTINGS) and checks that the settings change.
    ///
    /// # Errors
    /// `Internal` for a field without a setting.
    pub(super) fn from_resolved(values: &ResolvedSettings, variables: EnvVars) -> Result<Settings> {
        let named = role_models(values);
        // `model = "none"` is a choice, too: to use no model.
        let unset = named.is_empty()
            && values.text("model").is_empty()
            && roles_to_fill(values).next().is_some();
        let by_key = default_model::default_model(&variables).filter(|_| unset);
        let mut settings: Settings = parse(values.tree())?;
        settings.method.team = parse(values.table(""))?;
        settings.store_url = values.secret("store.url");
        settings.store_pooler_url = values.secret("store.pooler_url");
        settings.pages_url = values.text("pages.url").to_owned();
        settings.telemetry.headers = values.secret("telemetry.headers");
        settings.judging.model = model_of(values, ModelRole::Judge).or_else(|| {
            let unnamed = values.text("models.judge").is_empty();
            by_key.filter(|_| unnamed).map(|(spec, _)| spec.to_owned())
        });
        settings.models = match by_key {
            Some((spec, _)) => roles_to_fill(values).map(|role| (role, spec.to_owned())).collect(),
            None if unset => ModelChoice::Unset,
            None => named.into_iter().collect(),
        };
        for role in ModelRole::ALL.into_iter().chain([ModelRole::Judge]) {
            let endpoint = parse(values.table(&format!("models.{}.", role.as_str())))?;
            if endpoint != ModelEndpoint::default() {
                settings.endpoints.insert(role, endpoint);
            }
        }
        settings.models_by_key = by_key.map(|(_, variable)| variable);
        settings.variables = variables;
        // A model that was chosen by a key alone has a spending limit.
        settings.budget.usd = settings.budget.usd.or(by_key.map(|_| default_model::CAP_USD));
        Ok(settings)
    }
}

/// Reads a type from values by name.
fn parse<T: serde::de::DeserializeOwned>(values: serde_json::Map<String, Value>) -> Result<T> {
    serde_json::from_value(Value::Object(values))
        .map_err(|fault| Error::new(ErrorKind::Internal, "reading the settings").with_source(fault))
}

/// The model of each role that has one: its own, else that of the setting `model`.
fn role_models(values: &ResolvedSettings) -> BTreeMap<ModelRole, String> {
    ModelRole::ALL.into_iter().filter_map(|role| Some((role, model_of(values, role)?))).collect()
}

/// The roles whose model is not `none`.
fn roles_to_fill(values: &ResolvedSettings) -> impl Iterator<Item = ModelRole> {
    let none = |role: &ModelRole| values.text(&format!("models.{}", role.as_str())) == "none";
    ModelRole::ALL.into_iter().filter(move |role| !none(role))
}

/// The model of one role, if it has one.
fn model_of(values: &ResolvedSettings, role: ModelRole) -> Option<String> {
    let own = values.text(&format!("models.{}", role.as_str()));
    let spec = if own.is_empty() { values.text("model") } else { own };
    (!["", "none"].contains(&spec)).then(|| spec.to_owned())
}
