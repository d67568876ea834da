//! A page is what was fetched: whatever it says of itself, it is cited, counted and trusted as of the host that served it.
use ibid_core::domain::{Block, BlockKind, Page, PageDraft, UrlProvenance};
use serde_json::{Value, json};
use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnectOptions;

use crate::cli::{Outcome, TestHome};
use crate::fetch::{Site, page};

const QUESTION: &str = "How often is a cork oak harvested?";

/// Names that the pages give themselves.
const CLAIMED: [&str; 6] =
    ["nature.com", "who.int", "cdc.gov", "example.org", "doi.org", "nih.gov"];

/// The paths of the disguises, each a page of one host that calls itself another's.
const DISGUISES: [&str; 14] = [
    "object.json",
    "array.json",
    "rows.jsonl",
    "octets",
    "octets.bin",
    "named.jsonl",
    "plain.json",
    "canonical.html",
    "metadata.html",
    "linked-data.html",
    "front-matter.md",
    "paper.xml",
    "file.jsonl",
    "10.1038/nature12373",
];

/// One site that serves every disguise, an engine that finds them, and servers that read pages.
fn masked(port: u16, path: &str) -> Vec<u8> {
    let typed =
        |kind: &str, body: String| page(&format!("content-type: {kind}\r\n"), body.as_bytes());
    let bare = path.split('?').next().unwrap_or_default();
    let row = |url: &str, text: &str| {
        json!({"url": url, "id": url, "author": "Dr. A. Body, World Health Organization", "site": "Nature",
            "publisher": "Nature", "date": "2099-01-01", "doi": "10.1038/nature12373", "title": url, "text": text})
    };
    let html = |head: &str, text: &str| {
        typed(
            "text/html; charset=utf-8",
            format!(
                "<html><head><title>{text}</title>{head}</head><body><main><h1>Cork</h1><p>{text}</p></main></body></html>"
            ),
        )
    };
    match bare {
        "/searxng/search" => {
            let found = DISGUISES.iter().map(|it| {
                json!({"url": format!("http://127.0.0.1:{port}/{it}"), "title": format!("Cork oak harvest {it}"),
                    "content": "How often a cork oak is harvested."})
            });
            typed("application/json", json!({"results": found.collect::<Vec<_>>()}).to_string())
        }
        // A server that reads pages and says that it ended elsewhere.
        "/md" => typed(
            "application/json",
            json!({"url": "https://www.who.int/cork", "success": true,
                "markdown": "---\nurl: https://www.who.int/cork\nsite: WHO\n---\n# Cork\n\nA cork oak is harvested every 9 years, as the forest service of the region writes in its yearly letter."})
            .to_string(),
        ),
        "/v2/scrape" => typed(
            "application/json",
            json!({"success": true, "data": {"markdown": "A cork oak is harvested every 9 years, as the forest service of the region writes in its yearly letter.",
                "metadata": {"title": "Cork", "url": "https://www.who.int/cork", "sourceURL": "https://www.who.int/cork", "statusCode": 200}}})
            .to_string(),
        ),
        "/v1/scrape" => typed(
            "application/json",
            json!({"content": {"markdown": "A cork oak is harvested every 9 years, as the forest service of the region writes in its yearly letter."},
                "metadata": {"title": "Cork", "statusCode": 200, "urlSource": "https://www.who.int/cork"}})
            .to_string(),
        ),
        "/object.json" => typed(
            "application/json",
            row("https://www.nature.com/articles/cork", "A cork oak is harvested every 9 years. Its bark is peeled by two workers with an axe in early summer.").to_string(),
        ),
        "/array.json" => typed(
            "application/json",
            json!([row("https://www.who.int/cork", "A cork oak is harvested every 9 years, by the law of Portugal, which counts from the last peeling.")]).to_string(),
        ),
        "/rows.jsonl" => typed(
            "application/x-ndjson",
            format!("{}\n", row("https://www.cdc.gov/cork", "Foresters harvest a cork oak every 9 years and paint the year of the harvest on its trunk.")),
        ),
        "/octets" => typed(
            "application/octet-stream",
            format!("{}\n", row("https://example.org/cork", "Every 9 years a cork oak is harvested; wine makers want the bark of the third harvest.")),
        ),
        "/octets.bin" => typed(
            "application/octet-stream",
            format!("{}\n", row("https://www.who.int/oak", "Harvested every 9 years, a cork oak lives for two centuries and gives bark some sixteen times.")),
        ),
        "/named.jsonl" => typed(
            "text/plain",
            format!("{}\n", row("https://www.cdc.gov/oak", "A cork oak that is harvested every 9 years keeps its leaves and shades the pasture below.")),
        ),
        "/plain.json" => typed(
            "text/plain",
            row("https://doi.org/10.1038/nature12373", "In Sardinia a cork oak is harvested every 10 years, since growth is slower on its granite.").to_string(),
        ),
        "/canonical.html" => html(
            "<link rel=\"canonical\" href=\"https://www.nature.com/articles/oak\"><meta property=\"og:url\" content=\"https://www.who.int/x\"><meta property=\"og:site_name\" content=\"Nature\">",
            "In Tunisia a cork oak is harvested every 12 years, because droughts thin the bark.",
        ),
        "/metadata.html" => html(
            "<meta name=\"citation_doi\" content=\"10.1038/nature12373\"><meta name=\"citation_journal_title\" content=\"Nature\"><meta name=\"citation_author\" content=\"Prof. World Health Organization\"><meta name=\"dc.identifier\" content=\"https://www.who.int/y\">",
            "A planted cork oak is first harvested at 25 years and every 9 years from then on.",
        ),
        "/linked-data.html" => html(
            "<script type=\"application/ld+json\">{\"@type\":\"NewsArticle\",\"@id\":\"https://www.who.int/z\",\"url\":\"https://www.who.int/z\",\"mainEntityOfPage\":\"https://www.who.int/z\",\"publisher\":{\"name\":\"World Health Organization\"},\"author\":{\"name\":\"Dr. Who, World Health Organization\"},\"datePublished\":\"2099-01-01\"}</script>",
            "Spanish rules let owners harvest a cork oak every 9 years and forbid it when rain is near.",
        ),
        "/front-matter.md" => typed(
            "text/markdown",
            "---\ntitle: Cork\nurl: https://www.cdc.gov/z\nsite: CDC\nauthor: Dr. CDC\n---\nMost stands of cork oak are harvested every 9 years, and a tenth of the trees each year.\n".to_owned(),
        ),
        "/paper.xml" => typed(
            "application/xml",
            "<?xml version='1.0'?><article article-type='research-article'><front><journal-meta><journal-title-group><journal-title>Nature</journal-title></journal-title-group></journal-meta><article-meta><article-id pub-id-type='doi'>10.1038/nature12373</article-id><article-id pub-id-type='pmid'>23903748</article-id><title-group><article-title>Cork oak harvest</article-title></title-group></article-meta></front><body><p>We found that a cork oak is harvested every 9 years on 40 farms of the Alentejo.</p></body></article>".to_owned(),
        ),
        "/file.jsonl" => typed(
            "application/x-ndjson",
            format!("{}\n", row("file:///etc/hostname", "Peelers say that a cork oak is harvested every 9 years at most and never in winter.")),
        ),
        "/10.1038/nature12373" => html(
            "",
            "Where soils are deep a cork oak is harvested every 9 years and where they are not every 11.",
        ),
        "/moved.json" => format!("HTTP/1.1 302 Found\r\ncontent-length: 0\r\nconnection: close\r\nlocation: http://127.0.0.2:{port}/object.json\r\n\r\n").into_bytes(),
        _ => b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec(),
    }
}

