//! The rows of a page's tables that answer a question, as evidence: each as a sentence that says what its cells say.
use std::collections::BTreeMap;

use super::kinds::kind_sentences;
use super::measure::stems;
use super::named_rows::named_rows;
use super::request::{TableRequest, year};
use super::row_text::row_text;
use super::top_row::top_rows;
use super::view::{CellFigure, RowLine, TableView};
use crate::heuristic::calendar::{names_month, years};
use crate::heuristic::lexicon::spaced;
use crate::prompts::SentenceWords;
use crate::thresholds::UNCHECKED_CONFIDENCE;
use ibid_core::domain::{Evidence, EvidenceId, ItemId, Page, SourceId, Stance};

/// Maximum number of rows of a page for a question.
const MAX_ROWS: usize = 8;
/// Share of what a question is about that a row has with its table.
const MIN_TOPIC_SHARE: f32 = 0.5;
/// Maximum number of bytes of a quoted row.
const MAX_ROW_BYTES: usize = 1_500;
/// The score of a row with none of what the question is about, and what all of it adds.
const ROW_SCORE: (f32, f32) = (0.4, 0.5);
/// The least score of a row on the problem that the question is about ([`PROBLEM_SHARE`](super::named_rows::PROBLEM_SHARE)).
pub(super) const MIN_PROBLEM_SCORE: f32 = 0.94;

/// The evidence for items in the tables of a page, best first. `requests` are what each item asks of a table.
pub(crate) fn rows_of_page(
    requests: &[(ItemId, TableRequest)],
    page: &Page,
    source: SourceId,
    words: &SentenceWords,
) -> Vec<Evidence> {
    let mut found: Vec<Evidence> = Vec::new();
    for asking in requests {
        let (item, request) = asking;
        let views = TableView::of_page(page, request.words);
        let told = |lines: fn(&TableView<'_>, &TableRequest) -> Vec<RowLine>| {
            let of_view = |view| {
                let lines = of_asked_number(view, request, lines(view, request)).into_iter();
                lines.filter_map(move |line| evidence(view, line, source))
            };
            views.iter().flat_map(of_view).collect::<Vec<Evidence>>()
        };
        let mut own = if request.asks_figures { told(lines) } else { Vec::new() };
        if own.is_empty() {
            own = told(named_rows);
        }
        own.sort_by(|a, b| b.score.total_cmp(&a.score));
        for it in own.into_iter().take(MAX_ROWS) {
            match found.iter_mut().find(|known| known.claim == it.claim) {
                Some(known) => known.items.push(*item),
                None => found.push(Evidence { items: vec![*item], ..it }),
            }
        }
        if request.asks_figures {
            found.extend(kind_sentences(asking, page, source, words));
        }
    }
    found
}

/// The lines without those on rows of another number than the one asked for: "Lumo 7" does not tell of the Lumo 9. Where a table has
/// only such rows of the name, it tells nothing of it.
fn of_asked_number(
    view: &TableView<'_>,
    request: &TableRequest,
    mut lines: Vec<RowLine>,
) -> Vec<RowLine> {
    let match_of = |row: usize| view.label(row).and_then(|label| request.has_asked_number(label));
    let matches: Vec<Option<bool>> = (0..view.table.rows.len()).map(match_of).collect();
    if matches.contains(&Some(false)) && !matches.contains(&Some(true)) {
        return Vec::new();
    }
    lines.retain(|line| line.rows.0 != line.rows.1 || match_of(line.rows.0) != Some(false));
    lines
}

/// The evidence for a line; `None` if nothing says what the rows are about, or they are too long to quote.
fn evidence(view: &TableView<'_>, line: RowLine, source: SourceId) -> Option<Evidence> {
    let header = &view.table.header;
    let header = header.first().zip(header.last()).map(|it| (it.0.sentence, it.1.sentence));
    let header = header.or(view.table.caption.map(|caption| (caption, caption)))?;
    let (first, last) = (view.table.rows.get(line.rows.0)?, view.table.rows.get(line.rows.1)?);
    let passage = view.page.passage(first.group.unwrap_or(first.sentence), last.sentence)?;
    if passage.byte_range().len() > MAX_ROW_BYTES {
        return None;
    }
    Some(Evidence {
        id: EvidenceId::new(1),
        items: Vec::new(),
        source,
        passage,
        table_header: Some(view.page.passage(header.0, header.1)?),
        heading: None,
        claim: line.text,
        stance: Stance::Neutral,
        score: ROW_SCORE.0 + ROW_SCORE.1 * line.share,
        confidence: UNCHECKED_CONFIDENCE,
        contradiction_or_uncertainty: false,
        round: 1,
    })
}

