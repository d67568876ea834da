//! Language models as doors: one for each role that has a name set.
use std::collections::BTreeMap;
use std::sync::Arc;

use super::parts::{SpentBefore, SpentSoFar};
use super::spending::SpendGrant;
use crate::adapters::model::metered::most_input;
use crate::adapters::model::stack::{self, Chosen, MOST_OUTPUT, Shared};
use crate::adapters::model::{
    Caps, Deadlines, Limiters, Limits, Patience, Price, Provider, Purse, Spent, Target,
};
use crate::adapters::system;
use crate::config::{Endpoint, Settings};
use crate::domain::{ModelRole, Question, Usage};
use crate::error::{Error, Kind, Result};
use crate::seams::{Egress, LanguageModel, Mind, Models, Prompt};

/// Opens the models that are named, all paid from one purse that holds what was granted, and says who is to hear what
/// earlier sittings spent. Roles that name the same share one. Names parted by commas are an order of
/// preference: the next is asked where one fails for good.
///
/// # Errors
/// `Usage` for a name that is none, `Setup` for a key, an address or a price that is missing; all name
/// the role.
pub(super) fn open(
    settings: &Settings,
    named: &BTreeMap<ModelRole, String>,
    grant: &SpendGrant,
    limiters: Arc<Limiters>,
    egress: &Egress,
) -> Result<(Models, Option<SpentBefore>)> {
    let caps = Caps {
        usd: grant.budget().usd,
        tokens: grant.budget().tokens,
        ..Caps::default()
    };
    let purse = Purse::new(caps, Spent::default());
    grant.paid_from(&purse);
    let shared = Shared {
        purse: purse.clone(),
        limiters,
        limits: Limits::default(),
        patience: Patience::default(),
        deadlines: Deadlines::default(),
        chance: system::chance(),
        egress: egress.clone(),
    };
    let mut dearest: Option<Price> = None;
    let mut opened: BTreeMap<(&str, Option<&Endpoint>), Arc<dyn LanguageModel>> = BTreeMap::new();
    let mut models = Models::default();
    for (role, spec) in named {
        let fault = |it: Error| {
            let doing = format!("opening the model of the {}", role.word());
            let hint = it.help().unwrap_or_default().to_owned();
            Error::new(it.kind(), doing).because(it).hint(hint)
        };
        let own = settings.endpoints.get(role);
        let model = match opened.get(&(spec.as_str(), own)) {
            Some(it) => Arc::clone(it),
            None => {
                let chosen = spec
                    .split(',')
                    .enumerate()
                    .map(|(nth, it)| {
                        let own = own.filter(|_| nth == 0);
                        chosen(it.trim(), settings, own, caps.usd.is_some())
                    })
                    .collect::<Result<Vec<Chosen>>>()
                    .map_err(fault)?;
                let of_call = |it: &Price| it.most(1_000, 1_000);
                dearest = chosen
                    .iter()
                    .filter_map(|it| it.price)
                    .chain(dearest)
                    .max_by(|a, b| of_call(a).total_cmp(&of_call(b)));
                let model: Arc<dyn LanguageModel> =
                    Arc::new(stack::open(chosen, &shared).map_err(fault)?);
                opened.insert((spec, own), Arc::clone(&model));
                model
            }
        };
        let window = window(settings, own);
        models.give(*role, Mind { model, window });
    }
    let book: SpentBefore = Box::new(move |before: &Usage, doubted: &[Prompt]| {
        purse.remember(Spent {
            calls: before.model_calls,
            tokens_in: before.tokens_in,
            tokens_out: before.tokens_out,
            usd: Some(before.usd.unwrap_or(0.0)),
        });
        for prompt in doubted {
            purse.remember(most_of(prompt, dearest));
        }
        Box::new(move || purse.spent().usd) as SpentSoFar
    });
    let any = !models.is_empty();
    Ok((models, any.then_some(book)))
}

/// The most that a call costs which went out and was never seen to end.
fn most_of(prompt: &Prompt, price: Option<Price>) -> Spent {
    let sent = most_input(prompt);
    let received = u64::from(prompt.max_tokens.unwrap_or(MOST_OUTPUT));
    Spent {
        calls: 1,
        tokens_in: sent,
        tokens_out: received,
        usd: Some(price.map_or(0.0, |it| it.most(sent, received))),
    }
}

