//! What must hold after every script, by a look at the store and at the books of the world alone.
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::left::{Left, Step};
use super::ports::{model_key, rank_key, read_key, search_key};
use super::script::Port;
use super::world::Books;

/// What must hold after every script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Invariant {
    Agreement,
    Quotes,
    Spend,
    Repeats,
    Ending,
    Orphans,
    Resumable,
}

impl Invariant {
    pub(super) const ALL: [Invariant; 7] = [
        Invariant::Agreement,
        Invariant::Quotes,
        Invariant::Spend,
        Invariant::Repeats,
        Invariant::Ending,
        Invariant::Orphans,
        Invariant::Resumable,
    ];

    pub(super) fn text(self) -> &'static str {
        match self {
            Invariant::Agreement => "journal, events and report agree",
            Invariant::Quotes => "every quote is exact",
            Invariant::Spend => "what was spent is within its bounds",
            Invariant::Repeats => "no answered call was sent again",
            Invariant::Ending => "the ending is typed and told in plain words",
            Invariant::Orphans => "no process and no file is left over",
            Invariant::Resumable => "the run has ended, or was resumed to its end",
        }
    }
}

/// An invariant that does not hold, and how.
pub(super) type Breach = (Invariant, String);

/// The limits of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bounds {
    pub(super) usd: Option<f64>,
    pub(super) calls: Option<u64>,
}

/// Rounding error between two sums of the same charges, in US dollars.
const ROUNDING_USD: f64 = 1e-6;

/// Everything that does not hold in what an ended run left, by the store alone.
pub(super) fn in_store(left: &Left) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let mut add = |which, found: Vec<String>| {
        breaches.extend(found.into_iter().map(|text| (which, text)));
    };
    add(Invariant::Agreement, numbering(left));
    add(Invariant::Agreement, report_and_journal(left));
    add(Invariant::Quotes, quotes_in_pages(left));
    add(Invariant::Ending, ending(left));
    breaches
}

fn numbering(left: &Left) -> Vec<String> {
    let mut found = Vec::new();
    for (nth, (seq, event)) in left.events.iter().enumerate() {
        if *seq != nth as i64 + 1 || event["seq"] != *seq {
            found.push(format!("event {} is numbered {seq}", nth + 1));
        }
    }
    let mut told = BTreeSet::new();
    let once = ["run.created", "report.ready", "run.completed", "run.failed", "run.cancelled"];
    for (_, event) in &left.events {
        let name = event["type"].as_str().unwrap_or_default();
        if once.contains(&name) && !told.insert(name) {
            found.push(format!("{name} was told twice"));
        }
    }
    found
}

/// The report against the journal: sources, pages, counts and the row of the run.
fn report_and_journal(left: &Left) -> Vec<String> {
    let mut found = Vec::new();
    let answered: BTreeSet<&str> = left
        .answered()
        .filter(|step| step.door.starts_with("read:"))
        .filter_map(|step| step.answer.as_ref()?.as_str())
        .collect();
    for hash in &answered {
        if !left.pages.contains_key(*hash) || !left.held.contains(*hash) {
            found.push(format!("page {hash} was read and is not in the store"));
        }
    }
    for (seq, event) in left.events.iter().filter(|it| it.1["type"] == "read.completed") {
        let hash = event["data"]["source"]["page"].as_str().unwrap_or_default();
        if !answered.contains(hash) {
            found.push(format!("event {seq} tells of page {hash}, which the journal has not"));
        }
    }
    let searched: BTreeSet<(&str, &str)> = left
        .answered()
        .filter_map(|step| Some((step.door.strip_prefix("search:")?, step.asked["text"].as_str()?)))
        .collect();
    for (seq, event) in left.events.iter().filter(|it| it.1["data"]["outcome"] == "ok") {
        let data = &event["data"];
        let search = (data["engine"].as_str(), data["query"].as_str());
        if !matches!(search, (Some(engine), Some(query)) if searched.contains(&(engine, query))) {
            found.push(format!("event {seq} tells of a search that the journal has not"));
        }
    }
    let Some(report) = left.last("report.ready").map(|data| &data["report"]) else {
        return found;
    };
    for source in report["sources"].as_array().into_iter().flatten() {
        let hash = source["page"].as_str().unwrap_or_default();
        if !left.held.contains(hash) {
            found.push(format!("source {} is page {hash}, which the run has not", source["id"]));
        }
    }
    let told = |names: &[&str]| {
        let of = |it: &&(i64, Value)| names.iter().any(|name| it.1["type"] == *name);
        left.events.iter().filter(of).count() as u64
    };
    let models = left.steps.iter().filter(|step| step.door.starts_with("model:")).count() as u64;
    let reads = told(&["read.completed", "read.failed"]);
    let counts = &report["usage"];
    for (name, most) in
        [("searches", told(&["search.completed"])), ("pages", reads), ("model_calls", models)]
    {
        let count = counts[name].as_u64().unwrap_or(0);
        if count > most {
            found.push(format!("the report tells of {count} {name}, events and journal of {most}"));
        }
    }
    if let Some(end) = left.last("run.completed") {
        for (which, usage) in [("last event", &end["usage"]), ("row", &left.row["usage"])] {
            if *usage != report["usage"] {
                found.push(format!("the usage of the {which} is not that of the report: {usage}"));
            }
        }
    }
    found
}

