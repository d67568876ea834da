//! The language models of the settings: resolved, opened and priced, one for each role.
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::clock_rng;
use super::components::{PriorSpendFn, TotalCostFn};
use super::spending::SpendGrant;
use crate::config::{ModelEndpoint, Settings};
use ibid_core::domain::{CostEstimate, ModelRole, Question, ReasoningEffort, Strategy, Usage};
use ibid_core::ports::{Egress, LanguageModel, Prompt, RoleModel, RoleModels};
use ibid_core::{Error, ErrorKind, Result};
use ibid_llm::metered::max_input_tokens;
use ibid_llm::stack;
use ibid_llm::stack::{ModelContext, ModelSpec, SharedModels};
use ibid_llm::{
    BudgetCaps, ConcurrencyLimits, CostBudget, MODEL_RETRY, ModelProvider, ModelSpend, ModelTable,
    ModelTarget, Price,
};
use ibid_net::http::Timeouts;
use ibid_research::model_steps;

/// Opens the model of each role in `named`, with one cost budget of what `grant` allows. Returns them with the function that adds what
/// earlier workers spent. Roles with the same name share a model. Names separated by commas are fallbacks: the next one is asked when
/// one fails for good.
///
/// # Errors
/// `Usage` for an invalid name, `Setup` for a missing key, address or price; all name the role.
pub(super) fn open(
    settings: &Settings,
    named: &BTreeMap<ModelRole, String>,
    grant: &SpendGrant,
    shared: Arc<SharedModels>,
    egress: &Egress,
) -> Result<(RoleModels, Option<PriorSpendFn>)> {
    let caps = BudgetCaps {
        usd: grant.budget().usd,
        tokens: grant.budget().tokens,
        ..BudgetCaps::default()
    };
    let budget = CostBudget::new(caps, ModelSpend::default());
    grant.attach_budget(&budget);
    shared.learned.remember_in(&settings.cache_dir);
    let context = ModelContext {
        budget: budget.clone(),
        shared,
        limits: ConcurrencyLimits {
            max_concurrent: settings.model_concurrency,
            tokens_per_minute: settings.model_tokens_per_minute,
            ..ConcurrencyLimits::default()
        },
        retry: MODEL_RETRY,
        timeouts: Timeouts::default(),
        chance: clock_rng::rng(),
        egress: egress.clone(),
    };
    let mut all_specs: Vec<ModelSpec> = Vec::new();
    let known_models = Arc::clone(&context.shared);
    let mut opened: BTreeMap<(&str, Option<&ModelEndpoint>), Arc<dyn LanguageModel>> =
        BTreeMap::new();
    let mut models = RoleModels::default();
    for (role, spec) in named {
        let with_role = |cause: Error| {
            let doing = format!("opening the model of the {}", role.as_str());
            let hint = cause.hint().map(str::to_owned);
            let error = Error::new(cause.kind(), doing).with_source(cause);
            match hint {
                Some(hint) => error.with_hint(hint),
                None => error,
            }
        };
        let own = settings.endpoints.get(role);
        let model = match opened.get(&(spec.as_str(), own)) {
            Some(model) => Arc::clone(model),
            None => {
                let specs = resolve_fallbacks(spec, settings, own, caps.usd.is_some())
                    .map_err(with_role)?;
                all_specs.extend(specs.iter().cloned());
                let model: Arc<dyn LanguageModel> =
                    Arc::new(stack::open(specs, &context).map_err(with_role)?);
                opened.insert((spec, own), Arc::clone(&model));
                model
            }
        };
        let window = context_window(settings, own);
        models.insert(*role, RoleModel { model, window });
    }
    let add_prior_spend = move |earlier: &Usage, in_doubt: &[Prompt], reasoned: u32| {
        budget.add_earlier(ModelSpend {
            calls: earlier.model_calls,
            tokens_in: earlier.tokens_in,
            tokens_out: earlier.tokens_out,
            usd: Some(earlier.usd.unwrap_or(0.0)),
        });
        for prompt in in_doubt {
            budget.add_earlier(max_cost(prompt, reasoned, &all_specs, &known_models));
        }
        Box::new(move || budget.spent().usd) as TotalCostFn
    };
    let any = !models.is_empty();
    Ok((models, any.then_some(Box::new(add_prior_spend) as PriorSpendFn)))
}

