//! The words whose meaning the verdict depends on: negations, hedges, directions, opposites.
//!
//! All lists hold lower-case stems as [`crate::domain::words::stem`] makes them, so that one entry
//! stands for all forms of a word. They were written by hand from general knowledge of English.

/// Words that turn a statement into its opposite. Whole words, not stems.
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

/// Words that say a statement is doubted or wrong.
pub(super) fn is_refutation(word: &str) -> bool {
    matches!(
        word,
        "myth"
            | "myths"
            | "hoax"
            | "debunked"
            | "false"
            | "falsely"
            | "untrue"
            | "incorrect"
            | "incorrectly"
            | "wrong"
            | "wrongly"
            | "mistaken"
            | "mistakenly"
            | "misconception"
            | "contrary"
            | "contradict"
            | "contradicts"
            | "contradicted"
            | "refute"
            | "refuted"
            | "refutes"
            | "disproved"
            | "disproven"
            | "disputed"
            | "dispute"
            | "denied"
            | "rejected"
            | "unfounded"
            | "baseless"
            | "misleading"
            | "inaccurate"
            | "although"
            | "however"
            | "despite"
            | "instead"
            | "actually"
            | "rather"
            | "insufficient"
            | "inconclusive"
            | "unclear"
            | "uncertain"
            | "unknown"
    )
}

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

/// Words that leave no exception or single one out; a claim that has one needs a source that does.
pub(super) fn is_absolute(word: &str) -> bool {
    matches!(
        word,
        "all"
            | "always"
            | "every"
            | "everyone"
            | "everything"
            | "only"
            | "never"
            | "none"
            | "entire"
            | "entirely"
            | "completely"
            | "solely"
            | "exclusively"
            | "first"
            | "last"
            | "most"
            | "best"
            | "worst"
            | "largest"
            | "biggest"
            | "smallest"
            | "highest"
            | "lowest"
            | "greatest"
            | "oldest"
            | "youngest"
            | "longest"
            | "fastest"
            | "sole"
            | "any"
            | "both"
            | "must"
            | "guarantee"
            | "guarantees"
            | "proves"
            | "proven"
    )
}

/// +1 for a stem that speaks of more, −1 for one that speaks of less, 0 for neither.
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

type Sides = (&'static [&'static str], &'static [&'static str]);

const OPPOSITES: &[Sides] = &[
    (&["posit"], &["negat"]),
    (
        &["before", "prior", "preced"],
        &["after", "follow", "subsequ"],
    ),
    (
        &["win", "won", "victori", "defeat", "beat"],
        &["lose", "lost", "loss"],
    ),
    (&["success", "succeed"], &["fail", "failur", "unsuccess"]),
    (
        &["allow", "permit", "legal", "author"],
        &["ban", "prohibit", "forbid", "forbidden", "illeg", "block"],
    ),
    (
        &["support", "endors", "favor", "favour"],
        &["oppos", "against", "reject", "critic"],
    ),
    (
        &["accept", "approv"],
        &["reject", "refus", "declin", "deni"],
    ),
    (&["agre", "agreement"], &["disagre", "disagreement"]),
    (&["like", "likely"], &["unlik"]),
    (&["safe", "safeti"], &["danger", "unsaf", "harm", "toxic"]),
    (&["effect", "effica"], &["ineffect", "useless"]),
    (
        &["benefici", "benefit", "help"],
        &["harm", "detriment", "damag"],
    ),
    (&["north", "northern"], &["south", "southern"]),
    (&["east", "eastern"], &["west", "western"]),
    (
        &["male", "man", "men", "boy"],
        &["femal", "woman", "women", "girl"],
    ),
    (
        &["father", "husband", "brother", "son"],
        &["mother", "wife", "sister", "daughter"],
    ),
    (
        &["live", "aliv", "surviv"],
        &["die", "dead", "death", "kill"],
    ),
    (
        &["begin", "start", "open", "launch"],
        &["end", "finish", "close", "stop"],
    ),
    (&["early", "earli", "earlier"], &["late", "later"]),
    (
        &["old", "older", "oldest", "elder"],
        &["young", "younger", "youngest", "new"],
    ),
    (&["first"], &["last", "final", "second", "third"]),
    (&["best"], &["worst"]),
    (&["good"], &["bad", "poor"]),
    (&["major", "main"], &["minor"]),
    (&["majority", "major", "most"], &["minor", "few"]),
    (&["always"], &["never", "rare", "seldom"]),
    (
        &["often", "frequent", "common"],
        &["rare", "seldom", "uncommon"],
    ),
    (&["all", "everi"], &["none", "some"]),
    (
        &["same", "similar", "ident"],
        &["differ", "unlik", "dissimilar"],
    ),
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
    (
        &["arriv", "enter", "join"],
        &["leav", "left", "depart", "exit", "quit", "resign"],
    ),
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
    (
        &["caus", "induc", "trigger"],
        &["prevent", "protect", "inhibit", "block"],
    ),
    (&["protect"], &["risk", "expos"]),
    (&["worsen"], &["improv"]),
    (&["sensit"], &["resist"]),
    (&["fiction"], &["real", "nonfict"]),
    (&["winner"], &["loser", "runner-up"]),
];

