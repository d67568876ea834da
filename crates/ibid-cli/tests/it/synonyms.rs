//! Names that documents explain by other names are learned, shown, and used in searches and in runs.
use std::path::Path;

use serde_json::{Value, json};

use crate::cli::TestHome;

/// A folder in which one document explains a short form, one says only the long form, and one only the short form.
fn clinic() -> TestHome {
    let desk = TestHome::new();
    desk.write(
        "clinic/names.md",
        "# Skin tumours\n\nBasal cell carcinoma (BCC) is the commonest tumour of the skin. It seldom spreads.\n",
    );
    desk.write(
        "clinic/surgery.md",
        "# Surgery of the skin\n\nMost basal cell carcinomas are treated by Mohs surgery. The wound heals within three weeks.\n",
    );
    desk.write(
        "clinic/cream.md",
        "# Creams\n\nIn 2019 the clinic treated superficial BCC with imiquimod cream for six weeks.\n",
    );
    desk.write("clinic/rooms.md", "# Rooms\n\nThe clinic has four rooms and a garden.\n");
    desk
}

fn titles(desk: &TestHome, query: &str) -> Vec<String> {
    let docs = desk.path("clinic").to_string_lossy().into_owned();
    let row = desk.ibid(&["search", query, "--folder", &docs, "--json"]).json();
    let results = row["results"].as_array().unwrap();
    results.iter().map(|it| it["title"].as_str().unwrap().to_owned()).collect()
}

fn shown(desk: &TestHome) -> Value {
    let docs = desk.path("clinic").to_string_lossy().into_owned();
    desk.ibid(&["index", "show", &docs, "--json"]).json()
}

#[test]
fn either_name_finds_the_documents_that_have_only_the_other() {
    let desk = clinic();
    let short = titles(&desk, "BCC");
    assert!(short.contains(&"Surgery of the skin".to_owned()), "{short:?}");
    // The name in the query itself counts more.
    assert_eq!(short.last().unwrap(), "Surgery of the skin", "{short:?}");
    let long = titles(&desk, "basal cell carcinoma");
    assert!(long.contains(&"Creams".to_owned()), "{long:?}");
    assert!(!long.contains(&"Rooms".to_owned()), "{long:?}");

    // The same in lower case, because most documents with the word mean the tumour.
    assert!(titles(&desk, "bcc").contains(&"Surgery of the skin".to_owned()));
}

#[test]
fn what_was_learned_is_shown_and_forgotten_with_its_documents() {
    let desk = clinic();
    let learned = |documents: u64| json!([{"name": "Basal cell carcinoma", "other": "BCC", "documents": documents}]);
    assert_eq!(shown(&desk)["synonyms"], learned(1));
    let docs = desk.path("clinic").to_string_lossy().into_owned();
    let text = desk.ibid(&["index", "show", &docs]).out;
    assert!(
        text.contains("4 documents") && text.contains("1  BCC = Basal cell carcinoma"),
        "{text}"
    );

    desk.write("clinic/more.md", "# More\n\nTwo basal cell carcinomas (BCCs) were found.\n");
    assert_eq!(shown(&desk)["synonyms"], learned(2));
    std::fs::remove_file(Path::new(&docs).join("names.md")).unwrap();
    std::fs::remove_file(Path::new(&docs).join("more.md")).unwrap();
    let row = shown(&desk);
    assert_eq!((&row["synonyms"], &row["documents"]), (&json!([]), &3.into()));
    assert!(!titles(&desk, "BCC").contains(&"Surgery of the skin".to_owned()));
}

#[test]
fn of_two_meanings_the_rest_of_the_query_chooses() {
    let desk = clinic();
    desk.write(
        "clinic/copper.md",
        "# Metals\n\nBody-centred cubic (BCC) iron is magnetic. Its lattice holds carbon badly.\n",
    );
    desk.write(
        "clinic/lattice.md",
        "# Steel\n\nThe body-centred cubic lattice of iron is ductile.\n",
    );
    let iron = titles(&desk, "Is BCC iron ductile in its lattice?");
    assert!(iron.contains(&"Steel".to_owned()), "{iron:?}");
    assert!(!iron.contains(&"Surgery of the skin".to_owned()), "{iron:?}");
    let skin = titles(&desk, "How is BCC treated by surgery?");
    assert!(skin.contains(&"Surgery of the skin".to_owned()), "{skin:?}");
    assert!(!skin.contains(&"Steel".to_owned()), "{skin:?}");
}

#[test]
fn a_question_with_the_short_form_is_answered_from_the_document_with_the_long_form() {
    let desk = clinic();
    std::fs::remove_file(desk.path("clinic/cream.md")).unwrap();
    let docs = desk.path("clinic").to_string_lossy().into_owned();
    let asked = ["How is BCC treated?", "--folder", &docs, "--model", "none", "-q"];
    let run = desk.ibid(&asked);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("treated by Mohs surgery"), "{}", run.out);

    // The journal has what the folder knew, so a replay does not need the folder.
    let file = desk.path("run.jsonl").to_string_lossy().into_owned();
    let exported = desk.ibid(&["export", "last", "-f", "recording", "-o", &file]);
    assert_eq!(exported.code, 0, "{}", exported.err);
    std::fs::remove_dir_all(desk.path("clinic")).unwrap();
    let replayed = desk.ibid(&["replay", &file]);
    assert_eq!(replayed.code, 0, "{}", replayed.err);
    let recording = std::fs::read_to_string(&file).unwrap();
    assert!(recording.contains("\"synonyms\":[{\"name\":\"Basal cell carcinoma\""));
}
