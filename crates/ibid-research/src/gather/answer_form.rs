//! Whether the evidence has the form that the question asks for: a definition for "what is", steps for "how
//! to", code for a technical question.
use crate::cover::{CoverageState, Gap};
use crate::heuristic::lexicon::spaced;
use crate::heuristic::question_kind::question_kind;
use crate::page_set::PageSet;
use crate::prompts;
use crate::prompts::fill_template;
use ibid_core::Result;
use ibid_core::domain::words::tokens;
use ibid_core::domain::{
    BlockKind, Brief, ChecklistItem, Coverage, Evidence, EvidenceStore, Page, QuestionKind,
};

/// List items that make steps.
const MIN_STEPS: usize = 2;

/// The form that the answer to an item must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerForm {
    Definition,
    Steps,
    Code,
}

/// Lowers each covered item to `partial` whose evidence lacks a form asked for, and records the gap.
pub(super) fn check_answer_form(
    brief: &Brief,
    notes: &EvidenceStore,
    pages: &PageSet,
    coverage: &mut CoverageState,
) -> Result<()> {
    let page =
        |evidence: &Evidence| notes.source(evidence.source).and_then(|source| pages.page(source));
    let words = &prompts::phrases()?.content;
    for (nth, item) in notes.plan.items().iter().enumerate() {
        let row = coverage.rows.iter_mut().find(|row| row.id == item.id);
        let Some(row) = row.filter(|row| row.state == Coverage::Covered) else {
            continue;
        };
        let found = notes.for_item(item.id);
        let lacks = forms(brief, item, nth == 0)?.into_iter().find_map(|form| match form {
            AnswerForm::Definition => {
                (!found.iter().any(|it| defines(it))).then_some(&words.definition)
            }
            AnswerForm::Steps => (!tells_steps(&found, page)).then_some(&words.steps),
            AnswerForm::Code => {
                let tells_code = |it: &&Evidence| page(it).is_some_and(has_code) || is_command(it);
                (!found.iter().any(tells_code)).then_some(&words.code)
            }
        });
        let Some(lacks) = lacks else {
            continue;
        };
        row.state = Coverage::Partial;
        row.gap = Some(lacks.gap.clone());
        let subject = brief.subjects.first().cloned().unwrap_or_default();
        let gap = Gap {
            text: lacks.gap.clone(),
            query: fill_template(&lacks.query, &[("subject", &subject)]),
        };
        coverage.gaps.insert(item.id, gap);
    }
    Ok(())
}

/// The forms that the answer to `item` must have: by its own words, by its facet, and for the `first` by the question.
fn forms(brief: &Brief, item: &ChecklistItem, first: bool) -> Result<Vec<AnswerForm>> {
    let facets = &prompts::plan_words()?.facets;
    let is = |name: &str| facets.get(name).is_some_and(|facet| facet.heading == item.heading);
    let kind = question_kind(&item.asks, prompts::phrases()?);
    let kind = match kind {
        QuestionKind::Definition | QuestionKind::HowTo => kind,
        _ if is("definition") => QuestionKind::Definition,
        _ if is("steps") => QuestionKind::HowTo,
        // A part of the question that asks for something else has its own form, which is none of these.
        _ if first && item.asks != brief.question && item.asks.ends_with('?') => kind,
        _ if first => brief.kind,
        _ => kind,
    };
    let mut forms = match kind {
        QuestionKind::Definition => vec![AnswerForm::Definition],
        QuestionKind::HowTo => vec![AnswerForm::Steps],
        _ => Vec::new(),
    };
    // What a program is can be said without code.
    let defines = kind == QuestionKind::Definition;
    if brief.is_technical() && (first && !defines || kind == QuestionKind::HowTo) {
        forms.push(AnswerForm::Code);
    }
    Ok(forms)
}

fn defines(it: &Evidence) -> bool {
    let Ok(words) = prompts::plan_words() else {
        return true;
    };
    let text = spaced(it.passage.text().expose());
    words.facets.get("definition").is_none_or(|facet| facet.cues.any_in(&text))
}

/// Whether the evidence gives steps: list items, or sentences that count them.
fn tells_steps<'p>(found: &[&Evidence], page: impl Fn(&Evidence) -> Option<&'p Page>) -> bool {
    let Ok(words) = prompts::plan_words() else {
        return true;
    };
    let cues = words.facets.get("steps").map(|facet| &facet.cues);
    let is_step = |evidence: &&&Evidence| {
        let listed = page(evidence).is_some_and(|page| {
            let mut within = evidence.passage.first()..=evidence.passage.last();
            within.any(|n| {
                page.sentences().get(n).is_some_and(|sentence| sentence.kind == BlockKind::ListItem)
            })
        });
        let text = spaced(evidence.passage.text().expose());
        listed || cues.is_some_and(|cues| cues.any_in(&text))
    };
    found.iter().filter(is_step).count() >= MIN_STEPS
}

