//! How the short answer of a report is laid out and labelled.
use std::borrow::Cow;

use super::{Citation, Claim, Report, Section, SectionLayout, YesNo};

impl Report {
    /// How the short answer is laid out: a list and rows of tables as a list, others as the section that has all of its sentences, or else as
    /// running text.
    pub fn short_layout(&self) -> SectionLayout {
        let is_row = |it: &Citation| it.passage.text().expose().contains(" | ");
        let has_all = |section: &&Section| {
            let told: Vec<&str> = section.paragraphs.iter().flatten().map(Claim::text).collect();
            self.short.iter().all(|claim| told.contains(&claim.text()))
        };
        match self.sections.iter().find(has_all) {
            _ if self.short.len() < 2 => SectionLayout::Prose,
            _ if self.short_is_list => SectionLayout::List,
            _ if self.short_is_steps => SectionLayout::Steps,
            _ if self.short.iter().all(|it| it.citations().iter().any(is_row)) => {
                SectionLayout::List
            }
            Some(section) => section.layout,
            None => SectionLayout::Prose,
        }
    }

    /// The figures in the unit that the question asks for, as a sentence.
    pub fn computed_line(&self) -> Option<String> {
        let all = self.short_converted.join("; ");
        (!all.is_empty()).then(|| format!("Computed, not quoted: {all}."))
    }

    /// The label of the short answer: "Short answer", with yes or no where there is a verdict, or with how many of the steps it tells, or
    /// "Nearest passage".
    pub fn short_answer_label(&self) -> Cow<'static, str> {
        let told = self.short.len();
        let begins = |section: &&Section| {
            let steps: Vec<&str> = section.paragraphs.iter().flatten().map(Claim::text).collect();
            section.layout == SectionLayout::Steps
                && steps.len() > told
                && self.short.iter().zip(&steps).all(|(own, step)| own.text() == *step)
        };
        match (self.verdict, self.sections.iter().find(begins)) {
            (Some(YesNo::Yes), _) => "Short answer: yes".into(),
            (Some(YesNo::No), _) => "Short answer: no".into(),
            (None, _) if self.nearest_only => "Nearest passage".into(),
            (None, Some(section)) if told > 1 => {
                let all = section.paragraphs.iter().flatten().count();
                format!("Short answer: the first {told} of {all} steps").into()
            }
            (None, _) => "Short answer".into(),
        }
    }
}
