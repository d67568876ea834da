//! Forms of several files, and the table.
use std::collections::BTreeSet;

use biblatex::Bibliography;
use comrak::nodes::NodeValue;
use comrak::{Arena, parse_document};
use ibid_report::document::ReportDocument;
use ibid_report::{ExportOutput, ReportFormat};

use super::{PLAIN, hostile, made, natural, recorded, sample, text};
use crate::export::dialect;

pub(super) fn files(form: ReportFormat, words: &str) -> Vec<(String, String)> {
    match made(form, words) {
        ExportOutput::Folder(files) => {
            files.into_iter().map(|it| (it.0, String::from_utf8(it.1).unwrap())).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn file<'a>(of: &'a [(String, String)], name: &str) -> &'a str {
    &of.iter().find(|it| it.0 == name).unwrap().1
}

#[test]
fn folders_are_as_recorded() {
    let (report, pages) = natural();
    for (form, file, name) in [
        (ReportFormat::Tex, "report.tex", "report.tex"),
        (ReportFormat::Qmd, "report.qmd", "report.qmd"),
        (ReportFormat::Obsidian, "What green roofs keep.md", "report.obsidian.md"),
    ] {
        let ExportOutput::Folder(files) = form.render(&report, &pages, Default::default()).unwrap()
        else {
            panic!("{form:?} is a folder");
        };
        let found = files.iter().find(|it| it.0 == file).unwrap();
        recorded(name, std::str::from_utf8(&found.1).unwrap());
    }
    let ExportOutput::Text(table) =
        ReportFormat::Csv.render(&report, &pages, Default::default()).unwrap()
    else {
        panic!("a table is text");
    };
    recorded("report.csv", &table);
}

#[test]
fn names_of_files_stay_in_the_folder() {
    for words in hostile() {
        for form in [ReportFormat::Tex, ReportFormat::Qmd, ReportFormat::Obsidian] {
            let mut seen = BTreeSet::new();
            for (name, _) in files(form, words) {
                assert!(seen.insert(name.to_lowercase()), "{words:?}: {name} twice");
                for part in name.split('/') {
                    let sound = |it: char| it.is_alphanumeric() || " -_,().".contains(it);
                    assert!(part.chars().all(sound) && !part.starts_with('.'), "{words:?}: {name}");
                    assert!(!part.contains("..") && part.len() < 200, "{words:?}: {name}");
                }
            }
        }
    }
}

/// Commands of TeX in order, but those that print a sign of somebody's words.
pub(super) fn commands(tex: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = tex;
    while let Some(at) = rest.find('\\') {
        rest = &rest[at + 1..];
        let long = rest.find(|it: char| !it.is_ascii_alphabetic()).unwrap_or(rest.len());
        let name = &rest[..long];
        let prints = name.starts_with("text") && !["textbf", "textsuperscript"].contains(&name);
        if long > 0 && !prints {
            out.push(name.to_owned());
        }
        if long == 0 {
            let sign = rest.chars().next().unwrap_or(' ');
            assert!("%&$#_\\".contains(sign), "\\{sign}");
            rest = &rest[sign.len_utf8()..];
        } else {
            rest = &rest[long..];
        }
    }
    out
}

#[test]
fn no_command_of_tex_can_be_forged() {
    let want = commands(file(&files(ReportFormat::Tex, PLAIN), "report.tex"));
    for words in hostile() {
        let made = files(ReportFormat::Tex, words);
        let tex = file(&made, "report.tex");
        assert_eq!(commands(tex), want, "{words:?}");
        assert_eq!(tex.matches('{').count(), tex.matches('}').count(), "{words:?}");
        let body = tex.split_once("\\begin{document}").unwrap().1;
        for line in body.lines() {
            // A comment would swallow what is ours.
            let bare = line.replace("\\%", "").replace("\\#:~:text=", "");
            assert!(
                !bare.contains('%') && !bare.contains("^^") && !bare.contains('~'),
                "{words:?}: {line}"
            );
        }
        assert_eq!(Bibliography::parse(file(&made, "references.bib")).unwrap().len(), 6);
    }
}

/// What stands in Markdown besides words: links by target, all else by kind.
fn parts(text: &str) -> Vec<String> {
    let arena = Arena::new();
    let mut options = dialect();
    options.extension.wikilinks_title_after_pipe = true;
    options.extension.superscript = true;
    options.extension.subscript = true;
    options.extension.spoiler = true;
    let root = parse_document(&arena, text, &options);
    let kind = |it: &NodeValue| match it {
        NodeValue::Text(_)
        | NodeValue::SoftBreak
        | NodeValue::Document
        | NodeValue::FrontMatter(_) => None,
        NodeValue::Link(it) => {
            Some(format!("link {}", it.url.split("#:~:").next().unwrap_or_default()))
        }
        // A note is named after its source.
        NodeValue::WikiLink(it) => {
            Some(format!("wiki {}", it.url.split([' ', '%']).next().unwrap_or_default()))
        }
        NodeValue::HtmlInline(it) => Some(format!("html {it}")),
        other => {
            Some(format!("{other:?}").split(['(', ' ', '{']).next().unwrap_or_default().to_owned())
        }
    };
    root.descendants().filter_map(|it| kind(&it.data.borrow().value)).collect()
}

/// The same, each thing by its kind alone.
pub(super) fn kinds(text: &str) -> Vec<String> {
    let each = parts(text).into_iter();
    each.map(|it| it.split(' ').next().unwrap().to_owned()).collect()
}

/// How many cells each row of a table has.
pub(super) fn shape(table: &str) -> Vec<usize> {
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    reader.records().map(|it| it.unwrap().len()).collect()
}

#[test]
fn notes_and_quarto_are_built_the_same_whatever_the_words_are() {
    let of = |words: &str| {
        let quarto = files(ReportFormat::Qmd, words);
        let quarto = file(&quarto, "report.qmd").to_owned();
        let notes = files(ReportFormat::Obsidian, words);
        let report = notes.iter().find(|it| !it.0.contains('/')).unwrap().1.clone();
        let sources: Vec<String> =
            notes.iter().filter(|it| it.0.contains('/')).map(|it| it.1.clone()).collect();
        (quarto, report, sources)
    };
    let plain = of(PLAIN);
    for words in hostile() {
        let made = of(words);
        assert_eq!(parts(&made.0), parts(&plain.0), "{words:?}\n{}", made.0);
        assert!(made.0.contains("#:~:text="), "{}", made.0);
        assert_eq!(kinds(&made.1), kinds(&plain.1), "{words:?}\n{}", made.1);
        assert_eq!(made.2.len(), plain.2.len());
        for (now, was) in made.2.iter().zip(&plain.2) {
            let keys = |text: &str| -> Vec<String> {
                let front = text.split("---\n").nth(1).unwrap();
                let each = front.lines().filter_map(|it| Some(it.split_once(':')?.0.to_owned()));
                each.filter(|it| !it.starts_with(' ')).collect()
            };
            // Words that name nobody leave the field out.
            let named = |it: &String| it != "authors";
            let (now_keys, was_keys) = (keys(now), keys(was));
            assert!(
                now_keys.iter().filter(|it| named(it)).eq(was_keys.iter().filter(|it| named(it))),
                "{words:?}\n{now}"
            );
        }
        // What is run or embedded by those who look at the raw text.
        for text in [&made.0, &made.1].into_iter().chain(&made.2) {
            let body = text.splitn(3, "---\n").nth(2).unwrap();
            for sign in
                ["{{", "`", "![[", "<%", "%%", "==", "#tag", "$", " @ref", "\\input", "::eval"]
            {
                let ours = body.replace("::: {#refs}", "");
                let ours = match ours.contains("```mermaid\n") {
                    true => drawn(&ours).1,
                    false => ours,
                };
                assert!(!ours.contains(sign), "{words:?}: {sign}\n{ours}");
            }
        }
    }
}

/// The block of Mermaid that a note holds, and the note without it.
fn drawn(note: &str) -> (String, String) {
    let (before, rest) = note.split_once("```mermaid\n").unwrap();
    let (block, after) = rest.split_once("\n```\n").unwrap();
    (block.to_owned(), format!("{before}{after}"))
}

/// The lines of a drawing without the words of its labels, which are letters, digits, spaces, commas and numbers of signs.
fn bones(block: &str) -> Vec<String> {
    let mut out = Vec::new();
    for row in block.lines() {
        let Some((head, label)) = row.split_once("[\"") else {
            out.push(row.to_owned());
            continue;
        };
        let label = label.strip_suffix("\"]").unwrap();
        let mut rest = label;
        while let Some(at) = rest.find(|it: char| !matches!(it, ' ' | ',') && !it.is_alphanumeric())
        {
            let number = rest[at..].strip_prefix('#').and_then(|it| it.split_once(';'));
            let (number, after) = number.unwrap_or_else(|| panic!("{row}"));
            assert!(number.parse::<u32>().is_ok(), "{row}");
            rest = after;
        }
        out.push(format!("{head}[]"));
    }
    out
}

#[test]
fn a_drawing_in_a_note_is_built_the_same_whatever_the_words_are() {
    let of = |words: &str| {
        let notes = files(ReportFormat::Obsidian, words);
        let report = notes.iter().find(|it| !it.0.contains('/')).unwrap();
        drawn(&report.1).0
    };
    let plain = bones(&of(PLAIN));
    assert_eq!(plain[0], "flowchart LR");
    assert!(plain.iter().any(|it| it.starts_with("p0 --> s")), "{plain:?}");
    let end = "end \"] --> x\n``` click q \"javascript:x\"";
    for words in hostile().into_iter().chain([end]) {
        assert_eq!(bones(&of(words)), plain, "{words:?}");
    }
}

#[test]
fn quarto_cites_what_the_report_cites() {
    let made = files(ReportFormat::Qmd, PLAIN);
    let text = file(&made, "report.qmd");
    let keys: Vec<String> = Bibliography::parse(file(&made, "references.bib"))
        .unwrap()
        .iter()
        .map(|it| it.key.clone())
        .collect();
    assert!(text.contains(&format!("[@{}]", keys[0])) && text.contains(&format!("[@{}]", keys[1])));
    let (report, _) = sample(PLAIN);
    for (_, heading) in ReportDocument::from_report(&report, true).headings() {
        assert!(text.contains(&format!("# {}\n", heading)), "{heading}\n{text}");
    }
}

#[test]
fn a_note_of_a_source_has_its_ids_and_quotes() {
    let (report, pages) = natural();
    let ExportOutput::Folder(files) =
        ReportFormat::Obsidian.render(&report, &pages, Default::default()).unwrap()
    else {
        panic!("notes are a folder");
    };
    let (name, bytes) = &files[1];
    assert_eq!(name, "Sources/worldrooforganization2024 Of roofs rain, part 1 5 more.md");
    let text = std::str::from_utf8(bytes).unwrap();
    for line in [
        "doi: \"10.1000/roofs_1\"",
        "pmid: \"12345\"",
        "quotes:",
        "Source 1 of [[What green roofs keep]].",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let report = std::str::from_utf8(&files[0].1).unwrap();
    let stem = name.strip_suffix(".md").unwrap();
    assert!(report.contains(&format!("[[{stem}|1]]")), "{report}");
}

#[test]
fn no_cell_of_the_table_is_computed() {
    let rows = |words: &str| {
        let text = text(ReportFormat::Csv, words);
        let mut reader = csv::Reader::from_reader(text.trim_start_matches('\u{feff}').as_bytes());
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        rows
    };
    let want = rows(PLAIN);
    assert!(want.len() >= 2, "{}", want.len());
    for words in hostile() {
        let now = rows(words);
        assert_eq!(now.len(), want.len(), "{words:?}");
        for row in &now {
            assert_eq!(row.len(), want[0].len(), "{words:?}");
            for cell in row {
                let first = cell.trim_start().chars().next();
                assert!(
                    !matches!(first, Some('=' | '+' | '-' | '@' | '\t' | '＝')),
                    "{words:?}: {cell}"
                );
            }
        }
    }
}
