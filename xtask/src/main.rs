//! The chores of this repository as commands.
fn main() {}
