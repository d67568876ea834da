//! Which paths of the crate a file uses: `crate::…`, `super::…`, `self::…`, groups and nesting included.
use std::collections::BTreeSet;

/// The paths used in `text`, a file of `module`, each with the crate's name first, as `module` has it. Crates are those whose names
/// begin with `ibid`.
pub(super) fn used(text: &str, module: &[String]) -> BTreeSet<Vec<String>> {
    let words = words(text);
    let mut found = BTreeSet::new();
    let mut here: Vec<String> = module.to_vec();
    // For each open brace: whether it opened an inline module.
    let mut braces: Vec<bool> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let word = words[at].as_str();
        let opens_path = words.get(at + 1).is_some_and(|it| it == "::")
            && (at == 0 || words[at - 1] != "::")
            && (matches!(word, "crate" | "super" | "self") || is_crate(word));
        if opens_path {
            let mut base = match word {
                "crate" => module[..1].to_vec(),
                "self" => here.clone(),
                "super" => parent(&here),
                name => vec![name.to_owned()],
            };
            at += 2;
            while words.get(at).is_some_and(|it| it == "super") {
                base = parent(&base);
                at += 2;
            }
            at = follow(&words, at, &base, &mut found);
            continue;
        }
        match word {
            "mod" if words.get(at + 2).is_some_and(|it| it == "{") => {
                here.push(words[at + 1].clone());
                braces.push(true);
                at += 2;
            }
            "{" => braces.push(false),
            "}" if braces.pop() == Some(true) => {
                here.pop();
            }
            _ => {}
        }
        at += 1;
    }
    found
}

fn is_crate(word: &str) -> bool {
    word == "ibid" || word.starts_with("ibid_")
}

fn parent(module: &[String]) -> Vec<String> {
    module[..module.len().saturating_sub(1)].to_vec()
}

/// Reads a path, or a group of paths, below `base`; returns where it ends.
fn follow(
    words: &[String],
    mut at: usize,
    base: &[String],
    found: &mut BTreeSet<Vec<String>>,
) -> usize {
    let mut path = base.to_vec();
    loop {
        match words.get(at).map(String::as_str) {
            Some("{") => {
                at += 1;
                while words.get(at).is_some_and(|it| it != "}") {
                    if words[at] == "," {
                        at += 1;
                    } else {
                        at = follow(words, at, &path, found);
                    }
                }
                return at + 1;
            }
            Some(word) if is_name(word) => {
                // `self` in a group is the path so far.
                if word != "self" {
                    path.push(word.to_owned());
                }
                at += 1;
            }
            _ => {
                // `*` and the like: the path so far is what is used. Always go on by at least one.
                found.insert(path);
                return at + 1;
            }
        }
        if words.get(at).is_some_and(|it| it == "::") {
            at += 1;
            continue;
        }
        if words.get(at).is_some_and(|it| it == "as") {
            at += 2;
        }
        found.insert(path);
        return at;
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The words of Rust code: names, `::` and single marks. Comments, strings and character literals
/// are left out.
fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |it| it + 2)
        } else if let Some(length) = literal(rest) {
            length
        } else if rest.starts_with("::") {
            found.push("::".to_owned());
            2
        } else if c.is_alphanumeric() || c == '_' {
            let length =
                rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            found.push(rest[..length].to_owned());
            length
        } else {
            if !c.is_whitespace() {
                found.push(c.to_string());
            }
            c.len_utf8()
        };
        rest = &rest[length..];
    }
    found
}

/// Length of the string or character literal that `text` begins with, if it does.
fn literal(text: &str) -> Option<usize> {
    let bare = text.strip_prefix('b').unwrap_or(text);
    let prefix = text.len() - bare.len();
    if let Some(raw) = bare.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let body = raw[hashes..].strip_prefix('"')?;
        let close = format!("\"{}", "#".repeat(hashes));
        let end = body.find(&close).map_or(body.len(), |it| it + close.len());
        return Some(prefix + 1 + hashes + 1 + end);
    }
    if let Some(body) = bare.strip_prefix('"') {
        let mut escaped = false;
        let end = body.find(|c| {
            let closes = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        });
        return Some(prefix + 1 + end.map_or(body.len(), |it| it + 1));
    }
    let body = bare.strip_prefix('\'')?;
    if let Some(escape) = body.strip_prefix('\\') {
        let first = escape.chars().next()?.len_utf8();
        return Some(prefix + 2 + first + escape[first..].find('\'')? + 1);
    }
    // `'a` of a lifetime has no quote right behind its first character.
    let first = body.chars().next()?.len_utf8();
    body[first..].starts_with('\'').then_some(prefix + 1 + first + 1)
}

#[test]
fn groups_nesting_super_and_strings_are_understood() {
    let code = r##"
        use crate::{domain::{page::Page, Hit}, record, seams::*};
        use super::walk;
        use ibid_net::web::Guard;
        // crate::comment::not
        const A: &str = "crate::string::not \" crate::still";
        const B: char = '{'; const C: char = '\''; fn f<'a>(it: &'a str) {}
        fn g() -> crate::Result<()> { crate::app::open(self::part::x)?; }
        mod tests { use super::*; use super::super::place; use crate::error::Kind as K; }
    "##;
    let module: Vec<String> = ["ibid_index", "folder"].map(str::to_owned).into();
    let seen: Vec<String> = used(code, &module).into_iter().map(|it| it.join("::")).collect();
    assert_eq!(
        seen,
        [
            "ibid_index::Result",
            "ibid_index::app::open",
            "ibid_index::domain::Hit",
            "ibid_index::domain::page::Page",
            "ibid_index::error::Kind",
            "ibid_index::folder",
            "ibid_index::folder::part::x",
            "ibid_index::place",
            "ibid_index::record",
            "ibid_index::seams",
            "ibid_index::walk",
            "ibid_net::web::Guard",
        ]
    );
}