/// The most that a call may have cost whose answer never arrived: with the limit that it is sent with to the dearest of the
/// models. `reasoned` is how many tokens one of them has reasoned for at most.
fn max_cost(
    prompt: &Prompt,
    reasoned: u32,
    specs: &[ModelSpec],
    shared: &SharedModels,
) -> ModelSpend {
    let sent = max_input_tokens(prompt);
    let mut most = ModelSpend { calls: 1, tokens_in: sent, tokens_out: 0, usd: Some(0.0) };
    for spec in specs {
        let received = u64::from(spec.most_output(prompt, reasoned, shared));
        let usd = spec.price.map_or(0.0, |price| price.max_cost(sent, received));
        most.tokens_out = most.tokens_out.max(received);
        most.usd = most.usd.map(|known| known.max(usd));
    }
    most
}

/// The context window of a role's model: tokens of prompt and answer together.
fn context_window(settings: &Settings, own: Option<&ModelEndpoint>) -> u32 {
    own.and_then(|endpoint| endpoint.max_context).unwrap_or(settings.model_window)
}

/// The models that `spec` names, separated by commas. The role's own endpoint `own` applies to the first.
fn resolve_fallbacks(
    spec: &str,
    settings: &Settings,
    own: Option<&ModelEndpoint>,
    capped: bool,
) -> Result<Vec<ModelSpec>> {
    let resolve = |(nth, name): (usize, &str)| {
        let own = own.filter(|_| nth == 0);
        resolve_model(name.trim(), settings, own, capped)
    };
    spec.split(',').enumerate().map(resolve).collect()
}

/// One model by its name, at the role's own endpoint `own` if any, with the price that is set, else its list price. `capped` says that
/// the budget is in dollars, so that a price is needed.
fn resolve_model(
    spec: &str,
    settings: &Settings,
    own: Option<&ModelEndpoint>,
    capped: bool,
) -> Result<ModelSpec> {
    let own_target = |own| role_target(spec, settings, own);
    let variable = |name: &str| settings.variables.get(name).map(str::to_owned);
    let target = own.map_or_else(|| ModelTarget::resolve(spec, &variable), own_target)?;
    let mut model = ModelSpec::from_table(target, &*model_table(settings)?);
    model.effort = own.and_then(|endpoint| endpoint.reasoning.effort());
    let price = match own.map_or("", |endpoint| endpoint.price.as_str()) {
        "" => settings.price.as_str(),
        own => own,
    };
    model.window = Some(u64::from(context_window(settings, own)));
    model.known.window = own.and_then(|endpoint| endpoint.max_context).or(model.known.window);
    model.price = parse_price(price)?.or(model.price);
    if capped && model.price.is_none() {
        // Without a price the limit cannot be kept. Fails now rather than after the first call.
        return Err(Error::new(
            ErrorKind::Setup,
            format!("the price of {spec} is unknown, and the budget is in dollars"),
        )
        .with_hint(
            "set `price`, as in IBID_PRICE=0.5/1.5, or limit tokens instead: --budget 300ktokens",
        ));
    }
    Ok(model)
}

/// The table of models: the embedded one, with the rows of the user's file.
fn model_table(settings: &Settings) -> Result<Cow<'static, ModelTable>> {
    let path = &settings.model_table;
    if path.as_os_str().is_empty() {
        return Ok(Cow::Borrowed(ModelTable::embedded()));
    }
    let doing = || format!("reading {}, the setting `model_table`", path.display());
    let text = std::fs::read_to_string(path)
        .map_err(|cause| Error::new(ErrorKind::Setup, doing()).with_source(cause))
        .map_err(|error| error.with_hint("set `model_table` to a file that exists, or unset it"))?;
    let table = ModelTable::with_rows(&text)
        .map_err(|cause| Error::new(ErrorKind::Setup, doing()).with_source(cause))
        .map_err(|error| error.with_hint("docs/models.md shows the form of a row"))?;
    Ok(Cow::Owned(table))
}

