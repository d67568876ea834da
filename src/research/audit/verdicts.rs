//! Every claim of a text held against the pages of what it cites.
use futures_util::{StreamExt, stream};

use super::held::{Ground, Held, Ruling};
use super::read::{Cited, Reference, Sentence, Stated};
use crate::domain::{Page, Usage};
use crate::error::{Error, Kind, Result};
use crate::research::AT_ONCE;
use crate::research::aid::Counting;
use crate::research::ask::shapes::Verdict;
use crate::research::verify::verdict;
use crate::seams::Mind;

/// What came of looking for a source.
#[derive(Debug, Clone, PartialEq)]
pub enum Sought {
    /// Its pages: one, or the documents of a file that holds several.
    Pages(Vec<Page>),
    /// Why there is none.
    Nowhere(String),
    /// Nothing cites it, so nobody looked.
    Unasked,
}

/// What one cited source says of a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Heard {
    /// Which, as a place in [`Audit::sources`].
    pub source: usize,
    /// What it says; without a page nothing.
    pub held: Held,
    /// Why it has no quote or another verdict than the words alone.
    pub reason: Option<String>,
}

/// A claim with its verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruled {
    /// Its line, from 1.
    pub line: usize,
    /// Its words.
    pub text: String,
    /// The best that its sources say.
    pub ruling: Ruling,
    /// What each says, in the order cited.
    pub heard: Vec<Heard>,
}

/// A text audited.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// Its claims in order.
    pub claims: Vec<Ruled>,
    /// What it cites or lists, and what came of looking for it.
    pub sources: Vec<(Reference, Sought)>,
    /// Its sentences without a citation.
    pub uncited: Vec<Sentence>,
    /// Who decided where the words alone did not.
    pub model: Option<String>,
    /// Why that model was not heard to the end.
    pub fault: Option<String>,
    /// What it was asked and cost.
    pub usage: Usage,
}

/// What the words alone say. `sought` has an entry for each source of `cited`.
pub fn by_words(cited: Cited, sought: Vec<Sought>) -> Audit {
    let mut claims: Vec<Ruled> = cited
        .claims
        .into_iter()
        .map(
            |Stated {
                 line,
                 text,
                 sources,
             }| Ruled {
                line,
                text,
                ruling: Ruling::Unreadable,
                heard: sources.into_iter().map(unheard).collect(),
            },
        )
        .collect();
    // Source by source, so that each page is made ready once and only one at a time.
    let mut citing: Vec<Vec<(usize, usize)>> = vec![Vec::new(); sought.len()];
    for (nth, claim) in claims.iter().enumerate() {
        for (place, heard) in claim.heard.iter().enumerate() {
            citing[heard.source].push((nth, place));
        }
    }
    for (found, citing) in sought.iter().zip(citing) {
        hear(&mut claims, &citing, found);
    }
    for it in &mut claims {
        it.settle();
    }
    Audit {
        claims,
        sources: cited.sources.into_iter().zip(sought).collect(),
        uncited: cited.uncited,
        model: None,
        fault: None,
        usage: Usage::default(),
    }
}

fn unheard(source: usize) -> Heard {
    Heard {
        source,
        held: Held {
            ruling: Ruling::Unreadable,
            score: 0.0,
            quote: None,
            reason: None,
            near: Vec::new(),
        },
        reason: None,
    }
}

/// Holds the claims that cite a source, each with the place of its citation, against what was found of it.
fn hear(claims: &mut [Ruled], citing: &[(usize, usize)], found: &Sought) {
    match found {
        Sought::Unasked => {}
        Sought::Nowhere(why) => {
            for &(claim, place) in citing {
                claims[claim].heard[place].reason = Some(why.clone());
            }
        }
        Sought::Pages(pages) => {
            let grounds: Vec<Ground<'_>> = pages.iter().map(Ground::of).collect();
            for &(claim, place) in citing {
                let claim = &mut claims[claim];
                let held = grounds.iter().map(|it| it.hold(&claim.text));
                let best = held.min_by(|a, b| {
                    let by_score = b.score.total_cmp(&a.score);
                    a.ruling.cmp(&b.ruling).then(by_score)
                });
                if let Some(best) = best {
                    let heard = &mut claim.heard[place];
                    heard.reason = best.reason.map(str::to_owned);
                    heard.held = best;
                }
            }
        }
    }
}

