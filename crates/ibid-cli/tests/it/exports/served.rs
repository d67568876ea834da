//! Forms over the command line and HTTP.
use ibid_report::ReportFormat;
use serde_json::json;

use crate::cli::{ASKED, TestHome};
use crate::served::Served;

#[test]
fn the_command_line_writes_every_form() {
    let desk = TestHome::new();
    let it = desk.ibid(&[ASKED, "--folder", &desk.docs(), "-q"]);
    assert_eq!(it.code, 0, "{}", it.err);
    for form in ReportFormat::ALL.iter().filter(|it| it.is_built()) {
        let about = form.info();
        let to = match about.folder {
            true => format!("out/{}/", about.name),
            false => format!("out.{}", about.ending),
        };
        let it = desk.ibid(&["export", "last", "-f", about.name, "-o", &to]);
        assert_eq!(it.code, 0, "{}: {}", about.name, it.err);
        assert!(desk.path(&to).exists(), "{}", about.name);
        let printed = desk.command(&["export", "last", "-f", about.name]).output().unwrap();
        let code = if about.folder { 2 } else { 0 };
        let told = String::from_utf8_lossy(&printed.stderr);
        assert_eq!(printed.status.code(), Some(code), "{}: {told}", about.name);
        assert_eq!(told.contains("-o DIR/"), about.folder, "{told}");
    }
    let it = desk.ibid(&["export", "last", "-o", "report.tex"]);
    assert_eq!(it.code, 2, "{}", it.err);
    assert!(!desk.path("report.tex").exists() && it.err.contains("-o DIR/"), "{}", it.err);
    let it = desk.ibid(&["export", "last", "-f", "tex", "-o", "report.zip"]);
    assert_eq!(it.code, 0, "{}", it.err);
    let archive = std::fs::File::open(desk.path("report.zip")).unwrap();
    assert_eq!(zip::ZipArchive::new(archive).unwrap().len(), 2);
    // The ending says which form is meant.
    let it = desk.ibid(&["export", "last", "-o", "sources.ris"]);
    assert_eq!(it.code, 0, "{}", it.err);
    assert!(std::fs::read_to_string(desk.path("sources.ris")).unwrap().starts_with("TY  - "));
    let it = desk.ibid(&["show", "last", "--style", "apa"]);
    assert_eq!(it.code, 0, "{}", it.err);
    let other = desk.ibid(&["show", "last", "--style", "nature"]);
    assert_ne!(it.out, other.out);
    let it = desk.ibid(&["export", "last", "--style", "poem"]);
    assert_eq!(it.code, 2, "{}", it.err);
    assert!(it.err.contains("vancouver"), "{}", it.err);
    let it = desk.ibid(&["export", "last", "-f", "poem"]);
    assert_eq!(it.code, 2, "{}", it.err);
    assert!(it.err.contains("docx"), "{}", it.err);
}

#[cfg(not(feature = "pdf"))]
#[test]
fn a_build_without_pdf_says_so() {
    let desk = TestHome::new();
    let it = desk.ibid(&[ASKED, "--folder", &desk.docs(), "-q"]);
    assert_eq!(it.code, 0, "{}", it.err);
    let it = desk.ibid(&["export", "last", "-o", "report.pdf"]);
    assert_eq!(it.code, 4, "{}", it.err);
    assert!(it.err.contains("feature `pdf`"), "{}", it.err);
    assert!(!desk.path("report.pdf").exists());
}

#[tokio::test]
async fn the_server_sends_every_form() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let run = served.post("/v1/runs?wait=55", &json!({"question": ASKED})).await.json();
    let id = run["id"].as_str().unwrap();
    for form in ReportFormat::ALL.iter().filter(|it| it.is_built()) {
        let about = form.info();
        let url = format!("{}/v1/runs/{id}/report.{}", served.at, about.name);
        let it = served.client.get(url).send().await.unwrap();
        assert_eq!(it.status(), 200, "{}", about.name);
        let header = |name: &str| it.headers().get(name).map(|it| it.to_str().unwrap().to_owned());
        assert_eq!(header("content-type").unwrap(), about.media_type);
        assert_eq!(header("x-content-type-options").unwrap(), "nosniff");
        if !matches!(form, ReportFormat::Md | ReportFormat::Html | ReportFormat::Json) {
            let named = header("content-disposition").unwrap();
            let zip = if about.folder { ".zip" } else { "" };
            assert_eq!(named, format!("attachment; filename=\"{id}.{}{zip}\"", about.ending));
        }
        assert!(!it.bytes().await.unwrap().is_empty());
    }
    let it = served.get(&format!("/v1/runs/{id}/report.poem")).await;
    assert_eq!(it.status, 404);
    assert!(it.body.contains("report.ris"), "{}", it.body);
    let it = served.get(&format!("/v1/runs/{id}/report.bibliography?style=poem")).await;
    assert_eq!(it.status, 400);
    assert!(it.body.contains("vancouver"), "{}", it.body);
    let apa = served.get(&format!("/v1/runs/{id}/report.bibliography?style=apa")).await;
    assert_eq!(apa.status, 200);
}