fn asked(desk: &TestHome, site: &Site, args: &[&str]) -> Outcome {
    let mut command = desk.command(args);
    command
        .env("SEARXNG_URL", site.url("/searxng"))
        .env("IBID_READERS", "embedded")
        .env("IBID_LOOKUPS", "false")
        .env("HTTPS_PROXY", "http://127.0.0.1:1")
        .env("IBID_ALLOW_NET", "127.0.0.0/8");
    command.output().unwrap().into()
}

/// Every string below `value` whose key is one of `names`.
fn strings<'a>(value: &'a Value, names: &[&str], found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            for (name, it) in fields {
                match it.as_str() {
                    Some(text) if names.contains(&name.as_str()) => found.push(text),
                    _ => strings(it, names, found),
                }
            }
        }
        Value::Array(all) => all.iter().for_each(|it| strings(it, names, found)),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_one_host_are_one_voice_whoever_they_say_they_are() {
    let (desk, site) = (TestHome::new(), Site::open_with(masked).await);
    let said = asked(&desk, &site, &["run", QUESTION, "--engine", "searxng", "--json"]);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    let report = said.json();
    let sources = report["sources"].as_array().unwrap();
    assert!(sources.len() >= 6, "{report}");
    let here = site.url("/");
    let mut addresses = Vec::new();
    strings(&report, &["url", "file", "domain", "doc_id", "doi", "site"], &mut addresses);
    for it in addresses {
        let claimed = CLAIMED.iter().any(|name| it.contains(name));
        assert!(
            !claimed && !it.starts_with("file:") && !it.contains("10.1038/nature12373\""),
            "{it}"
        );
    }
    for source in sources {
        assert!(source["url"].as_str().unwrap().starts_with(&here), "{source}");
        assert_eq!(source["domain"], "127.0.0.1", "{source}");
        let trust = &source["trust"];
        assert!(trust["authority"].as_f64().unwrap() < 0.51, "{source}");
        assert!(trust["expertise"].as_f64().unwrap() < 0.31, "{source}");
        assert!(trust["consistency"].as_f64().unwrap() < 0.51, "{source}");
        assert!(source["work"].get("doi").is_none_or(Value::is_null), "{source}");
    }
    for citation in report["citations"].as_array().unwrap() {
        assert!(citation["url"].as_str().unwrap().starts_with(&here), "{citation}");
    }
    assert_eq!(report["confidence"]["level"], "low", "{}", report["confidence"]);
    let told = report["confidence"].to_string();
    for many in ["2 independent", "3 independent", "4 independent"] {
        assert!(!told.contains(many), "{told}");
    }
    // Nor does what the run stored speak for those that it named.
    let text = "# Cork\n\nA cork oak is harvested every 9 years [1]. A cork oak is harvested every 9 years [2]. A cork oak is harvested every 9 years [3]. A cork oak is harvested every 9 years [4].\n\n## Sources\n\n1. Cork. <https://www.who.int/cork>\n2. Cork. <https://www.nature.com/articles/cork>\n3. Cork. <https://www.cdc.gov/cork>\n4. Cork. <file:///etc/hostname>\n";
    let file = desk.write("cites.md", text);
    let audit = asked(&desk, &site, &["check", &file, "--json"]).json();
    for claim in audit["claims"].as_array().unwrap() {
        assert_ne!(claim["verdict"], "supported", "{claim}");
    }
    let own = format!(
        "# Cork\n\nA cork oak is harvested every 9 years [1].\n\n## Sources\n\n1. Cork. <{here}object.json>\n"
    );
    let file = desk.write("own.md", &own);
    let audit = asked(&desk, &site, &["check", &file, "--json"]).json();
    assert_eq!(audit["claims"][0]["verdict"], "supported", "{audit}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_read_by_itself_has_the_address_that_answered() {
    let (desk, site) = (TestHome::new(), Site::open_with(masked).await);
    for path in DISGUISES {
        let url = site.url(&format!("/{path}"));
        let row = asked(&desk, &site, &["read", &url, "--json"]).json();
        let told = row["url"].as_str().unwrap();
        assert!(told == url || told == format!("{url}#row=1"), "{path}: {row}");
    }
    let row = asked(&desk, &site, &["read", &site.url("/rows.jsonl"), "--json"]).json();
    assert_eq!(row["stated_url"], "https://www.cdc.gov/cork");
    assert!(
        row["warnings"].to_string().contains("states the address https://www.cdc.gov/cork"),
        "{row}"
    );
    // After a redirect it is the host that answered in the end.
    let row = asked(&desk, &site, &["read", &site.url("/moved.json"), "--json"]).json();
    assert_eq!(row["url"], format!("http://127.0.0.2:{}/object.json", site.port));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_reads_counts_as_of_the_address_that_was_asked_for() {
    for reader in ["crawl4ai", "firecrawl", "steel"] {
        let (desk, site) = (TestHome::new(), Site::open_with(masked).await);
        let mut command = desk.command(&["run", QUESTION, "--engine", "searxng", "--json"]);
        command
            .env("SEARXNG_URL", site.url("/searxng"))
            .env("CRAWL4AI_URL", site.url(""))
            .env("FIRECRAWL_API_URL", site.url(""))
            .env("STEEL_URL", site.url(""))
            .env("IBID_READERS", reader)
            .env("IBID_LOOKUPS", "false")
            .env("HTTPS_PROXY", "http://127.0.0.1:1")
            .env("IBID_ALLOW_NET", "127.0.0.0/8");
        let said: Outcome = command.output().unwrap().into();
        assert_eq!(said.code, 0, "{reader}: {}{}", said.out, said.err);
        let report = said.json();
        let sources = report["sources"].as_array().unwrap();
        assert!(!sources.is_empty(), "{reader}: {report}");
        for source in sources {
            assert_eq!(source["domain"], "127.0.0.1", "{reader}: {source}");
            assert!(
                source["url"].as_str().unwrap().starts_with(&site.url("/")),
                "{reader}: {source}"
            );
        }
    }
}

#[test]
fn files_that_name_authorities_gain_nothing_by_it() {
    let desk = TestHome::new();
    let texts = [
        (
            "https://www.nature.com/cork",
            "A cork oak is harvested every 9 years. Its bark is peeled by two workers with an axe.",
        ),
        (
            "https://www.who.int/cork",
            "By the law of Portugal a cork oak is harvested every 9 years, counted from the last peeling.",
        ),
        (
            "https://www.cdc.gov/cork",
            "Foresters harvest a cork oak every 9 years and paint the year upon its trunk.",
        ),
        (
            "file:///etc/hostname",
            "Most stands of cork oak are harvested every 9 years, a tenth of the trees each summer.",
        ),
    ];
    let rows = |named: bool| -> String {
        let row = |it: &(&str, &str)| {
            let mut row = json!({"title": format!("Cork, {}", it.0.len()), "text": it.1});
            if named {
                row["url"] = it.0.into();
                row["author"] = "Dr. A. Body, World Health Organization".into();
            }
            format!("{row}\n")
        };
        texts.iter().map(row).collect()
    };
    desk.write("named/cork.jsonl", &rows(true));
    desk.write("plain/cork.jsonl", &rows(false));
    let asked = |folder: &str| {
        let folder = desk.path(folder).to_string_lossy().into_owned();
        let it = desk.ibid(&[QUESTION, "--folder", &folder, "--json", "-q"]);
        assert_eq!(it.code, 0, "{}", it.err);
        it.json()
    };
    let (named, plain) = (asked("named"), asked("plain"));
    assert_eq!(named["confidence"], plain["confidence"]);
    let trust = |it: &Value| -> Vec<(String, f64, f64)> {
        let all = it["sources"].as_array().unwrap().iter();
        let mut all: Vec<_> = all
            .map(|it| {
                let part = |name: &str| it["trust"][name].as_f64().unwrap();
                (it["title"].to_string(), part("authority"), part("expertise"))
            })
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    };
    assert_eq!(trust(&named), trust(&plain));
    for source in named["sources"].as_array().unwrap() {
        assert_ne!(source["url"], "file:///etc/hostname", "{source}");
        let place = source["file"].as_str().or(source["url"].as_str()).unwrap();
        assert!(place.contains("/named/cork.jsonl#"), "{source}");
    }
    let text = "# Cork\n\nA cork oak is harvested every 9 years [1].\n\n## Sources\n\n1. Cork. <https://www.who.int/cork>\n";
    let file = desk.write("cites.md", text);
    let audit = desk.ibid(&["check", &file, "--json"]).json();
    assert_ne!(audit["claims"][0]["verdict"], "supported", "{audit}");
}

#[tokio::test]
async fn a_page_that_an_earlier_version_stored_speaks_for_nobody() {
    let desk = TestHome::new();
    let docs = desk.docs();
    assert_eq!(desk.ibid(&[crate::cli::ASKED, "--folder", &docs, "-q"]).code, 0);
    let path = ibid_store::store::database(&desk.path("home/.local/share/ibid"));
    let options = SqliteConnectOptions::new().filename(&path);
    let mut store = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    let said = "# Cork\n\nA cork oak is harvested every 9 years [1].\n\n## Sources\n\n1. Cork. <https://www.who.int/cork>\n";
    let file = desk.write("cites.md", said);
    for (witness, supported) in [(UrlProvenance::Unknown, false), (UrlProvenance::Fetcher, true)] {
        let words = "A cork oak is harvested every 9 years.";
        let stored = Page::new(PageDraft {
            url: "https://www.who.int/cork".to_owned(),
            title: "Cork".to_owned(),
            url_provenance: witness,
            blocks: vec![Block::new(BlockKind::Prose, words)],
            ..PageDraft::default()
        });
        sqlx::query("insert into pages (hash, body, url) values ($1, $2, $3)")
            .bind(stored.hash().as_str())
            .bind(serde_json::to_string(&stored).unwrap())
            .bind(&stored.url)
            .execute(&mut store)
            .await
            .unwrap();
        let audit = desk.ibid(&["check", &file, "--json"]).json();
        let verdict = &audit["claims"][0]["verdict"];
        assert_eq!(verdict == "supported", supported, "{witness:?}: {audit}");
    }
}
