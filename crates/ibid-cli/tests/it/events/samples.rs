//! One sample of every kind of event, as one story.
use ibid_core::ReadFailure;
use ibid_core::domain::{
    Answer, Block, BlockKind, Brief, Budget, ChecklistItem, Citation, Claim, ClaimId, Complexity,
    Confidence, ConfidenceMark, Conflict, ConflictSide, Coverage, CoverageRow, Critic, Effort,
    Evidence, EvidenceGate, EvidenceId, EvidenceStore, Finding, FindingKind, GateStatus,
    GateVerdict, IntakeDecision, ItemId, ItemStatus, Judgement, MethodNote, Objection, OpenItem,
    OutlineEdit, OutlineSection, OutputMode, Page, PageDraft, PatchOutcome, Plan, QualityPart,
    QualityScore, Question, QuestionKind, Rating, Ratio, ReasoningEffort, Report, ReportChecks,
    ResearchSettings, ResearcherProgress, ResearcherStatus, RunId, RuntimeProgress, Section,
    SectionLayout, SectionPlan, ShareLink, Source, SourceId, SourceKind, Stance, StopReason,
    Strategy, SupervisorSettings, TopicRelation, Usage, Variation, Vertical, Vote, WordOrigin,
    WritingPlan, YesNo,
};
use ibid_core::record::{EVENT_VERSION, Envelope, Event, Phase, RunOutcome, SearchOutcome};

pub(crate) const ID: &str = "r_01JD0000000000000000000000";

pub(crate) fn run_id() -> RunId {
    ID.parse().unwrap()
}

pub(crate) fn enveloped(seq: u64, event: Event, phase: Phase, round: Option<u32>) -> Envelope {
    Envelope {
        seq,
        ts: format!("2026-11-21T10:00:00.{seq:03}Z"),
        run: run_id(),
        event,
        phase,
        round,
        agent: None,
        span: None,
    }
}

/// Every kind of event once.
pub(crate) fn story() -> Vec<Envelope> {
    let begin = beginning().into_iter().map(|it| (it, Phase::Run, None));
    let research = research().into_iter().map(|it| (it, Phase::Research, Some(1)));
    let end = ending().into_iter().map(|it| (it, Phase::Write, None));
    begin
        .chain(research)
        .chain(end)
        .zip(1..)
        .map(|((event, phase, round), seq)| enveloped(seq, event, phase, round))
        .collect()
}

fn beginning() -> Vec<Event> {
    vec![
        Event::RunCreated { question: question(), version: EVENT_VERSION, owner: None },
        Event::RunQueued {
            request: Some(serde_json::json!({"api": "responses", "model": "ibid"})),
        },
        Event::RunStarted {},
        Event::IntakeDecided {
            decision: IntakeDecision::Clarify,
            topic: TopicRelation::Shift,
            awaiting_clarification: true,
            follows: Some("r_01JC0000000000000000000000".parse().unwrap()),
        },
        Event::ClarifyAsked { questions: vec!["Which climate is meant?".to_owned()] },
        Event::ClarifyAnswered { answers: vec!["A temperate one.".to_owned()] },
        Event::BriefReady { brief: brief() },
        Event::PlanProposed { plan: plan() },
        Event::StrategyChosen { strategy: Strategy::Supervisor, reason: "as asked".to_owned() },
        Event::PlanWaiting { attempt: 1 },
        Event::PlanChanged { words: "Leave out the costs.".to_owned() },
        Event::PlanApproved { by: "person".to_owned(), changed: true },
    ]
}

