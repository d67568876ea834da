use super::*;
use proptest::prelude::*;

/// Each claim with the addresses, or else the labels, that it cites.
fn seen(text: &str) -> Vec<(String, Vec<String>)> {
    let cited = parse_citations(text);
    let name = |nth: &usize| {
        let it = &cited.sources[*nth];
        let label = it.label.clone().map(|label| format!("?{label}"));
        it.address.clone().or(label).unwrap_or_default()
    };
    cited
        .claims
        .iter()
        .map(|claim| (claim.text.clone(), claim.sources.iter().map(name).collect()))
        .collect()
}

#[track_caller]
fn expect(text: &str, claims: &[(&str, &[&str])]) {
    let found = seen(text);
    let found: Vec<(&str, Vec<&str>)> = found
        .iter()
        .map(|pair| {
            let cites = pair.1.iter().map(String::as_str).collect();
            (pair.0.trim_end_matches('.'), cites)
        })
        .collect();
    let expected: Vec<(&str, Vec<&str>)> =
        claims.iter().map(|claim| (claim.0, claim.1.to_vec())).collect();
    assert_eq!(found, expected, "{text}");
}

const A: &str = "https://a.example/1";
const B: &str = "https://b.example/2";
const RAIN: &str = "A green roof retains 56 % of the rain";

#[test]
fn a_number_is_read_in_every_form_it_is_written_in() {
    for (marked, cites) in [
        ("A green roof retains 56 % of the rain [1].", &[A][..]),
        ("A green roof retains 56 % of the rain.[1]", &[A]),
        ("A green roof retains 56 % of the rain. [1]", &[A]),
        ("A green roof retains 56 % of the rain [1, 2].", &[A, B]),
        ("A green roof retains 56 % of the rain [1-2].", &[A, B]),
        ("A green roof retains 56 % of the rain [1][2].", &[A, B]),
        ("A green roof retains 56 % of the rain ([1], [2]).", &[A, B]),
        ("A green roof retains 56 % of the rain (see [2]).", &[B]),
        ("A green roof retains 56 % of the rain [1, p. 4].", &[A]),
        ("A green roof retains 56 % of the rain【1†source】.", &[A]),
        ("A green roof retains 56 % of the rain.【2†L3-L9】", &[B]),
        ("A green roof retains 56 % of the rain.[^1]", &[A]),
        ("A green roof retains 56 % of the rain.¹", &[A]),
        ("A green roof retains 56 % of the rain¹,².", &[A, B]),
        ("A green roof retains 56 % of the rain.<sup>2</sup>", &[B]),
        ("A green roof retains 56 % of the rain<sup>1,2</sup>.", &[A, B]),
        ("A green roof retains 56 % of the rain.<sup>[1](#ref1)</sup>", &[A]),
        ("A green roof retains 56 % of the rain.<sup><a href=\"#r2\">2</a></sup>", &[B]),
        ("A green roof retains 56 % of the rain.1", &[A]),
        ("A green roof retains 56 % of the rain.[cite: 1, 2]", &[A, B]),
        ("[cite_start]A green roof retains 56 % of the rain. [cite: 1]", &[A]),
        ("A green roof retains 56 % of the rain [[1]](#src-1).", &[A]),
        ("A green roof retains 56 % of the rain [1](#cite-1).", &[A]),
        ("A green roof retains 56 % of the rain \\[1\\].", &[A]),
    ] {
        let list =
            "\n\n## Sources\n\n1. First — https://a.example/1\n2. Second — https://b.example/2\n";
        expect(&format!("{marked}{list}"), &[(RAIN, cites)]);
    }
}

