use super::*;
use crate::adapters::model::prices::Price;
use crate::seams::{Chance, SeededChance, Tokens};

fn dollars(usd: f64) -> Charge {
    Charge {
        tokens_in: 10,
        tokens_out: 10,
        usd: Some(usd),
    }
}

fn purse(usd: f64, finishing: f64) -> Purse {
    let caps = Caps {
        usd: Some(usd),
        finishing,
        ..Caps::default()
    };
    Purse::new(caps, Spent::default())
}

#[test]
fn what_is_set_aside_is_not_given_twice() {
    let purse = purse(0.5, 0.0);
    let first = purse.reserve("m", dollars(0.3), false).unwrap();
    let error = purse.reserve("m", dollars(0.3), false).unwrap_err();
    assert_eq!(error.kind(), Kind::Exhausted);
    first.settle(dollars(0.1));
    let _second = purse.reserve("m", dollars(0.3), false).unwrap();
    assert_eq!(purse.spent().usd, Some(0.1));
    assert_eq!(purse.spent().calls, 1);
    assert_eq!(
        (purse.spent().tokens_in, purse.spent().tokens_out),
        (10, 10)
    );
}

#[test]
fn a_full_purse_says_which_budget_is_spent() {
    let error = purse(0.5, 0.0)
        .reserve("m", dollars(0.7), true)
        .unwrap_err();
    assert_eq!(
        error.chain(),
        "the budget of $0.50 is spent: $0.00 are spent, and one more call may take $0.7000"
    );
    let caps = Caps {
        calls: Some(1),
        ..Caps::default()
    };
    let calls = Purse::new(caps, Spent::default());
    let error = calls.reserve("m", dollars(0.0), false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the budget of 1 model call is spent, but for what is kept to finish the report"
    );
    assert!(calls.reserve("m", dollars(0.0), true).is_ok());
}

#[test]
fn a_call_that_went_out_is_booked_though_its_answer_is_lost() {
    let purse = purse(1.0, 0.0);
    drop(purse.reserve("m", dollars(0.2), false).unwrap());
    assert_eq!(purse.spent(), Spent::default());
    let mut sent = purse.reserve("m", dollars(0.2), false).unwrap();
    sent.sent();
    drop(sent);
    assert_eq!(purse.spent().usd, Some(0.2));
    let mut refused = purse.reserve("m", dollars(0.2), false).unwrap();
    refused.sent();
    refused.release();
    assert_eq!(purse.spent().usd, Some(0.2));
}

#[test]
fn a_cost_above_its_estimate_is_booked_and_ends_the_spending() {
    let purse = purse(0.5, 0.0);
    let reservation = purse.reserve("m", dollars(0.1), false).unwrap();
    reservation.settle(dollars(0.9));
    assert_eq!(purse.spent().usd, Some(0.9));
    let error = purse.reserve("m", dollars(0.01), true).unwrap_err();
    assert_eq!(error.kind(), Kind::Exhausted);
}

#[test]
fn what_costs_nothing_needs_no_money() {
    let purse = purse(0.0, 0.2);
    let free = purse.reserve("ollama/x", dollars(0.0), false).unwrap();
    free.settle(dollars(0.0));
    assert_eq!(purse.spent().calls, 1);
    assert!(purse.reserve("m", dollars(0.001), true).is_err());
}

#[test]
fn an_unknown_price_is_refused_only_where_money_is_bounded() {
    let unknown = Charge {
        usd: None,
        ..dollars(0.0)
    };
    let error = purse(1.0, 0.2)
        .reserve("custom/m-1", unknown, true)
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Setup);
    assert!(error.to_string().contains("custom/m-1"), "{error:?}");
    assert!(error.help().unwrap().contains("`price`"));
    let open = Purse::new(Caps::default(), Spent::default());
    open.reserve("custom/m-1", unknown, false)
        .unwrap()
        .settle(unknown);
    assert_eq!(open.spent().usd, None);
    let later = Purse::new(purse(1.0, 0.2).caps(), open.spent());
    let error = later.reserve("m", dollars(0.1), true).unwrap_err();
    assert_eq!(error.kind(), Kind::Setup);
}

