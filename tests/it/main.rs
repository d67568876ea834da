//! One binary, one module a promise.
mod crash;
mod folder;
mod runs;
mod speed;
mod stand_in;
mod store_contract;
