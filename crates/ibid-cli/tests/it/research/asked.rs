//! That each sentence serves what the question asks of its subject.
use ibid_core::domain::{Confidence, OutputMode, Page, Report, YesNo};
use ibid_core::record::Event;

use ibid_research::plan_by_heuristics;

use super::run;
use crate::cli::TestHome;
use crate::memory::{page, question};

fn walls() -> Vec<Page> {
    vec![
        page(
            "https://walls.example/what",
            "What is a dry stone wall?",
            Some("2020-03-01"),
            "A dry stone wall is a wall that is laid from stones without any mortar.\n\
             A dry stone wall drains rain through its joints.",
        ),
        page(
            "https://walls.example/build",
            "How to build a dry stone wall",
            Some("2021-03-01"),
            "Dig a trench of 30 cm and fill it with flat stones.\n\
             Lay the largest stones first, across the trench.\n\
             Set each stone over the joint of two below it.\n\
             Fill the middle with small stones after each course.\n\
             Place long stones through the wall at half its height.\n\
             Cover the top with heavy stones set on edge.",
        ),
        page(
            "https://insects.example/walls",
            "Life in dry stone walls",
            Some("2022-03-01"),
            "A dry stone wall of 12 m gave a home to 23 species of spiders.\n\
             A dry stone wall warms lizards in the morning.",
        ),
    ]
}

async fn report_on(pages: Vec<Page>, text: &str) -> Report {
    run(pages, &question(text)).await.0.unwrap()
}

fn texts(report: &Report) -> Vec<&str> {
    report.short.iter().map(|it| it.text()).collect()
}

#[tokio::test]
async fn a_question_of_two_parts_is_answered_for_each_with_all_steps_in_their_order() {
    let report = report_on(walls(), "What is a dry stone wall and how is it built?").await;
    let short = texts(&report);
    assert_eq!(short.len(), 2, "{short:?}");
    assert!(short[0].contains("without any mortar"), "{short:?}");
    assert!(short[1].starts_with("Dig a trench"), "{short:?}");
    let built = report.sections.iter().find(|it| it.title == "How is a dry stone wall built");
    let built: Vec<&str> = built.unwrap().paragraphs.iter().flatten().map(|it| it.text()).collect();
    let begins: Vec<&str> = built.iter().map(|it| it.split(' ').next().unwrap()).collect();
    assert_eq!(begins, ["Dig", "Lay", "Set", "Fill", "Place", "Cover"], "{built:?}");
}

#[tokio::test]
async fn a_sentence_on_the_subject_alone_does_not_answer_what_is_asked_of_it() {
    let mut pages = walls();
    pages.push(page(
        "https://walls.example/lean",
        "When walls lean",
        Some("2023-03-01"),
        "Dry stone walls collapse because water freezes behind them and pushes.",
    ));
    let text = "Why do dry stone walls collapse and how can a collapse be prevented?";
    let report = report_on(pages, text).await;
    let said: Vec<&str> = report.claims().map(|it| it.text()).collect();
    assert!(said[0].contains("water freezes"), "{said:?}");
    for beside in ["spiders", "lizards", "without any mortar"] {
        assert!(!said.iter().any(|it| it.contains(beside)), "{said:?}");
    }
}

#[tokio::test]
async fn a_verdict_is_given_where_nothing_takes_it_back() {
    let asked = "Do dry stone walls shelter lizards?";
    let page = |name: &str, text: &str| {
        page(&format!("https://{name}.example/1"), name, Some("2023-03-01"), text)
    };
    let yes = || page("animals", "Dry stone walls shelter lizards in winter.");
    let report = report_on(vec![yes()], asked).await;
    assert_eq!(report.verdict, Some(YesNo::Yes));
    let no = page("birds", "Dry stone walls do not shelter lizards in winter.");
    let report = report_on(vec![yes(), no], asked).await;
    assert_eq!(report.verdict, None, "{:?}", texts(&report));
}

