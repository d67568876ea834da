//! Health checks: one cheap request to each configured service, to check that a run could use it.
use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;

use super::models::{ModelStatus, ResolvedModel};
use super::{container, engines, models, page_bodies, readers, semantic};
use crate::config::Settings;
use ibid_core::ports::{Egress, PairScorer, Rng as _};
use ibid_core::system::SystemRng;
use ibid_core::{Error, ErrorKind, Result};
use ibid_llm::ModelTarget;
use ibid_llm::model_list::{ModelList, list_models};
use ibid_net::service_error::ServiceError;

/// The timeout of one engine, model or ranker.
const CHECK_TIMEOUT: Duration = Duration::from_secs(20);
/// The timeout of a reader. It is longer, because the reader waits for a page.
const READER_TIMEOUT: Duration = Duration::from_secs(45);
/// Engines without a key that are asked to check the connection to the web. One may be down, three at once are not.
const WEB_PROBES: usize = 3;
/// How far the clock of this machine may be off, seconds. Signed requests and certificates begin to fail at some minutes.
const MAX_CLOCK_OFFSET: i64 = 120;
/// Providers that list every model that can be called.
const COMPLETE_LISTS: [&str; 11] = [
    "openai",
    "openai-responses",
    "anthropic",
    "gemini",
    "ollama",
    "vllm",
    "groq",
    "deepseek",
    "mistral",
    "xai",
    "openrouter",
];
/// Names that are suggested for a model that is not listed.
const MAX_SUGGESTIONS: usize = 3;
/// The least Jaro-Winkler similarity of a suggested name.
const MIN_SIMILARITY: f64 = 0.8;

/// The outcome of one check.
#[derive(Debug)]
pub enum CheckOutcome {
    /// The service works.
    Ok(String),
    /// The service may or may not work; the hint says what to do.
    Warning(Error),
    /// A run that uses the service will fail; the hint says how to fix it.
    Error(Error),
}

/// The outcomes of all checks, in the order of the settings.
#[derive(Debug)]
pub struct HealthChecks {
    /// Each configured model.
    pub models: Vec<(ModelStatus, Option<CheckOutcome>)>,
    /// The embedding model and the reranker.
    pub ranking: Vec<CheckOutcome>,
    /// Each configured engine.
    pub engines: Vec<CheckOutcome>,
    /// Each reader besides the embedded one.
    pub readers: Vec<CheckOutcome>,
    /// The object store of pages; `None` when pages are in the database.
    pub pages: Option<CheckOutcome>,
    /// The connection to the web, checked with engines that need no key; `None` when no engine is selected.
    pub web: Option<CheckOutcome>,
    /// The clock of this machine, compared with those of the servers; `None` when no server sent the time.
    pub clock: Option<CheckOutcome>,
}

/// Checks every service of `settings`, all at once.
pub async fn run_all(settings: &Settings) -> HealthChecks {
    let egress = Egress::default();
    let (models, ranking, engines, readers, pages, web) = tokio::join!(
        check_models(settings, &egress),
        check_ranking(settings),
        check_engines(settings, &egress),
        check_readers(settings, &egress),
        check_pages(settings),
        check_web(settings, &egress),
    );
    let clock = egress.best_clock_offset().map(|(host, ahead)| clock_outcome(&host, ahead));
    HealthChecks { models, ranking, engines, readers, pages, web, clock }
}

/// Runs `check` with a timeout.
async fn with_timeout<T>(
    what: &str,
    limit: Duration,
    check: impl Future<Output = Result<T>>,
) -> Result<T> {
    let late = |_| {
        Error::new(ErrorKind::Transient, format!("checking {what}"))
            .with_source(format!("no answer in {} s", limit.as_secs()))
            .with_hint("check whether this machine can reach it, or remove it from the settings")
    };
    timeout(limit, check).await.map_err(late)?
}

