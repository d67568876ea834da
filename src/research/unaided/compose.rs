//! The extractive report: which sentences, where, and in which order.
use crate::domain::{
    Brief, Confidence, ConfidenceMark, Coverage, CoverageRow, Evidence, EvidenceId, Item, ItemId,
    Mode, Notes, OpenPoint, Question, QuestionKind, StopReason,
};
use crate::error::Result;
use crate::research::draft::{Draft, DraftConflict, DraftSection, Line};
use crate::research::gathered::Gathered;
use crate::research::prompts::{self, fill};

use super::answer::{self, Leaning, Ranked};
use super::choose::{Point, mmr, points, voices};
use super::conflicts;
use super::editions;
use super::lexicon::jaccard;
use super::plan::{sentence_case, topic};
use super::score::{FLOOR, Scale};

/// Most key findings.
const MOST_FINDINGS: usize = 7;
/// Sentences of the section on the question itself, and of the others.
const CORE_SENTENCES: usize = 9;
const SIDE_SENTENCES: usize = 5;
/// Sentences of a paragraph.
const PARAGRAPH: usize = 4;
/// Share of the question's telling words above which a sentence answers it directly.
const DIRECT: f32 = 0.55;
/// Share of a short question's telling words, rare or not, without which none answers it directly.
const MOST_WORDS_ASKED: f32 = 0.7;
/// Share of the best sentence's relevance below which another is beside the point.
const BESIDE: f32 = 0.55;
/// Share of the best sentence's relevance from where another need not say what is done.
const CLOSE: f32 = 0.85;
/// Shape of a definition from where a sentence need not begin with what it defines.
const DEFINES: f32 = 0.6;
/// Score of a sentence that speaks to its item whatever words it uses: a step under its title.
const SPEAKS: f32 = 0.5;
/// The same of a part of the question, for which it speaks before all else.
const PART_SPEAKS: f32 = 0.35;
/// Share of an item's best score below which a sentence does not belong in its section.
const BELONGS: f32 = 0.68;
/// Share of the best answer's worth below which a sentence is no finding.
const FINDS: f32 = 0.72;
/// The same for the best sentence of an item.
const TOUCHES: f32 = 0.55;
/// Most words of a finding.
const FINDING_WORDS: usize = 45;
/// Longest title taken from the question, in characters.
const TITLE_CHARS: usize = 110;
/// Tokens for a word of English, roughly.
const TOKENS_PER_WORD: f32 = 1.35;
/// Sections are not followed further than a report that is read: 4,000 words.
const MOST_WORDS: usize = 4_000;

