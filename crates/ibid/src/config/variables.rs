//! Environment variables that settings refer to.
use std::collections::BTreeMap;

/// Variables by name. Their values may be keys, so they are never printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct EnvVars(BTreeMap<String, String>);

impl EnvVars {
    /// The value of `name`, if it is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// Every variable that is not empty, with its value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        all.filter(|(_, value)| !value.is_empty())
    }

    /// The values that are HTTP URLs.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        let values = self.0.values().map(String::as_str);
        values.filter(|value| value.starts_with("http://") || value.starts_with("https://"))
    }
}

impl FromIterator<(String, String)> for EnvVars {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(all: T) -> EnvVars {
        EnvVars(all.into_iter().collect())
    }
}

impl std::fmt::Debug for EnvVars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} variables", self.0.len())
    }
}
