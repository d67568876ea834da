//! CSL-JSON, the form that citation processors take.
//! Source: <https://docs.citationstyles.org/en/stable/specification.html>.
use serde_json::{Map, Value, json};

use super::{Day, Kind, Name, Reference};

/// All entries, in order, as one array.
pub fn items(all: &[Reference]) -> Vec<Value> {
    all.iter().map(item).collect()
}

/// The same as a file.
pub fn write(all: &[Reference]) -> String {
    let text = serde_json::to_string_pretty(&items(all)).unwrap_or_default();
    text + "\n"
}

fn item(it: &Reference) -> Value {
    let mut out = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            out.insert(name.to_owned(), value);
        }
    };
    let text = |it: &Option<String>| it.clone().map(Value::from);
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
    if it.kind == Kind::Preprint {
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

fn name(it: &Name) -> Value {
    match it {
        Name::Person { family, given } => json!({"family": family, "given": given}),
        Name::Whole(it) => json!({"literal": it}),
    }
}

fn date(it: Day) -> Value {
    let mut parts = vec![it.year];
    parts.extend(it.month.map(u16::from));
    parts.extend(it.day.map(u16::from));
    json!({"date-parts": [parts]})
}

fn kind(it: Kind) -> &'static str {
    match it {
        Kind::Article => "article-journal",
        Kind::Preprint => "article",
        Kind::Web => "webpage",
        Kind::News => "article-newspaper",
        Kind::Book => "book",
        Kind::Chapter => "chapter",
        Kind::Conference => "paper-conference",
        Kind::Thesis => "thesis",
        Kind::Report => "report",
        Kind::Dataset => "dataset",
        Kind::Local => "document",
    }
}
