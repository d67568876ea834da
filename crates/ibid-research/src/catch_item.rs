//! Catch items: questions that no page answers, put beside those asked, to see whether a model makes up findings.
use ibid_core::Result;
use ibid_core::domain::words::content_stems;
use ibid_core::domain::{Brief, ChecklistItem, ItemId, Plan};

use super::prompts;

/// An item that no page answers, to catch a model that finds something for whatever it is asked. It shares no word with the question; `None` where each does.
pub(crate) fn catch_item(brief: &Brief, plan: &Plan) -> Result<Option<ChecklistItem>> {
    let items = plan.items().iter().map(|item| format!("{} {}", item.heading, item.asks));
    let asked: Vec<String> = items.chain([brief.question.clone()]).collect();
    let asked = content_stems(&asked.join(" "));
    let last = plan.items().iter().map(|item| item.id.number()).max().unwrap_or_default();
    let topics = &prompts::prompt_lines()?.catch_items;
    let foreign = |text: &&String| content_stems(text).iter().all(|stem| !asked.contains(stem));
    Ok(topics.iter().find(foreign).map(|asks| ChecklistItem {
        id: ItemId::new(last + 1),
        heading: asks.clone(),
        asks: asks.clone(),
        terms: Vec::new(),
        query: String::new(),
    }))
}