#[test]
fn earlier_sittings_count() {
    let before = Spent {
        calls: 3,
        tokens_in: 50,
        tokens_out: 40,
        usd: Some(0.45),
    };
    let caps = Caps {
        usd: Some(0.5),
        tokens: Some(100),
        calls: Some(4),
        finishing: 0.0,
    };
    let purse = Purse::new(caps, before);
    assert!(purse.reserve("m", dollars(0.06), true).is_err(), "money");
    assert!(purse.reserve("m", dollars(0.01), true).is_err(), "tokens");
    let small = Charge {
        tokens_in: 5,
        tokens_out: 5,
        usd: Some(0.01),
    };
    purse.reserve("m", small, true).unwrap().settle(small);
    let none = Charge {
        usd: Some(0.0),
        ..Charge::default()
    };
    assert!(purse.reserve("m", none, true).is_err(), "calls");
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_while_those_under_way_hold_what_would_suffice() {
    let purse = purse(1.0, 0.0);
    let minute = Duration::from_secs(60);
    let held = purse.reserve("m", dollars(0.8), false).unwrap();
    let other = purse.clone();
    let waiting = tokio::spawn(async move { other.room("m", dollars(0.8), false, minute).await });
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!waiting.is_finished());
    held.settle(dollars(0.1));
    let second = waiting.await.unwrap().unwrap();
    let begun = Instant::now();
    let late = purse.room("m", dollars(0.8), false, minute).await;
    assert_eq!(late.unwrap_err().kind(), Kind::Exhausted);
    assert_eq!(begun.elapsed(), minute);
    second.settle(dollars(0.8));
    let never = purse.room("m", dollars(0.8), false, minute).await;
    assert!(never.is_err());
    assert_eq!(begun.elapsed(), minute, "what can never fit does not wait");
}

/// Numbers of one simulated run.
struct Dice(SeededChance);

impl Dice {
    fn below(&self, most: u64) -> u64 {
        (self.0.bits() as u64) % most.max(1)
    }

