//! The table of all settings.
use std::sync::LazyLock;

use super::value::SettingKind;

/// One setting, as parsing, `ibid config`, `ibid doctor` and the documentation use it.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Its name in `ibid.toml` and in `ibid config`; a dot separates a table and a key.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: SettingKind,
    /// The default, as in the environment; empty for none.
    pub default: &'static str,
    /// Environment variables that set it besides `IBID_*`.
    pub aliases: &'static [&'static str],
    /// One line of help.
    pub about: &'static str,
}

impl Setting {
    /// Its environment variable: `budget.usd` is `IBID_BUDGET_USD`.
    pub fn env(&self) -> String {
        env_name(self.name)
    }

    /// Its former name, if it was renamed.
    pub(crate) fn former_name(&self) -> Option<&'static str> {
        FORMER_NAMES.iter().find(|names| names.1 == self.name).map(|names| names.0)
    }

    /// The environment variable of its former name, if it was renamed.
    pub(crate) fn former_env(&self) -> Option<String> {
        self.former_name().map(env_name)
    }

    /// The setting with this name or former name; `-` and `_` are equivalent.
    pub fn by_name(name: &str) -> Option<&'static Setting> {
        let name = name.replace('-', "_");
        let renamed = FORMER_NAMES.iter().find(|names| names.0 == name);
        let name = renamed.map_or(name.as_str(), |names| names.1);
        SETTINGS.iter().find(|setting| setting.name == name)
    }
}

/// Former names of settings, which still work, and the present ones.
const FORMER_NAMES: &[(&str, &str)] = &[
    ("serve.aside_each", "serve.waiting_each"),
    ("serve.patience_seconds", "serve.input_seconds"),
    ("serve.keep_days", "serve.retention_days"),
    ("telemetry.every_ms", "telemetry.interval_ms"),
];

fn env_name(name: &str) -> String {
    format!("IBID_{}", name.replace('.', "_").to_uppercase())
}

/// The default of a directory that depends on the machine; see [`super::layers`].
const XDG_DEFAULT: &str = "";

const fn setting(
    name: &'static str,
    kind: SettingKind,
    default: &'static str,
    aliases: &'static [&'static str],
    about: &'static str,
) -> Setting {
    Setting { name, kind, default, aliases, about }
}

/// Every setting, in the order people read them.
pub static SETTINGS: LazyLock<Vec<Setting>> =
    LazyLock::new(|| [BEFORE_ROLES, OF_ROLES.as_flattened(), AFTER_ROLES].concat());

#[rustfmt::skip]
const BEFORE_ROLES: &[Setting] = &[
    setting("folders", SettingKind::Paths, "", &["DOC_PATH"],
        "Folders to search in every run, besides those of `--folder`"),
    setting("globs", SettingKind::List, "", &[],
        "Gitignore-style patterns of files to exclude; a leading `!` includes"),
    setting("allow_net", SettingKind::List, "", &[],
        "Blocks of non-public addresses that may be reached, as in `127.0.0.0/8`, for search engines and readers of your own"),
    setting("engines", SettingKind::List, "auto", &["SEARCH_PROVIDER"],
        "Search engines, in the order in which they are searched: names from `ibid engines`, `web`, `news`, `scholar`, `auto` or `none`; `auto` is every ready engine, or none when folders are named"),
    setting("readers", SettingKind::List, "auto", &[],
        "Page readers, in the order in which they are tried: `embedded`, `steel`, `crawl4ai`, `firecrawl`, `jina`, `chromium`, `given` (the text that the engine returned); `auto` is `embedded`, then the servers whose key or address is set, then `given`"),
    setting("chromium", SettingKind::Text, "", &[],
        "Program of the reader `chromium`; if unset, a Chromium or Chrome on the search path"),
    setting("robots", SettingKind::Bool, "true", &[],
        "Whether to obey robots.txt, as the user agent `ibid`"),
    setting("lookups", SettingKind::Bool, "true", &[],
        "Whether to look up papers without an open text at Crossref, OpenAlex, Unpaywall and PubMed Central, for an open copy and for retractions"),
    setting("host_requests", SettingKind::Int(1, 16), "2", &[],
        "Concurrent requests to one web host"),
    setting("host_pace_ms", SettingKind::Int(0, 60_000), "200", &[],
        "Minimum time between two requests to one web host, milliseconds; robots.txt may ask for up to 10 seconds"),
    setting("page_cache_hours", SettingKind::Int(0, 8760), "24", &[],
        "How long a cached page is used without a request, hours; older ones are revalidated; 0 disables the cache"),
    setting("search_cache_hours", SettingKind::Int(0, 8760), "6", &[],
        "How long cached results are used, hours: search results (also for a query with the same content words), the planner's answers, and the sources of a run with nearly the same question; 0 disables the cache"),
    setting("web_cache_bytes", SettingKind::Int(1 << 20, 1 << 40), "536870912", &[],
        "Size limit of the web cache `web.db`, bytes; the least recently used entries are removed first"),
    setting("fresh", SettingKind::Bool, "false", &[],
        "Whether to ignore cached pages and results, as with `--fresh`"),
    setting("contact", SettingKind::Text, "", &["CROSSREF_EMAIL", "UNPAYWALL_EMAIL"],
        "E-mail address or web page at which services can reach you; sent to services that ask for one, and to the sites that are read"),
    setting("model", SettingKind::Text, "", &[],
        "Language model of every role without a model of its own, as `provider:model`, or `none`; if unset, the provider whose key is set decides"),
    setting("models.planner", SettingKind::Text, "", &["ORCHESTRATOR_MODEL"],
        "Model that interprets the question and makes the plan"),
    setting("models.researcher", SettingKind::Text, "", &["SUBAGENT_MODEL"],
        "Model that decides what to search for next"),
    setting("models.summarizer", SettingKind::Text, "", &["SUBAGENT_MODEL"],
        "Model that reads pages"),
    setting("models.writer", SettingKind::Text, "", &["ORCHESTRATOR_MODEL"],
        "Model that writes the report"),
    setting("models.verifier", SettingKind::Text, "", &[],
        "Model that checks the report"),
    setting("models.judge", SettingKind::Text, "", &["EVAL_MODEL"],
        "Model that judges finished runs, for `ibid judge` and `online_evals`; it takes no part in a run"),
];

