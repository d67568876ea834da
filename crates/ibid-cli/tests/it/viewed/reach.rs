//! Pages for everybody: used by keys alone, and looked at by axe-core.
use std::path::PathBuf;

use serde_json::json;

use super::chrome::Browser;
use super::{asked, form, pages};
use crate::cli::{ASKED, TestHome};
use crate::served::Served;

/// What is amiss with the place that has the focus; nothing where it can be seen that it has it.
const SEEN: &str = "(() => { const at = document.activeElement; const style = getComputedStyle(at); const box = at.getBoundingClientRect(); \
     const bar = document.querySelector('.bar')?.getBoundingClientRect(); \
     const said = at.outerHTML.slice(0, 120); \
     if (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2) return 'no outline: ' + said; \
     if (box.width < 1 || box.height < 1) return 'no size: ' + said; \
     if (box.bottom < 0 || box.top > innerHeight || box.right < 0 || box.left > innerWidth) return 'out of sight: ' + said; \
     if (bar && !at.closest('.bar, .skip, .pop') && box.bottom <= bar.bottom) return 'under the bar: ' + said; \
     return ''; })()";

/// Goes on by Tab to what the selector finds; each stop on the way must show that it has the focus.
fn tab_to(it: &mut Browser, selector: &str) {
    for _ in 0..150 {
        it.press("Tab", 9);
        if it.eval("document.activeElement === document.body") == true {
            continue;
        }
        let amiss = it.eval(SEEN);
        assert_eq!(amiss, "", "on the way to {selector}");
        if it.eval(&format!("document.activeElement.matches({})", json!(selector))) == true {
            return;
        }
    }
    panic!(
        "{selector} is not reached by Tab: {}",
        it.eval("document.body.innerText.slice(0, 1500)")
    );
}

/// Presses Enter where the focus is, and waits for the page that it leads to.
fn enter(it: &mut Browser) {
    let stamp = it.eval("performance.timeOrigin");
    it.press("Enter", 13);
    it.until(&format!("document.readyState === 'complete' && performance.timeOrigin !== {stamp}"));
}

/// Asks a question that waits for a word on its plan.
fn ask(it: &mut Browser, at: &str) {
    it.go(&format!("{at}/"));
    tab_to(it, "textarea[name=question]");
    it.write(ASKED);
    tab_to(it, ".ask summary");
    it.press("Enter", 13);
    it.until("document.querySelector('.ask details[open]')");
    tab_to(it, "[name=approve]");
    it.press("Space", 32);
    tab_to(it, "button[value=start]");
    enter(it);
    it.until("document.querySelector('[data-part=waits] button[value=go]')");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium"]
async fn all_that_is_done_by_a_mouse_is_done_by_keys_that_show_where_they_are() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let mut it = Browser::start(&served.at);
    let at = served.at.clone();
    it.look("light", 1280, true);
    // The first Tab of a page offers to skip what every page has.
    it.go(&format!("{at}/costs"));
    tab_to(&mut it, "a.skip");
    it.press("Enter", 13);
    it.until("location.hash === '#main'");
    // Ask, say what to look into besides, go by the plan, read.
    ask(&mut it, &at);
    tab_to(&mut it, "[data-part=acts] form[action$=steer] input");
    it.write("What does a green roof cost?");
    enter(&mut it);
    it.until("document.querySelector('[data-part=waits] button[value=go]')");
    tab_to(&mut it, "button[value=go]");
    enter(&mut it);
    it.until("document.querySelector('[data-part=fault] a.button')");
    tab_to(&mut it, "[data-part=fault] a.button");
    enter(&mut it);
    // What can be taken along is opened and left; a number opens its quote, and that leads to its page and back.
    tab_to(&mut it, ".forms summary");
    it.press("Enter", 13);
    it.until("document.querySelector('.forms[open] a[download]')");
    tab_to(&mut it, ".forms a[download]");
    tab_to(&mut it, ".chip");
    it.press("Enter", 13);
    it.until("document.querySelector('.pop:popover-open')");
    tab_to(&mut it, ".pop:popover-open a.see");
    enter(&mut it);
    it.until("document.querySelector('.stored mark')");
    tab_to(&mut it, "nav.tabs a[href$='/report']");
    enter(&mut it);
    tab_to(&mut it, "button[value=up]");
    enter(&mut it);
    it.until("document.querySelector('#rate [role=status]')?.textContent === 'Your rating: good.'");
    // Share, and take back.
    tab_to(&mut it, "a[href$='/share']");
    enter(&mut it);
    tab_to(&mut it, "form[action$='/share'] button");
    enter(&mut it);
    it.until("document.querySelector('#link')?.value.includes('/s/')");
    tab_to(&mut it, "form[action$='/unshare'] button");
    enter(&mut it);
    assert_eq!(it.eval("document.querySelector('form[action$=\"/unshare\"]')"), json!(null));
    // One that waits is cancelled, another one finished.
    ask(&mut it, &at);
    tab_to(&mut it, "[data-part=acts] form[action$=cancel] button");
    enter(&mut it);
    it.until("document.querySelector('.status.stopped')?.textContent === 'cancelled'");
    ask(&mut it, &at);
    tab_to(&mut it, "[data-part=acts] form[action$=finish] button");
    enter(&mut it);
    it.until("document.querySelector('#live')");
    // Chosen in the list, asked about, deleted.
    it.go(&format!("{at}/?status=cancelled"));
    tab_to(&mut it, ".many input[type=checkbox]");
    it.press("Space", 32);
    tab_to(&mut it, "[formaction='/runs/delete']");
    enter(&mut it);
    tab_to(&mut it, "form[action='/runs/delete'] button.danger");
    enter(&mut it);
    it.go(&format!("{at}/?status=cancelled"));
    it.until("document.querySelector('.empty')");
    assert!(it.amiss.is_empty(), "{:#?}", it.amiss);
}

