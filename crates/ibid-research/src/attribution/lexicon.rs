//! The words that decide a verdict: negations, hedges, directions, opposites.
//!
//! All lists hold lower-case stems from [`ibid_core::domain::words::stem`], so that one entry covers all
//! forms of a word. They were written by hand from general knowledge of English.

/// Words that negate a statement. Whole words, not stems.
pub(super) fn is_negation(word: &str) -> bool {
    NEGATIONS.contains(&word) || word.ends_with("n't") || word.ends_with("n’t")
}

const NEGATIONS: &[&str] = &[
    "no",
    "not",
    "never",
    "none",
    "neither",
    "nor",
    "nobody",
    "nothing",
    "nowhere",
    "without",
    "cannot",
    "hardly",
    "scarcely",
    "barely",
    "lack",
    "lacks",
    "lacked",
    "lacking",
    "fail",
    "fails",
    "failed",
    "failing",
    "unable",
    "absence",
    "absent",
    "refused",
    "denied",
    "denies",
    "deny",
    "refuse",
    "false",
    "untrue",
    "unlikely",
    "impossible",
    "neglected",
    "instead",
];

/// Words that weaken a statement.
pub(super) fn is_hedge(word: &str) -> bool {
    matches!(
        word,
        "may"
            | "might"
            | "could"
            | "possibly"
            | "possible"
            | "perhaps"
            | "probably"
            | "likely"
            | "suggest"
            | "suggests"
            | "suggested"
            | "appears"
            | "appear"
            | "seems"
            | "seem"
            | "potentially"
            | "potential"
            | "reportedly"
            | "allegedly"
            | "alleged"
            | "sometimes"
            | "some"
            | "often"
            | "usually"
            | "generally"
            | "believed"
            | "considered"
            | "thought"
            | "hypothesized"
            | "speculated"
            | "proposed"
            | "plans"
            | "planned"
            | "expected"
            | "if"
    )
}

/// +1 for a stem that means more, −1 for one that means less, 0 for neither.
pub(super) fn direction(stem: &str) -> i8 {
    if UP.contains(&stem) {
        1
    } else if DOWN.contains(&stem) {
        -1
    } else {
        0
    }
}

const UP: &[&str] = &[
    "increas",
    "rise",
    "rose",
    "risen",
    "grow",
    "grew",
    "grown",
    "growth",
    "higher",
    "high",
    "more",
    "great",
    "greater",
    "gain",
    "gained",
    "boost",
    "expand",
    "accelerat",
    "acceler",
    "enhanc",
    "elev",
    "promot",
    "improv",
    "strengthen",
    "upregul",
    "surg",
    "climb",
    "warm",
    "larger",
    "longer",
    "warmer",
    "faster",
    "stronger",
    "upward",
    "exceed",
    "escal",
    "worsen",
];
const DOWN: &[&str] = &[
    "decreas",
    "declin",
    "fall",
    "fell",
    "fallen",
    "drop",
    "lower",
    "low",
    "less",
    "fewer",
    "reduc",
    "reduct",
    "loss",
    "lose",
    "lost",
    "shrink",
    "shrank",
    "slow",
    "diminish",
    "weaken",
    "inhibit",
    "suppress",
    "prevent",
    "downregul",
    "cool",
    "smaller",
    "shorter",
    "cooler",
    "slower",
    "weaker",
    "downward",
    "attenu",
    "lessen",
    "mitig",
    "plummet",
    "retreat",
    "allevi",
];

type OpposingStems = (&'static [&'static str], &'static [&'static str]);