fn research() -> Vec<Event> {
    vec![
        Event::ItemUpdated { item: ItemId::new(1), status: ItemStatus::InProgress },
        Event::RuntimeProgress {
            progress: RuntimeProgress {
                supervisor_iteration: 2,
                dispatched_research_units: 1,
                skipped_research_units: 1,
                quality_gate_status: GateStatus::Retry,
                quality_gate_reason: Some("2 of 5 evidence records".to_owned()),
                evidence_record_count: 2,
                source_domain_count: 1,
                source_domains: vec!["roofs.example".to_owned()],
                min_evidence_records: 5,
                min_cited_records: 5,
                min_source_domains: 3,
                research_units: vec![ResearcherProgress {
                    id: "researcher-1".to_owned(),
                    topic: "Find out how much rain a green roof holds.".to_owned(),
                    item: ItemId::new(1),
                    status: ResearcherStatus::Failed,
                    tool_calls: 40,
                    evidence: 2,
                    ms: 12,
                    failure: Some("recursion limit of 41 reached".to_owned()),
                }],
            },
        },
        Event::SearchPrepared { found: 12, shown: 8, llm_calls_in_preprocess: 0 },
        Event::PageSearched {
            source: SourceId::new(1),
            words: "rain held".to_owned(),
            found: 9,
            shown: 4,
        },
        Event::PageContinued { source: SourceId::new(1), from: 8_000, to: 15_950, total: 40_210 },
        Event::KnownWeighed { sources: vec![source()], evidence: 2 },
        Event::RoundStarted { items: vec![ItemId::new(1)], queries: 1 },
        Event::SearchStarted {
            engine: "local".to_owned(),
            query: "green roof".to_owned(),
            vertical: Vertical::Web,
            item: ItemId::new(1),
            variation: Variation::Original,
            origin: vec![WordOrigin::Asked],
        },
        Event::SearchCompleted {
            engine: "local".to_owned(),
            query: "green roof".to_owned(),
            item: ItemId::new(1),
            hits: 3,
            new: 2,
            ms: 4,
            cost_usd: 0.0,
            outcome: SearchOutcome::Ok,
            error: None,
            reason: None,
            status: None,
        },
        Event::ReadStarted { url: page().url.clone() },
        Event::ReadCompleted {
            source: source(),
            sentences: 2,
            warnings: vec!["charset guessed".to_owned()],
            ms: 7,
        },
        Event::ReadFailed {
            url: "https://b.example/".to_owned(),
            reason: ReadFailure::Empty,
            message: "no words".to_owned(),
        },
        Event::DocumentFailed {
            path: "rows.jsonl".to_owned(),
            place: Some("line 7".to_owned()),
            reason: ReadFailure::Broken,
            message: "expected `}`".to_owned(),
        },
        Event::EvidenceAdded { evidence: evidence() },
        Event::EvidenceRejected {
            url: "https://c.example/".to_owned(),
            item: ItemId::new(1),
            reason: "says nothing on it".to_owned(),
        },
        Event::EvidenceMerged { url: "https://d.example/".to_owned(), into: page().url.clone() },
        Event::CoverageUpdated { rows: vec![coverage()], ratio: 0.5 },
        Event::GateJudged { verdict: verdict() },
        Event::OutlineUpdated {
            edits: vec![
                OutlineEdit::Add { title: "Care".to_owned() },
                OutlineEdit::Split {
                    title: "Costs".to_owned(),
                    into: vec!["Prices".to_owned(), "Upkeep".to_owned()],
                },
                OutlineEdit::Merge { title: "Upkeep".to_owned(), into: "Care".to_owned() },
                OutlineEdit::Drop { title: "History".to_owned() },
                OutlineEdit::Move { title: "Care".to_owned(), to: 0 },
                OutlineEdit::MarkAnswered { title: "Care".to_owned() },
                OutlineEdit::Reopen { title: "Prices".to_owned() },
            ],
            sections: vec![OutlineSection {
                title: "Care".to_owned(),
                claim: "What care it needs.".to_owned(),
                items: vec![ItemId::new(1)],
                evidence: vec![EvidenceId::new(1)],
                gaps: vec!["one voice only".to_owned()],
                answered: true,
            }],
        },
        Event::DraftCriticized {
            round: 1,
            objections: [
                PatchOutcome::Added,
                PatchOutcome::Removed,
                PatchOutcome::Moved { to: Some("Care".to_owned()) },
                PatchOutcome::Moved { to: None },
                PatchOutcome::Rejected { because: "a sentence says it already".to_owned() },
            ]
            .map(|outcome| Objection {
                critic: Critic::Reader,
                by: Some("openai/gpt-5-mini".to_owned()),
                section: Some("Care".to_owned()),
                sentence: "Cork floats.".to_owned(),
                why: "an earlier sentence says the same".to_owned(),
                outcome,
            })
            .to_vec(),
        },
        Event::GapFound {
            item: ItemId::new(1),
            gap: "one voice only".to_owned(),
            gap_query: "green roof definition".to_owned(),
        },
        Event::ConflictFound { conflict: conflict() },
        Event::BudgetUpdated { usage: usage() },
        Event::LlmCompleted {
            role: ibid_core::domain::ModelRole::Planner,
            model: "openai/gpt-5.1".to_owned(),
            step: "plan".to_owned(),
            r#in: Some(1200),
            out: Some(240),
            cached: None,
            reasoning: Some(128),
            effort: Some(ReasoningEffort::Medium),
            usd: Some(0.0031),
            ms: Some(4200),
        },
        Event::StepUnaided {
            step: "weigh".to_owned(),
            role: ibid_core::domain::ModelRole::Summarizer,
            reason: "asking openai/gpt-5.1: no credit".to_owned(),
            hint: Some("add credit".to_owned()),
        },
        Event::BudgetWarning { message: "8 of 10 calls used".to_owned() },
        Event::RoundFinished { new_evidence: 1, new_sources: 1 },
        Event::RunFinishing { reason: StopReason::UserFinish },
    ]
}

