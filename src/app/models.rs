//! Language models as doors: one for each role that has a name set.
use std::collections::BTreeMap;
use std::sync::Arc;

use super::parts::SpentBefore;
use crate::adapters::model::metered::most_input;
use crate::adapters::model::stack::{self, Chosen, MOST_OUTPUT, Shared};
use crate::adapters::model::{
    Caps, Deadlines, Limiters, Limits, Patience, Price, Purse, Spent, Target,
};
use crate::adapters::system;
use crate::config::Settings;
use crate::domain::{Budget, ModelRole, Question, Usage};
use crate::error::{Error, Kind, Result};
use crate::seams::{LanguageModel, Mind, Models, Prompt};

/// Opens the models that are named, all paid from one purse, and says who is to hear what
/// earlier sittings spent. Roles that name the same share one. Names parted by commas are an order of
/// preference: the next is asked where one fails for good.
///
/// # Errors
/// `Usage` for a name that is none, `Setup` for a key, an address or a price that is missing; all name
/// the role.
pub(super) fn open(
    settings: &Settings,
    named: &BTreeMap<ModelRole, String>,
    budget: &Budget,
    limiters: Arc<Limiters>,
) -> Result<(Models, Option<SpentBefore>)> {
    let caps = Caps {
        usd: budget.usd,
        tokens: budget.tokens,
        ..Caps::default()
    };
    let purse = Purse::new(caps, Spent::default());
    let shared = Shared {
        purse: purse.clone(),
        limiters,
        limits: Limits::default(),
        patience: Patience::default(),
        deadlines: Deadlines::default(),
        chance: system::chance(),
    };
    let price = price(&settings.price)?;
    let mut dearest: Option<Price> = None;
    let mut opened: BTreeMap<&str, Arc<dyn LanguageModel>> = BTreeMap::new();
    let mut models = Models::default();
    for (role, spec) in named {
        let fault = |it: Error| {
            let doing = format!("opening the model of the {}", role.word());
            let hint = it.help().unwrap_or_default().to_owned();
            Error::new(it.kind(), doing).because(it).hint(hint)
        };
        let model = match opened.get(spec.as_str()) {
            Some(it) => Arc::clone(it),
            None => {
                let chosen = spec
                    .split(',')
                    .map(|it| chosen(it.trim(), settings, price, caps.usd.is_some()))
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
                opened.insert(spec, Arc::clone(&model));
                model
            }
        };
        let window = settings.model_window;
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

/// One model by its name, with the price that is set, else its list price.
fn chosen(spec: &str, settings: &Settings, price: Option<Price>, capped: bool) -> Result<Chosen> {
    let variable = |name: &str| settings.variables.get(name).map(str::to_owned);
    let mut chosen = Chosen::listed(Target::find(spec, &variable)?);
    chosen.window = Some(u64::from(settings.model_window));
    chosen.price = price.or(chosen.price);
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

/// A model that is set, and what is known of it.
#[derive(Debug)]
pub struct Standing {
    /// The roles it plays.
    pub roles: Vec<ModelRole>,
    /// Its name as set.
    pub spec: String,
    /// Where it is asked, and whether its price is known; or what is missing.
    pub found: Result<(String, bool)>,
}

/// Every model that the settings name, without asking any.
pub fn standing(settings: &Settings) -> Vec<Standing> {
    let mut by_spec: BTreeMap<&str, Vec<ModelRole>> = BTreeMap::new();
    for (role, spec) in &settings.models {
        for one in spec.split(',') {
            by_spec.entry(one.trim()).or_default().push(*role);
        }
    }
    by_spec
        .into_iter()
        .map(|(spec, roles)| Standing {
            roles,
            spec: spec.to_owned(),
            found: price(&settings.price)
                .and_then(|price| chosen(spec, settings, price, settings.budget.usd.is_some()))
                .map(|it| (it.target.base_url.clone(), it.price.is_some())),
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
    let room = u64::from(settings.model_window);
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
        (
            ModelRole::Summarizer,
            pages,
            (PAGE + FRAME).min(room),
            FOUND,
        ),
        (ModelRole::Writer, 2 + 2 * again, room, REPORT.min(room / 3)),
        (ModelRole::Verifier, sentences, CHECK.0, CHECK.1),
    ];
    let set = price(&settings.price)?;
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
        let model = chosen(first, settings, set, false)?;
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