    fn one_in(&self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn price(&self) -> Price {
        let input = self.below(20_000) as f64 / 997.0;
        Price {
            input,
            cached_input: self.one_in(2).then_some(input / 10.0),
            cache_write: self.one_in(3).then_some(input * 1.25),
            output: self.below(80_000) as f64 / 991.0,
            ..Price::default()
        }
    }

    /// What a provider bills that keeps to the bound on tokens.
    fn bill(&self, price: &Price, most: Charge) -> Charge {
        let input = self.below(most.tokens_in + 1);
        let cached = self.below(input + 1);
        // As often as not the whole of what was set aside.
        let (input, output) = if self.one_in(2) {
            (most.tokens_in, most.tokens_out)
        } else {
            (input, self.below(most.tokens_out + 1))
        };
        let tokens = Tokens {
            input: Some(input),
            cached_input: Some(cached),
            cache_write: Some(self.below(input + 1)),
            output: Some(output),
            reasoning_output: None,
        };
        Charge {
            tokens_in: input,
            tokens_out: output,
            usd: Some(price.cost(&tokens)),
        }
    }
}

/// What the provider's own books say.
#[derive(Default)]
struct Books {
    usd: f64,
    tokens: u64,
    calls: u64,
}

/// One run: calls begin, end, fail and are cancelled in any order, at most 16 at a time.
fn simulate(seed: u64) {
    let dice = Dice(SeededChance::new(seed));
    let price = dice.price();
    let share = [0.0, 0.1, 0.15, 0.2, 0.5][dice.below(5) as usize];
    let caps = Caps {
        usd: (!dice.one_in(4)).then(|| dice.below(3_000) as f64 / 1009.0),
        tokens: dice.one_in(2).then(|| dice.below(400_000)),
        calls: dice.one_in(2).then(|| dice.below(60)),
        finishing: share,
    };
    let purse = Purse::new(caps, Spent::default());
    let finishes_early = dice.one_in(2);
    let mut under_way: Vec<(Reservation, Charge)> = Vec::new();
    let mut books = Books::default();
    let mut refused = false;
    for _ in 0..120 {
        if under_way.len() < 16 && !dice.one_in(3) {
            let (tokens_in, tokens_out) = (dice.below(20_000), dice.below(4_000));
            let most = Charge {
                tokens_in,
                tokens_out,
                usd: Some(price.most(tokens_in, tokens_out)),
            };
            let finishing = finishes_early && dice.one_in(4);
            match purse.reserve("m", most, finishing) {
                Ok(reservation) => under_way.push((reservation, most)),
                Err(error) => {
                    assert_eq!(error.kind(), Kind::Exhausted);
                    refused = true;
                }
            }
        } else if !under_way.is_empty() {
            let nth = dice.below(under_way.len() as u64) as usize;
            let (mut reservation, most) = under_way.swap_remove(nth);
            let bill = dice.bill(&price, most);
            let outcome = dice.below(6);
            let billed = match outcome {
                0 => {
                    drop(reservation);
                    false
                }
                1 => {
                    reservation.sent();
                    reservation.release();
                    false
                }
                2 => {
                    // Cancelled or lost: billed or not, nobody here knows.
                    reservation.sent();
                    drop(reservation);
                    dice.one_in(2)
                }
                _ => {
                    reservation.sent();
                    reservation.settle(bill);
                    true
                }
            };
            if billed {
                books.usd += bill.usd.unwrap();
                books.tokens += bill.tokens();
                books.calls += 1;
            }
        }
        hold(seed, &purse, &books, !finishes_early);
    }
    // None of these was sent.
    drop(under_way);
    if refused && !finishes_early && share > 0.0 {
        let left = Charge {
            tokens_in: caps.tokens.map_or(0, |it| kept(it, share, Unit::Tokens)),
            tokens_out: 0,
            usd: Some(caps.usd.map_or(0.0, |it| (it * share - 3e-9).max(0.0))),
        };
        if caps.calls != Some(0) {
            let last = purse.reserve("m", left, true);
            last.unwrap_or_else(|it| panic!("seed {seed}: nothing is left to finish with: {it:?}"))
                .settle(left);
        }
        hold(seed, &purse, &books, false);
    }
}

fn hold(seed: u64, purse: &Purse, books: &Books, research_only: bool) {
    let (caps, spent) = (purse.caps(), purse.spent());
    let share = if research_only { caps.finishing } else { 0.0 };
    let usd = spent.usd.unwrap();
    let tokens = spent.tokens_in + spent.tokens_out;
    assert!(books.usd <= usd + 1e-9, "seed {seed}: {} {usd}", books.usd);
    assert!(books.tokens <= tokens && books.calls <= spent.calls);
    if let Some(cap) = caps.usd {
        let may = cap * (1.0 - share);
        assert!(usd <= may + 1e-12, "seed {seed}: {usd} of {may}");
    }
    if let Some(cap) = caps.tokens {
        let may = cap - kept(cap, share, Unit::Tokens);
        assert!(tokens <= may, "seed {seed}: {tokens} of {may}");
    }
    if let Some(cap) = caps.calls {
        let may = cap.saturating_sub(kept(cap, share, Unit::Calls));
        assert!(spent.calls <= may, "seed {seed}: {} of {may}", spent.calls);
    }
}

#[test]
fn in_ten_thousand_runs_the_cap_holds_and_the_end_is_paid_for() {
    for seed in 0..10_000 {
        simulate(seed);
    }
}
