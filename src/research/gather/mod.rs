//! Gathering evidence, by a strategy. Each strategy fills the same notes and passes the same gate; the checklist is the
//! one strategy so far.
mod checklist;

pub(crate) use checklist::Gathering;
