//! The report as the templates show it.
use std::borrow::Cow;
use std::collections::HashMap;

use super::chart_drawing::ChartDrawing;
use super::diagram::Diagram;
use super::method_rows::{MethodRow, method_rows};
use super::quote_numbers::{QuoteNumbers, confidence_badge};
use super::source_card::{self, SourceCard};
use super::source_text::{live_url, passage_location, source};
use super::view_models::{
    ComparisonCell, ComparisonView, ConfidenceBadge, ConflictView, EvidenceTableRow, ExcerptView,
    FindingGroup, FindingView, QuoteView, ReportSentence, SectionView, TocEntry, TopicView,
};
use crate::escape::{single_line, web_url};
use crate::markdown::tabled_findings;
use crate::phrases::{
    applied_checks, checks_line, local_path, one_source_note, pluralize, source_kind_label,
};
use crate::{PagesByHash, introduction};
use ibid_core::domain::{
    Citation, Claim, ClaimId, ComparisonRow, ComparisonTable, Excerpt, OutputMode, Passage, Ratio,
    Report, SectionLayout,
};

/// Unread documents that are named.
const UNREAD_SHOWN: usize = 10;

/// A report as the templates show it. Text is not escaped yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportBody {
    /// The run id.
    pub run: String,
    /// The language code.
    pub lang: String,
    /// The title.
    pub title: String,
    /// The question.
    pub question: String,
    /// The date and the effort.
    pub about: String,
    /// What is said before anything else.
    pub notice: Option<&'static str>,
    /// The answer of mode `answer`.
    pub answer: Option<ReportSentence>,
    /// Whether it has the parts of a report.
    pub is_report: bool,
    /// The short answer.
    pub short: Vec<ReportSentence>,
    /// The element of its list, where it is one.
    pub short_tag: Option<&'static str>,
    /// Its confidence.
    pub sure: ConfidenceBadge,
    /// The label of the short answer.
    pub short_label: Cow<'static, str>,
    /// The sentences of the introduction.
    pub opening: Vec<ReportSentence>,
    /// Whether they are shown.
    pub has_introduction: bool,
    /// Key findings.
    pub groups: Vec<FindingGroup>,
    /// The comparison table.
    pub comparison: Option<ComparisonView>,
    /// Sections.
    pub parts: Vec<SectionView>,
    /// Where sources disagree.
    pub disputes: Vec<ConflictView>,
    /// The heading over them.
    pub disputes_heading: &'static str,
    /// The evidence table.
    pub rows: Vec<EvidenceTableRow>,
    /// What could not be established: the point and the reason.
    pub open: Vec<(String, String)>,
    /// The number of unread documents that are not named.
    pub unread_more: Option<String>,
    /// The sentences of the conclusion.
    pub closing: Vec<ReportSentence>,
    /// The text after them; without it there is no conclusion.
    pub conclusion: Option<String>,
    /// The method: name, text.
    pub method: Vec<MethodRow>,
    /// The checks that had something to check: name, result.
    pub checks: Vec<(&'static str, Ratio)>,
    /// The same in one line.
    pub checks_line: String,
    /// The figures of the short answer in the unit that the question asks for.
    pub computed: Option<String>,
    /// The works cited.
    pub cards: Vec<SourceCard>,
    /// Their kinds: CSS class, label, number.
    pub kinds: Vec<(&'static str, &'static str, usize)>,
    /// The quotes.
    pub quotes: Vec<QuoteView>,
    /// The excerpts by source, in mode `evidence`.
    pub taken: Vec<ExcerptView>,
    /// The coverage of each topic, in mode `evidence`.
    pub topics: Vec<TopicView>,
    /// The diagram of the topics and their sources.
    pub drawing: Option<Diagram>,
    /// The table of contents.
    pub contents: Vec<TocEntry>,
}

