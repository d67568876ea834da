//! The guard: what may be asked of the open web, judged before anything is sent.
use std::net::{IpAddr, SocketAddr};

use psl::Psl as _;
use url::{Host, Url};

use super::address::{Cidr, closed};
use super::own::{is_own, is_own_name};

/// Ports of the web.
const PORTS: [u16; 4] = [80, 443, 8080, 8443];
/// Answers of a name service that are looked at; a name with more is refused.
const MOST_ANSWERS: usize = 64;
/// Longest address taken, bytes.
const MOST_BYTES: usize = 16 * 1024;
/// Redirects followed for one page.
pub const MOST_REDIRECTS: usize = 10;
/// Answers that redirect; what has several choices (300) or none (304) does not.
const REDIRECTS: [u16; 5] = [301, 302, 303, 307, 308];
/// Names that lead nowhere outside, by their last labels. Sources: RFC 6761 and its registry, RFC 8375, ICANN's name
/// collision work, and what container hosts and clusters use.
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

/// What may not be asked, and at which step that shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// The step.
    pub at: Step,
    /// Why, for the operator: a stranger is told no more than that it is blocked.
    pub why: String,
}

/// The steps of a judgement, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It is no absolute address.
    Parse,
    /// It is not of the web.
    Scheme,
    /// It carries a name or a password.
    Userinfo,
    /// It is at no port of the web.
    Port,
    /// Its name leads nowhere outside.
    Host,
    /// Its name has no address, or too many.
    Lookup,
    /// Its address is not of the open web.
    Address,
    /// It redirects without end.
    Redirect,
}

impl Step {
    /// Its name in what is told.
    pub fn word(self) -> &'static str {
        match self {
            Step::Parse => "parse",
            Step::Scheme => "scheme",
            Step::Userinfo => "userinfo",
            Step::Port => "port",
            Step::Host => "host",
            Step::Lookup => "dns",
            Step::Address => "address",
            Step::Redirect => "redirect",
        }
    }
}

fn blocked<T>(at: Step, why: impl Into<String>) -> Result<T, Blocked> {
    Err(Blocked {
        at,
        why: why.into(),
    })
}

/// An address that may be looked up: all of it but the name's own addresses is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    url: Url,
    /// Whether it may only be reached within the operator's blocks.
    inside: bool,
}

impl Target {
    /// What to ask for, parsed once: whatever connects must use this and not the text again.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The name to look up, without a final dot; `None` where the host is an address, which was judged already.
    pub fn name(&self) -> Option<&str> {
        self.url.domain().map(|it| it.trim_end_matches('.'))
    }

    /// The port to connect to.
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(0)
    }
}

/// Judges addresses. Default deny: only what is known to be of the open web, or what the operator allows by block.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    allow: Vec<Cidr>,
    own: Vec<SocketAddr>,
}

impl Guard {
    /// A guard that also lets through what lies in the operator's blocks, at any port.
    pub fn allowing(allow: Vec<Cidr>) -> Guard {
        Guard {
            allow,
            own: Vec::new(),
        }
    }

    /// The same, that refuses to connect to where this program itself listens.
    #[must_use]
    pub fn beside(mut self, own: Vec<SocketAddr>) -> Guard {
        self.own = own;
        self
    }

    fn allows(&self, it: IpAddr) -> bool {
        self.allow.iter().any(|block| block.holds(it))
    }

    /// Parses an address and judges all that can be judged without a look-up.
    ///
    /// # Errors
    /// What is wrong, and at which step.
    pub fn target(&self, text: &str) -> Result<Target, Blocked> {
        if text.len() > MOST_BYTES {
            return blocked(Step::Parse, format!("it has {} bytes", text.len()));
        }
        let url = match Url::parse(text) {
            Ok(url) => url,
            Err(fault) => return blocked(Step::Parse, fault.to_string()),
        };
        if !matches!(url.scheme(), "http" | "https") {
            return blocked(Step::Scheme, format!("{}: is not of the web", url.scheme()));
        }
        as_written(text)?;
        self.judged(url)
    }

