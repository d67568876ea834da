//! The guard of the open web, as the program explains it.
use std::path::Path;

use serde_json::Value;

use crate::cli::{Outcome, TestHome};

fn verdicts(desk: &TestHome, rows: &str) -> Vec<Value> {
    std::fs::write(desk.path("rows.jsonl"), rows).unwrap();
    let it = desk.ibid(&["doctor", "--guard-file", "rows.jsonl"]);
    assert_eq!(it.code, 0, "{}", it.err);
    it.lines()
}

#[test]
fn a_verdict_is_explained_for_one_address() {
    let desk = TestHome::new();
    let it = desk.ibid(&["doctor", "--guard", "http://169.254.169.254/latest"]).json();
    assert_eq!(it["verdict"], "block");
    assert!(it["reason"].as_str().unwrap().starts_with("address: 169.254.169.254"));
    let it = desk.ibid(&["doctor", "--guard", "https://example.com/"]).json();
    assert_eq!(it["verdict"], "allow");
    let it = desk.ibid(&["doctor", "--guard", "no address"]).json();
    assert_eq!((&it["id"], &it["verdict"]), (&"no address".into(), &"block".into()));
}

#[test]
fn names_and_redirects_are_judged_by_what_is_known_of_them() {
    let desk = TestHome::new();
    let rows = r#"
{"id":1,"url":"http://a.example.com/","dns":{"A.example.com.":[["93.184.215.14"]]},"more":true}
{"id":2,"url":"http://a.example.com/","dns":{"a.example.com":[["93.184.215.14"],["127.0.0.1"]]}}
{"id":3,"url":"http://a.example.com/","dns":{"b.example.com":[["93.184.215.14"]]}}
{"id":4,"url":"http://a.example.com/","dns":{"a.example.com":[["nonsense"]]}}
{"id":5,"url":"http://a.example.com/","chain":[{"at":"http://a.example.com/","status":302,"location":"http://[::1]/"}]}
{"id":6,"url":"http://a.example.com/","chain":[{"at":"http://a.example.com/","status":302,"location":"/"}]}
{"id":7,"url":"http://a.example.com/","chain":[{"at":"http://a.example.com/","status":301,"location":"/b"}]}
{"id":8}"#;
    let told = verdicts(&desk, rows);
    let allowed: Vec<u64> = told
        .iter()
        .filter(|it| it["verdict"] == "allow")
        .map(|it| it["id"].as_u64().unwrap())
        .collect();
    assert_eq!(allowed, [1, 7]);
    assert_eq!(told.len(), 8);
    assert!(told[5]["reason"].as_str().unwrap().starts_with("redirect:"));
}

#[test]
fn the_operator_opens_a_block_and_a_wrong_one_is_named() {
    let desk = TestHome::new();
    let asked = &["doctor", "--guard", "http://127.0.0.1:8888/"][..];
    let with = |value: &str| {
        Outcome::from(desk.command(asked).env("IBID_ALLOW_NET", value).output().unwrap())
    };
    assert_eq!(with("127.0.0.0/8").json()["verdict"], "allow");
    assert_eq!(with("10.0.0.0/8").json()["verdict"], "block");
    let it = with("localhost");
    assert_eq!(it.code, 2);
    assert!(it.err.contains("allow_net"), "{}", it.err);
}

#[test]
#[ignore = "needs ../shared/data"]
fn every_known_vector_is_refused_and_every_look_alike_goes_through() {
    let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .join("../shared/data/ssrf/dev/vectors.jsonl");
    let text =
        std::fs::read_to_string(&file).unwrap_or_else(|it| panic!("{}: {it}", file.display()));
    let desk = TestHome::new();
    let told = verdicts(&desk, &text);
    let rows: Vec<Value> = text.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!(told.len(), rows.len());
    // What a page that was fetched leads to is judged when it is fetched.
    let judged = rows.iter().zip(&told).filter(|it| it.0["kind"] != "second_order");
    for (row, told) in judged {
        assert_eq!(row["expected"], told["verdict"], "{row} {told}");
    }
}