/// Every passage of a value: objects with a page, offsets and a text.
fn passages<'a>(value: &'a Value, into: &mut Vec<&'a Value>) {
    match value {
        Value::Object(fields) => {
            if ["page", "start", "end", "text"].iter().all(|name| fields.contains_key(*name)) {
                into.push(value);
            }
            fields.values().for_each(|value| passages(value, into));
        }
        Value::Array(items) => items.iter().for_each(|value| passages(value, into)),
        _ => {}
    }
}

/// The passages of the events, the report's among them.
fn all_passages(left: &Left) -> Vec<&Value> {
    let mut all = Vec::new();
    left.events.iter().for_each(|event| passages(&event.1["data"], &mut all));
    all
}

/// How many quotes the events and the report have.
pub(super) fn count_quotes(left: &Left) -> usize {
    all_passages(left).len()
}

fn quotes_in_pages(left: &Left) -> Vec<String> {
    let mut found = Vec::new();
    for passage in all_passages(left) {
        let hash = passage["page"].as_str().unwrap_or_default();
        let quote = passage["text"].as_str().unwrap_or_default();
        let at = |name: &str| passage[name].as_u64().unwrap_or(u64::MAX) as usize;
        let stored = left.pages.get(hash).and_then(|page| page["text"].as_str());
        let there = stored.and_then(|text| text.get(at("start")..at("end")));
        if quote.trim().is_empty() || there != Some(quote) {
            found.push(format!("`{quote:.60}` does not stand in page {hash}"));
        }
    }
    found
}

/// Words that no person should read at the end of a run.
const PROGRAMMERS_WORDS: [&str; 9] =
    ["panicked", "Some(", "None)", "Err(", "Ok(", "unwrap", "Error {", "assertion", "\u{0}"];

/// What is wrong with a sentence for a person.
pub(super) fn unplain(text: &str) -> Option<String> {
    if text.trim().is_empty() {
        return Some("nothing is told".to_owned());
    }
    let word = PROGRAMMERS_WORDS.iter().find(|word| text.contains(**word));
    word.map(|word| format!("`{}` in `{text:.120}`", word.escape_default()))
}

fn ending(left: &Left) -> Vec<String> {
    let Some((_, last)) = left.events.last() else {
        return vec!["no event was told".to_owned()];
    };
    let mut found = Vec::new();
    let status = left.row["status"].as_str().unwrap_or_default();
    let data = &last["data"];
    let expected: &[&str] = match last["type"].as_str().unwrap_or_default() {
        "run.completed" => &["completed", "max_iterations_reached"],
        "run.cancelled" => &["cancelled"],
        "run.failed" => {
            let kind = data["kind"].as_str().unwrap_or_default();
            if ["", "internal"].contains(&kind) {
                found.push(format!("failed as `{kind}`: {}", data["reason"]));
            }
            if kind == "setup" && data["hint"].as_str().is_none_or(str::is_empty) {
                found.push(format!("no hint what to do: {}", data["reason"]));
            }
            found.extend(unplain(data["reason"].as_str().unwrap_or_default()));
            &["failed"]
        }
        _ => &[],
    };
    if !expected.contains(&status) {
        found.push(format!("the last event is {}, the status `{status}`", last["type"]));
    }
    if last["type"] == "run.completed" && left.last("report.ready").is_none() {
        found.push("the run completed without a report".to_owned());
    }
    let unaided = left.events.iter().filter(|it| it.1["type"] == "step.unaided");
    for (_, event) in unaided {
        found.extend(unplain(event["data"]["reason"].as_str().unwrap_or_default()));
    }
    found
}

