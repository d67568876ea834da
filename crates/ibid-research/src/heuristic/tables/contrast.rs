//! Sentences that give both sides of a comparison a figure of one unit, each in a clause of its own: "An extensive roof costs 3
//! euros a year; an intensive roof costs 14 euros." Others may mean either side, and stay out of the table.
use super::kinds::clauses;
use super::measure::{stems, units};
use super::request::TableRequest;
use crate::draft::DraftLine;
use ibid_core::domain::Evidence;
use ibid_core::domain::words::{Number, numbers};

/// Maximum number of words of a figure with what it is of.
const MAX_FIGURE_WORDS: usize = 10;

/// What one table, or one sentence, says of an attribute of both sides.
pub(super) struct AttributeRow {
    pub(super) label: String,
    pub(super) cells: Vec<Vec<DraftLine>>,
    /// How many of its cells say more than the side that they are of.
    pub(super) qualified: usize,
}

/// What a sentence says of both sides, with the measures that it names; `None` if the pairs are not certain.
pub(super) fn contrast_row(
    request: &TableRequest,
    it: &Evidence,
) -> Option<(String, AttributeRow)> {
    let text = it.passage.text().expose();
    let measured: Vec<(&str, Vec<Number>)> = clauses(text)
        .into_iter()
        .map(|clause| (clause, numbers(clause)))
        .filter(|it| !it.1.is_empty())
        .collect();
    let [(one, of_one), (other, of_other)] = measured.as_slice() else {
        return None;
    };
    let side = |clause: &str| {
        let stems = stems(clause);
        let mut on = (0..request.sides.len()).filter(|side| stems.contains(&request.sides[*side]));
        on.next().filter(|_| on.next().is_none())
    };
    let (first, second) = (side(one)?, side(other)?);
    if first == second || units(one).is_disjoint(&units(other)) {
        return None;
    }
    let label = measures(request, text)?;
    let mut cells = vec![Vec::new(); request.sides.len()];
    for (side, clause, figures) in [(first, one, of_one), (second, other, of_other)] {
        let line = DraftLine { text: figure_text(clause, figures)?, evidence: vec![it.id] };
        cells.get_mut(side)?.push(line);
    }
    Some((label.clone(), AttributeRow { label, cells, qualified: 0 }))
}

/// The measures that a sentence is of: "Cost, Maintenance".
fn measures(request: &TableRequest, text: &str) -> Option<String> {
    let (named, units) = (stems(text), units(text));
    let all = request.words.measures.values();
    let of = all.filter(|it| {
        it.names.iter().any(|name| named.contains(name))
            || !it.named && it.units.iter().any(|unit| units.contains(unit))
    });
    let headings: Vec<&str> = of.map(|it| it.heading.as_str()).collect();
    (!headings.is_empty()).then(|| headings.join(", "))
}

/// The figure of a clause to the clause's end; `None` if the clause has more than a figure or a range, or goes on for long.
fn figure_text(clause: &str, figures: &[Number]) -> Option<String> {
    let first = figures.first()?;
    let mut start = first.span.start;
    if let Some(sign) = clause[..start].chars().next_back().filter(|c| "€$£¥".contains(*c)) {
        start -= sign.len_utf8();
    }
    let text = clause[start..].trim().trim_end_matches('.');
    let short = text.split_whitespace().count() <= MAX_FIGURE_WORDS;
    let range = figures.len() == 2 && figures[0].unit == figures[1].unit;
    (short && (figures.len() == 1 || range)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support;
    use ibid_core::domain::{Block, BlockKind, Page, PageDraft};

    /// The row that a sentence gives to the comparison of natural and pressed cork.
    fn row(text: &str) -> Option<(String, Vec<String>)> {
        let brief = test_support::brief("Compare natural cork and pressed cork");
        let request = TableRequest::from_brief(&brief).unwrap();
        let page = Page::new(PageDraft {
            url: "https://oak.example/".to_owned(),
            blocks: vec![Block::new(BlockKind::ListItem, text)],
            ..PageDraft::default()
        });
        let passage = page.passage(0, page.sentences().len() - 1).unwrap();
        let it = Evidence { passage, ..test_support::evidence(1, &[1]) };
        let (label, row) = contrast_row(&request, &it)?;
        Some((label, row.cells.into_iter().flatten().map(|line| line.text).collect()))
    }

    #[test]
    fn only_certain_pairs_are_taken() {
        let found =
            row("Care of natural cork costs 3.20 euros a year; pressed cork costs 1 to 2 euros.");
        let figures = vec!["3.20 euros a year".to_owned(), "1 to 2 euros".to_owned()];
        assert_eq!(found, Some(("Cost, Maintenance".to_owned(), figures)));
        for text in [
            "Natural cork costs 3 euros, and natural cork of old trees costs 5 euros.",
            "Natural cork costs 3 euros; pressed cork weighs 6 g.",
            "Natural or pressed cork costs 3 euros; cork of both kinds costs 4 euros.",
            "Natural cork was known 3 years before; pressed cork 5 years.",
        ] {
            assert_eq!(row(text), None, "{text}");
        }
    }
}
