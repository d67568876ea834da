//! The checklist, from the kind of question and the question's own parts.
use crate::prompts;
use crate::prompts::{Facet, fill_template};
use ibid_core::domain::{
    Brief, ChecklistItem, Complexity, ItemId, Plan, QuestionKind, SectionPlan, WritingPlan,
};
use ibid_core::{Error, ErrorKind, Result};

use super::asked_facet::judged_facet;
use super::asked_years::asked_years;
use super::instructions::leaves_out_sources;
use super::intake;
use super::lexicon::{has_phrase, sentence_case, spaced};
use super::question_kind::{compared_in, differing_things, without_comparative};
use super::question_parts;

/// Maximum number of items of a plan.
pub(crate) const MAX_ITEMS: usize = 7;
/// Maximum number of parts of a question that have an item each.
const MAX_PARTS: usize = 5;
/// Minimum number of items of a plan.
pub(crate) const MIN_ITEMS: usize = 3;

/// The plan for `brief`.
pub(crate) fn build_plan(brief: &Brief) -> Result<Plan> {
    let words = prompts::phrases()?;
    let parts = question_parts::parts(&brief.question, words);
    let mut items = Vec::new();
    if parts.len() > 1 {
        for part in parts.iter().take(MAX_PARTS) {
            let mut item = part_item(brief, part, items.len());
            // "History of roofs" is judged by the cues of a history; the first part stays the question itself.
            if let Some(facet) = aspect_facet(part)?.filter(|_| !items.is_empty()) {
                item.heading.clone_from(&facet.heading);
            }
            items.push(item);
        }
    }
    if brief.lang == "en" {
        add_facets(brief, &mut items)?;
    } else if items.is_empty() {
        add_subjects(brief, &mut items);
    }
    // A question of a form that no rule knows is asked as it is.
    if items.is_empty() {
        items.push(part_item(brief, &brief.question, 0));
    }
    let complexity = match (brief.kind, parts.len()) {
        (_, 3..) => Complexity::Complex,
        (QuestionKind::Comparison | QuestionKind::Causal | QuestionKind::Open, _) | (_, 2) => {
            Complexity::Moderate
        }
        _ => Complexity::Simple,
    };
    let writing = writing_plan(brief, &items)?;
    Plan::new(items, complexity, writing)
        .ok_or_else(|| Error::new(ErrorKind::Internal, "making a plan: the checklist is empty"))
}

/// The facet for an aspect that a question lists: that of histories for "History of green roofs".
fn aspect_facet(part: &str) -> Result<Option<&'static Facet>> {
    let aspects = &prompts::phrases()?.question.aspect_facets;
    let aspect = part.split(" of ").next().unwrap_or_default().to_lowercase();
    let facets = &prompts::plan_words()?.facets;
    Ok(aspects.get(&aspect).and_then(|name| facets.get(name)))
}

/// The item for one part of the question.
pub(crate) fn part_item(brief: &Brief, part: &str, before: usize) -> ChecklistItem {
    let own = intake::subjects(part);
    let heading = part.trim_end_matches(['?', '.', ' ']);
    // "Benefits of green roofs".
    let judged = heading.strip_prefix("What are the ").filter(|_| judged_facet(part).is_some());
    let heading = sentence_case(judged.unwrap_or(heading));
    // A later part often leaves out the subject.
    let anchor = brief.subjects.first().cloned().unwrap_or_default();
    let query = if part.contains(anchor.as_str()) || anchor.is_empty() {
        part.to_owned()
    } else {
        format!("{part} {anchor}")
    };
    ChecklistItem {
        id: ItemId::new(before as u32 + 1),
        asks: part.to_owned(),
        heading,
        terms: own,
        query,
    }
}

