use super::*;
use crate::prices::Price;
use ibid_core::ports::{Rng, SeededRng, TokenUsage};

fn dollars(usd: f64) -> CallCost {
    CallCost { tokens_in: 10, tokens_out: 10, usd: Some(usd) }
}

fn budget(usd: f64, finishing: f64) -> CostBudget {
    let caps = BudgetCaps { usd: Some(usd), finishing, ..BudgetCaps::default() };
    CostBudget::new(caps, ModelSpend::default())
}

#[test]
fn what_is_set_aside_is_not_given_twice() {
    let budget = budget(0.5, 0.0);
    let first = budget.reserve("m", dollars(0.3), false).unwrap();
    let error = budget.reserve("m", dollars(0.3), false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    first.settle(dollars(0.1));
    let _second = budget.reserve("m", dollars(0.3), false).unwrap();
    assert_eq!(budget.spent().usd, Some(0.1));
    assert_eq!(budget.spent().calls, 1);
    assert_eq!((budget.spent().tokens_in, budget.spent().tokens_out), (10, 10));
}

#[test]
fn a_full_purse_says_which_budget_is_spent() {
    let error = budget(0.5, 0.0).reserve("m", dollars(0.7), true).unwrap_err();
    assert_eq!(
        error.chain(),
        "the budget of $0.50 is spent: $0.00 spent, and one more call may cost $0.7000"
    );
    let caps = BudgetCaps { calls: Some(1), ..BudgetCaps::default() };
    let calls = CostBudget::new(caps, ModelSpend::default());
    let error = calls.reserve("m", dollars(0.0), false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the budget of 1 model call is spent, except for the share kept to finish the report"
    );
    assert!(calls.reserve("m", dollars(0.0), true).is_ok());
}

#[test]
fn a_call_that_went_out_is_booked_though_its_answer_is_lost() {
    let budget = budget(1.0, 0.0);
    drop(budget.reserve("m", dollars(0.2), false).unwrap());
    assert_eq!(budget.spent(), ModelSpend::default());
    let mut sent = budget.reserve("m", dollars(0.2), false).unwrap();
    sent.mark_sent();
    drop(sent);
    assert_eq!(budget.spent().usd, Some(0.2));
    let mut refused = budget.reserve("m", dollars(0.2), false).unwrap();
    refused.mark_sent();
    refused.release();
    assert_eq!(budget.spent().usd, Some(0.2));
}

#[test]
fn a_cost_above_its_estimate_is_booked_and_ends_the_spending() {
    let budget = budget(0.5, 0.0);
    let reservation = budget.reserve("m", dollars(0.1), false).unwrap();
    reservation.settle(dollars(0.9));
    assert_eq!(budget.spent().usd, Some(0.9));
    let error = budget.reserve("m", dollars(0.01), true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exhausted);
}

#[test]
fn what_costs_nothing_needs_no_money() {
    let budget = budget(0.0, 0.2);
    let free = budget.reserve("ollama/x", dollars(0.0), false).unwrap();
    free.settle(dollars(0.0));
    assert_eq!(budget.spent().calls, 1);
    assert!(budget.reserve("m", dollars(0.001), true).is_err());
}

#[test]
fn an_unknown_price_is_refused_only_where_money_is_bounded() {
    let unknown = CallCost { usd: None, ..dollars(0.0) };
    let error = budget(1.0, 0.2).reserve("custom/m-1", unknown, true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Setup);
    assert!(error.to_string().contains("custom/m-1"), "{error:?}");
    assert!(error.hint().unwrap().contains("`price`"));
    let open = CostBudget::new(BudgetCaps::default(), ModelSpend::default());
    open.reserve("custom/m-1", unknown, false).unwrap().settle(unknown);
    assert_eq!(open.spent().usd, None);
    let later = CostBudget::new(budget(1.0, 0.2).0.caps, open.spent());
    let error = later.reserve("m", dollars(0.1), true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Setup);
}

#[test]
fn earlier_sittings_count() {
    let before = ModelSpend { calls: 3, tokens_in: 50, tokens_out: 40, usd: Some(0.45) };
    let caps = BudgetCaps { usd: Some(0.5), tokens: Some(100), calls: Some(4), finishing: 0.0 };
    let budget = CostBudget::new(caps, before);
    assert!(budget.reserve("m", dollars(0.06), true).is_err(), "money");
    assert!(budget.reserve("m", dollars(0.01), true).is_err(), "tokens");
    let small = CallCost { tokens_in: 5, tokens_out: 5, usd: Some(0.01) };
    budget.reserve("m", small, true).unwrap().settle(small);
    let none = CallCost { usd: Some(0.0), ..CallCost::default() };
    assert!(budget.reserve("m", none, true).is_err(), "calls");
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_while_those_under_way_hold_what_would_suffice() {
    let budget = budget(1.0, 0.0);
    let minute = Duration::from_secs(60);
    let held = budget.reserve("m", dollars(0.8), false).unwrap();
    let other = budget.clone();
    let waiting =
        tokio::spawn(async move { other.reserve_or_wait("m", dollars(0.8), false, minute).await });
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!waiting.is_finished());
    held.settle(dollars(0.1));
    let second = waiting.await.unwrap().unwrap();
    let begun = Instant::now();
    let late = budget.reserve_or_wait("m", dollars(0.8), false, minute).await;
    assert_eq!(late.unwrap_err().kind(), ErrorKind::Exhausted);
    assert_eq!(begun.elapsed(), minute);
    second.settle(dollars(0.8));
    let never = budget.reserve_or_wait("m", dollars(0.8), false, minute).await;
    assert!(never.is_err());
    assert_eq!(begun.elapsed(), minute, "what can never fit does not wait");
}

/// Random numbers of one simulated run.
struct SeededDice(SeededRng);

impl SeededDice {
    fn below(&self, most: u64) -> u64 {
        (self.0.next_u128() as u64) % most.max(1)
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

    /// What a provider bills if it respects the token limit.
    fn bill(&self, price: &Price, most: CallCost) -> CallCost {
        let input = self.below(most.tokens_in + 1);
        let cached = self.below(input + 1);
        // In half of the cases, the whole reservation.
        let (input, output) = if self.one_in(2) {
            (most.tokens_in, most.tokens_out)
        } else {
            (input, self.below(most.tokens_out + 1))
        };
        let tokens = TokenUsage {
            input: Some(input),
            cached_input: Some(cached),
            cache_write: Some(self.below(input + 1)),
            output: Some(output),
            reasoning_output: None,
        };
        CallCost { tokens_in: input, tokens_out: output, usd: Some(price.cost(&tokens)) }
    }
}

/// The provider's own accounting.
#[derive(Default)]
struct Ledger {
    usd: f64,
    tokens: u64,
    calls: u64,
}

/// Simulates a run: calls start, end, fail and are cancelled in any order, at most 16 at a time.
fn simulate(seed: u64) {
    let dice = SeededDice(SeededRng::new(seed));
    let price = dice.price();
    let share = [0.0, 0.1, 0.15, 0.2, 0.5][dice.below(5) as usize];
    let caps = BudgetCaps {
        usd: (!dice.one_in(4)).then(|| dice.below(3_000) as f64 / 1009.0),
        tokens: dice.one_in(2).then(|| dice.below(400_000)),
        calls: dice.one_in(2).then(|| dice.below(60)),
        finishing: share,
    };
    let budget = CostBudget::new(caps, ModelSpend::default());
    let finishes_early = dice.one_in(2);
    let mut under_way: Vec<(Reservation, CallCost)> = Vec::new();
    let mut books = Ledger::default();
    let mut refused = false;
    for _ in 0..120 {
        if under_way.len() < 16 && !dice.one_in(3) {
            let (tokens_in, tokens_out) = (dice.below(20_000), dice.below(4_000));
            let most = CallCost {
                tokens_in,
                tokens_out,
                usd: Some(price.max_cost(tokens_in, tokens_out)),
            };
            let finishing = finishes_early && dice.one_in(4);
            match budget.reserve("m", most, finishing) {
                Ok(reservation) => under_way.push((reservation, most)),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Exhausted);
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
                    reservation.mark_sent();
                    reservation.release();
                    false
                }
                2 => {
                    // Cancelled or lost: it is unknown whether the call is billed.
                    reservation.mark_sent();
                    drop(reservation);
                    dice.one_in(2)
                }
                _ => {
                    reservation.mark_sent();
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
        hold(seed, &budget, &books, !finishes_early);
    }
    // None of these was sent.
    drop(under_way);
    if refused && !finishes_early && share > 0.0 {
        let left = CallCost {
            tokens_in: caps
                .tokens
                .map_or(0, |tokens| finishing_share(tokens, share, BudgetUnit::Tokens)),
            tokens_out: 0,
            usd: Some(caps.usd.map_or(0.0, |usd| (usd * share - 3e-9).max(0.0))),
        };
        if caps.calls != Some(0) {
            let last = budget.reserve("m", left, true);
            last.unwrap_or_else(|error| panic!("seed {seed}: nothing is left: {error:?}"))
                .settle(left);
        }
        hold(seed, &budget, &books, false);
    }
}

fn hold(seed: u64, budget: &CostBudget, books: &Ledger, research_only: bool) {
    let (caps, spent) = (budget.0.caps, budget.spent());
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
        let may = cap - finishing_share(cap, share, BudgetUnit::Tokens);
        assert!(tokens <= may, "seed {seed}: {tokens} of {may}");
    }
    if let Some(cap) = caps.calls {
        let may = cap.saturating_sub(finishing_share(cap, share, BudgetUnit::Calls));
        assert!(spent.calls <= may, "seed {seed}: {} of {may}", spent.calls);
    }
}

#[test]
fn in_ten_thousand_runs_the_cap_holds_and_the_end_is_paid_for() {
    for seed in 0..10_000 {
        simulate(seed);
    }
}
