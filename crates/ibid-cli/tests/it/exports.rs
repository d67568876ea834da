//! Every form that a report leaves in says what the report says, and nothing that strangers wrote becomes more than words in it.
use std::path::Path;

use ibid_core::domain::{Page, PageDraft, Report, Source, SourceId, SourceKind, Work};
use ibid_report::{ExportOptions, ExportOutput, PagesByHash, ReportFormat};

use crate::export::{HOSTILE, PLAIN, report_of};

mod documents;
mod folders;
#[cfg(feature = "pdf")]
mod printed;
mod references;
mod served;

/// A report on sources of every kind, in which all words of strangers are `words`.
fn sample(words: &str) -> (Report, PagesByHash) {
    let (mut report, pages) = report_of(words);
    let work = Work {
        doi: Some("10.1000/roofs_1".to_owned()),
        pmid: Some("12345".to_owned()),
        pmcid: Some("PMC678".to_owned()),
        authors: vec![words.to_owned(), "Quill, Anna B.".to_owned(), "van der Oak J".to_owned()],
        venue: Some(words.to_owned()),
        kinds: vec!["Journal Article".to_owned()],
        ..Work::default()
    };
    report.sources[0].work = work;
    report.sources[0].kind = SourceKind::Pubmed;
    let more = [
        (
            "https://arxiv.org/abs/2301.01234",
            SourceKind::Scholar,
            Work {
                arxiv: Some("2301.01234".to_owned()),
                authors: vec!["Ana Núñez".to_owned()],
                retracted: Some(words.to_owned()),
                ..Work::default()
            },
        ),
        (
            "https://books.example/cork#ch2",
            SourceKind::Scholar,
            Work {
                doi: Some("10.1000/cork.2".to_owned()),
                kinds: vec!["book-chapter".to_owned()],
                venue: Some("All about Cork".to_owned()),
                authors: vec!["Ana Núñez".to_owned()],
                ..Work::default()
            },
        ),
        ("https://news.example/a?b=1&c={d}", SourceKind::News, Work::default()),
        ("https://www.example/page", SourceKind::Web, Work::default()),
    ];
    for (n, (url, kind, work)) in (20..).zip(more) {
        let page = Page::new(PageDraft {
            url: url.to_owned(),
            title: words.to_owned(),
            author: Some(words.to_owned()),
            site: Some(words.to_owned()),
            date: Some("2023-04".to_owned()),
            ..PageDraft::default()
        });
        let mut source = Source::from_page(SourceId::new(n), kind, &page, None);
        source.work = work;
        report.sources.push(source);
    }
    (report, pages)
}

/// The same with names as they are.
fn natural() -> (Report, PagesByHash) {
    let (mut report, pages) = sample(PLAIN);
    report.title = "What green roofs keep".to_owned();
    report.question = "How much rain does a green roof retain?".to_owned();
    for (nth, it) in (1..).zip(&mut report.sources) {
        it.title = format!("Of roofs & rain, part {nth}: 5 % more?");
        it.author = Some("Anna Quill and Ben Oak".to_owned());
        it.site = Some("Roof_Letters".to_owned());
        it.work.retracted = it.work.retracted.take().map(|_| "retracted in 2024".to_owned());
        if nth == 1 {
            it.work.authors[0] = "World Roof Organization".to_owned();
            it.work.venue = Some("Journal of Roofs".to_owned());
        }
    }
    (report, pages)
}

/// The report on `words` in `form`.
fn made(form: ReportFormat, words: &str) -> ExportOutput {
    let (report, pages) = sample(words);
    form.render(&report, &pages, ExportOptions::default()).unwrap()
}

fn text(form: ReportFormat, words: &str) -> String {
    match made(form, words) {
        ExportOutput::Text(it) => it,
        other => panic!("{other:?}"),
    }
}

/// Words that are something else to one reader or another, besides those that are to Markdown.
fn hostile() -> Vec<&'static str> {
    let more = [
        "x\r\nER  - \r\nTY  - JOUR\r\nTI  - forged",
        "x\u{85}ER  - \u{2028}TY  - BOOK\u{c}AU  - y\u{1c}ER  - ",
        "}}, forged = {yes}, x = {{",
        "}\n@misc{forged,\n title = {x}}",
        "{{{",
        "}}}",
        "\" # forged # \"",
        "Anna and others and {Ben} and",
        "\\input{/etc/passwd} \\write18{id} \\end{document}",
        "$\\csname input\\endcsname$ ^^5cinput %",
        "a % comment",
        "=cmd|' /C calc'!A0",
        "+1+1",
        "-1-1",
        "@SUM(1)",
        "\t=1",
        "＝1+1",
        "#import \"x.typ\": *",
        "#eval(\"1\") $ x $ <label> @ref",
        "{{< include /etc/passwd >}} {{< env HOME >}}",
        "`{python} 1+1` `r system('id') #`",
        "[[../../x|y]] ![[secret]] #tag ^block %%x%% ==y== key:: value",
        "../../../etc/passwd",
        "..",
        "CON",
        "a/b\\c:d*e?f\"g<h>i|j",
        "]]>&xxe;<!DOCTYPE x><w:p/>",
        "\u{fffe}\u{ffff}\u{fdd0}x",
        "<%* tp.system %>",
        "<i>cork</i> <span class=\"nocase\">x</span>",
    ];
    HOSTILE.iter().chain(&more).copied().collect()
}