/// The settings of the model of one role.
macro_rules! model_of_role {
    ($role:literal) => {
        [
            setting(concat!("models.", $role, ".base_url"), SettingKind::Text, "", &[],
                concat!("Base URL of the ", $role, "'s model, if not the provider's")),
            setting(concat!("models.", $role, ".api_key_env"), SettingKind::Text, "", &[],
                concat!("Variable that holds the key of the ", $role, "'s model, if not the provider's")),
            setting(concat!("models.", $role, ".max_context"), SettingKind::OptionalInt(2048, 10_000_000), "none", &[],
                concat!("Context window of the ", $role, "'s model, tokens of prompt and answer together; if unset, `model_window`")),
            setting(concat!("models.", $role, ".price"), SettingKind::Text, "", &[],
                concat!("Price of the ", $role, "'s model, in the form of `price`")),
            setting(concat!("models.", $role, ".reasoning"), SettingKind::OneOf(super::effort::REASONING), "auto", &[],
                concat!("How much the ", $role, "'s model reasons before it answers; `auto` is low for judgements and medium for plans and reports")),
        ]
    };
}

#[rustfmt::skip]
const OF_ROLES: &[[Setting; 5]] = &[
    model_of_role!("planner"), model_of_role!("researcher"), model_of_role!("summarizer"),
    model_of_role!("writer"), model_of_role!("verifier"), model_of_role!("judge"),
];