/// The draft that these notes carry, or `None` where they do not speak to the question.
pub(crate) fn compose(
    question: &Question,
    brief: &Brief,
    gathered: &Gathered,
    scale: &mut Scale,
) -> Result<Option<Draft>> {
    let notes = &gathered.notes;
    let all = points(notes, scale.lexicon(), question.method.max_sources)?;
    let ranked = answer::rank(brief, scale, &all)?;
    let spoken = ranked.iter().map(|it| it.relevance).fold(0.0, f32::max);
    if spoken < FLOOR {
        return Ok(None);
    }
    // What speaks of much less than the best sentence does is beside the point; steps and members of
    // a list seldom repeat what they are of.
    let defines = brief.kind == QuestionKind::Definition
        && ranked.iter().any(|it| it.early || it.fit >= DEFINES);
    let by_shape = matches!(brief.kind, QuestionKind::HowTo | QuestionKind::List);
    // A part of the question, or what somebody asked besides, is spoken to in words of its own.
    let items = notes.plan.items().iter().map(|it| it.id);
    let parts: Vec<ItemId> = items.filter(|it| scale.is_part(*it)).collect();
    let own_part = |it: &Ranked<'_>| {
        let first = it.point.items.first();
        first.is_some_and(|id| parts.contains(id)) && it.point.score >= PART_SPEAKS
    };
    let kept: Vec<usize> = ranked
        .iter()
        .filter(|it| {
            let near = it.relevance >= spoken * BESIDE || by_shape && it.point.score >= SPEAKS;
            let does = by_shape
                || it.relevance >= spoken * CLOSE
                || scale.says_what_is_done(&it.point.text);
            let defined = !defines || it.early || it.fit >= DEFINES;
            near && does && defined || own_part(it)
        })
        .map(|it| it.point.evidence[0])
        .collect();
    let all: Vec<Point> = all
        .iter()
        .filter(|it| kept.contains(&it.evidence[0]))
        .cloned()
        .collect();
    let ranked = answer::rank(brief, scale, &all)?;
    let lean = Leaning::of(brief, notes, &ranked);
    let clear = lean.as_ref().and_then(Leaning::clear);
    let mut page = Sheet::new(notes, question.method.final_report_max_length);

    // What a later edition replaces is one side where sources disagree, and leads nowhere else.
    let replaced = editions::replaced(&notes.sources, &question.text);
    let stands = |it: &&Ranked<'_>| {
        let mut of = it.point.evidence.iter();
        of.any(|at| !replaced.contains(&notes.evidence[*at].source))
    };
    let current: Vec<Ranked<'_>> = ranked.iter().filter(stands).copied().collect();
    let leading = if current.is_empty() {
        &ranked
    } else {
        &current
    };
    let answer = answer::line(scale, notes, leading, lean.as_ref())?;
    let core: Vec<Ranked<'_>> = leading
        .iter()
        .filter(|it| speaks_to_core(notes, it.point))
        .copied()
        .collect();
    let base = if core.is_empty() { leading } else { &core };
    let short = answer::short(base, clear, notes);
    let short_lines: Vec<Line> = short.iter().map(|it| page.say(it)).collect();
    let mut conflicts = conflicts::find(brief, notes, &all, scale.lexicon())?;
    let stances = answer::stances(brief, notes, &ranked);
    let split = conflicts::on_the_answer(notes, &stances, &conflicts)?;
    conflicts.splice(0..0, split);
    let figures = conflicts::on_the_figure(
        brief,
        notes,
        &answer::answering(&ranked),
        &conflicts,
        scale.lexicon(),
    )?;
    conflicts.splice(0..0, figures);
    let confidence = mark(notes, &short, &conflicts, base.first(), lean.as_ref())?;

    let mut findings = Vec::new();
    let mut sections = Vec::new();
    if question.mode == Mode::Report {
        for point in pick_findings(notes, brief.kind, leading, &page) {
            let line = page.say(point);
            findings.push((
                line,
                mark(
                    notes,
                    &[point],
                    &conflicts,
                    ranked.iter().find(|it| std::ptr::eq(it.point, point)),
                    None,
                )?,
            ));
        }
        for item in notes.plan.items() {
            let paragraphs = section(notes, brief.kind, item, &all, &mut page);
            if !paragraphs.is_empty() {
                sections.push(DraftSection {
                    title: item.heading.clone(),
                    item: item.id,
                    paragraphs,
                });
            }
        }
    }
    let lines = short_lines.iter().chain(findings.iter().map(|it| &it.0));
    let said: Vec<EvidenceId> = lines.flat_map(|it| it.evidence.iter().copied()).collect();
    let told: Vec<ItemId> = notes
        .plan
        .items()
        .iter()
        .map(|it| it.id)
        .filter(|id| {
            sections.iter().any(|it: &DraftSection| it.item == *id)
                || notes
                    .evidence
                    .iter()
                    .any(|it| it.items.contains(id) && said.contains(&it.id))
        })
        .collect();
    Ok(Some(Draft {
        title: title(question, brief),
        short: short_lines,
        confidence,
        answer,
        answer_by_code: true,
        findings,
        sections,
        conflicts,
        open: open_points(gathered, &told)?,
        reworded: 0,
        more: Vec::new(),
    }))
}

/// What is said already, and how many words are left.
struct Sheet<'a> {
    notes: &'a Notes,
    said: Vec<Vec<u32>>,
    room: usize,
}

