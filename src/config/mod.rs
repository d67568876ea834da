//! Typed settings in layers: default < user < project < environment < flags. Every value knows its origin.
//!
//! [`table::SETTINGS`] is the one list of them; [`layers`] finds the values, [`value`] judges them,
//! [`effort`] says what an effort stands for, [`amounts`] reads `$2|15m|60calls`, [`mod@file`] writes.
pub mod amounts;
pub mod by_key;
pub mod effort;
mod evidence;
pub mod file;
pub mod layers;
mod origin;
mod over;
pub mod table;
pub mod telemetry;
pub mod value;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::{Budget, Method, ModelChoice, ModelRole, Strategy, Team};
use crate::error::Result;

pub use layers::{Flag, Loaded, Resolved, Surroundings};
pub use origin::Origin;
pub use table::{SETTINGS, Setting};
pub use telemetry::Telemetry;
pub use value::Secret;

/// Every setting, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Where `ibid.db` lives.
    pub data_dir: PathBuf,
    /// The PostgreSQL where runs are kept, if not there.
    pub store_url: Option<Secret>,
    /// How long runs are kept after their end, days; for ever without.
    pub retention_days: Option<u32>,
    /// Whether `ibid mcp` speaks over HTTP.
    pub mcp_over_http: bool,
    /// Whether agents are offered the tool `agentic_search`.
    pub agentic_search: bool,
    /// Where runs and counts are told.
    pub telemetry: Telemetry,
    /// Where folder indexes live.
    pub cache_dir: PathBuf,
    /// Folders that are always searched.
    pub folders: Vec<PathBuf>,
    /// Gitignore-style globs of what to leave out of folders; a leading `!` takes back in.
    pub globs: Vec<String>,
    /// Blocks of addresses that may be reached though they are not of the open web, as `10.0.0.0/8`.
    pub allow_net: Vec<String>,
    /// Search engines outside, in the order they are asked, as written: `auto`, `web`, `pubmed`, …
    pub engines: Vec<String>,
    /// How the web is read and what is kept of it.
    pub web: Web,
    /// How services can reach whoever runs this; empty where nobody says.
    pub contact: String,
    /// The models that questions ask which name none themselves.
    pub models: ModelChoice,
    /// What a role's model has of its own, for the roles that have.
    pub endpoints: BTreeMap<ModelRole, Endpoint>,
    /// The variable whose key chose the models, where nobody named one.
    pub models_by_key: Option<&'static str>,
    /// Who judges finished runs, and when.
    pub judging: Judging,
    /// What makes vectors of texts.
    pub embedding: Server,
    /// Who puts texts in order.
    pub rerank: Server,
    /// Where vectors are kept, if not in the cache directory; its model is empty.
    pub vectors: Server,
    /// Tokens of prompt and answer together that the models take.
    pub model_window: u32,
    /// What the models cost, as written; empty for list prices.
    pub price: String,
    /// The environment with the `.env` in force: where keys are looked up by name.
    pub variables: Variables,
    /// The numbers of the method.
    pub method: Method,
    /// What a run may spend.
    pub budget: Budget,
    /// Largest document taken in, bytes.
    pub max_document_bytes: u64,
    /// Time a PDF may take, seconds.
    pub pdf_seconds: u64,
    /// Memory a PDF may take, bytes.
    pub pdf_memory_bytes: u64,
    /// Searches and reads at once, over all runs of the process.
    pub concurrency: usize,
    /// How the server serves.
    pub serve: Serve,
}

/// How the server serves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Serve {
    /// Address and port, as written.
    pub addr: String,
    /// Names by which it is reached.
    pub hosts: Vec<String>,
    /// The variable that holds the operator's token.
    pub token_env: String,
    /// The variable that holds the key of webhooks.
    pub webhook_secret_env: String,
    /// Models that callers may choose besides those that are set.
    pub models: Vec<String>,
    /// Runs worked on at once.
    pub concurrency: usize,
    /// Runs that may wait.
    pub queue: usize,
    /// Of these, runs of one user.
    pub queue_each: usize,
    /// Runs of one user that may wait for a person.
    pub aside_each: usize,
    /// Requests of one user that may be open at once.
    pub requests_each: usize,
    /// How long a run may wait for a person before its turn goes to another.
    pub patience: Duration,
    /// How many days after their end runs are forgotten, if ever.
    pub keep_days: Option<u32>,
    /// Connections open at once.
    pub connections: usize,
    /// Of these, from one address and of nobody who has shown who they are.
    pub connections_per_address: usize,
    /// Addresses that the bound by address is not for, as written.
    pub proxies: Vec<String>,
    /// The longest that the body of a request may take to come.
    pub body_within: Duration,
    /// Largest request body, bytes.
    pub max_body_bytes: usize,
}

