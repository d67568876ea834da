//! Damaged copies of an answer: other pages in its place, its end cut off, fields that are empty, missing, of another kind or
//! far too long.
use std::collections::BTreeSet;

use serde_json::{Value, json};

/// A damaged answer.
pub(super) struct Copy {
    pub(super) what: String,
    pub(super) body: Vec<u8>,
    /// Nothing of the answer is left.
    pub(super) is_no_answer: bool,
}

/// Field names of an answer that are damaged, at most; one is damaged in each row that has it.
const NAMES: usize = 50;
/// The largest answer of which each field is damaged, bytes.
const LARGEST: usize = 40_000;
/// Up to this size a field is damaged in every way, above in one of them, bytes.
const SMALL: usize = 4_000;
/// Names of fields that are made far too long: those that hold words.
const LONG: &[&str] = &[
    "title",
    "snippet",
    "content",
    "abstract",
    "extract",
    "name",
    "display_name",
    "DOI",
    "url",
    "link",
    "date",
    "publicationDate",
];

/// The damaged copies of `body`.
pub(super) fn copies(body: &[u8]) -> Vec<Copy> {
    let mut all = Vec::new();
    let page = b"<!doctype html><html><head><title>Attention Required! | Cloudflare</title></head><body>captcha</body></html>";
    let copy = |what: &str, body: &[u8], is_no_answer: bool| Copy {
        what: what.to_owned(),
        body: body.to_vec(),
        is_no_answer,
    };
    // Where pages are asked for, a page is an answer.
    let is_page = body
        .trim_ascii_start()
        .get(..14)
        .is_some_and(|value| value.eq_ignore_ascii_case(b"<!doctype html"));
    all.push(copy("a web page", page, !is_page));
    all.push(copy("nothing", b"", !is_page));
    all.push(copy("null", b"null", !is_page));
    all.push(copy("an empty object", b"{}", !is_page));
    all.push(copy("no text", b"\xff\xfe\x00\x01\x80", !is_page));
    for part in [1, 2, 3] {
        all.push(copy(&format!("cut off at {part}/4"), &body[..body.len() * part / 4], false));
    }
    all.push(copy("cut off at its end", &body[..body.len().saturating_sub(1)], false));
    match serde_json::from_slice::<Value>(body) {
        Ok(value) if body.len() <= LARGEST => of_json(&value, body.len() <= SMALL, &mut all),
        Ok(_) => {}
        Err(_) if body.len() <= LARGEST => of_xml(body, &mut all),
        Err(_) => {}
    }
    all
}

fn of_json(value: &Value, every_way: bool, all: &mut Vec<Copy>) {
    let mut names = BTreeSet::new();
    gather(value, &mut names);
    for (at, name) in names.iter().take(NAMES).enumerate() {
        let changes: [(&str, Option<Value>); 5] = [
            ("null", Some(Value::Null)),
            ("missing", None),
            ("a number", Some(json!(-1.5e300))),
            ("a text", Some(json!("\u{0}ä💣"))),
            ("a list", Some(json!([[], {}, null, "x"]))),
        ];
        let chosen = changes.into_iter().enumerate().filter(|pair| every_way || pair.0 == at % 5);
        for (_, (how, new)) in chosen {
            let mut copy = value.clone();
            let mut every = usize::MAX;
            change(&mut copy, name, new.as_ref(), &mut every);
            all.push(Copy {
                what: format!("`{name}` {how}"),
                body: copy.to_string().into_bytes(),
                is_no_answer: false,
            });
        }
        if LONG.contains(&name.as_str()) {
            let mut copy = value.clone();
            let long = json!("Cork <b> &amp; 10.1000/ ".repeat(90_000));
            change(&mut copy, name, Some(&long), &mut 1);
            all.push(Copy {
                what: format!("`{name}` of 2 MB"),
                body: copy.to_string().into_bytes(),
                is_no_answer: false,
            });
        }
    }
}

fn gather(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, it)| {
            names.insert(name.clone());
            gather(it, names);
        }),
        Value::Array(rows) => rows.iter().for_each(|row| gather(row, names)),
        _ => {}
    }
}

/// Puts `new` in the place of the first `left` fields of this name, or takes them away.
fn change(value: &mut Value, name: &str, new: Option<&Value>, left: &mut usize) {
    match value {
        Value::Object(fields) => {
            if *left > 0 && fields.contains_key(name) {
                *left -= 1;
                match new {
                    Some(new) => fields.insert(name.to_owned(), new.clone()),
                    None => fields.shift_remove(name),
                };
            }
            fields.values_mut().for_each(|it| change(it, name, new, left));
        }
        Value::Array(rows) => rows.iter_mut().for_each(|row| change(row, name, new, left)),
        _ => {}
    }
}

fn of_xml(body: &[u8], all: &mut Vec<Copy>) {
    let text = String::from_utf8_lossy(body);
    let mut names = BTreeSet::new();
    for piece in text.split('<').skip(1) {
        let name: String = piece
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, ':' | '_'))
            .collect();
        names.insert(name);
    }
    names.remove("");
    let most = if body.len() <= SMALL { NAMES } else { 12 };
    for name in names.iter().take(most) {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let copies = [
            ("never closed", text.replace(&close, "")),
            ("never opened", text.replace(&open, "")),
            ("of another name", text.replace(&open, "<x>").replace(&close, "</x>")),
            ("of an entity", text.replace(&open, &format!("{open}&boom;&#xffffffff;"))),
        ];
        all.extend(copies.map(|(how, body)| Copy {
            what: format!("`{name}` {how}"),
            body: body.into_bytes(),
            is_no_answer: false,
        }));
    }
    if let Some(at) = text.find("Title>").map(|it| it + 6) {
        let long = format!("{}{}{}", &text[..at], "Cork &lt;b&gt; ".repeat(150_000), &text[at..]);
        all.push(Copy {
            what: "a title of 2 MB".to_owned(),
            body: long.into_bytes(),
            is_no_answer: false,
        });
    }
}
