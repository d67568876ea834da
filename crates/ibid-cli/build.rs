//! Passes the target platform on to `ibid version`.
#![allow(clippy::print_stdout, reason = "Cargo reads what a build script prints")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=IBID_TARGET={target}");
}
