//! Folders are found by meaning too, vectors are kept and found exactly, and rerankers are asked in their own forms.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use ibid_core::ports::{Embedder, PassageVector, Ranker, VectorIndex};
use ibid_core::{Error, ErrorKind, Result};
use ibid_extract::ExtractLimits;
use ibid_index::folder::{Filter, Folder, FolderOptions, SemanticIndex};
use ibid_index::semantic::{
    HttpEmbedder, HttpReranker, HybridRanker, QdrantVectors, RerankApi, SqliteVectors,
};
use ibid_llm::ModelTarget;
use ibid_net::service::ServiceAccess;
use serde_json::{Value, json};

use crate::model::http::{Act, Server, answer, serve_in_turn};

/// Knows what three words mean: a text's vector says which of three matters it speaks of.
#[derive(Default)]
struct ThreeMatters {
    asked: AtomicUsize,
    broken: bool,
}

#[async_trait]
impl Embedder for ThreeMatters {
    fn name(&self) -> &str {
        "three-matters"
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        if self.broken {
            return Err(Error::new(ErrorKind::Transient, "embedding"));
        }
        self.asked.fetch_add(texts.len(), Ordering::SeqCst);
        let matters = [["dog", "hound"], ["rain", "shower"], ["money", "coin"]];
        let vector = |text: &&str| {
            let of = |matter: &[&str; 2]| {
                f32::from(u8::from(matter.iter().any(|it| text.to_lowercase().contains(it))))
            };
            let values: Vec<f32> = matters.iter().map(of).chain([0.1]).collect();
            let length = values.iter().map(|it| it * it).sum::<f32>().sqrt();
            values.into_iter().map(|it| it / length).collect()
        };
        Ok(texts.iter().map(vector).collect())
    }
}

async fn sqlite(dir: &std::path::Path) -> Arc<SqliteVectors> {
    Arc::new(SqliteVectors::open(&dir.join("vectors.db"), "docs").await.unwrap())
}

async fn folder(dir: &std::path::Path, embedder: Arc<ThreeMatters>) -> Folder {
    let docs = dir.join("docs");
    std::fs::create_dir_all(&docs).unwrap();
    let options = FolderOptions::new(Vec::new(), ExtractLimits::default());
    let folder = Folder::open(&docs, &dir.join("cache"), &options).unwrap();
    folder.with_semantic_index(SemanticIndex {
        embedder,
        vectors: sqlite(dir).await,
        max_passages: usize::MAX,
    })
}

async fn titles(folder: &Folder, query: &str) -> Vec<String> {
    let found = folder.search_hybrid(query, 10, &Filter::default()).await.unwrap();
    found.into_iter().map(|it| it.title).collect()
}

#[tokio::test]
async fn a_document_is_found_by_what_it_means_and_its_vector_is_made_once() {
    let dir = tempfile::tempdir().unwrap();
    let embedder = Arc::new(ThreeMatters::default());
    let folder = folder(dir.path(), Arc::clone(&embedder)).await;
    let docs = dir.path().join("docs");
    std::fs::write(docs.join("a.txt"), "The hound slept by the fire.").unwrap();
    std::fs::write(docs.join("b.txt"), "A shower fell on the town.").unwrap();
    folder.refresh(&mut |_| {}).unwrap();
    assert!(titles(&folder, "dogs").await.is_empty(), "no word and no vectors yet");
    assert_eq!(folder.update_vectors(&mut |_| {}).await.unwrap().made, 2);
    assert_eq!(titles(&folder, "dogs").await[0], "a");
    assert_eq!(folder.update_vectors(&mut |_| {}).await.unwrap().made, 0);

    std::fs::remove_file(docs.join("a.txt")).unwrap();
    std::fs::write(docs.join("c.txt"), "A coin was found in the well.").unwrap();
    folder.refresh(&mut |_| {}).unwrap();
    assert_eq!(folder.update_vectors(&mut |_| {}).await.unwrap().made, 1);
    assert_eq!(titles(&folder, "money").await[0], "c");
    assert_eq!(embedder.asked.load(Ordering::SeqCst), 3 + 2, "three passages, two queries");
}

#[tokio::test]
async fn a_search_is_not_lost_when_the_embedder_fails() {
    let dir = tempfile::tempdir().unwrap();
    let broken = ThreeMatters { broken: true, ..ThreeMatters::default() };
    let folder = folder(dir.path(), Arc::new(broken)).await;
    std::fs::write(dir.path().join("docs/a.txt"), "The hound slept by the fire.").unwrap();
    folder.refresh(&mut |_| {}).unwrap();
    assert!(folder.update_vectors(&mut |_| {}).await.is_err());
    assert_eq!(titles(&folder, "hound").await, ["a"]);
}

