//! Reads the answers of tools. They are text of strangers, and only bounded parts of them are kept.
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;

use crate::reader::text_blocks;
use ibid_core::domain::{Block, BlockKind, Hit, Hits, PageDraft, Untrusted, UrlProvenance};

/// Maximum number of results of one search.
const MAX_RESULTS: usize = 50;
/// Maximum length of an id, in bytes.
const ID_BYTES: usize = 1024;
/// Maximum number of characters of a title and of a snippet.
const TITLE_CHARS: usize = 300;
const SNIPPET_CHARS: usize = 600;
/// Maximum length of the text of a document, in bytes.
const TEXT_BYTES: usize = 2 << 20;
/// Maximum number of results that an address of another site is reported for.
const MAX_REMARKS: usize = 3;

/// The content of an answer.
#[derive(Debug, Default)]
pub(super) struct ToolAnswer {
    /// The structured content, if the server sent any.
    pub(super) structured: Option<Value>,
    /// The texts, joined by newlines.
    pub(super) text: String,
}

/// What is not encoded in the path of an `mcp:` address.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The scheme of the address of a document.
pub(super) const SCHEME: &str = "mcp://";

/// The address of a document: `mcp://NAME/ID`.
pub(super) fn address(name: &str, id: &str) -> String {
    format!("{SCHEME}{name}/{}", utf8_percent_encode(id, PATH))
}

/// The id in an address of the source `name`.
pub(super) fn id_in(name: &str, url: &str) -> Option<String> {
    let path = url.strip_prefix(SCHEME)?.strip_prefix(name)?.strip_prefix('/')?;
    percent_decode_str(path).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

/// The hits in the answer to `query`: the `results` of the search contract, else the text as one document.
pub(super) fn read_hits(engine: &str, name: &str, query: &str, answer: ToolAnswer) -> Hits {
    let parsed = answer.structured.or_else(|| serde_json::from_str(&answer.text).ok());
    let listed = parsed.as_ref().and_then(|it| {
        it.get("results").or_else(|| it.pointer("/result/results")).unwrap_or(it).as_array()
    });
    let Some(results) = listed else {
        // A tool outside the contract: its text is one document, named by the query.
        let text = cut(&answer.text, TEXT_BYTES);
        if text.trim().is_empty() {
            return Hits::default();
        }
        let title = format!("{engine}: {query}");
        let mut hit = Hit::new(engine, &address(name, query), &title, &chars(text, SNIPPET_CHARS));
        hit.text = Some(Untrusted::new(text));
        hit.rank = 1;
        return vec![hit].into();
    };
    let mut hits = Hits::default();
    let mut without_id = 0;
    for result in results.iter().take(MAX_RESULTS) {
        let stated = text_of(result, &["url", "link", "uri"]);
        let id = match result.get("id") {
            Some(Value::Number(number)) => number.to_string(),
            _ => text_of(result, &["id"]).or(stated).unwrap_or_default().to_owned(),
        };
        if id.is_empty() || id.len() > ID_BYTES {
            without_id += 1;
            continue;
        }
        let url = address(name, &id);
        let title = chars(text_of(result, &["title", "name"]).unwrap_or(&id), TITLE_CHARS);
        let text =
            text_of(result, &["text", "content", "snippet", "description"]).unwrap_or_default();
        let mut hit = Hit::new(engine, &url, &title, &chars(text, SNIPPET_CHARS));
        hit.rank = hits.hits.len() as u32 + 1;
        if !text.trim().is_empty() {
            hit.text = Some(Untrusted::new(cut(text, TEXT_BYTES)));
        }
        if let Some(stated) = stated.filter(|it| *it != id && *it != url)
            && hits.remarks.len() < MAX_REMARKS
        {
            let stated = chars(stated, 120);
            hits.remarks.push(format!("{url} states the address {stated}; it is cited as {url}"));
        }
        hits.hits.push(hit);
    }
    if without_id > 0 {
        hits.remarks.push(format!("{without_id} results without a usable id were left out"));
    }
    if results.len() > MAX_RESULTS {
        let more = results.len() - MAX_RESULTS;
        hits.remarks.push(format!("{more} results beyond the first {MAX_RESULTS} were left out"));
    }
    hits
}

/// The document in the answer of a fetch tool; `None` if it has no text.
pub(super) fn read_document(hit: &Hit, answer: ToolAnswer) -> Option<PageDraft> {
    let parsed = answer.structured.or_else(|| serde_json::from_str(&answer.text).ok());
    let document = parsed.as_ref().map(|it| it.get("result").unwrap_or(it));
    let stated = document.and_then(|it| text_of(it, &["text", "content", "markdown"]));
    let text = match stated {
        Some(text) => text,
        // JSON without a text is not prose.
        None if parsed.as_ref().is_some_and(|it| it.is_object() || it.is_array()) => return None,
        None => &answer.text,
    };
    let title = document.and_then(|it| text_of(it, &["title"])).unwrap_or(&hit.title);
    draft(hit, &chars(title, TITLE_CHARS), text)
}

/// A document with this title and text, at the address of `hit`; `None` for an empty text.
pub(super) fn draft(hit: &Hit, title: &str, text: &str) -> Option<PageDraft> {
    let kept = cut(text, TEXT_BYTES);
    let mut warnings = vec![format!("text from {}, not from a page of the web", hit.provider)];
    if kept.len() < text.len() {
        warnings.push(format!("truncated at {TEXT_BYTES} bytes"));
    }
    let heading = Block { level: 1, ..Block::new(BlockKind::Heading, title) };
    let body: Vec<Block> = text_blocks(kept).collect();
    if body.is_empty() {
        return None;
    }
    Some(PageDraft {
        url: hit.url.clone(),
        title: title.to_owned(),
        url_provenance: UrlProvenance::Engine,
        blocks: std::iter::once(heading).chain(body).collect(),
        warnings,
        ..PageDraft::default()
    })
}

fn text_of<'a>(value: &'a Value, names: &[&str]) -> Option<&'a str> {
    let mut texts = names.iter().filter_map(|name| value.get(name)?.as_str());
    texts.find(|text| !text.trim().is_empty())
}