impl Ruled {
    /// The best of what its sources say.
    fn settle(&mut self) {
        let best = self.heard.iter().map(|it| it.held.ruling).min();
        self.ruling = best.unwrap_or(Ruling::Unreadable);
    }

    /// What decides the verdict: the best-scored of those that say it.
    pub fn deciding(&self) -> Option<&Heard> {
        self.heard
            .iter()
            .filter(|it| it.held.ruling == self.ruling)
            .max_by(|a, b| {
                a.held
                    .score
                    .total_cmp(&b.held.score)
                    .then(b.source.cmp(&a.source))
            })
    }
}

/// Has `mind` decide each claim by the best quotes of each source, seeing nothing else. Where it fails
/// the words stand; after a fault that is more than one bad answer it is asked no further.
///
/// # Errors
/// Stops on request and faults of our own.
pub async fn by_model(mut audit: Audit, mind: &Mind) -> Result<Audit> {
    let asked: Vec<(usize, usize)> = audit
        .claims
        .iter()
        .enumerate()
        .flat_map(|(claim, it)| (0..it.heard.len()).map(move |heard| (claim, heard)))
        .filter(|it| !audit.claims[it.0].heard[it.1].held.near.is_empty())
        .collect();
    let model = Counting::of(mind);
    let mut said = Vec::with_capacity(asked.len());
    {
        let claims = &audit.claims;
        let model = &model;
        let ask = |&(claim, heard): &(usize, usize)| {
            let it = &claims[claim];
            let near = &it.heard[heard].held.near;
            async move {
                let quotes: Vec<&str> = near.iter().map(|it| it.text.as_str()).collect();
                (claim, heard, verdict(model, &it.text, &quotes).await)
            }
        };
        let asking: Vec<_> = asked.iter().map(ask).collect();
        let mut answers = stream::iter(asking).buffered(AT_ONCE);
        while let Some((claim, heard, answer)) = answers.next().await {
            match answer {
                Ok(it) => said.push((claim, heard, it)),
                Err(fault) => {
                    let kind = fault.kind();
                    audit.fault.get_or_insert_with(|| told(&fault));
                    match kind {
                        Kind::Cancelled | Kind::Internal => return Err(fault),
                        Kind::Malformed => {}
                        _ => break,
                    }
                }
            }
        }
    }
    for (claim, heard, it) in said {
        decide(&mut audit.claims[claim].heard[heard], it);
    }
    for it in &mut audit.claims {
        it.settle();
    }
    audit.model = Some(mind.model.name().to_owned());
    audit.usage = model.usage();
    Ok(audit)
}

fn told(fault: &Error) -> String {
    match fault.help() {
        Some(hint) => format!("{} ({hint})", fault.chain()),
        None => fault.chain(),
    }
}

/// The model's word over that of the words. "Less than it, or something else" is part of the claim where
/// the words saw some of it.
fn decide(heard: &mut Heard, said: Verdict) {
    let before = heard.held.ruling;
    heard.held.ruling = match (said, before) {
        (Verdict::Entails, _) => Ruling::Supported,
        (Verdict::Contradicts, _) => Ruling::Contradicted,
        (Verdict::Unclear, Ruling::Supported | Ruling::Partly) => Ruling::Partly,
        (Verdict::Unclear, _) => Ruling::Unsupported,
    };
    // It saw sentences that say little to the words; the nearest stands for them.
    if heard.held.quote.is_none() && heard.held.ruling != Ruling::Unsupported {
        heard.held.quote = heard.held.near.first().cloned();
    }
    heard.reason = (heard.held.ruling != before)
        .then(|| format!("by the words alone it was: {}", before.word()));
}
