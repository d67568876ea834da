use std::time::Duration;

use futures_util::future::join_all;

use super::*;
use crate::cost_budget::{BudgetCaps, ModelSpend};
use crate::scripted::{ScriptedModel, ScriptedReply, prompt, refusal};
use ibid_core::ErrorKind;
use ibid_core::ports::SeededRng;
use ibid_net::service_error::ServiceError;

fn shared(usd: f64, seed: u64) -> ModelContext {
    let caps = BudgetCaps { usd: Some(usd), ..BudgetCaps::default() };
    ModelContext {
        egress: Default::default(),
        budget: CostBudget::new(caps, ModelSpend::default()),
        shared: Arc::default(),
        limits: ConcurrencyLimits::default(),
        retry: crate::MODEL_RETRY,
        timeouts: Timeouts::default(),
        chance: Arc::new(SeededRng::new(seed)),
    }
}

fn chosen() -> ModelSpec {
    let found = ModelTarget::resolve("openai/gpt-5-mini", &|name| {
        (name == "OPENAI_API_KEY").then(|| "sk-1".to_owned())
    });
    ModelSpec {
        price: Some(Price { input: 1000.0, output: 2000.0, ..Price::default() }),
        max_output: 100,
        ..ModelSpec::from_table(found.unwrap(), ModelTable::embedded())
    }
}

#[tokio::test(start_paused = true)]
async fn every_try_that_may_be_billed_is_booked() {
    let shared = shared(5.0, 1);
    let script = [
        refusal(429, Some(3)),
        ScriptedReply::Fault("Mo", ServiceError::truncated()),
        ScriptedReply::Text("Moss."),
    ];
    let model = ScriptedModel::new("openai/gpt-5-mini", script);
    let whole = wrap(model.clone(), &chosen(), &shared);
    let answer = whole.complete(&prompt("plan"), None).await.unwrap();
    assert_eq!(answer.cost_usd, Some(0.12));
    let spent = shared.budget.spent();
    assert_eq!(model.count(), 3);
    assert_eq!(spent.calls, 2, "the refusal is no call");
    assert_eq!(spent.usd, Some(0.341), "0.221 at most for the one cut off");
}

#[tokio::test(start_paused = true)]
async fn a_spent_purse_is_neither_tried_again_nor_passed_on() {
    let shared = shared(0.1, 1);
    let models = [ScriptedModel::new("a/one", []), ScriptedModel::new("b/two", [])];
    let choice = |model: &Arc<ScriptedModel>| FailoverChoice {
        model: wrap(model.clone(), &chosen(), &shared),
        window: None,
    };
    let all = FailoverModel::new(models.iter().map(choice).collect()).unwrap();
    let error = all.complete(&prompt("write"), None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    assert!(error.to_string().starts_with("the budget of $0.10 is spent"));
    assert_eq!((models[0].count(), models[1].count()), (0, 0));
}

/// Sixteen concurrent calls that fail, are rejected or break off: the provider's bill stays below the limit.
#[tokio::test(start_paused = true)]
async fn no_storm_of_faults_leads_past_the_cap() {
    for seed in 0..300 {
        let dice = SeededRng::new(seed);
        let cap = 0.3 + (dice.next_u128() % 400) as f64 / 100.0;
        let shared = shared(cap, seed);
        // An attempt that may be billed in full costs 0.221 dollars, a rejected one nothing.
        let mut most_billed = 0;
        let script: Vec<ScriptedReply> = (0..40)
            .map(|_| match dice.next_u128() % 5 {
                0 => refusal(429, Some((dice.next_u128() % 9) as u64)),
                1 => refusal(503, None),
                2 => refusal(500, None),
                3 => ScriptedReply::Fault("Mo", ServiceError::truncated()),
                _ => ScriptedReply::Text("ok"),
            })
            .collect();
        for say in &script {
            most_billed += u32::from(
                matches!(say, ScriptedReply::Fault(_, it) if it.status.is_none_or(|status| status == 500)),
            );
        }
        let takes = Duration::from_millis((dice.next_u128() % 5000) as u64);
        let model = ScriptedModel::with_delay(takes, "openai/gpt-5-mini", script);
        let whole = wrap(model.clone(), &chosen(), &shared);
        let ask = |nth: u32| {
            let whole = Arc::clone(&whole);
            async move {
                let seconds = Duration::from_secs(u64::from(nth) * 3 + 1);
                let prompt = prompt(if nth.is_multiple_of(4) { "write" } else { "weigh" });
                tokio::time::timeout(seconds, whole.complete(&prompt, None)).await
            }
        };
        let answers = join_all((0..16).map(ask)).await;
        let spent = shared.budget.spent();
        let usd = spent.usd.unwrap();
        assert!(usd <= cap, "seed {seed}: {usd} of {cap}");
        let answered = answers.iter().flatten().filter(|answer| answer.is_ok()).count();
        assert!(usd + 1e-9 >= 0.12 * answered as f64);
        assert!(spent.calls <= answered as u64 + u64::from(most_billed) + 16);
    }
}
