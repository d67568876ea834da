//! The embedding models whose files are pinned by their SHA-256.

/// The model that comes with Ibid.
pub(super) const BUNDLED: &str = "all-MiniLM-L6-v2";
/// The file of a model's weights, by whose SHA-256 a model is known.
pub(super) const WEIGHTS: &str = "model.safetensors";
/// The files of a model, the smallest first.
pub(super) const MODEL_FILES: [&str; 3] = ["config.json", "tokenizer.json", WEIGHTS];

/// A model whose files are pinned.
pub(super) struct KnownModel {
    pub(super) name: &'static str,
    /// Where its publisher has the files.
    pub(super) url: &'static str,
    pub(super) languages: &'static str,
    pub(super) licence: &'static str,
    /// Bytes of the publisher's files together.
    pub(super) bytes: u64,
    /// The SHA-256 of [`MODEL_FILES`]: as published, then as quantized by us (`models/README.md`).
    pub(super) pins: &'static [[&'static str; 3]],
}

/// Only models whose hashes were computed from the files themselves.
pub(super) const KNOWN: [KnownModel; 1] = [KnownModel {
    name: BUNDLED,
    url: "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main/",
    languages: "English",
    licence: "Apache-2.0",
    bytes: 91_335_235,
    pins: &[
        [
            "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ],
        [
            "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            "5fd1c882abbd30517dced455a2c9768945ec726b96727927e4959348d9de550b",
            "b788bdbbfabb3cdfb3c19b6b223b1727e5f04a5a23b3c32605c4bd5aa2c62c72",
        ],
    ],
}];

pub(super) fn known_model(name: &str) -> Option<&'static KnownModel> {
    KNOWN.iter().find(|known| known.name == name)
}
