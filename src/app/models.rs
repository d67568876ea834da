//! Language models as doors: one for each role that has a name set.
use std::collections::BTreeMap;
use std::sync::Arc;

use super::parts::SpentBefore;
use crate::adapters::model::stack::{self, Chosen, Shared};
use crate::adapters::model::{
    Caps, Deadlines, Limiters, Limits, Patience, Price, Purse, Spent, Target,
};
use crate::adapters::system;
use crate::config::Settings;
use crate::domain::{Question, Usage};
use crate::error::{Error, Kind, Result};
use crate::seams::{LanguageModel, Mind, Models};

/// Opens the models that the question names, all paid from one purse, and says who is to hear what
/// earlier sittings spent. Roles that name the same share one. Names parted by commas are an order of
/// preference: the next is asked where one fails for good.
///
/// # Errors
/// `Usage` for a name that is none, `Setup` for a key, an address or a price that is missing; all name
/// the role.
pub(super) fn open(
    settings: &Settings,
    question: &Question,
    limiters: Arc<Limiters>,
) -> Result<(Models, Option<SpentBefore>)> {
    let caps = Caps {
        usd: question.budget.usd,
        tokens: question.budget.tokens,
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
    let mut opened: BTreeMap<&str, Arc<dyn LanguageModel>> = BTreeMap::new();
    let mut models = Models::default();
    for (role, spec) in &question.models {
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
                let model: Arc<dyn LanguageModel> =
                    Arc::new(stack::open(chosen, &shared).map_err(fault)?);
                opened.insert(spec, Arc::clone(&model));
                model
            }
        };
        let window = settings.model_window;
        models.give(*role, Mind { model, window });
    }
    let book: SpentBefore = Box::new(move |before: &Usage| {
        purse.remember(Spent {
            calls: before.model_calls,
            tokens_in: before.tokens_in,
            tokens_out: before.tokens_out,
            usd: Some(before.usd.unwrap_or(0.0)),
        });
    });
    let any = !models.is_empty();
    Ok((models, any.then_some(book)))
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