#[tokio::test]
async fn words_and_meaning_rank_together() {
    let hybrid = HybridRanker::new(Arc::new(ThreeMatters::default()), Arc::new(|| Ok(None)));
    let texts = ["rain on a roof", "a hound in the garden", ""];
    let scores = hybrid.rank("a dog", &texts).await.unwrap();
    assert!(scores[1] > scores[0], "{scores:?}");
    assert_eq!(scores[2], 0.0);
    assert_eq!(hybrid.name(), "lexical+three-matters");
    assert!(hybrid.rank("a dog", &[]).await.unwrap().is_empty());
}

fn vector(key: u64, url: &str, values: [f32; 2]) -> PassageVector {
    PassageVector { key, url: url.to_owned(), values: values.to_vec() }
}

/// What every keeper of vectors must do.
async fn keeps_its_word(index: &dyn VectorIndex) {
    let far = u64::MAX - 1;
    assert_eq!(index.missing_keys(&[1, far]).await.unwrap(), [1, far]);
    assert!(!index.url_exists("file:///a").await.unwrap());
    assert!(index.nearest(&[1.0, 0.0], 5).await.unwrap().is_empty());
    let both = [vector(far, "file:///a", [1.0, 0.0]), vector(1, "file:///a/b", [0.6, 0.8])];
    index.upsert(&both).await.unwrap();
    assert_eq!(index.missing_keys(&[1, 2, far]).await.unwrap(), [2]);
    assert_eq!(index.get(&[2, far]).await.unwrap(), [(far, vec![1.0, 0.0])]);
    assert!(index.url_exists("file:///a").await.unwrap());
    assert!(!index.url_exists("file:///").await.unwrap(), "a part of an address is another");
    let found = index.nearest(&[1.0, 0.0], 5).await.unwrap();
    assert_eq!(found.iter().map(|it| it.0).collect::<Vec<_>>(), [far, 1]);
    assert!((found[0].1 - 1.0).abs() < 1e-6 && (found[1].1 - 0.6).abs() < 1e-6, "{found:?}");
    assert_eq!(index.nearest(&[1.0, 0.0], 1).await.unwrap().len(), 1);
    index.upsert(&[vector(1, "file:///c", [0.0, 1.0])]).await.unwrap();
    assert!((index.nearest(&[0.0, 1.0], 1).await.unwrap()[0].1 - 1.0).abs() < 1e-6);
    index.retain(&[1]).await.unwrap();
    assert_eq!(index.missing_keys(&[1, far]).await.unwrap(), [far]);
    assert!(!index.url_exists("file:///a").await.unwrap());
}

#[tokio::test]
async fn vectors_in_a_file_are_found_exactly_and_outlive_the_process() {
    let dir = tempfile::tempdir().unwrap();
    keeps_its_word(&*sqlite(dir.path()).await).await;
    let again = sqlite(dir.path()).await;
    assert_eq!(again.nearest(&[0.0, 1.0], 3).await.unwrap().len(), 1);
    let other = SqliteVectors::open(&dir.path().join("vectors.db"), "other").await.unwrap();
    assert!(other.nearest(&[0.0, 1.0], 3).await.unwrap().is_empty());
}

/// The part of Qdrant's REST interface that is used, over points in memory.
#[derive(Default)]
struct Points {
    made: bool,
    all: BTreeMap<u64, (Vec<f32>, String)>,
}

