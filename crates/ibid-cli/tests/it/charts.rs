//! Charts and computed figures, and the tables that they are made of, through a whole run: every point leads to an exact quote.
use serde_json::Value;

use crate::cli::TestHome;

const BUILD_UPS: &str = "<html><head><title>Roof build-ups and their weight</title></head><body><article>
<h1>Roof build-ups and their weight</h1>
<p>A roof build-up is the stack of layers that lies on the roof deck. The workshop weighed seven of them in 2023.</p>
<h2>Weight of roof build-ups</h2>
<table><thead><tr><th rowspan=\"2\">Roof build-up</th><th colspan=\"2\">Weight</th><th rowspan=\"2\">Depth</th></tr>
<tr><th>dry</th><th>saturated</th></tr></thead><tbody>
<tr><td>Gravel ballast</td><td>390 kg/m²</td><td>400 kg/m²</td><td rowspan=\"2\">50 mm</td></tr>
<tr><td>Sedum mat</td><td>35 kg/m²</td><td>60 kg/m²</td></tr>
<tr><td>Extensive meadow</td><td>80 kg/m²</td><td>130 kg/m²</td><td>4 in</td></tr>
<tr><td>Intensive garden</td><td>250 kg/m²</td><td>410 kg/m²</td><td>300 mm</td></tr>
<tr><td>Timber deck</td><td>9 lb/ft²</td><td>11 lb/ft²</td><td>60 mm</td></tr>
<tr><td>Total</td><td>800 kg/m²</td><td>1,050 kg/m²</td><td>510 mm</td></tr></tbody></table>
<table><tr><td>Crane rent</td><td>9,000 kg/m²</td></tr><tr><td>Scales</td><td>8,000 kg/m²</td></tr></table>
<p>The build-ups were weighed on a crane after three days of rain.</p></article></body></html>";

const COVER: &str = "# Sedum cover of the school roof over the years

The school roof was planted with sedum in 2009. Its sedum cover was measured every spring.

| Year | Sedum cover (%) | Moss cover (%) |
| --- | --- | --- |
| 2012 | 58 | 4 |
| 2010 | 35 | 2 |
| 2016 | 76 | 9 |
| 2020 | 62 | 21 |
| 2022 | 60 | 25 |
";

const LIFETIMES: &str = "# How long roof membranes last

A roof membrane keeps water out of the building. The insurers' survey gives the lifetime of each membrane type.

| Membrane type | Lifetime in years | Price |
| --- | --- | --- |
| Bitumen | 20 to 30 | 12 € per m² |
| EPDM | 35 to 50 | 18 € per m² |
| PVC | 20 to 35 | 15 € per m² |
";

const ENERGY: &str = "# Heating energy of four halls

Each hall was heated for one winter, and its heating energy was read from the meter.

| Hall | Heating energy | Price of a unit |
| --- | --- | --- |
| Oak hall | 4,200 kWh | 0.30 € per kWh |
| Ash hall | 19,000 MJ | 0.10 € per kg |
| Elm hall | 3,100 kWh | 0.28 € per kWh |
";

/// A home with these documents.
fn home(documents: &[(&str, &str)]) -> TestHome {
    let desk = TestHome::new();
    for (name, text) in documents {
        desk.write(&format!("shelf/{name}"), text);
    }
    desk
}

/// The report on a question as JSON, and as another form.
fn report(desk: &TestHome, question: &str) -> Value {
    let folder = desk.path("shelf").display().to_string();
    let told = desk.ibid(&[question, "--folder", &folder, "--model", "none", "-q", "-o", "x.json"]);
    assert_eq!(told.code, 0, "{}", told.err);
    serde_json::from_str(&std::fs::read_to_string(desk.path("x.json")).unwrap()).unwrap()
}

/// What is told on a question, which may be that there is no answer.
fn told(desk: &TestHome, question: &str) -> String {
    let folder = desk.path("shelf").display().to_string();
    let told = desk.ibid(&[question, "--folder", &folder, "--model", "none", "-q"]);
    told.out + &told.err
}

