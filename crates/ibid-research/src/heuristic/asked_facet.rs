//! The facet of a thing that a question asks for by its noun.
use super::lexicon::spaced;
use ibid_core::domain::words::stem;

/// The name of the facet that a question asks for, which is its noun: "history" of "what is the history of green roofs?"
pub(crate) fn asked_facet_name(asked: &str) -> Option<&'static str> {
    const NAMED: [&str; 7] =
        ["history", "mechanism", "uses", "limits", "risks", "drawbacks", "alternatives"];
    let asked = spaced(asked);
    let (before, _) = asked.split_once(" of ")?;
    let verb = |it: &str| before.strip_prefix(it);
    let noun = [" what is the ", " what are the ", " what was the ", " what were the "]
        .into_iter()
        .find_map(verb)?;
    // "Pros and cons" are two parts, of which the first is judged here.
    let pair = noun.split_once(" and ").map(|(one, other)| (facet_alias(one), facet_alias(other)));
    if let Some((Some(first), Some(_))) = pair {
        return Some(first);
    }
    // "The legal limit" is none of the limits.
    (!noun.contains(' ')).then(|| {
        let named = NAMED.into_iter().find(|name| stem(name) == stem(noun));
        named.or_else(|| facet_alias(noun))
    })?
}

/// The facet of what speaks for something or against it, if a question asks for that.
pub(crate) fn judged_facet(asked: &str) -> Option<&'static str> {
    asked_facet_name(asked).filter(|name| matches!(*name, "benefits" | "drawbacks"))
}

/// The facet that another word for it names: that of the benefits for "advantages".
pub(crate) fn facet_alias(noun: &str) -> Option<&'static str> {
    match noun {
        "benefits" | "benefit" | "advantages" | "advantage" | "pros" | "merits" | "strengths" => {
            Some("benefits")
        }
        "disadvantages" | "disadvantage" | "cons" | "downsides" | "downside" | "weaknesses"
        | "shortcomings" | "drawbacks" | "drawback" => Some("drawbacks"),
        _ => None,
    }
}
