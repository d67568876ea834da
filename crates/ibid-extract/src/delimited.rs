//! Comma-separated values, and those separated by semicolons, tabs or bars, as a table.
use crate::parsed_document::ParsedDocument;
use crate::table_grid::{GridCell, TableGrid};
use crate::text_document;

/// What may separate fields, the most usual first.
const DELIMITERS: [u8; 4] = *b",;\t|";
/// Records that tell the delimiter.
const SAMPLED_RECORDS: usize = 10;

/// Reads a file of separated values; as plain text if its records have one field.
///
/// The first record names the columns if none of its fields is empty or a number (the header is optional in RFC 4180, section 2).
pub(crate) fn read(text: &str) -> ParsedDocument {
    let Some(delimiter) = delimiter_of(text) else {
        return text_document::read(text);
    };
    let mut grid = TableGrid::default();
    grid.begin_table();
    let mut blocks = Vec::new();
    for (nth, record) in records(text, delimiter).enumerate() {
        let names = nth == 0 && record.iter().all(is_name);
        let cell = |text: &str| GridCell { text: text.to_owned(), ..GridCell::default() };
        blocks.extend(grid.block(record.iter().map(cell).collect(), names));
    }
    ParsedDocument { blocks, ..ParsedDocument::default() }
}

/// The records of a file. A record that is no UTF-8 cannot occur, since the text is.
fn records(text: &str, delimiter: u8) -> impl Iterator<Item = csv::StringRecord> {
    let mut builder = csv::ReaderBuilder::new();
    builder.has_headers(false).flexible(true).trim(csv::Trim::All).delimiter(delimiter);
    builder.from_reader(text.as_bytes()).into_records().map_while(Result::ok)
}

/// The delimiter by which the first records have the same number of fields, and the most; `None` if by none they have two.
fn delimiter_of(text: &str) -> Option<u8> {
    let fields = |delimiter: u8| {
        let mut counts = records(text, delimiter).take(SAMPLED_RECORDS).map(|it| it.len());
        let first = counts.next()?;
        let alike = counts.all(|count| count == first);
        (first > 1).then_some((alike, first))
    };
    let known = DELIMITERS.into_iter().rev().filter_map(|it| Some((fields(it)?, it)));
    known.max_by_key(|(fields, _)| *fields).map(|(_, delimiter)| delimiter)
}

fn is_name(field: &str) -> bool {
    !field.is_empty() && field.replace(',', ".").parse::<f64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ibid_core::domain::BlockKind;

    fn rows(text: &str) -> Vec<(BlockKind, String)> {
        read(text).blocks.into_iter().map(|block| (block.kind, block.text)).collect()
    }

    #[test]
    fn records_are_rows_of_a_table_whatever_separates_their_fields() {
        for text in [
            "name,size,price\n\"Pan, cast iron\",28 cm,64.00\n",
            "name;size;price\nPan, cast iron;28 cm;64.00\n",
            "name\tsize\tprice\r\nPan, cast iron\t28 cm\t64.00\r\n",
        ] {
            let found = rows(text);
            assert_eq!(found[0], (BlockKind::TableHeader, "name | size | price".to_owned()));
            let row = "Pan, cast iron | 28 cm | 64.00".to_owned();
            assert_eq!(found[1], (BlockKind::TableRow, row), "{text}");
        }
    }

    #[test]
    fn a_record_with_numbers_names_no_columns_and_prose_is_no_table() {
        assert_eq!(rows("1834,bridge\n1876,railway\n")[0].0, BlockKind::TableRow);
        assert_eq!(rows("A bridge was built\nin 1834.\n")[0].0, BlockKind::Prose);
        assert_eq!(rows(""), []);
        // An open quote takes the rest of the file into one field.
        assert!(!rows("a,b\n\"open,2\n3,4\n").is_empty());
    }
}