impl ReportBody {
    /// The report with the quotes of `pages`. `stored` is the URL prefix of the stored pages, where a server shows them.
    pub fn from_report(it: &Report, pages: &PagesByHash, stored: Option<&str>) -> ReportBody {
        let passages = it.cited_passages();
        let numbers = QuoteNumbers::new(it, &passages);
        let unread_more = it.method.pages_failed.len().saturating_sub(UNREAD_SHOWN) as u64;
        let cards: Vec<SourceCard> = if it.unlisted {
            Vec::new()
        } else {
            (1..=it.sources.len()).filter_map(|n| SourceCard::from_report(it, n)).collect()
        };
        let answer = it.answer.as_ref().filter(|_| it.mode == OutputMode::Answer);
        let mut body = ReportBody {
            run: it.run.to_string(),
            lang: language_code(&it.lang),
            title: single_line(&it.title),
            question: single_line(&it.question),
            about: format!("{} · {} effort", it.date, it.depth),
            notice: one_source_note(it),
            answer: answer.map(|answer| ReportSentence {
                id: "answer".to_owned(),
                text: single_line(&answer.text),
                chips: numbers.chips(&answer.citations),
            }),
            is_report: it.mode == OutputMode::Report,
            short: it.short.iter().map(|claim| numbers.sentence(claim)).collect(),
            computed: it.computed_line().map(|line| single_line(&line)),
            short_tag: list_tag(it.short_layout()),
            sure: confidence_badge(&it.confidence),
            short_label: it.short_answer_label(),
            opening: it.introduction.iter().map(|claim| numbers.sentence(claim)).collect(),
            has_introduction: introduction::has_introduction(it),
            groups: finding_groups(it, &numbers),
            comparison: comparison(it, &numbers),
            parts: sections(it, &numbers),
            disputes_heading: introduction::conflicts_heading(&it.conflicts),
            disputes: it.conflicts.iter().map(|conflict| numbers.conflict(conflict)).collect(),
            rows: tabled_findings(it)
                .into_iter()
                .map(|finding| numbers.row(&finding.claim, &finding.confidence))
                .collect(),
            open: open_points(it),
            unread_more: (unread_more > 0).then(|| pluralize(unread_more, "more document")),
            closing: it.conclusion.iter().map(|claim| numbers.sentence(claim)).collect(),
            conclusion: introduction::conclusion(it, single_line),
            method: method_rows(it),
            checks: applied_checks(it),
            checks_line: checks_line(it),
            kinds: kind_counts(&cards),
            cards,
            quotes: passages
                .iter()
                .zip(1..)
                .filter_map(|(cited, k)| quote(it, pages, *cited, k, stored))
                .collect(),
            taken: it.results.iter().map(excerpt_view).collect(),
            topics: topics(it),
            drawing: Diagram::from_report(it),
            contents: Vec::new(),
        };
        if let (Some(table), Some(chart)) = (&mut body.comparison, &it.chart) {
            table.chart = Some(ChartDrawing::new(chart, &quote_links(it, &numbers)));
        }
        body.contents = table_of_contents(&body);
        body
    }

    /// Whether a chart has links to quotes.
    pub fn has_chart(&self) -> bool {
        self.comparison.as_ref().is_some_and(|table| table.chart.is_some())
    }

    /// Whether something could not be established.
    pub fn has_open(&self) -> bool {
        !self.open.is_empty()
    }
}

/// The points that could not be established, then the first unread documents.
fn open_points(report: &Report) -> Vec<(String, String)> {
    let points =
        report.open.iter().map(|point| (single_line(&point.what), single_line(&point.why)));
    let failed = &report.method.pages_failed;
    let unread = failed
        .iter()
        .take(UNREAD_SHOWN)
        .map(|(page, why)| (format!("Not read: {}", single_line(page)), single_line(why)));
    points.chain(unread).collect()
}

fn finding_groups(report: &Report, numbers: &QuoteNumbers<'_>) -> Vec<FindingGroup> {
    report
        .findings_by_kind()
        .into_iter()
        .map(|(heading, findings)| FindingGroup {
            heading,
            findings: findings
                .iter()
                .map(|finding| FindingView {
                    said: numbers.sentence(&finding.claim),
                    sure: confidence_badge(&finding.confidence),
                })
                .collect(),
        })
        .collect()
}

fn comparison(report: &Report, numbers: &QuoteNumbers<'_>) -> Option<ComparisonView> {
    let it = report.comparison.as_ref()?;
    let cell = |(claims, converted): (&Vec<Claim>, Option<&str>)| ComparisonCell {
        figures: claims.iter().map(|claim| numbers.sentence(claim)).collect(),
        converted: converted.map(single_line),
    };
    let row =
        |row: &ComparisonRow| (single_line(&row.label), row.converted_cells().map(cell).collect());
    Some(ComparisonView {
        heading: it.heading(),
        columns: it.columns.iter().map(|name| single_line(name)).collect(),
        rows: it.rows.iter().map(row).collect(),
        chart: None,
    })
}

