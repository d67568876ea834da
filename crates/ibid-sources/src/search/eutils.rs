//! The E-utilities of the NCBI: searches for ids, and the errors that all answers may contain.
use super::response::{ReadResult, error_from_text, parse_json, parse_text, text_field, truncate};
use super::xml::XmlElement;
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service_error::ServiceError;

/// Maximum number of digits of an id. Ids of some databases are longer than those of PubMed.
const MAX_ID_DIGITS: usize = 20;
/// Maximum number of unknown phrases that are reported for a query.
const MAX_REMARKS: usize = 5;

/// What a search for ids found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct EsearchIds {
    /// The number of ids in all.
    pub count: u64,
    /// The ids in this answer, in its order.
    pub ids: Vec<String>,
    /// Where the whole answer is on the history server: `WebEnv` and `query_key`.
    pub history: Option<(String, String)>,
    /// What the service says about the query: phrases that it does not know.
    pub remarks: Vec<String>,
}

/// Parses an answer as XML.
///
/// # Errors
/// Also for an answer with status 200 and an element `ERROR` at or below its root.
pub(super) fn parse_xml(
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
) -> ReadResult<XmlElement> {
    let page = parse_text(status, headers, body)?;
    if page.trim().is_empty() {
        return Err(ServiceError::transient("its response is empty"));
    }
    if page.trim_start().starts_with('{') {
        // The gateway in front of the service reports errors as JSON: `{"error": "API rate limit exceeded"}`.
        let value = parse_json(status, headers, body)?;
        let message = text_field(&value, "error").or_else(|| text_field(&value, "message"));
        return Err(error_from_text(message.unwrap_or("its response is JSON instead of XML")));
    }
    let tree = XmlElement::parse(body)?;
    let error_in = |element: &XmlElement| {
        let errors: Vec<String> = element
            .children_named("ERROR")
            .chain(element.children_named("Error"))
            .map(XmlElement::text)
            .collect();
        errors.into_iter().find(|error| !error.is_empty())
    };
    let root = tree.children().next();
    let below = root.into_iter().flat_map(XmlElement::children).find_map(error_in);
    match root.and_then(error_in).or(below) {
        Some(message) => Err(error_from_text(&message)),
        None => Ok(tree),
    }
}

fn is_id(text: &str) -> bool {
    (1..=MAX_ID_DIGITS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads the ids in the JSON of an answer of `esearch`.
pub(super) fn parse_ids(
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
) -> ReadResult<EsearchIds> {
    let value = parse_json(status, headers, body)?;
    let result = value
        .get("esearchresult")
        .ok_or_else(|| ServiceError::malformed("its response has no `esearchresult`"))?;
    if let Some(message) = text_field(result, "ERROR") {
        return Err(error_from_text(message));
    }
    let strings = |value: &serde_json::Value| -> Vec<String> {
        let all = value.as_array().into_iter().flatten();
        all.filter_map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let unknown = result.pointer("/errorlist/phrasesnotfound").map(strings).unwrap_or_default();
    let ids = result.get("idlist").map(strings).unwrap_or_default();
    Ok(EsearchIds {
        count: text_field(result, "count").and_then(|count| count.parse().ok()).unwrap_or(0),
        ids: ids.into_iter().filter(|id| is_id(id)).collect(),
        history: text_field(result, "webenv")
            .zip(text_field(result, "querykey"))
            .map(|(env, key)| (env.to_owned(), key.to_owned())),
        remarks: unknown
            .iter()
            .take(MAX_REMARKS)
            .map(|phrase| format!("PubMed does not know `{}`", truncate(phrase, 60)))
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ibid_core::ErrorKind;

    #[test]
    fn a_fault_under_200_is_of_its_kind() {
        let kind = |inner: &str| {
            let body = format!("<?xml version=\"1.0\"?><!DOCTYPE x>\n{inner}");
            let parsed = parse_xml(200, &ResponseHeaders::default(), body.as_bytes());
            parsed.unwrap_err().kind
        };
        let gone = "<eSearchResult><ERROR>Search Backend failed: timed out</ERROR></eSearchResult>";
        assert_eq!(kind(gone), ErrorKind::Transient);
        let bad =
            "<eSearchResult><ERROR>Invalid db name specified: nothing</ERROR></eSearchResult>";
        assert_eq!(kind(bad), ErrorKind::Malformed);
        let json = br#"{"error":"API rate limit exceeded","count":"11"}"#;
        assert!(parse_xml(200, &ResponseHeaders::default(), json).is_err());
        assert!(parse_ids(200, &ResponseHeaders::default(), json).is_err());
        assert_eq!(
            parse_xml(200, &ResponseHeaders::default(), b"").unwrap_err().kind,
            ErrorKind::Transient
        );
    }
}