/// Tokens of prompt and answer together that a role's model takes.
fn window(settings: &Settings, own: Option<&Endpoint>) -> u32 {
    own.and_then(|it| it.max_context)
        .unwrap_or(settings.model_window)
}

/// One model by its name, with what the role has of its own, and with the price that is set, else its list price.
fn chosen(spec: &str, settings: &Settings, own: Option<&Endpoint>, capped: bool) -> Result<Chosen> {
    let own_target = |own| own_target(spec, settings, own);
    let variable = |name: &str| settings.variables.get(name).map(str::to_owned);
    let target = own.map_or_else(|| Target::find(spec, &variable), own_target)?;
    let mut chosen = Chosen::listed(target);
    let priced = own.map_or("", |it| it.price.as_str());
    let priced = if priced.is_empty() {
        settings.price.as_str()
    } else {
        priced
    };
    chosen.window = Some(u64::from(window(settings, own)));
    chosen.price = price(priced)?.or(chosen.price);
    if capped && chosen.price.is_none() {
        // A wall of money needs prices; better told now than after the first call.
        return Err(Error::new(
            Kind::Setup,
            format!("the price of {spec} is not known, and the budget is in dollars"),
        )
        .hint(
            "set `price`, as in IBID_PRICE=0.5/1.5, or bound tokens instead: --budget 300ktokens",
        ));
    }
    Ok(chosen)
}

/// Where a role's model is asked, and with which key, where these are the role's own.
pub(super) fn own_target(spec: &str, settings: &Settings, own: &Endpoint) -> Result<Target> {
    let named = spec.split(['/', ':']).next().and_then(Provider::named);
    let of = |vars: &[&str], name: &str| vars.contains(&name);
    let variables = &settings.variables;
    if !own.api_key_env.is_empty() && variables.get(&own.api_key_env).is_none() {
        return Err(Error::new(Kind::Setup, format!("no key is set for {spec}"))
            .hint(format!("Set {} to your key.", own.api_key_env)));
    }
    Target::find(spec, &|name| match named {
        Some(it) if of(it.base_vars, name) && !own.base_url.is_empty() => {
            Some(own.base_url.clone())
        }
        Some(it) if of(it.key_vars, name) && !own.api_key_env.is_empty() => {
            variables.get(&own.api_key_env).map(str::to_owned)
        }
        _ => variables.get(name).map(str::to_owned),
    })
}

/// A model that is set, and what is known of it.
#[derive(Debug)]
pub struct Standing {
    /// The roles it plays.
    pub roles: Vec<ModelRole>,
    /// Its name as set.
    pub spec: String,
    /// What is known of it; or what is missing.
    pub found: Result<Found>,
}

/// A model that can be asked.
#[derive(Debug)]
pub struct Found {
    /// Where it is asked.
    pub place: String,
    /// Whether its price is known.
    pub priced: bool,
    /// The variables that may hold its key.
    pub(super) key_vars: String,
    pub(super) target: Target,
}

/// Every model that the settings name, without asking any.
pub fn standing(settings: &Settings) -> Vec<Standing> {
    let mut by_spec: BTreeMap<(&str, Option<&Endpoint>), Vec<ModelRole>> = BTreeMap::new();
    let judge = settings.judging.model.iter();
    let judge = judge.map(|it| (&ModelRole::Judge, it));
    for (role, spec) in settings.models.iter().chain(judge) {
        for (nth, one) in spec.split(',').enumerate() {
            let own = settings.endpoints.get(role).filter(|_| nth == 0);
            by_spec.entry((one.trim(), own)).or_default().push(*role);
        }
    }
    by_spec
        .into_iter()
        .map(|((spec, own), roles)| Standing {
            roles,
            spec: spec.to_owned(),
            found: chosen(spec, settings, own, settings.budget.usd.is_some()).map(|it| Found {
                place: it.target.base_url.clone(),
                priced: it.price.is_some(),
                key_vars: match own.map(|it| it.api_key_env.as_str()) {
                    None | Some("") => it.target.provider.key_vars.join(" or "),
                    Some(own) => own.to_owned(),
                },
                target: it.target,
            }),
        })
        .collect()
}