/// The anchor of the quote of each figure of the comparison.
fn quote_links(report: &Report, numbers: &QuoteNumbers<'_>) -> HashMap<ClaimId, String> {
    let link = |claim: &Claim| {
        let holds = |it: &&Citation| it.passage.text().expose().contains(claim.text());
        let citation = claim.citations().iter().find(holds)?;
        Some((claim.id, format!("#q{}", numbers.number(citation)?)))
    };
    report.comparison.iter().flat_map(ComparisonTable::claims).filter_map(link).collect()
}

fn sections(report: &Report, numbers: &QuoteNumbers<'_>) -> Vec<SectionView> {
    report
        .sections
        .iter()
        .zip(1..)
        .map(|(section, n)| SectionView {
            id: format!("s-{n}"),
            title: format!("{n}. {}", single_line(&section.title)),
            list_tag: list_tag(section.layout),
            paragraphs: section
                .paragraphs
                .iter()
                .map(|claims| claims.iter().map(|claim| numbers.sentence(claim)).collect())
                .collect(),
        })
        .collect()
}

/// The HTML element of a list that is laid out so.
fn list_tag(layout: SectionLayout) -> Option<&'static str> {
    match layout {
        SectionLayout::Prose => None,
        SectionLayout::List => Some("ul"),
        SectionLayout::Steps => Some("ol"),
    }
}

fn topics(report: &Report) -> Vec<TopicView> {
    report
        .coverage
        .iter()
        .map(|row| TopicView {
            text: single_line(&row.text),
            word: row.state.status_word(),
            gap: row.gap.as_deref().map(single_line),
        })
        .collect()
}

/// A valid two-letter language code, else English.
fn language_code(code: &str) -> String {
    if code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_lowercase()) {
        code.to_owned()
    } else {
        "en".to_owned()
    }
}

fn quote(
    report: &Report,
    pages: &PagesByHash,
    (n, passage): (u32, &Passage),
    k: usize,
    stored: Option<&str>,
) -> Option<QuoteView> {
    let source = source(report, n)?;
    let page = pages.get(passage.page());
    Some(QuoteView {
        k,
        n,
        words: single_line(passage.text().expose()),
        title: single_line(&source.title),
        about: source_card::venue_and_date(source),
        kind: source_kind_label(source),
        place: passage_location(passage, pages),
        live: live_url(source, passage),
        stored: stored.filter(|_| page.is_some()).map(|it| format!("{it}{k}#quote")),
        holds: page.map(|page| passage.is_found_in(page)),
    })
}

fn excerpt_view(it: &Excerpt) -> ExcerptView {
    let title = match it.title.trim() {
        "" => single_line(&it.url),
        title => single_line(title),
    };
    ExcerptView {
        title,
        link: web_url(&it.url),
        place: single_line(&local_path(&it.url)),
        pieces: it.content.split('\n').map(single_line).collect(),
        score: (it.score.clamp(0.0, 1.0) * 100.0).round() as u32,
    }
}

/// The kinds of the cards, in order of first appearance: CSS class, label, number.
fn kind_counts(cards: &[SourceCard]) -> Vec<(&'static str, &'static str, usize)> {
    let mut out: Vec<(&'static str, &'static str, usize)> = Vec::new();
    for it in cards {
        match out.iter_mut().find(|known| known.0 == it.class) {
            Some(known) => known.2 += 1,
            None => out.push((it.class, it.kind, 1)),
        }
    }
    out
}

/// The headings in the order of the template, each under the same condition as there.
fn table_of_contents(it: &ReportBody) -> Vec<TocEntry> {
    let entry = |(is_shown, id, title): (bool, &str, &str)| {
        is_shown.then(|| TocEntry { id: id.to_owned(), title: title.to_owned() })
    };
    let compared = it.comparison.as_ref().map_or("", |table| table.heading);
    let before = [
        (it.is_report && it.has_introduction, "introduction", "Introduction"),
        (it.is_report && !it.groups.is_empty(), "findings", "Key findings"),
        (it.is_report && it.comparison.is_some(), "comparison", compared),
    ];
    let parts = it.parts.iter().map(|part| (it.is_report, &*part.id, &*part.title));
    let after = [
        (it.is_report && !it.disputes.is_empty(), "conflicts", it.disputes_heading),
        (it.is_report && !it.rows.is_empty(), "table", "Evidence table"),
        (it.is_report && it.has_open(), "open", "What could not be established"),
        (it.is_report && it.conclusion.is_some(), "conclusion", "Conclusion"),
        (it.is_report, "method", "Method"),
        (!it.cards.is_empty(), "sources", "Sources"),
        (!it.quotes.is_empty(), "quotes", "Quotes"),
    ];
    before.into_iter().chain(parts).chain(after).filter_map(entry).collect()
}
