//! Writing: a draft of sentences, each naming the evidence that carries it (rows A8, E9).
use crate::domain::{Brief, ModelRole, Question};
use crate::error::{Error, Kind, Result};
use crate::record::Event;
use crate::seams::Log;

use super::aid::{Aid, Step};
use super::draft::{Draft, Line};
use super::gathered::Gathered;
use super::prompts::{self, fill};
use super::unaided::{self, score::Scale};

/// The draft that the notes carry, told piece by piece.
///
/// # Errors
/// `NotFound` when nothing that was read speaks to the question.
pub(crate) async fn compose(
    log: &Log,
    aid: &mut Aid<'_>,
    question: &Question,
    brief: &Brief,
    gathered: &Gathered,
    scale: &mut Scale,
) -> Result<Draft> {
    let draft = unaided::compose::compose(question, brief, gathered, scale)?;
    let Some(draft) = draft else {
        return Err(nothing(brief, gathered)?);
    };
    aid.mind(Step::Write, ModelRole::Writer);
    let tell = |text: String| log.emit(Event::DraftDelta { text });
    let joined = |lines: &[Line]| {
        lines
            .iter()
            .map(|it| it.text.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    };
    tell(joined(&draft.short));
    for (line, _) in &draft.findings {
        tell(line.text.clone());
    }
    for section in &draft.sections {
        for paragraph in &section.paragraphs {
            tell(joined(paragraph));
        }
    }
    Ok(draft)
}

fn nothing(brief: &Brief, gathered: &Gathered) -> Result<Error> {
    let words = &prompts::phrases()?.nothing;
    let pages = gathered.usage.pages;
    let hint = if pages == 0 {
        words.hint_no_pages.clone()
    } else {
        fill(&words.hint, &[("pages", &pages.to_string())])
    };
    let asked: String = brief.question.chars().take(200).collect();
    Ok(Error::new(
        Kind::NotFound,
        fill(&words.none_found, &[("question", &asked)]),
    )
    .hint(hint))
}