/// What models may be asked in a run, before anything is spent.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Calls.
    pub calls: u64,
    /// Tokens sent.
    pub tokens_in: u64,
    /// Tokens received.
    pub tokens_out: u64,
    /// US dollars; `None` where a price is not known.
    pub usd: Option<f64>,
}

/// What the models of a question may cost. The budget is a wall: no more than that is ever spent. `None` without models.
///
/// # Errors
/// Those of [`estimate`].
pub fn bounded(settings: &Settings, question: &Question) -> Result<Option<Estimate>> {
    let mut models = estimate(settings, question)?;
    if let (Some(it), Some(most)) = (&mut models, question.budget.usd) {
        it.usd = it.usd.map(|usd| usd.min(most));
    }
    Ok(models)
}

/// The bound on what a run over `question` asks of its models: every round is used up, every page read
/// is as long as is taken in. `None` without models.
///
/// # Errors
/// Those of opening the models.
pub fn estimate(settings: &Settings, question: &Question) -> Result<Option<Estimate>> {
    // Tokens of a page as it is shown, of a page's findings, of instructions, of a report and of a check.
    const PAGE: u64 = 8_400;
    const FOUND: u64 = 1_500;
    const FRAME: u64 = 700;
    const REPORT: u64 = 6_000;
    const CHECK: (u64, u64) = (500, 120);
    // Items of a plan, at most.
    const ITEMS: u64 = 7;
    if question.models.is_empty() {
        return Ok(None);
    }
    let method = &question.method;
    let rounds = u64::from(method.depth.min(method.max_iterations).max(1));
    let again = u64::from(method.max_refinement_iterations);
    let queries = u64::from(method.breadth.max(1)) * 4;
    let pages = ((rounds * queries + again * 2) * u64::from(method.results_per_query))
        .min(question.budget.pages.unwrap_or(u64::MAX))
        .min(question.budget.calls.unwrap_or(u64::MAX));
    let sentences = 40;
    let by_role = [
        (ModelRole::Planner, 2, FRAME, 1_000),
        // How far each item is answered, round by round, and what to search for next.
        (
            ModelRole::Researcher,
            (rounds + again) * ITEMS + rounds - 1,
            FRAME + 600,
            400,
        ),
        (ModelRole::Summarizer, pages, PAGE + FRAME, FOUND),
        (ModelRole::Writer, 2 + 2 * again, u64::MAX, REPORT),
        (ModelRole::Verifier, sentences, CHECK.0, CHECK.1),
    ];
    let mut sum = Estimate {
        calls: 0,
        tokens_in: 0,
        tokens_out: 0,
        usd: Some(0.0),
    };
    for (role, calls, sent, received) in by_role {
        let Some(spec) = question.models.get(&role) else {
            continue;
        };
        let first = spec.split(',').next().unwrap_or_default().trim();
        let own = settings.endpoints.get(&role);
        let model = chosen(first, settings, own, false)?;
        let room = u64::from(window(settings, own));
        let (sent, received) = (sent.min(room), received.min(room / 3));
        sum.calls += calls;
        sum.tokens_in += calls * sent;
        sum.tokens_out += calls * received;
        sum.usd = match (sum.usd, model.price) {
            (Some(usd), Some(price)) => Some(usd + calls as f64 * price.most(sent, received)),
            _ => None,
        };
    }
    Ok(Some(sum))
}

/// `0.5/1.5`: dollars a million tokens sent and received.
fn price(text: &str) -> Result<Option<Price>> {
    if text.is_empty() {
        return Ok(None);
    }
    let amount = |it: &str| {
        it.trim()
            .parse::<f64>()
            .ok()
            .filter(|it| it.is_finite() && *it >= 0.0)
    };
    let both = text
        .split_once('/')
        .and_then(|(sent, received)| Some((amount(sent)?, amount(received)?)));
    let Some((input, output)) = both else {
        return Err(
            Error::new(Kind::Usage, format!("setting price: `{text}` is no price"))
                .hint("write dollars a million tokens, sent and received, as 0.5/1.5"),
        );
    };
    Ok(Some(Price {
        input,
        output,
        cached_input: None,
        cache_write: None,
        call: 0.0,
        long: None,
    }))
}
