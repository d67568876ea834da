//! The `ibid` program: parse, configure, open, run.
fn main() {}