#[tokio::test]
async fn a_figure_of_one_place_and_year_stands_behind_a_general_one() {
    let pages = vec![
        page(
            "https://prices.example/one",
            "The wall at Harlow",
            Some("2019-03-01"),
            "In 2019 the dry stone wall at Harlow Green cost 410 euros per metre.",
        ),
        page(
            "https://prices.example/all",
            "Prices of walls",
            Some("2018-03-01"),
            "A dry stone wall costs 260 euros per metre on average.",
        ),
    ];
    let report = report_on(pages, "How much does a dry stone wall cost?").await;
    assert!(texts(&report)[0].contains("on average"), "{:?}", texts(&report));
}

/// The report on walls without a permit, where a newer edition of the rules says `newer`.
async fn report_on_editions(newer: &str) -> Report {
    let edition = |year: &str, text: &str| {
        let url = format!("https://rules.example/{year}");
        let title = format!("Rules for dry stone walls, edition {year}");
        page(&url, &title, Some(&format!("{year}-03-01")), text)
    };
    let old = edition("2010", "A dry stone wall may be 180 cm high without a permit.");
    let pages = vec![old, edition("2022", newer)];
    report_on(pages, "How high may a dry stone wall be without a permit?").await
}

#[tokio::test]
async fn a_newer_edition_answers_in_other_words_than_the_one_it_replaces() {
    let newer = "The height of walls depends on the place: builders may build 150 cm high without a permit, \
                 and 120 cm beside a road.";
    let report = report_on_editions(newer).await;
    assert!(texts(&report)[0].contains("150 cm"), "{:?}", texts(&report));
}

#[tokio::test]
async fn where_only_a_replaced_edition_answers_the_report_says_so() {
    let newer =
        "This edition replaces that of 2010, which is withdrawn. A dry stone wall needs a drain.";
    let report = report_on_editions(newer).await;
    assert_eq!(report.confidence.level, Confidence::VeryLow);
    let why = &report.confidence.why;
    assert!(why.iter().any(|it| it.contains("superseded")), "{why:?}");
}

fn asks(text: &str) -> Vec<String> {
    let plan = plan_by_heuristics(&question(text)).unwrap().1;
    plan.items().iter().map(|item| item.asks.clone()).collect()
}

#[test]
fn two_things_to_choose_from_are_compared_by_what_one_chooses_by() {
    let plan = asks("Compare heat pumps and gas boilers for an old house in Germany");
    assert_eq!(plan[0], "How heat pumps and gas boilers compare");
    for (nth, begins) in [
        (3, "Costs of heat pumps and gas boilers for an old house in Germany"),
        (4, "How well heat pumps and gas boilers work for an old house"),
        (5, "Fit: what heat pumps and gas boilers need"),
        (6, "Law, rules and subsidies for heat pumps and gas boilers for an old house in Germany"),
    ] {
        assert!(plan[nth].starts_with(begins), "{plan:?}");
    }
    let plan = asks("What is the difference between mitosis and meiosis?");
    assert!(!plan.iter().any(|it| it.contains("cost")), "{plan:?}");
    let plan = asks("Compare extensive and intensive green roofs");
    assert_eq!(plan[1], "Strengths and limits of extensive green roofs");
}

#[test]
fn the_subject_keeps_its_article_and_a_part_its_subject() {
    let plan = asks("What is a green roof and how is it installed?");
    assert_eq!(plan[..2], ["What is a green roof?", "How is a green roof installed?"]);
    assert_eq!(plan[2], "Kinds, parts and features of a green roof");
}

