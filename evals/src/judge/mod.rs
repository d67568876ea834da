//! A model that judges reports: any model that Ibid can ask. Its answers are cached, its calls counted.
pub(crate) mod answer_cache;
pub(crate) mod answer_json;
pub(crate) mod cost;
pub(crate) mod prompt_text;
pub(crate) mod scripted;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use ibid_core::FailureReason;
use ibid_core::ports::{LanguageModel, Prompt, SeededRng, is_loopback_url};
use ibid_llm::adaptive::max_output_tokens;
use ibid_llm::metered::max_input_tokens;
use ibid_llm::stack::{self, ModelContext, ModelSpec};
use ibid_llm::{
    BudgetCaps, ConcurrencyLimits, CostBudget, MODEL_RETRY, ModelSpend, ModelTable, ModelTarget,
    Price, Reasoning,
};
use ibid_net::http::Timeouts;

use crate::{Fault, sets};
use answer_cache::AnswerCache;
use cost::JudgeCost;

/// How often a question is asked until an answer is usable.
pub(crate) const ATTEMPTS: u32 = 3;
/// The window in tokens of a model about which nothing is known.
const UNKNOWN_WINDOW: u64 = 32_768;
/// Tokens of a window that are left free, because counting them is an estimate.
const SPARE_TOKENS: u64 = 100;

/// A judge with its cache.
pub(crate) struct Judge {
    model: Arc<dyn LanguageModel>,
    /// Names it in the cache: provider, model and, for a server of one's own, the address.
    id: String,
    /// Its window in tokens, prompt and answer together.
    pub(crate) window: u64,
    /// Whether it may reason before it answers.
    may_reason: bool,
    /// Its price; `None` if unknown.
    price: Option<Price>,
    cache: AnswerCache,
    jobs: usize,
    budget: CostBudget,
    tally: JudgeTally,
    first_unusable: OnceLock<String>,
}

/// What a judge was asked.
#[derive(Debug, Default)]
pub(crate) struct JudgeTally {
    calls: AtomicUsize,
    cached: AtomicUsize,
    unusable: AtomicUsize,
    given_up: AtomicUsize,
}

impl Judge {
    /// The judge `spec`, `PROVIDER:MODEL`, that answers `jobs` questions at once: 4, or one on this machine, unless it is said. `window` is for
    /// a model whose window is not known.
    pub(crate) fn open(
        spec: &str,
        window: Option<u64>,
        jobs: Option<usize>,
    ) -> Result<Judge, Fault> {
        let target =
            ModelTarget::resolve(spec, &|name| std::env::var(name).ok()).map_err(|error| {
                format!("--judge {spec}: {}. {}", error.chain(), error.hint().unwrap_or_default())
            })?;
        let local = target.provider.is_local() && is_loopback_url(&target.base_url);
        let id = match local {
            true => format!("{} at {}", target.name(), target.base_url),
            false => target.name(),
        };
        let spec = ModelSpec::from_table(target, ModelTable::embedded());
        let window = window.or(spec.known.window.map(u64::from)).unwrap_or_else(|| {
            eprintln!("the window of the judge is not known: {UNKNOWN_WINDOW} tokens are taken; --window says otherwise");
            UNKNOWN_WINDOW
        });
        let price = if local { Some(Price::default()) } else { spec.price };
        let may_reason = !local && spec.known.reasoning != Some(Reasoning::None);
        let budget = CostBudget::new(BudgetCaps::default(), ModelSpend::default());
        let context = ModelContext {
            budget: budget.clone(),
            shared: Arc::default(),
            limits: ConcurrencyLimits::default(),
            retry: MODEL_RETRY,
            timeouts: Timeouts::default(),
            chance: Arc::new(SeededRng::new(1)),
            egress: Default::default(),
        };
        let model = Arc::new(stack::open(vec![spec], &context)?);
        let file: String =
            id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let cache = sets::kept("judges").join(format!("{file}.jsonl"));
        let jobs = jobs.unwrap_or(if local { 1 } else { 4 });
        Judge::of(model, id, &cache, (window, jobs)).map(|judge| Judge {
            may_reason,
            price,
            budget,
            ..judge
        })
    }

    /// A judge that is free of charge, with its answers in the file `cache`.
    pub(crate) fn of(
        model: Arc<dyn LanguageModel>,
        id: String,
        cache: &Path,
        (window, jobs): (u64, usize),
    ) -> Result<Judge, Fault> {
        let cache = AnswerCache::open(cache)?;
        if cache.skipped > 0 {
            eprintln!("{} torn lines of cached answers were skipped", cache.skipped);
        }
        Ok(Judge {
            model,
            id,
            window,
            may_reason: false,
            price: Some(Price::default()),
            cache,
            jobs: jobs.max(1),
            budget: CostBudget::new(BudgetCaps::default(), ModelSpend::default()),
            tally: JudgeTally::default(),
            first_unusable: OnceLock::new(),
        })
    }

