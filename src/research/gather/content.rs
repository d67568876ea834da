//! Whether what was found has the form that the question asks for (row D7): a definition for "what is", steps for "how to",
//! code for a technical question.
use crate::domain::{BlockKind, Brief, Coverage, Evidence, Notes, Page, QuestionKind};
use crate::error::Result;
use crate::research::cover::{Gap, Standing};
use crate::research::prompts::{self, fill};
use crate::research::read::Shelf;
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
