//! Forms of sentences that state little by themselves.

/// Whether a lower-case sentence begins with a condition.
pub(super) fn is_conditional(opening: &str) -> bool {
    ["if ", "unless ", "suppose ", "where a ", "in case "]
        .iter()
        .any(|prefix| opening.starts_with(prefix))
}

/// "CellVGAE: an unsupervised workflow with graph attention networks": a title, not a statement.
pub(super) fn is_title(text: &str) -> bool {
    text.split_once(": ").is_some_and(|(head, tail)| {
        head.split_whitespace().count() <= 8
            && ["a ", "an ", "the "].iter().any(|prefix| tail.to_lowercase().starts_with(prefix))
    })
}

/// "66 Now more than ever": a page number precedes the sentence.
pub(super) fn starts_with_page_number(text: &str) -> bool {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
    (1..=3).contains(&digits)
        && text[digits..].strip_prefix(' ').is_some_and(|rest| rest.starts_with(char::is_uppercase))
}

/// A table of contents in one line: "Overview 70 Treatment 71 Key points 71 Questions to ask".
pub(super) fn is_contents(text: &str) -> bool {
    const MIN_ENTRIES: usize = 3;
    let words: Vec<&str> = text.split_whitespace().collect();
    let pages = words.windows(3).filter_map(|it| {
        let entry = it[0].ends_with(char::is_alphabetic) && it[2].starts_with(char::is_uppercase);
        let page = (it[1].len() <= 3).then(|| it[1].parse::<u16>().ok())?;
        page.filter(|_| entry)
    });
    let pages: Vec<u16> = pages.collect();
    pages.len() >= MIN_ENTRIES && pages.is_sorted()
}

/// Whether brackets or quotation marks are opened and not closed.
pub(super) fn is_unbalanced(text: &str) -> bool {
    let open = text.matches('(').count();
    let close = text.matches(')').count();
    let curly = text.matches('“').count() != text.matches('”').count();
    let straight = !text.matches('"').count().is_multiple_of(2);
    open != close || curly || straight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_told_from_figures() {
        assert!(is_contents(
            "Grey kilns 69 Overview 70 Firing 71 Key points 71 Questions A kiln is"
        ));
        for text in [
            "It has 12 Rooms in 3 Wings.",
            "Halvern 3 Varn 1 Holt 2 Garn 0 Teams met on Sunday.",
            "In March 14 Frenchmen and 15 Germans climbed it.",
        ] {
            assert!(!is_contents(text), "{text}");
        }
    }
}
