//! Engines against a server of our own: what they send, and what they make of its answers.
use std::io::Write as _;
use std::sync::{Arc, Mutex};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// What came, and a server at this address that says the same to everybody.
async fn server(
    head: &'static str,
    answer: impl Fn(&str) -> Vec<u8> + Send + 'static,
) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let came = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&came);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = Vec::new();
            let mut piece = [0; 4096];
            // Until the end of the head and as many bytes as it says follow.
            let whole = loop {
                let count = stream.read(&mut piece).await.unwrap();
                request.extend_from_slice(&piece[..count]);
                let text = String::from_utf8_lossy(&request).into_owned();
                let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
                let length: usize = length.map_or(0, |length| length.parse().unwrap());
                if text.split_once("\r\n\r\n").is_some_and(|parts| parts.1.len() >= length)
                    || count == 0
                {
                    break text;
                }
            };
            let body = answer(&whole);
            seen.lock().unwrap().push(whole);
            let head = format!(
                "HTTP/1.1 200 OK\r\n{head}content-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(&body).await.unwrap();
        }
    });
    (address, came)
}

fn engine(name: &str, base_url: &str) -> SearchEngine {
    let given = EngineConfig {
        key: Some("k-1".to_owned()),
        base_url: Some(base_url.to_owned()),
        contact: None,
    };
    SearchEngine::open(
        by_name(name).unwrap(),
        &given,
        "ibid-test",
        &RateLimiters::default(),
        &Egress::default(),
    )
    .unwrap()
}

fn query(text: &'static str) -> Query {
    Query::from_static(text, Vertical::Web, 5)
}

#[tokio::test]
async fn queries_that_come_together_go_in_one_request() {
    let answer = |request: &str| {
        let asked: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
        let of = |value: &Value| json!({"organic": [{"link": format!("https://a.example/{}", value["q"].as_str().unwrap()), "title": "t"}]});
        match &asked {
            Value::Array(all) => {
                Value::Array(all.iter().map(of).collect()).to_string().into_bytes()
            }
            one => of(one).to_string().into_bytes(),
        }
    };
    let (address, came) = server("content-type: application/json\r\n", answer).await;
    let engine = engine("serper", &address);
    let (cork, oak) = (query("cork"), query("oak"));
    let (one, two) = tokio::join!(engine.search(&cork), engine.search(&oak));
    assert_eq!(one.unwrap().hits[0].url, "https://a.example/cork");
    assert_eq!(two.unwrap().hits[0].url, "https://a.example/oak");
    assert_eq!(came.lock().unwrap().len(), 1);
    let alone = engine.search(&query("ash")).await.unwrap();
    assert_eq!(alone.hits[0].url, "https://a.example/ash");
    assert!(came.lock().unwrap()[1].ends_with("{\"q\":\"ash\",\"num\":5}"));
}

