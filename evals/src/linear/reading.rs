//! The path that a document takes: bytes, text, tree, main text, sentences, page; and that of a text that is checked.
use ibid::app::audit;
use ibid_core::domain::Page;
use ibid_extract::{DocumentOrigin, ExtractLimits, decode_page, read_bytes, to_markdown};

use super::families::FamilyForm;

/// Reads a document as a fetched one is read, and says what came of it.
pub(crate) fn read(form: FamilyForm, bytes: &[u8], limits: &ExtractLimits) -> String {
    if form == FamilyForm::Check {
        let cited = audit::parse_citations(&decode_page(bytes));
        return format!("{} claims, {} sources", cited.claims.len(), cited.sources.len());
    }
    let (name, content_type) = form.origin();
    let origin = DocumentOrigin::from_url(name, content_type.map(str::to_owned));
    match read_bytes(bytes, &origin, limits) {
        Ok(draft) => {
            let shown = to_markdown(&draft).len();
            let blocks = draft.blocks.len();
            let page = Page::new(draft);
            let sentences = page.sentences().len();
            format!("{blocks} blocks, {sentences} sentences, {shown} bytes")
        }
        Err(fault) => fault.to_string().chars().take(80).collect(),
    }
}