/// The address and the key of a role's model, with the role's own endpoint `own`.
pub(super) fn role_target(
    spec: &str,
    settings: &Settings,
    own: &ModelEndpoint,
) -> Result<ModelTarget> {
    let named = spec.split(['/', ':']).next().and_then(ModelProvider::by_name);
    let is_one_of = |vars: &[&str], name: &str| vars.contains(&name);
    let variables = &settings.variables;
    if !own.api_key_env.is_empty() && variables.get(&own.api_key_env).is_none() {
        return Err(Error::new(ErrorKind::Setup, format!("no key is set for {spec}"))
            .with_hint(format!("set {} to your key", own.api_key_env)));
    }
    let target = ModelTarget::resolve(spec, &|name| match named {
        Some(it) if is_one_of(it.base_vars, name) && !own.base_url.is_empty() => {
            Some(own.base_url.clone())
        }
        Some(it) if is_one_of(it.key_vars, name) && !own.api_key_env.is_empty() => {
            variables.get(&own.api_key_env).map(str::to_owned)
        }
        _ => variables.get(name).map(str::to_owned),
    })?;
    Ok(match own.api_key_env.as_str() {
        "" => target,
        variable => target.with_key_var(variable),
    })
}

/// A model of the settings, and whether it can be called.
#[derive(Debug)]
pub struct ModelStatus {
    /// Its roles.
    pub roles: Vec<ModelRole>,
    /// Its name as in the settings.
    pub spec: String,
    /// The resolved model, or what is missing.
    pub resolved: Result<ResolvedModel>,
}

/// A model that can be called.
#[derive(Debug)]
pub struct ResolvedModel {
    /// Its base URL.
    pub place: String,
    /// Whether its price is known.
    pub priced: bool,
    /// The variables that may hold its key, for messages.
    pub(super) key_vars: String,
    pub(super) target: ModelTarget,
}

/// Every model that the settings name. Makes no call.
pub fn statuses(settings: &Settings) -> Vec<ModelStatus> {
    let mut by_spec: BTreeMap<(&str, Option<&ModelEndpoint>), Vec<ModelRole>> = BTreeMap::new();
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
        .map(|((spec, own), roles)| ModelStatus {
            roles,
            spec: spec.to_owned(),
            resolved: resolve_model(spec, settings, own, settings.budget.usd.is_some()).map(
                |spec| ResolvedModel {
                    place: spec.target.base_url.clone(),
                    priced: spec.price.is_some(),
                    key_vars: match own.map(|endpoint| endpoint.api_key_env.as_str()) {
                        None | Some("") => spec.target.provider.key_vars.join(" or "),
                        Some(own) => own.to_owned(),
                    },
                    target: spec.target,
                },
            ),
        })
        .collect()
}

/// What the models of a question may cost, at most the budget. `None` without models.
///
/// # Errors
/// Those of [`estimate`].
pub fn budgeted_estimate(settings: &Settings, question: &Question) -> Result<Option<CostEstimate>> {
    let mut models = estimate(settings, question)?;
    if let (Some(it), Some(most)) = (&mut models, question.budget.usd) {
        it.usd = it.usd.map(|usd| usd.min(most));
    }
    Ok(models)
}

/// Tokens of a page in a prompt.
const PAGE_TOKENS: u64 = 8_400;
/// Tokens of the findings of a page.
const FINDINGS_TOKENS: u64 = 1_500;
/// Tokens of the instructions in a prompt.
const INSTRUCTION_TOKENS: u64 = 700;
/// Tokens of a report.
const REPORT_TOKENS: u64 = 6_000;
/// Tokens of the prompt and of the answer of a check.
const CHECK_TOKENS: (u64, u64) = (500, 120);
/// Sentences of a report that are checked.
const CHECKED_SENTENCES: u64 = 40;
/// Tokens of the objections of a critic.
const CRITIQUE_TOKENS: u64 = 1_000;
/// Items of a plan, at most.
const PLAN_ITEMS: u64 = 7;