#[tokio::test]
async fn an_answer_line_is_never_cut_before_the_date_or_the_number_that_is_asked_for() {
    let dated = "The head of the Office of Gardens, reported that the city had 412 dry stone walls with a total length of 38 \
                 kilometres at the end of 2024, of which 231 walls were built after the wall ordinance came into force on \
                 1 January 2020.";
    let pages = vec![page("https://walls.example/minutes", "Minutes of the council", None, dated)];
    let mut asked = question("When did the wall ordinance come into force?");
    asked.mode = OutputMode::Answer;
    let answer = run(pages, &asked).await.0.unwrap().answer.unwrap();
    assert_eq!(answer.text, "The wall ordinance came into force on 1 January 2020.");
    // No clause stands alone: the end is shown, and not the beginning.
    let counted = "The keeper of the old dry stone walls along the southern and the western border of the great common pasture \
                   above the village told the visiting committee of the district about a length of 38 kilometres of walls.";
    let pages = vec![page("https://walls.example/keeper", "Dry stone walls", None, counted)];
    let mut asked = question("How many kilometres of dry stone walls are there?");
    asked.mode = OutputMode::Answer;
    let answer = run(pages, &asked).await.0.unwrap().answer.unwrap();
    assert!(answer.text.starts_with('…') && answer.text.ends_with("38 kilometres of walls."));
    assert!(answer.text.chars().count() <= 140, "{}", answer.text);
}

#[test]
fn a_step_of_three_words_in_a_list_is_a_step() {
    let desk = TestHome::new();
    desk.write(
        "walls/build.md",
        "# How to build a dry stone wall\n\n\
         1. Clear the ground.\n\
         2. Dig a trench of 30 cm and fill it with flat stones.\n\
         3. Lay the largest stones first, across the trench.\n\
         4. Cover the top with heavy stones set on edge.\n",
    );
    let it = desk.ibid(&["run", "How do you build a dry stone wall?", "--folder", "walls", "-q"]);
    assert_eq!(it.code, 0, "{}", it.err);
    assert!(it.out.contains("1. Clear the ground."), "{}", it.out);
    assert!(it.out.contains("2. Dig a trench"), "{}", it.out);
}

#[tokio::test]
async fn instructions_on_the_form_are_neither_subject_nor_title_nor_searched_for() {
    let whole = "What is a dry stone wall? No bibliography, please.";
    let (report, events) = run(walls(), &question(whole)).await;
    let report = report.unwrap();
    assert_eq!(report.title, "What is a dry stone wall?");
    assert!(report.unlisted);
    let asked: Vec<&str> = events
        .iter()
        .filter_map(|it| match it {
            Event::SearchStarted { query, .. } => Some(query.as_str()),
            _ => None,
        })
        .collect();
    assert!(!asked.is_empty() && asked.iter().all(|it| !it.contains("ibliography")), "{asked:?}");
    let (brief, _) = plan_by_heuristics(&question(whole)).unwrap();
    assert_eq!(brief.subjects, ["dry stone wall"]);
    // A model is shown what is wanted.
    assert_eq!(brief.effective_question(), whole);
}

#[test]
fn steps_in_the_documentation_of_a_program_are_told_with_their_commands() {
    let desk = TestHome::new();
    desk.write(
        "docs/stonewall.md",
        "# First steps with Stonewall\n\nStonewall is a program that keeps copies of folders on another machine.\n\n\
         ## How to use Stonewall\n\n1. Install the package:\n\n```\napt install stonewall\n```\n\n\
         2. Choose a place:\n\n```\nstonewall add /srv\n```\n\n\
         3. Show what will be copied:\n\n```\nstonewall plan\n```\n\n4. Begin:\n\n```\nstonewall run\n```\n",
    );
    let docs = desk.docs();
    let ask = ["What is Stonewall and how to use it?", "--folder", &docs, "--model", "none", "-q"];
    let told = desk.ibid(&ask).out;
    let steps: Vec<&str> =
        told.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).collect();
    for step in [
        "1. Install the package: apt install stonewall [",
        "2. Choose a place: stonewall add /srv [",
        "3. Show what will be copied: stonewall plan [",
    ] {
        assert!(steps.iter().any(|line| line.starts_with(step)), "{step}: {told}");
    }
}
