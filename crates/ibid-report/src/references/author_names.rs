//! Parses author names, as far as that is certain.
use crate::escape::plain_line;

/// An author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthorName {
    /// A person.
    Person {
        /// The family name: `van der Oak`.
        family: String,
        /// The given names or initials.
        given: String,
    },
    /// An institution, or a name that cannot be parsed.
    Literal(String),
}

/// Words that occur in names of institutions.
const INSTITUTIONS: &str = include_str!("institutions.txt");

/// Particles that belong to the family name after them.
const PARTICLES: &[&str] = &[
    "al", "bin", "da", "das", "de", "del", "della", "den", "der", "di", "do", "dos", "du", "el",
    "ibn", "la", "le", "ten", "ter", "van", "von", "zu", "zur",
];

impl AuthorName {
    /// Parses one name: `Quill, Anna`, `Anna Quill`, `Quill A`, or an institution.
    pub fn parse(text: &str) -> AuthorName {
        let text = plain_line(text);
        let person = |family: &str, given: &str| AuthorName::Person {
            family: family.trim().to_owned(),
            given: given.trim().to_owned(),
        };
        let words: Vec<&str> = text.split(' ').collect();
        let strange = |c: char| c.is_ascii_digit() || "{}\\<>()[]|=@/:;&\"".contains(c);
        let institution = words.iter().any(|it| {
            let word = it.trim_matches(|c: char| !c.is_alphanumeric());
            let word = word.to_lowercase();
            INSTITUTIONS.split_whitespace().any(|it| it == word)
        });
        if institution || text.contains(strange) || words.first() == Some(&"The") {
            return AuthorName::Literal(text);
        }
        if let Some((family, given)) = text.split_once(", ") {
            return if given.contains(',') || family.is_empty() || given.is_empty() {
                AuthorName::Literal(text)
            } else {
                person(family, given)
            };
        }
        let [first, .., last] = words[..] else {
            return AuthorName::Literal(text);
        };
        if words.len() > 6 || text.contains(',') {
            return AuthorName::Literal(text);
        }
        // `Quill A`, `van der Oak JB`, as in PubMed.
        let initials = last.len() <= 3 && last.chars().all(char::is_uppercase);
        if initials && first.chars().count() > 1 && !first.ends_with('.') {
            return person(&text[..text.len() - last.len()], last);
        }
        // The family name begins at the first particle after the first name, else it is the last word.
        let is_particle = |text: &&str| PARTICLES.contains(text);
        let at = words.iter().skip(1).position(is_particle).map_or(words.len() - 1, |at| at + 1);
        let at = at.min(words.len() - 1);
        person(&words[at..].join(" "), &words[..at].join(" "))
    }

    /// Parses several names: `Anna Quill and B. Oak`, `Anna Quill, B. Oak`, `Quill, Anna; Oak, B.`.
    pub(crate) fn parse_list(text: &str) -> Vec<AuthorName> {
        let text = plain_line(text);
        let by_words: Vec<&str> = text
            .split(';')
            .flat_map(|part| part.split(" and "))
            .flat_map(|it| it.split(" & "))
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .collect();
        let mut found = Vec::new();
        for part in by_words {
            // A comma separates names only if each side can be one.
            let each: Vec<&str> =
                part.split(',').map(str::trim).filter(|text| !text.is_empty()).collect();
            if each.len() > 1 && each.iter().all(|text| text.contains(' ')) {
                found.extend(each.into_iter().map(AuthorName::parse));
            } else {
                found.push(AuthorName::parse(part.trim_matches(',')));
            }
        }
        found
    }

    /// The sort key.
    pub fn family(&self) -> &str {
        match self {
            AuthorName::Person { family, .. } => family,
            AuthorName::Literal(it) => it,
        }
    }

    /// Whether the name is empty.
    pub fn is_empty(&self) -> bool {
        self.family().trim().is_empty()
    }

    /// `Quill, Anna`, or the whole name.
    pub(crate) fn family_first(&self) -> String {
        match self {
            AuthorName::Person { family, given } => format!("{family}, {given}"),
            AuthorName::Literal(it) => it.clone(),
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
            assert_eq!(AuthorName::parse(text).family_first(), want, "{text}");
        }
    }

    #[test]
    fn several_names_of_one_field_are_told_apart() {
        let all = |text| -> Vec<String> {
            AuthorName::parse_list(text).iter().map(AuthorName::family_first).collect()
        };
        assert_eq!(all("Anna Quill and B. Oak"), ["Quill, Anna", "Oak, B."]);
        assert_eq!(all("Anna Quill, Ben Oak"), ["Quill, Anna", "Oak, Ben"]);
        assert_eq!(all("Quill, Anna; Oak, Ben"), ["Quill, Anna", "Oak, Ben"]);
        assert_eq!(all("Quill, Anna"), ["Quill, Anna"]);
        assert!(all(" ; , ").is_empty() || all(" ; , ").iter().all(String::is_empty));
    }
}