/// The stems that exclude `stem` where they take its place.
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

/// The stems that mean nearly the same as `stem`, itself among them.
pub(super) fn synonyms(stem: &str) -> impl Iterator<Item = &'static str> {
    GROUPS
        .iter()
        .filter(move |group| group.contains(&stem))
        .flat_map(|group| group.iter())
        .copied()
}

const GROUPS: &[&[&str]] = &[
    &[
        "begin", "began", "begun", "start", "commenc", "launch", "initi",
    ],
    &["end", "finish", "conclud", "complet", "ceas", "stop"],
    &[
        "big", "larg", "huge", "great", "massiv", "enorm", "giant", "vast", "major",
    ],
    &["small", "little", "tini", "minor"],
    &["film", "movi", "pictur", "cinema"],
    &[
        "kill", "die", "death", "dead", "fatal", "murder", "mortal", "deceas", "perish",
    ],
    &[
        "author", "writer", "novelist", "wrote", "write", "written", "pen",
    ],
    &["countri", "nation", "state"],
    &[
        "child",
        "children",
        "kid",
        "infant",
        "pediatr",
        "babi",
        "youngster",
    ],
    &["buy", "bought", "purchas", "acquir", "acquisit"],
    &["help", "aid", "assist", "support"],
    &[
        "show",
        "demonstr",
        "indic",
        "reveal",
        "find",
        "found",
        "suggest",
        "report",
        "observ",
        "discov",
        "discoveri",
    ],
    &[
        "caus",
        "lead",
        "led",
        "result",
        "trigger",
        "induc",
        "produc",
        "due",
        "contribut",
    ],
    &[
        "increas", "rise", "rose", "risen", "grow", "grew", "growth", "rais", "elev", "gain",
        "boost", "higher", "more", "surg",
    ],
    &[
        "decreas", "declin", "fall", "fell", "fallen", "drop", "reduc", "reduct", "lower", "less",
        "fewer", "diminish",
    ],
    &["diseas", "ill", "sick", "disord", "condit", "syndrom"],
    &[
        "covid-19",
        "covid",
        "coronavirus",
        "sars-cov-2",
        "2019-ncov",
        "covid19",
        "corona",
    ],
    &["doctor", "physician", "clinician"],
    &["use", "util", "employ", "appli"],
    &[
        "make",
        "made",
        "creat",
        "creation",
        "build",
        "built",
        "construct",
        "produc",
        "product",
        "develop",
        "manufactur",
    ],
    &["car", "vehicl", "automobil"],
    &["job", "work", "employ", "occup"],
    &["money", "fund", "cash", "dollar", "financ"],
    &[
        "say", "said", "state", "claim", "tell", "told", "announc", "accord", "declar", "argu",
        "comment",
    ],
    &["get", "got", "obtain", "receiv", "gain"],
    &[
        "win", "won", "victori", "victor", "winner", "champion", "defeat", "beat",
    ],
    &[
        "famous",
        "popular",
        "well-known",
        "renown",
        "celebr",
        "known",
        "notabl",
    ],
    &["locat", "situat", "base", "site"],
    &["call", "name", "known", "titl", "entitl", "dub"],
    &["live", "resid", "inhabit", "reside"],
    &["leav", "left", "depart", "quit", "exit"],
    &["join", "enter"],
    &["old", "age", "ancient", "elder"],
    &["children", "offspr", "son", "daughter"],
    &["marri", "wife", "husband", "spous", "wed", "marriag"],
    &["play", "perform", "portray", "star", "role", "appear"],
    &["releas", "publish", "issu", "publicat"],
    &["song", "singl", "track", "music"],
    &["book", "novel"],
    &["school", "colleg", "univers"],
    &[
        "person", "peopl", "human", "individu", "man", "men", "woman", "women",
    ],
    &[
        "import", "signific", "key", "main", "essenti", "crucial", "vital",
    ],
    &["fast", "quick", "rapid", "speed"],
    &["protect", "prevent", "defend", "guard", "stop"],
    &["spread", "transmiss", "transmit", "transfer", "contagi"],
    &["infect", "virus", "viral"],
    &["vaccin", "immun", "inocul"],
    &[
        "drug",
        "medic",
        "medicin",
        "treatment",
        "treat",
        "therapi",
        "remedi",
        "cure",
    ],
    &["patient", "case", "subject", "particip"],
    &["warm", "heat", "hot", "hotter", "temperatur"],
    &["cold", "cool", "chilli"],
    &["ocean", "sea", "marin"],
    &["ice", "glacier", "glacial"],
    &["co2", "carbon", "dioxid"],
    &["climat", "weather"],
    &["usa", "u.s", "us", "america", "american", "unit"],
    &["uk", "u.k", "britain", "british"],
    &["allow", "permit", "enabl", "let"],
    &["need", "requir", "necessari", "must"],
    &["want", "wish", "desir", "seek"],
    &["risk", "danger", "hazard", "threat"],
    &["damag", "harm", "hurt", "injur", "injuri"],
    &["chang", "alter", "modifi", "shift"],
    &["keep", "remain", "stay", "retain", "maintain"],
    &["differ", "vari", "various", "divers", "varieti"],
    &["kind", "type", "form", "sort"],
    &["part", "portion", "section", "piec"],
    &["rate", "level", "amount"],
    &["link", "associ", "relat", "connect", "correl"],
    &["includ", "contain", "compris", "consist", "involv"],
    &["near", "close", "adjac"],
    &["police", "polic", "cop", "offic"],
    &["compani", "firm", "corpor", "busi"],
    &[
        "leader",
        "head",
        "chief",
        "director",
        "president",
        "chair",
        "chairman",
    ],
    &["born", "birth"],
    &["annual", "year", "yearly"],
    &[
        "food", "eat", "ate", "eaten", "diet", "consum", "consumpt", "feed",
    ],
    &["first", "1st"],
    &["second", "2nd"],
    &["third", "3rd"],
    &["common", "frequent", "often", "usual", "typic", "general"],
    &["enough", "suffici"],
    &["effect", "impact", "influenc", "affect"],
    &["improv", "better", "enhanc"],
    &["attempt", "tri", "effort"],
    &["attack", "assault"],
    &["cell", "cellular"],
    &["test", "exam", "trial", "experi"],
    &["mask", "face"],
    &["cover", "wrap"],
];

/// Stems so common that finding them in a source says little.
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
