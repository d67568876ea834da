//! What a person sees in a browser: every page over HTTP, and driven in a browser where one is installed.
use serde_json::json;

use crate::cli::{ASKED, TestHome};
use crate::served::{Answer, Served};

mod asking;
mod browser;
mod chrome;
mod draft;
mod effort;
mod files;
mod forms;
mod hostile;
mod large;
mod one_source;
mod reach;
mod researchers;
mod shared;
mod signing;
mod underway;

/// A page as a browser asks for it.
pub(crate) struct RenderedPage {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: String,
}

impl RenderedPage {
    fn header(&self, name: &str) -> &str {
        let found = self.headers.get(name);
        found.map_or("", |it| it.to_str().unwrap())
    }
}

/// Asks as a browser does, without following where it is sent.
pub(crate) async fn look(served: &Served, path: &str, cookie: Option<&str>) -> RenderedPage {
    let request =
        plain().get(format!("{}{path}", served.at)).header("accept", "text/html,*/*;q=0.8");
    seen(cookied(request, cookie)).await
}

/// Sends a form as a page of ours does.
pub(crate) async fn form(
    served: &Served,
    path: &str,
    fields: &[(&str, &str)],
    cookie: Option<&str>,
) -> RenderedPage {
    let request = posted(served, path, fields).header("origin", &served.at);
    seen(cookied(request, cookie)).await
}

pub(crate) fn posted(
    served: &Served,
    path: &str,
    fields: &[(&str, &str)],
) -> reqwest::RequestBuilder {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    plain()
        .post(format!("{}{path}", served.at))
        .header("accept", "text/html,*/*;q=0.8")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body)
}

fn cookied(request: reqwest::RequestBuilder, cookie: Option<&str>) -> reqwest::RequestBuilder {
    match cookie {
        Some(it) => request.header("cookie", it),
        None => request,
    }
}

pub(crate) async fn seen(request: reqwest::RequestBuilder) -> RenderedPage {
    let it = request.send().await.unwrap();
    RenderedPage {
        status: it.status().as_u16(),
        headers: it.headers().clone(),
        body: it.text().await.unwrap(),
    }
}

fn plain() -> reqwest::Client {
    reqwest::Client::builder()
        .no_proxy()
        .pool_max_idle_per_host(0)
        .redirect(reqwest::redirect::Policy::none())
        .timeout(std::time::Duration::from_secs(60))
        .build()
        .unwrap()
}

/// A run that has ended with a report.
pub(crate) async fn asked(served: &Served, question: &str) -> String {
    let it: Answer = served.post("/v1/runs?wait=55", &json!({"question": question})).await;
    assert_eq!(it.status, 200, "{}", it.body);
    it.json()["id"].as_str().unwrap().to_owned()
}

/// Every page of a run, and those without one.
pub(crate) fn pages(id: &str) -> Vec<String> {
    let mut all: Vec<String> = [
        "",
        "/live",
        "/report",
        "/report?cite=1",
        "/quote/1",
        "/evidence",
        "/evidence?item=Q1",
        "/sources",
        "/timeline",
        "/timeline?from=0&to=100",
        "/trace",
        "/trace/1",
        "/trace/2",
    ]
    .iter()
    .map(|it| format!("/r/{id}{it}"))
    .collect();
    all.extend(
        [
            "/",
            "/?q=roof&status=completed",
            "/?model=none&since=2020-01-01&until=2999-12-31",
            "/new",
            "/costs",
            "/doctor",
        ]
        .map(str::to_owned),
    );
    all.push(format!("/diff/{id}/{id}"));
    all.push(format!("/r/{id}/share"));
    all.push(format!("/runs/delete?run={id}"));
    all
}

#[tokio::test]
async fn every_page_is_a_page_and_may_do_nothing_but_show() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let id = asked(&served, ASKED).await;
    for path in pages(&id) {
        let it = look(&served, &path, None).await;
        assert_eq!(it.status, 200, "{path}: {}", it.body);
        assert!(it.header("content-type").starts_with("text/html"), "{path}");
        let policy = it.header("content-security-policy");
        for part in [
            "default-src 'none'",
            "style-src 'self'",
            "script-src 'self'",
            "connect-src 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(it.header("referrer-policy"), "same-origin", "{path}");
        assert_eq!(it.header("x-content-type-options"), "nosniff", "{path}");
        assert!(!it.body.contains(" style="), "{path}: styles stand in the stylesheet");
        assert!(!it.body.contains(" onclick="), "{path}");
        if path.ends_with("/live") {
            continue;
        }
        assert_eq!(it.body.matches("<h1").count(), 1, "{path}: one first heading");
        assert!(it.body.contains("<main id=\"main\""), "{path}");
        assert!(it.body.contains("class=\"skip\""), "{path}");
        assert!(it.body.contains("lang=\"en\""), "{path}");
        // One script, from here, and every page says all it has to say without it.
        assert_eq!(it.body.matches("<script").count(), 1, "{path}");
    }
    for (path, kind, most) in [
        ("/assets/style.css", "text/css", 30_000),
        ("/assets/script.js", "text/javascript", 10_000),
        ("/assets/icon.svg", "image/svg+xml", 1_000),
    ] {
        let it = look(&served, path, None).await;
        assert!(it.header("content-type").starts_with(kind), "{path}");
        assert!(it.body.len() <= most, "{path}: {} bytes", it.body.len());
        let foreign = it.body.replace("http://www.w3.org/2000/svg", "");
        assert!(!foreign.contains("//cdn") && !foreign.contains("http"), "{path}");
    }
}

