//! The short answer of at most 60 words, and the answer of at most 140 characters.
use crate::domain::{Brief, Evidence, Notes, QuestionKind, Stance};
use crate::error::Result;
use crate::research::prompts::{self, fill};
use crate::research::write::Line;

use super::choose::Point;
use super::fits::kind_fit;
use super::lexicon::{any_phrase, has_phrase, jaccard, spaced};
use super::plan::sentence_case;
use super::score::Scale;

/// Most words of the short answer.
const SHORT_WORDS: usize = 60;
/// Most characters of the answer.
const ANSWER_CHARS: usize = 140;
/// Worth below which a sentence does not answer, only speaks to the matter.
const ANSWERS: f32 = 0.45;

/// How well each point answers the question itself; 0 for points that only speak to sides of it.
pub(crate) fn worth(brief: &Brief, scale: &mut Scale, point: &Point) -> Result<f32> {
    let lower = spaced(&point.text);
    let fit = kind_fit(brief.kind, &brief.question, &point.text, &lower)?;
    let relevance = scale.relevance(&point.text);
    let words = &prompts::phrases()?.sentence;
    let doubt = if any_phrase(&lower, &words.doubt) {
        0.06
    } else {
        0.0
    };
    let long = if point.words > 40 { 0.08 } else { 0.0 };
    let backed = 0.05 * (point.evidence.len().min(3) as f32 - 1.0);
    Ok(0.5 * relevance + 0.25 * fit + 0.25 * point.score + backed - doubt - long)
}

/// Which way the evidence leans on a question of yes or no: for, against, and neither.
pub(crate) struct Leaning {
    pub(crate) yes: usize,
    pub(crate) no: usize,
}

impl Leaning {
    /// By the sentences that speak most to the question, each counting for its source once.
    pub(crate) fn of(brief: &Brief, notes: &Notes, ranked: &[(f32, &Point)]) -> Option<Leaning> {
        if !matches!(brief.kind, QuestionKind::YesNo | QuestionKind::Causal) || brief.lang != "en" {
            return None;
        }
        let top = ranked.first()?.0;
        let mut lean = Leaning { yes: 0, no: 0 };
        for (worth, point) in ranked.iter().take(8) {
            if *worth < top * 0.75 {
                break;
            }
            for it in point.evidence.iter().map(|nth| &notes.evidence[*nth]) {
                match it.stance {
                    Stance::For => lean.yes += 1,
                    Stance::Against => lean.no += 1,
                    Stance::Neutral => {}
                }
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

/// One to three sentences that answer, at most 60 words together.
pub(crate) fn short(ranked: &[(f32, &Point)], lean: Option<bool>, notes: &Notes) -> Vec<usize> {
    let mut taken: Vec<usize> = Vec::new();
    let mut room = SHORT_WORDS;
    let Some(top) = ranked.first().map(|it| it.0) else {
        return taken;
    };
    for (nth, (worth, point)) in ranked.iter().enumerate() {
        if taken.len() >= 3 || *worth < top * 0.7 || (taken.len() >= 1 && *worth < ANSWERS) {
            break;
        }
        let like = taken
            .iter()
            .map(|it| jaccard(&ranked[*it].1.ids, &point.ids))
            .fold(0.0, f32::max);
        if point.words > room || like > 0.5 || against(lean, point, notes) {
            continue;
        }
        room -= point.words;
        taken.push(nth);
    }
    if taken.is_empty() {
        // Every sentence is longer than the short answer may be: the best that is shortest.
        let best = ranked
            .iter()
            .enumerate()
            .filter(|it| it.1.1.words <= SHORT_WORDS)
            .map(|it| it.0)
            .next();
        taken.extend(best);
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
    brief: &Brief,
    notes: &Notes,
    ranked: &[(f32, &Point)],
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
    let top = ranked.first().map_or(0.0, |it| it.0);
    if top < ANSWERS {
        return Ok(None);
    }
    for (worth, point) in ranked.iter().take(6) {
        if *worth < top * 0.8 || against(clear, point, notes) {
            continue;
        }
        if let Some(text) = fit_into(&point.text, room, brief)? {
            return Ok(Some(Line {
                text: fill(prefix, &[("text", &text)]),
                evidence: ids(notes, point),
            }));
        }
    }
    counted(notes, ranked, lean, clear)
}

/// Where no sentence fits, a yes or no with its count still answers.
fn counted(
    notes: &Notes,
    ranked: &[(f32, &Point)],
    lean: Option<&Leaning>,
    clear: Option<bool>,
) -> Result<Option<Line>> {
    let words = &prompts::phrases()?.answer;
    let (Some(lean), Some(yes)) = (lean, clear) else {
        return Ok(None);
    };
    let (template, n) = if yes {
        (&words.yes_count, lean.yes)
    } else {
        (&words.no_count, lean.no)
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
        .find(|it| !against(clear, it.1, notes))
        .map(|it| ids(notes, it.1));
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
/// clause ends that stands alone. `None` where no such cut says what the question asks.
fn fit_into(text: &str, room: usize, brief: &Brief) -> Result<Option<String>> {
    let words = &prompts::phrases()?.sentence;
    let fits = |it: &str| it.chars().count() <= room;
    if fits(text) {
        return Ok(Some(text.to_owned()));
    }
    let mut shorter = without_brackets(text);
    if fits(&shorter) {
        return Ok(Some(shorter));
    }
    if let Some(tail) = after_found_that(&shorter, &words.found_that) {
        shorter = tail;
        if fits(&shorter) {
            return Ok(Some(shorter));
        }
    }
    // What is cut must not take back what stands before it.
    const TURNS: &[&str] = &[
        "but", "although", "though", "however", "only", "unless", "except", "if", "whereas", "not",
        "while", "when",
    ];
    for joint in [
        "; ",
        ", which ",
        ", who ",
        ", where ",
        ", thereby ",
        ", resulting in ",
        ", leading to ",
        ", and is ",
        ", and are ",
        ", with ",
    ] {
        let Some(at) = shorter.find(joint) else {
            continue;
        };
        let (head, tail) = shorter.split_at(at);
        let turned = TURNS.iter().any(|it| has_phrase(&spaced(tail), it));
        let says = brief
            .subjects
            .iter()
            .take(2)
            .any(|it| shares_word(head, it));
        if fits(head)
            && head.split_whitespace().count() >= 6
            && !turned
            && says
            && has_verb_like(head)
        {
            return Ok(Some(format!("{}.", head.trim_end_matches([',', ';']))));
        }
    }
    Ok(None)
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

fn shares_word(text: &str, phrase: &str) -> bool {
    let lower = text.to_lowercase();
    phrase
        .to_lowercase()
        .split_whitespace()
        .any(|it| lower.contains(it))
}

/// A clause needs a verb: one of the common ones, or a word that ends like one.
fn has_verb_like(text: &str) -> bool {
    let words = spaced(text);
    words.split(' ').any(|it| {
        matches!(
            it,
            "is" | "are"
                | "was"
                | "were"
                | "has"
                | "have"
                | "had"
                | "can"
                | "may"
                | "will"
                | "does"
                | "do"
        ) || (it.len() > 4
            && (it.ends_with("ed")
                || it.ends_with("es")
                || it.ends_with("ts")
                || it.ends_with("ns")))
    })
}

/// Whether any of this evidence doubts itself.
pub(crate) fn any_doubt<'a>(evidence: impl IntoIterator<Item = &'a Evidence>) -> bool {
    evidence
        .into_iter()
        .any(|it| it.contradiction_or_uncertainty)
}