impl Points {
    fn answer(&mut self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let rest = path.strip_prefix("/collections/ibid-test").expect("its own collection");
        let ids = |it: &Value| -> Vec<u64> {
            it.as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect()
        };
        let numbers = |it: &Value| -> Vec<f32> {
            it.as_array().unwrap().iter().map(|it| it.as_f64().unwrap() as f32).collect()
        };
        if (method, rest) == ("PUT", "") {
            assert_eq!(body["vectors"], json!({"size": 2, "distance": "Cosine"}));
            self.made = true;
            return (200, json!(true));
        }
        if !self.made {
            return (404, json!(null));
        }
        let result = match (method, rest) {
            ("GET", "") | ("PUT", "/index?wait=true") => json!({}),
            ("POST", "/points") => {
                let known = ids(&body["ids"]).into_iter().filter(|it| self.all.contains_key(it));
                known.map(|it| json!({"id": it, "vector": self.all[&it].0})).collect()
            }
            ("PUT", "/points?wait=true") => {
                for it in body["points"].as_array().unwrap() {
                    let url = it["payload"]["url"].as_str().unwrap().to_owned();
                    self.all.insert(it["id"].as_u64().unwrap(), (numbers(&it["vector"]), url));
                }
                json!({"status": "completed"})
            }
            ("POST", "/points/delete?wait=true") => {
                let kept = ids(&body["filter"]["must_not"][0]["has_id"]);
                self.all.retain(|id, _| kept.contains(id));
                json!({"status": "completed"})
            }
            ("POST", "/points/query") => {
                assert_eq!(body["params"]["exact"], true);
                let to = numbers(&body["query"]);
                let score = |it: &[f32]| it.iter().zip(&to).map(|(a, b)| a * b).sum::<f32>();
                let mut found: Vec<(f32, u64)> =
                    self.all.iter().map(|(id, it)| (score(&it.0), *id)).collect();
                found.sort_by(|a, b| b.0.total_cmp(&a.0));
                found.truncate(body["limit"].as_u64().unwrap() as usize);
                let rows: Vec<Value> =
                    found.iter().map(|(score, id)| json!({"id": id, "score": score})).collect();
                json!({ "points": rows })
            }
            ("POST", "/points/count") => {
                assert_eq!(body["exact"], true);
                let wanted = body["filter"]["must"][0]["match"]["value"].as_str().unwrap();
                json!({"count": self.all.values().filter(|it| it.1 == wanted).count()})
            }
            other => panic!("not Qdrant's: {other:?}"),
        };
        (200, result)
    }
}

/// A server that speaks for `points`, a connection a request.
async fn qdrant(points: Arc<Mutex<Points>>) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            while !crate::model::http::is_whole(&request) {
                let read = socket.read(&mut buffer).await.unwrap();
                request.extend_from_slice(&buffer[..read]);
            }
            let text = String::from_utf8(request).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.contains("api-key: secret"), "{head}");
            let mut words = head.split(' ');
            let (method, path) = (words.next().unwrap(), words.next().unwrap());
            let body = serde_json::from_str(body).unwrap_or_default();
            let (status, result) = points.lock().unwrap().answer(method, path, &body);
            let answer =
                answer(&format!("{status} X"), "", &json!({ "result": result }).to_string());
            socket.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    url
}

#[tokio::test]
async fn qdrant_keeps_vectors_as_a_file_does() {
    let points = Arc::new(Mutex::new(Points::default()));
    let url = qdrant(Arc::clone(&points)).await;
    let index =
        QdrantVectors::open(ServiceAccess::bearer(&url, Some("secret")), "ibid-test").unwrap();
    keeps_its_word(&index).await;
    assert_eq!(points.lock().unwrap().all.len(), 1);
}

async fn says(body: &Value) -> Server {
    serve_in_turn(vec![Act::Say(answer("200 OK", "", &body.to_string()))]).await
}

fn heard(server: &Server) -> (String, Value) {
    let heard = server.heard.lock().unwrap();
    let (head, body) = heard.last().unwrap().split_once("\r\n\r\n").unwrap();
    (head.to_owned(), serde_json::from_str(body).unwrap())
}

#[tokio::test]
async fn each_reranker_is_asked_in_its_own_form() {
    let rows = json!([{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.2}]);
    let bare = json!([{"index": 1, "score": 0.9}, {"index": 0, "score": 0.2}]);
    let cases = [
        (RerankApi::Cohere, "POST /v2/rerank ", json!({ "results": rows })),
        (RerankApi::Jina, "POST /v1/rerank ", json!({"model": "m", "results": rows})),
        (RerankApi::Infinity, "POST /rerank ", json!({"object": "rerank", "results": rows})),
        (RerankApi::Tei, "POST /rerank ", bare),
    ];
    for (shape, line, said) in cases {
        let server = says(&said).await;
        let access = ServiceAccess::bearer(&server.url, Some("secret"));
        let reranker = HttpReranker::open("it", shape, "m", access).unwrap();
        let scores = reranker.rank("rain", &["a", " ", "b"]).await.unwrap();
        assert_eq!(scores, [0.2, 0.0, 0.9], "{shape:?}");
        let (head, body) = heard(&server);
        assert!(head.starts_with(line), "{head}");
        assert!(head.contains("authorization: Bearer secret"), "{head}");
        let texts = if shape == RerankApi::Tei { "texts" } else { "documents" };
        assert_eq!(body[texts], json!(["a", "b"]), "empty texts are not sent");
        assert_eq!(body["query"], "rain");
    }
}

