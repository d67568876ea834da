//! Round by round: ask for what is open, read what is found, weigh it, see what is covered.
mod recall;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::domain::words::share;
use crate::domain::{
    Brief, Complexity, Coverage, Effort, Gate, Item, ItemId, Mode, Notes, Plan, Query, Question,
    StopReason, Usage, Variation, Vertical,
};
use crate::error::{Error, Result};
use crate::record::{Event, Phase};
use crate::research::aid::Aid;
use crate::research::cover::{self, Standing};
use crate::research::gathered::Gathered;
use crate::research::read::{self, Shelf};
use crate::research::search::{self, Found};
use crate::research::searches;
use crate::research::unaided::queries::{self, Places};
use crate::research::unaided::score::Scale;
use crate::research::weigh;
use crate::seams::{Go, Log, SearchProvider, World};

/// How far to go.
struct Pace {
    rounds: u32,
    breadth: u32,
}

impl Pace {
    /// By the method's numbers; a short answer takes one round, and effort `auto` goes by complexity.
    fn of(question: &Question, plan: &Plan) -> Pace {
        let method = &question.method;
        let mut rounds = method.depth.min(method.max_iterations).max(1);
        let mut breadth = method.breadth.max(1);
        if method.effort == Effort::Auto {
            (rounds, breadth) = match plan.complexity {
                Complexity::Simple => (rounds.min(1), breadth.min(3)),
                Complexity::Moderate => (rounds.min(2), breadth),
                Complexity::Complex => (rounds, breadth),
            };
        }
        if question.mode == Mode::Answer {
            (rounds, breadth) = (1, breadth.min(2));
        }
        Pace { rounds, breadth }
    }
}

/// Gathering as it goes.
pub(crate) struct Gathering<'a> {
    world: &'a World,
    /// Who is told of it.
    pub(crate) log: &'a Log,
    question: &'a Question,
    brief: &'a Brief,
    pace: Pace,
    places: Places,
    /// What was found so far.
    pub(crate) gathered: Gathered,
    /// What weighed it; it knows the words met.
    pub(crate) scale: Scale,
    standing: Standing,
    found: Found,
    asked: BTreeSet<Vec<String>>,
}