/// What a table says to a request.
fn lines(view: &TableView<'_>, request: &TableRequest) -> Vec<RowLine> {
    // A table that says nothing of patients over 65 does not say what is their dose.
    let told = |bound: &String| view.tells(bound);
    if !request.bounds.iter().all(told) {
        return Vec::new();
    }
    if request.extreme.is_some() {
        return top_rows(view, request)
            .into_iter()
            .filter(|line| line.share >= MIN_TOPIC_SHARE)
            .collect();
    }
    let asked = asked_figures(view, request);
    if request.years.is_some() {
        return year_lines(view, request, &asked);
    }
    let mut rows: BTreeMap<usize, Vec<CellFigure<'_>>> = BTreeMap::new();
    for figure in asked {
        rows.entry(figure.row).or_default().push(figure);
    }
    let line = |(row, figures): (usize, Vec<CellFigure<'_>>)| RowLine {
        text: row_text(view, request.words, row, &figures),
        rows: (row, row),
        share: figures.iter().map(|it| view.topic_share(request, it)).fold(0.0, f32::max),
    };
    rows.into_iter().map(line).collect()
}

/// What is asked for in the first and in the last year, for each thing or measure that the table has of several years.
fn year_lines(
    view: &TableView<'_>,
    request: &TableRequest,
    asked: &[CellFigure<'_>],
) -> Vec<RowLine> {
    let mut series: BTreeMap<&str, Vec<(u16, &CellFigure<'_>)>> = BTreeMap::new();
    for it in asked {
        let (name, at) = match year(it.entity) {
            Some(at) => (it.attribute, Some(at)),
            None => (it.entity, year(it.attribute)),
        };
        if let Some(at) = at {
            series.entry(name).or_default().push((at, it));
        }
    }
    let line = |(name, mut figures): (&str, Vec<(u16, &CellFigure<'_>)>)| {
        figures.sort_by_key(|it| it.0);
        let ((from, first), (to, last)) = (figures.first()?, figures.last()?);
        let rows = figures.iter().map(|it| it.1.row);
        Some(RowLine {
            text: format!("{name} – {from}: {}; {to}: {}.", first.value, last.value),
            rows: (rows.clone().min()?, rows.max()?),
            share: view.topic_share(request, first),
        })
        .filter(|_| from < to)
    };
    series.into_iter().filter_map(line).collect()
}

/// The figures that a request is for: of what it asks for, on the things that it names best.
pub(super) fn asked_figures<'v>(
    view: &'v TableView<'_>,
    request: &TableRequest,
) -> Vec<CellFigure<'v>> {
    let mut asked = view.figures();
    // Where a table has two of the things compared, all that it says of them is compared.
    let compares = view.sides(request) > 1;
    if let Some(years) = &request.years {
        asked.retain(|it| years.contains(it.entity) || years.contains(it.attribute));
    }
    asked.retain(|it| {
        let fits = if request.sides.is_empty() || !request.measures.is_empty() {
            request.asks_for(it.attribute, it.value, &view.about)
                || compares && request.names_attribute(it.attribute)
        } else {
            view.is_property(request.words, it) || compares
        };
        let dated = || [it.entity, it.attribute, it.value].iter().any(|text| tells_time(text));
        // A row is on one of the things compared, and so has half of their names.
        let on_topic = compares || view.topic_share(request, it) >= MIN_TOPIC_SHARE;
        fits && on_topic && (!request.asks_time || dated())
    });
    if request.years.is_some() {
        // The column, or the row, that is named best.
        let named = |it: &CellFigure<'_>| {
            let own = stems(&format!("{} {}", it.entity, it.attribute));
            request.topic.intersection(&own).count()
        };
        let best = asked.iter().map(named).max().unwrap_or(0);
        asked.retain(|it| named(it) == best);
    }
    if !request.sides.is_empty() {
        asked.retain(|it| view.side(request, it).is_some());
    } else if request.all_rows || request.years.is_some() {
        // A table of one thing says nothing of each.
        asked.retain(|it| !it.entity.is_empty() && !view.is_summary(request.words, it.row));
    } else {
        // A row that names less of what is asked about is on something else.
        let best = asked.iter().map(|it| view.named(request, it)).max().unwrap_or(0);
        asked.retain(|it| view.named(request, it) == best && (best > 0 || it.entity.is_empty()));
    }
    asked
}

fn tells_time(text: &str) -> bool {
    !years(text).is_empty() || names_month(&spaced(text))
}
