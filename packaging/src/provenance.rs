//! How the files of a release were made, as an in-toto statement with SLSA's provenance. It states no time and no machine, so
//! the same build gives the same bytes.
use serde_json::{Value, json};

use crate::release::Release;

/// What is known of the build beyond the program.
pub(crate) struct BuildFacts {
    /// The SHA-256 of `Cargo.lock`.
    pub(crate) lock: String,
    /// Whether the program was built by this call, with the commit and the lock file that lie here.
    pub(crate) is_built_here: bool,
}

/// The statement on `files`, names with their SHA-256.
pub(crate) fn statement(
    release: &Release,
    facts: &BuildFacts,
    files: &[(String, String)],
) -> Value {
    let subject: Vec<Value> =
        files.iter().map(|(name, sum)| json!({"name": name, "digest": {"sha256": sum}})).collect();
    let mut materials = Vec::new();
    if let Some(commit) = &release.commit {
        materials.push(json!({
            "uri": format!("git+{}@{commit}", release.repository),
            "digest": {"gitCommit": commit},
        }));
    }
    if facts.is_built_here {
        materials.push(json!({"name": "Cargo.lock", "digest": {"sha256": facts.lock}}));
    }
    if let Some(compiler) = compiler(release.binary()) {
        materials.push(json!({"name": compiler}));
    }
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subject,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": format!("{}/blob/main/docs/releasing.md", release.repository),
                "externalParameters": {
                    "version": release.version,
                    "target": release.target.triple,
                    "features": release.features,
                    "profile": "release",
                    "sourceDateEpoch": release.time,
                },
                "resolvedDependencies": materials,
            },
            "runDetails": {"builder": {"id": format!("{}/blob/main/docs/releasing.md#builder", release.repository)}},
        },
    })
}

/// The compiler that the program names in its section `.comment`, as in `rustc version 1.95.0 (59807616e 2026-04-14)`.
fn compiler(program: &[u8]) -> Option<String> {
    const NAME: &[u8] = b"rustc version ";
    let at = program.windows(NAME.len()).position(|window| window == NAME)?;
    let text: Vec<u8> =
        program[at..].iter().copied().take(100).take_while(|&byte| byte != 0).collect();
    Some(String::from_utf8_lossy(&text).into_owned())
}
