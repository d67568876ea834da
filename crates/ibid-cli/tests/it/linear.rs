//! Documents that are written to be slow to read, in small: the families of `evals linear`.
//!
//! What is measured is the processor time of the thread that reads, so that neighbours on the machine change little. Eight
//! times as much may take twenty times as long, which is far from linear and farther from the square, sixty-four; what is
//! done in a moment is not judged.
use std::time::Instant;

use ibid_extract::{DocumentOrigin, ExtractLimits, Parser};

#[allow(dead_code, reason = "the measurement uses more of it")]
#[path = "../../../../evals/src/linear/families/mod.rs"]
mod families;
#[path = "../../../../evals/src/linear/reading.rs"]
mod reading;

use families::{Family, FamilyForm, all};
use reading::read;

const SMALL: usize = 8 << 10;
const LARGE: usize = 8 * SMALL;
/// Seconds of a development build.
const MOMENT: f64 = 0.35;

/// Seconds of processor time that this thread has used, or of the clock where the kernel does not tell.
fn processor_seconds(since: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|it| it.split(' ').next()?.parse::<f64>().ok());
    nanos.map_or_else(|| since.elapsed().as_secs_f64(), |it| it / 1e9)
}

fn seconds(family: Family, size: usize) -> f64 {
    let document = (family.make)(size);
    let began = Instant::now();
    let before = processor_seconds(began);
    read(family.form, &document, &ExtractLimits::default());
    processor_seconds(began) - before
}

/// Reads the families of one form, and names those that take too long.
fn hold(form: FamilyForm) {
    let families: Vec<Family> = all().into_iter().filter(|it| it.form == form).collect();
    assert!(!families.is_empty());
    let mut faults = Vec::new();
    for family in families {
        let large = seconds(family, LARGE);
        if large < MOMENT {
            continue;
        }
        let small = seconds(family, SMALL);
        if large > 20.0 * small {
            let name = family.name;
            faults.push(format!("{name}: {small:.3} s, {large:.3} s for eight times as much"));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn web_pages_written_to_be_slow_take_no_longer_than_their_size_says() {
    hold(FamilyForm::Html);
}

#[test]
fn markdown_written_to_be_slow_takes_no_longer_than_its_size_says() {
    hold(FamilyForm::Markdown);
}

#[test]
fn texts_papers_and_rows_written_to_be_slow_take_no_longer_than_their_size_says() {
    for form in [FamilyForm::Text, FamilyForm::Jats, FamilyForm::Json, FamilyForm::Lines] {
        hold(form);
    }
}

#[test]
fn cited_texts_written_to_be_slow_take_no_longer_than_their_size_says() {
    hold(FamilyForm::Check);
}

#[test]
fn word_documents_and_books_written_to_be_slow_are_read_within_the_limits_of_their_process() {
    let limits = ExtractLimits {
        parser: Some(Parser::from_program(env!("CARGO_BIN_EXE_ibid"))),
        ..ExtractLimits::default()
    };
    for family in all() {
        if !matches!(family.form, FamilyForm::Docx | FamilyForm::Epub) {
            continue;
        }
        let told = read(family.form, &(family.make)(4 * LARGE), &limits);
        assert!(!told.contains("took"), "{}: {told}", family.name);
    }
}

#[test]
fn a_tag_of_a_hundred_and_sixty_thousand_attributes_is_read_and_so_is_what_stands_behind_it() {
    let attributes: String = (0..160_000).map(|it| format!("a{it} ")).collect();
    let page = format!(
        "<p hidden {attributes}>Not seen.</p><p {attributes} hidden>Nor this.</p><p>The river rose.</p>"
    );
    let began = Instant::now();
    let before = processor_seconds(began);
    let origin = DocumentOrigin::from_url("https://page.example/", Some("text/html".to_owned()));
    let draft =
        ibid_extract::read_bytes(page.as_bytes(), &origin, &ExtractLimits::default()).unwrap();
    let took = processor_seconds(began) - before;
    let texts: Vec<&str> = draft.blocks.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(texts, ["The river rose."]);
    // Pairwise it was nine seconds of a release build.
    assert!(took < 5.0, "{took} s");
}

#[test]
fn elements_named_like_raw_text_do_not_nest_without_end_in_a_formula() {
    // On a thread with as little stack as those that read.
    let deep = "<style>".repeat(200_000);
    let page = format!("<p>The river rose by two inches.</p><math>{deep}x</math>");
    let reading = std::thread::Builder::new().stack_size(2 << 20);
    let told =
        reading.spawn(move || read(FamilyForm::Html, page.as_bytes(), &ExtractLimits::default()));
    let told = told.unwrap().join().unwrap();
    assert!(told.contains("sentences"), "{told}");
}
