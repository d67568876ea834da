//! Whatever a stranger wrote, in whichever field: it is shown, and does nothing.
use ibid_report::html::render_standalone;
use serde_json::{Value, json};

use super::{between, form, look, pages};
use crate::cli::TestHome;
use crate::export::report_of;
use crate::served::Served;

/// Words that would be markup, script, the end of an element or of an attribute.
pub(crate) const HOSTILE: [&str; 9] = [
    "<script>window.hit=1</script> Roofs leak.",
    "\"><img src=x onerror=window.hit=1> roofs",
    "'><svg/onload=window.hit=1> roofs",
    "</script><script>window.hit=1</script> roofs",
    "</style></title></textarea><script>window.hit=1</script> roofs",
    "javascript:window.hit=1 // roofs",
    "{{ 7*7 }} ${7*7} <%= 7*7 %> roofs",
    "<!--<script> --> <a href=javascript:window.hit=1>roofs</a>",
    "\u{202e}sfoor\u{202c} \u{0} &lt;script&gt;window.hit=1&lt;/script&gt; &#60;b&#62; roofs",
];

#[test]
fn words_of_strangers_never_become_elements_of_the_file() {
    let (plain, behind) = report_of("Plain words about roofs.");
    let expected = render_standalone(&plain, &behind).unwrap();
    // Longer words take more lines of the drawing, and each line is a `text`.
    let elements = |it: &str| {
        let drawn = between(it, "<svg class=\"drawn\"", "</svg>");
        let lines = drawn.matches("<text ").count() + drawn.matches("</text>").count();
        it.matches('<').count() - lines
    };
    for words in HOSTILE {
        let (report, behind) = report_of(words);
        let page = render_standalone(&report, &behind).unwrap();
        assert_eq!(elements(&page), elements(&expected), "{words}");
        assert_eq!(page.matches("<script").count(), 1, "{words}");
        let data =
            between(&page, "<script type=\"application/json\" id=\"ibid-data\">", "</script>");
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["type"], "ibid-report");
        assert_eq!(data["claims"].as_array().unwrap().len(), report.claims().count());
        assert!(data["claims"][0]["citations"][0]["quote"].is_string());
        for address in page.split("href=\"").skip(1).map(|it| it.split('"').next().unwrap()) {
            let good = address.starts_with('#')
                || address.starts_with("https://")
                || address.starts_with("http://");
            assert!(good, "{words}: {address}");
        }
        assert!(!page.contains('\u{202e}') && !page.contains('\u{0}'), "{words}");
    }
}

#[test]
fn the_file_asks_nobody_for_anything() {
    let (report, behind) = report_of("Plain words about roofs.");
    let page = render_standalone(&report, &behind).unwrap();
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
    assert!(policy.starts_with("default-src &#39;none&#39;; style-src &#39;sha256-"), "{policy}");
    for asks in ["<link", "src=", "url(", "@import", "<iframe", "<object", "<form", "fetch("] {
        assert!(!page.contains(asks), "{asks}");
    }
    let shown: Vec<&str> =
        page.split("<h2 id=\"").skip(1).map(|it| it.split('"').next().unwrap()).collect();
    let contents = between(&page, "<nav class=\"contents\"", "</nav>");
    let named: Vec<&str> =
        contents.split("href=\"#").skip(1).map(|it| it.split('"').next().unwrap()).collect();
    assert_eq!(shown, named);
    // Every quote that a number opens is there, and every source that a link leads to.
    for opened in page.split("popovertarget=\"").skip(1).map(|it| it.split('"').next().unwrap()) {
        assert!(page.contains(&format!("id=\"{opened}\"")), "{opened}");
    }
    for led in page.split("href=\"#").skip(1).map(|it| it.split('"').next().unwrap()) {
        assert!(page.contains(&format!("id=\"{led}\"")), "{led}");
    }
}

/// A folder whose documents attack in file names, titles, authors, addresses and text.
pub(crate) fn attack(desk: &TestHome) {
    let docs = desk.path("docs");
    for (nth, words) in HOSTILE.iter().enumerate() {
        let bare: String = words
            .chars()
            .filter(|it| !it.is_control() && !"\u{202e}\u{202c}".contains(*it))
            .collect();
        let name = format!("{nth} {}.md", bare.replace('/', "∕"));
        let text = format!(
            "---\ntitle: {title}\nauthor: {title}\nurl: https://a.example/{nth}?q=%3Cscript%3E\n---\n\n# {words}\n\nA green roof retained {n} % of annual rainfall. {words} It is said that a green roof retains {n} % of rain: {words}\n",
            title = Value::from(bare.as_str()),
            n = 40 + nth,
        );
        std::fs::write(docs.join(name), text).unwrap();
    }
}

#[tokio::test]
async fn every_page_shows_hostile_words_and_runs_none() {
    let desk = TestHome::new();
    attack(&desk);
    let served = Served::start(&desk, &[]);
    let question = format!("How much rain does a green roof retain? {}", HOSTILE[1]);
    let it = served.post("/v1/runs?wait=55", &json!({"question": question})).await;
    assert_eq!(it.status, 200, "{}", it.body);
    let id = it.json()["id"].as_str().unwrap().to_owned();
    let rated =
        form(&served, &format!("/r/{id}/rate"), &[("vote", "up"), ("note", HOSTILE[1])], None)
            .await;
    assert_eq!(rated.status, 303, "{}", rated.body);
    let mut hostile = 0;
    let more = [
        "/?q=%22%3E%3Cimg+src%3Dx+onerror%3Dwindow.hit%3D1%3E".to_owned(),
        "/login?next=%22%3E%3Cscript%3E".to_owned(),
    ];
    for path in pages(&id).into_iter().chain(more) {
        let page = look(&served, &path, None).await.body;
        for bad in ["<img", "<svg/", "<script>", "<a href=javascript", "<!--"] {
            assert!(!page.contains(bad), "{path}: {bad}");
        }
        hostile += usize::from(page.contains("onerror=window.hit"));
    }
    assert!(hostile >= 8, "only {hostile} pages show the words at all");
    let refused = form(
        &served,
        "/new",
        &[("question", HOSTILE[4]), ("minutes", HOSTILE[1]), ("model", HOSTILE[3])],
        None,
    )
    .await;
    assert_eq!(refused.status, 400);
    assert!(
        !refused.body.contains("<img") && !refused.body.contains("<script>"),
        "{}",
        refused.body
    );
}