/// Text Embeddings Inference takes 32 texts in a request unless it is started otherwise.
#[tokio::test]
async fn a_reranker_is_sent_as_many_texts_as_it_takes() {
    let scores = |count: usize| {
        let rows: Vec<Value> =
            (0..count).map(|at| json!({"index": at, "score": at as f32 / 100.0})).collect();
        Act::Say(answer("200 OK", "", &json!(rows).to_string()))
    };
    let refused =
        r#"{"error":"batch size 32 > maximum allowed batch size 30","error_type":"Validation"}"#;
    let refused = Act::Say(answer("413 Payload Too Large", "", refused));
    let server = serve_in_turn(vec![refused, scores(30), scores(30), scores(10)]).await;
    let access = ServiceAccess::bearer(&server.url, None);
    let reranker = HttpReranker::open("it", RerankApi::Tei, "m", access).unwrap();
    let texts: Vec<String> = (0..70).map(|nth| format!("text {nth}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let found = reranker.rank("rain", &texts).await.unwrap();
    assert_eq!(found.len(), 70);
    assert_eq!((found[29], found[30], found[69]), (0.29, 0.0, 0.09));
    let heard = server.heard.lock().unwrap();
    let sent: Vec<usize> = heard
        .iter()
        .map(|request| {
            let body: Value =
                serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
            body["texts"].as_array().unwrap().len()
        })
        .collect();
    assert_eq!(sent, [32, 30, 30, 10]);
}

#[tokio::test]
async fn a_score_of_a_text_that_was_not_sent_is_no_answer() {
    let server = says(&json!({"results": [{"index": 7, "relevance_score": 0.9}]})).await;
    let access = ServiceAccess::bearer(&server.url, None);
    let reranker = HttpReranker::open("it", RerankApi::Infinity, "m", access).unwrap();
    let error = reranker.rank("rain", &["a"]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
}

fn target(url: &str) -> ModelTarget {
    let variables = |name: &str| match name {
        "OPENAI_BASE_URL" => Some(format!("{url}/v1")),
        "OPENAI_API_KEY" => Some("secret".to_owned()),
        _ => None,
    };
    ModelTarget::resolve("openai:small", &variables).unwrap()
}

#[tokio::test]
async fn embeddings_come_in_the_order_of_the_texts_and_of_length_one() {
    let rows =
        json!([{"index": 1, "embedding": [0.0, 2.0]}, {"index": 0, "embedding": [3.0, 4.0]}]);
    let server = says(&json!({ "data": rows })).await;
    let embedder = HttpEmbedder::open(target(&server.url)).unwrap();
    let found = embedder.embed(&["a", "b"]).await.unwrap();
    assert_eq!(found, [[0.6, 0.8], [0.0, 1.0]]);
    let (head, body) = heard(&server);
    assert!(head.starts_with("POST /v1/embeddings "), "{head}");
    assert_eq!(body, json!({"model": "small", "input": ["a", "b"]}));

    let error = embedder.embed(&["a", "b", "c"]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed, "two vectors for three texts");
}

#[tokio::test]
async fn a_refusal_is_told_without_the_key() {
    let said = json!({"error": {"message": "no such model", "type": "invalid_request_error"}});
    let server =
        serve_in_turn(vec![Act::Say(answer("404 Not Found", "", &said.to_string()))]).await;
    let embedder = HttpEmbedder::open(target(&server.url)).unwrap();
    let error = embedder.embed(&["a"]).await.unwrap_err();
    let text = format!("{} {error:?}", error.chain());
    assert!(text.contains("no such model") && !text.contains("secret"), "{text}");
}

#[cfg(feature = "embed")]
mod local {
    use ibid_encoder::Bert;

    use super::*;

    /// A model of one layer and four numbers a token, whose weights are a fixed sequence.
    fn tiny(dir: &std::path::Path) {
        let words = json!({"[CLS]": 0, "[SEP]": 1, "[UNK]": 2, "rain": 3, "dog": 4, "##s": 5});
        let config =
            json!({"num_hidden_layers": 1, "num_attention_heads": 2, "layer_norm_eps": 1e-12});
        let tokenizer = json!({"model": {"type": "WordPiece", "vocab": words}});
        let mut shapes = vec![
            ("embeddings.word_embeddings.weight".to_owned(), vec![6, 4]),
            ("embeddings.position_embeddings.weight".to_owned(), vec![8, 4]),
            ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, 4]),
        ];
        for name in [
            "attention.self.query",
            "attention.self.key",
            "attention.self.value",
            "attention.output.dense",
        ] {
            shapes.push((format!("encoder.layer.0.{name}.weight"), vec![4, 4]));
            shapes.push((format!("encoder.layer.0.{name}.bias"), vec![4]));
        }
        for (name, rows, columns) in [("intermediate.dense", 8, 4), ("output.dense", 4, 8)] {
            shapes.push((format!("encoder.layer.0.{name}.weight"), vec![rows, columns]));
            shapes.push((format!("encoder.layer.0.{name}.bias"), vec![rows]));
        }
        for name in [
            "embeddings.LayerNorm",
            "encoder.layer.0.attention.output.LayerNorm",
            "encoder.layer.0.output.LayerNorm",
        ] {
            shapes.push((format!("{name}.weight"), vec![4]));
            shapes.push((format!("{name}.bias"), vec![4]));
        }
        let (mut header, mut numbers) = (serde_json::Map::new(), Vec::new());
        for (name, shape) in shapes {
            let from = numbers.len();
            for nth in 0..shape.iter().product::<usize>() {
                let number = ((nth * 37 + from) % 19) as f32 / 19.0 - 0.4;
                numbers.extend(number.to_le_bytes());
            }
            header.insert(
                name,
                json!({"dtype": "F32", "shape": shape, "data_offsets": [from, numbers.len()]}),
            );
        }
        let header = Value::Object(header).to_string();
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header.bytes());
        file.extend(numbers);
        std::fs::write(dir.join("config.json"), config.to_string()).unwrap();
        std::fs::write(dir.join("tokenizer.json"), tokenizer.to_string()).unwrap();
        std::fs::write(dir.join("model.safetensors"), file).unwrap();
    }

    #[tokio::test]
    async fn a_vector_is_the_same_whatever_texts_go_through_with_it() {
        let dir = tempfile::tempdir().unwrap();
        tiny(dir.path());
        let model = Bert::open(dir.path()).unwrap();
        let together = model.embed(&["rain", "dogs and more rain than fits", ""]).await.unwrap();
        for (text, vector) in ["rain", "dogs and more rain than fits", ""].iter().zip(&together) {
            let alone = model.embed(&[text]).await.unwrap();
            let same = alone[0].iter().zip(vector).all(|(a, b)| (a - b).abs() < 1e-5);
            assert!(same, "{text}: {alone:?} {vector:?}");
            let length: f32 = vector.iter().map(|it| it * it).sum();
            assert!((length - 1.0).abs() < 1e-5);
        }
        let unlike = together[0].iter().zip(&together[1]).any(|(a, b)| (a - b).abs() > 1e-3);
        assert!(unlike, "{together:?}");
    }

    #[test]
    fn a_directory_without_a_model_says_what_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let error = Bert::open(dir.path()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Setup);
        assert!(error.chain().contains("config.json"), "{}", error.chain());
        tiny(dir.path());
        let whole = std::fs::read(dir.path().join("model.safetensors")).unwrap();
        std::fs::write(dir.path().join("model.safetensors"), [0xff; 64]).unwrap();
        assert!(Bert::open(dir.path()).is_err());
        // Shapes that do not fit each other, and numbers that are none.
        let length = u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
        let header: Value = serde_json::from_slice(&whole[8..8 + length]).unwrap();
        let names: Vec<String> = header.as_object().unwrap().keys().cloned().collect();
        for name in names {
            for shape in [json!([4, 0]), json!([0, 4]), json!([1, 1]), json!([2])] {
                let mut header = header.clone();
                let count: u64 =
                    shape.as_array().unwrap().iter().filter_map(Value::as_u64).product();
                header[&name]["shape"] = shape;
                header[&name]["data_offsets"] = json!([0, count * 4]);
                let header = header.to_string();
                let mut file = (header.len() as u64).to_le_bytes().to_vec();
                file.extend(header.bytes());
                file.extend(&whole[8 + length..]);
                std::fs::write(dir.path().join("model.safetensors"), file).unwrap();
                // It may open where the shape makes no difference, and never panics.
                let _ = Bert::open(dir.path());
            }
        }
        let mut broken = whole.clone();
        for number in broken[8 + length..].as_chunks_mut::<4>().0 {
            *number = f32::NAN.to_le_bytes();
        }
        std::fs::write(dir.path().join("model.safetensors"), broken).unwrap();
        assert!(Bert::open(dir.path()).is_err());
    }
}

