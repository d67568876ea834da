//! Names as strangers write them, taken apart as far as that is certain.
use crate::surfaces::export::escape::plain;

/// Who wrote something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// A person.
    Person {
        /// The name that sorts: `van der Oak`.
        family: String,
        /// The others, or their initials.
        given: String,
    },
    /// An institution, or a name that cannot be taken apart.
    Whole(String),
}

/// Words of names of institutions.
const INSTITUTIONS: &[&str] = &[
    "agency",
    "alliance",
    "association",
    "authority",
    "bank",
    "board",
    "bureau",
    "center",
    "centre",
    "collaboration",
    "collaborators",
    "college",
    "commission",
    "committee",
    "company",
    "consortium",
    "corporation",
    "council",
    "department",
    "editors",
    "federation",
    "foundation",
    "group",
    "guild",
    "hospital",
    "inc",
    "initiative",
    "institut",
    "institute",
    "investigators",
    "laboratory",
    "library",
    "ltd",
    "ministry",
    "museum",
    "network",
    "office",
    "organisation",
    "organization",
    "press",
    "programme",
    "project",
    "school",
    "service",
    "society",
    "staff",
    "team",
    "trust",
    "union",
    "university",
    "wikipedia",
];

/// Small words that belong to the family name that follows them.
const PARTICLES: &[&str] = &[
    "al", "bin", "da", "das", "de", "del", "della", "den", "der", "di", "do", "dos", "du", "el",
    "ibn", "la", "le", "ten", "ter", "van", "von", "zu", "zur",
];

impl Name {
    /// One name: `Quill, Anna`, `Anna Quill`, `Quill A`, or the name of an institution.
    pub fn of(text: &str) -> Name {
        let text = plain(text);
        let person = |family: &str, given: &str| Name::Person {
            family: family.trim().to_owned(),
            given: given.trim().to_owned(),
        };
        let words: Vec<&str> = text.split(' ').collect();
        let strange = |it: char| it.is_ascii_digit() || "{}\\<>()[]|=@/:;&\"".contains(it);
        let institution = words.iter().any(|it| {
            let word = it.trim_matches(|it: char| !it.is_alphanumeric());
            INSTITUTIONS.contains(&word.to_lowercase().as_str())
        });
        if institution || text.contains(strange) || words.first() == Some(&"The") {
            return Name::Whole(text);
        }
        if let Some((family, given)) = text.split_once(", ") {
            return match given.contains(',') || family.is_empty() || given.is_empty() {
                true => Name::Whole(text),
                false => person(family, given),
            };
        }
        let [first, .., last] = words[..] else {
            return Name::Whole(text);
        };
        if words.len() > 6 || text.contains(',') {
            return Name::Whole(text);
        }
        // `Quill A`, `van der Oak JB`, as PubMed writes.
        let initials = last.len() <= 3 && last.chars().all(char::is_uppercase);
        if initials && first.chars().count() > 1 && !first.ends_with('.') {
            return person(&text[..text.len() - last.len()], last);
        }
        // The family name begins at the first small word after the first name, else it is the last word.
        let is_particle = |it: &&str| PARTICLES.contains(it);
        let at = words
            .iter()
            .skip(1)
            .position(is_particle)
            .map_or(words.len() - 1, |it| it + 1);
        let at = at.min(words.len() - 1);
        person(&words[at..].join(" "), &words[..at].join(" "))
    }

    /// The names of one field: `Anna Quill and B. Oak`, `Anna Quill, B. Oak`, `Quill, Anna; Oak, B.`.
    pub fn several(text: &str) -> Vec<Name> {
        let text = plain(text);
        let by_words: Vec<&str> = text
            .split(';')
            .flat_map(|it| it.split(" and "))
            .flat_map(|it| it.split(" & "))
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .collect();
        let mut found = Vec::new();
        for part in by_words {
            // A comma stands between names only if each side can be one.
            let each: Vec<&str> = part
                .split(',')
                .map(str::trim)
                .filter(|it| !it.is_empty())
                .collect();
            if each.len() > 1 && each.iter().all(|it| it.contains(' ')) {
                found.extend(each.into_iter().map(Name::of));
            } else {
                found.push(Name::of(part.trim_matches(',')));
            }
        }
        found
    }

    /// What sorts it.
    pub fn family(&self) -> &str {
        match self {
            Name::Person { family, .. } => family,
            Name::Whole(it) => it,
        }
    }

    /// Whether there is nothing of it.
    pub fn is_empty(&self) -> bool {
        self.family().trim().is_empty()
    }

    /// `Quill, Anna`, or the whole.
    pub fn sorted(&self) -> String {
        match self {
            Name::Person { family, given } => format!("{family}, {given}"),
            Name::Whole(it) => it.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart_where_that_is_certain() {
        for (text, want) in [
            ("Anna Quill", "Quill, Anna"),
            ("Quill, Anna B.", "Quill, Anna B."),
            ("Quill A", "Quill, A"),
            ("van der Oak JB", "van der Oak, JB"),
            ("Jan van der Oak", "van der Oak, Jan"),
            ("A. Quill", "Quill, A."),
            ("Juan de la Cruz", "de la Cruz, Juan"),
            ("Núñez Élan ÁB", "Núñez Élan, ÁB"),
            ("World Health Organization", "World Health Organization"),
            ("The Guild", "The Guild"),
            ("Homer", "Homer"),
            ("quill_42", "quill_42"),
            ("a, b, c", "a, b, c"),
            ("x\r\nER  - ", "-, x ER"),
        ] {
            assert_eq!(Name::of(text).sorted(), want, "{text}");
        }
    }

    #[test]
    fn several_names_of_one_field_are_told_apart() {
        let all = |text| -> Vec<String> { Name::several(text).iter().map(Name::sorted).collect() };
        assert_eq!(all("Anna Quill and B. Oak"), ["Quill, Anna", "Oak, B."]);
        assert_eq!(all("Anna Quill, Ben Oak"), ["Quill, Anna", "Oak, Ben"]);
        assert_eq!(all("Quill, Anna; Oak, Ben"), ["Quill, Anna", "Oak, Ben"]);
        assert_eq!(all("Quill, Anna"), ["Quill, Anna"]);
        assert!(all(" ; , ").is_empty() || all(" ; , ").iter().all(String::is_empty));
    }
}
