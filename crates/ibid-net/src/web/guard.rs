//! The SSRF guard: checks which URLs and addresses may be requested, before anything is sent.
use std::net::{IpAddr, SocketAddr};

use psl::Psl as _;
use url::{Host, Url};

use super::address::{Cidr, blocked_reason};
use super::own_address::{is_own, is_own_name};

/// Allowed ports.
const PORTS: [u16; 4] = [80, 443, 8080, 8443];
/// Maximum resolved addresses; a name with more is refused.
const MAX_ANSWERS: usize = 64;
/// Maximum length of a URL, bytes.
const MAX_BYTES: usize = 16 * 1024;
/// Maximum redirects of one request.
pub(crate) const MAX_REDIRECTS: usize = 10;
/// Statuses that are followed; multiple choices (300) and not modified (304) are not.
const REDIRECTS: [u16; 5] = [301, 302, 303, 307, 308];
/// Domains that are not public. Sources: RFC 6761 and its registry, RFC 8375, ICANN's name collision work, and names
/// used by container hosts and clusters.
const LOCAL: [&str; 18] = [
    "localhost",
    "local",
    "internal",
    "intranet",
    "private",
    "lan",
    "home",
    "corp",
    "mail",
    "home.arpa",
    "onion",
    "alt",
    "test",
    "example",
    "invalid",
    "svc",
    "cluster",
    "localdomain",
];

/// A blocked URL, and the check that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedUrl {
    /// The check.
    pub step: GuardStep,
    /// The reason, for the operator. Clients are only told that the URL is blocked.
    pub why: String,
}

/// The checks, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardStep {
    /// It is not an absolute URL.
    Parse,
    /// It is not an http or https URL.
    Scheme,
    /// It contains a user name or password.
    Userinfo,
    /// Its port is not allowed.
    Port,
    /// Its host name is not public.
    Host,
    /// Its name has no address, or too many.
    Lookup,
    /// Its address is not public.
    Address,
    /// It redirects too often.
    Redirect,
}

impl GuardStep {
    /// The name in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            GuardStep::Parse => "parse",
            GuardStep::Scheme => "scheme",
            GuardStep::Userinfo => "userinfo",
            GuardStep::Port => "port",
            GuardStep::Host => "host",
            GuardStep::Lookup => "dns",
            GuardStep::Address => "address",
            GuardStep::Redirect => "redirect",
        }
    }
}

fn blocked<T>(at: GuardStep, why: impl Into<String>) -> Result<T, BlockedUrl> {
    Err(BlockedUrl { step: at, why: why.into() })
}

/// A URL that passed all checks before name resolution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedUrl {
    url: Url,
    /// Whether it may only be reached at the operator's allowed addresses.
    internal: bool,
}

impl CheckedUrl {
    /// The parsed URL. Connect to this, and do not parse the text again.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The name to resolve, without a final dot; `None` if the host is an IP address, which is already checked.
    pub fn name(&self) -> Option<&str> {
        self.url.domain().map(|domain| domain.trim_end_matches('.'))
    }

    /// The port to connect to.
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(0)
    }
}

/// Checks URLs and addresses. Denies by default: only public addresses and the blocks that the operator allows pass.
#[derive(Debug, Clone, Default)]
pub struct SsrfGuard {
    allow: Vec<Cidr>,
}

impl SsrfGuard {
    /// Creates a guard that also allows these blocks, at any port.
    pub fn with_allowed(allow: Vec<Cidr>) -> SsrfGuard {
        SsrfGuard { allow }
    }

    fn allows(&self, address: IpAddr) -> bool {
        self.allow.iter().any(|block| block.contains(address))
    }

    /// Parses a URL and makes all checks that need no name resolution.
    ///
    /// # Errors
    /// The failed check and the reason.
    pub fn check(&self, text: &str) -> Result<CheckedUrl, BlockedUrl> {
        if text.len() > MAX_BYTES {
            return blocked(
                GuardStep::Parse,
                format!("the URL is too long ({} bytes)", text.len()),
            );
        }
        let url = match Url::parse(text) {
            Ok(url) => url,
            Err(fault) => return blocked(GuardStep::Parse, fault.to_string()),
        };
        if !matches!(url.scheme(), "http" | "https") {
            return blocked(
                GuardStep::Scheme,
                format!("scheme `{}` is not supported", url.scheme()),
            );
        }
        check_syntax(text)?;
        self.check_url(url)
    }