/// Every quote stands in a text that the world served for the address of its page.
pub(super) fn served(left: &Left, books: &Books) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for passage in all_passages(left) {
        let hash = passage["page"].as_str().unwrap_or_default();
        let quote = passage["text"].as_str().unwrap_or_default();
        let url = left.pages.get(hash).and_then(|page| page["url"].as_str()).unwrap_or_default();
        let served = books.served.get(url);
        if !served.is_some_and(|texts| texts.iter().any(|text| text.contains(quote))) {
            breaches.push((Invariant::Quotes, format!("`{quote:.60}` was never served by {url}")));
        }
    }
    breaches
}

/// What the world knows besides: what it served, what was sent, what was billed.
pub(super) fn in_world(left: &Left, books: &Books, bounds: Bounds, forgot: bool) -> Vec<Breach> {
    let mut breaches = served(left, books);
    // A disk that forgets what was synced forgets what was spent and sent, too.
    if forgot {
        return breaches;
    }
    if bounds.usd.is_some_and(|usd| books.billed > usd + ROUNDING_USD) {
        breaches.push((Invariant::Spend, format!("${:.6} of {:?}", books.billed, bounds.usd)));
    }
    let external = |port| matches!(port, Port::Engine | Port::Page);
    let distinct: BTreeSet<&str> =
        books.sent.iter().filter(|it| external(it.port)).map(|it| it.key.as_str()).collect();
    if bounds.calls.is_some_and(|calls| distinct.len() as u64 > calls) {
        breaches
            .push((Invariant::Spend, format!("{} calls of {:?}", distinct.len(), bounds.calls)));
    }
    let mut times: BTreeMap<&str, i64> = BTreeMap::new();
    for sent in books.sent.iter().filter(|it| it.port != Port::Model) {
        *times.entry(&sent.key).or_default() += 1;
    }
    let kept: BTreeMap<String, &Step> =
        left.steps.iter().filter_map(|step| Some((world_key(step)?, step))).collect();
    for (key, times) in times {
        match kept.get(key) {
            None => breaches.push((
                Invariant::Agreement,
                format!("`{key:.80}` was sent and is not in the journal"),
            )),
            Some(step) if times > step.sent => breaches.push((
                Invariant::Repeats,
                format!("`{key:.80}` was sent {times} times, by the journal {}", step.sent),
            )),
            Some(_) => {}
        }
    }
    breaches
}

/// What a session found answered must be so for good, and must not be sent again. `session` is the first after it.
pub(super) fn since(before: &Left, after: &Left, books: &Books, session: u32) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let now: BTreeMap<&str, &Step> =
        after.steps.iter().map(|step| (step.key.as_str(), step)).collect();
    let again: BTreeSet<&str> = books
        .sent
        .iter()
        .filter(|sent| sent.session >= session)
        .map(|sent| sent.key.as_str())
        .collect();
    for step in before.answered() {
        if now.get(step.key.as_str()) != Some(&step) {
            let text = format!("{} `{:.80}` was answered and changed", step.door, step.asked);
            breaches.push((Invariant::Repeats, text));
        }
        if world_key(step).is_some_and(|key| again.contains(key.as_str())) {
            let text = format!("{} `{:.80}` was answered and sent again", step.door, step.asked);
            breaches.push((Invariant::Repeats, text));
        }
    }
    if !after.events.starts_with(&before.events) {
        breaches.push((Invariant::Agreement, "a stored event changed or is gone".to_owned()));
    }
    breaches
}

/// The key under which the world books the call of a step; `None` for what is no call.
fn world_key(step: &Step) -> Option<String> {
    let asked = |name: &str| step.asked[name].as_str();
    let (kind, name) = step.door.split_once(':')?;
    match kind {
        "search" => Some(search_key(name, &step.asked)),
        "read" => Some(read_key(asked("url")?)),
        "rank" => Some(rank_key(asked("query")?, asked("texts")?)),
        "model" => {
            let messages = step.asked["messages"].as_array()?;
            let texts: Vec<&str> = messages.iter().filter_map(|it| it["text"].as_str()).collect();
            Some(model_key(asked("purpose")?, !step.asked["schema"].is_null(), &texts))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