    /// Provider and model.
    pub(crate) fn name(&self) -> &str {
        self.model.name()
    }

    /// Tokens that are left of the window for more text in `prompt`.
    pub(crate) fn room(&self, prompt: &Prompt) -> u64 {
        let used = max_input_tokens(prompt) + self.most_output(prompt) + SPARE_TOKENS;
        self.window.saturating_sub(used)
    }

    /// The most tokens that an answer to `prompt` has, with its reasoning.
    fn most_output(&self, prompt: &Prompt) -> u64 {
        match self.may_reason {
            true => u64::from(max_output_tokens(prompt, 0)),
            false => u64::from(prompt.max_tokens.unwrap_or(0)),
        }
    }

    /// Whether `prompt` and its answer fit the window.
    pub(crate) fn fits(&self, prompt: &Prompt) -> bool {
        self.room(prompt) > 0
    }

    /// What asking `prompts` costs at most, if every first answer is usable.
    pub(crate) fn cost(&self, prompts: &[Prompt]) -> JudgeCost {
        let mut cost = JudgeCost { usd: Some(0.0), ..JudgeCost::default() };
        for prompt in prompts {
            if self.cache.get(&AnswerCache::key(&self.id, prompt, 0)).is_some() {
                cost.cached += 1;
                continue;
            }
            let (input, output) = (max_input_tokens(prompt), self.most_output(prompt));
            cost.calls += 1;
            cost.input += input;
            cost.output += output;
            cost.usd =
                cost.usd.zip(self.price).map(|(usd, price)| usd + price.max_cost(input, output));
        }
        cost
    }

    /// Asks all `prompts`, several at once; what `read` makes of the first usable answer to each, `None` where no answer is usable.
    ///
    /// Fails where the judge cannot be asked at all. Every answer until then is cached.
    pub(crate) async fn ask<T>(
        &self,
        prompts: &[Prompt],
        read: impl Fn(usize, &str) -> Result<T, String>,
    ) -> Result<Vec<Option<T>>, Fault> {
        let read = &read;
        stream::iter(prompts.iter().enumerate())
            .map(|(nth, prompt)| self.ask_one(prompt, move |answer| read(nth, answer)))
            .buffered(self.jobs)
            .try_collect()
            .await
    }

    async fn ask_one<T>(
        &self,
        prompt: &Prompt,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, Fault> {
        for nth in 0..ATTEMPTS {
            let Some(answer) = self.answer(prompt, nth).await? else { break };
            match read(&answer) {
                Ok(value) => return Ok(Some(value)),
                Err(why) => {
                    self.tally.unusable.fetch_add(1, Ordering::Relaxed);
                    self.first_unusable.get_or_init(|| why);
                }
            }
        }
        self.tally.given_up.fetch_add(1, Ordering::Relaxed);
        Ok(None)
    }

    /// The `nth` answer to `prompt`, from the cache where it is there; `None` if the judge declines.
    async fn answer(&self, prompt: &Prompt, nth: u32) -> Result<Option<String>, Fault> {
        let key = AnswerCache::key(&self.id, prompt, nth);
        if let Some(answer) = self.cache.get(&key) {
            self.tally.cached.fetch_add(1, Ordering::Relaxed);
            return Ok(Some(answer));
        }
        // The same request at temperature 0 would get the same answer.
        let asked = match nth {
            0 => prompt.clone(),
            _ => Prompt { temperature: None, retry: true, ..prompt.clone() },
        };
        self.tally.calls.fetch_add(1, Ordering::Relaxed);
        match self.model.complete(&asked, None).await {
            Ok(completion) => {
                self.cache.put(&key, &completion.text)?;
                Ok(Some(completion.text))
            }
            Err(error) => match error.reason() {
                Some(FailureReason::Declined | FailureReason::PromptTooLong { .. }) => {
                    self.first_unusable.get_or_init(|| error.chain());
                    Ok(None)
                }
                _ => Err(format!(
                    "asking the judge: {}. {} The answers until here are cached: the same command goes on.",
                    error.chain(),
                    error.hint().unwrap_or_default()
                )
                .into()),
            },
        }
    }

    /// What was asked, in figures.
    pub(crate) fn counts(&self) -> Vec<(String, usize)> {
        let of = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        vec![
            ("calls to the judge".to_owned(), of(&self.tally.calls)),
            ("answers from the cache".to_owned(), of(&self.tally.cached)),
            ("answers that were unusable".to_owned(), of(&self.tally.unusable)),
            ("questions without a usable answer".to_owned(), of(&self.tally.given_up)),
        ]
    }

    /// Why the first unusable answer was unusable.
    pub(crate) fn first_unusable(&self) -> Option<&str> {
        self.first_unusable.get().map(String::as_str)
    }

    /// US dollars that were spent; `None` if the price is unknown.
    pub(crate) fn spent(&self) -> Option<f64> {
        self.price.and(self.budget.spent().usd)
    }
}