#[test]
fn a_link_is_read_in_every_form_it_is_written_in() {
    for marked in [
        "A green roof retains 56 % of the rain ([a.example](https://a.example/1)).",
        "A green roof retains 56 % of the rain. ([Roof Water](https://a.example/1))",
        "A green roof retains 56 % of the rain.[source](https://a.example/1)",
        "A green roof retains 56 % of the rain [1](https://a.example/1).",
        "A green roof retains 56 % of the rain [[1]](https://a.example/1).",
        "A green roof retains 56 % of the rain [¹](https://a.example/1).",
        "A green roof retains 56 % of the rain <https://a.example/1>.",
        "A green roof retains 56 % of the rain (https://a.example/1).",
        "A green roof retains 56 % of the rain: https://a.example/1.",
        "A green roof retains 56 % of the rain.<sup><a href='https://a.example/1'>7</a></sup>",
        "A green roof retains 56 % of the rain ([a.example][1]).\n\n[1]: https://a.example/1",
        "A green roof retains 56 % of the rain [1].\n\n[1]: https://a.example/1 \"Title\"",
        "A green roof retains 56 % of the rain [source][roof].\n\n[roof]: <https://a.example/1>",
        "A green roof retains 56 % of the rain.[^x]\n\n[^x]: Roof Water. https://a.example/1",
    ] {
        expect(marked, &[(RAIN, &[A])]);
    }
    expect(
        "The [survey of roofs](https://a.example/1) found that 56 % is kept.",
        &[("The survey of roofs found that 56 % is kept", &[A])],
    );
    expect(
        "Two defined numbers are two sources here [1][2].\n\n[1]: https://a.example/1\n[2]: https://b.example/2\n",
        &[("Two defined numbers are two sources here", &[A, B])],
    );
}

#[test]
fn every_form_of_list_gives_its_sources() {
    for list in [
        "## References\n\n1. First. https://a.example/1\n2. [Second](https://b.example/2)\n",
        "**Sources:**\n\n- [1] First — <https://a.example/1>\n- [2] Second — https://b.example/2\n",
        "Citations:\n[1] https://a.example/1\n[2] https://b.example/2\n",
        "[1] First. https://a.example/1\n[2] Second. https://b.example/2\n",
        "[1]: First. https://a.example/1\n[2]: Second. https://b.example/2\n",
        "[1]: https://a.example/1\n[2]: https://b.example/2\n",
        "### Works cited\n\n1. First, accessed May 1, 2025, [https://a.example/1](https://a.example/1)\n2. Second, <https://b.example/2>\n",
        "## Bibliography\n\n- [1](https://a.example/1)\n- [2](https://b.example/2)\n",
        "## 7. Quellen\n\n(1) First https://a.example/1\n\n(2) Second https://b.example/2\n",
        "## Sources\n\n| # | Title | Link |\n|---|---|---|\n| [1] | First | https://a.example/1 |\n| [2] | Second | https://b.example/2 |\n",
        "---\n\n1. First — https://a.example/1\n2. Second — https://b.example/2\n",
    ] {
        let text = format!("Roofs keep half of the rain [1]. They cool the air [2].\n\n{list}");
        expect(&text, &[("Roofs keep half of the rain", &[A]), ("They cool the air", &[B])]);
        let cited = parse_citations(&text);
        assert_eq!(
            cited.sources.iter().map(|source| source.n).collect::<Vec<_>>(),
            [1, 2],
            "{text}"
        );
        assert!(cited.uncited.is_empty(), "{text}: {:?}", cited.uncited);
    }
}

#[test]
fn what_is_no_citation_is_left_alone() {
    for text in [
        "The array a[1](x) holds 10 m² and 5 m<sup>2</sup> of it.",
        "Write to [us](mailto:a@a.example) or go [up](#top) again.",
        "```\ncode with [1] and https://a.example/1\n```",
        "![a picture](https://a.example/1.png)",
        "In [2024] four of five roofs were planted there.",
        "# A heading with https://a.example/1 in it",
        "---\nurl: https://a.example/1\n---\n\nFour words stand here.",
    ] {
        let found = seen(text);
        let arrays = text.starts_with("The array");
        assert!(found.is_empty() || arrays, "{text}: {found:?}");
    }
}

#[test]
fn a_sentence_with_citations_in_several_places_is_several_claims() {
    expect(
        "Roofs in Halvern keep 63 % [1], while roofs elsewhere keep 56 % [2]. According to [1], they cool the air.\n\n[1]: https://a.example/1\n[2]: https://b.example/2\n",
        &[
            ("Roofs in Halvern keep 63 %", &[A]),
            ("while roofs elsewhere keep 56 %", &[B]),
            ("According to, they cool the air", &[A]),
        ],
    );
}