/// The model that comes with Ibid.
#[cfg(feature = "embed")]
mod bundled {
    use std::path::Path;

    use ibid_encoder::Bert;

    use super::*;
    use crate::cli::TestHome;

    /// A folder whose pages never say "creatures".
    const PAGES: [(&str, &str); 4] = [
        (
            "wildlife.md",
            "# Ten years of counts on planted roofs\n\nBeetles and spiders were found on every planted roof that had deep soil. The counts ran from spring to autumn. Skylarks tried to breed on four roofs and raised no young.\n",
        ),
        (
            "load.md",
            "# The load of planted roofs\n\nA planted roof with 10 cm of soil weighs about 135 kg per square metre when it is wet. Older decks of steel carry less than that. An engineer checks the deck before anything is laid.\n",
        ),
        (
            "rain.md",
            "# Rain on planted roofs\n\nA planted roof holds half of the rain of a year. In winter it holds less, because the soil is wet. The gauge on the library stood there for nine years.\n",
        ),
        (
            "cost.md",
            "# The cost of planted roofs\n\nA planted roof costs 110 euros per square metre. Care costs 3 euros a year. The city paid a third of the first hundred roofs.\n",
        ),
    ];

    fn model() -> Bert {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/all-MiniLM-L6-v2");
        Bert::open(&root).unwrap()
    }

