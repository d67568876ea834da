//! One binary, one module a promise.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "in a test a panic is the report"
)]

mod accounts;
mod addresses;
mod ask;
mod batch;
mod canaries;
mod check_command;
mod cli;
mod commands;
mod config;
mod confined;
mod copying;
mod crash;
mod crash_program;
mod dependencies;
mod diff;
mod disguises;
mod doctor;
mod documents;
mod domain;
mod errand;
mod events;
mod export;
mod exports;
mod fetch;
mod finding;
mod folder;
mod guard;
mod judging;
mod linear;
mod live;
mod meaning;
mod memory;
mod model;
mod newcomer;
mod outside;
mod peers;
mod postgres;
mod private_words;
mod progress;
mod read_command;
mod recordings;
mod research;
mod runs;
mod served;
mod signals;
mod speed;
mod spending;
mod stand_in;
mod store_contract;
mod strategies;
mod telemetry;
mod thought;
mod tidy;
mod timely;
mod tool;
mod traces;
mod turns;
mod viewed;