#[test]
fn a_row_of_a_table_is_a_claim() {
    expect(
        "| # | Roof | Retained | Source | Confidence |\n|---|---|---|---|---|\n| 1 | Library roof | 63 % of the rain | [1](https://a.example/1) Ten years | high |\n| 2 | Shed | nothing known | | low |\n",
        &[("Library roof, 63 % of the rain", &[A])],
    );
}

#[test]
fn our_own_report_is_read() {
    let text = "---\ntitle: \"Rain\"\nrun: r_1\n---\n\n# Rain\n\n> **Short answer.** Roofs keep half of the rain. [[1]](#src-1)[^q1] They cool the air. [[2]](#src-2)[^q2]\n>\n> **Confidence: low** — 2 independent sources.\n\n## Key findings\n\n- Roofs keep half of the rain. [[1]](#src-1)[^q1] · ●●○○\n\n## Sources\n\n- **[1]** <a id=\"src-1\"></a>Ann Ash. *Rain on roofs*, Site, 2022-03-14. [a.example](https://a.example/1), read from /docs/a.html · local document\n- <a id=\"src-2\"></a>**[2]** *Air*. /docs/my air.docx · local document\n\n[^q1]: \"Roofs keep half of the rain.\" — Rain on roofs — <https://a.example/1#:~:text=Roofs>\n[^q2]: \"They cool the air.\" — Air — my air.docx\n";
    let cited = parse_citations(text);
    let claims: Vec<(&str, &[usize])> =
        cited.claims.iter().map(|claim| (claim.text.as_str(), claim.sources.as_slice())).collect();
    assert_eq!(
        claims,
        [
            ("Roofs keep half of the rain.", &[0][..]),
            ("They cool the air.", &[1]),
            ("Roofs keep half of the rain.", &[0]),
        ]
    );
    assert_eq!(cited.claims.iter().map(|claim| claim.line).collect::<Vec<_>>(), [8, 8, 14]);
    assert_eq!(cited.sources.len(), 2, "quotes in footnotes are no sources: {:#?}", cited.sources);
    assert_eq!(cited.sources[0].title.as_deref(), Some("Rain on roofs"));
    assert_eq!(cited.sources[0].path.as_deref(), Some("/docs/a.html"));
    assert_eq!(cited.sources[1].path.as_deref(), Some("/docs/my air.docx"));
}

#[test]
fn a_report_in_the_style_of_chatgpt_is_read() {
    expect(
        "## Green roofs\n\nGreen roofs retain about half of the annual rain. ([a.example](https://a.example/1?utm_source=chatgpt.com)) \
         They also cool the surface by 20 °C.([Roof Water+1](https://b.example/2))\n\n* **Weight:** An extensive roof weighs 120 kg per square metre. 【7†source】\n",
        &[
            (
                "Green roofs retain about half of the annual rain",
                &["https://a.example/1?utm_source=chatgpt.com"],
            ),
            ("They also cool the surface by 20 °C", &[B]),
            ("Weight: An extensive roof weighs 120 kg per square metre", &["?7"]),
        ],
    );
}

#[test]
fn a_report_in_the_style_of_perplexity_is_read() {
    let text = "Green roofs retain about half of the annual rain[1][2]. They last 40 years[2].\n\n### Details\n- **Cooling:** the surface is 20 °C cooler[1]\n\nCitations:\n[1] https://a.example/1\n[2] https://b.example/2\n[3] https://c.example/3\n";
    expect(
        text,
        &[
            ("Green roofs retain about half of the annual rain", &[A, B]),
            ("They last 40 years", &[B]),
            ("Cooling: the surface is 20 °C cooler", &[A]),
        ],
    );
    let idle = parse_citations(text).sources.into_iter().filter(|source| !source.cited).count();
    assert_eq!(idle, 1);
}