    /// Where the answer `status` to `from` leads with its `location`, judged anew; `None` where it leads nowhere.
    /// `followed` counts the redirects so far.
    ///
    /// # Errors
    /// What is wrong with it, or that there were too many.
    pub fn redirected(
        &self,
        from: &Target,
        status: u16,
        location: &str,
        followed: usize,
    ) -> Result<Option<Target>, Blocked> {
        if !REDIRECTS.contains(&status) {
            return match status / 100 {
                3 => blocked(
                    Step::Redirect,
                    format!("an answer {status} is not followed"),
                ),
                _ => Ok(None),
            };
        }
        if followed >= MOST_REDIRECTS {
            return blocked(
                Step::Redirect,
                format!("it redirects more than {MOST_REDIRECTS} times"),
            );
        }
        if location.len() > MOST_BYTES {
            return blocked(
                Step::Redirect,
                format!("it leads to {} bytes", location.len()),
            );
        }
        match from.url.join(location) {
            Ok(url) if !matches!(url.scheme(), "http" | "https") => {
                blocked(Step::Scheme, format!("{}: is not of the web", url.scheme()))
            }
            Ok(url) => self.judged(url).map(Some),
            Err(fault) => blocked(Step::Parse, fault.to_string()),
        }
    }

    fn judged(&self, url: Url) -> Result<Target, Blocked> {
        if !url.username().is_empty() || url.password().is_some() {
            return blocked(Step::Userinfo, "it carries a name or a password");
        }
        let port = url.port_or_known_default().unwrap_or(0);
        let literal = match url.host() {
            Some(Host::Ipv4(it)) => Some(IpAddr::V4(it)),
            Some(Host::Ipv6(it)) => Some(IpAddr::V6(it)),
            Some(Host::Domain(_)) => None,
            None => return blocked(Step::Parse, "it has no host"),
        };
        let target = Target { url, inside: false };
        if let Some(literal) = literal {
            self.address(literal, port)?;
            return Ok(target);
        }
        let name = target.name().unwrap_or_default();
        let local = local(name);
        let odd_port = !PORTS.contains(&port);
        // What the operator allows may have any name and any port; its addresses decide.
        let inside = !self.allow.is_empty() && (local.is_some() || odd_port);
        if PORTS.contains(&port) && is_own_name(name) {
            return blocked(Step::Host, "it is a name of this server itself");
        }
        let well_formed = well_formed(name);
        match (well_formed, local) {
            (Some(why), _) => blocked(Step::Host, why),
            (None, Some(why)) if !inside => blocked(Step::Host, why),
            _ if odd_port && !inside => {
                blocked(Step::Port, format!("port {port} is none of the web's"))
            }
            _ => Ok(Target { inside, ..target }),
        }
    }

    fn address(&self, it: IpAddr, port: u16) -> Result<(), Blocked> {
        let own =
            |own: &SocketAddr| own.port() == port && own.ip().to_canonical() == it.to_canonical();
        if self.own.iter().any(own) || is_own(it, port) {
            return blocked(Step::Address, format!("{it} is where this program listens"));
        }
        if self.allows(it) {
            return Ok(());
        }
        if let Some(why) = closed(it) {
            return blocked(Step::Address, format!("{it} is {why}"));
        }
        match PORTS.contains(&port) {
            true => Ok(()),
            false => blocked(Step::Port, format!("port {port} is none of the web's")),
        }
    }