impl<'a> Gathering<'a> {
    pub(crate) fn begin(
        world: &'a World,
        log: &'a Log,
        question: &'a Question,
        brief: &'a Brief,
        plan: Plan,
    ) -> Result<Gathering<'a>> {
        let scale = Scale::new(brief, &plan)?;
        let pace = Pace::of(question, &plan);
        let notes = Notes::new(plan);
        let gate = Gate::of(&question.method).judge(&notes, 0);
        Ok(Gathering {
            world,
            log,
            question,
            brief,
            pace,
            places: Places::of(&world.search, &question.text),
            gathered: Gathered {
                notes,
                shelf: Shelf::without(&world.unreadable),
                coverage: Vec::new(),
                gate,
                stop: StopReason::NoNewEvidence,
                usage: Usage::default(),
                waves: 0,
                engines: world.search.iter().map(|it| it.name().to_owned()).collect(),
                queries: Vec::new(),
            },
            scale,
            standing: Standing::default(),
            found: Found::default(),
            asked: BTreeSet::new(),
        })
    }

    /// Round after round until there is enough, nothing new, or nothing left to spend.
    pub(crate) async fn until_enough(&mut self, aid: &mut Aid<'_>) -> Result<()> {
        let plan = &self.gathered.notes.plan;
        let breadth = self.pace.breadth;
        let mut next = queries::first_round(
            &self.places,
            self.question,
            self.brief,
            plan,
            breadth,
            &mut self.asked,
        )?;
        if self.knows_enough() {
            self.gathered.stop = StopReason::CoverageReached;
            return Ok(());
        }
        let open = self.still_open();
        next.retain(|it| open.contains(&it.item));
        self.gathered.stop = loop {
            let wave = self.gathered.waves;
            if wave > 0
                && let Go::Finish(reason) = self
                    .world
                    .steering
                    .go(&format!("wave-{}", wave + 1))
                    .await?
            {
                self.log.emit(Event::RunFinishing { reason });
                break reason;
            }
            let (cut, new) = self.round(aid, next).await?;
            if let Some(reason) = self.enough(new) {
                break reason;
            }
            if cut || self.spent() {
                self.log.emit(Event::BudgetWarning {
                    message: cover::spent_message(&self.gathered.usage),
                });
                break StopReason::BudgetCalls;
            }
            next = self.for_what_is_open(aid).await?;
            if next.is_empty() {
                break StopReason::NoNewEvidence;
            }
        };
        Ok(())
    }

    /// Hears the word on writing: whoever was hurried in the last round did not end by themselves.
    pub(crate) fn told(&mut self, word: Go) {
        let ended = matches!(
            self.gathered.stop,
            StopReason::MaxIterations | StopReason::NoNewEvidence
        );
        if let (true, Go::Finish(reason @ (StopReason::UserFinish | StopReason::BudgetTime))) =
            (ended, word)
        {
            self.gathered.stop = reason;
        }
    }

    /// One more round for what a writer lacks (row A9); whether it brought anything. `nth` counts these rounds from 1.
    pub(crate) async fn for_more(
        &mut self,
        aid: &mut Aid<'_>,
        wanted: &[String],
        nth: u32,
    ) -> Result<bool> {
        if self.spent() {
            return Ok(false);
        }
        let step = format!("refine-{nth}");
        if let Go::Finish(reason) = self.world.steering.go(&step).await? {
            self.log.emit(Event::RunFinishing { reason });
            return Ok(false);
        }
        let mut next = Vec::new();
        for query in wanted {
            let items = self.gathered.notes.plan.items().iter();
            let near = |it: &Item| share(query, &format!("{} {}", it.asks, it.query));
            let item = items.reduce(|best, it| if near(it) > near(best) { it } else { best });
            let Some(item) = item else { continue };
            let own = vec![(Variation::Gap, query.clone())];
            next.extend(queries::given(
                &self.places,
                self.question,
                item,
                own,
                1,
                &mut self.asked,
            ));
        }
        if next.is_empty() {
            return Ok(false);
        }
        let (_, new) = self.round(aid, next).await?;
        Ok(new > 0)
    }

    /// Search, read, weigh, and see what is covered; whether searches fell away, and how much evidence is new.
    async fn round(&mut self, aid: &mut Aid<'_>, mut next: Vec<Query>) -> Result<(bool, u32)> {
        let (world, log, question, brief) = (self.world, self.log, self.question, self.brief);
        let got = &mut self.gathered;
        got.waves += 1;
        let wave = got.waves;
        log.enter(Phase::Research, Some(wave));
        let items = items_of(&next);
        let cut = within_searches(question, &got.usage, &mut next, folders(world));
        log.emit(Event::WaveStarted {
            items: items.clone(),
            queries: next.len() as u32,
        });
        note(&mut got.queries, &next);
        let found = &mut self.found;
        let fault = search::search(world, log, &next, found, &mut got.usage).await?;
        log.flush().await?;
        all_failed(fault, found, &got.usage)?;
        self.follow_names(&items).await?;
        let (got, found) = (&mut self.gathered, &mut self.found);

        let wanted = found
            .choose(world, log, question, brief, &items, &got.shelf)
            .await?;
        let fresh = read::read(
            world,
            log,
            question,
            wanted,
            &mut got.shelf,
            &mut got.notes,
            &mut got.usage,
        )
        .await?;
        log.flush().await?;
        let round = weigh::Round {
            question,
            brief,
            fresh: &fresh,
            wave,
        };
        let new = weigh::weigh(
            log,
            aid,
            &round,
            &mut self.scale,
            &mut got.notes,
            &got.shelf,
        )
        .await?;
        log.emit(Event::BudgetUpdated {
            usage: got.usage.with_models(&aid.usage()),
        });

        let standing = &mut self.standing;
        standing.update(brief, &got.notes, &mut self.scale, wave, found.domains())?;
        standing.judge(aid, brief, &got.notes, wave).await?;
        standing.tell(log);
        got.coverage.clone_from(&standing.rows);
        got.gate = Gate::of(&question.method).judge(&got.notes, found.domains());
        log.emit(Event::GateJudged {
            verdict: got.gate.clone(),
        });
        log.emit(Event::WaveFinished {
            new_evidence: new,
            new_sources: fresh.len() as u32,
        });
        log.flush().await?;
        Ok((cut, new))
    }

    /// Searches for the names that the documents just found lead on to, where the question names those documents; as many
    /// as an item gets queries in a round.
    async fn follow_names(&mut self, items: &[ItemId]) -> Result<()> {
        let most = self.pace.breadth as usize;
        let mut next = Vec::new();
        for (item, name) in self.found.leads(&self.brief.question, items, most) {
            let Some(item) = self.gathered.notes.plan.item(item) else {
                continue;
            };
            let own = vec![(Variation::Gap, name)];
            next.extend(queries::given(
                &self.places,
                self.question,
                item,
                own,
                1,
                &mut self.asked,
            ));
        }
        let got = &mut self.gathered;
        within_searches(self.question, &got.usage, &mut next, folders(self.world));
        if next.is_empty() {
            return Ok(());
        }
        note(&mut got.queries, &next);
        search::search(self.world, self.log, &next, &mut self.found, &mut got.usage).await?;
        self.log.flush().await
    }

    /// Whether looking may end, and why (rows B6, C3, D1, D11).
    fn enough(&self, new: u32) -> Option<StopReason> {
        let wave = self.gathered.waves;
        let threshold = self.question.method.completeness_threshold;
        if self.gathered.gate.pass && self.standing.good(threshold) {
            return Some(StopReason::CoverageReached);
        }
        if new == 0 && wave > 1 {
            return Some(StopReason::NoNewEvidence);
        }
        (wave >= self.pace.rounds).then_some(StopReason::MaxIterations)
    }

    fn spent(&self) -> bool {
        spent(self.question, &self.gathered.usage, folders(self.world))
    }

    /// Queries for what is still open, each gap told (rows D6, E11).
    async fn for_what_is_open(&mut self, aid: &mut Aid<'_>) -> Result<Vec<Query>> {
        let got = &self.gathered;
        let plan = &got.notes.plan;
        let rows = &self.standing.rows;
        let thought = searches::thought_of(aid, self.brief, plan, rows, &got.queries).await?;
        let mut next = Vec::new();
        for row in rows {
            if !matches!(row.state, Coverage::Open | Coverage::Partial) {
                continue;
            }
            let (Some(item), Some(gap)) = (plan.item(row.id), self.standing.gaps.get(&row.id))
            else {
                continue;
            };
            self.log.emit(Event::GapFound {
                item: row.id,
                gap: gap.text.clone(),
                gap_query: gap.query.clone(),
            });
            let own: Vec<(Variation, String)> = thought
                .iter()
                .filter(|it| it.item == item.id)
                .map(|it| (it.variation, it.query.trim().to_owned()))
                .collect();
            let most = self.pace.breadth.min(3);
            let by_model = queries::given(
                &self.places,
                self.question,
                item,
                own,
                most,
                &mut self.asked,
            );
            if by_model.is_empty() {
                let met = got.shelf.names_met(self.brief);
                next.extend(queries::gap_round(
                    &self.places,
                    self.question,
                    item,
                    &gap.query,
                    &met,
                    most,
                    &mut self.asked,
                ));
            }
            next.extend(by_model);
        }
        Ok(next)
    }
}