    /// Checks the redirect from `from` to `location`; `None` if `status` is not a redirect. `followed` is the number
    /// of redirects so far.
    ///
    /// # Errors
    /// The failed check and the reason, or too many redirects.
    pub fn check_redirect(
        &self,
        from: &CheckedUrl,
        status: u16,
        location: &str,
        followed: usize,
    ) -> Result<Option<CheckedUrl>, BlockedUrl> {
        if !REDIRECTS.contains(&status) {
            return match status / 100 {
                3 => blocked(
                    GuardStep::Redirect,
                    format!("redirect status {status} is not supported"),
                ),
                _ => Ok(None),
            };
        }
        if followed >= MAX_REDIRECTS {
            return blocked(GuardStep::Redirect, format!("more than {MAX_REDIRECTS} redirects"));
        }
        if location.len() > MAX_BYTES {
            return blocked(
                GuardStep::Redirect,
                format!("the redirect target is too long ({} bytes)", location.len()),
            );
        }
        match from.url.join(location) {
            Ok(url) if !matches!(url.scheme(), "http" | "https") => {
                blocked(GuardStep::Scheme, format!("scheme `{}` is not supported", url.scheme()))
            }
            Ok(url) => self.check_url(url).map(Some),
            Err(fault) => blocked(GuardStep::Parse, fault.to_string()),
        }
    }

    fn check_url(&self, url: Url) -> Result<CheckedUrl, BlockedUrl> {
        if !url.username().is_empty() || url.password().is_some() {
            return blocked(GuardStep::Userinfo, "the URL contains a user name or password");
        }
        let port = url.port_or_known_default().unwrap_or(0);
        let literal = match url.host() {
            Some(Host::Ipv4(it)) => Some(IpAddr::V4(it)),
            Some(Host::Ipv6(it)) => Some(IpAddr::V6(it)),
            Some(Host::Domain(_)) => None,
            None => return blocked(GuardStep::Parse, "the URL has no host"),
        };
        let target = CheckedUrl { url, internal: false };
        if let Some(literal) = literal {
            self.address(literal, port)?;
            return Ok(target);
        }
        let name = target.name().unwrap_or_default();
        let local = local_name_reason(name);
        let odd_port = !PORTS.contains(&port);
        // With allowed blocks, any name and port may be requested; the resolved addresses decide.
        let inside = !self.allow.is_empty() && (local.is_some() || odd_port);
        if PORTS.contains(&port) && is_own_name(name) {
            return blocked(GuardStep::Host, "the name refers to this server");
        }
        let well_formed = well_formed(name);
        match (well_formed, local) {
            (Some(why), _) => blocked(GuardStep::Host, why),
            (None, Some(why)) if !inside => blocked(GuardStep::Host, why),
            _ if odd_port && !inside => {
                blocked(GuardStep::Port, format!("port {port} is not allowed"))
            }
            _ => Ok(CheckedUrl { internal: inside, ..target }),
        }
    }

    fn address(&self, it: IpAddr, port: u16) -> Result<(), BlockedUrl> {
        if is_own(it, port) {
            return blocked(GuardStep::Address, format!("this program listens on {it}"));
        }
        if self.allows(it) {
            return Ok(());
        }
        if let Some(why) = blocked_reason(it) {
            return blocked(GuardStep::Address, format!("{it} is {why}"));
        }
        if PORTS.contains(&port) {
            Ok(())
        } else {
            blocked(GuardStep::Port, format!("port {port} is not allowed"))
        }
    }

