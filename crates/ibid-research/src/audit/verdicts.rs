//! Checks every claim of a text against the pages it cites.
use futures_util::{StreamExt, stream};

use super::citation_parser::{CitedClaim, CitedSource, CitedText, UncitedSentence};
use super::page_check::{AuditVerdict, PageCheck, SentenceIndex};
use crate::ask::shapes::Entailment;
use crate::concurrency::MAX_CALLS_IN_FLIGHT;
use crate::llm_session::TrackedModel;
use crate::verify::judge_claim;
use ibid_core::domain::{Page, Usage};
use ibid_core::ports::{PairScorer, RoleModel};
use ibid_core::{Error, ErrorKind, Result};

/// The result of fetching a source.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceLookup {
    /// Its pages: one, or the documents of a file that holds several.
    Pages(Vec<Page>),
    /// It could not be fetched, for this reason.
    NotFound(String),
    /// It was not fetched because nothing cites it.
    NotCited,
}

/// What one cited source says about a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceVerdict {
    /// Its index in [`Audit::sources`].
    pub source: usize,
    /// The check against it; `Unreadable` without a page.
    pub check: PageCheck,
    /// Why it has no quote, or another verdict than the words alone give.
    pub reason: Option<String>,
}

/// A claim with its verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditedClaim {
    /// Its line, from 1.
    pub line: usize,
    /// Its text.
    pub text: String,
    /// The best verdict of its sources.
    pub verdict: AuditVerdict,
    /// The verdict of each source, in the order cited.
    pub source_verdicts: Vec<SourceVerdict>,
}

/// An audited text.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// Its claims in order.
    pub claims: Vec<AuditedClaim>,
    /// What it cites or lists, with the result of fetching each source.
    pub sources: Vec<(CitedSource, SourceLookup)>,
    /// Its sentences without a citation.
    pub uncited: Vec<UncitedSentence>,
    /// The model that decided where the words alone did not.
    pub model: Option<String>,
    /// The error that ended the model's part early.
    pub fault: Option<String>,
    /// The model calls and their cost.
    pub usage: Usage,
}

