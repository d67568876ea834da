//! Finds where each word of a claim occurs in the source.
use crate::thresholds::{ALIGN_RELATED_WEIGHT, ALIGN_SYNONYM_WEIGHT, MIN_SPELLING_SIMILARITY};
use std::collections::HashMap;
use std::ops::Range;

use super::lexicon;
use super::terms::{ParsedText, TermKind, TextTerm};
use crate::thesaurus;
use ibid_core::domain::split_sentences;

/// Maximum number of content words of a claim that are compared; a claim is a sentence, not a book.
const MAX_CLAIM_WORDS: usize = 256;

/// One sentence of the source.
#[derive(Debug)]
pub(super) struct SourceSentence {
    /// The index of its text in the source.
    pub text: usize,
    /// Its byte range there.
    pub span: Range<usize>,
    /// What it says.
    pub words: ParsedText,
    /// Whether it ends as sentences do, and headings do not.
    pub ends: bool,
    /// Each word's number in the vocabulary.
    ids: Vec<u32>,
}

/// A claim aligned with its source.
#[derive(Debug)]
pub(super) struct Alignment {
    /// The claim.
    pub claim: ParsedText,
    /// Indices of the words of the claim that carry meaning.
    pub content_terms: Vec<usize>,
    /// The weight of each content word.
    pub weights: Vec<f32>,
    /// The source.
    pub sentences: Vec<SourceSentence>,
    /// For each sentence, how well each content word is matched there, 0 to 1.
    pub met: Vec<Vec<f32>>,
    /// For each sentence, whether an opposite of each content word occurs there.
    pub opposed: Vec<Vec<bool>>,
    /// The sentence that matches the claim best; `None` if there is nothing to compare.
    pub best: Option<usize>,
}

impl Alignment {
    /// Share of the claim's weight that is matched when each word takes its best match in `sentences`.
    pub(super) fn coverage(&self, sentences: &[usize]) -> f32 {
        self.share(sentences, |_| true)
    }

    /// The same for the content words that `keep` selects; 1 where it selects none.
    pub(super) fn share(&self, sentences: &[usize], keep: impl Fn(&TextTerm) -> bool) -> f32 {
        let (mut met, mut all) = (0.0, 0.0);
        for (nth, &term) in self.content_terms.iter().enumerate() {
            if keep(&self.claim.terms[term]) {
                all += self.weights[nth];
                met += self.weights[nth] * self.best_in(sentences, nth);
            }
        }
        if all == 0.0 { 1.0 } else { met / all }
    }

    /// How well content word `nth` is matched in the best of `sentences`.
    pub(super) fn best_in(&self, sentences: &[usize], nth: usize) -> f32 {
        sentences.iter().map(|&it| self.met[it][nth]).fold(0.0, f32::max)
    }

    /// The best sentence with its neighbours in the same text.
    pub(super) fn window(&self) -> Vec<usize> {
        let Some(best) = self.best else {
            return Vec::new();
        };
        (best.saturating_sub(1)..=best + 1).filter(|&it| it < self.sentences.len()).collect()
    }

    /// For each content word its position in `sentence`, where it is matched at all.
    pub(super) fn places(&self, sentence: usize) -> Vec<Option<usize>> {
        let mut places = vec![None; self.content_terms.len()];
        let terms = &self.sentences[sentence].words.terms;
        for (nth, &term) in self.content_terms.iter().enumerate() {
            let wanted = &self.claim.terms[term].stem;
            places[nth] = terms.iter().position(|term| term.stem == *wanted);
        }
        places
    }
}