fn short(report: &Value) -> String {
    let lines = report["short"].as_array().unwrap().iter();
    lines.map(|it| it["text"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

/// The labels and figures of the chart. Each point is a cell of the comparison, whose quote has its words.
fn points(report: &Value) -> Vec<(String, f64)> {
    let chart = &report["chart"];
    let rows = report["comparison"]["rows"].as_array().unwrap();
    let cells: Vec<&Value> = rows.iter().flat_map(|row| row["cells"].as_array().unwrap()).collect();
    let claims: Vec<&Value> = cells.iter().flat_map(|cell| cell.as_array().unwrap()).collect();
    for claim in &claims {
        let quotes = claim["citations"].as_array().unwrap();
        let words = claim["text"].as_str().unwrap();
        let quoted = |it: &Value| it["passage"]["text"].as_str().unwrap().contains(words);
        assert!(quotes.iter().any(quoted), "{claim}");
    }
    let point = |point: &Value| {
        let of = claims.iter().find(|claim| claim["id"] == point["claim"]).unwrap();
        assert_eq!(of["text"], point["text"]);
        (point["label"].as_str().unwrap().to_owned(), point["value"].as_f64().unwrap())
    };
    chart["points"].as_array().unwrap().iter().map(point).collect()
}

#[test]
fn cells_across_columns_and_rows_stay_under_their_headers() {
    let desk = home(&[("build-ups.html", BUILD_UPS)]);
    let report = report(&desk, "Which roof build-up is heaviest when saturated?");
    let told = short(&report);
    assert!(told.starts_with("Intensive garden – Weight, saturated: 410 kg/m²"), "{told}");
    let columns = ["Roof build-up", "Weight, dry", "Weight, saturated", "Depth"];
    assert_eq!(report["comparison"]["columns"], serde_json::json!(columns));
    let found = points(&report);
    let labels: Vec<&str> = found.iter().map(|it| it.0.as_str()).collect();
    let expected =
        ["Intensive garden", "Gravel ballast", "Extensive meadow", "Sedum mat", "Timber deck"];
    assert_eq!(labels, expected, "neither the total nor the table that touches it");
    let depth = &report["comparison"]["rows"][3];
    assert_eq!(depth["cells"][2][0]["text"], "50 mm", "of the row above, across which it reaches");
    assert_eq!(report["chart"]["kind"], "bar");
    assert!((found[4].1 - 53.707).abs() < 0.001, "{found:?}");
    let timber = &report["comparison"]["rows"][4];
    assert_eq!(timber["cells"][1][0]["text"], "11 lb/ft²", "the quote stays");
    assert_eq!(timber["converted"][1], "53.7 kg/m²");
    assert_eq!(report["checks"]["quotes"]["verified"], report["checks"]["quotes"]["total"]);
}

#[test]
fn figures_over_years_are_a_line_in_the_order_of_the_years() {
    let desk = home(&[("cover.md", COVER)]);
    let asked = "How did the sedum cover of the school roof change from 2010 to 2020?";
    let report = report(&desk, asked);
    assert!(short(&report).contains("Sedum cover (%) – 2010: 35; 2020: 62."), "{}", short(&report));
    let years = [("2010", 35.0), ("2012", 58.0), ("2016", 76.0), ("2020", 62.0)];
    assert_eq!(points(&report), years.map(|it| (it.0.to_owned(), it.1)));
    assert_eq!(report["chart"]["kind"], "line");
}

#[test]
fn ranges_are_drawn_as_ranges_and_win_only_if_they_touch_no_other() {
    let desk = home(&[("life.md", LIFETIMES)]);
    let each = report(&desk, "How long does each membrane type last?");
    assert_eq!(each["chart"]["kind"], "interval");
    assert_eq!(each["chart"]["points"][1]["low"], 35.0);
    let longest = told(&desk, "Which membrane type has the longest lifetime?");
    assert!(!longest.contains("the highest"), "35 years may be both: {longest}");
}

#[test]
fn figures_of_one_quantity_are_ordered_in_one_unit_and_others_not_at_all() {
    let desk = home(&[("energy.md", ENERGY)]);
    let most = report(&desk, "Which hall needs the most heating energy?");
    assert!(short(&most).starts_with("Ash hall – Heating energy: 19,000 MJ"), "{}", short(&most));
    assert_eq!(most["comparison"]["rows"][0]["converted"][0], "5280 kWh");
    let cheapest = told(&desk, "Which hall is the cheapest by its price of a unit?");
    assert!(!cheapest.contains("the lowest"), "a kWh is no kg: {cheapest}");
}

#[test]
fn the_row_that_is_asked_for_is_shown_and_an_advertisement_wins_nothing() {
    let rows: String = (1..=20).map(|n| format!("| Cork {n} | {} g | {n} € |\n", 10 + n)).collect();
    let table = format!(
        "# Bottle corks and their weight\n\nA bottle cork closes a bottle.\n\n| Bottle cork | Weight | Price |\n| --- | --- | --- |\n{rows}"
    );
    let desk = home(&[("corks.md", &table)]);
    let heaviest = report(&desk, "Which bottle cork is the heaviest?");
    assert_eq!(heaviest["comparison"]["rows"][0]["label"], "Cork 20");
    let cheapest = short(&report(&desk, "Which bottle cork is the cheapest?"));
    assert!(cheapest.starts_with("Cork 1 – Price: 1 €"), "{cheapest}");
    let sold = format!("{table}| Order now – free delivery | 9 g | 0.5 € |\n");
    let desk = home(&[("corks.md", &sold)]);
    let cheapest = told(&desk, "Which bottle cork is the cheapest?");
    assert!(!cheapest.contains("the lowest"), "{cheapest}");
}

#[test]
fn every_point_of_a_drawn_chart_leads_to_its_quote() {
    let desk = home(&[("build-ups.html", BUILD_UPS)]);
    let report = report(&desk, "Which roof build-up is heaviest when saturated?");
    desk.ibid(&["export", "last", "-f", "html", "-o", "x.html"]);
    let html = std::fs::read_to_string(desk.path("x.html")).unwrap();
    let svg = html.split("<figure class=\"plot\">").nth(1).unwrap();
    let svg = svg.split("</figure>").next().unwrap();
    assert!(svg.contains("<title>") && svg.contains("<desc") && !svg.contains("<script"));
    let links: Vec<&str> =
        svg.split("<a href=\"#").skip(1).map(|it| it.split('"').next().unwrap()).collect();
    assert_eq!(links.len(), points(&report).len());
    for (link, (label, _)) in links.iter().zip(points(&report)) {
        let quote = html.split(&format!("id=\"{link}\"")).nth(1).unwrap();
        let words = quote.split("<mark>").nth(1).unwrap().split("</mark>").next().unwrap();
        assert!(words.contains(&label), "{label}: {words}");
    }
    desk.ibid(&["export", "last", "-f", "md", "-o", "x.md"]);
    let text = std::fs::read_to_string(desk.path("x.md")).unwrap();
    assert!(text.contains("```text\nWeight, saturated (kg/m²)\nIntensive garden  ██"), "{text}");
    assert!(text.contains("(53.7 kg/m², computed)"), "{text}");
    desk.ibid(&["export", "last", "-f", "tex", "-o", "tex"]);
    let tex = std::fs::read_to_string(desk.path("tex/report.tex")).unwrap();
    assert!(tex.contains("computed"), "the table has the computed figures");
}

#[test]
fn raised_digits_are_no_digits_of_the_number_before_them() {
    let page = "<html><head><title>The dam of Jexland</title></head><body><h1>The dam of Jexland</h1>\
        <p>The dam of Jexland holds 2.5 × 10<sup>6</sup> litres of water when it is full, says the office of works.</p>\
        <p>The dam of Jexland was built for 15<sup class=\"reference\">3</sup> farms of the valley in two dry years.</p>\
        <table><tr><th>Year</th><th>Rainfall of Jexland (mm)</th></tr><tr><td>2018</td><td>488<sup>3</sup></td></tr>\
        <tr><td>2019</td><td>512</td></tr><tr><td>2020</td><td>497<sup><a href=\"#n1\">1</a></sup></td></tr></table></body></html>";
    let notes =
        "# Pumps\n\nThe pumps of the dam of Jexland ran for 3 × 10<sup>4</sup> hours in all.\n";
    let desk = home(&[("dam.html", page), ("pumps.md", notes)]);
    let text = told(&desk, "How many litres of water does the dam of Jexland hold?");
    assert!(text.contains("2.5 × 10^6 litres") && !text.contains("106 litres"), "{text}");
    let text = told(&desk, "How many farms was the dam of Jexland built for?");
    assert!(text.contains("built for 15 farms") && !text.contains("153 farms"), "{text}");
    let text = told(&desk, "How many hours did the pumps of the dam of Jexland run?");
    assert!(text.contains("3 × 10^4 hours") && !text.contains("104 hours"), "{text}");
    let report = report(&desk, "How did the rainfall of Jexland change from 2018 to 2020?");
    let shown = ["short", "findings", "comparison", "chart"].map(|part| report[part].to_string());
    let shown = shown.concat();
    assert!(shown.contains("488"), "{shown}");
    assert!(!shown.contains("4883") && !shown.contains("4971"), "{shown}");
}
