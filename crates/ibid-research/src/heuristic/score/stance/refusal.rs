//! What takes a yes back without a negation: "smoking is forbidden", "refused to sign", "stopped keeping bees", "every two hours".
use ibid_core::domain::words::{is_stop_word, tokens};

use crate::heuristic::lexicon::{has_phrase, number_of_word};

/// Whether a clause forbids what the question asks for, unless it asks whether that is forbidden.
pub(super) fn forbids(asked: &str, clause: &str) -> bool {
    const FORBIDDEN: [&str; 5] = ["forbidden", "prohibited", "banned", "outlawed", "disallowed"];
    const COPULAS: [&str; 7] = ["is", "are", "was", "were", "be", "been", "remains"];
    let words = tokens(clause);
    let said = words.iter().enumerate().any(|(at, word)| {
        let before = &words[at.saturating_sub(2)..at];
        FORBIDDEN.contains(&word.text.as_str())
            && before.iter().any(|it| COPULAS.contains(&it.text.as_str()))
    });
    said && !FORBIDDEN.iter().any(|word| has_phrase(asked, word))
}

/// Whether a clause says that what the question asks to be included or free costs extra: "breakfast is charged at 12 euros".
pub(super) fn is_charged(asked: &str, clause: &str) -> bool {
    const INCLUDED: [&str; 4] = ["included", "inclusive", "free", "complimentary"];
    const CHARGED: [&str; 9] = [
        "charged at",
        "charged extra",
        "charged separately",
        "costs extra",
        "cost extra",
        "for a fee",
        "at extra cost",
        "not included",
        "paid separately",
    ];
    let asked = tokens(asked);
    let Some(at) = asked.iter().position(|it| INCLUDED.contains(&it.text.as_str())) else {
        return false;
    };
    let mut things = asked[..at].iter().filter(|it| !is_stop_word(&it.text)).peekable();
    things.peek().is_some()
        && things.all(|it| has_phrase(clause, &it.text))
        && CHARGED.iter().any(|phrase| has_phrase(clause, phrase))
}

/// Whether a sentence tells not to do something, where the question asks if one should: "do not put vinegar on it".
pub(super) fn warns(asked: &str, spaced: &str) -> bool {
    const ASKING: [&str; 8] = [
        "should i",
        "should you",
        "should we",
        "should one",
        "should people",
        "can i",
        "may i",
        "do i",
    ];
    const WARNING: [&str; 5] = [" do not ", " don't ", " don’t ", " never ", " avoid "];
    let asks = |phrase: &&str| has_phrase(asked, phrase);
    ASKING.iter().any(asks) && WARNING.iter().any(|word| spaced.starts_with(word))
}

/// Whether a word that ends or refuses a deed stands at most two words before the `at`-th word of a clause: "refused to sign",
/// "stopped keeping bees".
pub(super) fn is_given_up(asked: &str, clause: &str, at: usize) -> bool {
    const ENDING: [&str; 12] = [
        "refused",
        "refuses",
        "refuse",
        "declined",
        "declines",
        "failed",
        "fails",
        "stopped",
        "stops",
        "ceased",
        "ceases",
        "neglected",
    ];
    let words = tokens(clause);
    let before = &words[at.saturating_sub(2)..at.min(words.len())];
    before.iter().any(|it| ENDING.contains(&it.text.as_str()) && !has_phrase(asked, &it.text))
}

/// Whether a sentence has something recur less often than the question asks: "every two hours" of "every hour".
pub(super) fn recurs_less_often(asked: &str, spaced: &str) -> bool {
    let (asked, said) = (tokens(asked), tokens(spaced));
    asked.windows(2).filter(|two| two[0].text == "every").any(|two| {
        said.windows(3).any(|three| {
            let unit = three[2].text.strip_suffix('s');
            let is_several = || {
                let word = three[1].text.as_str();
                let count = number_of_word(word).unwrap_or(word).parse();
                word == "other" || count.is_ok_and(|count: f64| count > 1.0)
            };
            let is_unit = three[2].text == two[1].text || unit == Some(&two[1].text);
            three[0].text == "every" && is_unit && is_several()
        })
    })
}

/// Whether a sentence has the subject of a question only as the owner of something: "Agnes Pell's brother" of "Agnes Pell".
pub(super) fn is_only_owner(subject: &str, text: &str) -> bool {
    let lower = text.to_lowercase().replace('’', "'");
    let mut found = lower.match_indices(subject).peekable();
    let owns = |at: usize| lower[at + subject.len()..].starts_with("'s ");
    !subject.is_empty() && found.peek().is_some() && found.all(|(at, _)| owns(at))
}

/// Whether a clause says that `subject`, which the question asks to be used, did not serve: "the use of lime was limited by its poor
/// tolerability", "lime was poorly tolerated". A study of lime that was limited by its size says nothing of lime.
pub(super) fn is_unsuited(subject: &str, clause: &str) -> bool {
    const FORMS: [&str; 5] = ["is", "are", "was", "were", "being"];
    let of_use = ["use of", "treatment with"]
        .iter()
        .any(|it| has_phrase(clause, &format!("{it} {subject}")))
        && ["limited by its poor", "limited by poor", "limited by adverse"]
            .iter()
            .any(|it| has_phrase(clause, it));
    let tolerated =
        FORMS.iter().any(|form| has_phrase(clause, &format!("{subject} {form} poorly tolerated")));
    !subject.is_empty() && (of_use || tolerated)
}

/// Whether a clause denies only some of what the question asks to exist: "no bakeries that open on Sunday" of "are there any bakeries".
pub(super) fn denies_only_some(asked: &str, clause: &str) -> bool {
    const LIMITS: [&str; 5] = ["that", "who", "which", "without", "with"];
    const NEAR: usize = 6;
    let asks = ["are there", "is there", "are any", "is any"];
    let words = tokens(clause);
    let denied = words.iter().position(|it| it.text == "no");
    asks.iter().any(|it| has_phrase(asked, it))
        && denied.is_some_and(|at| {
            let limit = words[at + 1..].iter().take(NEAR).map(|it| it.text.as_str());
            limit.into_iter().any(|it| LIMITS.contains(&it) && !has_phrase(asked, it))
        })
}
