//! What unit tests of several modules start from.
use ibid_core::domain::{
    Block, BlockKind, Brief, Confidence, ConfidenceMark, Evidence, EvidenceId, ItemId, Page,
    PageDraft, SourceId, Stance,
};

use crate::draft::{DraftLine, DraftSection, ReportDraft};
use crate::heuristic::intake::subjects;
use crate::heuristic::question_kind::question_kind;
use crate::prompts;

/// The brief of an English question, made of its words alone.
pub(crate) fn brief(asked: &str) -> Brief {
    Brief {
        question: asked.to_owned(),
        sharpened: None,
        kind: question_kind(asked, prompts::phrases().unwrap()),
        subjects: subjects(asked),
        key_terms: Vec::new(),
        scope_in: Vec::new(),
        scope_out: Vec::new(),
        lang: "en".to_owned(),
        clarified: Vec::new(),
    }
}

/// The evidence `id` for `items`, best first: that cork floats.
pub(crate) fn evidence(id: u32, items: &[u32]) -> Evidence {
    let page = Page::new(PageDraft {
        url: "https://oak.example/".to_owned(),
        blocks: vec![Block::new(BlockKind::Prose, "Cork floats.")],
        ..PageDraft::default()
    });
    Evidence {
        id: EvidenceId::new(id),
        items: items.iter().map(|it| ItemId::new(*it)).collect(),
        source: SourceId::new(1),
        claim: "Cork floats.".to_owned(),
        passage: page.passage(0, 0).unwrap(),
        table_header: None,
        heading: None,
        stance: Stance::For,
        score: 0.9,
        confidence: 0.5,
        contradiction_or_uncertainty: false,
        round: 1,
    }
}

/// A draft with a short answer and sections alone.
pub(crate) fn draft(short: &[DraftLine], sections: Vec<DraftSection>) -> ReportDraft {
    let confidence = ConfidenceMark { level: Confidence::Low, why: Vec::new() };
    ReportDraft {
        sections,
        conclusion_by_code: false,
        answer_by_code: false,
        ..ReportDraft::by_code("Cork".to_owned(), short.to_vec(), confidence)
    }
}