impl<'a> Sheet<'a> {
    fn new(notes: &'a Notes, max_tokens: u32) -> Sheet<'a> {
        let room = match max_tokens {
            0 => MOST_WORDS,
            tokens => (tokens as f32 / TOKENS_PER_WORD) as usize,
        };
        Sheet {
            notes,
            said: Vec::new(),
            room,
        }
    }

    fn say(&mut self, point: &Point) -> Line {
        self.said.push(point.ids.clone());
        self.room = self.room.saturating_sub(point.words);
        Line {
            text: point.text.clone(),
            evidence: point
                .evidence
                .iter()
                .map(|it| self.notes.evidence[*it].id)
                .collect(),
        }
    }

    fn fresh(&self, point: &Point) -> bool {
        self.said.iter().all(|it| jaccard(it, &point.ids) < 0.6)
    }
}

fn speaks_to_core(notes: &Notes, point: &Point) -> bool {
    notes
        .plan
        .items()
        .first()
        .is_some_and(|it| point.items.contains(&it.id))
}

/// The best of each item first, then the best of what is left; about a third of all there is to
/// say. Steps are no findings: they stand together in their section.
fn pick_findings<'a>(
    notes: &Notes,
    kind: QuestionKind,
    ranked: &[Ranked<'a>],
    page: &Sheet<'_>,
) -> Vec<&'a Point> {
    let core = notes.plan.items()[0].id;
    let top = ranked.first().map_or(0.0, |it| it.worth);
    let shape = ranked.first().map_or(0.0, |it| it.fit.min(0.6));
    let left: Vec<&Ranked<'_>> = ranked
        .iter()
        .filter(|it| {
            page.fresh(it.point) && it.point.words <= FINDING_WORDS && it.worth >= top * TOUCHES
        })
        .filter(|it| kind != QuestionKind::HowTo || it.point.items.first() != Some(&core))
        .filter(|it| kind != QuestionKind::Definition || it.early)
        .collect();
    let most = (left.len() / 3).clamp(3, MOST_FINDINGS).min(left.len());
    let fresh = |picked: &[&Point], it: &Point| {
        picked
            .iter()
            .all(|other| jaccard(&other.ids, &it.ids) < 0.5)
    };
    let mut picked: Vec<&Point> = Vec::new();
    for item in notes.plan.items() {
        let best = left
            .iter()
            .map(|it| it.point)
            .filter(|it| {
                it.items.first() == Some(&item.id) && it.score >= 0.4 && fresh(&picked, it)
            })
            .max_by(|a, b| {
                a.score
                    .total_cmp(&b.score)
                    .then(b.evidence.cmp(&a.evidence))
            });
        if picked.len() < most {
            picked.extend(best);
        }
    }
    for it in left
        .iter()
        .filter(|it| it.worth >= top * FINDS && it.fit >= shape * 0.5)
    {
        if picked.len() < most && fresh(&picked, it.point) {
            picked.push(it.point);
        }
    }
    picked
}

/// The paragraphs of one item: chosen by MMR, then ordered so that they read.
fn section(
    notes: &Notes,
    kind: QuestionKind,
    item: &Item,
    all: &[Point],
    page: &mut Sheet<'_>,
) -> Vec<Vec<Line>> {
    let core = notes
        .plan
        .items()
        .first()
        .is_some_and(|it| it.id == item.id);
    let most = if core { CORE_SENTENCES } else { SIDE_SENTENCES };
    let own: Vec<Point> = all
        .iter()
        .filter(|it| it.items.first() == Some(&item.id) && page.fresh(it))
        .cloned()
        .collect();
    let best = own.iter().map(|it| it.score).fold(0.0, f32::max);
    let own: Vec<Point> = own
        .into_iter()
        .filter(|it| it.score >= best * BELONGS)
        .collect();
    let picked = mmr(&own, |it| it.score, &page.said, most, page.room);
    let chosen: Vec<&Point> = picked.into_iter().map(|nth| &own[nth]).collect();
    let ordered = if core && kind == QuestionKind::HowTo {
        in_steps(notes, chosen)
    } else {
        reading_order(notes, &chosen)
    };
    ordered
        .into_iter()
        .map(|paragraph| paragraph.into_iter().map(|it| page.say(it)).collect())
        .collect()
}

/// Steps stand as their page gives them: the page with most to say first, each in its own order.
fn in_steps<'a>(notes: &Notes, chosen: Vec<&'a Point>) -> Vec<Vec<&'a Point>> {
    let mut pages: Vec<(f32, u32)> = Vec::new();
    for it in &chosen {
        let page = place(notes, it).0;
        match pages.iter_mut().find(|row| row.1 == page) {
            Some(row) => row.0 += it.score,
            None => pages.push((it.score, page)),
        }
    }
    pages.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    pages
        .into_iter()
        .map(|(_, page)| {
            let mut own: Vec<&Point> = chosen
                .iter()
                .copied()
                .filter(|it| place(notes, it).0 == page)
                .collect();
            own.sort_by_key(|it| place(notes, it).1);
            own
        })
        .collect()
}