/// Aligns `claim` with `source`.
pub(super) fn align_claim(claim: &str, source: &[String]) -> Alignment {
    let claim = ParsedText::parse(claim);
    let (sentences, vocabulary) = read_source(source);
    let content_terms: Vec<usize> = (0..claim.terms.len())
        .filter(|&it| claim.terms[it].kind != TermKind::Stop)
        .take(MAX_CLAIM_WORDS)
        .collect();
    let weights: Vec<f32> = content_terms.iter().map(|&it| claim.terms[it].weight()).collect();
    let likeness = vocabulary_matches(&claim, &content_terms, &sentences, &vocabulary);
    let opposites = opposites(&claim, &content_terms, &vocabulary);
    let mut met = Vec::with_capacity(sentences.len());
    let mut opposed = Vec::with_capacity(sentences.len());
    for sentence in &sentences {
        let mut here = vec![0.0_f32; content_terms.len()];
        let mut against = vec![false; content_terms.len()];
        for &id in &sentence.ids {
            for &(nth, like) in &likeness[id as usize] {
                here[nth as usize] = here[nth as usize].max(like);
            }
            for &nth in &opposites[id as usize] {
                against[nth as usize] = true;
            }
        }
        met.push(here);
        opposed.push(against);
    }
    let mut found =
        Alignment { claim, content_terms, weights, sentences, met, opposed, best: None };
    found.best = best_sentence(&found);
    found
}

fn read_source(source: &[String]) -> (Vec<SourceSentence>, HashMap<String, u32>) {
    let mut vocabulary: HashMap<String, u32> = HashMap::new();
    let mut found = Vec::new();
    for (text, whole) in source.iter().enumerate() {
        for span in split_sentences(whole) {
            let said = &whole[span.clone()];
            let words = ParsedText::parse(said);
            let ids = words
                .terms
                .iter()
                .map(|term| match vocabulary.get(&term.stem) {
                    Some(id) => *id,
                    None => {
                        let id = vocabulary.len() as u32;
                        vocabulary.insert(term.stem.clone(), id);
                        id
                    }
                })
                .collect();
            let ends = said.trim_end().ends_with(|c: char| !c.is_alphanumeric() && c != ')');
            found.push(SourceSentence { text, span, words, ends, ids });
        }
    }
    (found, vocabulary)
}

/// For each word of the vocabulary, the content words it matches and how well.
fn vocabulary_matches(
    claim: &ParsedText,
    content_terms: &[usize],
    sentences: &[SourceSentence],
    vocabulary: &HashMap<String, u32>,
) -> Vec<Vec<(u16, f32)>> {
    let mut likeness: Vec<Vec<(u16, f32)>> = vec![Vec::new(); vocabulary.len()];
    let mut note = |id: u32, nth: usize, like: f32| likeness[id as usize].push((nth as u16, like));
    for (nth, &term) in content_terms.iter().enumerate() {
        let term = &claim.terms[term];
        if let Some(&id) = vocabulary.get(&term.stem) {
            note(id, nth, 1.0);
        }
        if term.kind == TermKind::Number {
            continue;
        }
        for other in thesaurus::synonyms(&term.stem).filter(|synonym| *synonym != term.stem) {
            if let Some(&id) = vocabulary.get(other) {
                note(id, nth, ALIGN_SYNONYM_WEIGHT);
            }
        }
        for other in thesaurus::related(&term.stem).filter(|text| *text != term.stem) {
            if let Some(&id) = vocabulary.get(other) {
                note(id, nth, ALIGN_RELATED_WEIGHT);
            }
        }
        if term.stem.chars().count() >= 4 {
            for (word, &id) in vocabulary {
                let like = spelling_similarity(&term.stem, word);
                if (MIN_SPELLING_SIMILARITY..1.0).contains(&like) {
                    note(id, nth, like);
                }
            }
        }
        if is_acronym(term) {
            for (sentence, range) in expansions(&term.text, sentences) {
                for &id in &sentences[sentence].ids[range] {
                    note(id, nth, 0.9);
                }
            }
        }
    }
    for (acronym, parts) in acronyms_of(claim, content_terms) {
        if let Some(&id) = vocabulary.get(&acronym) {
            for nth in parts {
                note(id, nth, 0.9);
            }
        }
    }
    likeness
}

fn opposites(
    claim: &ParsedText,
    content_terms: &[usize],
    vocabulary: &HashMap<String, u32>,
) -> Vec<Vec<u16>> {
    let mut found: Vec<Vec<u16>> = vec![Vec::new(); vocabulary.len()];
    for (nth, &term) in content_terms.iter().enumerate() {
        for other in lexicon::opposites(&claim.terms[term].stem) {
            if let Some(&id) = vocabulary.get(other) {
                found[id as usize].push(nth as u16);
            }
        }
    }
    found
}

