//! Whether what was found has the form that the question asks for (row D7): a definition for "what is", steps for "how to",
//! code for a technical question.
use crate::domain::{BlockKind, Brief, Coverage, Evidence, Notes, Page, QuestionKind};
use crate::error::Result;
use crate::research::cover::{Gap, Standing};
use crate::research::prompts::{self, fill};
use crate::research::shelf::Shelf;
use crate::research::unaided::lexicon::{any_phrase, spaced};

/// Pieces of a list that are steps.
const STEPS: usize = 2;

/// Takes the heart of the question back to `partial` where what was found for it lacks the form asked for, and says so.
pub(super) fn hold(
    brief: &Brief,
    notes: &Notes,
    shelf: &Shelf,
    standing: &mut Standing,
) -> Result<()> {
    let Some(heart) = notes.plan.items().first() else {
        return Ok(());
    };
    let found = notes.for_item(heart.id);
    let page = |it: &Evidence| notes.source(it.source).and_then(|it| shelf.page(it));
    let words = &prompts::phrases()?.content;
    let lacks = match brief.kind {
        QuestionKind::Definition if !found.iter().any(|it| defines(it)) => Some(&words.definition),
        QuestionKind::HowTo if !tells_steps(&found, page) => Some(&words.steps),
        _ if brief.is_technical() && !found.iter().any(|it| page(it).is_some_and(has_code)) => {
            Some(&words.code)
        }
        _ => None,
    };
    let row = standing.rows.iter_mut().find(|it| it.id == heart.id);
    let (Some(lacks), Some(row)) = (lacks, row) else {
        return Ok(());
    };
    if !matches!(row.state, Coverage::Covered) {
        return Ok(());
    }
    row.state = Coverage::Partial;
    row.gap = Some(lacks.gap.clone());
    let subject = brief.subjects.first().cloned().unwrap_or_default();
    let gap = Gap {
        text: lacks.gap.clone(),
        query: fill(&lacks.query, &[("subject", &subject)]),
    };
    standing.gaps.insert(heart.id, gap);
    Ok(())
}

fn defines(it: &Evidence) -> bool {
    let Ok(words) = prompts::plan() else {
        return true;
    };
    let text = spaced(it.passage.text().expose());
    words
        .facets
        .get("definition")
        .is_none_or(|it| any_phrase(&text, &it.cues))
}

/// Whether the steps are told: pieces of a list, or sentences that count them.
fn tells_steps<'p>(found: &[&Evidence], page: impl Fn(&Evidence) -> Option<&'p Page>) -> bool {
    let Ok(words) = prompts::plan() else {
        return true;
    };
    let cues = words.facets.get("steps").map(|it| it.cues.as_slice());
    let is_step = |it: &&&Evidence| {
        let listed = page(it).is_some_and(|page| {
            let mut within = it.passage.first()..=it.passage.last();
            within.any(|n| {
                page.sentences()
                    .get(n)
                    .is_some_and(|it| it.kind == BlockKind::ListItem)
            })
        });
        let text = spaced(it.passage.text().expose());
        listed || cues.is_some_and(|it| any_phrase(&text, it))
    };
    found.iter().filter(is_step).count() >= STEPS
}

fn has_code(page: &Page) -> bool {
    page.sentences().iter().any(|it| it.kind == BlockKind::Code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        Block, CoverageRow, EvidenceId, PageDraft, Source, SourceId, SourceKind, Stance,
    };

    const NO_DEFINITION: &str = "No sentence that was read says what it is.";
    const NO_STEPS: &str = "What was read tells no steps.";
    const NO_CODE: &str = "What was read shows no code.";

    /// What a covered heart becomes where this is what was found for it.
    fn held(question: &str, kind: QuestionKind, blocks: &[(BlockKind, &str)]) -> Option<String> {
        let brief = Brief {
            question: question.to_owned(),
            sharpened: None,
            kind,
            subjects: vec!["cork".to_owned()],
            key_terms: vec!["cork".to_owned()],
            scope_in: Vec::new(),
            scope_out: Vec::new(),
            lang: "en".to_owned(),
            clarified: Vec::new(),
        };
        let page = Page::new(PageDraft {
            url: "https://oak.example/".to_owned(),
            title: "Cork".to_owned(),
            blocks: blocks.iter().map(|it| Block::new(it.0, it.1)).collect(),
            ..PageDraft::default()
        });
        let mut notes = Notes::new(crate::research::plan_of(&brief).unwrap());
        let id = SourceId::new(1);
        let source = Source::of(id, SourceKind::Web, &page, None);
        let mut shelf = Shelf::default();
        shelf.know(&source, &page);
        notes.sources.push(source);
        let heart = notes.plan.items()[0].id;
        for n in 0..page.sentences().len() {
            let passage = page.passage(n, n).unwrap();
            notes.evidence.push(Evidence {
                id: EvidenceId::new(n as u32 + 1),
                items: vec![heart],
                source: id,
                claim: passage.text().expose().to_owned(),
                passage,
                stance: Stance::For,
                score: 0.9,
                confidence: 0.5,
                contradiction_or_uncertainty: false,
                wave: 1,
            });
        }
        let items = notes.plan.items().iter();
        let rows = items.map(|it| CoverageRow {
            state: Coverage::Covered,
            ..CoverageRow::open(it.id, &it.asks)
        });
        let mut standing = Standing {
            rows: rows.collect(),
            ..Standing::default()
        };
        hold(&brief, &notes, &shelf, &mut standing).unwrap();
        let row = &standing.rows[0];
        let partial = row.state == Coverage::Partial;
        assert_eq!(partial, row.gap.is_some());
        assert_eq!(partial, standing.gaps.contains_key(&heart));
        row.gap.clone()
    }

    #[test]
    fn what_is_wants_a_definition_and_how_to_steps() {
        use BlockKind::{ListItem, Prose};
        let what = |text| held("What is cork?", QuestionKind::Definition, &[(Prose, text)]);
        let sold = what("Merchants of Lisbon shipped cork abroad in 1850.");
        assert_eq!(sold.as_deref(), Some(NO_DEFINITION));
        assert_eq!(
            what("Cork is a light material from the bark of an oak."),
            None
        );
        let how = |blocks: &[(BlockKind, &str)]| {
            held("How to harvest cork?", QuestionKind::HowTo, blocks)
        };
        let praised = how(&[(Prose, "Harvest is an old craft of the south.")]);
        assert_eq!(praised.as_deref(), Some(NO_STEPS));
        let steps = how(&[
            (ListItem, "Cut the bark with an axe."),
            (ListItem, "Strip the plank from the trunk."),
        ]);
        assert_eq!(steps, None);
    }

    #[test]
    fn a_technical_question_wants_code() {
        use BlockKind::{Code, Prose};
        let asks = "What is a Python function?";
        let told = (
            Prose,
            "A Python function is a named block of code that is called.",
        );
        let kind = QuestionKind::Definition;
        assert_eq!(held(asks, kind, &[told]).as_deref(), Some(NO_CODE));
        assert_eq!(
            held(asks, kind, &[told, (Code, "def f(x): return x")]),
            None
        );
        // Of cork nobody expects code.
        assert_eq!(
            held(
                "What is cork?",
                kind,
                &[(Prose, "Cork is a light material.")]
            ),
            None
        );
    }
}
