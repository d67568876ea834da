//! Time lines, through a whole run: what the sources date, in the order of its dates, each line from an exact quote.
use serde_json::Value;

use crate::cli::TestHome;

const LOCK: &str = "# Notes on the lock at Tarn

In June 2004 the upper gate of Tarn lock was struck by a barge and replaced.

Tarn lock was opened in 1911 by the canal company. It has two gates of oak.

In 1968 Tarn lock was closed because coal went by rail.

Volunteers cleared the silt out of Tarn lock between 1987 and 1991.

Since 12 May 1992 Tarn lock has been open to pleasure boats.

Tarn lock holds 1800 million litres. Tarn lock was not closed in 1975. The second chamber of Tarn lock will open in 2031.

Velm lock, east of it, was opened in 1955.

The keeper of Tarn lock likes tea.
";

const FERRY: &str = "# The ferry

The ferry at Holm was built in 1931. In 1950 a storm sank it, and in 1972 another one did.
";

/// The report on a question as Markdown up to its method, and as JSON.
fn report(question: &str) -> (String, Value) {
    let desk = TestHome::new();
    desk.write("shelf/lock.md", LOCK);
    desk.write("shelf/ferry.md", FERRY);
    let folder = desk.path("shelf").display().to_string();
    let asked = [question, "--folder", &folder, "--model", "none", "-q"];
    let told = desk.ibid(&[&asked[..], &["-o", "x.json"]].concat());
    assert_eq!(told.code, 0, "{}", told.err);
    let json = std::fs::read_to_string(desk.path("x.json")).unwrap();
    let told = desk.ibid(&[&asked[..], &["-o", "x.md"]].concat());
    assert_eq!(told.code, 0, "{}", told.err);
    let text = std::fs::read_to_string(desk.path("x.md")).unwrap();
    let text = text.split("\n## Method").next().unwrap_or_default().to_owned();
    (text, serde_json::from_str(&json).unwrap())
}

/// The dates of the table, in order.
fn dates(text: &str) -> Vec<&str> {
    let Some((_, table)) = text.split_once("## Time line\n") else { return Vec::new() };
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(2);
    rows.filter_map(|line| line.split(" | ").next()?.strip_prefix("| ")).collect()
}

#[test]
fn a_history_is_a_time_line_of_quotes_in_the_order_of_their_dates() {
    let (text, json) = report("What is the history of Tarn lock?");
    let all = ["1911", "1968", "1987 to 1991", "12 May 1992", "June 2004"];
    assert_eq!(dates(&text), all, "{text}");
    let told = text.split("## What could not").next().unwrap_or_default();
    for stray in ["Holm", "likes tea", "Velm"] {
        assert!(!told.contains(stray), "{stray}: {text}");
    }
    let rows = json["comparison"]["rows"].as_array().unwrap();
    let cited = |row: &Value| !row["cells"][0][0]["citations"].as_array().unwrap().is_empty();
    assert!(rows.len() == all.len() && rows.iter().all(cited), "{json}");
    assert_eq!(json["comparison"]["is_time_line"], true);
    assert!(!text.contains("Nearest passage") && !text.contains("only touches on it"), "{text}");
}

#[test]
fn a_time_line_keeps_to_the_years_asked_for() {
    let (text, _) = report("What happened to Tarn lock from 1960 to 2000?");
    assert_eq!(dates(&text), ["1968", "1987 to 1991", "12 May 1992"], "{text}");
}

#[test]
fn a_question_for_one_date_or_on_another_thing_gets_no_time_line() {
    for asked in ["When was Tarn lock opened?", "How have the fees of Tarn lock changed over time?"]
    {
        let (text, _) = report(asked);
        assert_eq!(dates(&text), Vec::<&str>::new(), "{asked}: {text}");
    }
}

#[test]
fn a_log_is_a_time_line_of_what_its_title_names() {
    let desk = TestHome::new();
    desk.write(
        "shelf/log.md",
        "# Log of the Holm weather station\n\nThe log is kept by the caretaker.\n\n\
        2014-09-17: Lightning destroyed the mast of the station.\n\n\
        The Holm station was moved to the school roof on 2016-03-30.\n\n\
        2021-11-05 - The station got a heated wind sensor.\n",
    );
    desk.write("shelf/other.md", "# Velm\n\n2018-01-05: The station of Velm was closed.\n");
    let folder = desk.path("shelf").display().to_string();
    let asked = "What is the history of the Holm station?";
    let told = desk.ibid(&[asked, "--folder", &folder, "--model", "none", "-q"]).out;
    let rows: Vec<&str> = told.lines().filter(|line| line.starts_with("| 20")).collect();
    let dates: Vec<&str> = rows.iter().filter_map(|row| row.split(" | ").next()).collect();
    assert_eq!(dates, ["| 2014-09-17", "| 2016-03-30", "| 2021-11-05"], "{told}");
}
