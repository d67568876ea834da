//! Short hashes that are the same on every machine.
use sha2::{Digest, Sha256};

/// The first 64 bits of a SHA-256 over length-prefixed parts.
pub(super) fn short_hash(parts: &[&[u8]]) -> u64 {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hash_prefix(&hasher.finalize())
}

/// The first 64 bits of a digest.
pub(super) fn hash_prefix(digest: &[u8]) -> u64 {
    digest.iter().take(8).fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
}

/// A short name for `parts` together, the same on every machine.
pub fn short_name(parts: &[&[u8]]) -> String {
    format!("{:016x}", short_hash(parts))
}
