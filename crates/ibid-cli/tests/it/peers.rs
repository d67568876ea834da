//! Failures that people reported of research programs, each as a promise that this one keeps.
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use ibid::config::default_model;
use ibid_core::domain::{ModelRole, Page, Passage, Report};
use ibid_core::ports::{Completion, LanguageModel, Prompt, TextSink};
use ibid_core::record::Event;
use ibid_llm::ModelTarget;
use ibid_report::markdown;
use serde_json::json;

use crate::cli::TestHome;
use crate::memory::{page, question};
use crate::thought::{Scripted, id_of, run, run_over, well, words_of};

/// Fifty halls with their stocks, a sentence each.
fn halls() -> Vec<String> {
    let hall = |n: usize| {
        let (tonnes, year) = (300 + 7 * n, 1900 + n);
        format!("Hall {n} stores {tonnes} tonnes of raw cork and was opened in {year}.")
    };
    (1..=50).map(hall).collect()
}

fn stock() -> Page {
    page("https://stock.example/halls", "Halls", None, &halls().join("\n"))
}

#[test]
fn fifty_wrong_quotes_are_all_caught() {
    let page = stock();
    let mut caught = 0;
    for n in 0..50 {
        let passage = page.passage(n, n).unwrap();
        assert!(passage.is_found_in(&page));
        let mut wrong = serde_json::to_value(&passage).unwrap();
        let words = passage.text().expose().to_owned();
        wrong["text"] = match n % 5 {
            0 => words.replace("raw", "old"),
            1 => words.replace("Hall", "hall"),
            2 => words.replace("tonnes", "tons"),
            3 => words.replace(" and was", ", and was"),
            _ => words.replace("opened in 19", "opened in 18"),
        }
        .into();
        assert_ne!(wrong["text"], words.as_str());
        let wrong: Passage = serde_json::from_value(wrong).unwrap();
        caught += usize::from(!wrong.is_found_in(&page));
    }
    assert_eq!(caught, 50);
}

#[test]
fn a_claim_with_a_number_that_its_page_does_not_hold_is_flagged() {
    let desk = TestHome::new();
    let folder = desk.path("halls");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("halls.txt"), halls().join("\n\n")).unwrap();
    let cited = |claims: Vec<String>| {
        let lines: Vec<String> =
            claims.iter().map(|it| format!("{} [1].", it.trim_end_matches('.'))).collect();
        format!("# Halls\n\n{}\n\n## Sources\n\n1. [Halls](halls/halls.txt)\n", lines.join("\n\n"))
    };
    let verdicts = |text: &str| -> Vec<String> {
        let file = desk.write("claims.md", text);
        let it = desk.ibid(&["check", &file, "--folder", folder.to_str().unwrap(), "--json"]);
        let found = it.json();
        let claims = found["claims"].as_array().unwrap();
        claims.iter().map(|it| it["verdict"].as_str().unwrap().to_owned()).collect()
    };
    let right = verdicts(&cited(halls()));
    assert_eq!(right.len(), 50);
    assert!(right.iter().all(|it| it == "supported"), "{right:?}");
    let wrong = (1..=50).map(|n| {
        halls()[n - 1].replace(&format!("{} tonnes", 300 + 7 * n), &format!("{} tonnes", 9_000 + n))
    });
    let wrong = verdicts(&cited(wrong.collect()));
    assert_eq!(wrong.len(), 50);
    assert!(wrong.iter().all(|it| it != "supported"), "{wrong:?}");
}

#[test]
fn where_nothing_is_found_there_is_no_report_and_the_exit_code_says_so() {
    let desk = TestHome::new();
    let folder = desk.path("empty");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("ships.txt"), "The harbour closes at dusk.").unwrap();
    let folder = folder.to_str().unwrap();
    let it = desk.ibid(&[
        "run",
        "Which enzymes does the liver of a carp make?",
        "--folder",
        folder,
        "-q",
    ]);
    assert_eq!((it.code, it.out.as_str()), (3, ""), "{}", it.err);
    let it = desk.ibid(&[
        "run",
        "Which enzymes does the liver of a carp make?",
        "--folder",
        folder,
        "--json",
        "-q",
    ]);
    assert_eq!(it.code, 3);
    assert!(it.json()["result"].is_null() && it.json()["answer"].is_null(), "{}", it.out);
}