fn ending() -> Vec<Event> {
    vec![
        Event::RunResumed { after: 22, in_doubt: 1, in_doubt_usd: Some(0.02) },
        Event::DraftDelta {
            text: "# What is a green roof?".to_owned(),
            section: Some("What it is".to_owned()),
            begins: true,
        },
        Event::ClaimChecked { claim: claim(1), quotes_hold: true, numbers_hold: true },
        Event::ReportReady { report: Box::new(report()) },
        Event::RunCompleted {
            status: RunOutcome::Completed,
            stop_reason: StopReason::CoverageReached,
            usage: usage(),
        },
        Event::ReportJudged {
            judgement: Box::new(Judgement::new(quality("coverage"), quality("diversity"))),
        },
        Event::ReportRated {
            rating: Rating { vote: Vote::Up, note: Some("to the point".to_owned()) },
        },
        Event::ReportShared {
            share: ShareLink {
                key: "ab".repeat(32),
                until: "2026-11-29T20:17:44Z".to_owned(),
                private: false,
                maker: None,
            },
        },
        Event::ReportUnshared {},
        Event::Log {
            level: "info".to_owned(),
            message: "told for a person".to_owned(),
            source: None,
        },
        Event::RunFailed {
            reason: "the disk is full".to_owned(),
            hint: Some("make room".to_owned()),
            kind: Some(ibid_core::ErrorKind::Setup),
        },
        Event::RunCancelled {},
    ]
}

fn question() -> Question {
    Question {
        context: None,
        engines: Vec::new(),
        text: "What is a green roof?".to_owned(),
        mode: OutputMode::Report,
        asked_on: "2026-11-21".to_owned(),
        method: method(),
        budget: Budget { usd: Some(2.0), calls: Some(60), ..Budget::default() },
        folders: vec!["/library".to_owned()],
        domains: vec![],
        not_domains: vec!["spam.example".to_owned()],
        since: Some("2020-01-01".to_owned()),
        until: None,
        lang: None,
        dialogue: vec![],
        given: None,
        approve: false,
        follows: None,
        resembles: None,
        clarify: false,
        models: Default::default(),
    }
}

fn method() -> ResearchSettings {
    ResearchSettings {
        effort: Effort::Standard,
        breadth: 4,
        depth: 2,
        max_iterations: 5,
        results_per_query: 10,
        max_initial_search_tasks: 7,
        top_m_full_text_sources: 3,
        next_k_chunked_sources: 5,
        top_n_chunks_per_source: 3,
        max_refinement_iterations: 3,
        drafts: 1,
        critique_rounds: 1,
        final_report_max_length: 0,
        summary_tokens: 300,
        max_sources: 20,
        min_evidence_records: 5,
        min_cited_records: 5,
        min_source_domains: 3,
        completeness_threshold: 0.75,
        trust_threshold: 1.0,
        team: SupervisorSettings::default(),
        strategy: None,
        urls_per_query: 5,
    }
}

fn brief() -> Brief {
    Brief {
        sharpened: None,
        question: "What is a green roof?".to_owned(),
        kind: QuestionKind::Definition,
        subjects: vec!["green roof".to_owned()],
        key_terms: vec!["green".to_owned(), "roof".to_owned()],
        scope_in: vec!["what it is".to_owned()],
        scope_out: vec!["what it costs".to_owned()],
        lang: "en".to_owned(),
        clarified: vec![],
    }
}

fn plan() -> Plan {
    let item = ChecklistItem {
        id: ItemId::new(1),
        asks: "What is it?".to_owned(),
        heading: "What it is".to_owned(),
        terms: vec!["green roof".to_owned()],
        query: "green roof".to_owned(),
    };
    let writing = WritingPlan {
        overall_goal: "Say what it is.".to_owned(),
        desired_tone: "plain".to_owned(),
        sections: vec![SectionPlan {
            title: "What it is".to_owned(),
            guidance: "Definition first.".to_owned(),
            items: vec![ItemId::new(1)],
        }],
        additional_directives: vec![],
        bibliography: true,
    };
    Plan::new(vec![item], Complexity::Simple, writing).unwrap()
}

fn page() -> Page {
    Page::new(PageDraft {
        url: "https://a.example/roofs".to_owned(),
        title: "Roofs".to_owned(),
        author: Some("A. Author".to_owned()),
        date: Some("2024-05-01".to_owned()),
        blocks: vec![Block {
            kind: BlockKind::Prose,
            text: "A green roof is a roof with plants. It weighs 120 kg.".to_owned(),
            page: Some(1),
            level: 0,
        }],
        ..PageDraft::default()
    })
}

fn source() -> Source {
    Source::from_page(SourceId::new(1), SourceKind::Local, &page(), Some("a.example".to_owned()))
}

