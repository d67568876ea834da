//! The address of a document: where it was read, and what it states as its own.
use url::{Host, Url};

/// Bytes of a stated address; a longer one is rejected.
const MAX_BYTES: usize = 2_000;

/// Top-level names that never lead to a public site (RFC 2606, RFC 6761, RFC 6762, RFC 8375, and names common in private
/// networks). `.example` is missing because written samples use it.
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

/// The URL of a name: the name if it is a URL, else `file://` and the path.
pub(crate) fn url_from_name(name: &str) -> String {
    if name.contains("://") || name.is_empty() {
        return name.to_owned();
    }
    Url::from_file_path(name).map_or_else(|()| format!("file://{name}"), String::from)
}

/// The target of a link without its fragment; `None` unless it is an absolute `http` or `https` address without a user name.
pub(crate) fn parse_link(text: &str) -> Option<String> {
    let text = text.trim();
    if text.len() > MAX_BYTES {
        return None;
    }
    let mut url = Url::parse(text).ok()?;
    let has_user = !url.username().is_empty() || url.password().is_some();
    if !matches!(url.scheme(), "http" | "https") || has_user {
        return None;
    }
    url.set_fragment(None);
    Some(url.to_string())
}

/// The address that a document states as its own, without the fragment. `None` unless it is a complete `http` or `https`
/// address of a public-looking host, without user name and port.
///
/// The text is untrusted. The result is shown as the document's site, so it must be shown together with the place where the
/// document was read.
pub(crate) fn parse_stated_url(text: &str) -> Option<String> {
    let text = text.trim();
    let head = text.get(..8).unwrap_or(text).to_ascii_lowercase();
    // `https:page` and `https:/page` parse too, but are not written as addresses.
    if text.len() > MAX_BYTES || !(head.starts_with("http://") || head == "https://") {
        return None;
    }
    if text.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
        return None;
    }
    let mut url = Url::parse(text).ok()?;
    let bare = url.username().is_empty() && url.password().is_none() && url.port().is_none();
    let Some(Host::Domain(host)) = url.host() else {
        return None;
    };
    if !bare || !is_public_host(host) {
        return None;
    }
    url.set_fragment(None);
    Some(url.into())
}

fn is_public_host(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    let labels = host.split('.').all(|part| !part.is_empty());
    host.rsplit_once('.').is_some_and(|(_, top)| labels && !PRIVATE.contains(&top))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_address_of_the_web_is_taken_without_its_fragment() {
        assert_eq!(
            parse_stated_url(" HTTPS://www.Roofs.example/a?b=c#top ").as_deref(),
            Some("https://www.roofs.example/a?b=c")
        );
        assert_eq!(parse_stated_url("http://bbc.co.uk").as_deref(), Some("http://bbc.co.uk/"));
    }

    #[test]
    fn nothing_else_is() {
        for text in [
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
            assert_eq!(parse_stated_url(text), None, "{text:?}");
        }
        assert_eq!(parse_stated_url(&format!("https://a.example/{}", "x".repeat(2_000))), None);
    }
}
