//! One binary, one module a promise.
mod crash;
mod folder;
mod runs;
mod stand_in;
mod store_contract;