#[rustfmt::skip]
const AFTER_ROLES: &[Setting] = &[
    setting("embedding.model", SettingKind::Text, "", &[],
        "Embedding model, for search and ranking by meaning: `local:DIR` with the files of a small BERT, `provider:model`, or `none`; if unset, the model that comes with Ibid"),
    setting("models_dir", SettingKind::Text, "", &[],
        "Directory of embedding models, also of those that `ibid models get` installs; if unset, they are installed in `models` in `data_dir`, and the one that comes with Ibid is looked for beside the program, in the clone that it was built in and in `../share/ibid/models`"),
    setting("embedding.base_url", SettingKind::Text, "", &["OPENAI_EMBEDDING_BASE_URL"],
        "Base URL of the embedding server, if not the provider's"),
    setting("embedding.api_key_env", SettingKind::Text, "", &[],
        "Variable that holds the key of the embedding server, if not the provider's"),
    setting("rerank.model", SettingKind::Text, "", &[],
        "Reranker: `cohere:MODEL`, `jina:MODEL`, `infinity:MODEL`, `tei` or `none`; if unset, words decide, vectors if there is an embedding model, and the cross-encoder that comes with Ibid reads sentences"),
    setting("rerank.base_url", SettingKind::Text, "", &[],
        "Base URL of the reranker, if not the provider's"),
    setting("rerank.api_key_env", SettingKind::Text, "", &[],
        "Variable that holds the key of the reranker, if not the provider's"),
    setting("vectors.max_passages", SettingKind::Int(0, 10_000_000), "50000", &[],
        "The most passages of a folder that get vectors; in a larger folder, meaning ranks the first 200 passages that the words find"),
    setting("vectors.base_url", SettingKind::Text, "", &["QDRANT_URL"],
        "Address of a Qdrant server that stores the vectors; if unset, they are stored in `cache_dir`"),
    setting("vectors.api_key_env", SettingKind::Text, "QDRANT_API_KEY", &[],
        "Variable that holds the key of Qdrant, if it needs one"),
    setting("model_window", SettingKind::Int(2048, 10_000_000), "16384", &[],
        "Context window of the models: tokens of prompt and answer together"),
    setting("effort", SettingKind::OneOf(super::effort::WORDS), "standard", &[],
        "How much work to spend on a question; sets breadth, depth, results and budget where they are not set explicitly"),
    setting("strategy", SettingKind::OneOf(super::effort::STRATEGIES), "auto", &[],
        "How evidence is gathered: `checklist`, `planned`, `supervisor` or `coverage`; `auto` depends on the effort"),
    setting("breadth", SettingKind::Int(2, 10), "4", &[],
        "Queries for each open item of the checklist in a round, at most: all of them to folders, half of them and at least two to the web; after the first round at most 3"),
    setting("depth", SettingKind::Int(1, 5), "2", &[],
        "Rounds of searching, reading and weighing"),
    setting("max_iterations", SettingKind::Int(1, 100), "10", &[],
        "Maximum number of rounds, whatever the depth; where it is set and `depth` is not, the number of rounds, up to 12"),
    setting("results_per_query", SettingKind::Int(1, 100), "10", &[],
        "Hits requested for each query"),
    setting("urls_per_query", SettingKind::Int(1, 50), "5", &[],
        "Pages read for each query of a round, at most"),
    setting("max_initial_search_tasks", SettingKind::Int(1, 10), "3", &[],
        "Searches in the first plan, with the strategy `planned`"),
    setting("top_m_full_text_sources", SettingKind::Int(0, 50), "3", &[],
        "Sources of a round that are weighed in full; with a model, those that it reads whatever their relevance"),
    setting("next_k_chunked_sources", SettingKind::Int(0, 50), "4", &[],
        "Further sources that are used by their best passages, with the strategy `planned`; other strategies use all"),
    setting("top_n_chunks_per_source", SettingKind::Int(1, 100), "15", &[],
        "Passages weighed of each further source"),
    setting("max_refinement_iterations", SettingKind::Int(0, 10), "2", &[],
        "Rounds after the first draft for what it lacks; without a model, for items that are still open"),
    setting("drafts", SettingKind::Int(1, 5), "1", &[],
        "Drafts of each section, which a verifier merges into one; only with a model"),
    setting("critique_rounds", SettingKind::Int(0, 2), "0", &[],
        "Rounds in which a model criticizes the draft in three calls side by side; checks by code always run"),
    setting("final_report_max_length", SettingKind::Int(0, 1_000_000), "0", &[],
        "Length of the report, tokens; 0 for no limit"),
    setting("summary_tokens", SettingKind::Int(100, 1000), "500", &[],
        "Length of the summary of a page, tokens"),
    setting("max_sources", SettingKind::Int(1, 500), "20", &[],
        "Sources kept for writing"),
    setting("min_evidence_records", SettingKind::Int(0, 1000), "5", &["MIN_EVIDENCE_RECORDS"],
        "Evidence records that the evidence gate requires before research ends"),
    setting("min_cited_records", SettingKind::Int(0, 1000), "5", &[],
        "Cited evidence records that the gate requires"),
    setting("min_source_domains", SettingKind::Int(0, 100), "3", &["MIN_SOURCE_DOMAINS"],
        "Distinct domains that the gate requires"),
    setting("completeness_threshold", SettingKind::Float(0.0, 1.0), "0.7", &[],
        "Share of the checklist that must be covered"),
    setting("trust_threshold", SettingKind::Float(0.0, 1.0), "1", &[],
        "Mean trust of the cited sources from which research may end with items partly open; 1 for never"),
    setting("max_concurrent_research_units", SettingKind::Int(1, 16), "4", &["MAX_CONCURRENT_RESEARCH_UNITS"],
        "Concurrent researchers of a supervisor"),
    setting("max_researcher_iterations", SettingKind::Int(1, 1000), "60", &["MAX_RESEARCHER_ITERATIONS"],
        "Researchers that a supervisor starts in total"),
    setting("max_react_tool_calls", SettingKind::Int(1, 1000), "40", &["MAX_REACT_TOOL_CALLS"],
        "Searches and reads that a researcher is told to stay within; it is stopped one after"),
    setting("researcher_search_budget", SettingKind::Int(1, 1000), "15", &["RESEARCHER_SEARCH_BUDGET"],
        "Searches that a researcher is told to stay within; further ones are not sent"),
    setting("supervisor_notes_max_bullets", SettingKind::Int(1, 1000), "40", &["SUPERVISOR_NOTES_MAX_BULLETS"],
        "Bullets of notes that a supervisor gets"),
    setting("supervisor_notes_word_budget", SettingKind::Int(50, 100_000), "1200", &["SUPERVISOR_NOTES_WORD_BUDGET"],
        "Words of notes that a supervisor gets"),
    setting("max_evidence_claims_per_research_unit", SettingKind::Int(1, 100), "5", &["MAX_EVIDENCE_CLAIMS_PER_RESEARCH_UNIT"],
        "Claims kept from each researcher"),
    setting("max_source_urls_per_claim", SettingKind::Int(1, 100), "5", &["MAX_SOURCE_URLS_PER_CLAIM"],
        "Sources kept for each claim of a researcher"),
    setting("budget.usd", SettingKind::OptionalFloat(0.0, 100_000.0), "none", &[],
        "Money that a run may spend, US dollars; only models cost money. If unset, a model that was chosen by a key alone is limited to $1"),
    setting("budget.seconds", SettingKind::OptionalInt(1, 604_800), "600", &[],
        "Time that a run may take, seconds; the report is then written from the evidence so far. If unset, ten times that of the effort with a model on this machine"),
    setting("budget.calls", SettingKind::OptionalInt(1, 1_000_000), "110", &[],
        "Searches and page reads that a run may make, together"),
    setting("budget.searches", SettingKind::OptionalInt(1, 1_000_000), "none", &[],
        "Searches that a run may make"),
    setting("budget.pages", SettingKind::OptionalInt(1, 1_000_000), "none", &[],
        "Pages that a run may read"),
    setting("budget.tokens", SettingKind::OptionalInt(1, 1_000_000_000_000), "none", &[],
        "Tokens that a run may use, input and output together"),
    setting("model_table", SettingKind::Text, "", &[],
        "File with prices and capabilities of models, in the form of `models.toml`; its rows take precedence over those of Ibid"),
    setting("price", SettingKind::Text, "", &[],
        "Price of the models, US dollars per million tokens of input and of output, as in `0.5/1.5`; if unset, the list price"),
    setting("online_evals", SettingKind::Bool, "false", &["ENABLE_ONLINE_EVALS"],
        "Whether to judge each run when its report is ready, within the rest of its budget"),
    setting("concurrency", SettingKind::Int(1, 256), "16", &["FIRECRAWL_CONCURRENCY"],
        "Concurrent searches and reads over all engines and hosts, besides the limits of each"),
    setting("model_concurrency", SettingKind::Int(1, 10_000), "32", &[],
        "Concurrent calls to models with one key; servers that share a PostgreSQL store share them"),
    setting("model_tokens_per_minute", SettingKind::OptionalInt(1_000, 1_000_000_000), "none", &[],
        "Tokens, prompts and answers together, of the calls to models that start within any minute with one key; servers that share a PostgreSQL store share them"),
    setting("serve.addr", SettingKind::Text, "127.0.0.1:7700", &["IBID_ADDR"],
        "Address and port that `ibid serve` listens on; any but loopback requires a token"),
    setting("serve.hosts", SettingKind::List, "", &[],
        "Host names that the server accepts, as `ibid.example.org`, at any port unless one is given; its own address and, on loopback, localhost are always accepted"),
    setting("serve.token_env", SettingKind::Text, "IBID_TOKEN", &[],
        "Variable that holds the operator's token; it gives access to the runs of all users"),
    setting("serve.webhook_secret_env", SettingKind::Text, "IBID_WEBHOOK_SECRET", &[],
        "Variable that holds the signing key of webhooks; without it none are sent"),
    setting("serve.models", SettingKind::List, "", &[],
        "Models that callers may choose besides the configured ones, as `provider:model`"),
    setting("serve.concurrency", SettingKind::Int(1, 10_000), "4", &[],
        "Runs that the server works on at the same time"),
    setting("serve.queue", SettingKind::Int(0, 1_000_000), "100", &[],
        "Runs that may wait in the queue; further ones get status 429"),
    setting("serve.queue_each", SettingKind::Int(1, 1_000_000), "50", &[],
        "Runs of one user that may wait in the queue"),
    setting("serve.waiting_each", SettingKind::Int(1, 1_000_000), "10", &[],
        "Runs of one user that may wait for approval or for an answer; further questions that ask for either get status 429"),
    setting("serve.requests_each", SettingKind::Int(1, 100_000), "128", &[],
        "Open requests and streams of one user; further ones get status 429. The operator has no limit"),
    setting("serve.input_seconds", SettingKind::Int(1, 86_400), "60", &[],
        "How long a run may wait for approval or for an answer before its place goes to another run; it continues when the user responds"),
    setting("serve.retention_days", SettingKind::OptionalInt(1, 36_500), "none", &[],
        "Days after their end at which a running server deletes runs; it checks every hour and writes each purge to the audit log"),
    setting("serve.connections", SettingKind::Int(1, 100_000), "1024", &[],
        "Open connections; further ones wait"),
    setting("serve.connections_per_address", SettingKind::Int(1, 100_000), "256", &[],
        "Open connections from one address without a valid token; further ones are closed"),
    setting("serve.proxies", SettingKind::List, "127.0.0.1, ::1", &[],
        "Addresses of proxies in front of the server, which many users share: `serve.connections_per_address` does not apply to them"),
    setting("serve.body_seconds", SettingKind::Int(1, 3_600), "20", &[],
        "Timeout of a request body, seconds"),
    setting("serve.max_body_bytes", SettingKind::Int(1024, 1 << 30), "1048576", &[],
        "Largest request body, bytes"),
    setting("serve.fleet", SettingKind::Bool, "false", &[],
        "Whether the server shares the queue of its runs with others through Temporal, as with `--fleet`; it needs `store.url`"),
    setting("fleet.address", SettingKind::Text, "http://127.0.0.1:7233", &["TEMPORAL_ADDRESS"],
        "Address of Temporal; `https` for TLS"),
    setting("fleet.namespace", SettingKind::Text, "default", &["TEMPORAL_NAMESPACE"],
        "Namespace in Temporal, which must exist"),
    setting("fleet.task_queue", SettingKind::Text, "ibid", &[],
        "Task queue in Temporal; the servers that have the same one and the same `store.url` are a fleet"),
    setting("fleet.api_key_env", SettingKind::Text, "TEMPORAL_API_KEY", &[],
        "Variable that holds the API key of Temporal, if it asks for one"),
    setting("fleet.root_certificates", SettingKind::Text, "", &["TEMPORAL_TLS_SERVER_CA_CERT_PATH"],
        "PEM file of certificate authorities for Temporal; if unset, those of the system"),
    setting("mcp.transport", SettingKind::OneOf(&[("stdio", "stdio"), ("http", "http")]), "stdio", &["TRANSPORT"],
        "Transport of `ibid mcp`: stdin and stdout, or HTTP at `serve.addr`, which is the same as `ibid serve`"),
    setting("mcp.agentic_search", SettingKind::Bool, "true", &["AGENTIC_SEARCH_ENABLED"],
        "Whether the MCP server has the tool `agentic_search`"),
    setting("telemetry.endpoint", SettingKind::Text, "", &["OTEL_EXPORTER_OTLP_ENDPOINT"],
        "OTLP endpoint of traces and metrics, as in `http://localhost:4318`; `/v1/traces` and `/v1/metrics` are appended. If unset, nothing is exported unless the variables of Langfuse or Phoenix are set"),
    setting("telemetry.traces_endpoint", SettingKind::Text, "", &["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"],
        "Endpoint of traces, the whole URL"),
    setting("telemetry.metrics_endpoint", SettingKind::Text, "", &["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"],
        "Endpoint of metrics, the whole URL"),
    setting("telemetry.headers", SettingKind::Secret, "", &["OTEL_EXPORTER_OTLP_HEADERS"],
        "Request headers, `name=value` separated by commas, percent-encoded; never shown"),
    setting("telemetry.protocol", SettingKind::Text, "http/protobuf", &["OTEL_EXPORTER_OTLP_PROTOCOL"],
        "Protocol of the export; only `http/protobuf` is supported"),
    setting("telemetry.timeout_ms", SettingKind::Int(1, 600_000), "5000", &["OTEL_EXPORTER_OTLP_TIMEOUT"],
        "Timeout of an export, milliseconds; the end of a run waits for it"),
    setting("telemetry.interval_ms", SettingKind::Int(100, 86_400_000), "60000", &["OTEL_METRIC_EXPORT_INTERVAL"],
        "How often `ibid serve` exports its metrics, milliseconds"),
    setting("telemetry.service", SettingKind::Text, "ibid", &["OTEL_SERVICE_NAME"],
        "Service name"),
    setting("telemetry.resource", SettingKind::Text, "", &["OTEL_RESOURCE_ATTRIBUTES"],
        "Resource attributes, `key=value` separated by commas"),
    setting("telemetry.sampler", SettingKind::Text, "parentbased_always_on", &["OTEL_TRACES_SAMPLER"],
        "Sampler of runs: `always_on`, `always_off`, `traceidratio`, or one of these after `parentbased_`"),
    setting("telemetry.sampler_arg", SettingKind::Text, "", &["OTEL_TRACES_SAMPLER_ARG"],
        "Share of runs for `traceidratio`, 0 to 1"),
    setting("telemetry.content", SettingKind::Bool, "false", &["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"],
        "Whether to export questions, queries, prompts and answers"),
    setting("telemetry.conventions", SettingKind::Text, "", &["OTEL_SEMCONV_STABILITY_OPT_IN"],
        "`gen_ai_latest_experimental` for the latest names of the semantic conventions"),
    setting("telemetry.disabled", SettingKind::Bool, "false", &["OTEL_SDK_DISABLED"],
        "Whether to export nothing, whatever else is set"),
    setting("max_document_bytes", SettingKind::Int(1024, 1 << 32), "33554432", &[],
        "Largest document that is read, bytes"),
    setting("pdf_seconds", SettingKind::Int(1, 3600), "20", &[],
        "Time limit of a fetched document, or of a PDF, DOCX or EPUB, seconds"),
    setting("pdf_memory_bytes", SettingKind::Int(64 << 20, 1 << 36), "536870912", &[],
        "Memory limit of the process that parses it, bytes"),
    setting("data_dir", SettingKind::Path, XDG_DEFAULT, &[],
        "Directory of the runs (`ibid.db`); if unset, `$XDG_DATA_HOME/ibid`"),
    setting("store.url", SettingKind::Secret, "", &["DATABASE_URL"],
        "PostgreSQL server that stores runs instead, for many users or machines: `postgres://user:password@host/database`; never shown"),
    setting("store.pooler_url", SettingKind::Secret, "", &[],
        "PgBouncer in transaction mode before that server, as `postgres://user:password@host:6432/database`: reads and writes go through it; locks, notifications and migrations go to `store.url`"),
    setting("pages.url", SettingKind::Text, "", &[],
        "Object store for the text of pages, as `s3://bucket/prefix`, `gs://bucket/prefix`, `az://container/prefix` or `file:///directory`; if unset, pages are in the database"),
    setting("retention_days", SettingKind::OptionalInt(1, 36_500), "none", &[],
        "Days for which runs are kept after their end; `ibid admin purge` deletes older ones"),
    setting("cache_dir", SettingKind::Path, XDG_DEFAULT, &[],
        "Directory of folder indexes, vectors and the web cache; if unset, `$XDG_CACHE_HOME/ibid`"),
];

/// The settings as a Markdown table, for the documentation.
pub fn markdown_table() -> String {
    use std::fmt::Write as _;
    let mut out = String::from(
        "| setting | default | values | variable | what it is |\n| --- | --- | --- | --- | --- |\n",
    );
    for it in SETTINGS.iter() {
        let variables: Vec<String> = std::iter::once(it.env())
            .chain(it.aliases.iter().map(|alias| (*alias).to_owned()))
            .map(|it| format!("`{it}`"))
            .collect();
        let default =
            if it.default.is_empty() { String::new() } else { format!("`{}`", it.default) };
        let _ = writeln!(
            out,
            "| `{}` | {default} | {} | {} | {} |",
            it.name,
            it.kind.bounds(),
            variables.join(", "),
            it.about
        );
    }
    out
}