fn evidence() -> Evidence {
    Evidence {
        id: EvidenceId::new(1),
        items: vec![ItemId::new(1)],
        source: SourceId::new(1),
        passage: page().passage(0, 0).unwrap(),
        table_header: None,
        heading: None,
        claim: "A green roof is a roof with plants.".to_owned(),
        stance: Stance::For,
        score: 0.75,
        confidence: 0.5,
        contradiction_or_uncertainty: false,
        round: 1,
    }
}

fn coverage() -> CoverageRow {
    CoverageRow {
        id: ItemId::new(1),
        text: "What is it?".to_owned(),
        state: Coverage::Partial,
        score: 0.5,
        evidence: 1,
        sources: 1,
        by_round: vec![1],
        proof: Some("A green roof is a roof with plants.".to_owned()),
        gap: Some("one voice only".to_owned()),
    }
}

fn verdict() -> GateVerdict {
    let mut notes = EvidenceStore::new(plan());
    notes.sources.push(source());
    notes.evidence.push(evidence());
    EvidenceGate::from_settings(&method()).judge(&notes, 2)
}

fn claim(nth: u32) -> Claim {
    let citation =
        Citation { n: 1, evidence: EvidenceId::new(1), passage: page().passage(0, 0).unwrap() };
    let text = "A green roof is a roof with plants.".to_owned();
    Claim::new(ClaimId::new(nth), text, vec![citation]).unwrap()
}

fn quality(part: &str) -> QualityScore {
    QualityScore::from_parts(vec![QualityPart {
        name: part.to_owned(),
        weight: 1.0,
        score: 0.5,
        counted: Some(0.5),
        said: None,
        why: "1 of 2".to_owned(),
    }])
}

fn mark() -> ConfidenceMark {
    ConfidenceMark { level: Confidence::Low, why: vec!["1 independent source".to_owned()] }
}

fn conflict() -> Conflict {
    let side =
        |says: &str, nth| ConflictSide { says: says.to_owned(), claim: claim(nth), weight: 0.5 };
    Conflict {
        about: "weight".to_owned(),
        item: ItemId::new(1),
        sides: vec![side("120 kg", 3), side("90 kg", 4)],
        likely: Some("one is older".to_owned()),
        cause: None,
    }
}

fn usage() -> Usage {
    Usage {
        searches: 1,
        pages: 2,
        failed_pages: 1,
        model_calls: 0,
        tokens_in: 0,
        tokens_out: 0,
        tokens_reasoning: 0,
        usd: Some(0.0),
    }
}

fn report() -> Report {
    Report {
        nearest_only: false,
        short_converted: Vec::new(),
        short_is_list: false,
        short_is_steps: false,
        run: run_id(),
        question: "What is a green roof?".to_owned(),
        mode: OutputMode::Report,
        date: "2026-11-21".to_owned(),
        depth: "standard".to_owned(),
        title: "What is a green roof?".to_owned(),
        lang: "en".to_owned(),
        short: vec![claim(1)],
        verdict: Some(YesNo::Yes),
        confidence: mark(),
        introduction: vec![claim(6)],
        conclusion: vec![claim(7)],
        answer: Some(Answer {
            text: "A roof with plants.".to_owned(),
            citations: claim(1).citations().to_vec(),
        }),
        comparison: None,
        chart: None,
        findings: vec![Finding {
            learning: FindingKind::Fact,
            claim: claim(2),
            confidence: mark(),
        }],
        sections: vec![Section {
            title: "What it is".to_owned(),
            item: Some(ItemId::new(1)),
            layout: SectionLayout::Prose,
            paragraphs: vec![vec![claim(5)]],
        }],
        conflicts: vec![conflict()],
        results: Vec::new(),
        unlisted: false,
        open: vec![OpenItem {
            item: Some(ItemId::new(1)),
            what: "who built the first".to_owned(),
            why: "nothing speaks to it".to_owned(),
        }],
        method: MethodNote {
            engines: vec!["local".to_owned()],
            queries: vec!["green roof".to_owned()],
            rounds: 1,
            pages_read: 1,
            pages_known: 0,
            pages_failed: vec![("https://b.example/".to_owned(), "empty".to_owned())],
            followed: None,
            clarified: Vec::new(),
            models: Vec::new(),
            unaided_because: Vec::new(),
            strategy: None,
            unaided: vec!["write".to_owned()],
            stop: StopReason::CoverageReached,
            gate: verdict(),
        },
        sources: vec![source()],
        coverage: vec![coverage()],
        checks: ReportChecks {
            quotes: Ratio { passed: 5, total: 5 },
            claims: Ratio { passed: 5, total: 5 },
            numbers: Ratio::default(),
            removed: 0,
            contradictions: 0,
        },
        usage: usage(),
    }
}
