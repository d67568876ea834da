//! What a question names is found: publishers and days.
use std::path::Path;

use ibid_extract::ExtractLimits;
use ibid_index::folder::{Filter, Folder, FolderOptions};
use serde_json::{Value, json};

fn folder(dir: &Path, rows: &[Value]) -> Folder {
    let docs = dir.join("docs");
    std::fs::create_dir_all(&docs).unwrap();
    let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
    std::fs::write(docs.join("all.jsonl"), lines.join("\n")).unwrap();
    let options = FolderOptions::new(Vec::new(), ExtractLimits::default());
    let folder = Folder::open(&docs, &dir.join("cache"), &options).unwrap();
    let told = folder.refresh(&mut |_| {}).unwrap();
    assert_eq!(told.documents as usize, rows.len());
    folder
}

fn news(id: &str, source: &str, day: &str, text: &str) -> Value {
    json!({"_id": id, "title": "Strike at the harbour", "source": source, "published_at": day, "text": text})
}

fn ids(folder: &Folder, query: &str) -> Vec<String> {
    let found = folder.search_lexical(query, 10, &Filter::default()).unwrap();
    found.into_iter().map(|it| it.id).collect()
}

#[test]
fn of_equal_texts_the_named_publisher_s_or_the_named_day_s_comes_first() {
    let dir = tempfile::tempdir().unwrap();
    let text = "Dockers at the harbour began a strike over pay, said the union of the dockers.";
    let sources = [
        ("a", "The Lantern", "2023-10-06"),
        ("b", "Morning Post | World", "2023-10-07"),
        ("c", "Fortune", "2023-10-08"),
    ];
    let rows = sources.map(|(id, source, day)| news(id, source, day, text));
    let folder = folder(dir.path(), &rows);
    let question = "What did the dockers at the harbour want in their strike";
    let first = |more: &str| ids(&folder, &format!("{question}{more}?")).remove(0);
    assert_eq!(first(", says Morning Post's World"), "b");
    assert_eq!(first(", as The Lantern says"), "a");
    assert_eq!(first(" by Fortune"), "c");
    for (id, day) in [("a", "October 6, 2023"), ("b", "7 October 2023"), ("c", "2023-10-08")] {
        assert_eq!(first(&format!(" on {day}")), id);
    }
}

#[test]
fn several_named_publishers_take_turns() {
    let dir = tempfile::tempdir().unwrap();
    let mut rows: Vec<Value> = (0..6)
        .map(|nth| {
            news(
                &format!("l{nth}"),
                "The Lantern",
                "2023-10-06",
                "Dockers at the harbour went on strike over their pay today.",
            )
        })
        .collect();
    rows.push(news(
        "p",
        "Morning Post",
        "2023-10-06",
        "Dockers at the harbour and others went on with their strike and waited for an answer.",
    ));
    let folder = folder(dir.path(), &rows);
    let found = ids(
        &folder,
        "Do The Lantern and Morning Post agree on the strike over pay of dockers at the harbour?",
    );
    assert!(found.iter().position(|it| it == "p").unwrap() < 4, "{found:?}");
}