/// Compares with what was recorded; with `IBID_ACCEPT` it records.
fn recorded(name: &str, now: &str) {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .join("crates/ibid-cli/tests/golden")
        .join(name);
    if std::env::var_os("IBID_ACCEPT").is_some() {
        std::fs::write(&path, now).unwrap();
    }
    let was = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(now, was, "tests/golden/{name}");
}

#[test]
fn the_small_forms_are_as_recorded() {
    for (form, name) in [
        (ReportFormat::Ris, "report.ris"),
        (ReportFormat::Bib, "report.bib"),
        (ReportFormat::Csl, "report.csl.json"),
        (ReportFormat::Bibliography, "report.bibliography.md"),
    ] {
        let (report, pages) = natural();
        match form.render(&report, &pages, ExportOptions::default()).unwrap() {
            ExportOutput::Text(text) => recorded(name, &text),
            other => panic!("{other:?}"),
        }
    }
}

/// How every form but the PDF is built on `words`: what would change if they were more than words.
fn built(words: &str) -> Vec<String> {
    let mut out = vec![
        format!("{:?}", references::tags(&text(ReportFormat::Ris, words))),
        format!("{:?}", references::entries(&text(ReportFormat::Bib, words))),
        format!("{:?}", references::strange(&text(ReportFormat::Bibliography, words))),
        format!("{:?}", folders::shape(&text(ReportFormat::Csv, words))),
    ];
    for (name, xml) in documents::parts(words) {
        out.push(format!("{name} {:?}", documents::elements(&xml)));
    }
    let tex = folders::files(ReportFormat::Tex, words);
    out.push(format!("{:?}", folders::commands(&tex[0].1)));
    for form in [ReportFormat::Qmd, ReportFormat::Obsidian] {
        let files = folders::files(form, words);
        out.push(format!("{} {:?}", files.len(), folders::kinds(&files[0].1)));
    }
    out
}

#[test]
#[ignore = "needs ../shared/data"]
fn what_pages_try_on_their_readers_is_words_in_every_form() {
    let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .join("../shared/data/injection/dev/pages.jsonl");
    let rows =
        std::fs::read_to_string(&file).unwrap_or_else(|it| panic!("{}: {it}", file.display()));
    let want = built(PLAIN);
    let mut tried = 0;
    for (nth, row) in rows.lines().enumerate() {
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        // Every form is written for each, so of the whole pages every third has to do.
        let fields: &[&str] =
            if nth % 3 == 0 { &["payload", "title", "html"] } else { &["payload"] };
        for field in fields.iter().copied() {
            let Some(words) = row[field].as_str().filter(|it| it.contains(char::is_alphanumeric))
            else {
                continue;
            };
            let words: String = words.chars().take(2000).collect();
            assert_eq!(built(&words), want, "{}: {field}", row["id"]);
            tried += 1;
        }
    }
    assert!(tried > 50, "{tried}");
}

#[test]
fn a_form_has_one_name_one_ending_and_a_label() {
    let mut seen = std::collections::BTreeSet::new();
    for form in ReportFormat::ALL {
        let it = form.info();
        for name in std::iter::once(&it.name).chain(it.aliases) {
            assert!(seen.insert(*name), "{name}");
            assert_eq!(ReportFormat::from_name(name), Some(*form));
        }
        assert!(!it.label.is_empty() && it.media_type.contains('/'));
        assert_eq!(ReportFormat::from_path(Path::new(&format!("a.b.{}", it.ending))), Some(*form));
    }
    assert_eq!(ReportFormat::from_name("poem"), None);
    assert_eq!(ReportFormat::from_path(Path::new("md")), None);
}

#[test]
fn every_form_is_told_in_the_documents() {
    let text = include_str!("../../../../docs/exports.md");
    for form in ReportFormat::ALL {
        let it = form.info();
        assert!(text.contains(&format!("| `{}` |", it.name)), "{}", it.name);
    }
}
