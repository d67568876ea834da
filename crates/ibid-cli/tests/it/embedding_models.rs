//! `ibid models`: models are listed, installed with their SHA-256 checked, and chosen.
#![cfg(feature = "embed")]
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Cursor, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::cli::{Outcome, TestHome};

const WIDTH: usize = 8;
const WEIGHTS: &str = "model.safetensors";
/// The files of a model by name.
type Files = BTreeMap<String, Vec<u8>>;

fn safetensors(tensors: &[(String, Vec<usize>)], number: &dyn Fn(usize) -> f32) -> Vec<u8> {
    let (mut header, mut numbers) = (Map::new(), Vec::new());
    for (name, shape) in tensors {
        let from = numbers.len();
        for nth in 0..shape.iter().product() {
            numbers.extend(number(from + nth).to_le_bytes());
        }
        let row = json!({"dtype": "F32", "shape": shape, "data_offsets": [from, numbers.len()]});
        header.insert(name.clone(), row);
    }
    let header = Value::Object(header).to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    file.extend(numbers);
    file
}

/// A made-up BERT of one layer.
fn tiny_model() -> Files {
    let mut tensors = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![6, WIDTH]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![16, WIDTH]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, WIDTH]),
    ];
    let layer = "encoder.layer.0";
    for (name, outputs, inputs) in [
        ("attention.self.query", WIDTH, WIDTH),
        ("attention.self.key", WIDTH, WIDTH),
        ("attention.self.value", WIDTH, WIDTH),
        ("attention.output.dense", WIDTH, WIDTH),
        ("intermediate.dense", 2 * WIDTH, WIDTH),
        ("output.dense", WIDTH, 2 * WIDTH),
    ] {
        tensors.push((format!("{layer}.{name}.weight"), vec![outputs, inputs]));
        tensors.push((format!("{layer}.{name}.bias"), vec![outputs]));
    }
    for norm in [
        "embeddings.LayerNorm".to_owned(),
        format!("{layer}.attention.output.LayerNorm"),
        format!("{layer}.output.LayerNorm"),
    ] {
        tensors.push((format!("{norm}.weight"), vec![WIDTH]));
        tensors.push((format!("{norm}.bias"), vec![WIDTH]));
    }
    let vocabulary = json!({"[CLS]": 0, "[SEP]": 1, "[UNK]": 2, "rain": 3, "roof": 4, "on": 5});
    let tokenizer = json!({"normalizer": {"lowercase": true}, "model": {"type": "WordPiece", "vocab": vocabulary}});
    let config = json!({"num_attention_heads": 2, "num_hidden_layers": 1});
    let number = |nth: usize| ((nth * 37) % 101) as f32 / 101.0 - 0.4;
    Files::from([
        ("config.json".to_owned(), config.to_string().into_bytes()),
        ("tokenizer.json".to_owned(), tokenizer.to_string().into_bytes()),
        (WEIGHTS.to_owned(), safetensors(&tensors, &number)),
    ])
}

fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Writes the files of a model into a directory of the home. Returns its path.
fn write_model(desk: &TestHome, inside: &str, files: &Files) -> String {
    let dir = desk.path(inside);
    std::fs::create_dir_all(&dir).unwrap();
    for (name, bytes) in files {
        std::fs::write(dir.join(name), bytes).unwrap();
    }
    dir.to_string_lossy().into_owned()
}

fn installed_dir(desk: &TestHome) -> PathBuf {
    desk.path("home/.local/share/ibid/models")
}

/// Everything in the directory of models, also hidden.
fn installed(desk: &TestHome) -> Vec<String> {
    let entries = std::fs::read_dir(installed_dir(desk)).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn row(desk: &TestHome, name: &str) -> Value {
    let rows = desk.ibid(&["models", "ls", "--json"]).lines();
    rows.into_iter().find(|row| row["name"] == name).unwrap_or_default()
}

/// A web server on this machine with files by path. Of a file under `/short`, it sends only the first half.
fn serve(files: Files) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let request = lines.next().unwrap().unwrap();
            while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
            let path = request.split(' ').nth(1).unwrap();
            let name = path.rsplit('/').next().unwrap();
            let (status, body) = match files.get(name) {
                _ if path.starts_with("/moved/") => ("302 Found", &[][..]),
                Some(body) => ("200 OK", &body[..]),
                None => ("404 Not Found", &[][..]),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nlocation: /small/{name}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            let sent = if path.starts_with("/short/") { body.len() / 2 } else { body.len() };
            // The program may close the connection first.
            let _ =
                stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body[..sent]));
        }
    });
    address
}