/// Best first; then what follows on the same page, else what is most alike; new paragraph where
/// nothing is alike or four sentences stand.
fn reading_order<'a>(notes: &Notes, chosen: &[&'a Point]) -> Vec<Vec<&'a Point>> {
    let mut left: Vec<&Point> = chosen.to_vec();
    let mut out: Vec<Vec<&Point>> = Vec::new();
    while !left.is_empty() {
        let mut paragraph = vec![left.remove(0)];
        while paragraph.len() < PARAGRAPH && !left.is_empty() {
            let last = paragraph[paragraph.len() - 1];
            let (at, near) = left
                .iter()
                .enumerate()
                .map(|(at, it)| (at, nearness(notes, last, it)))
                .fold(
                    (0, -1.0),
                    |best, it| if it.1 > best.1 + 1e-6 { it } else { best },
                );
            if near < 0.08 && paragraph.len() >= 2 {
                break;
            }
            paragraph.push(left.remove(at));
        }
        in_page_order(notes, &mut paragraph);
        out.push(paragraph);
    }
    // A last sentence by itself joins the paragraph before.
    if out.len() > 1 && out[out.len() - 1].len() == 1 {
        let single = out.pop().unwrap_or_default();
        if let Some(last) = out.last_mut() {
            last.extend(single);
        }
    }
    out
}

fn place(notes: &Notes, point: &Point) -> (u32, usize) {
    let first: Option<&Evidence> = point.evidence.first().map(|it| &notes.evidence[*it]);
    first.map_or((0, 0), |it| (it.source.number(), it.passage.first()))
}

fn nearness(notes: &Notes, one: &Point, other: &Point) -> f32 {
    let ((page, at), (other_page, other_at)) = (place(notes, one), place(notes, other));
    let beside = if page == other_page {
        0.4 / (1.0 + at.abs_diff(other_at) as f32 / 3.0)
    } else {
        0.0
    };
    beside + jaccard(&one.ids, &other.ids)
}

/// Neighbours from one page stand in the order of that page.
fn in_page_order(notes: &Notes, paragraph: &mut [&Point]) {
    for at in 1..paragraph.len() {
        let mut now = at;
        while now > 0 {
            let (a, b) = (
                place(notes, paragraph[now - 1]),
                place(notes, paragraph[now]),
            );
            if a.0 != b.0 || a.1 <= b.1 {
                break;
            }
            paragraph.swap(now - 1, now);
            now -= 1;
        }
    }
}

/// The confidence of what these points say, and the rules that gave it: how many independent
/// sources say the same, how many speak to it, whether any disagrees or doubts, and whether the
/// words are those of the question.
fn mark(
    notes: &Notes,
    said: &[&Point],
    conflicts: &[DraftConflict],
    best: Option<&Ranked<'_>>,
    lean: Option<&Leaning>,
) -> Result<ConfidenceMark> {
    let words = &prompts::phrases()?.confidence;
    let evidence: Vec<&Evidence> = said
        .iter()
        .flat_map(|it| &it.evidence)
        .map(|nth| &notes.evidence[*nth])
        .collect();
    let n = voices(notes, evidence.iter().copied()).len();
    let same = said
        .iter()
        .map(|it| voices(notes, it.evidence.iter().map(|nth| &notes.evidence[*nth])).len())
        .max()
        .unwrap_or(0);
    let leaning = lean.and_then(|it| {
        it.clear()
            .map(|yes| (if yes { it.yes } else { it.no }, it.yes + it.no))
    });
    let disputed = conflicts.iter().flat_map(|it| &it.sides).any(|(_, line)| {
        line.evidence
            .iter()
            .any(|id| evidence.iter().any(|it| it.id == *id))
    });
    let mut why = vec![match n {
        1 => words.one_source.clone(),
        _ => fill(&words.sources, &[("n", &n.to_string())]),
    }];
    let mut level: i32 = match (same, n) {
        (3.., _) => 3,
        (2, _) | (_, 3..) => 2,
        (_, 0) => 0,
        _ => 1,
    };
    if disputed {
        why.push(words.disagree.clone());
        level = level.min(1);
    } else if let Some((way, total)) = leaning.filter(|it| it.1 > 1) {
        let template = match way {
            1 => &words.lean_one,
            _ => &words.lean,
        };
        why.push(fill(
            template,
            &[("n", &way.to_string()), ("total", &total.to_string())],
        ));
    } else if same > 1 && same == n {
        why.push(words.agree.clone());
    } else if same > 1 {
        why.push(fill(&words.same, &[("n", &same.to_string())]));
    } else if n > 1 {
        why.push(words.none_disagrees.clone());
    }
    if answer::any_doubt(evidence.iter().copied()) {
        why.push(words.doubt.clone());
        level -= 1;
    }
    if best.is_none_or(|it| it.relevance < DIRECT || it.share < MOST_WORDS_ASKED) {
        why.push(words.indirect.clone());
        level -= 1;
    } else {
        why.push(words.direct.clone());
    }
    Ok(ConfidenceMark {
        level: grade(level),
        why,
    })
}