/// Whether evidence tells what to type: "Run terraform init".
fn is_command(it: &Evidence) -> bool {
    const TYPING: [&str; 4] = ["run", "type", "enter", "execute"];
    let words = tokens(it.passage.text().expose());
    words.first().is_some_and(|word| TYPING.contains(&word.text.as_str()))
}

fn has_code(page: &Page) -> bool {
    page.sentences().iter().any(|sentence| sentence.kind == BlockKind::Code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support;
    use ibid_core::domain::{Block, CoverageRow, PageDraft, Source, SourceId, SourceKind};

    const NO_DEFINITION: &str = "No sentence that was read says what it is.";
    const NO_STEPS: &str = "No steps were found.";
    const NO_CODE: &str = "No code was found.";

    fn brief(question: &str, kind: QuestionKind) -> Brief {
        let words = vec!["cork".to_owned()];
        let brief = test_support::brief(question);
        Brief { kind, subjects: words.clone(), key_terms: words, ..brief }
    }

    /// The gap of a covered first item with this evidence.
    fn held(question: &str, kind: QuestionKind, blocks: &[(BlockKind, &str)]) -> Option<String> {
        let brief = brief(question, kind);
        let page = Page::new(PageDraft {
            url: "https://oak.example/".to_owned(),
            title: "Cork".to_owned(),
            blocks: blocks.iter().map(|block| Block::new(block.0, block.1)).collect(),
            ..PageDraft::default()
        });
        let mut notes = EvidenceStore::new(crate::plan_from_brief(&brief).unwrap());
        let id = SourceId::new(1);
        let source = Source::from_page(id, SourceKind::Web, &page, None);
        let mut pages = PageSet::default();
        pages.add_known(&source, &page);
        notes.sources.push(source);
        let heart = notes.plan.items()[0].id;
        for n in 0..page.sentences().len() {
            let passage = page.passage(n, n).unwrap();
            let claim = passage.text().expose().to_owned();
            let evidence = test_support::evidence(n as u32 + 1, &[heart.number()]);
            notes.evidence.push(Evidence { claim, passage, ..evidence });
        }
        let items = notes.plan.items().iter();
        let rows = items.map(|item| CoverageRow {
            state: Coverage::Covered,
            ..CoverageRow::empty(item.id, &item.asks)
        });
        let mut coverage = CoverageState { rows: rows.collect(), ..CoverageState::default() };
        check_answer_form(&brief, &notes, &pages, &mut coverage).unwrap();
        let row = &coverage.rows[0];
        let partial = row.state == Coverage::Partial;
        assert_eq!(partial, row.gap.is_some());
        assert_eq!(partial, coverage.gaps.contains_key(&heart));
        row.gap.clone()
    }

    #[test]
    fn what_is_wants_a_definition_and_how_to_steps() {
        use BlockKind::{ListItem, Prose};
        let what = |text| held("What is cork?", QuestionKind::Definition, &[(Prose, text)]);
        let sold = what("Merchants of Lisbon shipped cork abroad in 1850.");
        assert_eq!(sold.as_deref(), Some(NO_DEFINITION));
        assert_eq!(what("Cork is a light material from the bark of an oak."), None);
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
    fn each_item_has_its_own_form() {
        let asked = "What is cork and how to harvest it?";
        let brief = brief(asked, QuestionKind::Definition);
        let plan = crate::plan_from_brief(&brief).unwrap();
        let of = |nth: usize| forms(&brief, &plan.items()[nth], nth == 0).unwrap();
        assert_eq!(plan.items()[1].asks, "How to harvest cork?");
        assert_eq!((of(0), of(1)), (vec![AnswerForm::Definition], vec![AnswerForm::Steps]));
        assert_eq!(of(2), []);
        let asked = "What is the function of the liver?";
        let brief = super::tests::brief(asked, QuestionKind::Open);
        let plan = crate::plan_from_brief(&brief).unwrap();
        assert_eq!(forms(&brief, &plan.items()[0], true).unwrap(), []);
    }

    #[test]
    fn a_technical_question_wants_code() {
        use BlockKind::{Code, Prose};
        let asks = "What does the Python function sorted return?";
        let told = (Prose, "The Python function sorted returns a new list.");
        let kind = QuestionKind::Open;
        assert_eq!(held(asks, kind, &[told]).as_deref(), Some(NO_CODE));
        assert_eq!(held(asks, kind, &[told, (Code, "def f(x): return x")]), None);
        // What a program is can be said without code, and code is not expected for a question about cork.
        let kind = QuestionKind::Definition;
        let defined = (Prose, "Terraform is a tool that builds infrastructure from code.");
        assert_eq!(held("What is Terraform?", kind, &[defined]), None);
        assert_eq!(held("What is cork?", kind, &[(Prose, "Cork is a light material.")]), None);
    }
}
