//! Where a document is: the place it was read, and the address it gives as its own.
use url::{Host, Url};

/// A longer address is no page's.
const MAX_BYTES: usize = 2_000;

/// Top-level names that never lead to a public site (RFC 2606, RFC 6761, RFC 6762, RFC 8375 and
/// what routers and offices call their own). `.example` stays: it is what written samples use.
const PRIVATE: &[&str] = &[
    "localhost",
    "local",
    "localdomain",
    "internal",
    "intranet",
    "lan",
    "home",
    "corp",
    "private",
    "arpa",
    "invalid",
    "test",
    "onion",
    "alt",
];

/// The URL of a name: itself where it is one, else `file://` and the path.
pub(super) fn of_name(name: &str) -> String {
    if name.contains("://") || name.is_empty() {
        return name.to_owned();
    }
    Url::from_file_path(name).map_or_else(|()| format!("file://{name}"), String::from)
}

/// An address that a document gives as its own, if it can be one: `http` or `https`, whole, of a
/// public-looking host, without user name, port and fragment.
///
/// The words are a stranger's. What comes of them is shown and counted as the site it names, so
/// whoever shows it shows beside it where the document was read.
pub(super) fn claimed(said: &str) -> Option<String> {
    let said = said.trim();
    let head = said.get(..8).unwrap_or(said).to_ascii_lowercase();
    // `https:page` and `https:/page` parse too, but nobody writes them for an address.
    if said.len() > MAX_BYTES || !(head.starts_with("http://") || head == "https://") {
        return None;
    }
    if said.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
        return None;
    }
    let mut url = Url::parse(said).ok()?;
    let bare = url.username().is_empty() && url.password().is_none() && url.port().is_none();
    let Some(Host::Domain(host)) = url.host() else {
        return None;
    };
    if !bare || !is_public(host) {
        return None;
    }
    url.set_fragment(None);
    Some(url.into())
}

fn is_public(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    let labels = host.split('.').all(|it| !it.is_empty());
    host.rsplit_once('.')
        .is_some_and(|(_, top)| labels && !PRIVATE.contains(&top))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_address_of_the_web_is_taken_without_its_fragment() {
        assert_eq!(
            claimed(" HTTPS://www.Roofs.example/a?b=c#top ").as_deref(),
            Some("https://www.roofs.example/a?b=c")
        );
        assert_eq!(
            claimed("http://bbc.co.uk").as_deref(),
            Some("http://bbc.co.uk/")
        );
    }

    #[test]
    fn nothing_else_is() {
        for said in [
            "",
            "/articles/1",
            "//roofs.example/1",
            "roofs.example/1",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "ftp://roofs.example/",
            "https:roofs.example",
            "https://",
            "https://localhost/",
            "https://printer/",
            "https://printer.local/",
            "https://wiki.corp/",
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://[::1]/",
            "https://user@roofs.example/",
            "https://roofs.example:8443/",
            "https://roofs.example\\@evil.example/",
            "https://roofs.example/a b",
            "https://roofs.example/\u{1b}[31m",
        ] {
            assert_eq!(claimed(said), None, "{said:?}");
        }
        assert_eq!(
            claimed(&format!("https://a.example/{}", "x".repeat(2_000))),
            None
        );
    }
}
