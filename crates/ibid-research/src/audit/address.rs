//! Which addresses lead to the same page.
use url::Url;

/// Query parameters that say where a reader came from, not what is read.
const TRACKING: &[&str] = &[
    "fbclid", "gclid", "dclid", "msclkid", "mc_cid", "mc_eid", "igshid", "yclid", "_hsenc",
    "_hsmi", "srsltid",
];

/// A key that all addresses of one page share: without scheme, `www.`, fragment, tracking parameters or
/// trailing slash. `None` for anything but a web address.
pub fn page_key(address: &str) -> Option<String> {
    let url = Url::parse(address.trim()).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let host = url_host(&url)?;
    let port = url.port().map_or_else(String::new, |it| format!(":{it}"));
    let path = url.path().trim_end_matches('/');
    let kept: Vec<String> = url
        .query_pairs()
        .filter(|(name, _)| !name.starts_with("utm_") && !TRACKING.contains(&&**name))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let query = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
    Some(format!("{host}{port}{path}{query}"))
}

/// The host of a web address, without `www.`.
pub fn host_of(address: &str) -> Option<String> {
    url_host(&Url::parse(address.trim()).ok()?)
}

fn url_host(url: &Url) -> Option<String> {
    let host = url.host_str()?.trim_end_matches('.').to_lowercase();
    let bare = host.strip_prefix("www.").unwrap_or(&host);
    (!bare.is_empty()).then(|| bare.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_page_has_one_key_however_it_is_written() {
        for said in [
            "https://www.roofs.example/a?b=c",
            "http://roofs.example/a/?b=c#top",
            "https://ROOFS.example/a?utm_source=chat.example&b=c#:~:text=roof",
        ] {
            assert_eq!(page_key(said).as_deref(), Some("roofs.example/a?b=c"), "{said}");
        }
        assert_ne!(page_key("https://roofs.example/a"), page_key("https://roofs.example/A"));
        assert_ne!(
            page_key("https://roofs.example/a?p=1"),
            page_key("https://roofs.example/a?p=2")
        );
        assert_eq!(page_key("file:///a.md"), None);
        assert_eq!(page_key("notes/a.md"), None);
    }
}
