//! The short answer of at most 60 words, and the answer of at most 140 characters.
use crate::domain::{Brief, Evidence, Notes, QuestionKind, Stance};
use crate::error::Result;
use crate::research::draft::Line;
use crate::research::prompts::{self, SentenceWords, fill};

use super::choose::Point;
use super::fits::kind_fit;
use super::lexicon::{any_phrase, has_phrase, jaccard, spaced};
use super::plan::{sentence_case, sides};
use super::score::Scale;

/// Most words of the short answer.
const SHORT_WORDS: usize = 60;
/// Most characters of the answer.
const ANSWER_CHARS: usize = 140;
/// Worth below which a sentence does not answer, only speaks to the matter.
const ANSWERS: f32 = 0.45;
/// Share of the question's words a sentence must have to decide a yes or no.
const DECIDES: f32 = 0.7;
/// Share of the question's telling words, rare or not, that it must have besides.
const NAMES_ENOUGH: f32 = 0.7;
/// Share of a sentence's relevance that a cut of it must keep.
const KEEPS: f32 = 0.85;

/// A point with how well it answers the question itself.
#[derive(Clone, Copy)]
pub(crate) struct Ranked<'a> {
    pub(crate) point: &'a Point,
    /// How well it answers, about 0 to 1.
    pub(crate) worth: f32,
    /// Share of the question's telling words it has.
    pub(crate) relevance: f32,
    /// How much it has the shape of an answer to this kind of question, 0 to 1.
    pub(crate) fit: f32,
    /// Share of the question's telling words it has, each counting the same.
    pub(crate) share: f32,
    /// Whether it begins with what the question is about: it is a statement on that.
    pub(crate) early: bool,
}

/// The points by how well they answer, best first.
pub(crate) fn rank<'a>(
    brief: &Brief,
    scale: &mut Scale,
    points: &'a [Point],
) -> Result<Vec<Ranked<'a>>> {
    let words = &prompts::phrases()?.sentence;
    let apart = apart(brief);
    let mut ranked = Vec::new();
    for point in points {
        let lower = spaced(&point.text);
        let mut fit = kind_fit(brief.kind, &brief.question, &point.text, &lower)?;
        fit *= 0.4 + 0.6 * scale.nearness(brief.kind, &point.text);
        if brief.kind == QuestionKind::Comparison {
            fit = 0.4 * fit
                + if apart.iter().all(|it| has_phrase(&lower, it)) {
                    0.6
                } else {
                    0.0
                };
        }
        let relevance = scale.relevance(&point.text);
        let doubt = if any_phrase(&lower, &words.doubt) {
            0.06
        } else {
            0.0
        };
        let long = if point.words > 40 { 0.08 } else { 0.0 };
        let backed = 0.05 * (point.evidence.len().min(3) as f32 - 1.0);
        let mut worth = 0.42 * relevance + 0.33 * fit + 0.25 * point.score + backed - doubt - long;
        if any_phrase(&lower, &words.aims) {
            worth *= 0.7;
        }
        ranked.push(Ranked {
            point,
            worth,
            relevance,
            fit,
            share: scale.share(&point.text),
            early: scale.begins_with_subject(&point.text),
        });
    }
    ranked.sort_by(|a, b| {
        b.worth
            .total_cmp(&a.worth)
            .then(a.point.evidence.cmp(&b.point.evidence))
    });
    Ok(ranked)
}

/// The words that tell the two sides of a comparison apart, one of each.
pub(crate) fn apart(brief: &Brief) -> Vec<String> {
    let (a, b) = sides(brief);
    let (a, b) = (spaced(&a), spaced(&b));
    let own = |one: &str, other: &str| {
        one.split(' ')
            .filter(|it| it.len() > 1)
            .find(|it| !has_phrase(other, it))
            .map(str::to_owned)
    };
    own(&a, &b).into_iter().chain(own(&b, &a)).collect()
}