#[tokio::test]
async fn answers_wrapped_in_thinking_prose_fences_or_endless_lists_are_read() {
    let plain = Scripted::new(|step, words| Ok(well(step, words).to_string()));
    let (wanted, _) = run(&plain, &ModelRole::ALL, &question("What is cork?")).await;
    let wanted = wanted.unwrap();
    let references: String =
        (1..2_000).map(|n| format!("\n[{n}] References. [{n}] References.")).collect();
    let wraps: [fn(&str, &str) -> String; 4] = [
        |it, _| format!("<think>Let me see. {{\"sections\": []}} no.</think>\n{it}"),
        |it, _| {
            format!("Sure! Here is what you asked for:\n\n{it}\n\nLet me know if you need more.")
        },
        |it, _| format!("```json\n{it}\n```"),
        |it, endless| format!("{it}\n\nReferences{endless}"),
    ];
    for (nth, wrap) in wraps.into_iter().enumerate() {
        let references = references.clone();
        let model =
            Scripted::new(move |step, words| Ok(wrap(&well(step, words).to_string(), &references)));
        let (report, _) = run(&model, &ModelRole::ALL, &question("What is cork?")).await;
        let report = report.unwrap();
        assert_eq!(words_of(&report), words_of(&wanted), "wrap {nth}");
        assert!(report.method.unaided.is_empty(), "{:?}", report.method.unaided);
    }
}

#[test]
fn the_key_of_one_provider_is_enough_and_no_other_is_asked_for() {
    for (variable, spec) in default_model::rows() {
        let asked: Mutex<BTreeSet<String>> = Mutex::default();
        let only = |name: &str| {
            asked.lock().unwrap().insert(name.to_owned());
            (name == *variable).then(|| "k".to_owned())
        };
        ModelTarget::resolve(spec, &only).unwrap();
        let others = default_model::rows().iter().map(|it| it.0).filter(|it| it != variable);
        let asked = asked.lock().unwrap();
        for other in others {
            assert!(!asked.contains(other), "{spec} asks for {other}");
        }
    }
}

#[tokio::test]
async fn a_question_in_vietnamese_is_answered_in_vietnamese() {
    const FACT: &str = "Vỏ cây sồi bần được thu hoạch chín năm một lần ở Bồ Đào Nha.";
    let shelf = vec![page("https://so.example/ban", "Cây sồi bần", None, FACT)];
    let model = Scripted::new(|step, words| match step {
        "weigh" => Ok(json!({"evidence": [
            {"item": "Q1", "sentences": [1], "claim": FACT, "stance": "for"}]})
        .to_string()),
        "write" => {
            let id = id_of(words, "chín năm").unwrap();
            let sentence = json!({"text": FACT, "evidence": [id]});
            Ok(json!({"sections": [{"heading": "Thu hoạch", "sentences": [sentence]}]}).to_string())
        }
        "answer" | "answer_report" => {
            let id = id_of(words, "chín năm").unwrap();
            Ok(json!({"answer": FACT, "evidence": [id]}).to_string())
        }
        _ => Ok(well(step, words).to_string()),
    });
    let asked =
        question("Vỏ cây sồi bần được thu hoạch như thế nào ở Bồ Đào Nha và bao lâu một lần?");
    let (report, _) = run_over(shelf, &model, &ModelRole::ALL, &asked).await;
    let report = report.unwrap();
    assert_eq!(report.lang, "vi");
    assert_eq!(report.answer.unwrap().text, FACT);
    let prompts = model.asked.lock().unwrap();
    for step in ["plan", "weigh", "cover", "write", "answer_report"] {
        let mut of_step = prompts.iter().filter(|it| it.purpose == step).peekable();
        assert!(of_step.peek().is_some(), "{step} was asked");
        assert!(of_step.all(|it| it.messages[0].text.contains("Vietnamese")), "{step}");
    }
}