    #[tokio::test]
    async fn its_vectors_are_those_of_the_unquantized_model() {
        let texts = [
            "How heavy is a green roof?",
            "It weighs 135 kg per square metre.",
            "Bake it for an hour.",
        ];
        let vectors = model().embed(&texts).await.unwrap();
        let cosine = |a: usize, b: usize| -> f32 {
            vectors[a].iter().zip(&vectors[b]).map(|(a, b)| a * b).sum()
        };
        // The cosines of all-MiniLM-L6-v2 with weights of 32 bits.
        for (a, b, known) in [(0, 1, COSINES[0]), (0, 2, COSINES[1]), (1, 2, COSINES[2])] {
            assert!((cosine(a, b) - known).abs() < 0.02, "{a} {b}: {} {known}", cosine(a, b));
        }
    }

    const COSINES: [f32; 3] = [0.448, 0.037, 0.100];

    #[test]
    fn a_damaged_model_ends_no_question_and_doctor_names_it() {
        let desk = TestHome::with_model();
        for file in ["config.json", "tokenizer.json"] {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/all-MiniLM-L6-v2");
            let text = std::fs::read_to_string(from.join(file)).unwrap();
            desk.write(&format!("models/all-MiniLM-L6-v2/{file}"), &text);
        }
        desk.write(
            "models/all-MiniLM-L6-v2/model.safetensors",
            "version https://git-lfs.github.com/spec/v1\n",
        );
        let models = desk.path("models").to_string_lossy().into_owned();
        let (docs, place) = (desk.docs(), [("IBID_MODELS_DIR", models.as_str())]);
        let asked = ["What does a green roof cost?", "--folder", &docs, "--model", "none"];
        let output = desk.command(&asked).envs(place).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let told = desk.command(&["doctor"]).envs(place).output().unwrap();
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        assert!(told.contains("model.safetensors"), "{told}");
    }

    #[test]
    fn a_question_in_other_words_is_answered_and_none_says_so_without_the_model() {
        let desk = TestHome::with_model();
        for (name, text) in PAGES {
            desk.write(&format!("roofs/{name}"), text);
        }
        let folder = desk.path("roofs").to_string_lossy().into_owned();
        let asked = [
            "Which creatures live on planted roofs?",
            "--folder",
            &folder,
            "--model",
            "none",
            "--json",
        ];
        let short = |variable: Option<(&str, &str)>| {
            let mut command = desk.command(&asked);
            command.envs(variable);
            let output = command.output().unwrap();
            let object: Value = serde_json::from_slice(&output.stdout).unwrap();
            object["answer"].as_str().unwrap_or_default().to_owned()
        };
        let found = short(None);
        assert!(found.starts_with("Beetles and spiders"), "{found}");
        let by_words = short(Some(("IBID_EMBEDDING_MODEL", "none")));
        assert!(!by_words.starts_with("Beetles and spiders"), "{by_words}");
        let missing = short(Some(("IBID_MODELS_DIR", &folder)));
        assert_eq!(missing, by_words);
    }
}
