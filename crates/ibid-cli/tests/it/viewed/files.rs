//! Reports as files: one that stands alone, a folder of them, and who opens them.
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use ibid_report::html::Diagram;

use super::look;
use crate::cli::{ASKED, TestHome};
use crate::export::report_of;
use crate::served::Served;

#[test]
fn a_report_is_written_as_one_html_file_by_name_or_by_word() {
    let desk = TestHome::new();
    let docs = desk.docs();
    let it = desk.ibid(&[ASKED, "--folder", &docs, "-o", "report.html", "-q"]);
    assert_eq!(it.code, 0, "{}", it.err);
    let named = std::fs::read_to_string(desk.path("report.html")).unwrap();
    assert!(named.starts_with("<!doctype html>"), "{named}");
    for args in [vec!["show", "last", "-f", "html"], vec!["export", "last", "--format", "html"]] {
        let it = desk.ibid(&args);
        assert_eq!((it.code, it.out.as_str()), (0, named.as_str()), "{args:?}");
    }
    let it = desk.ibid(&["export", "last", "-o", "other.html"]);
    assert_eq!(it.code, 0, "{}", it.err);
    assert_eq!(std::fs::read_to_string(desk.path("other.html")).unwrap(), named);
    // Nobody looks here, so that it is written and named, and nothing is opened.
    let it = desk.ibid(&["open", "last"]);
    let path = it.out.trim().to_owned();
    assert!(path.ends_with(".html"), "{path}");
    assert_eq!(std::fs::read_to_string(path).unwrap(), named);
}

#[test]
fn runs_are_written_as_a_folder_that_needs_no_server() {
    let desk = TestHome::new();
    let none = desk.ibid(&["view", "bundle", "-o", "site"]);
    assert_eq!(none.code, 1, "{}", none.err);
    let docs = desk.docs();
    for question in [ASKED, "What does a green roof cost?"] {
        let it = desk.ibid(&[question, "--folder", &docs, "-q"]);
        assert_eq!(it.code, 0, "{}", it.err);
    }
    let it = desk.ibid(&["view", "bundle", "-o", "site"]);
    assert_eq!(it.code, 0, "{}", it.err);
    let index = std::fs::read_to_string(it.out.trim()).unwrap();
    let led: Vec<&str> = index
        .split("class=\"question\" href=\"")
        .skip(1)
        .map(|it| it.split('"').next().unwrap())
        .collect();
    assert_eq!(led.len(), 2);
    for name in led {
        let page = std::fs::read_to_string(desk.path("site").join(name)).unwrap();
        assert!(page.contains("id=\"ibid-data\""));
    }
    let robots = std::fs::read_to_string(desk.path("site/robots.txt")).unwrap();
    assert_eq!(robots, "User-agent: *\nDisallow: /\n");
    assert!(index.contains("content=\"noindex, nofollow\""));
    let one = desk.ibid(&["view", "bundle", "last", "-o", "one"]);
    assert_eq!(one.code, 0, "{}", one.err);
    assert_eq!(std::fs::read_dir(desk.path("one")).unwrap().count(), 3);
}

#[test]
fn view_serves_on_a_free_port_and_names_the_page() {
    let desk = TestHome::new();
    let it = desk.ibid(&[ASKED, "--folder", &desk.docs(), "-q"]);
    assert_eq!(it.code, 0, "{}", it.err);
    assert_eq!(desk.ibid(&["view", "r_nothing"]).code, 1);
    let mut child = desk
        .command(&["view", "last", "-q"])
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let at = line.trim();
    assert!(at.starts_with("http://127.0.0.1:"), "{at}");
    assert!(at.contains("/r/r_") && at.ends_with("/report"), "{at}");
}

#[tokio::test]
async fn the_served_file_is_the_written_one_and_may_do_as_little() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let id = super::asked(&served, ASKED).await;
    let it = look(&served, &format!("/v1/runs/{id}/report.html"), None).await;
    assert_eq!(it.status, 200);
    assert!(it.header("content-type").starts_with("text/html"));
    let policy = it.header("content-security-policy");
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    assert!(!policy.contains("script-src"), "no script of it runs");
    let written = desk.ibid(&["export", &id, "-f", "html"]);
    assert_eq!(written.out, it.body);
}

#[test]
fn a_work_that_no_section_cites_has_a_line_in_the_drawing_too() {
    let (mut report, _) = report_of("Plain words about roofs.");
    let before = Diagram::from_report(&report).unwrap();
    let boxed = |it: &Diagram| {
        let of_it =
            |it: &&ibid_report::html::DiagramNode| it.lines.concat().starts_with("Cited outside");
        it.nodes.iter().filter(of_it).count()
    };
    assert_eq!(boxed(&before), 0, "the section cites both works");
    assert!(!before.says.contains("elsewhere"));
    // The short answer, a finding and a disagreement still cite the first work.
    report.sections[0].paragraphs[0].truncate(1);
    let drawing = Diagram::from_report(&report).unwrap();
    assert_eq!(boxed(&drawing), 1);
    assert!(drawing.says.contains("1 source cited only elsewhere"));
    // One box more, the line to it, and the line from it instead of the section's.
    assert_eq!(drawing.nodes.len(), before.nodes.len() + 1);
    assert_eq!(drawing.ways.len(), before.ways.len() + 1);
    let work = drawing.nodes.iter().find(|it| it.lines[0].starts_with("[1]")).unwrap();
    let end = format!(" {} {}", work.x, work.y + work.high / 2);
    assert_eq!(drawing.ways.iter().filter(|it| it.ends_with(&end)).count(), 1);
}