impl Serve {
    fn of(values: &Resolved) -> Serve {
        let count = |name| values.whole(name).unwrap_or(1) as usize;
        Serve {
            addr: values.word("serve.addr").to_owned(),
            hosts: values.list("serve.hosts").to_vec(),
            token_env: values.word("serve.token_env").to_owned(),
            webhook_secret_env: values.word("serve.webhook_secret_env").to_owned(),
            models: values.list("serve.models").to_vec(),
            concurrency: count("serve.concurrency"),
            queue: count("serve.queue"),
            queue_each: count("serve.queue_each"),
            aside_each: count("serve.aside_each"),
            requests_each: count("serve.requests_each"),
            patience: Duration::from_secs(count("serve.patience_seconds") as u64),
            keep_days: values.whole("serve.keep_days").map(|it| it as u32),
            connections: count("serve.connections"),
            connections_per_address: count("serve.connections_per_address"),
            proxies: values.list("serve.proxies").to_vec(),
            body_within: Duration::from_secs(count("serve.body_seconds") as u64),
            max_body_bytes: count("serve.max_body_bytes"),
        }
    }
}

/// How the web is read and what is kept of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Web {
    /// Who reads what engines find, in the order they try, as written: `auto`, `embedded`, `jina`, …
    pub readers: Vec<String>,
    /// The program of the reader `chromium`; empty for what is on the search path.
    pub chromium: String,
    /// Whether those who know papers by their ids are asked about them.
    pub lookups: bool,
    /// Whether robots.txt is heeded.
    pub robots: bool,
    /// Requests to one host at once.
    pub host_requests: usize,
    /// The least time between two requests to one host.
    pub host_pace: Duration,
    /// How long a page is used without asking for it again.
    pub page_cache: Duration,
    /// How long an engine's answer is used again.
    pub search_cache: Duration,
    /// Most that is kept, bytes.
    pub cache_bytes: u64,
    /// Whether all is asked for anew.
    pub fresh: bool,
}

impl Web {
    fn of(values: &Resolved) -> Web {
        let hours = |name| Duration::from_secs(3600 * values.whole(name).unwrap_or(0));
        Web {
            readers: values.list("readers").to_vec(),
            chromium: values.word("chromium").to_owned(),
            lookups: values.is_set("lookups"),
            robots: values.is_set("robots"),
            host_requests: values.whole("host_requests").unwrap_or(1) as usize,
            host_pace: Duration::from_millis(values.whole("host_pace_ms").unwrap_or(0)),
            page_cache: hours("page_cache_hours"),
            search_cache: hours("search_cache_hours"),
            cache_bytes: values.whole("web_cache_bytes").unwrap_or(0),
            fresh: values.is_set("fresh"),
        }
    }
}

/// Who judges finished runs, and when.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judging {
    /// The model, `provider:model`; without one, code judges by what it counts.
    pub model: Option<String>,
    /// Whether each run is judged once its report is out.
    pub online: bool,
}

/// What the model of one role has of its own; what is empty is as for the other roles.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// Where it is asked.
    pub base_url: String,
    /// The variable that holds its key.
    pub api_key_env: String,
    /// Tokens of prompt and answer together that it takes.
    pub max_context: Option<u32>,
    /// What it costs, as `price` writes it.
    pub price: String,
}

/// A model that is no language model, or a server without one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Server {
    /// Its name, as its setting says.
    pub model: String,
    /// Where it is asked; empty for where its kind is.
    pub base_url: String,
    /// The variable that holds its key; empty for the one that its kind reads.
    pub api_key_env: String,
}