#[tokio::test]
async fn a_report_is_read_from_its_short_answer_to_the_marked_words() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let id = asked(&served, ASKED).await;
    let report = look(&served, &format!("/r/{id}/report"), None).await.body;
    let cited = served.get(&format!("/v1/runs/{id}/report.json")).await.json();
    let quotes = cited["citations"].as_array().unwrap();
    assert!(!quotes.is_empty());
    for (at, quote) in quotes.iter().enumerate() {
        let k = at + 1;
        assert!(
            report.contains(&format!("popovertarget=\"q{k}\"")),
            "quote {k} is opened by a number"
        );
        assert!(report.contains(&format!("id=\"q{k}\"")), "quote {k}");
        let page = look(&served, &format!("/r/{id}/quote/{k}"), None).await;
        assert_eq!(page.status, 200);
        let words = quote["quote"].as_str().unwrap();
        let marked = between(&page.body, "<mark id=\"quote\">", "</mark>");
        assert_eq!(marked, escaped(words), "quote {k}");
        assert!(page.body.contains("characters"), "where it stands");
    }
    assert_eq!(
        look(&served, &format!("/r/{id}/quote/{}", quotes.len() + 1), None).await.status,
        404
    );
    assert_eq!(look(&served, &format!("/r/{id}/quote/0"), None).await.status, 404);
    assert_eq!(look(&served, &format!("/r/{id}/quote/x"), None).await.status, 404);
    // The contents name the headings, all of them, in their order.
    let contents = between(&report, "<nav class=\"contents\"", "</nav>");
    let named: Vec<&str> =
        contents.split("<a href=\"#").skip(1).map(|it| it.split('"').next().unwrap()).collect();
    let headings: Vec<&str> = article(&report)
        .split("<h2 id=\"")
        .skip(1)
        .map(|it| it.split('"').next().unwrap())
        .collect();
    assert_eq!(named, headings);
    // Downloads, records for reference managers, checks with their denominators.
    for form in ["md", "html", "json"] {
        assert!(report.contains(&format!("/v1/runs/{id}/report.{form}")), "{form}");
    }
    assert!(report.contains("class=\"Z3988\" title=\"ctx_ver=Z39.88-2004&#38;"), "{report}");
    let checks = &cited["checks"]["quotes"];
    assert!(report.contains(&format!(
        "<strong>{}/{}</strong> quotes verified",
        checks["verified"], checks["total"]
    )));
}

/// The part of a page that the contents are of.
fn article(page: &str) -> &str {
    between(page, "<article", "</article>")
}

pub(crate) fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let rest = text.split_once(from).unwrap_or_else(|| panic!("{from} in {text}")).1;
    rest.split_once(to).unwrap().0
}

/// Text as a template writes it.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '<' | '>' | '&' | '"' | '\'' => out += &format!("&#{};", u32::from(c)),
            c => out.push(c),
        }
    }
    out
}

#[tokio::test]
async fn what_is_not_there_is_told_to_browsers_as_a_page_and_to_programs_as_json() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    for path in ["/nowhere", "/r/r_01JD0000000000000000000000", "/r/nothing/report", "/diff/a/b"] {
        let it = look(&served, path, None).await;
        assert_eq!(it.status, 404, "{path}");
        assert!(it.body.contains("<h1>Page not found</h1>"), "{path}: {}", it.body);
        assert!(it.header("content-security-policy").contains("script-src 'self'"), "{path}");
        let plain = served.get(path).await;
        assert_eq!(plain.json()["error"]["code"], "not_found", "{path}");
    }
    let api = look(&served, "/v1/runs/nothing", None).await;
    assert_eq!(api.status, 404);
    assert!(api.header("content-type").starts_with("application/json"));
    let wrong = look(&served, "/?status=odd", None).await;
    assert_eq!(wrong.status, 400);
    assert!(wrong.body.contains("<h1>"), "{}", wrong.body);
    let empty = look(&served, "/", None).await;
    assert!(empty.body.contains("No runs yet"));
    let none = look(&served, "/?q=zebra", None).await;
    assert!(none.body.contains("No matching runs"));
}