const OPPOSITES: &[OpposingStems] = &[
    (&["posit"], &["negat"]),
    (&["before", "prior", "preced"], &["after", "follow", "subsequ"]),
    (&["win", "won", "victori", "defeat", "beat"], &["lose", "lost", "loss"]),
    (&["success", "succeed"], &["fail", "failur", "unsuccess"]),
    (
        &["allow", "permit", "legal", "author"],
        &["ban", "prohibit", "forbid", "forbidden", "illeg", "block"],
    ),
    (&["support", "endors", "favor", "favour"], &["oppos", "against", "reject", "critic"]),
    (&["accept", "approv"], &["reject", "refus", "declin", "deni"]),
    (&["agre", "agreement"], &["disagre", "disagreement"]),
    (&["like", "likely"], &["unlik"]),
    (&["safe", "safeti"], &["danger", "unsaf", "harm", "toxic"]),
    (&["effect", "effica"], &["ineffect", "useless"]),
    (&["benefici", "benefit", "help"], &["harm", "detriment", "damag"]),
    (&["north", "northern"], &["south", "southern"]),
    (&["east", "eastern"], &["west", "western"]),
    (&["male", "man", "men", "boy"], &["femal", "woman", "women", "girl"]),
    (&["father", "husband", "brother", "son"], &["mother", "wife", "sister", "daughter"]),
    (&["live", "aliv", "surviv"], &["die", "dead", "death", "kill"]),
    (&["begin", "start", "open", "launch"], &["end", "finish", "close", "stop"]),
    (&["early", "earli", "earlier"], &["late", "later"]),
    (&["old", "older", "oldest", "elder"], &["young", "younger", "youngest", "new"]),
    (&["first"], &["last", "final", "second", "third"]),
    (&["best"], &["worst"]),
    (&["good"], &["bad", "poor"]),
    (&["major", "main"], &["minor"]),
    (&["majority", "major", "most"], &["minor", "few"]),
    (&["always"], &["never", "rare", "seldom"]),
    (&["often", "frequent", "common"], &["rare", "seldom", "uncommon"]),
    (&["all", "everi"], &["none", "some"]),
    (&["same", "similar", "ident"], &["differ", "unlik", "dissimilar"]),
    (&["includ"], &["exclud", "except"]),
    (&["rich", "wealthi"], &["poor"]),
    (&["guilti", "convict"], &["innoc", "acquit"]),
    (
        &["true", "truth", "correct", "accur"],
        &["fals", "untru", "incorrect", "inaccur", "wrong", "myth"],
    ),
    (&["natur"], &["artifici", "synthet", "human"]),
    (&["public"], &["privat"]),
    (&["intern"], &["extern"]),
    (&["indoor"], &["outdoor"]),
    (&["hot", "warm"], &["cold", "cool"]),
    (&["fast", "quick", "rapid"], &["slow"]),
    (&["strong"], &["weak"]),
    (&["heavi"], &["light"]),
    (&["simpl", "easi"], &["complex", "difficult", "hard"]),
    (&["buy", "bought", "purchas", "acquir"], &["sell", "sold"]),
    (&["arriv", "enter", "join"], &["leav", "left", "depart", "exit", "quit", "resign"]),
    (&["love"], &["hate", "dislik"]),
    (&["activ"], &["inact", "passiv", "inhibit"]),
    (&["dominant"], &["recess"]),
    (&["depend"], &["independ"]),
    (&["direct"], &["indirect"]),
    (&["upper"], &["lower"]),
    (&["left"], &["right"]),
    (&["domest"], &["foreign", "wild"]),
    (&["abl"], &["unabl"]),
    (&["present"], &["absent", "absenc"]),
    (&["known"], &["unknown"]),
    (&["certain"], &["uncertain"]),
    (&["necessari"], &["unnecessari"]),
    (&["relat", "associ", "correl"], &["unrel"]),
    (&["popular"], &["unpopular"]),
    (&["permanent"], &["temporari"]),
    (&["major"], &["minor"]),
    (&["caus", "induc", "trigger"], &["prevent", "protect", "inhibit", "block"]),
    (&["protect"], &["risk", "expos"]),
    (&["worsen"], &["improv"]),
    (&["sensit"], &["resist"]),
    (&["fiction"], &["real", "nonfict"]),
    (&["winner"], &["loser", "runner-up"]),
];

/// The stems that contradict `stem` where they take its place.
pub(super) fn opposites(stem: &str) -> impl Iterator<Item = &'static str> {
    OPPOSITES
        .iter()
        .flat_map(move |(x, y)| match (x.contains(&stem), y.contains(&stem)) {
            (true, _) => y.iter(),
            (_, true) => x.iter(),
            _ => [].iter(),
        })
        .copied()
}

/// Stems so common that finding them in a source means little.
pub(super) fn is_common(stem: &str) -> bool {
    COMMON.contains(&stem)
}

const COMMON: &[&str] = &[
    "use", "make", "made", "one", "two", "time", "year", "day", "way", "also", "get", "go", "come",
    "came", "take", "took", "taken", "give", "given", "gave", "see", "seen", "know", "known",
    "say", "said", "think", "thought", "find", "found", "peopl", "person", "man", "men", "woman",
    "women", "thing", "mani", "much", "well", "new", "old", "good", "great", "first", "last",
    "long", "part", "place", "work", "includ", "call", "name", "like", "becom", "becam", "show",
    "shown", "differ", "number", "world", "life", "live", "begin", "start", "end", "high", "larg",
    "small", "set", "group", "need", "help", "case", "result", "caus", "lead", "led", "effect",
    "import", "play", "accord", "state", "provid", "around", "even", "back", "still", "sever",
    "often", "main", "follow", "base", "form", "general", "common", "increas", "chang", "due",
    "report", "studi", "want", "look", "tri", "ask", "tell", "told", "feel", "put", "keep", "kept",
    "let", "seem", "turn", "leav", "left", "area", "point", "fact", "kind", "type", "okay", "ever",
    "never", "us", "can", "may", "would", "without", "within", "among", "sinc", "although",
    "though", "yet", "later", "earli", "now", "today", "current", "three", "four", "five", "week",
    "month", "real", "big", "littl", "right", "bad", "better", "best", "likely", "consid",
];