impl Server {
    fn of(values: &Resolved, name: &str) -> Server {
        let word = |key: &str| values.word(&format!("{name}.{key}")).to_owned();
        Server {
            model: if name == "vectors" {
                String::new()
            } else {
                word("model")
            },
            base_url: word("base_url"),
            api_key_env: word("api_key_env"),
        }
    }

    /// Address and key as the endpoint of a model.
    pub fn endpoint(&self) -> Endpoint {
        Endpoint {
            base_url: self.base_url.clone(),
            api_key_env: self.api_key_env.clone(),
            ..Endpoint::default()
        }
    }
}

impl Endpoint {
    fn of(values: &Resolved, role: ModelRole) -> Endpoint {
        let name = |key: &str| format!("models.{}.{key}", role.word());
        let most = values.whole(&name("max_context"));
        Endpoint {
            base_url: values.word(&name("base_url")).to_owned(),
            api_key_env: values.word(&name("api_key_env")).to_owned(),
            max_context: most.map(|it| u32::try_from(it).unwrap_or(u32::MAX)),
            price: values.word(&name("price")).to_owned(),
        }
    }
}

/// Variables by name. Their values may be keys, so nothing prints them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// The value of `name`, where it is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .map(String::as_str)
            .filter(|it| !it.is_empty())
    }

    /// The values that are addresses of servers.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        let values = self.0.values().map(String::as_str);
        values.filter(|it| it.starts_with("http://") || it.starts_with("https://"))
    }
}

impl FromIterator<(String, String)> for Variables {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(all: T) -> Variables {
        Variables(all.into_iter().collect())
    }
}

impl std::fmt::Debug for Variables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} variables", self.0.len())
    }
}

impl Settings {
    /// The settings that the resolved values spell. Every name asked for here is a row of
    /// [`SETTINGS`]; a test changes each row and sees the change arrive.
    fn of(values: &Resolved, variables: Variables) -> Settings {
        let named = models(values);
        // `model = "none"` is a name, too: of no model.
        let silent = named.is_empty()
            && values.word("model").is_empty()
            && roles_to_fill(values).next().is_some();
        let by_key = by_key::model(&variables).filter(|_| silent);
        let count = |name| u32::try_from(values.whole(name).unwrap_or(0)).unwrap_or(u32::MAX);
        Settings {
            data_dir: values.path("data_dir"),
            store_url: values.secret("store.url"),
            retention_days: values.whole("retention_days").map(|it| it as u32),
            mcp_over_http: values.word("mcp.transport") == "http",
            agentic_search: values.is_set("mcp.agentic_search"),
            telemetry: Telemetry::of(values),
            cache_dir: values.path("cache_dir"),
            folders: values.list("folders").iter().map(PathBuf::from).collect(),
            globs: values.list("globs").to_vec(),
            allow_net: values.list("allow_net").to_vec(),
            engines: values.list("engines").to_vec(),
            web: Web::of(values),
            contact: values.word("contact").to_owned(),
            judging: Judging {
                model: model_of(values, ModelRole::Judge).or_else(|| {
                    let unnamed = values.word("models.judge").is_empty();
                    by_key.filter(|_| unnamed).map(|it| it.0.to_owned())
                }),
                online: values.is_set("online_evals"),
            },
            models: match by_key {
                Some((spec, _)) => roles_to_fill(values)
                    .map(|role| (role, spec.to_owned()))
                    .collect(),
                None if silent => ModelChoice::Unset,
                None => named.into_iter().collect(),
            },
            endpoints: ModelRole::ALL
                .into_iter()
                .chain([ModelRole::Judge])
                .map(|role| (role, Endpoint::of(values, role)))
                .filter(|it| it.1 != Endpoint::default())
                .collect(),
            models_by_key: by_key.map(|it| it.1),
            embedding: Server::of(values, "embedding"),
            rerank: Server::of(values, "rerank"),
            vectors: Server::of(values, "vectors"),
            model_window: count("model_window"),
            price: values.word("price").to_owned(),
            variables,
            method: Method {
                effort: effort::parse(values.word("effort")).unwrap_or_default(),
                strategy: Strategy::named(values.word("strategy")),
                breadth: count("breadth"),
                depth: count("depth"),
                max_iterations: count("max_iterations"),
                results_per_query: count("results_per_query"),
                urls_per_query: count("urls_per_query"),
                max_initial_search_tasks: count("max_initial_search_tasks"),
                top_m_full_text_sources: count("top_m_full_text_sources"),
                next_k_chunked_sources: count("next_k_chunked_sources"),
                top_n_chunks_per_source: count("top_n_chunks_per_source"),
                max_refinement_iterations: count("max_refinement_iterations"),
                final_report_max_length: count("final_report_max_length"),
                summary_tokens: count("summary_tokens"),
                max_sources: count("max_sources"),
                min_evidence_records: count("min_evidence_records"),
                min_cited_records: count("min_cited_records"),
                min_source_domains: count("min_source_domains"),
                completeness_threshold: values.real("completeness_threshold").unwrap_or(0.0) as f32,
                trust_threshold: values.real("trust_threshold").unwrap_or(1.0) as f32,
                team: Team {
                    max_concurrent_research_units: count("max_concurrent_research_units"),
                    max_researcher_iterations: count("max_researcher_iterations"),
                    max_react_tool_calls: count("max_react_tool_calls"),
                    researcher_search_budget: count("researcher_search_budget"),
                    supervisor_notes_max_bullets: count("supervisor_notes_max_bullets"),
                    supervisor_notes_word_budget: count("supervisor_notes_word_budget"),
                    max_evidence_claims_per_research_unit: count(
                        "max_evidence_claims_per_research_unit",
                    ),
                    max_source_urls_per_claim: count("max_source_urls_per_claim"),
                },
            },
            budget: Budget {
                usd: values
                    .real("budget.usd")
                    .or(by_key.map(|_| by_key::CAP_USD)),
                seconds: values.whole("budget.seconds"),
                calls: values.whole("budget.calls"),
                searches: values.whole("budget.searches"),
                pages: values.whole("budget.pages"),
                tokens: values.whole("budget.tokens"),
            },
            max_document_bytes: values.whole("max_document_bytes").unwrap_or(0),
            pdf_seconds: values.whole("pdf_seconds").unwrap_or(0),
            pdf_memory_bytes: values.whole("pdf_memory_bytes").unwrap_or(0),
            concurrency: values.whole("concurrency").unwrap_or(1) as usize,
            serve: Serve::of(values),
        }
    }

