//! CSL-JSON, for citation processors.
//! Source: <https://docs.citationstyles.org/en/stable/specification.html>.
use serde_json::{Map, Value, json};

use super::{AuthorName, PartialDate, PublicationKind, ReferenceEntry};

/// All entries, in order, as one array.
pub fn items(all: &[ReferenceEntry]) -> Vec<Value> {
    all.iter().map(item).collect()
}

/// The same as the text of a file.
pub fn write(all: &[ReferenceEntry]) -> String {
    let text = serde_json::to_string_pretty(&items(all)).unwrap_or_default();
    text + "\n"
}

fn item(it: &ReferenceEntry) -> Value {
    let mut out = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            out.insert(name.to_owned(), value);
        }
    };
    let text = |text: &Option<String>| text.clone().map(Value::from);
    put("id", Some(it.key.clone().into()));
    put("type", Some(kind(it.kind).into()));
    put("title", Some(it.title.clone().into()));
    let authors: Vec<Value> = it.authors.iter().map(name).collect();
    put("author", (!authors.is_empty()).then(|| authors.into()));
    put("container-title", text(&it.container));
    put("issued", it.issued.map(date));
    put("accessed", it.accessed.map(date));
    put("DOI", text(&it.doi));
    put("PMID", text(&it.pmid));
    put("PMCID", text(&it.pmcid));
    if it.kind == PublicationKind::Preprint {
        put("genre", Some("preprint".into()));
    }
    if let Some(id) = &it.arxiv {
        put("number", Some(format!("arXiv:{id}").into()));
    }
    put("URL", text(&it.url));
    if let Some(why) = &it.retracted {
        put("status", Some(format!("retracted: {why}").into()));
    }
    put("archive_location", text(&it.file));
    Value::Object(out)
}

fn name(it: &AuthorName) -> Value {
    match it {
        AuthorName::Person { family, given } => json!({"family": family, "given": given}),
        AuthorName::Literal(it) => json!({"literal": it}),
    }
}

fn date(it: PartialDate) -> Value {
    let mut parts = vec![it.year];
    parts.extend(it.month.map(u16::from));
    parts.extend(it.day.map(u16::from));
    json!({"date-parts": [parts]})
}

fn kind(it: PublicationKind) -> &'static str {
    match it {
        PublicationKind::Article => "article-journal",
        PublicationKind::Preprint => "article",
        PublicationKind::Web => "webpage",
        PublicationKind::News => "article-newspaper",
        PublicationKind::Book => "book",
        PublicationKind::Chapter => "chapter",
        PublicationKind::Conference => "paper-conference",
        PublicationKind::Thesis => "thesis",
        PublicationKind::Report => "report",
        PublicationKind::Dataset => "dataset",
        PublicationKind::Local => "document",
    }
}
