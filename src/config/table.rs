//! The one list of settings.
use super::value::Kind;

/// One setting: all that parsing, `ibid config`, the documentation and `doctor` need to know of it.
#[derive(Debug)]
pub struct Setting {
    /// Its name in `ibid.toml` and for `ibid config`; a dot is a table.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// The default, written as in the environment; empty is none.
    pub default: &'static str,
    /// Other environment variables that set it, besides `IBID_*`.
    pub aliases: &'static [&'static str],
    /// One line for people.
    pub about: &'static str,
}

impl Setting {
    /// Its environment variable: `budget.usd` is `IBID_BUDGET_USD`.
    pub fn env(&self) -> String {
        format!("IBID_{}", self.name.replace('.', "_").to_uppercase())
    }

    /// The setting of this name; `-` and `_` are the same, as in flags.
    pub fn named(name: &str) -> Option<&'static Setting> {
        let name = name.replace('-', "_");
        SETTINGS.iter().find(|it| it.name == name)
    }
}

/// The directories whose defaults depend on the machine; see [`super::layers`].
const BY_XDG: &str = "";

const fn setting(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    aliases: &'static [&'static str],
    about: &'static str,
) -> Setting {
    Setting {
        name,
        kind,
        default,
        aliases,
        about,
    }
}

/// Every setting, in the order people read them.
#[rustfmt::skip]
pub static SETTINGS: &[Setting] = &[
    setting("folders", Kind::Paths, "", &["DOC_PATH"],
        "Folders that are always searched, besides those of `--folder`"),
    setting("globs", Kind::Words, "", &[],
        "Gitignore-style patterns of files to leave out; a leading `!` takes back in"),
    setting("allow_net", Kind::Words, "", &[],
        "Blocks of addresses that may be reached though they are not of the open web, as `127.0.0.0/8`: for search engines and readers of your own"),
    setting("engines", Kind::Words, "auto", &["SEARCH_PROVIDER"],
        "Search engines outside, in the order they are asked: names as `ibid engines` lists them, `web`, `news`, `scholar`, `auto` or `none`; `auto` is every engine that is ready, and none where folders are named"),
    setting("readers", Kind::Words, "auto", &[],
        "Who reads what engines find, in the order they try: `embedded`, `steel`, `crawl4ai`, `firecrawl`, `jina`, `chromium`, `given` (what the engine itself gave); `auto` is `embedded`, then the servers whose key or address is set, then `given`"),
    setting("chromium", Kind::Text, "", &[],
        "Program of the reader `chromium`; unset, a Chromium or Chrome on the search path"),
    setting("robots", Kind::Bool, "true", &[],
        "Whether robots.txt is asked for and heeded; it speaks to us as `ibid`"),
    setting("lookups", Kind::Bool, "true", &[],
        "Whether Crossref, OpenAlex, Unpaywall and PubMed Central are asked about papers that engines find without an open text: where one is, and whether the paper was retracted"),
    setting("host_requests", Kind::Whole(1, 16), "2", &[],
        "Requests to one host of the web at once"),
    setting("host_pace_ms", Kind::Whole(0, 60_000), "200", &[],
        "Least time between two requests to one host of the web, milliseconds; robots.txt may ask for up to 10 seconds"),
    setting("page_cache_hours", Kind::Whole(0, 8760), "24", &[],
        "How long a page that was read is used again without asking for it, hours; older ones are asked about; 0 keeps none"),
    setting("search_cache_hours", Kind::Whole(0, 8760), "6", &[],
        "How long an engine's answer is used again, also for a question with the same words of meaning, and how a model understood and planned a question, hours; 0 keeps none"),
    setting("web_cache_bytes", Kind::Whole(1 << 20, 1 << 40), "536870912", &[],
        "Most that pages and answers take in `web.db`, bytes; what was not used for longest goes first"),
    setting("fresh", Kind::Bool, "false", &[],
        "Whether pages and answers of earlier runs are left alone and all is asked for anew, as with `--fresh`"),
    setting("contact", Kind::Text, "", &["CROSSREF_EMAIL", "UNPAYWALL_EMAIL"],
        "E-mail address or page by which services can reach you; told to those that ask for one, and to sites that are read"),
    setting("model", Kind::Text, "", &[],
        "Language model for every role that names none of its own, as `provider:model`, or `none`; unset, the key of a provider that is set chooses one"),
    setting("models.planner", Kind::Text, "", &["ORCHESTRATOR_MODEL"],
        "Model that understands the question and makes the plan"),
    setting("models.researcher", Kind::Text, "", &["SUBAGENT_MODEL"],
        "Model that says what to search for next"),
    setting("models.summarizer", Kind::Text, "", &["SUBAGENT_MODEL"],
        "Model that reads pages"),
    setting("models.writer", Kind::Text, "", &["ORCHESTRATOR_MODEL"],
        "Model that writes"),
    setting("models.verifier", Kind::Text, "", &[],
        "Model that checks what was written"),
    setting("models.judge", Kind::Text, "", &["EVAL_MODEL"],
        "Model that judges finished runs, for `ibid judge` and `online_evals`; it takes no part in a run"),
    setting("models.planner.base_url", Kind::Text, "", &[],
        "Address of the planner's server, where it has one of its own"),
    setting("models.planner.api_key_env", Kind::Text, "", &[],
        "Variable that holds the planner's key, where it has one of its own"),
    setting("models.planner.max_context", Kind::MaybeWhole(2048, 10_000_000), "none", &[],
        "Tokens of prompt and answer together that the planner takes; `model_window` without"),
    setting("models.planner.price", Kind::Text, "", &[],
        "Price of the planner, as `price` writes it"),
    setting("models.researcher.base_url", Kind::Text, "", &[],
        "Address of the researcher's server, where it has one of its own"),
    setting("models.researcher.api_key_env", Kind::Text, "", &[],
        "Variable that holds the researcher's key, where it has one of its own"),
    setting("models.researcher.max_context", Kind::MaybeWhole(2048, 10_000_000), "none", &[],
        "Tokens of prompt and answer together that the researcher takes; `model_window` without"),
    setting("models.researcher.price", Kind::Text, "", &[],
        "Price of the researcher, as `price` writes it"),
    setting("models.summarizer.base_url", Kind::Text, "", &[],
        "Address of the summarizer's server, where it has one of its own"),
    setting("models.summarizer.api_key_env", Kind::Text, "", &[],
        "Variable that holds the summarizer's key, where it has one of its own"),
    setting("models.summarizer.max_context", Kind::MaybeWhole(2048, 10_000_000), "none", &[],
        "Tokens of prompt and answer together that the summarizer takes; `model_window` without"),
    setting("models.summarizer.price", Kind::Text, "", &[],
        "Price of the summarizer, as `price` writes it"),
    setting("models.writer.base_url", Kind::Text, "", &[],
        "Address of the writer's server, where it has one of its own"),
    setting("models.writer.api_key_env", Kind::Text, "", &[],
        "Variable that holds the writer's key, where it has one of its own"),
    setting("models.writer.max_context", Kind::MaybeWhole(2048, 10_000_000), "none", &[],
        "Tokens of prompt and answer together that the writer takes; `model_window` without"),
    setting("models.writer.price", Kind::Text, "", &[],
        "Price of the writer, as `price` writes it"),
    setting("models.verifier.base_url", Kind::Text, "", &[],
        "Address of the verifier's server, where it has one of its own"),
    setting("models.verifier.api_key_env", Kind::Text, "", &[],
        "Variable that holds the verifier's key, where it has one of its own"),
    setting("models.verifier.max_context", Kind::MaybeWhole(2048, 10_000_000), "none", &[],
        "Tokens of prompt and answer together that the verifier takes; `model_window` without"),
    setting("models.verifier.price", Kind::Text, "", &[],
        "Price of the verifier, as `price` writes it"),
    setting("models.judge.base_url", Kind::Text, "", &[],
        "Address of the judge's server, where it has one of its own"),
    setting("models.judge.api_key_env", Kind::Text, "", &[],
        "Variable that holds the judge's key, where it has one of its own"),
    setting("models.judge.max_context", Kind::MaybeWhole(2048, 10_000_000), "none", &[],
        "Tokens of prompt and answer together that the judge takes; `model_window` without"),
    setting("models.judge.price", Kind::Text, "", &[],
        "Price of the judge, as `price` writes it"),
    setting("embedding.model", Kind::Text, "", &[],
        "Model that turns passages into vectors, so that folders are found by meaning too: `local:DIR` with the files of a small BERT, or `provider:model`"),
    setting("embedding.base_url", Kind::Text, "", &["OPENAI_EMBEDDING_BASE_URL"],
        "Address of the embedding server, where it has one of its own"),
    setting("embedding.api_key_env", Kind::Text, "", &[],
        "Variable that holds the embedding server's key, where it has one of its own"),
    setting("rerank.model", Kind::Text, "", &[],
        "Who puts what was found in order: `cohere:MODEL`, `jina:MODEL`, `infinity:MODEL` or `tei`; unset, words (and vectors, with an embedding model) decide"),
    setting("rerank.base_url", Kind::Text, "", &[],
        "Address of the reranker, where it has one of its own"),
    setting("rerank.api_key_env", Kind::Text, "", &[],
        "Variable that holds the reranker's key, where it has one of its own"),
    setting("vectors.base_url", Kind::Text, "", &["QDRANT_URL"],
        "Address of a Qdrant that keeps the vectors; unset, they are kept in `cache_dir`"),
    setting("vectors.api_key_env", Kind::Text, "QDRANT_API_KEY", &[],
        "Variable that holds Qdrant's key, where it needs one"),
    setting("model_window", Kind::Whole(2048, 10_000_000), "16384", &[],
        "Tokens of prompt and answer together that the models take"),
    setting("effort", Kind::OneOf(super::effort::WORDS), "standard", &[],
        "How much work a question is worth; sets breadth, depth, results and budget where nothing nearer does"),
    setting("strategy", Kind::OneOf(super::effort::STRATEGIES), "auto", &[],
        "How evidence is gathered: `checklist`, `planned`, `supervisor` or `coverage`; `auto` goes by the effort"),
    setting("breadth", Kind::Whole(2, 10), "4", &[],
        "Queries for each item of the checklist that is open, at most, in a round; of rounds after the first at most 3"),
    setting("depth", Kind::Whole(1, 5), "2", &[],
        "Rounds of search, read and weigh"),
    setting("max_iterations", Kind::Whole(1, 100), "10", &[],
        "Upper bound on rounds, whatever the depth"),
    setting("results_per_query", Kind::Whole(1, 100), "10", &[],
        "Hits asked of each query"),
    setting("urls_per_query", Kind::Whole(1, 50), "5", &[],
        "Pages read for each query of a round, at most"),
    setting("max_initial_search_tasks", Kind::Whole(1, 10), "3", &[],
        "Searches of the first plan, where the strategy is `planned`"),
    setting("top_m_full_text_sources", Kind::Whole(0, 50), "3", &[],
        "Sources of a round that are weighed whole; with a model, those it reads whatever their words promise"),
    setting("next_k_chunked_sources", Kind::Whole(0, 50), "4", &[],
        "Further sources used by their best passages, where the strategy is `planned`; elsewhere all are"),
    setting("top_n_chunks_per_source", Kind::Whole(1, 100), "15", &[],
        "Passages weighed of each further source"),
    setting("max_refinement_iterations", Kind::Whole(0, 10), "2", &[],
        "Rounds of refinement after the first draft; only with a model"),
    setting("final_report_max_length", Kind::Whole(0, 1_000_000), "0", &[],
        "Length of the report in tokens; 0 is no limit"),
    setting("summary_tokens", Kind::Whole(100, 1000), "500", &[],
        "Length of a page's summary in tokens"),
    setting("max_sources", Kind::Whole(1, 500), "20", &[],
        "Sources kept for writing"),
    setting("min_evidence_records", Kind::Whole(0, 1000), "5", &["MIN_EVIDENCE_RECORDS"],
        "Evidence the gate asks for before research may end"),
    setting("min_cited_records", Kind::Whole(0, 1000), "5", &[],
        "Cited evidence the gate asks for"),
    setting("min_source_domains", Kind::Whole(0, 100), "3", &["MIN_SOURCE_DOMAINS"],
        "Distinct domains the gate asks for"),
    setting("completeness_threshold", Kind::Real(0.0, 1.0), "0.7", &[],
        "Share of the checklist that must be covered"),
    setting("trust_threshold", Kind::Real(0.0, 1.0), "1", &[],
        "Mean trust of the sources of the evidence from which research may end though something is partly open; 1 is never"),
    setting("max_concurrent_research_units", Kind::Whole(1, 16), "4", &["MAX_CONCURRENT_RESEARCH_UNITS"],
        "Researchers that a supervisor has at work at once"),
    setting("max_researcher_iterations", Kind::Whole(1, 1000), "60", &["MAX_RESEARCHER_ITERATIONS"],
        "Researchers that a supervisor sends out in all"),
    setting("max_react_tool_calls", Kind::Whole(1, 1000), "40", &["MAX_REACT_TOOL_CALLS"],
        "Searches and reads that a researcher is told to keep to; it is stopped one after"),
    setting("researcher_search_budget", Kind::Whole(1, 1000), "15", &["RESEARCHER_SEARCH_BUDGET"],
        "Searches that a researcher is told to keep to; further ones are not sent"),
    setting("supervisor_notes_max_bullets", Kind::Whole(1, 1000), "40", &["SUPERVISOR_NOTES_MAX_BULLETS"],
        "Bullets of notes that a supervisor is shown"),
    setting("supervisor_notes_word_budget", Kind::Whole(50, 100_000), "1200", &["SUPERVISOR_NOTES_WORD_BUDGET"],
        "Words of notes that a supervisor is shown"),
    setting("max_evidence_claims_per_research_unit", Kind::Whole(1, 100), "5", &["MAX_EVIDENCE_CLAIMS_PER_RESEARCH_UNIT"],
        "Claims kept of a researcher"),
    setting("max_source_urls_per_claim", Kind::Whole(1, 100), "5", &["MAX_SOURCE_URLS_PER_CLAIM"],
        "Sources kept of each claim of a researcher"),
    setting("budget.usd", Kind::MaybeReal(0.0, 100_000.0), "none", &[],
        "Money a run may spend, US dollars; only models cost any. Without a bound, a model that is chosen by a key alone is bound to $1"),
    setting("budget.seconds", Kind::MaybeWhole(1, 604_800), "600", &[],
        "Time a run may take, seconds; then the report is written from what is there"),
    setting("budget.calls", Kind::MaybeWhole(1, 1_000_000), "110", &[],
        "Searches and page reads a run may make, together"),
    setting("budget.searches", Kind::MaybeWhole(1, 1_000_000), "none", &[],
        "Searches a run may make"),
    setting("budget.pages", Kind::MaybeWhole(1, 1_000_000), "none", &[],
        "Pages a run may read"),
    setting("budget.tokens", Kind::MaybeWhole(1, 1_000_000_000_000), "none", &[],
        "Tokens that models may take and give in a run, together"),
    setting("price", Kind::Text, "", &[],
        "Price of the models in US dollars a million tokens, sent and received, as `0.5/1.5`; the list price unless set"),
    setting("online_evals", Kind::Bool, "false", &["ENABLE_ONLINE_EVALS"],
        "Whether each run is judged once its report is out, within what the run left of its budget"),
    setting("concurrency", Kind::Whole(1, 256), "16", &["FIRECRAWL_CONCURRENCY"],
        "Searches and reads at once, over all engines and hosts; each has limits of its own besides"),
    setting("serve.addr", Kind::Text, "127.0.0.1:7700", &["IBID_ADDR"],
        "Address and port that `ibid serve` listens on; any but loopback needs a token"),
    setting("serve.hosts", Kind::Words, "", &[],
        "Names by which the server is reached, as `ibid.example.org`; its own address and, on loopback, localhost are always served"),
    setting("serve.token_env", Kind::Text, "IBID_TOKEN", &[],
        "Variable that holds the operator's token; whoever sends it sees the runs of all"),
    setting("serve.webhook_secret_env", Kind::Text, "IBID_WEBHOOK_SECRET", &[],
        "Variable that holds the key that webhooks are signed with; without one none are sent"),
    setting("serve.models", Kind::Words, "", &[],
        "Models that callers may choose besides those that are set, as `provider:model`"),
    setting("serve.concurrency", Kind::Whole(1, 10_000), "4", &[],
        "Runs that the server works on at once"),
    setting("serve.queue", Kind::Whole(0, 1_000_000), "100", &[],
        "Runs that may wait for their turn; further ones are answered 429"),
    setting("serve.queue_each", Kind::Whole(1, 1_000_000), "50", &[],
        "Of these, runs of one user"),
    setting("serve.connections", Kind::Whole(1, 100_000), "1024", &[],
        "Connections open at once; further ones wait"),
    setting("serve.max_body_bytes", Kind::Whole(1024, 1 << 30), "1048576", &[],
        "Largest request body, bytes"),
    setting("max_document_bytes", Kind::Whole(1024, 1 << 32), "33554432", &[],
        "Largest document taken in, bytes"),
    setting("pdf_seconds", Kind::Whole(1, 3600), "20", &[],
        "Time one PDF, DOCX or EPUB may take, seconds"),
    setting("pdf_memory_bytes", Kind::Whole(64 << 20, 1 << 36), "536870912", &[],
        "Memory one PDF, DOCX or EPUB may take, bytes"),
    setting("data_dir", Kind::Path, BY_XDG, &[],
        "Where runs are kept (`ibid.db`); `$XDG_DATA_HOME/ibid` unless set"),
    setting("store.url", Kind::Secret, "", &["DATABASE_URL"],
        "Where runs are kept instead, for many users or machines: `postgres://user:password@host/database`; shown to nobody"),
    setting("retention_days", Kind::MaybeWhole(1, 36_500), "none", &[],
        "How long runs are kept after their end, days; `ibid admin purge` forgets older ones"),
    setting("cache_dir", Kind::Path, BY_XDG, &[],
        "Where folder indexes, vectors and what came from the web are kept; `$XDG_CACHE_HOME/ibid` unless set"),
];

/// The settings as a Markdown table, for the documentation.
pub fn document() -> String {
    use std::fmt::Write as _;
    let mut out = String::from(
        "| setting | default | values | variable | what it is |\n| --- | --- | --- | --- | --- |\n",
    );
    for it in SETTINGS {
        let variables: Vec<String> = std::iter::once(it.env())
            .chain(it.aliases.iter().map(|it| (*it).to_owned()))
            .map(|it| format!("`{it}`"))
            .collect();
        let default = if it.default.is_empty() {
            String::new()
        } else {
            format!("`{}`", it.default)
        };
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