    /// The defaults, with everything that is written kept under `dir`. For tests and evaluations:
    /// nothing of the machine's settings gets in.
    ///
    /// # Errors
    /// Never for an absolute `dir`; the defaults are tested to be valid.
    pub fn defaults_in(dir: &Path) -> Result<Settings> {
        let surroundings = Surroundings {
            cwd: dir.to_owned(),
            env: [
                ("IBID_DATA_DIR".to_owned(), dir.join("data")),
                ("IBID_CACHE_DIR".to_owned(), dir.join("cache")),
                ("XDG_CONFIG_HOME".to_owned(), dir.join("config")),
            ]
            .map(|(name, path)| (name, path.to_string_lossy().into_owned()))
            .into(),
        };
        layers::load(&surroundings, &[]).map(|it| it.settings)
    }
}

/// The model of each role that has one: its own, else the common one.
fn models(values: &Resolved) -> BTreeMap<ModelRole, String> {
    ModelRole::ALL
        .into_iter()
        .filter_map(|role| Some((role, model_of(values, role)?)))
        .collect()
}

/// The roles that are not told to go without a model.
fn roles_to_fill(values: &Resolved) -> impl Iterator<Item = ModelRole> {
    let none = |role: &ModelRole| values.word(&format!("models.{}", role.word())) == "none";
    ModelRole::ALL.into_iter().filter(move |role| !none(role))
}

/// The model of one role, if it has one.
fn model_of(values: &Resolved, role: ModelRole) -> Option<String> {
    let own = values.word(&format!("models.{}", role.word()));
    let spec = if own.is_empty() {
        values.word("model")
    } else {
        own
    };
    (!["", "none"].contains(&spec)).then(|| spec.to_owned())
}