#[tokio::test]
async fn a_refused_batch_is_asked_one_by_one() {
    let answer = |request: &str| match request.ends_with(']') {
        true => b"{\"message\": \"no lists\"}".to_vec(),
        false => b"{\"organic\": [{\"link\": \"https://a.example/\", \"title\": \"t\"}]}".to_vec(),
    };
    let (address, came) = server("", answer).await;
    let engine = engine("serper", &address);
    let (cork, oak) = (query("cork"), query("oak"));
    let (one, two) = tokio::join!(engine.search(&cork), engine.search(&oak));
    assert_eq!((one.unwrap().hits.len(), two.unwrap().hits.len()), (1, 1));
    assert_eq!(came.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn an_answer_that_is_packed_unasked_is_unpacked() {
    let answer = |_: &str| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        let body = json!({"items": [{"link": "https://stackoverflow.com/q/1", "title": "Cork?"}]});
        packed.write_all(body.to_string().as_bytes()).unwrap();
        packed.finish().unwrap()
    };
    let (address, came) = server("content-encoding: gzip\r\n", answer).await;
    let found = engine("stackexchange", &address).search(&query("cork")).await.unwrap();
    assert_eq!(found.hits[0].title, "Cork?");
    assert!(came.lock().unwrap()[0].contains("key=k-1"));
}

#[tokio::test]
async fn an_engine_shows_its_key_and_its_headers() {
    for (name, header, body) in [
        ("jina", "authorization: Bearer k-1", json!({"data": []})),
        ("brave", "x-subscription-token: k-1", json!({"web": {"results": []}})),
        ("kagi", "authorization: Bot k-1", json!({"data": []})),
        ("exa", "x-api-key: k-1", json!({"results": []})),
        ("semanticscholar", "x-api-key: k-1", json!({"total": 0})),
    ] {
        let body = body.to_string().into_bytes();
        let (address, came) = server("", move |_| body.clone()).await;
        assert!(engine(name, &address).search(&query("cork")).await.unwrap().hits.is_empty());
        let came = came.lock().unwrap();
        assert!(came[0].contains(header), "{}", came[0]);
        assert!(came[0].contains("user-agent: ibid-test"));
        assert!(name != "jina" || came[0].contains("x-respond-with: no-content"));
    }
}

#[tokio::test]
async fn what_the_bounds_shut_out_is_dropped() {
    let rows = json!({"results": [
        {"url": "https://a.example/1", "title": "in", "publishedDate": "2024-05-06"},
        {"url": "https://a.example/2", "title": "too old", "publishedDate": "2019-05-06"},
        {"url": "https://b.example/", "title": "elsewhere"},
        {"url": "javascript:alert(1)", "title": "no page"},
        {"url": "https://www.a.example/1", "title": "twice"}]});
    let body = rows.to_string().into_bytes();
    let (address, _) = server("", move |_| body.clone()).await;
    let mut bounded = query("cork");
    bounded.domains = vec!["a.example".to_owned()];
    bounded.since = Some("2024-01-01".to_owned());
    let found = engine("exa", &address).search(&bounded).await.unwrap();
    let titles: Vec<&str> = found.hits.iter().map(|hit| hit.title.as_str()).collect();
    assert_eq!(titles, ["in"]);
}

/// An answer of PubMed: ids for these terms, and a record for each id that is asked for.
fn pubmed(found: &'static [(&'static str, &'static [&'static str])]) -> impl Fn(&str) -> Vec<u8> {
    move |request: &str| {
        let path = request.split(' ').nth(1).unwrap_or_default();
        let url = Url::parse(&format!("http://a.example{path}")).unwrap();
        let of = |name: &str| {
            let mut all = url.query_pairs();
            all.find(|pair| pair.0 == name).map(|pair| pair.1.into_owned())
        };
        match of("term") {
            Some(term) => {
                let ids = found.iter().find(|pair| pair.0 == term).map_or(&[][..], |pair| pair.1);
                let answer = match ids {
                    ["misread"] => {
                        json!({"esearchresult": {"ERROR": "the query cannot be parsed"}})
                    }
                    ids => {
                        json!({"esearchresult": {"count": ids.len().to_string(), "idlist": ids}})
                    }
                };
                answer.to_string().into_bytes()
            }
            None => {
                let ids = of("id").unwrap_or_default();
                let record = |id: &str| {
                    format!(
                        "<PubmedArticle><MedlineCitation><PMID>{id}</PMID><Article><ArticleTitle>Work {id}</ArticleTitle></Article></MedlineCitation></PubmedArticle>"
                    )
                };
                let records: String = ids.split(',').map(record).collect();
                format!("<?xml version=\"1.0\"?><PubmedArticleSet>{records}</PubmedArticleSet>")
                    .into_bytes()
            }
        }
    }
}

const STRICT: &str = "(\"vitamin d\"[mh] OR \"vitamin d\"[tiab]) AND rickets AND (dose OR winter)";

async fn titles_of(
    term: &'static str,
    found: &'static [(&'static str, &'static [&'static str])],
) -> (Vec<String>, usize) {
    let (address, came) = server("", pubmed(found)).await;
    let found = engine("pubmed", &address).search(&query(term)).await.unwrap();
    let titles = found.hits.into_iter().map(|hit| hit.title).collect();
    let searches = came.lock().unwrap().iter().filter(|it| it.contains("esearch")).count();
    (titles, searches)
}

#[tokio::test]
async fn a_strict_query_that_finds_enough_is_asked_alone() {
    let found = titles_of(STRICT, &[(STRICT, &["3", "1", "2"])]).await;
    assert_eq!(found, (vec!["Work 3".to_owned(), "Work 1".to_owned(), "Work 2".to_owned()], 1));
}

#[tokio::test]
async fn what_pubmeds_syntax_finds_too_little_of_is_asked_in_plain_words_and_stands_behind() {
    const PLAIN: &str = "vitamin d rickets dose winter";
    let (titles, searches) =
        titles_of(STRICT, &[(STRICT, &["9"]), (PLAIN, &["4", "9", "5"])]).await;
    assert_eq!(
        (titles, searches),
        (vec!["Work 9".to_owned(), "Work 4".to_owned(), "Work 5".to_owned()], 2)
    );
    // Nothing at all, and the words together nothing either: any of them.
    const ANY: &str = "vitamin OR d OR rickets OR dose OR winter";
    let (titles, searches) = titles_of(STRICT, &[(ANY, &["7"])]).await;
    assert_eq!((titles, searches), (vec!["Work 7".to_owned()], 3));
    // PubMed does not understand it: plain words are.
    let (titles, _) = titles_of(STRICT, &[(STRICT, &["misread"]), (PLAIN, &["4", "5", "6"])]).await;
    assert_eq!(titles.len(), 3);
}

#[tokio::test]
async fn plain_words_that_find_something_are_asked_once() {
    let found = titles_of("vitamin d rickets", &[("vitamin d rickets", &["8"])]).await;
    assert_eq!(found, (vec!["Work 8".to_owned()], 1));
}