fn grade(level: i32) -> Confidence {
    match level {
        ..=0 => Confidence::VeryLow,
        1 => Confidence::Low,
        2 => Confidence::Moderate,
        _ => Confidence::High,
    }
}

/// The question, if it is short enough to head a page; else what it is about.
fn title(question: &Question, brief: &Brief) -> String {
    for text in [question.text.trim(), &brief.question] {
        if text.chars().count() <= TITLE_CHARS && !text.contains('\n') {
            return sentence_case(text);
        }
    }
    let all = topic(brief);
    let cut: String = all.chars().take(TITLE_CHARS).collect();
    sentence_case(&cut)
}

/// What could not be established, and why not; also of which items nothing was `told`, whatever was read on them.
fn open_points(gathered: &Gathered, told: &[ItemId]) -> Result<Vec<OpenPoint>> {
    let words = &prompts::phrases()?.open;
    let facets = prompts::plan()?;
    let plan = gathered.notes.plan.items();
    // What was asked stands by itself; what a full answer might have said besides is told together.
    let beside = |it: &CoverageRow| {
        plan.iter()
            .skip(1)
            .find(|item| item.id == it.id)
            .filter(|item| facets.facet_by_heading(&item.heading).is_some())
    };
    let left = || {
        gathered
            .coverage
            .iter()
            .filter(|it| matches!(it.state, Coverage::Open | Coverage::Partial))
    };
    let mut out: Vec<OpenPoint> = left()
        .filter(|it| beside(it).is_none())
        .map(|it: &CoverageRow| OpenPoint {
            item: Some(it.id),
            what: it.text.clone(),
            why: it.gap.clone().unwrap_or_else(|| words.nothing.clone()),
        })
        .collect();
    let untold = |it: &&CoverageRow| !told.contains(&it.id);
    let besides: Vec<String> = gathered
        .coverage
        .iter()
        .filter(|it| matches!(it.state, Coverage::Open | Coverage::Partial) || untold(it))
        .filter_map(beside)
        .map(|it| it.heading.to_lowercase())
        .collect();
    if !besides.is_empty() {
        out.push(OpenPoint {
            item: None,
            what: words.beside_what.clone(),
            why: fill(&words.beside, &[("headings", &besides.join("; "))]),
        });
    }
    if let Some(reason) = gathered.gate.reason.as_deref() {
        out.push(OpenPoint {
            item: None,
            what: words.gate_what.clone(),
            why: fill(&words.gate, &[("reason", reason)]),
        });
    }
    let failed = gathered.shelf.failed().len();
    if failed > 0 {
        let count = failed.to_string();
        out.push(OpenPoint {
            item: None,
            what: words.failed_what.clone(),
            why: fill(&words.failed, &[("count", &count)]),
        });
    }
    if matches!(
        gathered.stop,
        StopReason::UserFinish
            | StopReason::BudgetCalls
            | StopReason::BudgetTime
            | StopReason::BudgetUsd
    ) && let Some(last) = out.last_mut()
    {
        let stop = serde_json::to_value(gathered.stop)
            .ok()
            .and_then(|it| it.as_str().map(|it| it.replace('_', " ")));
        last.why = format!(
            "{} {}",
            last.why,
            fill(&words.stopped, &[("stop", &stop.unwrap_or_default())])
        );
    }
    Ok(out)
}