fn add_facets(brief: &Brief, items: &mut Vec<ChecklistItem>) -> Result<()> {
    let words = prompts::plan_words()?;
    let (a, b) = comparison_sides(brief);
    let listed = listed_things(brief).filter(|_| brief.kind == QuestionKind::Comparison);
    // The question's own parts are the core items; a facet for the whole question would repeat them.
    let skip = usize::from(!items.is_empty());
    let room = if skip == 1 { 5 } else { MAX_ITEMS };
    let facets = if is_choice(brief, &a, &b)? {
        words.facets_of_choice()
    } else if brief.kind == QuestionKind::Open && asked_years(&brief.question).is_some() {
        words.facets_of_history()
    } else {
        words.facets_of(brief.kind)
    };
    let criterion = comparison_criterion(&brief.question, &a, &b);
    let scope = comparison_scope(&brief.question, &a, &b);
    let in_place = scope.split(' ').any(|word| word.starts_with(char::is_uppercase));
    for (name, facet) in facets.into_iter().skip(skip) {
        // Where the comparison is for a place, its law counts, and how well each works there; elsewhere, how each fails and what
        // is recommended.
        let other = if in_place { ["drawbacks", "advice"] } else { ["performance", "rules"] };
        // Who asks which one cools better does not ask what they cost.
        let asked = ["comparison", "side_a", "side_b", "limits"];
        if other.contains(&name) || (criterion.is_some() && !asked.contains(&name)) {
            continue;
        }
        if items.len() >= room.max(MIN_ITEMS) {
            break;
        }
        let sides = match (name, listed.as_deref()) {
            ("side_a", Some([first, ..])) => vec![(first.clone(), b.clone())],
            ("side_b", Some([_, others @ ..])) => {
                others.iter().map(|other| (a.clone(), other.clone())).collect()
            }
            (_, Some([before @ .., last])) => vec![(before.join(", "), last.clone())],
            _ => vec![(a.clone(), b.clone())],
        };
        for (a, b) in sides {
            let mut item = facet_item(brief, facet, &a, &b, items.len());
            if let Some(criterion) = criterion.as_ref().filter(|_| name.starts_with("side_")) {
                item.asks = format!("{}: {criterion}", item.heading);
                item.query = format!("{} {criterion}", item.query);
            }
            items.push(item);
        }
    }
    Ok(())
}

/// By what two things are compared, where the question says so after both: "cools a city" of "A or B: which cools a city better?"
fn comparison_criterion(question: &str, a: &str, b: &str) -> Option<String> {
    const WHICH: &[&str] = &["which one", "which of them", "which"];
    const DEGREES: &[&str] = &["better", "best", "more", "most", "less", "least"];
    if let Some((_, criterion)) = compared_in(question) {
        return Some(criterion.to_owned());
    }
    let ends = [a, b].into_iter().filter_map(|side| question.rfind(side).map(|at| at + side.len()));
    let rest = question[ends.max()?..].trim_start_matches([':', ',', ';', '?', '-', '–', ' ']);
    let lower = rest.to_ascii_lowercase();
    let which = WHICH.iter().find(|which| lower.starts_with(&format!("{which} ")))?;
    let mut words: Vec<&str> =
        rest[which.len()..].trim_end_matches(['?', '.', ' ']).split(' ').collect();
    words.retain(|word| !word.is_empty());
    while words.last().is_some_and(|word| DEGREES.contains(&word.to_ascii_lowercase().as_str())) {
        words.pop();
    }
    // "Which is better" and "which should I choose" name no criterion.
    let first = *words.first()?;
    let named = words.len() > 1 && !["is", "are", "should", "would", "do", "can"].contains(&first);
    named.then(|| words.join(" "))
}

fn facet_item(brief: &Brief, facet: &Facet, a: &str, b: &str, before: usize) -> ChecklistItem {
    let topic = subject_phrase(brief);
    let question = brief.question.trim_end_matches(['?', '.', ' ']);
    let scope = comparison_scope(question, a, b);
    let values = |subject| {
        [("subject", subject), ("question", question), ("a", a), ("b", b), ("scope", &*scope)]
    };
    // "Figures on a green roof" is asked, "green roof percent rate number" is searched for.
    let named = subject_span(brief).unwrap_or_else(|| topic.clone());
    let named = with_article(&brief.question, &named);
    let heading = fill_template(&facet.heading, &values(&*topic));
    let terms = match facet.heading.as_str() {
        "{a}" => vec![a.to_owned()],
        "{b}" => vec![b.to_owned()],
        _ => brief.subjects.clone(),
    };
    ChecklistItem {
        id: ItemId::new(before as u32 + 1),
        asks: fill_template(&facet.asks, &values(&*named)),
        heading: sentence_case(&heading),
        terms,
        query: fill_template(&facet.query, &values(&*topic)),
    }
}