/// Runs of eight words of each section.
fn shingles(report: &Report) -> Vec<BTreeSet<Vec<String>>> {
    let of_section = |section: &ibid_core::domain::Section| {
        let text: Vec<&str> = section.paragraphs.iter().flatten().map(|it| it.text()).collect();
        let words: Vec<String> = text.join(" ").split_whitespace().map(str::to_lowercase).collect();
        words.windows(8).map(<[String]>::to_vec).collect()
    };
    report.sections.iter().map(of_section).collect()
}

#[tokio::test]
async fn no_paragraph_stands_in_two_sections() {
    let model = Scripted::new(|step, words| match step {
        "write" => {
            let bark = id_of(words, "bark of the cork oak").unwrap();
            let nine = id_of(words, "nine years").unwrap();
            let again = json!([
                {"text": "Cork is a light material from the bark of the cork oak.", "evidence": [bark]},
                {"text": "Cork is stripped from the living tree every nine years.", "evidence": [nine]},
            ]);
            let section = |heading: &str| json!({"heading": heading, "sentences": again});
            Ok(json!({"sections": [section("What cork is"), section("Harvest"), section("Floating")]}).to_string())
        }
        _ => Ok(well(step, words).to_string()),
    });
    let (report, _) = run(&model, &ModelRole::ALL, &question("What is cork?")).await;
    let sections = shingles(&report.unwrap());
    assert!(sections.iter().any(|it| !it.is_empty()));
    for (nth, one) in sections.iter().enumerate() {
        for other in &sections[nth + 1..] {
            assert!(one.is_disjoint(other), "{:?}", one.intersection(other).next());
        }
    }
}

/// A model whose answers cost what `price` says, dollars a million tokens sent and received, if it is known.
struct Priced {
    model: Arc<Scripted>,
    price: Option<(f64, f64)>,
}

#[async_trait::async_trait]
impl LanguageModel for Priced {
    fn name(&self) -> &str {
        "scripted/priced"
    }

    async fn complete(
        &self,
        prompt: &Prompt,
        _: Option<TextSink<'_>>,
    ) -> ibid_core::Result<Completion> {
        let mut answer = self.model.complete(prompt, None).await?;
        answer.cost_usd = self.price.map(|(sent, received)| {
            let count = |it: Option<u64>| it.unwrap_or(0) as f64;
            (count(answer.tokens.input) * sent + count(answer.tokens.output) * received) / 1e6
        });
        Ok(answer)
    }
}

#[tokio::test]
async fn the_cost_shown_is_use_times_price_and_an_unknown_price_says_so() {
    let asked = |price| async move {
        let model = Scripted::new(|step, words| Ok(well(step, words).to_string()));
        let model = Arc::new(Priced { model, price });
        let (report, events) = run(&model, &ModelRole::ALL, &question("What is cork?")).await;
        (report.unwrap(), events)
    };
    let (report, events) = asked(Some((2.0, 10.0))).await;
    let used = report.usage;
    assert!(used.tokens_in > 0 && used.tokens_out > 0);
    let wanted = (used.tokens_in as f64 * 2.0 + used.tokens_out as f64 * 10.0) / 1e6;
    assert!((used.usd.unwrap() - wanted).abs() <= wanted * 0.01);
    let told: f64 = events
        .iter()
        .filter_map(|it| match it {
            Event::LlmCompleted { usd, .. } => *usd,
            _ => None,
        })
        .sum();
    assert!((told - wanted).abs() <= wanted * 0.01, "the events tell the same");
    let shown = markdown::report(&report, true);
    assert!(shown.contains(&format!("cost_usd: {wanted:.2}")), "{shown}");
    let (report, _) = asked(None).await;
    assert_eq!(report.usage.usd, None);
    let shown = markdown::report(&report, true);
    assert!(shown.contains("cost_usd: null") && !shown.contains("cost_usd: 0"), "{shown}");
}