/// An upper bound on the model calls of a run over `question`: it uses every round, and every page is as long as allowed. `None` without
/// models.
///
/// # Errors
/// Those of opening the models.
pub fn estimate(settings: &Settings, question: &Question) -> Result<Option<CostEstimate>> {
    if question.models.is_empty() {
        return Ok(None);
    }
    let method = &question.method;
    let rounds = u64::from(method.depth.min(method.max_iterations).max(1));
    let refinements = u64::from(method.max_refinement_iterations);
    let queries = u64::from(method.breadth.max(1)) * 4;
    let pages = ((rounds * queries + refinements * 2) * u64::from(method.results_per_query))
        .min(question.budget.pages.unwrap_or(u64::MAX))
        .min(question.budget.calls.unwrap_or(u64::MAX));
    let by_role = [
        (ModelRole::Planner, 2, INSTRUCTION_TOKENS, 1_000),
        // For each round: the coverage of each item, and the next queries.
        (
            ModelRole::Researcher,
            (rounds + refinements) * PLAN_ITEMS + rounds - 1,
            INSTRUCTION_TOKENS + 600,
            400,
        ),
        (ModelRole::Summarizer, pages, PAGE_TOKENS + INSTRUCTION_TOKENS, FINDINGS_TOKENS),
        // A writer gets all findings that fit.
        (
            ModelRole::Writer,
            1 + u64::from(method.drafts.max(1)) + 2 * refinements,
            u64::MAX,
            REPORT_TOKENS,
        ),
        (ModelRole::Verifier, CHECKED_SENTENCES, CHECK_TOKENS.0, CHECK_TOKENS.1),
        // Three critics see the draft and the evidence that it does not tell.
        (ModelRole::Verifier, 3 * u64::from(method.critique_rounds), u64::MAX, CRITIQUE_TOKENS),
    ];
    let mut sum = CostEstimate { calls: 0, tokens_in: 0, tokens_out: 0, usd: Some(0.0) };
    for (role, calls, sent, received) in by_role {
        let Some(spec) = question.models.get(&role) else {
            continue;
        };
        let first = spec.split(',').next().unwrap_or_default().trim();
        let own = settings.endpoints.get(&role);
        let model = resolve_model(first, settings, own, false)?;
        let room = u64::from(context_window(settings, own));
        let (sent, received) = (sent.min(room), received.min(room / 3));
        sum.calls += calls;
        sum.tokens_in += calls * sent;
        sum.tokens_out += calls * received;
        sum.usd = match (sum.usd, model.price) {
            (Some(usd), Some(price)) => Some(usd + calls as f64 * price.max_cost(sent, received)),
            _ => None,
        };
    }
    Ok(Some(sum))
}

/// The steps of a run over `question` whose models reason as much as they are asked to, with how much that is: what
/// `models.ROLE.reasoning` says, else what the step says. Only the first model of a role counts.
///
/// # Errors
/// Those of opening the models.
pub fn reasoning_steps(
    settings: &Settings,
    question: &Question,
    strategy: Strategy,
) -> Result<Vec<(&'static str, ReasoningEffort)>> {
    let mut steps = Vec::new();
    for step in model_steps(question, strategy) {
        let Some(spec) = question.models.get(&step.role) else {
            continue;
        };
        let first = spec.split(',').next().unwrap_or_default().trim();
        let model = resolve_model(first, settings, settings.endpoints.get(&step.role), false)?;
        if model.known.takes_effort() {
            steps.push((step.name, model.effort.unwrap_or(step.effort)));
        }
    }
    Ok(steps)
}

/// Parses `0.5/1.5`: dollars per million tokens of input and of output.
fn parse_price(text: &str) -> Result<Option<Price>> {
    if text.is_empty() {
        return Ok(None);
    }
    let amount = |text: &str| {
        text.trim().parse::<f64>().ok().filter(|parsed| parsed.is_finite() && *parsed >= 0.0)
    };
    let both =
        text.split_once('/').and_then(|(sent, received)| Some((amount(sent)?, amount(received)?)));
    let Some((input, output)) = both else {
        return Err(Error::new(ErrorKind::Usage, format!("setting price: invalid price `{text}`"))
            .with_hint("write dollars per million tokens of input and of output, as in 0.5/1.5"));
    };
    Ok(Some(Price { input, output, cached_input: None, cache_write: None, call: 0.0, long: None }))
}