/// The two subjects of [`subject_phrase`] with what the question has between them, "Roman Empire fall in the west", where it is no "and".
fn subject_span(brief: &Brief) -> Option<String> {
    const MAX_BETWEEN: usize = 40;
    let [first, second, ..] = brief.subjects.as_slice() else { return None };
    if subject_phrase(brief) != format!("{first} and {second}") {
        return None;
    }
    let at = |it: &String| Some((brief.question.find(it.as_str())?, it.len()));
    let ((one, length), (other, other_length)) = (at(first)?, at(second)?);
    let (start, from, to, end) = match one < other {
        true => (one, one + length, other, other + other_length),
        false => (other, other + other_length, one, one + length),
    };
    let between = brief.question.get(from..to)?;
    let joins = between.contains([',', ';', ':']) || has_phrase(&spaced(between), "and");
    let asked = brief.kind == QuestionKind::Why || brief.kind == QuestionKind::HowTo;
    (asked && !joins && between.len() <= MAX_BETWEEN).then(|| brief.question[start..end].to_owned())
}

/// `subject` with the article that it has in the question.
fn with_article(question: &str, subject: &str) -> String {
    let asked = spaced(question);
    let article = ["a", "an", "the"]
        .into_iter()
        .find(|article| has_phrase(&asked, &format!("{article} {}", subject.to_lowercase())));
    article.map_or_else(|| subject.to_owned(), |article| format!("{article} {subject}"))
}

/// The subject in templates: the first, or the first two where the first is a single word.
pub(crate) fn subject_phrase(brief: &Brief) -> String {
    let listed = listed_things(brief).filter(|_| brief.kind == QuestionKind::Comparison);
    if let Some([before @ .., last]) = listed.as_deref() {
        return format!("{} and {last}", before.join(", "));
    }
    // "The Aral Sea and 1960" is no subject.
    let is_year = |text: &str| text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    let subjects: Vec<&String> = brief.subjects.iter().filter(|it| !is_year(it)).collect();
    match subjects.as_slice() {
        [] => brief.question.clone(),
        [only] => (*only).clone(),
        [first, second, ..] if first.contains(' ') && second.len() < 4 => (*first).clone(),
        [first, second, ..] => format!("{first} and {second}"),
    }
}

/// In another language than English, the question itself and its subjects of several words are the checklist. A bare word finds what was
/// not asked.
fn add_subjects(brief: &Brief, items: &mut Vec<ChecklistItem>) {
    let question = brief.question.trim_matches(|c: char| !c.is_alphanumeric());
    let mut asks = vec![brief.question.clone()];
    let is_wide = |subject: &&String| *subject != question && subject.contains(' ');
    asks.extend(brief.subjects.iter().filter(is_wide).take(2).cloned());
    for text in asks {
        items.push(ChecklistItem {
            id: ItemId::new(items.len() as u32 + 1),
            heading: sentence_case(text.trim_end_matches(['?', '？', '.', '。'])),
            terms: brief.key_terms.clone(),
            query: text.clone(),
            asks: text,
        });
    }
}

/// Whether a comparison is of two things to choose from: "better", or "for an old house". Mitosis and meiosis have no price.
fn is_choice(brief: &Brief, a: &str, b: &str) -> Result<bool> {
    let words = &prompts::phrases()?.question;
    Ok(brief.kind == QuestionKind::Comparison
        && (!comparison_scope(&brief.question, a, b).is_empty()
            || has_phrase(&spaced(&brief.question), "or")
            || words.choice.any_in(&spaced(&brief.question))))
}

/// What the two sides are compared for, after both: " for an old house in Germany". Empty where the question does not say.
fn comparison_scope(question: &str, a: &str, b: &str) -> String {
    const OPENINGS: &[&str] = &["for", "in", "on", "at", "as", "under", "during", "when", "with"];
    let ends = [a, b].into_iter().filter_map(|side| question.rfind(side).map(|at| at + side.len()));
    let Some(rest) = ends.max().map(|end| &question[end..]) else {
        return String::new();
    };
    let opens = OPENINGS
        .iter()
        .any(|word| rest.trim_start().strip_prefix(word).is_some_and(|rest| rest.starts_with(' ')));
    if opens { format!(" {}", rest.trim()) } else { String::new() }
}