fn get_from_web(desk: &TestHome, url: &str, sha256: &str, allowed: &str) -> Outcome {
    let mut command = desk.command(&["models", "get", url, "--sha256", sha256]);
    command.env("IBID_ALLOW_NET", allowed).output().unwrap().into()
}

#[test]
fn a_model_is_installed_with_its_hash_chosen_and_given_up() {
    let desk = TestHome::with_model();
    let files = tiny_model();
    let dir = write_model(&desk, "small", &files);
    let hash = sha256(&files[WEIGHTS]);

    let unnamed = desk.ibid(&["models", "get", &dir]);
    assert_eq!(unnamed.code, 2, "{}", unnamed.err);
    assert!(unnamed.err.contains(&format!("--sha256 {hash}")), "{}", unnamed.err);
    let wrong = sha256(b"another");
    let refused = desk.ibid(&["models", "get", &dir, "--sha256", &wrong]);
    assert_ne!(refused.code, 0);
    assert!(refused.err.contains(&hash) && refused.err.contains(&wrong), "{}", refused.err);
    assert_eq!(installed(&desk), Vec::<String>::new());

    let got = desk.ibid(&["models", "get", &dir, "--sha256", &hash.to_uppercase()]);
    assert_eq!(got.code, 0, "{}", got.err);
    assert_eq!(installed(&desk), ["small"]);
    let told = row(&desk, "small");
    assert_eq!((&told["installed"], &told["in_use"]), (&json!(true), &json!(false)));
    assert_eq!((&told["licence"], &told["pinned"]), (&Value::Null, &json!(false)));

    let chosen = desk.ibid(&["models", "use", "small"]);
    assert_eq!(chosen.code, 0, "{}", chosen.err);
    let value = desk.ibid(&["config", "get", "embedding.model"]).out;
    assert_eq!(value, format!("local:{}\n", installed_dir(&desk).join("small").display()));
    assert_eq!(row(&desk, "small")["in_use"], true);
    assert_eq!(row(&desk, "all-MiniLM-L6-v2")["in_use"], false);
    let docs = desk.docs();
    let found = desk.ibid(&["search", "rain on a roof", "--folder", &docs, "--json"]);
    assert_eq!(found.code, 0, "{}", found.err);

    assert_eq!(desk.ibid(&["models", "use", "default"]).code, 0);
    assert_eq!(row(&desk, "small")["in_use"], false);
    assert_eq!(row(&desk, "all-MiniLM-L6-v2")["in_use"], true);
    let unknown = desk.ibid(&["models", "use", "none-such"]);
    assert_ne!(unknown.code, 0);
    assert!(unknown.err.contains("models ls"), "{}", unknown.err);
}

#[test]
fn a_model_comes_from_the_web_through_the_guard_and_whole_or_not_at_all() {
    let desk = TestHome::with_model();
    let files = tiny_model();
    let hash = sha256(&files[WEIGHTS]);
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in &files {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(format!("packed-1.0/{name}"), options).unwrap();
        archive.write_all(bytes).unwrap();
    }
    let mut served = files;
    served.insert("packed.zip".to_owned(), archive.finish().unwrap().into_inner());
    let address = serve(served);
    let url = |rest: &str| format!("http://{address}/{rest}");

    let blocked = get_from_web(&desk, &url("small"), &hash, "");
    assert_ne!(blocked.code, 0);
    assert!(blocked.err.contains("127.0.0.1"), "{}", blocked.err);
    let short = get_from_web(&desk, &url("short"), &hash, "127.0.0.1");
    assert_ne!(short.code, 0, "{}", short.out);
    let missing = get_from_web(&desk, &url("none.zip"), &hash, "127.0.0.1");
    assert!(missing.err.contains("404"), "{}", missing.err);
    assert_eq!(installed(&desk), Vec::<String>::new());

    for (rest, name) in [("small", "small"), ("packed.zip", "packed"), ("moved/", "moved")] {
        let got = get_from_web(&desk, &url(rest), &hash, "127.0.0.1");
        assert_eq!(got.code, 0, "{rest}: {}", got.err);
        assert_eq!(row(&desk, name)["installed"], true);
        let kept = std::fs::read(installed_dir(&desk).join(name).join(WEIGHTS)).unwrap();
        assert_eq!(sha256(&kept), hash);
    }
    assert_eq!(installed(&desk).len(), 3);
}