    /// The addresses that may be connected to, of all that the name service gave. One bad answer refuses the name: a
    /// name that is half inside is no name of the open web.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub fn addresses(
        &self,
        target: &Target,
        answers: &[IpAddr],
    ) -> Result<Vec<SocketAddr>, Blocked> {
        if answers.is_empty() {
            return blocked(Step::Lookup, "the name has no address");
        }
        if answers.len() > MOST_ANSWERS {
            return blocked(
                Step::Lookup,
                format!("the name has {} addresses", answers.len()),
            );
        }
        let port = target.port();
        let mut checked = Vec::new();
        for it in answers {
            if target.inside && !self.allows(*it) {
                return blocked(Step::Address, format!("{it} is outside of what is allowed"));
            }
            self.address(*it, port)?;
            checked.push(SocketAddr::new(*it, port));
        }
        Ok(checked)
    }
}

/// What a parser would repair, and another would read otherwise: `http:example.org`, `http:///example.org`, a name before
/// an `@`. Nobody writes such an address in good faith.
fn as_written(text: &str) -> Result<(), Blocked> {
    let bare: String = text
        .trim_matches(|it: char| it <= ' ')
        .chars()
        .filter(|it| !matches!(it, '\t' | '\n' | '\r'))
        .collect();
    let Some((_, rest)) = bare.split_once("://") else {
        return blocked(Step::Parse, "it is no absolute address");
    };
    if rest.starts_with(['/', '\\']) {
        return blocked(Step::Parse, "it has slashes where its host should be");
    }
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or(rest);
    match authority.contains('@') {
        true => blocked(Step::Userinfo, "it carries a name or a password"),
        false => Ok(()),
    }
}

/// What is wrong with a name as such. It is in its ASCII form and in lower case.
fn well_formed(name: &str) -> Option<String> {
    let of_a_label = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_');
    if name.is_empty() || name.len() > 253 {
        return Some(format!("a name of {} characters is none", name.len()));
    }
    let wrong = name
        .split('.')
        .find(|it| it.is_empty() || it.len() > 63 || !it.chars().all(of_a_label));
    wrong.map(|it| format!("`{it}` is no part of a name"))
}