    /// Returns the addresses to connect to, of those that the name resolved to. One blocked address blocks the name.
    ///
    /// # Errors
    /// The reason.
    pub fn check_addresses(
        &self,
        target: &CheckedUrl,
        answers: &[IpAddr],
    ) -> Result<Vec<SocketAddr>, BlockedUrl> {
        if answers.is_empty() {
            return blocked(GuardStep::Lookup, "the name has no address");
        }
        if answers.len() > MAX_ANSWERS {
            return blocked(
                GuardStep::Lookup,
                format!("the name has too many addresses ({})", answers.len()),
            );
        }
        let port = target.port();
        let mut checked = Vec::new();
        for it in answers {
            if target.internal && !self.allows(*it) {
                return blocked(GuardStep::Address, format!("{it} is not in an allowed block"));
            }
            self.address(*it, port)?;
            checked.push(SocketAddr::new(*it, port));
        }
        Ok(checked)
    }
}

/// Refuses URLs that parsers repair differently: `http:example.org`, `http:///example.org`, a name before an `@`.
/// They do not occur in ordinary pages.
fn check_syntax(text: &str) -> Result<(), BlockedUrl> {
    let bare: String = text
        .trim_matches(|c: char| c <= ' ')
        .chars()
        .filter(|c| !matches!(c, '\t' | '\n' | '\r'))
        .collect();
    let Some((_, rest)) = bare.split_once("://") else {
        return blocked(GuardStep::Parse, "not an absolute URL");
    };
    if rest.starts_with(['/', '\\']) {
        return blocked(GuardStep::Parse, "slashes in place of the host");
    }
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or(rest);
    if authority.contains('@') {
        return blocked(GuardStep::Userinfo, "the URL contains a user name or password");
    }
    Ok(())
}

/// What is wrong with a host name, given in ASCII and lower case.
fn well_formed(name: &str) -> Option<String> {
    let of_a_label = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() {
        return Some("the host name is empty".to_owned());
    }
    if name.len() > 253 {
        return Some(format!("host name too long ({} characters)", name.len()));
    }
    let wrong = name
        .split('.')
        .find(|part| part.is_empty() || part.len() > 63 || !part.chars().all(of_a_label));
    wrong.map(|it| format!("invalid host name label `{it}`"))
}

