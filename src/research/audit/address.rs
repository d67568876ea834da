//! When two addresses are one page.
use url::Url;

/// Parameters that say where a reader came from and not what is read.
const TRACKING: &[&str] = &[
    "fbclid", "gclid", "dclid", "msclkid", "mc_cid", "mc_eid", "igshid", "yclid", "_hsenc",
    "_hsmi", "srsltid",
];

/// What two addresses of one page have in common: no scheme, `www.`, fragment, tracking parameters or
/// closing slash. `None` for what is no address of the web.
pub fn key(address: &str) -> Option<String> {
    let url = Url::parse(address.trim()).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let host = host(&url)?;
    let port = url.port().map_or_else(String::new, |it| format!(":{it}"));
    let path = url.path().trim_end_matches('/');
    let kept: Vec<String> = url
        .query_pairs()
        .filter(|(name, _)| !name.starts_with("utm_") && !TRACKING.contains(&&**name))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let query = if kept.is_empty() {
        String::new()
    } else {
        format!("?{}", kept.join("&"))
    };
    Some(format!("{host}{port}{path}{query}"))
}

/// The host of an address of the web, without `www.`.
pub fn host_of(address: &str) -> Option<String> {
    host(&Url::parse(address.trim()).ok()?)
}

fn host(url: &Url) -> Option<String> {
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
            assert_eq!(key(said).as_deref(), Some("roofs.example/a?b=c"), "{said}");
        }
        assert_ne!(
            key("https://roofs.example/a"),
            key("https://roofs.example/A")
        );
        assert_ne!(
            key("https://roofs.example/a?p=1"),
            key("https://roofs.example/a?p=2")
        );
        assert_eq!(key("file:///a.md"), None);
        assert_eq!(key("notes/a.md"), None);
    }
}