/// What `cargo xtask test` installs in the target directory.
fn axe() -> String {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_ibid"));
    let file = "npm/node_modules/axe-core/axe.min.js";
    let found = program.ancestors().find(|it| it.join(file).is_file());
    let found = found.expect("axe-core is not installed; `cargo xtask test` installs it");
    std::fs::read_to_string(found.join(file)).unwrap()
}

/// What axe-core finds on the page that is shown.
fn violations(it: &mut Browser, axe: &str) -> String {
    it.eval(&format!("typeof axe === 'undefined' && (() => {{ {axe}; }})(); true"));
    let found = it.eval(
        "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }) \
         .then((it) => it.violations.map((it) => it.id + ': ' + it.nodes.map((it) => it.target + ' ' + it.html.slice(0, 160)).join(' | ')).join('\\n'))",
    );
    found.as_str().unwrap_or("axe-core did not run").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium and axe-core"]
async fn axe_finds_nothing_amiss_on_any_page() {
    let axe = axe();
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let mut it = Browser::start(&served.at);
    let id = asked(&served, ASKED).await;
    let waits =
        served.post("/v1/runs", &json!({"question": ASKED, "plan": "require_approval"})).await;
    let waits = waits.json()["id"].as_str().unwrap().to_owned();
    let shared = served.post(&format!("/v1/runs/{id}/share"), &json!({})).await;
    let shared = shared.json()["path"].as_str().unwrap().to_owned();
    let mut all: Vec<String> = pages(&id).into_iter().filter(|it| !it.ends_with("/live")).collect();
    all.extend([format!("/r/{waits}"), "/nowhere".to_owned(), shared]);
    let mut looked = 0;
    // Every page in each scheme and at each width; those that change with both in all six ways.
    let often = ["/".to_owned(), "/new".to_owned(), format!("/r/{id}"), format!("/r/{waits}")];
    let often = [&often[..], &[format!("/r/{id}/report")]].concat();
    for (scheme, width, shown) in [
        ("light", 1280, &all),
        ("dark", 320, &all),
        ("light", 320, &often),
        ("light", 768, &often),
        ("dark", 768, &often),
        ("dark", 1280, &often),
    ] {
        it.look(scheme, width, true);
        for path in shown {
            it.go(&format!("{}{path}", served.at));
            if *path == format!("/r/{waits}") {
                it.until("document.querySelector('[data-part=waits] button[value=go]')");
            }
            // What is folded is looked at open.
            it.eval("document.querySelectorAll('details').forEach((it) => { it.open = true; })");
            assert_eq!(violations(&mut it, &axe), "", "{path}, {scheme}, {width} wide");
            looked += 1;
        }
        it.go(&format!("{}/r/{id}/report", served.at));
        it.eval("document.querySelector('.chip').click()");
        assert_eq!(violations(&mut it, &axe), "", "a quote opened, {scheme}, {width} wide");
        looked += 1;
    }
    assert!(looked >= 70, "{looked}");
    // The page of no page is answered with 404, which the browser notes.
    it.amiss.retain(|it| !it.contains("404"));
    assert!(it.amiss.is_empty(), "{:#?}", it.amiss);
}

/// Fills a field in, and presses what the selector finds.
fn send(it: &mut Browser, field: &str, value: &str, button: &str) {
    it.eval(&format!("document.querySelector({}).value = {}", json!(field), json!(value)));
    it.follow(button);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium and axe-core"]
async fn axe_finds_nothing_amiss_where_a_form_leads() {
    let axe = axe();
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let at = served.at.clone();
    let mut it = Browser::start(&at);
    // Nothing is there yet.
    let mut looked = 0;
    let mut look = |it: &mut Browser, what: &str, shows: &str| {
        let text = it.eval("document.body.textContent");
        assert!(text.as_str().unwrap().contains(shows), "{what}: {text}");
        assert_eq!(violations(it, &axe), "", "{what}");
        looked += 1;
    };
    for (path, shows) in [
        ("/", "No runs yet"),
        ("/costs", "Nothing to count yet"),
        ("/?q=zebra", "No matching runs"),
    ] {
        it.go(&format!("{at}{path}"));
        look(&mut it, path, shows);
    }
    let id = asked(&served, ASKED).await;
    let order = json!({"question": ASKED, "plan": "require_approval"});
    let waits = served.post("/v1/runs", &order).await.json();
    let waits = waits["id"].as_str().unwrap().to_owned();
    let gone = served.post("/v1/runs", &order).await.json();
    let gone = gone["id"].as_str().unwrap().to_owned();
    form(&served, &format!("/r/{gone}/cancel"), &[], None).await;
    for (scheme, width) in [("light", 1280), ("dark", 320)] {
        it.look(scheme, width, true);
        for (path, shows) in [
            ("/?q=zebra&status=failed".to_owned(), "No matching runs"),
            ("/?status=odd".to_owned(), "Invalid request"),
            ("/?since=soon".to_owned(), "must be a date"),
            (format!("/runs/delete?run={waits}"), "not ended"),
            (format!("/runs/export?run={waits}"), "has a report"),
            (format!("/r/{id}/quote/999"), "Page not found"),
        ] {
            it.go(&format!("{at}{path}"));
            look(&mut it, &path, shows);
        }
        it.go(&format!("{at}/r/{gone}"));
        it.until("document.querySelector('.status.stopped')");
        look(&mut it, "cancelled", "cancelled");
        it.go(&format!("{at}/new"));
        send(&mut it, "textarea", "?", "button[value=start]");
        look(&mut it, "refused", "This question cannot be started");
        send(&mut it, "textarea", ASKED, "button[value=plan]");
        look(&mut it, "planned", "This preview was free");
        it.go(&format!("{at}/r/{id}/share"));
        it.follow("form[action$='/share'] button");
        look(&mut it, "a link made", "it is shown only once");
        it.go(&format!("{at}/r/{id}/share"));
        it.eval("document.querySelector('[name=days] option').value = 'x'; document.querySelector('[name=days]').selectedIndex = 0");
        it.follow("form[action$='/share'] button");
        look(&mut it, "a link refused", "must be a whole number");
        it.go(&format!("{at}/r/{id}/report"));
        send(&mut it, "[name=note]", "to the point", "#rate button[value=down]");
        look(&mut it, "rated", "Your rating: not good.");
        send(&mut it, "#follow textarea", "?", "#follow button");
        look(&mut it, "a follow-up refused", "Invalid request");
        it.go(&format!("{at}/"));
        it.follow("[formaction='/runs/delete']");
        look(&mut it, "nothing ticked", "No run is selected");
        it.go(&format!("{at}/doctor"));
        it.follow("form[action='/doctor'] button");
        look(&mut it, "doctor", "Doctor");
    }
    assert!(looked > 30, "{looked}");
    // What is refused is answered with its status, which the browser notes.
    it.amiss.retain(|it| !it.contains("a status of 4"));
    assert!(it.amiss.is_empty(), "{:#?}", it.amiss);
    // Signing in.
    let desk = TestHome::new();
    let served = Served::start(&desk, &[("IBID_TOKEN", "correct-horse")]);
    let mut it = Browser::start(&served.at);
    for (scheme, width) in [("light", 1280), ("dark", 320)] {
        it.look(scheme, width, true);
        it.go(&format!("{}/login", served.at));
        assert_eq!(violations(&mut it, &axe), "", "login");
        send(&mut it, "[type=password]", "wrong", "form button");
        assert_eq!(violations(&mut it, &axe), "", "not signed in");
        assert_eq!(it.eval("document.querySelector('[type=password]') !== null"), true);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium"]
async fn filters_are_folded_where_it_is_narrow_and_open_where_one_is_set() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    asked(&served, ASKED).await;
    let mut it = Browser::start(&served.at);
    let shown = |it: &mut Browser| {
        it.eval("document.querySelector('select[name=status]').checkVisibility({contentVisibilityAuto: true, visibilityProperty: true})")
    };
    // Without script, too.
    for scripts in [true, false] {
        for (width, path, seen, most) in [
            (1280, "/", true, 800),
            (320, "/", false, 1_100),
            (320, "/?status=completed", true, 700),
        ] {
            it.look("light", width, scripts);
            it.go(&format!("{}{path}", served.at));
            assert_eq!(shown(&mut it), seen, "{path} at {width}");
            let top = it.eval("document.querySelector('#runs').getBoundingClientRect().top");
            let top = top.as_f64().unwrap();
            assert!(top < f64::from(most), "{path} at {width}: the first run stands at {top}");
        }
        it.go(&format!("{}/", served.at));
        tab_to(&mut it, ".filters summary");
        it.press("Enter", 13);
        it.until("document.querySelector('.filters[open]')");
        assert_eq!(shown(&mut it), true);
    }
    assert!(it.amiss.is_empty(), "{:#?}", it.amiss);
}