/// Why a name is not public.
fn local_name_reason(name: &str) -> Option<String> {
    if !name.contains('.') {
        return Some("a name without a dot is local".to_owned());
    }
    let ends = |text: &&&str| name.strip_suffix(**text).is_some_and(|rest| rest.ends_with('.'));
    if let Some(it) = LOCAL.iter().find(ends) {
        return Some(format!("the domain .{it} is not public"));
    }
    let known = psl::List.suffix(name.as_bytes()).is_some_and(|suffix| suffix.is_known());
    (!known).then(|| "the name has no public suffix".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<GuardStep> {
        SsrfGuard::default().check(text).err().map(|it| it.step)
    }

    #[test]
    fn what_is_of_the_open_web_goes_through() {
        for it in [
            "https://example.com/a@127.0.0.1/b?u=http://localhost/#@",
            "http://example.com:8080/",
            " HTTPS://Example.COM./ ",
            "https://localhost.example.com/",
            "https://10.0.0.1.example.org/",
            "https://a_b.example.org/",
            "https://bücher.example.de/",
            "https://8.8.8.8/",
            "https://[2606:4700:4700::1111]/",
            "https://example.co.uk/",
        ] {
            assert_eq!(at(it), None, "{it}");
        }
    }

    #[test]
    fn each_step_refuses_what_is_its_own() {
        for (it, step) in [
            ("example.com", GuardStep::Parse),
            ("//example.com/", GuardStep::Parse),
            ("http:example.com", GuardStep::Parse),
            ("http:/example.com", GuardStep::Parse),
            ("http:///example.com", GuardStep::Parse),
            ("http://[::1", GuardStep::Parse),
            ("http://256.0.0.1/", GuardStep::Parse),
            ("file:///etc/passwd", GuardStep::Scheme),
            ("gopher://example.com/", GuardStep::Scheme),
            ("http://user@example.com/", GuardStep::Userinfo),
            ("http://@example.com/", GuardStep::Userinfo),
            ("http://a:b@example.com/", GuardStep::Userinfo),
            ("http://example.com:22/", GuardStep::Port),
            ("http://8.8.8.8:22/", GuardStep::Port),
            ("http://localhost/", GuardStep::Host),
            ("http://foo.localhost./", GuardStep::Host),
            ("http://printer.local/", GuardStep::Host),
            ("http://redis/", GuardStep::Host),
            ("http://metadata.google.internal/", GuardStep::Host),
            ("http://kubernetes.default.svc/", GuardStep::Host),
            ("http://name.nosuchending/", GuardStep::Host),
            ("http://a..example.com/", GuardStep::Host),
            ("http://127.0.0.1/", GuardStep::Address),
            ("http://2130706433/", GuardStep::Address),
            ("http://0x7f.1/", GuardStep::Address),
            ("http://017700000001/", GuardStep::Address),
            ("http://①②⑦.0.0.1/", GuardStep::Address),
            ("http://[::ffff:10.0.0.1]/", GuardStep::Address),
            ("http://127.0.0.1:8080\\@example.com/", GuardStep::Address),
        ] {
            assert_eq!(at(it), Some(step), "{it}");
        }
        assert_eq!(
            at(&format!("http://example.com/{}", "a".repeat(MAX_BYTES))),
            Some(GuardStep::Parse)
        );
    }

    #[test]
    fn one_bad_answer_refuses_a_name() {
        let guard = SsrfGuard::default();
        let target = guard.check("https://example.com/").unwrap();
        let answers = |texts: &[&str]| -> Vec<IpAddr> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        let good =
            guard.check_addresses(&target, &answers(&["93.184.215.14", "2606:4700:4700::1111"]));
        assert_eq!(good.unwrap().len(), 2);
        let mixed = guard.check_addresses(&target, &answers(&["93.184.215.14", "fe80::1"]));
        assert_eq!(mixed.unwrap_err().step, GuardStep::Address);
        assert_eq!(guard.check_addresses(&target, &[]).unwrap_err().step, GuardStep::Lookup);
        let many = vec!["93.184.215.14".parse().unwrap(); MAX_ANSWERS + 1];
        assert_eq!(guard.check_addresses(&target, &many).unwrap_err().step, GuardStep::Lookup);
    }

    #[test]
    fn a_redirect_is_judged_like_a_first_address() {
        let guard = SsrfGuard::default();
        let from = guard.check("http://example.com/a").unwrap();
        let to = |location: &str| guard.check_redirect(&from, 302, location, 0);
        let next = to("/login?next=http://127.0.0.1/").unwrap().unwrap();
        assert_eq!(next.url().as_str(), "http://example.com/login?next=http://127.0.0.1/");
        assert_eq!(to("//example.org/x").unwrap().unwrap().name(), Some("example.org"));
        assert_eq!(to("http://[::1]/").unwrap_err().step, GuardStep::Address);
        assert_eq!(to("file:///etc/passwd").unwrap_err().step, GuardStep::Scheme);
        assert_eq!(to("http://u:p@example.org/").unwrap_err().step, GuardStep::Userinfo);
        assert_eq!(to("http://example.org:6379/").unwrap_err().step, GuardStep::Port);
        assert_eq!(to(&"a".repeat(MAX_BYTES + 1)).unwrap_err().step, GuardStep::Redirect);
        assert_eq!(
            guard.check_redirect(&from, 302, "/b", MAX_REDIRECTS).unwrap_err().step,
            GuardStep::Redirect
        );
        assert_eq!(guard.check_redirect(&from, 200, "http://127.0.0.1/", 0), Ok(None));
        let choices = guard.check_redirect(&from, 300, "http://example.org/", 0);
        assert_eq!(choices.unwrap_err().step, GuardStep::Redirect);
    }

    #[test]
    fn the_operator_opens_blocks_and_nothing_else() {
        let guard = SsrfGuard::with_allowed(vec!["127.0.0.0/8".parse().unwrap()]);
        assert!(guard.check("http://127.0.0.1:8888/search").is_ok());
        assert!(guard.check("http://10.0.0.1/").is_err());
        let local = guard.check("http://searxng:8888/").unwrap();
        let inside = |text: &str| guard.check_addresses(&local, &[text.parse().unwrap()]);
        assert!(inside("127.0.0.1").is_ok());
        // A name that is let in for the operator's sake leads nowhere else.
        assert!(inside("93.184.215.14").is_err());
        assert!(inside("10.0.0.1").is_err());
        assert!(guard.check("ftp://127.0.0.1/").is_err());
    }
}
