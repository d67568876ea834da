//! What every strategy gathers with: ask, read, weigh, see what is covered, and know when it is enough.
use std::collections::{BTreeMap, BTreeSet};

use crate::domain::words::share;
use crate::domain::{
    Brief, Complexity, Coverage, CoverageRow, Effort, Gate, Item, ItemId, ItemStatus, Mode, Notes,
    Plan, Query, Question, SearchTask, StopReason, Strategy, Team, Usage, Variation,
};
use crate::error::Result;
use crate::record::{Event, Phase};
use crate::research::aid::Aid;
use crate::research::cover::{self, Standing};
use crate::research::gathered::Gathered;
use crate::research::query_policy::QueryPolicy;
use crate::research::read;
use crate::research::search::{self, Found};
use crate::research::searches::{self, PAGES_OF_A_REFINEMENT};
use crate::research::shelf::Shelf;
use crate::research::steps::asks_for_names;
use crate::research::trust;
use crate::research::unaided::queries::{self, Places, Words};
use crate::research::unaided::score::Scale;
use crate::research::weigh;
use crate::seams::{Go, Log, World};

use super::allowance::{all_failed, folders, items_of, note, spent, within_searches};
use super::content;
use super::names;

/// What the scores of all items must rise by together for a wave to have been worth it.
const LITTLE: f32 = 0.02;

/// The item that a search is nearest to.
fn nearest<'p>(plan: &'p Plan, query: &str) -> Option<&'p Item> {
    let near = |it: &Item| share(query, &format!("{} {}", it.asks, it.query));
    let items = plan.items().iter();
    items.reduce(|best, it| if near(it) > near(best) { it } else { best })
}

/// How far to go.
pub(super) struct Pace {
    /// Rounds of search, read and weigh.
    pub(super) rounds: u32,
    /// Queries of an item in a round.
    pub(super) breadth: u32,
    /// A supervisor and its researchers.
    pub(super) team: Team,
}

impl Pace {
    /// By the method's numbers; a short answer takes one round, and effort `auto` goes by complexity and kind.
    fn of(question: &Question, brief: &Brief, plan: &Plan) -> Pace {
        let method = &question.method;
        let mut rounds = method.depth.min(method.max_iterations).max(1);
        let mut breadth = method.breadth.max(1);
        let mut team = method.team;
        if method.effort == Effort::Auto {
            team = method.team_for(brief.kind, plan.complexity);
            (rounds, breadth) = match plan.complexity {
                Complexity::Simple => (rounds.min(1), breadth.min(3)),
                Complexity::Moderate => (rounds.min(2), breadth),
                Complexity::Complex => (rounds, breadth),
            };
        }
        if question.mode == Mode::Answer {
            (rounds, breadth) = (1, breadth.min(2));
        }
        Pace {
            rounds,
            breadth,
            team,
        }
    }
}

/// What a round came to.
pub(super) struct Round {
    /// Whether searches fell away, because the budget had no room for them.
    pub(super) cut: bool,
    /// Evidence found.
    pub(super) new: u32,
}

/// How good the notes were after a round: what the next one is held against (row D11, marginal utility).
#[derive(Default, Clone, Copy)]
struct Worth {
    covered: f32,
    scores: f32,
    domains: u32,
}