/// Audits without a language model: by words and, where there is a `scorer`, by its reading. `sought` has an entry for each source
/// of `cited`.
pub fn audit_by_code(
    cited: CitedText,
    sought: Vec<SourceLookup>,
    scorer: Option<&dyn PairScorer>,
) -> Audit {
    let mut claims: Vec<AuditedClaim> = cited
        .claims
        .into_iter()
        .map(|CitedClaim { line, text, sources }| AuditedClaim {
            line,
            text,
            verdict: AuditVerdict::Unreadable,
            source_verdicts: sources.into_iter().map(no_verdict).collect(),
        })
        .collect();
    // Source by source, so that each page is indexed once and only one at a time.
    let mut citing: Vec<Vec<(usize, usize)>> = vec![Vec::new(); sought.len()];
    for (nth, claim) in claims.iter().enumerate() {
        for (place, heard) in claim.source_verdicts.iter().enumerate() {
            citing[heard.source].push((nth, place));
        }
    }
    for (found, citing) in sought.iter().zip(citing) {
        check_against_source(&mut claims, &citing, found, scorer);
    }
    for it in &mut claims {
        it.set_best_verdict();
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

fn no_verdict(source: usize) -> SourceVerdict {
    SourceVerdict {
        source,
        check: PageCheck {
            verdict: AuditVerdict::Unreadable,
            score: 0.0,
            quote: None,
            reason: None,
            near: Vec::new(),
        },
        reason: None,
    }
}

/// Checks the claims that cite a source against its pages. Each claim comes with the index of its citation.
fn check_against_source(
    claims: &mut [AuditedClaim],
    citing: &[(usize, usize)],
    found: &SourceLookup,
    scorer: Option<&dyn PairScorer>,
) {
    match found {
        SourceLookup::NotCited => {}
        SourceLookup::NotFound(why) => {
            for &(claim, place) in citing {
                claims[claim].source_verdicts[place].reason = Some(why.clone());
            }
        }
        SourceLookup::Pages(pages) => {
            let grounds: Vec<SentenceIndex<'_>> = pages.iter().map(SentenceIndex::new).collect();
            for &(claim, place) in citing {
                let claim = &mut claims[claim];
                let held = grounds.iter().map(|ground| ground.check_claim(&claim.text, scorer));
                let best = held.min_by(|a, b| {
                    let by_score = b.score.total_cmp(&a.score);
                    a.verdict.cmp(&b.verdict).then(by_score)
                });
                if let Some(best) = best {
                    let heard = &mut claim.source_verdicts[place];
                    heard.reason = best.reason.map(str::to_owned);
                    heard.check = best;
                }
            }
        }
    }
}

impl AuditedClaim {
    /// Sets the best verdict of its sources.
    fn set_best_verdict(&mut self) {
        let best = self.source_verdicts.iter().map(|it| it.check.verdict).min();
        self.verdict = best.unwrap_or(AuditVerdict::Unreadable);
    }

    /// The verdict that decides: the best-scored one of its kind.
    pub fn deciding_verdict(&self) -> Option<&SourceVerdict> {
        self.source_verdicts
            .iter()
            .filter(|it| it.check.verdict == self.verdict)
            .max_by(|a, b| a.check.score.total_cmp(&b.check.score).then(b.source.cmp(&a.source)))
    }
}

/// Has `role_model` judge each claim by the best quotes of each source and nothing else. Where it fails, the
/// word-based verdict is kept. After a fault other than a single bad answer it is not asked again.
///
/// # Errors
/// Cancellation and internal errors.
pub async fn audit_by_model(mut audit: Audit, role_model: &RoleModel) -> Result<Audit> {
    let asked: Vec<(usize, usize)> = audit
        .claims
        .iter()
        .enumerate()
        .flat_map(|(claim, it)| (0..it.source_verdicts.len()).map(move |heard| (claim, heard)))
        .filter(|pair| !audit.claims[pair.0].source_verdicts[pair.1].check.near.is_empty())
        .collect();
    let model = TrackedModel::new(role_model);
    let mut said = Vec::with_capacity(asked.len());
    {
        let claims = &audit.claims;
        let model = &model;
        let ask = |&(claim, heard): &(usize, usize)| {
            let it = &claims[claim];
            let near = &it.source_verdicts[heard].check.near;
            async move {
                let quotes: Vec<&str> = near.iter().map(|it| it.text.as_str()).collect();
                (claim, heard, judge_claim(model, &it.text, &quotes).await)
            }
        };
        let asking: Vec<_> = asked.iter().map(ask).collect();
        let mut answers = stream::iter(asking).buffered(MAX_CALLS_IN_FLIGHT);
        while let Some((claim, heard, answer)) = answers.next().await {
            match answer {
                Ok(it) => said.push((claim, heard, it)),
                Err(fault) => {
                    let kind = fault.kind();
                    audit.fault.get_or_insert_with(|| error_message(&fault));
                    match kind {
                        ErrorKind::Cancelled | ErrorKind::Internal => return Err(fault),
                        ErrorKind::Malformed => {}
                        _ => break,
                    }
                }
            }
        }
    }
    for (claim, heard, it) in said {
        apply_model_verdict(&mut audit.claims[claim].source_verdicts[heard], it);
    }
    for it in &mut audit.claims {
        it.set_best_verdict();
    }
    audit.model = Some(role_model.model.name().to_owned());
    audit.usage = model.usage();
    Ok(audit)
}

fn error_message(fault: &Error) -> String {
    match fault.hint() {
        Some(hint) => format!("{} ({hint})", fault.chain()),
        None => fault.chain(),
    }
}

/// Puts the model's verdict over the one by words. `Unclear` ("less, or something else") is `Partly` where
/// the words saw part of the claim.
fn apply_model_verdict(heard: &mut SourceVerdict, said: Entailment) {
    let before = heard.check.verdict;
    heard.check.verdict = match (said, before) {
        (Entailment::Entails, _) => AuditVerdict::Supported,
        (Entailment::Contradicts, _) => AuditVerdict::Contradicted,
        (Entailment::Unclear, AuditVerdict::Supported | AuditVerdict::Partly) => {
            AuditVerdict::Partly
        }
        (Entailment::Unclear, _) => AuditVerdict::Unsupported,
    };
    // The model saw sentences that matched few words; the nearest becomes the quote.
    if heard.check.quote.is_none() && heard.check.verdict != AuditVerdict::Unsupported {
        heard.check.quote = heard.check.near.first().cloned();
    }
    heard.reason = (heard.check.verdict != before)
        .then(|| format!("the word-based verdict was: {}", before.as_str()));
}
