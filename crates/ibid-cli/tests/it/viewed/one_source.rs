//! A report of one source says so before anything else, and no check of nothing looks like success.
use super::{asked, look};
use crate::cli::TestHome;
use crate::served::Served;

const NOTICE: &str = "All of this rests on one source.";

/// A home with one document, which has no number.
fn one_document() -> TestHome {
    let desk = TestHome::new();
    std::fs::remove_dir_all(desk.docs()).unwrap();
    desk.write(
        "docs/roof.md",
        "# Green roofs\n\nA green roof is a roof that carries plants on a layer of substrate.\n",
    );
    desk
}

#[tokio::test]
async fn a_report_of_one_source_says_so_first_in_every_form() {
    let desk = one_document();
    let served = Served::start(&desk, &[]);
    let id = asked(&served, "What is a green roof?").await;
    let report = look(&served, &format!("/r/{id}/report"), None).await.body;
    let file = |form: &str| format!("/v1/runs/{id}/report.{form}");
    let (markdown, html) =
        (served.get(&file("md")).await.body, served.get(&file("html")).await.body);
    let folder = desk.path("written");
    let written = desk.ibid(&["export", "last", "-f", "tex", "-o", &folder.to_string_lossy()]);
    assert_eq!(written.code, 0, "{}", written.err);
    let latex = std::fs::read_to_string(folder.join("report.tex")).unwrap();
    for (form, text, answer) in [
        ("page", &report, "Short answer"),
        ("md", &markdown, "Short answer"),
        ("html", &html, "Short answer"),
        ("tex", &latex, "Short answer"),
    ] {
        let at = text.find(NOTICE).unwrap_or_else(|| panic!("{form}: {text}"));
        assert!(at < text.find(answer).unwrap(), "{form}: {text}");
    }
    let run = look(&served, &format!("/r/{id}"), None).await.body;
    assert!(run.find(NOTICE).unwrap() < run.find("The report is ready.").unwrap(), "{run}");
    let json = served.get(&file("json")).await.json();
    assert_eq!(json["one_source"], true);
    assert_eq!(json["checks"]["numbers"]["total"], 0, "there is no number to match");
    // The front matter is for programs.
    let body = markdown.splitn(3, "---\n").nth(2).unwrap();
    let list = look(&served, "/", None).await.body;
    for (form, text) in [("page", &*report), ("md", body), ("html", &html), ("list", &list)] {
        assert!(!text.contains("0/0"), "{form}: {text}");
    }
    assert!(report.contains("quotes verified"), "{report}");
}

#[tokio::test]
async fn a_report_of_several_sources_does_not_say_so() {
    let desk = TestHome::new();
    // What meaning adds differs a little between processors.
    let served = Served::start(&desk, &[]);
    let id = asked(&served, crate::cli::ASKED).await;
    let json = served.get(&format!("/v1/runs/{id}/report.json")).await.json();
    assert!(json["sources"].as_array().unwrap().len() > 1);
    assert_eq!(json["one_source"], false);
    let report = look(&served, &format!("/r/{id}/report"), None).await.body;
    assert!(!report.contains(NOTICE), "{report}");
}
