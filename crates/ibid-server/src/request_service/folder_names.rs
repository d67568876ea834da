//! Names of folders for callers, who never see paths of the server.
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use ibid_core::Error;

/// The scheme of addresses in folders: `folder:NAME/path/in/folder`.
const SCHEME: &str = "folder:";

/// JSON fields with text of documents or of the user, which must stay exact.
const VERBATIM_FIELDS: [&str; 6] =
    ["text", "content", "snippet", "quote", "exactQuote", "sentence"];

/// The served folders by name: the last path component, with a number if it is not unique.
#[derive(Debug, Clone, Default)]
pub(super) struct FolderNames(Vec<(String, PathBuf)>);

impl FolderNames {
    /// Names `folders` in their order.
    pub(super) fn new<'a>(folders: impl IntoIterator<Item = &'a Path>) -> FolderNames {
        let mut names = FolderNames::default();
        for path in folders {
            names.add(path);
        }
        names
    }

    /// Names `path` unless it has a name.
    fn add(&mut self, path: &Path) {
        if self.0.iter().any(|pair| pair.1 == path) {
            return;
        }
        let last = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let plain = last.unwrap_or_else(|| "root".to_owned());
        let taken: BTreeSet<&str> = self.0.iter().map(|pair| pair.0.as_str()).collect();
        let mut name = plain.clone();
        let mut n = 1;
        while taken.contains(name.as_str()) {
            n += 1;
            name = format!("{plain}-{n}");
        }
        self.0.push((name, path.to_owned()));
    }

    /// Name and path of each folder.
    pub(super) fn all(&self) -> &[(String, PathBuf)] {
        &self.0
    }

    /// The path of the folder `name` or `folder:name`.
    pub(super) fn path(&self, name: &str) -> Option<&Path> {
        let bare = name.strip_prefix(SCHEME).unwrap_or(name);
        let is_named = |pair: &&(String, PathBuf)| pair.0 == bare || encoded(&pair.0) == bare;
        self.0.iter().find(is_named).map(|pair| pair.1.as_path())
    }
}

/// Replaces paths of the server in results for callers.
#[derive(Debug, Clone)]
pub(super) struct PathRewriter {
    /// Paths and their replacements, longest path first.
    rules: Vec<(String, String)>,
}

impl PathRewriter {
    /// Replaces the paths of `folders` by their names, and the `private` paths by an ellipsis.
    pub(super) fn new(folders: &FolderNames, private: &[&Path]) -> PathRewriter {
        let mut rules = Vec::new();
        for (name, path) in folders.all() {
            add_rules(&mut rules, path, &format!("{SCHEME}{name}"));
        }
        for path in private {
            add_rules(&mut rules, path, "…");
        }
        rules.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        rules.dedup();
        PathRewriter { rules }
    }

    /// Extends the rules for a run that searched `folders`, which may no longer be served.
    pub(super) fn with_folders(&self, served: &FolderNames, folders: &[String]) -> PathRewriter {
        let mut names = served.clone();
        let known = names.0.len();
        for path in folders {
            names.add(Path::new(path));
        }
        if names.0.len() == known {
            return self.clone();
        }
        let mut rules = self.rules.clone();
        for (name, path) in &names.0[known..] {
            add_rules(&mut rules, path, &format!("{SCHEME}{name}"));
        }
        rules.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        PathRewriter { rules }
    }

    /// Replaces paths in `text`.
    pub(super) fn text(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for (path, instead) in &self.rules {
            if out.contains(path.as_str()) {
                out = replaced(&out, path, instead);
            }
        }
        // A file in an unknown folder: keep only its name.
        match out.strip_prefix("file://") {
            Some(rest) => {
                let name = rest.rsplit('/').next().unwrap_or_default();
                format!("{SCHEME}/{name}")
            }
            None => out,
        }
    }

    /// Replaces paths in an error. An error may repeat what the caller wrote, so that every path looks the same in it: whether a
    /// guessed path is one of the server's must not be told.
    pub(super) fn error_text(&self, text: &str) -> String {
        self.text(&without_paths(text))
    }

