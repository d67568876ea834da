//! What is known of engines, and that the documentation says the same.
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::{ENGINES, EngineInfo, KeyRequirement};
use ibid_core::domain::Vertical;

#[test]
fn the_list_of_engines_is_the_table_in_the_documentation() {
    let mut want = String::from(
        "\n| name | finds | key | address | *auto* | longest | pace | checked |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for it in ENGINES {
        let key = match it.key {
            KeyRequirement::None => "none".to_owned(),
            KeyRequirement::Helps => format!("`{}`, allows more", it.key_var),
            KeyRequirement::Needed => format!("`{}`", it.key_var),
        };
        let address = match it.base_url {
            "" => format!("`{}`, needed", it.base_var),
            _ => format!("`{}`", it.base_var),
        };
        let said = |flag: bool| if flag { "yes" } else { "no" };
        writeln!(
            want,
            "| `{}` | {} ({}) | {key} | {address} | {} | {} | {} | {} |",
            it.name,
            it.about,
            kinds(it),
            said(it.in_auto),
            it.max_query_chars,
            pace(it),
            said(it.verified),
        )
        .unwrap();
    }
    want.push('\n');
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/engines.md");
    let text = fs::read_to_string(&path).unwrap();
    let from = text.find("<!-- engines:").unwrap();
    let start = from + text[from..].find('\n').unwrap() + 1;
    let end = start + text[start..].find("<!-- end -->").unwrap();
    let mut fresh = text.clone();
    fresh.replace_range(start..end, &want);
    let accepted = std::env::var_os("IBID_ACCEPT").is_some();
    if accepted {
        fs::write(&path, &fresh).unwrap();
    }
    assert!(
        text == fresh || accepted,
        "docs/engines.md is behind the list: IBID_ACCEPT=1 cargo test mends it"
    );
}

fn kinds(it: &EngineInfo) -> String {
    let named = |vertical: &Vertical| match vertical {
        Vertical::Web => "web",
        Vertical::News => "news",
        Vertical::Scholar => "scholar",
        Vertical::Pubmed => "PubMed",
        Vertical::Local => "local",
    };
    let all: Vec<&str> = it.verticals.iter().map(named).collect();
    all.join(", ")
}

fn pace(it: &EngineInfo) -> String {
    let spelt = |duration: Duration| format!("{} s", duration.as_secs_f64());
    match it.min_interval == it.min_interval_with_key {
        true => spelt(it.min_interval),
        false => {
            format!("{}, {} with a key", spelt(it.min_interval), spelt(it.min_interval_with_key))
        }
    }
}

#[test]
fn each_engine_has_a_name_and_variables_of_its_own() {
    let mut names = BTreeSet::new();
    for it in ENGINES {
        assert!(names.insert(it.name), "{}", it.name);
        assert!(names.insert(it.base_var), "{}", it.base_var);
        assert_eq!(it.key_var.is_empty(), it.key == KeyRequirement::None, "{}", it.name);
        assert!(!it.verticals.is_empty() && it.max_query_chars >= 100);
        assert!(it.base_url.is_empty() || it.base_url.starts_with("https://"));
        assert!(!it.base_url.ends_with('/'));
    }
}
