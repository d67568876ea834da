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

/// Whether brackets or quotation marks are opened and not closed.
pub(super) fn is_unbalanced(text: &str) -> bool {
    let open = text.matches('(').count();
    let close = text.matches(')').count();
    let curly = text.matches('“').count() != text.matches('”').count();
    let straight = !text.matches('"').count().is_multiple_of(2);
    open != close || curly || straight
}