/// The two sides of a comparison: "between A and B", "compare A and B", "A versus B", "A or B", or else the first two subjects.
pub(crate) fn comparison_sides(brief: &Brief) -> (String, String) {
    let text = without_measures(&brief.question).0;
    // "How do A and B differ" compares as "compare A and B" does.
    let differing = differing_things(text);
    let text = differing.unwrap_or_else(|| without_comparative(text));
    let lower = text.to_ascii_lowercase();
    let after_between = lower.find("between ").map(|at| at + "between ".len());
    let after_compare = lower.starts_with("compare ").then_some("compare ".len());
    let after_compare = after_compare.or(differing.map(|_| 0));
    // "Compare A, B and C": all of them are kept, the others as the second side.
    let listed = listed_things(brief).and_then(|_| {
        let (first, others) = text.get(after_compare.or(after_between)?..)?.split_once(", ")?;
        Some((first.trim().to_owned(), others.to_owned()))
    });
    let found = listed
        .or_else(|| after_between.and_then(|from| split_at(text, &lower, from, " and ")))
        .or_else(|| {
            [" with ", " to ", " and "]
                .into_iter()
                .find_map(|joint| split_at(text, &lower, after_compare?, joint))
        })
        .or_else(|| split_at(text, &lower, 0, " versus "))
        .or_else(|| split_at(text, &lower, 0, " vs. "))
        .or_else(|| split_at(text, &lower, 0, " vs "))
        .or_else(|| split_at(text, &lower, 0, " compared to "))
        .or_else(|| split_at(text, &lower, 0, " compared with "))
        .or_else(|| split_at(text, &lower, 0, " compare to "))
        .or_else(|| split_at(text, &lower, 0, " compare with "))
        .or_else(|| split_at(text, &lower, 0, " differ from "))
        .or_else(|| split_at(text, &lower, 0, " better than "))
        .or_else(|| alike_sides(text))
        .or_else(|| split_at(text, &lower, 0, " or "));
    let mut subjects = brief.subjects.iter().cloned();
    let (a, b) = found.unwrap_or_else(|| {
        (subjects.next().unwrap_or_default(), subjects.next().unwrap_or_default())
    });
    (whole_side(a, &b), b)
}

/// A comparison without what it is by, and whether it names the things: "compare A and B by weight and price" does, "compare the berths
/// by depth" does not.
pub(crate) fn without_measures(question: &str) -> (&str, bool) {
    let text = question.trim_end_matches(['?', '.', ' ']);
    let compares = text.get(..8).is_some_and(|opening| opening.eq_ignore_ascii_case("compare "));
    let by = [" by ", " in terms of ", " with regard to "];
    let at = by.iter().filter_map(|it| text.find(it)).min().filter(|_| compares);
    let Some(things) = at.map(|at| &text[..at]) else { return (text, true) };
    let joints = [" and ", " with ", " to ", " versus ", " vs "];
    let names = joints.iter().any(|joint| things.contains(joint));
    (if names { things } else { text }, names)
}

/// The things that are compared, two or more: "Alder", "Birch" and "Cedar" of "compare the Alder, Birch and Cedar vans".
pub(crate) fn compared_things(brief: &Brief) -> Vec<String> {
    listed_things(brief).unwrap_or_else(|| {
        let (a, b) = comparison_sides(brief);
        vec![a, b]
    })
}

/// Most things that are compared: each is searched for and has a column.
const MAX_THINGS: usize = 6;

/// The things of a comparison of three or more: "compare A, B and C", "how do A, B and C differ", "between A, B and C".
fn listed_things(brief: &Brief) -> Option<Vec<String>> {
    let text = without_measures(&brief.question).0;
    let listed = differing_things(text).or_else(|| {
        let text = without_comparative(text);
        let lower = text.to_ascii_lowercase();
        let between = || lower.find("between ").map(|at| at + "between ".len());
        let from = lower.starts_with("compare ").then_some("compare ".len()).or_else(between)?;
        text.get(from..)
    })?;
    let (before, last) = listed.rsplit_once(" and ")?;
    let mut things: Vec<&str> = before.trim_end_matches(',').split(", ").collect();
    things.push(last);
    let bare = |thing: &&str| {
        let thing = thing.trim();
        let article = ["the ", "The ", "a ", "an "].into_iter().find(|it| thing.starts_with(it));
        thing[article.map_or(0, str::len)..].to_owned()
    };
    let mut things: Vec<String> = things.iter().map(bare).collect();
    let words = |thing: &String| thing.split(' ').count();
    // The noun of "Alder, Birch and Cedar vans" is that of all; "red pine" is a name of two words.
    let (last, others) = things.split_last_mut()?;
    let is_name = |thing: &String| words(thing) == 1 && thing.starts_with(char::is_uppercase);
    if let (true, Some((name, noun))) = (others.iter().all(is_name), last.split_once(' '))
        && noun.starts_with(char::is_lowercase)
        && name.starts_with(char::is_uppercase)
    {
        *last = name.to_owned();
    }
    let is_short = things.iter().all(|thing| (1..=3).contains(&words(thing)));
    ((3..=MAX_THINGS).contains(&things.len()) && is_short).then_some(things)
}