/// Why a name leads nowhere outside.
fn local(name: &str) -> Option<String> {
    if !name.contains('.') {
        return Some("a name without a dot is a machine of this network".to_owned());
    }
    let ends = |it: &&&str| {
        name.strip_suffix(**it)
            .is_some_and(|rest| rest.ends_with('.'))
    };
    if let Some(it) = LOCAL.iter().find(ends) {
        return Some(format!("names under .{it} are not of the open web"));
    }
    let known = psl::List
        .suffix(name.as_bytes())
        .is_some_and(|it| it.is_known());
    (!known).then(|| "it ends in no public suffix".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<Step> {
        Guard::default().target(text).err().map(|it| it.at)
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
            ("example.com", Step::Parse),
            ("//example.com/", Step::Parse),
            ("http:example.com", Step::Parse),
            ("http:/example.com", Step::Parse),
            ("http:///example.com", Step::Parse),
            ("http://[::1", Step::Parse),
            ("http://256.0.0.1/", Step::Parse),
            ("file:///etc/passwd", Step::Scheme),
            ("gopher://example.com/", Step::Scheme),
            ("http://user@example.com/", Step::Userinfo),
            ("http://@example.com/", Step::Userinfo),
            ("http://a:b@example.com/", Step::Userinfo),
            ("http://example.com:22/", Step::Port),
            ("http://8.8.8.8:22/", Step::Port),
            ("http://localhost/", Step::Host),
            ("http://foo.localhost./", Step::Host),
            ("http://printer.local/", Step::Host),
            ("http://redis/", Step::Host),
            ("http://metadata.google.internal/", Step::Host),
            ("http://kubernetes.default.svc/", Step::Host),
            ("http://name.nosuchending/", Step::Host),
            ("http://a..example.com/", Step::Host),
            ("http://127.0.0.1/", Step::Address),
            ("http://2130706433/", Step::Address),
            ("http://0x7f.1/", Step::Address),
            ("http://017700000001/", Step::Address),
            ("http://①②⑦.0.0.1/", Step::Address),
            ("http://[::ffff:10.0.0.1]/", Step::Address),
            ("http://127.0.0.1:8080\\@example.com/", Step::Address),
        ] {
            assert_eq!(at(it), Some(step), "{it}");
        }
        assert_eq!(
            at(&format!("http://example.com/{}", "a".repeat(MOST_BYTES))),
            Some(Step::Parse)
        );
    }

    #[test]
    fn one_bad_answer_refuses_a_name() {
        let guard = Guard::default();
        let target = guard.target("https://example.com/").unwrap();
        let answers = |texts: &[&str]| -> Vec<IpAddr> {
            texts.iter().map(|it| it.parse().unwrap()).collect()
        };
        let good = guard.addresses(
            &target,
            &answers(&["93.184.215.14", "2606:4700:4700::1111"]),
        );
        assert_eq!(good.unwrap().len(), 2);
        let mixed = guard.addresses(&target, &answers(&["93.184.215.14", "fe80::1"]));
        assert_eq!(mixed.unwrap_err().at, Step::Address);
        assert_eq!(guard.addresses(&target, &[]).unwrap_err().at, Step::Lookup);
        let many = vec!["93.184.215.14".parse().unwrap(); MOST_ANSWERS + 1];
        assert_eq!(
            guard.addresses(&target, &many).unwrap_err().at,
            Step::Lookup
        );
    }

    #[test]
    fn a_redirect_is_judged_like_a_first_address() {
        let guard = Guard::default();
        let from = guard.target("http://example.com/a").unwrap();
        let to = |location: &str| guard.redirected(&from, 302, location, 0);
        let next = to("/login?next=http://127.0.0.1/").unwrap().unwrap();
        assert_eq!(
            next.url().as_str(),
            "http://example.com/login?next=http://127.0.0.1/"
        );
        assert_eq!(
            to("//example.org/x").unwrap().unwrap().name(),
            Some("example.org")
        );
        assert_eq!(to("http://[::1]/").unwrap_err().at, Step::Address);
        assert_eq!(to("file:///etc/passwd").unwrap_err().at, Step::Scheme);
        assert_eq!(
            to("http://u:p@example.org/").unwrap_err().at,
            Step::Userinfo
        );
        assert_eq!(to("http://example.org:6379/").unwrap_err().at, Step::Port);
        assert_eq!(
            to(&"a".repeat(MOST_BYTES + 1)).unwrap_err().at,
            Step::Redirect
        );
        assert_eq!(
            guard
                .redirected(&from, 302, "/b", MOST_REDIRECTS)
                .unwrap_err()
                .at,
            Step::Redirect
        );
        assert_eq!(
            guard.redirected(&from, 200, "http://127.0.0.1/", 0),
            Ok(None)
        );
        let choices = guard.redirected(&from, 300, "http://example.org/", 0);
        assert_eq!(choices.unwrap_err().at, Step::Redirect);
    }

    #[test]
    fn the_operator_opens_blocks_and_nothing_else() {
        let guard = Guard::allowing(vec!["127.0.0.0/8".parse().unwrap()]);
        assert!(guard.target("http://127.0.0.1:8888/search").is_ok());
        assert!(guard.target("http://10.0.0.1/").is_err());
        let local = guard.target("http://searxng:8888/").unwrap();
        let inside = |it: &str| guard.addresses(&local, &[it.parse().unwrap()]);
        assert!(inside("127.0.0.1").is_ok());
        // A name that is let in for the operator's sake leads nowhere else.
        assert!(inside("93.184.215.14").is_err());
        assert!(inside("10.0.0.1").is_err());
        assert!(guard.target("ftp://127.0.0.1/").is_err());
        let own = guard.beside(vec!["127.0.0.1:7700".parse().unwrap()]);
        assert!(own.target("http://127.0.0.1:7700/v1/runs").is_err());
        assert!(own.target("http://[::ffff:127.0.0.1]:7700/").is_err());
    }
}
