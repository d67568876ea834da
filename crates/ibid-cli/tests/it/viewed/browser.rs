//! The pages driven in a browser: asked, watched, read, clicked through to every marked sentence, rated, followed, cancelled.
use serde_json::json;

use super::chrome::Browser;
use super::{asked, hostile, pages};
use crate::cli::{ASKED, TestHome};
use crate::served::Served;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium"]
async fn a_person_asks_watches_reads_checks_rates_asks_on_and_cancels() {
    let desk = TestHome::new();
    // What meaning adds differs a little between processors.
    let served = Served::start(&desk, &[]);
    let mut it = Browser::start(&served.at);
    let at = served.at.clone();
    it.go(&format!("{at}/"));
    it.eval(&format!("document.querySelector('textarea[name=question]').value = {}", json!(ASKED)));
    it.eval("document.querySelector('[name=approve]').click()");
    it.follow("button[value=start]");
    // The page fills without being loaded again: parts come in place as the run goes on.
    it.eval("window.stayed = true");
    it.until("document.querySelector('[data-part=waits] button[value=go]')");
    it.eval("document.querySelector('[data-part=waits] textarea').focus()");
    it.follow("[data-part=waits] button[value=go]");
    it.eval("window.stayed = true");
    it.until(
        "document.querySelector('[data-part=fault] .button')?.textContent === 'Read the report'",
    );
    assert_eq!(it.eval("window.stayed"), true, "the page was not loaded again");
    assert_eq!(it.eval("document.querySelector('.matrix tbody tr') !== null"), true);
    it.until("document.querySelector('#said').textContent.includes('ended')");
    it.follow("[data-part=fault] .button");
    let report = it.eval("location.href").as_str().unwrap().to_owned();
    assert!(report.ends_with("/report"), "{report}");
    let chips = it.eval("document.querySelectorAll('.chip').length").as_u64().unwrap();
    assert!(chips >= 2, "{chips}");
    for nth in 0..chips {
        it.go(&report);
        let words = it.eval(&format!(
            "(() => {{ const chip = document.querySelectorAll('.chip')[{nth}]; chip.click(); \
             const pop = document.getElementById(chip.getAttribute('popovertarget')); \
             return pop.matches(':popover-open') ? pop.querySelector('mark').textContent : ''; }})()"
        ));
        let words = words.as_str().unwrap().to_owned();
        assert!(!words.is_empty(), "number {nth} opens its quote");
        it.follow(".pop:popover-open a.see");
        let marked = it.eval("[...document.querySelectorAll('.stored mark')].map((it) => it.textContent).join(' ').replace(/\\s+/g, ' ')");
        assert_eq!(marked, words, "number {nth} leads to its words");
        it.until("(() => { const box = document.querySelector('#quote').getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight; })()");
        assert_eq!(it.eval("document.querySelectorAll('.verdicts .lacking').length"), 0);
    }
    // By keys alone: the first number is reached, opens its quote, and Escape closes it.
    it.go(&report);
    it.eval("document.querySelector('.chip').focus()");
    it.press("Enter", 13);
    it.until("document.querySelector('.pop:popover-open')");
    it.press("Escape", 27);
    it.until("!document.querySelector('.pop:popover-open')");
    it.eval("document.querySelector('[name=note]').value = 'to the point'");
    it.follow("button[value=up]");
    assert_eq!(
        it.eval("document.querySelector('#rate [role=status]').textContent"),
        "Your rating: good."
    );
    it.eval("document.querySelector('#follow textarea').value = 'And how much of a storm?'");
    it.follow("#follow button");
    it.until("document.querySelector('[data-part=fault] .button')");
    it.follow("[data-part=fault] .button");
    assert_eq!(
        it.eval("document.querySelector('.crumb a') !== null"),
        true,
        "it follows the first"
    );
    // One that waits is cancelled.
    it.go(&format!("{at}/new"));
    it.eval(&format!("document.querySelector('textarea[name=question]').value = {}", json!(ASKED)));
    it.eval("document.querySelector('[name=approve]').click()");
    it.follow("button[value=start]");
    it.until("document.querySelector('[data-part=waits] button')");
    it.follow("[data-part=acts] button.danger");
    it.until("document.querySelector('.status.stopped')?.textContent === 'cancelled'");
    assert!(it.amiss.is_empty(), "{:#?}", it.amiss);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium"]
async fn hostile_words_run_nothing_and_ask_nobody_in_a_browser() {
    let desk = TestHome::new();
    hostile::attack(&desk);
    let served = Served::start(&desk, &[]);
    let mut it = Browser::start(&served.at);
    let id =
        asked(&served, &format!("How much rain does a green roof retain? {}", hostile::HOSTILE[1]))
            .await;
    let (mut looked, mut shown) = (0, 0);
    for path in pages(&id) {
        it.go(&format!("{}{path}", served.at));
        // All that could run later has its turn.
        it.eval("new Promise((done) => setTimeout(done, 60))");
        assert_eq!(it.eval("window.hit === undefined"), true, "{path}");
        assert_eq!(it.eval("document.querySelectorAll('img, iframe, object, embed, base, svg[onload], [onerror]').length"), 0, "{path}");
        shown +=
            u32::from(it.eval("document.body.textContent.includes('onerror=window.hit')") == true);
        looked += 1;
    }
    assert!(looked >= 17 && shown >= 6, "{looked} pages, {shown} with the words");
    assert!(it.amiss.is_empty(), "{:#?}", it.amiss);
    // The same as a file, with no network at all.
    let file = desk.path("report.html");
    let exported = served.get(&format!("/v1/runs/{id}/report.html")).await;
    std::fs::write(&file, &exported.body).unwrap();
    let mut alone = Browser::start("file://");
    assert!(alone.dir().exists());
    alone.go(&format!("file://{}", file.display()));
    alone.eval("new Promise((done) => setTimeout(done, 60))");
    assert_eq!(alone.eval("window.hit === undefined"), true);
    assert_eq!(
        alone.eval("document.querySelectorAll('img, iframe, object, embed, [onerror]').length"),
        0
    );
    assert_eq!(
        alone.eval("JSON.parse(document.getElementById('ibid-data').textContent).type"),
        "ibid-report"
    );
    assert_eq!(
        alone.eval("getComputedStyle(document.querySelector('.chip')).cursor"),
        "pointer",
        "its style is its own"
    );
    alone.eval("document.querySelector('.chip').click()");
    assert_eq!(
        alone.eval("document.querySelector('.pop:popover-open mark').textContent.length > 0"),
        true
    );
    assert!(alone.amiss.is_empty(), "{:#?}", alone.amiss);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium"]
async fn pages_are_whole_without_script_and_at_any_width() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let mut it = Browser::start(&served.at);
    let id = asked(&served, ASKED).await;
    for (scheme, width, scripts) in
        [("light", 1280, true), ("dark", 768, true), ("light", 320, false)]
    {
        it.look(scheme, width, scripts);
        for path in pages(&id).iter().filter(|it| !it.ends_with("/live")) {
            it.go(&format!("{}{path}", served.at));
            let over =
                it.eval("document.documentElement.scrollWidth - innerWidth").as_i64().unwrap();
            assert!(over <= 0, "{path} at {width}: {over} too wide");
            let words =
                it.eval("document.querySelector('main').innerText.length").as_u64().unwrap();
            assert!(words > 80, "{path}: {words}");
        }
    }
    assert!(it.amiss.is_empty(), "{:#?}", it.amiss);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium and ../shared/data"]
async fn pages_with_orders_to_machines_are_shown_and_give_none() {
    let file = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .join("../shared/data/injection/dev/pages.jsonl");
    let text =
        std::fs::read_to_string(&file).unwrap_or_else(|it| panic!("{}: {it}", file.display()));
    let desk = TestHome::new();
    let rows: Vec<serde_json::Value> =
        text.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert!(rows.len() > 50, "{}", rows.len());
    for (nth, row) in rows.iter().enumerate() {
        let html = row["html"].as_str().unwrap();
        desk.write(&format!("docs/{nth}.html"), html);
    }
    let served = Served::start(&desk, &[]);
    let mut it = Browser::start(&served.at);
    let mut looked = 0;
    for row in rows.iter().step_by(rows.len() / 4) {
        let id = asked(&served, row["question"].as_str().unwrap()).await;
        for path in pages(&id).iter().filter(|it| it.contains(&id)) {
            it.go(&format!("{}{path}", served.at));
            let strange = "document.querySelectorAll('img, iframe, object, embed, [onerror], [style], form[action^=http]').length";
            assert_eq!(it.eval(strange), 0, "{path}");
            looked += 1;
        }
    }
    assert!(looked >= 40, "{looked}");
    assert!(it.amiss.is_empty(), "{:#?}", it.amiss);
}