#[test]
fn what_is_no_model_that_ibid_can_run_is_not_installed() {
    let desk = TestHome::with_model();
    let good = tiny_model();
    let changed = |name: &str, bytes: Vec<u8>| {
        let mut files = good.clone();
        files.insert(name.to_owned(), bytes);
        files
    };
    let unigram = json!({"model": {"type": "Unigram", "vocab": [["<s>", 0.0]]}}).to_string();
    let half = good[WEIGHTS][..good[WEIGHTS].len() / 2].to_vec();
    let cases = [
        ("multilingual", changed("tokenizer.json", unigram.into_bytes()), "Unigram"),
        ("half", changed(WEIGHTS, half), "tensor"),
        ("no-config", changed("config.json", b"{}".to_vec()), "num_attention_heads"),
    ];
    for (name, files, told) in cases {
        let dir = write_model(&desk, name, &files);
        let hash = sha256(&files[WEIGHTS]);
        let refused = desk.ibid(&["models", "get", &dir, "--sha256", &hash]);
        assert_ne!(refused.code, 0, "{name}");
        assert!(refused.err.contains(told), "{name}: {}", refused.err);
    }
    // A file is missing.
    let dir = write_model(&desk, "without", &good);
    std::fs::remove_file(Path::new(&dir).join("tokenizer.json")).unwrap();
    let refused = desk.ibid(&["models", "get", &dir, "--sha256", &sha256(&good[WEIGHTS])]);
    assert!(refused.code != 0 && refused.err.contains("tokenizer.json"), "{}", refused.err);
    assert_eq!(installed(&desk), Vec::<String>::new());
}

#[test]
fn a_known_name_takes_only_the_pinned_files_and_an_installed_name_only_the_same_weights() {
    let desk = TestHome::with_model();
    let files = tiny_model();
    let dir = write_model(&desk, "all-MiniLM-L6-v2", &files);
    let hash = sha256(&files[WEIGHTS]);
    let refused = desk.ibid(&["models", "get", &dir, "--sha256", &hash]);
    let pinned = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db";
    assert_ne!(refused.code, 0);
    assert!(refused.err.contains(&hash) && refused.err.contains(pinned), "{}", refused.err);
    assert_eq!(installed(&desk), Vec::<String>::new());

    let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/all-MiniLM-L6-v2");
    let got = desk.ibid(&["models", "get", &bundled.to_string_lossy()]);
    assert_eq!(got.code, 0, "{}", got.err);
    assert_eq!(installed(&desk), ["all-MiniLM-L6-v2"]);

    for name in ["../up", ".hidden", "default", "a/b"] {
        let named = desk.ibid(&["models", "get", &dir, "--sha256", &hash, "--name", name]);
        assert_eq!(named.code, 2, "{name}: {}", named.err);
    }
    let named = ["models", "get", &dir, "--sha256", &hash, "--name", "own"];
    assert_eq!(desk.ibid(&named).code, 0);
    assert_eq!(desk.ibid(&named).code, 0, "the same again is no fault");
    let mut other = files;
    other.get_mut(WEIGHTS).unwrap().extend([0; 4]);
    let dir = write_model(&desk, "other", &other);
    let hash = sha256(&other[WEIGHTS]);
    let replaced = desk.ibid(&["models", "get", &dir, "--sha256", &hash, "--name", "own"]);
    assert_ne!(replaced.code, 0);
    assert!(replaced.err.contains("--name"), "{}", replaced.err);
}
