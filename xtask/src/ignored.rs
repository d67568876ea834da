//! Ignored tests, found in the sources. `#[ignore = "needs X"]` says that a test needs X; `"needs X and Y"` names two needs.
//! Any other reason means that the test is no part of a test run.
use std::fs;
use std::path::Path;

/// A test that only runs when ignored tests are asked for.
#[derive(Debug, PartialEq)]
pub(crate) struct IgnoredTest {
    /// The name that test runners use: `viewed::browser::pages_are_whole`.
    pub(crate) name: String,
    /// The text of the attribute.
    pub(crate) reason: String,
}

impl IgnoredTest {
    /// What the test needs. Nothing, if it is ignored for another reason.
    pub(crate) fn needs(&self) -> Vec<&str> {
        let needs = self.reason.strip_prefix("needs ");
        needs.map_or_else(Vec::new, |it| it.split(" and ").collect())
    }
}

/// The ignored tests of all crates below `root`.
pub(crate) fn ignored_tests(root: &Path) -> Result<Vec<IgnoredTest>, String> {
    let mut found = Vec::new();
    let mut folders = vec![root.join("crates")];
    while let Some(folder) = folders.pop() {
        let said = |it| format!("{}: {it}", folder.display());
        for entry in fs::read_dir(&folder).map_err(said)? {
            let path = entry.map_err(said)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).map_err(said)?;
                found.extend(scan(&module_of(&path), &text));
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// The module that a file holds, without its crate: `viewed::browser`.
fn module_of(path: &Path) -> String {
    let path = path.to_string_lossy();
    let inside = ["/tests/it/", "/src/"].iter().find_map(|it| Some(path.rsplit_once(it)?.1));
    let inside = inside.unwrap_or_default().trim_end_matches(".rs");
    let parts = inside.split('/');
    let parts: Vec<&str> = parts.filter(|part| !["main", "lib", "mod"].contains(part)).collect();
    parts.join("::")
}

/// The ignored tests in the text of `module`. The text is formatted by rustfmt: an attribute has its own line, and a module ends
/// with the indentation that it began with.
fn scan(module: &str, text: &str) -> Vec<IgnoredTest> {
    let mut found = Vec::new();
    let mut modules: Vec<(usize, &str)> = Vec::new();
    let (mut reason, mut in_macro) = (None, "");
    for line in text.lines() {
        let words = line.trim_start();
        let indent = line.len() - words.len();
        if words.starts_with('}') {
            modules.retain(|module| module.0 < indent);
        } else if let Some(name) = between(words, "macro_rules! ", " ") {
            in_macro = name;
        } else if let Some(name) = between(words, "mod ", " {") {
            modules.push((indent, name));
        } else if words.starts_with("#[ignore") {
            reason = Some(between(words, "#[ignore = \"", "\"").unwrap_or_default());
        } else if let Some(name) = function(words)
            && let Some(reason) = reason.take()
        {
            // In a macro, the tests are the arguments of its call.
            let names = if name.starts_with('$') { arguments(text, in_macro) } else { vec![name] };
            for name in names {
                let path = [module].into_iter().chain(modules.iter().map(|module| module.1));
                let path: Vec<&str> = path.chain([name]).filter(|path| !path.is_empty()).collect();
                found.push(IgnoredTest { name: path.join("::"), reason: reason.to_owned() });
            }
        }
    }
    found
}

/// What follows `start` at the beginning of `words`, up to `end`.
fn between<'a>(words: &'a str, start: &str, end: &str) -> Option<&'a str> {
    Some(words.strip_prefix(start)?.split_once(end)?.0)
}

/// The name of the function that begins in this line.
fn function(words: &str) -> Option<&str> {
    let words = words.strip_prefix("async ").unwrap_or(words);
    between(words, "fn ", "(")
}

