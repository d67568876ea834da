//! `evals COMPONENT`: measures a part of Ibid beside a floor or a peer.
fn main() {}
