//! A local document is cited by the address it gives as its own, and the file stays in sight.
use std::path::Path;

use serde_json::Value;

use super::cli::*;

fn page(canonical: &str, words: &str) -> String {
    format!(
        "<html><head><title>{words}</title>{canonical}</head><body><article><h1>{words}</h1><p>{words} A green roof retained 56 % of annual rainfall on average, as three years of measurements on twelve roofs have shown.</p></article></body></html>"
    )
}

fn row(desk: &TestHome, path: &str) -> Value {
    desk.ibid(&["read", "--json", path]).json()
}

#[test]
fn a_document_is_cited_by_its_own_address_where_it_gives_one() {
    let desk = TestHome::new();
    let canonical = "<link rel=\"canonical\" href=\"https://www.roofs.example/rain\">";
    let og = "<meta property=\"og:url\" content=\"https://roofs.example/og\">";
    let relative = format!("<link rel=\"canonical\" href=\"/rain\">{og}");
    for (name, text, url) in [
        ("a.html", page(canonical, "Rain."), "https://www.roofs.example/rain"),
        ("b.html", page(og, "Rain."), "https://roofs.example/og"),
        ("c.html", page(&relative, "Rain."), "https://roofs.example/og"),
        (
            "d.md",
            "---\ntitle: Rain\nurl: https://notes.example/rain\n---\nIt rains.\n".to_owned(),
            "https://notes.example/rain",
        ),
        (
            "e.md",
            "---\ntitle: Rain\nsource: \"https://notes.example/e\"\n---\nIt rains.\n".to_owned(),
            "https://notes.example/e",
        ),
    ] {
        let path = desk.write(name, &text);
        assert_eq!(row(&desk, &path)["url"], url, "{name}");
    }
}

#[test]
fn an_address_that_is_none_of_the_web_is_not_believed() {
    let desk = TestHome::new();
    for claim in [
        "javascript:alert(1)",
        "data:text/html,hi",
        "file:///etc/passwd",
        "/relative",
        "//roofs.example/a",
        "https://localhost/a",
        "http://192.168.0.1/",
        "https://nas.local/",
        "https://a@roofs.example/",
    ] {
        let html = page(&format!("<link rel=\"canonical\" href=\"{claim}\">"), "Rain.");
        let path = desk.write("a.html", &html);
        assert_eq!(row(&desk, &path)["url"], format!("file://{path}"), "{claim}");
        let path = desk.write("a.md", &format!("---\nurl: {claim}\n---\nIt rains.\n"));
        assert_eq!(row(&desk, &path)["url"], format!("file://{path}"), "{claim}");
    }
}

/// The sources of a report over `docs`.
fn sources(desk: &TestHome, docs: &Path) -> (Value, String) {
    let docs = docs.to_str().unwrap();
    let it = desk.ibid(&[ASKED, "--folder", docs, "--json", "-q"]);
    assert_eq!(it.code, 0, "{}", it.err);
    let object = it.json();
    let text = object["result"].as_str().unwrap().to_owned();
    (object, text)
}

#[test]
fn two_files_of_one_site_are_one_voice_and_the_report_shows_both_places() {
    let desk = TestHome::new();
    let docs = desk.path("site");
    for (nth, host) in [(1, "www"), (2, "blog")] {
        let link = format!("<link rel=\"canonical\" href=\"https://{host}.roofs.example/{nth}\">");
        let other = match nth {
            1 => "Rain upon the roof of the old library.",
            _ => "Storms above the harbour and what became of them.",
        };
        desk.write(&format!("site/{nth}.html"), &page(&link, other));
    }
    let (object, text) = sources(&desk, &docs);
    let cited = object["sources"].as_array().unwrap();
    for source in cited {
        assert_eq!(source["domain"], "roofs.example");
        let file = source["file"].as_str().unwrap();
        let path = file.strip_prefix("file://").unwrap();
        assert!(Path::new(path).is_file(), "{path}");
        let shown = path.replace('_', "\\_");
        assert!(text.contains(&format!("read from {shown}")), "{shown}\n{text}");
        assert!(text.contains(&format!("]({})", source["url"].as_str().unwrap())));
    }
    assert_eq!(
        object["confidence"]["level"], "low",
        "one site is one voice: {}",
        object["confidence"]
    );
    for citation in object["citations"].as_array().unwrap() {
        assert!(citation["url"].as_str().unwrap().starts_with("https://"));
        assert!(citation["file"].as_str().unwrap().starts_with("file://"));
    }
    let found = desk.ibid(&["search", "rain roof", "--folder", docs.to_str().unwrap()]);
    assert!(found.out.contains("read from /"), "{}", found.out);
    let cite = desk.ibid(&["cite", "last", "1"]);
    assert!(cite.out.contains("read from /"), "{}", cite.out);
}

#[test]
fn a_file_that_takes_the_address_of_another_does_not_take_its_place() {
    let desk = TestHome::new();
    let link = "<link rel=\"canonical\" href=\"https://roofs.example/rain\">";
    let real = desk.write("site/real.html", &page(link, "Rain upon the roof."));
    let copy = desk.write(
        "site/zz-copy.html",
        &format!("<html><head><title>Rain</title>{link}</head><body><p>Rain upon the roof is retained to 3 % by a green roof, and never more, as everybody ought to know by now.</p></body></html>"),
    );
    let docs = desk.path("site");
    let found =
        desk.ibid(&["search", "rain roof", "--folder", docs.to_str().unwrap(), "--json"]).json();
    let results = found["results"].as_array().unwrap();
    let mut files: Vec<&str> = results.iter().map(|it| it["file"].as_str().unwrap()).collect();
    files.sort_unstable();
    assert_eq!(files, [format!("file://{real}"), format!("file://{copy}")]);
    let (object, _) = sources(&desk, &docs);
    for citation in object["citations"].as_array().unwrap() {
        let file = citation["file"].as_str().unwrap();
        let row = row(&desk, file.strip_prefix("file://").unwrap());
        let text = row["text"].as_str().unwrap();
        let quote = citation["quote"].as_str().unwrap();
        assert!(text.contains(quote), "{quote} is not in {file}");
    }
}