/// What the macro `name` is called with in `text`.
fn arguments<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let call = text.split_once(&format!("\n{name}!("));
    let inside = call.and_then(|call| call.1.split_once(')'));
    let inside = inside.map_or("", |pair| pair.0);
    let all = inside.split(',').map(str::trim);
    all.filter(|it| !it.is_empty()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test a panic is the report")]
mod tests {
    use super::*;

    fn names(module: &str, text: &str) -> Vec<(String, String)> {
        let all = scan(module, text).into_iter();
        all.map(|it| (it.name, it.reason)).collect()
    }

    fn pair(name: &str, reason: &str) -> (String, String) {
        (name.to_owned(), reason.to_owned())
    }

    #[test]
    fn an_ignored_test_is_found_with_its_reason_and_others_are_not() {
        let text = r#"
#[test]
fn plain() {}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
#[allow(clippy::print_stderr, reason = "a measurement")]
async fn with_a_server() {
    fn inner() {}
}

#[test]
#[ignore]
fn without_a_reason() {}
"#;
        let expected =
            [pair("store::with_a_server", "needs PostgreSQL"), pair("store::without_a_reason", "")];
        assert_eq!(names("store", text), expected);
    }

    #[test]
    fn the_modules_around_a_test_are_part_of_its_name() {
        let text = r#"
mod other;
mod outer {
    mod inner {
        #[test]
        #[ignore = "a measurement"]
        fn deep() {}
    }
    #[test]
    #[ignore = "a measurement"]
    fn shallow() {}
}
#[test]
#[ignore = "a measurement"]
fn top() {}
"#;
        let found: Vec<String> = names("", text).into_iter().map(|name| name.0).collect();
        assert_eq!(found, ["outer::inner::deep", "outer::shallow", "top"]);
    }

    #[test]
    fn the_tests_that_a_macro_writes_are_the_arguments_of_its_call() {
        let text = r#"
macro_rules! promises {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name().await;
            })*
        }

        mod postgres {
            $(#[tokio::test]
            #[ignore = "needs PostgreSQL"]
            async fn $name() {
                super::$name().await;
            })*
        }
    };
}

promises!(
    one,
    two,
);
"#;
        let expected = [
            pair("store::postgres::one", "needs PostgreSQL"),
            pair("store::postgres::two", "needs PostgreSQL"),
        ];
        assert_eq!(names("store", text), expected);
    }

    #[test]
    fn a_reason_names_needs_or_none() {
        let needs = |reason: &str| {
            let name = String::new();
            let reason = reason.to_owned();
            let test = IgnoredTest { name, reason };
            test.needs().join(", ")
        };
        assert_eq!(needs("needs Chromium"), "Chromium");
        assert_eq!(needs("needs Chromium and axe-core"), "Chromium, axe-core");
        assert_eq!(needs("a measurement"), "");
        assert_eq!(needs(""), "");
    }

    #[test]
    fn a_file_is_a_module() {
        for (file, module) in [
            ("crates/ibid-cli/tests/it/main.rs", ""),
            ("crates/ibid-cli/tests/it/viewed/browser.rs", "viewed::browser"),
            ("crates/ibid-net/src/lib.rs", ""),
            ("crates/ibid-net/src/web/mod.rs", "web"),
        ] {
            assert_eq!(module_of(Path::new("/src/ibid").join(file).as_path()), module);
        }
    }

    #[test]
    fn every_need_of_this_repository_is_known() {
        let all = ignored_tests(crate::root()).unwrap();
        for test in &all {
            for need in test.needs() {
                let known = crate::needs::NEEDS.iter().any(|it| it.name == need);
                assert!(known, "{}: xtask does not know the need `{need}`", test.name);
            }
        }
        // One that a macro writes, and one in a file of its own.
        for name in [
            "store_contract::postgres_keeps::orders_oldest_first",
            "viewed::browser::pages_are_whole_without_script_and_at_any_width",
        ] {
            assert!(all.iter().any(|it| it.name == name), "{name}");
        }
    }
}