/// Adds the words of `queries` to those asked so far, each once.
fn note(asked: &mut Vec<String>, queries: &[Query]) {
    for it in queries {
        if !asked.contains(&it.text) {
            asked.push(it.text.clone());
        }
    }
}

/// How many searches a query to folders is; a query to the outside is one, or few where engines fail.
fn folders(world: &World) -> usize {
    let local = |it: &&Arc<dyn SearchProvider>| it.verticals().contains(&Vertical::Local);
    world.search.iter().filter(local).count().max(1)
}

fn items_of(queries: &[Query]) -> Vec<ItemId> {
    let all: BTreeSet<ItemId> = queries.iter().map(|it| it.item).collect();
    all.into_iter().collect()
}

/// Cuts the round to the searches that may still be sent; whether any fell away.
fn within_searches(
    question: &Question,
    usage: &Usage,
    next: &mut Vec<Query>,
    engines: usize,
) -> bool {
    let engines = engines.max(1) as u64;
    let by_searches = question
        .budget
        .searches
        .map(|it| it.saturating_sub(usage.searches));
    // Of the calls left, half are kept for reading.
    let by_calls = question
        .budget
        .calls
        .map(|it| it.saturating_sub(usage.calls()).div_ceil(2));
    let Some(left) = by_searches.into_iter().chain(by_calls).min() else {
        return false;
    };
    let room = (left / engines) as usize;
    let cut = next.len() > room;
    next.truncate(room);
    cut
}

fn spent(question: &Question, usage: &Usage, engines: usize) -> bool {
    let budget = &question.budget;
    budget
        .calls
        .is_some_and(|it| usage.calls() + engines as u64 >= it)
        || budget
            .searches
            .is_some_and(|it| usage.searches + engines as u64 > it)
        || budget.pages.is_some_and(|it| usage.pages >= it)
}

/// When no search came back at all, the run ends with what they failed with (row E11).
fn all_failed(fault: Option<Error>, found: &Found, usage: &Usage) -> Result<()> {
    match fault {
        Some(fault) if found.answered == 0 && usage.searches > 0 => Err(fault),
        _ => Ok(()),
    }
}
