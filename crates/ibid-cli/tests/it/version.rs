//! `ibid version`: what a person puts into a bug report, and what packages are made by.
use std::path::Path;

use serde_json::{Value, json};

use crate::cli::TestHome;

#[test]
fn version_as_json_names_the_build_and_the_hashes_of_the_model() {
    let desk = TestHome::with_model();
    let it = desk.ibid(&["version", "--json"]);
    assert_eq!((it.code, it.err.as_str()), (0, ""));
    let mut object = it.json();
    let target = object["target"].as_str().unwrap().to_owned();
    assert!(target.contains(std::env::consts::ARCH) && target.contains('-'), "{target}");
    let features = object["features"].as_array().unwrap();
    assert_eq!(features.contains(&json!("pdf")), cfg!(feature = "pdf"), "{features:?}");
    let has_objects = features.contains(&json!("object-store"));
    assert_eq!(has_objects, cfg!(feature = "object-store"), "{features:?}");
    // What differs from build to build.
    object["target"] = "TARGET".into();
    object["features"] = json!(["embed"]);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/version.json");
    if std::env::var_os("IBID_ACCEPT").is_some() {
        std::fs::write(&path, format!("{object:#}\n")).unwrap();
    }
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(object, kept, "version.json has changed; IBID_ACCEPT=1 accepts it");
    assert!(!desk.path("home").exists(), "it makes no store");
}

#[test]
fn version_as_text_is_one_line_and_a_missing_model_is_no_fault() {
    let desk = TestHome::with_model();
    let it = desk.ibid(&["version"]);
    let start = format!("ibid {} (", env!("CARGO_PKG_VERSION"));
    assert!(it.out.starts_with(&start) && it.out.lines().count() == 1, "{}", it.out);
    let mut command = desk.command(&["version", "--json"]);
    let it: crate::cli::Outcome =
        command.env("IBID_MODELS_DIR", "nowhere").output().unwrap().into();
    assert_eq!((it.code, &it.json()["models"]), (0, &json!([])), "{}", it.err);
}
