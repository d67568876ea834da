//! A run with all answers that it got, in one file: to replay offline, to fork, or to keep as a test.
//!
//! The file is JSON Lines. The first line names the format and the question; then come the calls with their answers, the
//! pages that those name, the events, and a last line that counts them all. Each line begins with a checksum of its rest,
//! so that an edited or truncated line is found. The checksum is not a signature.
mod compare;
mod file;
mod offline;
mod parse;
mod write;

pub use compare::{ReplayDiff, diff_replay};
pub use file::{Recording, VERSION};
pub use offline::OfflineProvider;