/// The first `most` characters, on one line.
fn chars(text: &str, most: usize) -> String {
    visible(text).take(most).collect::<String>().trim().to_owned()
}

/// The characters of a stranger's text on one line, without those that turn or hide what stands beside them.
pub(super) fn visible(text: &str) -> impl Iterator<Item = char> {
    let hides = |c: &char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    text.chars().filter(move |c| !hides(c)).map(|c| if c.is_control() { ' ' } else { c })
}

fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answered(structured: Value) -> Hits {
        let answer = ToolAnswer { structured: Some(structured), text: String::new() };
        read_hits("mcp:docs", "docs", "cork", answer)
    }

    #[test]
    fn a_forged_address_is_a_remark_and_never_the_address_of_the_document() {
        let hits = answered(json!({"results": [
            {"id": "../a b", "title": "Cork\n<b>", "url": "https://nature.com/articles/1"},
            {"title": "By its address", "url": "https://nature.com/2"},
            {"title": "Nothing"}, {"id": "x".repeat(2000)}, 7,
        ]}));
        let urls: Vec<&str> = hits.hits.iter().map(|hit| hit.url.as_str()).collect();
        assert_eq!(urls, ["mcp://docs/..%2Fa%20b", "mcp://docs/https%3A%2F%2Fnature.com%2F2"]);
        assert_eq!(id_in("docs", urls[0]).unwrap(), "../a b");
        assert_eq!(id_in("doc", urls[0]), None);
        assert!(hits.remarks[0].contains("states the address https://nature.com/articles/1"));
        assert!(hits.remarks[1].starts_with("3 results without"), "{:?}", hits.remarks);
        assert_eq!(hits.hits[0].title, "Cork <b>");
    }

    #[test]
    fn results_are_bounded_and_text_outside_the_contract_is_one_document() {
        let many: Vec<Value> = (0..60).map(|id| json!({"id": id, "title": "t"})).collect();
        assert_eq!(answered(json!({"results": many})).hits.len(), MAX_RESULTS);
        let answer = ToolAnswer { structured: None, text: "Cork is bark.".to_owned() };
        let hits = read_hits("mcp:docs", "docs", "what is cork", answer);
        assert_eq!(hits.hits[0].url, "mcp://docs/what%20is%20cork");
        let page = draft(&hits.hits[0], "t", hits.hits[0].text.as_ref().unwrap().expose()).unwrap();
        assert_eq!(page.url, "mcp://docs/what%20is%20cork");
        let empty = ToolAnswer { structured: Some(json!({"id": "1"})), text: String::new() };
        assert_eq!(read_document(&hits.hits[0], empty), None);
    }
}