/// Which way the evidence leans on a question of yes or no.
pub(crate) struct Leaning {
    pub(crate) yes: usize,
    pub(crate) no: usize,
}

impl Leaning {
    /// By the sentences that speak of what is asked, the more the more they do.
    pub(crate) fn of(brief: &Brief, notes: &Notes, ranked: &[Ranked<'_>]) -> Option<Leaning> {
        if !matches!(brief.kind, QuestionKind::YesNo | QuestionKind::Causal) || brief.lang != "en" {
            return None;
        }
        let mut lean = Leaning { yes: 0, no: 0 };
        for it in deciding(ranked)
            .flat_map(|it| &it.point.evidence)
            .map(|nth| &notes.evidence[*nth])
        {
            match it.stance {
                Stance::For => lean.yes += 1,
                Stance::Against => lean.no += 1,
                Stance::Neutral => {}
            }
        }
        Some(lean)
    }

    /// Yes or no, where one clearly outweighs the other.
    pub(crate) fn clear(&self) -> Option<bool> {
        if self.yes >= 1 && self.yes >= self.no * 2 {
            Some(true)
        } else if self.no >= 1 && self.no >= self.yes * 2 {
            Some(false)
        } else {
            None
        }
    }
}

/// The sentences that speak of what is asked, the best few.
fn deciding<'r, 'a>(ranked: &'r [Ranked<'a>]) -> impl Iterator<Item = &'r Ranked<'a>> {
    let top = ranked.iter().map(|it| it.relevance).fold(0.0, f32::max);
    ranked
        .iter()
        .filter(move |it| {
            it.relevance >= DECIDES && it.relevance >= top * 0.8 && it.share >= NAMES_ENOUGH
        })
        .take(8)
}

/// Which way each of the sentences points that decide a yes or no, best first; none for questions of
/// other kinds.
pub(crate) fn stances<'a>(
    brief: &Brief,
    notes: &Notes,
    ranked: &[Ranked<'a>],
) -> Vec<(&'a Point, Stance)> {
    if !matches!(brief.kind, QuestionKind::YesNo | QuestionKind::Causal) || brief.lang != "en" {
        return Vec::new();
    }
    deciding(ranked)
        .filter_map(|it| {
            let first = it.point.evidence.first()?;
            Some((it.point, notes.evidence[*first].stance))
        })
        .collect()
}

/// The sentences that answer about as well as the best one, best first.
pub(crate) fn answering<'a>(ranked: &[Ranked<'a>]) -> Vec<&'a Point> {
    let Some(top) = ranked.first() else {
        return Vec::new();
    };
    ranked
        .iter()
        .filter(|it| {
            it.worth >= ANSWERS
                && it.worth >= top.worth * 0.7
                && it.relevance >= top.relevance * 0.8
                && it.fit >= top.fit * 0.75
        })
        .map(|it| it.point)
        .take(8)
        .collect()
}

/// One to three sentences that answer, at most 60 words together.
pub(crate) fn short<'a>(
    ranked: &[Ranked<'a>],
    lean: Option<bool>,
    notes: &Notes,
) -> Vec<&'a Point> {
    let mut taken: Vec<&Point> = Vec::new();
    let mut room = SHORT_WORDS;
    let Some(top) = ranked.first() else {
        return taken;
    };
    for it in ranked {
        let weak = it.worth < top.worth * 0.7
            || it.relevance < top.relevance * 0.65
            || it.fit < top.fit * 0.75
            || it.worth < ANSWERS;
        if taken.len() >= 3 {
            break;
        }
        if weak && !taken.is_empty() {
            continue;
        }
        let like = taken
            .iter()
            .map(|other| jaccard(&other.ids, &it.point.ids))
            .fold(0.0, f32::max);
        if it.point.words > room || like > 0.5 || against(lean, it.point, notes) {
            continue;
        }
        room -= it.point.words;
        taken.push(it.point);
    }
    taken
}