    /// Replaces paths in every string of `value` except verbatim fields.
    pub(super) fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                let rewritten = self.text(text);
                if rewritten != *text {
                    *text = rewritten;
                }
            }
            Value::Array(rows) => rows.iter_mut().for_each(|row| self.value(row)),
            Value::Object(fields) => {
                for (name, field) in fields.iter_mut() {
                    let is_verbatim = field.is_string() && VERBATIM_FIELDS.contains(&name.as_str());
                    if !is_verbatim {
                        self.value(field);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Replaces paths in any serializable value.
    ///
    /// # Errors
    /// `Internal` if the value cannot be deserialized from its rewritten JSON.
    pub(super) fn rewritten<T: Serialize + DeserializeOwned>(
        &self,
        original: T,
    ) -> ibid_core::Result<T> {
        let broken = |it| {
            Error::new(ibid_core::ErrorKind::Internal, "rewriting paths for a caller")
                .with_source(it)
        };
        let before = serde_json::to_value(&original).map_err(broken)?;
        let mut after = before.clone();
        self.value(&mut after);
        if after == before { Ok(original) } else { serde_json::from_value(after).map_err(broken) }
    }
}

/// `text` with every absolute path and every `file:` address replaced by an ellipsis. Routes of this server stay.
pub(super) fn without_paths(text: &str) -> String {
    const ROUTES: [&str; 3] = ["/v1/", "/r/", "/mcp"];
    let is_end =
        |c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | ')' | ']' | '>' | ',');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    while let Some(c) = rest.chars().next() {
        let word_end = rest.find(is_end).unwrap_or(rest.len());
        let word = &rest[..word_end];
        let begins =
            before.is_none_or(|it: char| !it.is_alphanumeric() && !matches!(it, '/' | '.' | '…'));
        let is_path = word.starts_with('/')
            && word[1..].contains('/')
            && !ROUTES.iter().any(|route| word.starts_with(route));
        if begins && (is_path || word.starts_with("file:")) {
            out.push('…');
            before = Some('…');
            rest = &rest[word_end..];
        } else {
            out.push(c);
            before = Some(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// Percent-encodes `text` as in a URL.
fn encoded(text: &str) -> String {
    let url = Url::from_file_path(format!("/{text}")).map(String::from);
    match url.as_deref().map(|url| url.strip_prefix("file:///")) {
        Ok(Some(it)) => it.to_owned(),
        _ => text.to_owned(),
    }
}

/// Adds the rules for one path: as a path and as a `file:` URL, as given and canonicalized.
fn add_rules(rules: &mut Vec<(String, String)>, path: &Path, instead: &str) {
    // Every address contains `/`.
    if path.file_name().is_none() {
        return;
    }
    let real = path.canonicalize().ok().filter(|it| it != path);
    for path in std::iter::once(path).chain(real.as_deref()) {
        let url = Url::from_file_path(path).map(String::from);
        rules.extend(url.ok().map(|url| (url, encoded(instead))));
        rules.push((path.to_string_lossy().into_owned(), instead.to_owned()));
    }
}

/// Replaces `path` in `text` where it is a whole path or the beginning of a longer one.
fn replaced(text: &str, path: &str, instead: &str) -> String {
    let of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '%');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        let (before, after) = (&rest[..at], &rest[at + path.len()..]);
        let inside = if path.starts_with('/') {
            before.ends_with(|it| of_name(it) || matches!(it, '.' | '/'))
        } else {
            before.ends_with(of_name)
        };
        let longer = after.starts_with(of_name);
        out.push_str(before);
        out.push_str(if inside || longer { path } else { instead });
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_guessed_path_looks_the_same_in_an_error_whether_it_exists_or_not() {
        let rewrite = PathRewriter::new(&names(), &[Path::new("/var/lib/ibid")]);
        for (path, told) in [
            ("unknown engine `/var/lib/ibid`", "unknown engine `…`"),
            ("unknown engine `/var/lib/ibix`", "unknown engine `…`"),
            ("reading file:///srv/a/docs/x.md: gone", "reading … gone"),
            ("since=/srv/a/docs is no date", "since=… is no date"),
            ("see GET /v1/runs/r_1, and 1/2 or and/or", "see GET /v1/runs/r_1, and 1/2 or and/or"),
        ] {
            assert_eq!(rewrite.error_text(path), told);
        }
    }

    fn names() -> FolderNames {
        FolderNames::new(["/srv/a/docs", "/srv/b/docs", "/srv/my papers"].map(Path::new))
    }

    #[test]
    fn folders_of_one_name_are_told_apart_by_a_number() {
        let names = names();
        let all: Vec<&str> = names.all().iter().map(|pair| pair.0.as_str()).collect();
        assert_eq!(all, ["docs", "docs-2", "my papers"]);
        assert_eq!(names.path("docs-2"), Some(Path::new("/srv/b/docs")));
        assert_eq!(names.path("folder:docs"), Some(Path::new("/srv/a/docs")));
        assert_eq!(names.path("folder:my%20papers"), names.path("my papers"));
        assert_eq!(names.path("/srv/a/docs"), None, "a path is no name");
    }

    #[test]
    fn paths_become_names_wherever_they_stand_as_a_whole() {
        let it = PathRewriter::new(&names(), &[Path::new("/var/lib/ibid")]);
        for (text, shown) in [
            ("file:///srv/a/docs/x/y.md", "folder:docs/x/y.md"),
            ("file:///srv/my%20papers/a.pdf", "folder:my%20papers/a.pdf"),
            (
                "opening folder /srv/b/docs: no such folder",
                "opening folder folder:docs-2: no such folder",
            ),
            ("/srv/b/docs-old/x", "/srv/b/docs-old/x"),
            ("x/srv/a/docs", "x/srv/a/docs"),
            ("/var/lib/ibid/ibid.db is full", "…/ibid.db is full"),
            ("file:///gone/for/long/salaries.md", "folder:/salaries.md"),
            ("https://a.example/srv/a/docs", "https://a.example/srv/a/docs"),
        ] {
            assert_eq!(it.text(text), shown);
        }
    }

    #[test]
    fn words_of_documents_stay_as_they_are() {
        let it = PathRewriter::new(&names(), &[]);
        let mut value = json!({"url": "file:///srv/a/docs/x.md", "text": "see /srv/a/docs", "rows": [{"file": "file:///srv/a/docs/x.md"}]});
        it.value(&mut value);
        assert_eq!(
            value,
            json!({"url": "folder:docs/x.md", "text": "see /srv/a/docs", "rows": [{"file": "folder:docs/x.md"}]})
        );
    }
}