/// The two sides of "code first or design first", which end in one word: as many words before "or" as after it.
fn alike_sides(text: &str) -> Option<(String, String)> {
    let (before, right) = text.split_once(" or ")?;
    let right: Vec<&str> = right.split_whitespace().collect();
    let left: Vec<&str> = before.split_whitespace().collect();
    let from = left.len().checked_sub(right.len())?;
    let alike = right.len() > 1 && left.last() == right.last();
    alike.then(|| (left[from..].join(" "), right.join(" ")))
}

/// The words that distinguish the sides of a comparison, one of each.
pub(crate) fn distinguishing_words(brief: &Brief) -> Vec<String> {
    let things: Vec<String> = compared_things(brief).iter().map(|it| spaced(it)).collect();
    let own = |(nth, thing): (usize, &String)| {
        let others = |at: &usize| *at != nth;
        thing
            .split(' ')
            .filter(|part| part.len() > 1)
            .find(|part| (0..things.len()).filter(others).all(|it| !has_phrase(&things[it], part)))
            .map(str::to_owned)
    };
    let words: Vec<String> = things.iter().enumerate().filter_map(own).collect();
    // Of three things, each needs a word of its own.
    if things.len() > 2 && words.len() < things.len() { Vec::new() } else { words }
}

/// Completes a side: "extensive" of "an extensive and an intensive green roof" becomes "extensive green
/// roof".
fn whole_side(a: String, b: &str) -> String {
    const ADJECTIVE: &[&str] =
        &["ive", "al", "ic", "ous", "ary", "ant", "ent", "able", "ible", "ar", "ed"];
    let head = b.split_once(' ').map(|parts| parts.1);
    match head {
        Some(head) if !a.contains(' ') && ADJECTIVE.iter().any(|suffix| a.ends_with(suffix)) => {
            format!("{a} {head}")
        }
        _ => a,
    }
}

fn split_at(text: &str, lower: &str, from: usize, joint: &str) -> Option<(String, String)> {
    let at = from + lower.get(from..)?.find(joint)?;
    let left = intake::subjects(&text[from..at]);
    let right = intake::subjects(&text[at + joint.len()..]);
    let last = |all: Vec<String>, text: &str, end: bool| {
        // The side is the phrase next to the conjunction.
        all.into_iter().max_by_key(|it| {
            let place = text.find(it.as_str()).unwrap_or(0);
            if end { place } else { text.len() - place }
        })
    };
    Some((last(left, &text[from..at], true)?, last(right, &text[at + joint.len()..], false)?))
}

fn writing_plan(brief: &Brief, items: &[ChecklistItem]) -> Result<WritingPlan> {
    let words = &prompts::plan_words()?.writing;
    Ok(WritingPlan {
        overall_goal: fill_template(&words.overall_goal, &[("question", &brief.question)]),
        desired_tone: words.desired_tone.clone(),
        sections: items
            .iter()
            .map(|item| SectionPlan {
                title: item.heading.clone(),
                guidance: fill_template(&words.guidance, &[("asks", &item.asks)]),
                items: vec![item.id],
            })
            .collect(),
        additional_directives: words.directives.clone(),
        bibliography: !leaves_out_sources(brief.effective_question())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_criterion_of_a_comparison_is_what_follows_which() {
        let criterion = |question: &str| comparison_criterion(question, "Green roof", "cool roof");
        let asked = "Green roof or cool roof: which cools a city better?";
        assert_eq!(criterion(asked).as_deref(), Some("cools a city"));
        let asked = "Green roof or cool roof, which one lasts longer in the sun?";
        assert_eq!(criterion(asked).as_deref(), Some("lasts longer in the sun"));
        for asked in [
            "Green roof or cool roof: which is better?",
            "Green roof or cool roof, which should I choose?",
            "Green roof or cool roof for an old house?",
        ] {
            assert_eq!(criterion(asked), None, "{asked}");
        }
        let plan = crate::plan_from_brief(&crate::test_support::brief(
            "Green roof or cool roof: which cools a city better?",
        ))
        .unwrap();
        let headings: Vec<&str> = plan.items().iter().map(|item| item.heading.as_str()).collect();
        assert_eq!(headings, ["Side by side", "Green roof", "Cool roof"]);
        assert!(plan.items()[2].query.contains("cools a city"), "{}", plan.items()[2].query);
    }
}