/// Whether a point speaks against the way the evidence leans.
fn against(lean: Option<bool>, point: &Point, notes: &Notes) -> bool {
    let stance = point.evidence.first().map(|it| notes.evidence[*it].stance);
    matches!(
        (lean, stance),
        (Some(true), Some(Stance::Against)) | (Some(false), Some(Stance::For))
    )
}

/// One line of at most 140 characters: a whole sentence or a clause that stands alone.
pub(crate) fn line(
    scale: &mut Scale,
    notes: &Notes,
    ranked: &[Ranked<'_>],
    lean: Option<&Leaning>,
) -> Result<Option<Line>> {
    let words = &prompts::phrases()?.answer;
    let clear = lean.and_then(Leaning::clear);
    let prefix = match clear {
        Some(true) => words.yes.as_str(),
        Some(false) => words.no.as_str(),
        None => "{text}",
    };
    let room = ANSWER_CHARS - fill(prefix, &[("text", "")]).chars().count();
    let Some(top) = ranked.first().filter(|it| it.worth >= ANSWERS) else {
        return Ok(None);
    };
    for it in ranked.iter().take(8) {
        if it.worth < top.worth * 0.75
            || it.relevance < top.relevance * 0.75
            || against(clear, it.point, notes)
        {
            continue;
        }
        if let Some(text) = fit_into(&it.point.text, room, scale)? {
            let evidence = ids(notes, it.point);
            return Ok(Some(Line {
                text: fill(prefix, &[("text", &text)]),
                evidence,
            }));
        }
    }
    if let Some(counted) = counted(notes, ranked, lean, clear)? {
        return Ok(Some(counted));
    }
    // Better the beginning of the best sentence, plainly cut, than nothing where something answers.
    Ok(ranked
        .iter()
        .find(|it| !against(clear, it.point, notes))
        .map(|it| Line {
            text: fill(prefix, &[("text", &cut(&it.point.text, room))]),
            evidence: ids(notes, it.point),
        }))
}

/// An answer in the words of a quote: whole where it fits, else its beginning.
pub(crate) fn in_its_words(quote: &str) -> String {
    cut(quote, ANSWER_CHARS)
}

/// The beginning of `text` that fits into `room` characters, up to a word, with an ellipsis; all of it where it fits.
fn cut(text: &str, room: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(room) else {
        return text.to_owned();
    };
    // Room for the ellipsis, then back to where a word ends.
    let kept = &text[..text[..end].char_indices().next_back().map_or(0, |it| it.0)];
    let whole = kept
        .rfind(char::is_whitespace)
        .map_or(kept, |at| &kept[..at]);
    format!(
        "{}…",
        whole.trim_end_matches([' ', ',', ';', ':', '(', '-', '–'])
    )
}

/// Where no sentence fits, a yes or no with its count still answers.
fn counted(
    notes: &Notes,
    ranked: &[Ranked<'_>],
    lean: Option<&Leaning>,
    clear: Option<bool>,
) -> Result<Option<Line>> {
    let words = &prompts::phrases()?.answer;
    let (Some(lean), Some(yes)) = (lean, clear) else {
        return Ok(None);
    };
    let (template, n) = match (yes, lean.yes + lean.no) {
        (true, 1) => (&words.yes_one, lean.yes),
        (true, _) => (&words.yes_count, lean.yes),
        (false, 1) => (&words.no_one, lean.no),
        (false, _) => (&words.no_count, lean.no),
    };
    let text = fill(
        template,
        &[
            ("n", &n.to_string()),
            ("total", &(lean.yes + lean.no).to_string()),
        ],
    );
    let carried = ranked
        .iter()
        .find(|it| !against(clear, it.point, notes))
        .map(|it| ids(notes, it.point));
    Ok(carried.map(|evidence| Line { text, evidence }))
}

fn ids(notes: &Notes, point: &Point) -> Vec<crate::domain::EvidenceId> {
    point
        .evidence
        .iter()
        .map(|it| notes.evidence[*it].id)
        .collect()
}

/// The sentence if it fits; else without brackets, without "it was found that", and cut where a
/// clause ends that stands alone. `None` where no such cut still says what the question asks.
fn fit_into(text: &str, room: usize, scale: &mut Scale) -> Result<Option<String>> {
    let words = &prompts::phrases()?.sentence;
    let fits = |it: &str| it.chars().count() <= room;
    if fits(text) {
        return Ok(Some(text.to_owned()));
    }
    let whole = scale.relevance(text);
    let mut shorter = without_brackets(text);
    if let Some(tail) = after_found_that(&shorter, &words.found_that) {
        shorter = tail;
    }
    let candidates = std::iter::once(shorter.clone())
        .chain(heads(&shorter))
        .chain(tails(&shorter, &words.leaning));
    for it in candidates {
        if fits(&it)
            && it.split_whitespace().count() >= 5
            && has_verb(&it, words)
            && scale.relevance(&it) >= whole * KEEPS
        {
            return Ok(Some(it));
        }
    }
    Ok(None)
}

/// The beginning up to where an addition begins that takes nothing back.
fn heads(text: &str) -> Vec<String> {
    const JOINTS: &[&str] = &[
        "; ",
        ", which ",
        ", who ",
        ", where ",
        ", thereby ",
        ", resulting in ",
        ", leading to ",
        ", and ",
        ", with ",
        ", including ",
        ", such as ",
        " characterized by ",
        " characterised by ",
    ];
    // What is cut must not take back what stands before it.
    const TURNS: &[&str] = &[
        "but", "although", "though", "however", "only", "unless", "except", "if", "whereas", "not",
        "while", "when", "or", "no",
    ];
    JOINTS
        .iter()
        .filter_map(|joint| text.find(joint))
        .map(|at| text.split_at(at))
        .filter(|(_, tail)| !TURNS.iter().any(|it| has_phrase(&spaced(tail), it)))
        // "A, B, and C" is no clause: an enumeration has a comma before the joint.
        .filter(|(head, tail)| !tail.starts_with(", and ") || !head.contains(", "))
        .map(|(head, _)| format!("{}.", head.trim_end_matches([',', ';'])))
        .collect()
}

/// The end from where a clause begins that stands by itself.
fn tails(text: &str, leaning: &[String]) -> Vec<String> {
    ["; ", ", and ", " after ", " since ", " when ", " because "]
        .iter()
        .filter_map(|joint| text.find(joint).map(|at| &text[at + joint.len()..]))
        .filter(|tail| {
            let words = spaced(tail);
            let start = words.trim_start();
            !leaning
                .iter()
                .any(|it| start.starts_with(&format!("{it} ")))
        })
        .map(sentence_case)
        .collect()
}

fn without_brackets(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut depth = 0usize;
    for c in text.chars() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace(" ,", ",")
        .replace(" .", ".")
}

fn after_found_that(text: &str, phrases: &[String]) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    phrases
        .iter()
        .filter_map(|it| lower.find(&format!(" {it} ")).map(|at| at + it.len() + 2))
        .filter(|at| *at < text.len() / 2)
        .min()
        .map(|at| sentence_case(text[at..].trim()))
}

/// A clause needs a verb.
fn has_verb(text: &str, words: &SentenceWords) -> bool {
    let words_of = spaced(text);
    words_of
        .split([' ', ','])
        .any(|it| words.verbs.contains(it) || (it.len() > 4 && it.ends_with("ed")))
}

/// Whether any of this evidence doubts itself.
pub(crate) fn any_doubt<'a>(evidence: impl IntoIterator<Item = &'a Evidence>) -> bool {
    evidence
        .into_iter()
        .any(|it| it.contradiction_or_uncertainty)
}