#[test]
fn a_report_in_the_style_of_gemini_is_read() {
    expect(
        "# Green Roofs\n\nGreen roofs retain about half of the annual rain.1 They last 40 years and longer.2 Nobody disputes this today.\n\n#### **Works cited**\n\n1. Rain on roofs \\- Roof Water, accessed May 1, 2025, [https://a.example/1](https://a.example/1)  \n2. Membranes, accessed May 1, 2025, [https://b.example/2](https://b.example/2)\n",
        &[
            ("Green roofs retain about half of the annual rain", &[A]),
            ("They last 40 years and longer", &[B]),
        ],
    );
}

#[test]
fn a_report_in_the_style_of_gpt_researcher_is_read() {
    let text = "# Green roofs\n\n## Introduction\n\nGreen roofs retain about half of the annual rain ([Thornquist, 2021](https://a.example/1)). Costs are falling, according to [the City of Halvern](https://b.example/2).\n\n## References\n\n- Thornquist, A. (2021, September 2). *Rain on roofs*. Roof Water. [https://a.example/1](https://a.example/1)\n- City of Halvern. (2024). Costs. https://b.example/2\n";
    expect(
        text,
        &[
            ("Green roofs retain about half of the annual rain", &[A]),
            ("Costs are falling, according to the City of Halvern", &[B]),
        ],
    );
    let cited = parse_citations(text);
    assert_eq!(cited.sources.len(), 2);
    assert_eq!(cited.sources[0].title.as_deref(), Some("Rain on roofs"));
}

#[test]
fn sentences_without_and_numbers_that_lead_nowhere_are_kept_apart() {
    let cited = parse_citations(
        "Roofs are very nice things. Roofs keep half of the rain [4].\n\n## Sources\n\n1. First — https://a.example/1\n2. Second\n",
    );
    assert_eq!(cited.uncited.len(), 1);
    assert_eq!(cited.uncited[0].line, 1);
    let missing: Vec<u32> = cited
        .sources
        .iter()
        .filter(|source| source.is_unexplained())
        .map(|source| source.n)
        .collect();
    assert_eq!(missing, [4]);
}

#[test]
fn hostile_nesting_and_length_take_no_time() {
    let began = std::time::Instant::now();
    for piece in [
        "[",
        "> ",
        "- ",
        "(",
        "[1]",
        "[^1]",
        "*",
        "http://",
        "¹",
        "<sup>",
        "[a](b ",
        "| ",
        "!.1 ",
        "([1](",
        "【",
        "A [1]. ",
        "a [b](c). ",
        "1. [x](http://y.example/)\n",
        "# Sources\n[1] ",
        "[^a]: b http://c.example\n",
    ] {
        parse_citations(&piece.repeat(30_000 / piece.len()));
    }
    let took = began.elapsed();
    assert!(took.as_secs() < 30, "{took:?}");
}

proptest! {
    #[test]
    fn any_text_is_read(text in "(\\PC|\n){0,200}") {
        let cited = parse_citations(&text);
        for it in &cited.claims {
            prop_assert!(!it.text.is_empty() && !it.sources.is_empty());
            prop_assert!(it.sources.iter().all(|source| *source < cited.sources.len()));
            prop_assert!(it.line >= 1 && it.line <= text.matches('\n').count() + 1);
        }
    }

    #[test]
    fn any_mixture_of_marks_is_read(
        pieces in proptest::collection::vec(
            prop_oneof![
                Just("[1]"), Just("[^1]"), Just("【1†s】"), Just("("), Just(")"), Just(" "), Just("\n"),
                Just("\n\n"), Just("- "), Just("1. "), Just("| "), Just("|-|\n"), Just("> "), Just("."),
                Just("[a](b)"), Just("[2](https://c.example)"), Just("https://d.example/é"), Just("²"),
                Just("<sup>"), Just("</sup>"), Just("<a href=\"x\">"), Just("</a>"), Just("`"), Just("é "),
                Just("Roofs keep rain"), Just("## Sources\n"), Just("[3]: e.md\n"), Just("[^2]: \"q\" "),
                Just("*"), Just("\\"), Just("!["), Just("]("),
            ],
            0..60,
        )
    ) {
        let cited = parse_citations(&pieces.concat());
        let all = cited.sources.len();
        prop_assert!(cited.claims.iter().flat_map(|claim| &claim.sources).all(|source| *source < all));
    }
}
