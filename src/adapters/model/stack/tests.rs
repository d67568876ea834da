use std::time::Duration;

use futures_util::future::join_all;

use super::*;
use crate::adapters::model::fault::ModelFault;
use crate::adapters::model::purse::{Caps, Spent};
use crate::adapters::model::scripted::{Say, Scripted, prompt, refusal};
use crate::error::Kind;
use crate::seams::SeededChance;

fn shared(usd: f64, seed: u64) -> Shared {
    let caps = Caps {
        usd: Some(usd),
        ..Caps::default()
    };
    Shared {
        egress: Default::default(),
        purse: Purse::new(caps, Spent::default()),
        limiters: Arc::default(),
        limits: Limits::default(),
        patience: Patience::default(),
        deadlines: Deadlines::default(),
        chance: Arc::new(SeededChance::new(seed)),
    }
}

fn chosen() -> Chosen {
    let found = Target::find("openai/gpt-5-mini", &|name| {
        (name == "OPENAI_API_KEY").then(|| "sk-1".to_owned())
    });
    Chosen {
        price: Some(Price {
            input: 1000.0,
            output: 2000.0,
            ..Price::default()
        }),
        most_output: 100,
        ..Chosen::listed(found.unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn every_try_that_may_be_billed_is_booked() {
    let shared = shared(5.0, 1);
    let script = [
        refusal(429, Some(3)),
        Say::Fault("Mo", ModelFault::cut_off()),
        Say::Text("Moss."),
    ];
    let model = Scripted::new("openai/gpt-5-mini", script);
    let whole = wrapped(model.clone(), &chosen(), &shared);
    let answer = whole.complete(&prompt("plan")).await.unwrap();
    assert_eq!(answer.cost_usd, Some(0.12));
    let spent = shared.purse.spent();
    assert_eq!(model.count(), 3);
    assert_eq!(spent.calls, 2, "the refusal is no call");
    assert_eq!(spent.usd, Some(0.341), "0.221 at most for the one cut off");
}

#[tokio::test(start_paused = true)]
async fn a_spent_purse_is_neither_tried_again_nor_passed_on() {
    let shared = shared(0.1, 1);
    let models = [Scripted::new("a/one", []), Scripted::new("b/two", [])];
    let choice = |it: &Arc<Scripted>| Choice {
        model: wrapped(it.clone(), &chosen(), &shared),
        window: None,
    };
    let all = Failover::new(models.iter().map(choice).collect()).unwrap();
    let error = all.complete(&prompt("write")).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Exhausted);
    assert!(
        error
            .to_string()
            .starts_with("the budget of $0.10 is spent")
    );
    assert_eq!((models[0].count(), models[1].count()), (0, 0));
}

/// Sixteen calls at once, that fail, are refused and are cut off: the provider's own bill stays under the cap.
#[tokio::test(start_paused = true)]
async fn no_storm_of_faults_leads_past_the_cap() {
    for seed in 0..300 {
        let dice = SeededChance::new(seed);
        let cap = 0.3 + (dice.bits() % 400) as f64 / 100.0;
        let shared = shared(cap, seed);
        // A try that the provider may bill in full costs 0.221 dollars, a refusal nothing.
        let mut most_billed = 0;
        let script: Vec<Say> = (0..40)
            .map(|_| match dice.bits() % 5 {
                0 => refusal(429, Some((dice.bits() % 9) as u64)),
                1 => refusal(503, None),
                2 => refusal(500, None),
                3 => Say::Fault("Mo", ModelFault::cut_off()),
                _ => Say::Text("ok"),
            })
            .collect();
        for say in &script {
            most_billed +=
                u32::from(matches!(say, Say::Fault(_, it) if it.status.is_none_or(|it| it == 500)));
        }
        let takes = Duration::from_millis((dice.bits() % 5000) as u64);
        let model = Scripted::taking(takes, "openai/gpt-5-mini", script);
        let whole = wrapped(model.clone(), &chosen(), &shared);
        let ask = |nth: u32| {
            let whole = Arc::clone(&whole);
            async move {
                let seconds = Duration::from_secs(u64::from(nth) * 3 + 1);
                let prompt = prompt(if nth.is_multiple_of(4) {
                    "write"
                } else {
                    "weigh"
                });
                tokio::time::timeout(seconds, whole.complete(&prompt)).await
            }
        };
        let answers = join_all((0..16).map(ask)).await;
        let spent = shared.purse.spent();
        let usd = spent.usd.unwrap();
        assert!(usd <= cap, "seed {seed}: {usd} of {cap}");
        let answered = answers.iter().flatten().filter(|it| it.is_ok()).count();
        assert!(usd + 1e-9 >= 0.12 * answered as f64);
        assert!(spent.calls <= answered as u64 + u64::from(most_billed) + 16);
    }
}