/// Similarity of two stems by spelling: a shared prefix, or shared trigrams for name variants and compounds.
/// 0 where they are plainly different words.
fn spelling_similarity(a: &str, b: &str) -> f32 {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.len() < 4 || long.len() > short.len() * 3 {
        return 0.0;
    }
    let shared = short.bytes().zip(long.bytes()).take_while(|(x, y)| x == y).count();
    if shared == short.len() && shared >= 5 {
        return 0.8; // "geograph" in "geographi", "sing" is too short to tell
    }
    if shared >= 5 && shared * 3 >= long.len() * 2 {
        return 0.7;
    }
    if long.contains('-') && long.split('-').any(|part| part == short) {
        return 0.75;
    }
    if shared == 0 && !long.ends_with(short) {
        return 0.0;
    }
    0.85 * dice(short.as_bytes(), long.as_bytes())
}

/// The Dice coefficient of the byte trigrams.
fn dice(a: &[u8], b: &[u8]) -> f32 {
    if a.len() < 5 || b.len() < 5 {
        return 0.0;
    }
    let common = a.windows(3).filter(|window| b.windows(3).any(|other| other == *window)).count();
    2.0 * common as f32 / (a.len() + b.len() - 4) as f32
}

fn is_acronym(term: &TextTerm) -> bool {
    term.kind == TermKind::Name
        && (2..=6).contains(&term.text.len())
        && term.text.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Where the source spells out `acronym`: runs of words that begin with its letters.
fn expansions(acronym: &str, sentences: &[SourceSentence]) -> Vec<(usize, Range<usize>)> {
    let letters = acronym.as_bytes();
    let mut found = Vec::new();
    for (nth, sentence) in sentences.iter().enumerate() {
        let terms = &sentence.words.terms;
        for start in 0..terms.len().saturating_sub(letters.len() - 1) {
            let run = &terms[start..start + letters.len()];
            if run
                .iter()
                .zip(letters)
                .all(|(it, letter)| it.text.len() > 1 && it.text.as_bytes().first() == Some(letter))
            {
                found.push((nth, start..start + letters.len()));
            }
        }
    }
    found
}

/// The acronyms that runs of names in the claim would make, and the content words each stands for.
fn acronyms_of(claim: &ParsedText, content_terms: &[usize]) -> Vec<(String, Vec<usize>)> {
    let mut found = Vec::new();
    for start in 0..content_terms.len() {
        let mut letters = String::new();
        let mut parts = Vec::new();
        for nth in start..content_terms.len().min(start + 6) {
            let term = &claim.terms[content_terms[nth]];
            let adjacent = nth == start || content_terms[nth] - content_terms[nth - 1] <= 2;
            if !term.capital || !adjacent {
                break;
            }
            letters.extend(term.text.chars().next());
            parts.push(nth);
            if parts.len() >= 2 {
                found.push((letters.clone(), parts.clone()));
            }
        }
    }
    found
}

/// The sentence with the most matched weight, words that occur in few sentences counting up to twice; the
/// first of equals.
fn best_sentence(found: &Alignment) -> Option<usize> {
    if found.content_terms.is_empty() {
        return None;
    }
    let all = found.sentences.len() as f32;
    let rarity: Vec<f32> = (0..found.content_terms.len())
        .map(|nth| {
            let df = found.met.iter().filter(|it| it[nth] > 0.5).count() as f32;
            1.0 + ((all + 1.0) / (df + 1.0)).ln() / (all + 1.0).ln()
        })
        .collect();
    let mut best: Option<(usize, f32)> = None;
    for (at, met) in found.met.iter().enumerate() {
        let score: f32 =
            met.iter().enumerate().map(|(nth, met)| met * found.weights[nth] * rarity[nth]).sum();
        if best.is_none_or(|pair| score > pair.1) {
            best = Some((at, score));
        }
    }
    best.map(|pair| pair.0)
}