/// A provider, its base URL, and the variables of its key.
type ProviderKey = (&'static str, String, String);

async fn check_models(
    settings: &Settings,
    egress: &Egress,
) -> Vec<(ModelStatus, Option<CheckOutcome>)> {
    // Roles often share a provider, which is asked once.
    let mut listings: BTreeMap<ProviderKey, std::result::Result<ModelList, String>> =
        BTreeMap::new();
    let mut all = Vec::new();
    for status in models::statuses(settings) {
        let Ok(found) = &status.resolved else {
            all.push((status, None));
            continue;
        };
        let target = &found.target;
        let key = (target.provider.name, target.base_url.clone(), found.key_vars.clone());
        let outcome = match listings.get(&key) {
            Some(Ok(listing)) => Some(check_listing(found, listing)),
            // The first model of the provider has the fault in full.
            Some(Err(fault)) => Some(CheckOutcome::Warning(
                Error::new(ErrorKind::Setup, fault.clone()).with_hint("fix the problem above"),
            )),
            None => {
                let answer =
                    with_timeout(target.provider.name, CHECK_TIMEOUT, list_models(target, egress))
                        .await;
                let listing = answer.as_ref().map_err(Error::chain).cloned();
                listings.insert(key, listing);
                Some(match answer {
                    Ok(listing) => check_listing(found, &listing),
                    Err(fault) => CheckOutcome::Error(with_fix(found, fault)),
                })
            }
        };
        all.push((status, outcome));
    }
    all
}

/// Adds a hint to a provider's fault.
fn with_fix(found: &ResolvedModel, fault: Error) -> Error {
    let target = &found.target;
    let base_var = target.provider.base_vars.first().copied().unwrap_or_default();
    let unsent = ServiceError::find_in(&fault).is_some_and(|it| it.unsent);
    let status = ServiceError::find_in(&fault).and_then(|it| it.status);
    let hint = match fault.kind() {
        ErrorKind::Transient if unsent && target.provider.name == "ollama" => {
            format!("run `ollama serve`; {}", container::localhost_hint(base_var, &target.base_url))
        }
        ErrorKind::Transient if unsent && !target.provider.needs_key => {
            container::localhost_hint(base_var, &target.base_url)
        }
        ErrorKind::Transient if unsent => {
            "check whether this machine can reach it: DNS, firewall, HTTPS_PROXY".to_owned()
        }
        ErrorKind::Transient => "try again later".to_owned(),
        ErrorKind::Setup if matches!(status, Some(401 | 403) | None) => {
            format!("check the key in {}", found.key_vars)
        }
        ErrorKind::Setup | ErrorKind::Usage => {
            format!("check the key in {}, and {base_var}", found.key_vars)
        }
        _ => format!("check that {base_var} is the address of the API of {}", target.provider.name),
    };
    Error::new(fault.kind(), format!("checking {}", target.name()))
        .with_source(fault.chain())
        .with_hint(hint)
}

/// Looks a model up in its provider's list.
fn check_listing(found: &ResolvedModel, listing: &ModelList) -> CheckOutcome {
    let target = &found.target;
    let provider = target.provider;
    let (names, is_complete) = match listing {
        ModelList::Names(names, complete) => {
            (names, *complete && COMPLETE_LISTS.contains(&provider.name))
        }
        ModelList::OtherNames => return CheckOutcome::Ok("its provider answers".to_owned()),
        ModelList::NotSupported => {
            return CheckOutcome::Ok("not asked: its provider has no list of models".to_owned());
        }
        ModelList::NoListAt(path) => return list_not_found(target, path),
    };
    if is_listed(target, names) {
        return CheckOutcome::Ok(match names.len() {
            1 => "the one model listed".to_owned(),
            n => format!("listed among {n} models"),
        });
    }
    let similar = closest_names(&target.model, names);
    let fault = Error::new(
        ErrorKind::Setup,
        format!("checking {}: model not listed by {}", target.name(), target.base_url),
    );
    let suggestion = match similar.as_slice() {
        [] => String::new(),
        similar => format!(
            "did you mean {}?",
            similar
                .iter()
                .map(|it| format!("{}/{it}", provider.name))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    let hint = match (provider.name, suggestion.as_str()) {
        ("ollama", "") => format!("run `ollama pull {}`", target.model),
        ("ollama", suggestion) => format!("{suggestion} else run `ollama pull {}`", target.model),
        (_, "") if names.is_empty() => "load a model into that server".to_owned(),
        (_, "") => "set `model` to one of its models".to_owned(),
        (_, suggestion) => suggestion.to_owned(),
    };
    if is_complete {
        CheckOutcome::Error(fault.with_hint(hint))
    } else {
        // The provider may accept names that it does not list.
        CheckOutcome::Warning(fault.with_hint(hint))
    }
}

/// The outcome for a server that has nothing at the path of its list. A configured address may lack the `/v1` of these APIs.
fn list_not_found(target: &ModelTarget, path: &str) -> CheckOutcome {
    let provider = target.provider;
    let has_no_path = url::Url::parse(&target.base_url).is_ok_and(|parsed| parsed.path() == "/");
    if has_no_path && target.base_url != provider.base_url && path == "/models" {
        let variable = provider.base_vars.first().copied().unwrap_or_default();
        let fault = Error::new(
            ErrorKind::Setup,
            format!("checking {}: {}{path} does not exist", target.name(), target.base_url),
        );
        return CheckOutcome::Warning(
            fault.with_hint(format!("set {variable}={}/v1", target.base_url)),
        );
    }
    CheckOutcome::Ok("its provider answers, and has no list of models".to_owned())
}

/// Whether `target` is one of `names`, by the naming rules of its provider.
fn is_listed(target: &ModelTarget, names: &[String]) -> bool {
    let asked = target.model.as_str();
    let same = |name: &str| names.iter().any(|it| it.eq_ignore_ascii_case(name));
    match target.provider.name {
        "ollama" if !asked.contains(':') => same(&format!("{asked}:latest")),
        // `:free`, `:online` and the like are variants of one model.
        "openrouter" => same(asked) || asked.split_once(':').is_some_and(|parts| same(parts.0)),
        "gemini" => same(asked.strip_prefix("models/").unwrap_or(asked)),
        // A name without a date, or with `-0` or `-latest` instead, means the latest dated one.
        "anthropic" => {
            let stem = asked.strip_suffix("-latest").or_else(|| asked.strip_suffix("-0"));
            let stem = stem.unwrap_or(asked);
            let dated = |text: &String| {
                let day = text.strip_prefix(stem).and_then(|rest| rest.strip_prefix('-'));
                day.is_some_and(|day| {
                    day.len() == 8 && day.bytes().all(|byte| byte.is_ascii_digit())
                })
            };
            same(asked) || names.iter().any(dated)
        }
        _ => same(asked),
    }
}

/// The names most similar to `asked`, best first.
fn closest_names<'a>(asked: &str, names: &'a [String]) -> Vec<&'a str> {
    let asked = asked.to_lowercase();
    let similarity = |name: &str| {
        let name = name.to_lowercase();
        // The vendor of `vendor/model` does not count.
        let own = name.rsplit('/').next().unwrap_or(&name).to_owned();
        strsim::jaro_winkler(&asked, &name).max(strsim::jaro_winkler(&asked, &own))
    };
    let mut found: Vec<(f64, &str)> =
        names.iter().map(|name| (similarity(name), name.as_str())).collect();
    found.retain(|pair| pair.0 >= MIN_SIMILARITY);
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    found.into_iter().take(MAX_SUGGESTIONS).map(|pair| pair.1).collect()
}

/// Embeds and ranks one word.
async fn check_ranking(settings: &Settings) -> Vec<CheckOutcome> {
    let outcome = |name: &str, works: Result<bool>| match works {
        Ok(true) => CheckOutcome::Ok(format!("{name} answers")),
        Ok(false) => CheckOutcome::Error(
            Error::new(
                ErrorKind::Setup,
                format!("checking {name}: the test response contains no score, or a wrong one"),
            )
            .with_hint("name another model"),
        ),
        Err(fault) => {
            let hint = fault.hint().unwrap_or("check that its server is running").to_owned();
            CheckOutcome::Error(
                Error::new(fault.kind(), format!("checking {name}"))
                    .with_source(fault.chain())
                    .with_hint(hint),
            )
        }
    };
    // One that cannot be opened is reported by the check of the settings.
    let embedder = semantic::embedder(settings).ok().flatten();
    let mut found = Vec::new();
    if let Some(it) = &embedder {
        let answer = with_timeout(it.name(), CHECK_TIMEOUT, it.embed(&["water"])).await;
        found.push(outcome(
            it.name(),
            answer.map(|answer| answer.first().is_some_and(|it| !it.is_empty())),
        ));
    }
    match semantic::bundled_pair_scorer(settings) {
        Ok(Some(it)) => {
            let name = it.name().to_owned();
            let read = move || knows_the_obvious(&*it);
            let works = tokio::task::spawn_blocking(read).await.unwrap_or_default();
            found.push(outcome(&name, Ok(works)));
        }
        Ok(None) => {}
        Err(damaged) => found.push(CheckOutcome::Error(damaged)),
    }
    if !["", "none"].contains(&settings.rerank.model.as_str())
        && let Ok(it) = semantic::ranker(settings, embedder, Vec::new(), None)
    {
        let answer =
            with_timeout(it.name(), CHECK_TIMEOUT, it.rank("water", &["Water is wet."])).await;
        found.push(outcome(it.name(), answer.map(|answer| answer.len() == 1)));
    }
    found
}

/// Whether a cross-encoder tells what nobody doubts. A file that was changed may still load.
fn knows_the_obvious(scorer: &dyn PairScorer) -> bool {
    let (asked, fact) = ("How many legs does a spider have?", "A spider has eight legs.");
    let pairs = [
        (asked, fact),
        (asked, "The shop closes at nine."),
        (fact, fact),
        ("A spider does not have eight legs.", fact),
    ];
    match scorer.score(&pairs)[..] {
        [answers, beside, says, denies] => {
            answers.relevance > beside.relevance + 0.2
                && says.entailment > says.contradiction + 0.2
                && denies.contradiction > denies.entailment + 0.2
        }
        _ => false,
    }
}

async fn check_engines(settings: &Settings, egress: &Egress) -> Vec<CheckOutcome> {
    let all = engines::statuses(settings);
    let checks = all.iter().filter(|it| it.configured && it.ready).map(async |it| {
        match with_timeout(it.name, CHECK_TIMEOUT, engines::probe_with(settings, it.name, egress))
            .await
        {
            Ok(()) => CheckOutcome::Ok(format!("{} answers", it.name)),
            Err(fault) => CheckOutcome::Error(fault),
        }
    });
    let mut found = join_all(checks).await;
    let sources = settings.mcp_sources.iter().map(async |it| match engines::probe_mcp(it).await {
        Ok(message) => CheckOutcome::Ok(message),
        Err(fault) => CheckOutcome::Error(fault),
    });
    found.extend(join_all(sources).await);
    found
}

async fn check_readers(settings: &Settings, egress: &Egress) -> Vec<CheckOutcome> {
    let names = match readers::external_readers(settings) {
        Ok(names) => names,
        Err(fault) => return vec![CheckOutcome::Error(fault)],
    };
    let checks = names.iter().map(async |name| {
        match with_timeout(name, READER_TIMEOUT, readers::probe(settings, name, egress)).await {
            Ok(message) => CheckOutcome::Ok(message),
            Err(fault) => CheckOutcome::Error(fault),
        }
    });
    let mut found = join_all(checks).await;
    if let Some(program) = readers::idle_browser(settings) {
        found.push(CheckOutcome::Ok(format!(
            "{} is installed and not used; with readers = auto,chromium it reads pages that are empty without scripts",
            program.display()
        )));
    }
    found
}

/// Stores, reads and deletes a small object under `pages.url`.
async fn check_pages(settings: &Settings) -> Option<CheckOutcome> {
    if settings.pages_url.is_empty() {
        return None;
    }
    let check = async {
        let Some(bodies) = page_bodies::open(&settings.pages_url, settings)? else {
            return Ok(true);
        };
        // Two doctors at once must not delete each other's object.
        let key = format!("doctor/{:032x}", SystemRng.next_u128());
        bodies.put(&key, key.clone()).await?;
        let body = bodies.get(&key).await?;
        bodies.delete(&key).await?;
        Ok(body.as_deref() == Some(key.as_bytes()))
    };
    let url = &settings.pages_url;
    Some(match with_timeout("`pages.url`", CHECK_TIMEOUT, check).await {
        Ok(true) => CheckOutcome::Ok(format!("{url} stores, returns and deletes objects")),
        Ok(false) => CheckOutcome::Error(
            Error::new(ErrorKind::Setup, format!("{url} did not return what was stored"))
                .with_hint(
                    "set `pages.url` to a store that returns an object as soon as it is stored",
                ),
        ),
        Err(fault) => CheckOutcome::Error(fault),
    })
}

/// Checks the connection to the web with engines that a run would use by default.
async fn check_web(settings: &Settings, egress: &Egress) -> Option<CheckOutcome> {
    let auto = settings.engines.iter().all(|engine| engine.trim() == "auto");
    if auto && !settings.folders.is_empty() {
        // A run over folders uses no engine.
        return None;
    }
    let named = engines::resolve(settings, &settings.engines).ok()?;
    let all = engines::statuses(settings);
    let free = all.iter().filter(|it| {
        it.ready && !it.needs_key && !it.base_set && named.iter().any(|name| name == it.name)
    });
    let free: Vec<&str> = free.map(|it| it.name).take(WEB_PROBES).collect();
    if free.is_empty() {
        return None;
    }
    let probes = free.iter().map(async |name| {
        (
            *name,
            with_timeout(name, CHECK_TIMEOUT, engines::probe_with(settings, name, egress)).await,
        )
    });
    Some(web_outcome(join_all(probes).await))
}

fn web_outcome(probes: Vec<(&str, Result<()>)>) -> CheckOutcome {
    let (answered, failed): (Vec<_>, Vec<_>) =
        probes.into_iter().partition(|probe| probe.1.is_ok());
    let names =
        |all: &[(&str, Result<()>)]| all.iter().map(|pair| pair.0).collect::<Vec<_>>().join(", ");
    if !answered.is_empty() {
        let unanswered = if failed.is_empty() {
            String::new()
        } else {
            format!("; {} did not answer now", names(&failed))
        };
        return CheckOutcome::Ok(format!(
            "the web is reachable: {} answered{unanswered}",
            names(&answered)
        ));
    }
    let why =
        failed.iter().find_map(|pair| pair.1.as_ref().err()).map(Error::chain).unwrap_or_default();
    let fault =
        Error::new(ErrorKind::Transient, format!("none of {} is reachable: {why}", names(&failed)));
    CheckOutcome::Warning(fault.with_hint(
        "allow connections to port 443 of other hosts (DNS, firewall, HTTPS_PROXY), or search folders only: engines = none",
    ))
}

/// The outcome for a clock that is `ahead` seconds ahead of that of `host`.
fn clock_outcome(host: &str, ahead: i64) -> CheckOutcome {
    let by = ahead.unsigned_abs();
    if ahead.abs() <= MAX_CLOCK_OFFSET {
        return CheckOutcome::Ok(format!("within {by} s of {host}'s"));
    }
    let minutes = by / 60;
    let side = if ahead > 0 { "ahead of" } else { "behind" };
    CheckOutcome::Warning(
        Error::new(
            ErrorKind::Setup,
            format!("this machine's clock is {minutes} min {side} {host}'s"),
        )
        .with_hint("synchronise it: timedatectl set-ntp true, or restart the virtual machine"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved_model(spec: &str) -> ResolvedModel {
        let target =
            ModelTarget::resolve(spec, &|name| name.ends_with("_KEY").then(|| "k".to_owned()))
                .unwrap();
        ResolvedModel {
            place: target.base_url.clone(),
            priced: false,
            key_vars: "A_KEY".to_owned(),
            target,
        }
    }

    fn listing_outcome(spec: &str, names: &[&str]) -> CheckOutcome {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        check_listing(&resolved_model(spec), &ModelList::Names(names, true))
    }

    #[test]
    fn names_are_matched_by_the_rules_of_their_provider() {
        for (spec, listed) in [
            ("openai/gpt-5.1", "gpt-5.1"),
            ("ollama/llama3.2", "llama3.2:latest"),
            ("ollama/llama3.2:3b", "llama3.2:3b"),
            ("openrouter/meta/llama:free", "meta/llama"),
            ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
            ("anthropic/claude-opus-4-0", "claude-opus-4-20250514"),
            ("gemini/models/gemini-2.5-pro", "gemini-2.5-pro"),
        ] {
            assert!(
                matches!(listing_outcome(spec, &["other", listed]), CheckOutcome::Ok(_)),
                "{spec}"
            );
        }
        for (spec, listed) in [
            ("ollama/llama3.2", "llama3.2:3b"),
            ("anthropic/claude-sonnet-4", "claude-sonnet-4-5-20250929"),
            ("openai/gpt-5", "gpt-5.1"),
        ] {
            assert!(
                matches!(listing_outcome(spec, &["other", listed]), CheckOutcome::Error(_)),
                "{spec}"
            );
        }
    }

    #[test]
    fn a_name_that_is_not_listed_gets_suggestions() {
        let CheckOutcome::Error(fault) =
            listing_outcome("openai/gtp-5.1", &["whisper-1", "gpt-5.1", "gpt-5.1-mini"])
        else {
            panic!("it is not listed");
        };
        assert!(fault.chain().contains("model not listed"), "{fault:?}");
        assert_eq!(fault.hint(), Some("did you mean openai/gpt-5.1, openai/gpt-5.1-mini?"));
        let CheckOutcome::Error(fault) = listing_outcome("ollama/qwen3", &["zephyr:latest"]) else {
            panic!("it is not listed");
        };
        assert_eq!(fault.hint(), Some("run `ollama pull qwen3`"));
    }

    #[test]
    fn one_answer_is_enough_and_a_clock_may_be_two_minutes_off() {
        let no = || Err(Error::new(ErrorKind::Transient, "its name cannot be looked up"));
        let CheckOutcome::Ok(message) = web_outcome(vec![("a", no()), ("b", Ok(()))]) else {
            panic!("b answered");
        };
        assert!(message.contains("b answered; a did not"), "{message}");
        let CheckOutcome::Warning(fault) = web_outcome(vec![("a", no()), ("b", no())]) else {
            panic!("none answered");
        };
        assert!(fault.chain().contains("a, b") && fault.chain().contains("looked up"), "{fault:?}");
        assert!(matches!(clock_outcome("a.example", -120), CheckOutcome::Ok(_)));
        let CheckOutcome::Warning(fault) = clock_outcome("a.example", -3600) else {
            panic!("an hour is too much");
        };
        assert!(fault.chain().contains("60 min behind a.example"), "{fault:?}");
    }
}