/// Gathering as it goes: the state that all strategies share.
pub(crate) struct Gathering<'a> {
    pub(super) world: &'a World,
    /// Who is told of it.
    pub(crate) log: &'a Log,
    pub(super) question: &'a Question,
    pub(super) brief: &'a Brief,
    pub(super) pace: Pace,
    pub(super) places: Places,
    /// What was found so far.
    pub(crate) gathered: Gathered,
    /// What weighed it; it knows the words met.
    pub(crate) scale: Scale,
    pub(super) standing: Standing,
    pub(super) found: Found,
    pub(super) asked: BTreeSet<Vec<String>>,
    statuses: BTreeMap<ItemId, ItemStatus>,
    worth: Worth,
    gain: Worth,
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
        let pace = Pace::of(question, brief, &plan);
        let strategy = question.strategy(plan.complexity);
        let notes = Notes::new(plan);
        let gate = Gate::of(&question.method).judge(&notes, 0);
        let policy = QueryPolicy::planned(world, question, brief, &notes.plan);
        Ok(Gathering {
            world,
            log,
            question,
            brief,
            pace,
            places: Places::of(&world.search, &question.text, policy),
            gathered: Gathered {
                notes,
                shelf: Shelf::without(&world.unreadable),
                coverage: Vec::new(),
                gate,
                stop: StopReason::NoNewEvidence,
                usage: Usage::default(),
                waves: 0,
                strategy,
                engines: world.search.iter().map(|it| it.name().to_owned()).collect(),
                queries: Vec::new(),
            },
            scale,
            standing: Standing::default(),
            found: Found::default(),
            asked: BTreeSet::new(),
            statuses: BTreeMap::new(),
            worth: Worth::default(),
            gain: Worth::default(),
        })
    }

    /// The word of steering before the next round; why to end, where it says so.
    pub(super) async fn hurried(&self, aid: &Aid<'_>) -> Result<Option<StopReason>> {
        let wave = self.gathered.waves;
        if wave == 0 {
            return Ok(None);
        }
        let word = self
            .world
            .steering
            .go(&format!("wave-{}", wave + 1))
            .await?;
        if let Go::Finish(reason) = word {
            self.log.emit(Event::RunFinishing { reason });
            return Ok(Some(reason));
        }
        if !aid.is_spent() {
            return Ok(None);
        }
        // What is left of the money is kept for writing.
        self.log.emit(Event::BudgetWarning {
            message: "what research may spend on models is spent".to_owned(),
        });
        Ok(Some(StopReason::BudgetUsd))
    }

    /// Says that the calls are spent.
    pub(super) fn out_of_calls(&self) -> StopReason {
        self.log.emit(Event::BudgetWarning {
            message: cover::spent_message(&self.gathered.usage),
        });
        StopReason::BudgetCalls
    }

    /// Tells where an item stands, where that is new.
    pub(super) fn mark(&mut self, item: ItemId, status: ItemStatus) {
        if self.statuses.insert(item, status) != Some(status) {
            self.log.emit(Event::ItemUpdated { item, status });
        }
    }

    /// Tells where the items stand before the first round: to do, or done by what was known.
    pub(super) fn begin_items(&mut self) {
        let plan = &self.gathered.notes.plan;
        let items: Vec<ItemId> = plan.items().iter().map(|it| it.id).collect();
        for item in items {
            self.mark(item, ItemStatus::Todo);
        }
        for row in self.standing.rows.clone() {
            self.mark_by(&row);
        }
    }

    /// What an item was last told to be.
    pub(super) fn status(&self, item: ItemId) -> ItemStatus {
        self.statuses
            .get(&item)
            .copied()
            .unwrap_or(ItemStatus::Todo)
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
        let policy = self.places.policy();
        let wanted: Vec<String> = wanted.iter().filter_map(|it| policy.narrowed(it)).collect();
        let tasks = self.refining(aid, &wanted).await?;
        let next = self.tasked(&tasks, Variation::Gap);
        if next.is_empty() {
            return Ok(false);
        }
        let round = self.round(aid, next, Some(PAGES_OF_A_REFINEMENT)).await?;
        Ok(round.new > 0)
    }

    /// The searches for what is lacking (row A9).
    pub(super) async fn refining(
        &self,
        aid: &mut Aid<'_>,
        wanted: &[String],
    ) -> Result<Vec<SearchTask>> {
        let usual = self.question.method.results_per_query;
        let (policy, searched) = (self.places.policy(), &self.gathered.queries);
        searches::refining(aid, self.brief, policy, usual, searched, wanted).await
    }

    /// The queries that search tasks spell, each for the item it is nearest to; what was asked before is left out.
    pub(super) fn tasked(&mut self, tasks: &[SearchTask], variation: Variation) -> Vec<Query> {
        let mut next = Vec::new();
        for task in tasks {
            let Some(item) = nearest(&self.gathered.notes.plan, &task.query) else {
                continue;
            };
            let own = queries::tasked(
                &self.places,
                self.question,
                item,
                task,
                variation,
                &mut self.asked,
            );
            next.extend(own);
        }
        next
    }

    /// Search, read, weigh, and see what is covered. `pages` is how many are read at the most; the method's numbers say
    /// where it is not given.
    pub(super) async fn round(
        &mut self,
        aid: &mut Aid<'_>,
        mut next: Vec<Query>,
        pages: Option<usize>,
    ) -> Result<Round> {
        let (world, log, question, brief) = (self.world, self.log, self.question, self.brief);
        let items = items_of(&next);
        let cut = within_searches(question, &self.gathered.usage, &mut next, folders(world));
        let wave = self.begin_wave(items.clone(), next.len());
        let (got, found) = (&mut self.gathered, &mut self.found);
        note(&mut got.queries, &next);
        let fault = search::search(world, log, &next, found, &mut got.usage).await?;
        log.flush().await?;
        all_failed(fault, found, &got.usage)?;
        self.follow_names(&items).await?;

        let room = pages.unwrap_or_else(|| self.room(&items, &next));
        let (got, found) = (&mut self.gathered, &mut self.found);
        let wanted = found
            .choose(world, log, brief, &items, &got.shelf, room)
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
            chunks: None,
        };
        let (scale, notes) = (&mut self.scale, &mut got.notes);
        let new = weigh::weigh(log, aid, &round, scale, notes, &got.shelf).await?;
        self.end_wave(aid, new, fresh.len() as u32).await?;
        Ok(Round { cut, new })
    }

    /// A wave begins: its number.
    pub(super) fn begin_wave(&mut self, items: Vec<ItemId>, queries: usize) -> u32 {
        self.gathered.waves += 1;
        self.log.enter(Phase::Research, Some(self.gathered.waves));
        for item in &items {
            self.mark(*item, ItemStatus::InProgress);
        }
        self.log.emit(Event::WaveStarted {
            items,
            queries: queries as u32,
        });
        self.gathered.waves
    }

    /// A wave ends: what is covered, what the gate says, and what it was worth.
    pub(super) async fn end_wave(
        &mut self,
        aid: &mut Aid<'_>,
        new: u32,
        sources: u32,
    ) -> Result<()> {
        let (log, brief) = (self.log, self.brief);
        let got = &mut self.gathered;
        log.emit(Event::BudgetUpdated {
            usage: got.usage.with_models(&aid.usage()),
        });
        let (standing, found) = (&mut self.standing, &self.found);
        standing.update(
            brief,
            &got.notes,
            &mut self.scale,
            got.waves,
            found.domains(),
        )?;
        let policy = self.places.policy();
        let fresh = got.notes.evidence.iter().filter(|it| it.wave == got.waves);
        names::learn(policy, brief, &got.notes, fresh);
        standing
            .judge(aid, brief, &got.notes, got.waves, policy)
            .await?;
        if got.strategy == Strategy::Coverage {
            content::hold(brief, &got.notes, &got.shelf, standing)?;
        }
        standing.tell(log);
        got.coverage.clone_from(&standing.rows);
        got.gate = Gate::of(&self.question.method).judge(&got.notes, found.domains());
        log.emit(Event::GateJudged {
            verdict: got.gate.clone(),
        });
        for row in got.coverage.clone() {
            self.mark_by(&row);
        }
        let got = &self.gathered;
        log.emit(Event::WaveFinished {
            new_evidence: new,
            new_sources: sources,
        });
        let now = Worth {
            covered: self.standing.ratio(),
            scores: self.standing.rows.iter().map(|it| it.score).sum(),
            domains: got.notes.domains(&got.notes.evidence).len() as u32,
        };
        let before = std::mem::replace(&mut self.worth, now);
        self.gain = Worth {
            covered: now.covered - before.covered,
            scores: now.scores - before.scores,
            domains: now.domains.saturating_sub(before.domains),
        };
        log.flush().await
    }

    /// Where an item that was worked on stands after its level (row E5).
    fn mark_by(&mut self, row: &CoverageRow) {
        let status = match (row.state, self.status(row.id)) {
            (Coverage::Covered | Coverage::Conflict, _) => ItemStatus::Done,
            (Coverage::Open, ItemStatus::InProgress) => ItemStatus::Blocked,
            (_, status) => status,
        };
        self.mark(row.id, status);
    }

    /// How many pages a round reads: by its queries, by its items, and by what the budget leaves.
    fn room(&self, items: &[ItemId], queries: &[Query]) -> usize {
        let method = &self.question.method;
        let by_items = method.results_per_query.max(1) as usize * items.len().clamp(2, 5);
        let by_queries = match method.urls_per_query {
            0 => by_items,
            most => most as usize * queries.len().max(1),
        };
        let left = self
            .question
            .budget
            .pages
            .map_or(usize::MAX, |it| it as usize);
        by_items.min(by_queries).min(left)
    }

    /// Searches for the names that the documents just found lead on to, where the question names those documents; as many
    /// as an item gets queries in a round.
    async fn follow_names(&mut self, items: &[ItemId]) -> Result<()> {
        if !asks_for_names(&self.brief.question, self.brief.kind) {
            return Ok(());
        }
        let most = self.pace.breadth as usize;
        let mut next = Vec::new();
        for lead in self.found.leads(&self.brief.question, items, most) {
            let Some(item) = self.gathered.notes.plan.item(lead.item) else {
                continue;
            };
            // What a private document leads to stays where that document is.
            let places = match self.places.policy().lead(lead.hit, &lead.name) {
                (true, true) => self.places.clone(),
                (true, false) => self.places.folders(),
                _ => continue,
            };
            let own = vec![Words::plain(Variation::Gap, lead.name)];
            next.extend(queries::given(
                &places,
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
    pub(super) fn enough(&self, new: u32) -> Option<StopReason> {
        let wave = self.gathered.waves;
        if self.good() {
            return Some(StopReason::CoverageReached);
        }
        if self.trusted() {
            return Some(StopReason::TrustReached);
        }
        if new == 0 && wave > 1 {
            return Some(StopReason::NoNewEvidence);
        }
        if wave >= self.pace.rounds {
            return Some(StopReason::MaxIterations);
        }
        (wave > 1 && self.adds_nothing()).then_some(StopReason::NoNewEvidence)
    }

    /// Whether the gate passes and enough is covered.
    pub(super) fn good(&self) -> bool {
        let threshold = self.question.method.completeness_threshold;
        self.gathered.gate.pass && self.standing.good(threshold)
    }

    /// Whether the gate passes, nothing is wholly open, and what carries the evidence is trusted enough.
    fn trusted(&self) -> bool {
        let wanted = self.question.method.trust_threshold;
        let none_open = self
            .standing
            .rows
            .iter()
            .all(|it| it.state != Coverage::Open);
        wanted < 1.0
            && self.gathered.gate.pass
            && none_open
            && trust::mean(&self.gathered, &self.question.asked_on) >= wanted
    }

    /// Whether the last wave changed nothing that matters: no item better answered, no new voice.
    pub(super) fn adds_nothing(&self) -> bool {
        self.gain.covered <= 0.0 && self.gain.scores < LITTLE && self.gain.domains == 0
    }

    pub(super) fn spent(&self) -> bool {
        spent(self.question, &self.gathered.usage, folders(self.world))
    }

    /// Queries for what is still open, each gap told (rows D6, E11).
    pub(super) async fn for_what_is_open(&mut self, aid: &mut Aid<'_>) -> Result<Vec<Query>> {
        let got = &self.gathered;
        let plan = &got.notes.plan;
        let rows = &self.standing.rows;
        let thought = searches::thought_of(
            aid,
            self.brief,
            self.places.policy(),
            plan,
            rows,
            &got.queries,
            self.places.has_pubmed(),
        )
        .await?;
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
            let own = thought.iter().filter(|it| it.item == item.id);
            let policy = self.places.policy();
            // Its prompt showed no page, so its own words may be searched for.
            let found = &self.found;
            let read = |word: &str| {
                got.shelf.says_privately(&got.notes, word) || found.says_privately(word)
            };
            let own = own.filter_map(|it| {
                if let Some(syntax) = &it.pubmed {
                    policy.thought(syntax, &read);
                }
                Some(Words {
                    variation: it.variation,
                    text: policy.thought(&it.query, &read)?,
                    pubmed: it.pubmed.clone(),
                })
            });
            let most = self.pace.breadth.min(3);
            let by_model = queries::given(
                &self.places,
                self.question,
                item,
                own.collect(),
                most,
                &mut self.asked,
            );
            if by_model.is_empty() {
                let met = got.shelf.names_met(self.brief, &got.notes, policy);
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
