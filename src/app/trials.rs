//! One cheap question to each service that is set up, to see that it answers as a run needs it to.
use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;

use super::models::{Found, Standing};
use super::{container, engines, meaning, models, readers};
use crate::adapters::model::{ModelFault, Target};
use crate::adapters::service::{Listing, listed};
use crate::config::Settings;
use crate::error::{Error, Kind, Result};
use crate::seams::Egress;

/// The longest that one engine, model or ranker is waited for.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest that a reader is waited for: it waits for a page in turn.
const READER_PATIENCE: Duration = Duration::from_secs(45);
/// Engines without a key that are asked to see whether the open web is reached: one may be down, three are not.
const ENOUGH: usize = 3;
/// How far our clock may be off. Signed requests and certificates begin to fail at some minutes.
const CLOCK_OFF: i64 = 120;
/// Providers whose list is known to hold every model that may be asked for.
const WHOLE: [&str; 11] = [
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
/// Names that are told where a model is not listed.
const NEAR: usize = 3;
/// How like two names are at least, by Jaro and Winkler, that one is told for the other.
const LIKE: f64 = 0.8;

/// What asking came to.
#[derive(Debug)]
pub enum Outcome {
    /// It answers as it should.
    Good(String),
    /// It may or may not do; the hint says what to do about it.
    Doubtful(Error),
    /// A run that asks it will fail; the hint is the exact fix.
    Bad(Error),
}

/// Everything that was asked, in the order of the settings.
#[derive(Debug)]
pub struct Trials {
    /// Each model that is set.
    pub models: Vec<(Standing, Option<Outcome>)>,
    /// The embedding model and the reranker behind servers.
    pub ranking: Vec<Outcome>,
    /// Each engine that somebody has set up.
    pub engines: Vec<Outcome>,
    /// Each reader besides our own.
    pub readers: Vec<Outcome>,
    /// The open web, asked through engines that need no key; nothing where no engine is to be asked.
    pub web: Option<Outcome>,
    /// Our clock, held against those of who answered; nothing where nobody told the time.
    pub clock: Option<Outcome>,
}

/// Asks every service that `settings` set up, all at once.
pub async fn all(settings: &Settings) -> Trials {
    let egress = Egress::default();
    let (models, ranking, engines, readers, web) = tokio::join!(
        of_models(settings, &egress),
        of_ranking(settings),
        of_engines(settings, &egress),
        of_readers(settings, &egress),
        of_web(settings, &egress),
    );
    let clock = egress.clock().map(|(host, ahead)| clock(&host, ahead));
    Trials {
        models,
        ranking,
        engines,
        readers,
        web,
        clock,
    }
}

/// `trial`, which is given up after `patience`.
async fn within<T>(
    what: &str,
    patience: Duration,
    trial: impl Future<Output = Result<T>>,
) -> Result<T> {
    let late = |_| {
        Error::new(Kind::Transient, format!("trying {what}"))
            .because(format!("no answer in {} s", patience.as_secs()))
            .hint("see whether this machine may reach it, or leave it out")
    };
    timeout(patience, trial).await.map_err(late)?
}

/// A provider, where it is asked, and what its key is in.
type Place = (&'static str, String, String);

async fn of_models(settings: &Settings, egress: &Egress) -> Vec<(Standing, Option<Outcome>)> {
    // Roles mostly share a provider, which is asked once.
    let mut heard: BTreeMap<Place, std::result::Result<Listing, String>> = BTreeMap::new();
    let mut all = Vec::new();
    for standing in models::standing(settings) {
        let Ok(found) = &standing.found else {
            all.push((standing, None));
            continue;
        };
        let target = &found.target;
        let place = (
            target.provider.name,
            target.base_url.clone(),
            found.key_vars.clone(),
        );
        let outcome = match heard.get(&place) {
            Some(Ok(listing)) => Some(of_listing(found, listing)),
            // What is wrong with it was told with the first.
            Some(Err(fault)) => Some(Outcome::Doubtful(
                Error::new(Kind::Setup, fault.clone()).hint("mend what is told above"),
            )),
            None => {
                let asked = within(target.provider.name, PATIENCE, listed(target, egress)).await;
                let told = asked.as_ref().map_err(Error::chain).cloned();
                heard.insert(place, told);
                Some(match asked {
                    Ok(listing) => of_listing(found, &listing),
                    Err(fault) => Outcome::Bad(mended(found, fault)),
                })
            }
        };
        all.push((standing, outcome));
    }
    all
}

/// A provider's fault with its exact fix.
fn mended(found: &Found, fault: Error) -> Error {
    let target = &found.target;
    let base_var = target
        .provider
        .base_vars
        .first()
        .copied()
        .unwrap_or_default();
    let unsent = ModelFault::inside(&fault).is_some_and(|it| it.unsent);
    let status = ModelFault::inside(&fault).and_then(|it| it.status);
    let hint = match fault.kind() {
        Kind::Transient if unsent && target.provider.name == "ollama" => {
            format!(
                "run `ollama serve`; {}",
                container::to_reach(base_var, &target.base_url)
            )
        }
        Kind::Transient if unsent && !target.provider.needs_key => {
            container::to_reach(base_var, &target.base_url)
        }
        Kind::Transient if unsent => {
            "see whether this machine may reach it: name service, firewall, HTTPS_PROXY".to_owned()
        }
        Kind::Transient => "try again later".to_owned(),
        Kind::Setup if matches!(status, Some(401 | 403) | None) => {
            format!("check the key in {}", found.key_vars)
        }
        Kind::Setup | Kind::Usage => format!("check the key in {}, and {base_var}", found.key_vars),
        _ => format!(
            "see whether {base_var} leads to the interface that {} speaks",
            target.provider.name
        ),
    };
    Error::new(fault.kind(), format!("trying {}", target.name()))
        .because(fault.chain())
        .hint(hint)
}

/// What a provider's list says of a model.
fn of_listing(found: &Found, listing: &Listing) -> Outcome {
    let target = &found.target;
    let provider = target.provider;
    let (names, whole) = match listing {
        Listing::Names(names, whole) => (names, *whole && WHOLE.contains(&provider.name)),
        Listing::Other => return Outcome::Good("its provider answers".to_owned()),
        Listing::Unasked => {
            return Outcome::Good("not asked: its provider has no list of models".to_owned());
        }
        Listing::Nowhere(path) => return nowhere(target, path),
    };
    if is_among(target, names) {
        return Outcome::Good(match names.len() {
            1 => "the one model listed".to_owned(),
            n => format!("listed among {n} models"),
        });
    }
    let near = near(&target.model, names);
    let fault = Error::new(
        Kind::Setup,
        format!(
            "trying {}: model not listed by {}",
            target.name(),
            target.base_url
        ),
    );
    let meant = match near.as_slice() {
        [] => String::new(),
        near => format!(
            "did you mean {}?",
            near.iter()
                .map(|it| format!("{}/{it}", provider.name))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    let hint = match (provider.name, meant.as_str()) {
        ("ollama", "") => format!("run `ollama pull {}`", target.model),
        ("ollama", meant) => format!("{meant} else run `ollama pull {}`", target.model),
        (_, "") if names.is_empty() => "load a model into that server".to_owned(),
        (_, "") => "set `model` to one of its models".to_owned(),
        (_, meant) => meant.to_owned(),
    };
    match whole {
        true => Outcome::Bad(fault.hint(hint)),
        // It may answer to names that it does not list.
        false => Outcome::Doubtful(fault.hint(hint)),
    }
}

/// A server that has nothing at the path of its list. One of our own address may lack the `/v1` that these interfaces stand below.
fn nowhere(target: &Target, path: &str) -> Outcome {
    let provider = target.provider;
    let bare = url::Url::parse(&target.base_url).is_ok_and(|it| it.path() == "/");
    if bare && target.base_url != provider.base_url && path == "/models" {
        let variable = provider.base_vars.first().copied().unwrap_or_default();
        let fault = Error::new(
            Kind::Setup,
            format!(
                "trying {}: nothing is at {}{path}",
                target.name(),
                target.base_url
            ),
        );
        return Outcome::Doubtful(fault.hint(format!("set {variable}={}/v1", target.base_url)));
    }
    Outcome::Good("its provider answers, and has no list of models".to_owned())
}

/// Whether `target` is one of `names`, as its provider reads names.
fn is_among(target: &Target, names: &[String]) -> bool {
    let asked = target.model.as_str();
    let same = |name: &str| names.iter().any(|it| it.eq_ignore_ascii_case(name));
    match target.provider.name {
        "ollama" if !asked.contains(':') => same(&format!("{asked}:latest")),
        // `:free`, `:online` and the like are ways of asking one model.
        "openrouter" => same(asked) || asked.split_once(':').is_some_and(|it| same(it.0)),
        "gemini" => same(asked.strip_prefix("models/").unwrap_or(asked)),
        // A name without a day, or with `-0` or `-latest` for it, is the newest of its days.
        "anthropic" => {
            let stem = asked
                .strip_suffix("-latest")
                .or_else(|| asked.strip_suffix("-0"));
            let stem = stem.unwrap_or(asked);
            let dated = |it: &String| {
                let day = it.strip_prefix(stem).and_then(|it| it.strip_prefix('-'));
                day.is_some_and(|it| it.len() == 8 && it.bytes().all(|it| it.is_ascii_digit()))
            };
            same(asked) || names.iter().any(dated)
        }
        _ => same(asked),
    }
}

/// The names that are most like `asked`, best first.
fn near<'a>(asked: &str, names: &'a [String]) -> Vec<&'a str> {
    let asked = asked.to_lowercase();
    let likeness = |name: &str| {
        let name = name.to_lowercase();
        // `vendor/model` and `model` are alike, whatever the vendor.
        let own = name.rsplit('/').next().unwrap_or(&name).to_owned();
        strsim::jaro_winkler(&asked, &name).max(strsim::jaro_winkler(&asked, &own))
    };
    let mut found: Vec<(f64, &str)> = names.iter().map(|it| (likeness(it), it.as_str())).collect();
    found.retain(|it| it.0 >= LIKE);
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    found.into_iter().take(NEAR).map(|it| it.1).collect()
}

/// The embedding model and the reranker, each with a word.
async fn of_ranking(settings: &Settings) -> Vec<Outcome> {
    let of = |name: &str, took: Result<bool>| match took {
        Ok(true) => Outcome::Good(format!("{name} answers")),
        Ok(false) => Outcome::Bad(
            Error::new(
                Kind::Setup,
                format!("trying {name}: it answers with no figure"),
            )
            .hint("name another model"),
        ),
        Err(fault) => {
            let hint = fault
                .help()
                .unwrap_or("see whether its server is up")
                .to_owned();
            Outcome::Bad(
                Error::new(fault.kind(), format!("trying {name}"))
                    .because(fault.chain())
                    .hint(hint),
            )
        }
    };
    // What cannot be opened is told where the settings are looked at.
    let embedder = meaning::embedder(settings).ok().flatten();
    let mut found = Vec::new();
    if let Some(it) = &embedder {
        let took = within(it.name(), PATIENCE, it.embed(&["water"])).await;
        found.push(of(
            it.name(),
            took.map(|it| it.first().is_some_and(|it| !it.is_empty())),
        ));
    }
    if !["", "none"].contains(&settings.rerank.model.as_str())
        && let Ok(it) = meaning::ranker(settings, embedder)
    {
        let took = within(it.name(), PATIENCE, it.rank("water", &["Water is wet."])).await;
        found.push(of(it.name(), took.map(|it| it.len() == 1)));
    }
    found
}

async fn of_engines(settings: &Settings, egress: &Egress) -> Vec<Outcome> {
    let all = engines::standing(settings);
    let trials = all
        .iter()
        .filter(|it| it.configured && it.ready)
        .map(async |it| {
            match within(it.name, PATIENCE, engines::tried(settings, it.name, egress)).await {
                Ok(()) => Outcome::Good(format!("{} answers", it.name)),
                Err(fault) => Outcome::Bad(fault),
            }
        });
    join_all(trials).await
}

async fn of_readers(settings: &Settings, egress: &Egress) -> Vec<Outcome> {
    let names = match readers::asked(settings) {
        Ok(names) => names,
        Err(fault) => return vec![Outcome::Bad(fault)],
    };
    let trials = names.iter().map(async |name| {
        match within(
            name,
            READER_PATIENCE,
            readers::try_out(settings, name, egress),
        )
        .await
        {
            Ok(said) => Outcome::Good(said),
            Err(fault) => Outcome::Bad(fault),
        }
    });
    let mut found = join_all(trials).await;
    if let Some(program) = readers::idle_browser(settings) {
        found.push(Outcome::Good(format!(
            "{} is there and not used; readers = auto,chromium reads pages with it that are empty without scripts",
            program.display()
        )));
    }
    found
}

/// Whether anybody outside is reached, asked of engines that a run would ask without being told to.
async fn of_web(settings: &Settings, egress: &Egress) -> Option<Outcome> {
    let auto = settings.engines.iter().all(|it| it.trim() == "auto");
    if auto && !settings.folders.is_empty() {
        // Then a run asks nobody outside.
        return None;
    }
    let named = engines::resolve(settings, &settings.engines).ok()?;
    let all = engines::standing(settings);
    let free = all.iter().filter(|it| {
        it.ready && !it.needs_key && !it.base_set && named.iter().any(|name| name == it.name)
    });
    let free: Vec<&str> = free.map(|it| it.name).take(ENOUGH).collect();
    if free.is_empty() {
        return None;
    }
    let asked = free.iter().map(async |name| {
        (
            *name,
            within(name, PATIENCE, engines::tried(settings, name, egress)).await,
        )
    });
    Some(reached(join_all(asked).await))
}

fn reached(asked: Vec<(&str, Result<()>)>) -> Outcome {
    let (answered, failed): (Vec<_>, Vec<_>) = asked.into_iter().partition(|it| it.1.is_ok());
    let names =
        |all: &[(&str, Result<()>)]| all.iter().map(|it| it.0).collect::<Vec<_>>().join(", ");
    if !answered.is_empty() {
        let silent = match failed.is_empty() {
            true => String::new(),
            false => format!("; {} did not answer now", names(&failed)),
        };
        return Outcome::Good(format!(
            "the open web is reached: {} answered{silent}",
            names(&answered)
        ));
    }
    let why = failed
        .iter()
        .find_map(|it| it.1.as_ref().err())
        .map(Error::chain)
        .unwrap_or_default();
    let fault = Error::new(
        Kind::Transient,
        format!("none of {} is reached: {why}", names(&failed)),
    );
    Outcome::Doubtful(fault.hint(
        "let this machine reach port 443 of other hosts (name service, firewall, HTTPS_PROXY), or ask folders alone: engines = none",
    ))
}

/// How our clock stands to that of `host`.
fn clock(host: &str, ahead: i64) -> Outcome {
    let by = ahead.unsigned_abs();
    if ahead.abs() <= CLOCK_OFF {
        return Outcome::Good(format!("within {by} s of {host}'s"));
    }
    let minutes = by / 60;
    let side = if ahead > 0 { "ahead of" } else { "behind" };
    Outcome::Doubtful(
        Error::new(
            Kind::Setup,
            format!("this machine's clock is {minutes} min {side} {host}'s"),
        )
        .hint("set it by the network: timedatectl set-ntp true, or restart the virtual machine"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(spec: &str) -> Found {
        let target =
            Target::find(spec, &|name| name.ends_with("_KEY").then(|| "k".to_owned())).unwrap();
        Found {
            place: target.base_url.clone(),
            priced: false,
            key_vars: "A_KEY".to_owned(),
            target,
        }
    }

    fn of(spec: &str, names: &[&str]) -> Outcome {
        let names = names.iter().map(|it| (*it).to_owned()).collect();
        of_listing(&found(spec), &Listing::Names(names, true))
    }

    #[test]
    fn names_are_read_as_their_providers_read_them() {
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
                matches!(of(spec, &["other", listed]), Outcome::Good(_)),
                "{spec}"
            );
        }
        for (spec, listed) in [
            ("ollama/llama3.2", "llama3.2:3b"),
            ("anthropic/claude-sonnet-4", "claude-sonnet-4-5-20250929"),
            ("openai/gpt-5", "gpt-5.1"),
        ] {
            assert!(
                matches!(of(spec, &["other", listed]), Outcome::Bad(_)),
                "{spec}"
            );
        }
    }

    #[test]
    fn a_name_that_is_not_listed_is_told_with_those_near_to_it() {
        let Outcome::Bad(fault) = of("openai/gtp-5.1", &["whisper-1", "gpt-5.1", "gpt-5.1-mini"])
        else {
            panic!("it is not listed");
        };
        assert!(fault.chain().contains("model not listed"), "{fault:?}");
        assert_eq!(
            fault.help(),
            Some("did you mean openai/gpt-5.1, openai/gpt-5.1-mini?")
        );
        let Outcome::Bad(fault) = of("ollama/qwen3", &["zephyr:latest"]) else {
            panic!("it is not listed");
        };
        assert_eq!(fault.help(), Some("run `ollama pull qwen3`"));
    }

    #[test]
    fn the_web_is_reached_where_one_answers_and_a_clock_may_be_two_minutes_off() {
        let no = || Err(Error::new(Kind::Transient, "its name cannot be looked up"));
        let Outcome::Good(said) = reached(vec![("a", no()), ("b", Ok(()))]) else {
            panic!("b answered");
        };
        assert!(said.contains("b answered; a did not"), "{said}");
        let Outcome::Doubtful(fault) = reached(vec![("a", no()), ("b", no())]) else {
            panic!("nobody answered");
        };
        assert!(
            fault.chain().contains("a, b") && fault.chain().contains("looked up"),
            "{fault:?}"
        );
        assert!(matches!(clock("a.example", -120), Outcome::Good(_)));
        let Outcome::Doubtful(fault) = clock("a.example", -3600) else {
            panic!("an hour is too much");
        };
        assert!(
            fault.chain().contains("60 min behind a.example"),
            "{fault:?}"
        );
    }
}
