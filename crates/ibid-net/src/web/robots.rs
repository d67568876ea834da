//! Rules of robots.txt (RFC 9309): groups, longest match, `*` and `$`.
use std::time::Duration;

/// The product token that rules are matched against.
pub const TOKEN: &str = "ibid";
/// Maximum size of a robots.txt, bytes, as in RFC 9309, 2.5; the rest is ignored.
pub const MAX_BYTES: usize = 500 * 1024;
/// Maximum crawl delay that is respected.
pub const MAX_CRAWL_DELAY: Duration = Duration::from_secs(10);

/// The rules of a robots.txt for one agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Robots {
    rules: Vec<RobotsRule>,
    delay: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq)]
struct RobotsRule {
    allows: bool,
    /// The path pattern with normalized percent-encoding.
    path: String,
}

/// A group of rules for some agents.
#[derive(Default)]
struct RobotsGroup {
    agents: Vec<String>,
    rules: Vec<RobotsRule>,
    delay: Option<Duration>,
}

impl Robots {
    /// Disallows everything: the server failed to return its robots.txt.
    pub(crate) fn deny_all() -> Robots {
        Robots { rules: vec![RobotsRule { allows: false, path: "/".to_owned() }], delay: None }
    }

    /// Parses the rules for `agent`: all groups that name it, or else all groups for `*`.
    pub fn parse(body: &[u8], agent: &str) -> Robots {
        let body = &body[..body.len().min(MAX_BYTES)];
        let text = String::from_utf8_lossy(body);
        let groups = groups(text.strip_prefix('\u{feff}').unwrap_or(&text));
        let named =
            |name: &str| groups.iter().any(|group| group.agents.iter().any(|agent| agent == name));
        let agent = agent.to_lowercase();
        let name = if named(&agent) { agent.as_str() } else { "*" };
        let mut robots = Robots::default();
        for group in groups {
            if group.agents.iter().any(|agent| agent == name) {
                robots.rules.extend(group.rules);
                robots.delay = robots.delay.max(group.delay);
            }
        }
        robots
    }

    /// Whether `path`, with its query, is allowed: the longest matching rule decides; of two equally long ones, the
    /// one that allows.
    pub fn allows(&self, path: &str) -> bool {
        let path = normalize_path(path);
        if path == "/robots.txt" {
            return true;
        }
        let fits = self.rules.iter().filter(|rule| matches_rule(&rule.path, &path));
        let longest = fits.max_by_key(|it| (it.path.len(), it.allows));
        longest.is_none_or(|it| it.allows)
    }

    /// The requested crawl delay, at most [`SLOWEST`].
    pub(crate) fn crawl_delay(&self) -> Option<Duration> {
        self.delay.map(|delay| delay.min(MAX_CRAWL_DELAY))
    }
}

fn groups(text: &str) -> Vec<RobotsGroup> {
    let mut groups: Vec<RobotsGroup> = Vec::new();
    // Whether the last group has rules; the next agent line then starts a new group.
    let mut begun = true;
    for line in text.split(['\n', '\r']) {
        let line = line.split('#').next().unwrap_or_default();
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim();
        match key.trim().to_ascii_lowercase().as_str() {
            "user-agent" => {
                if begun {
                    groups.push(RobotsGroup::default());
                    begun = false;
                }
                if let Some(group) = groups.last_mut() {
                    group.agents.push(product(value));
                }
            }
            key @ ("allow" | "disallow") => {
                // Rules before the first agent line are ignored.
                let Some(group) = groups.last_mut() else {
                    continue;
                };
                begun = true;
                // An empty rule has no effect.
                if value.is_empty() {
                    continue;
                }
                let slash = if value.starts_with(['/', '*']) { "" } else { "/" };
                group.rules.push(RobotsRule {
                    allows: key == "allow",
                    path: normalize_path(&format!("{slash}{value}")),
                });
            }
            "crawl-delay" => {
                if let Some(group) = groups.last_mut()
                    && let Ok(seconds) = value.parse::<f64>()
                    && seconds > 0.0
                {
                    let delay = Duration::from_secs_f64(seconds.min(MAX_CRAWL_DELAY.as_secs_f64()));
                    group.delay = group.delay.max(Some(delay));
                }
            }
            _ => {}
        }
    }
    groups
}

/// The product token of an agent, without version, in lower case.
fn product(value: &str) -> String {
    if value == "*" || value.starts_with("* ") {
        return "*".to_owned();
    }
    let of_a_name = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '-');
    let end = value.find(|text| !of_a_name(text)).unwrap_or(value.len());
    value[..end].to_ascii_lowercase()
}

/// Normalizes percent-encoding: unreserved characters are decoded, non-ASCII is encoded, hexadecimal digits are upper
/// case.
fn normalize_path(path: &str) -> String {
    let bytes = path.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut out = String::with_capacity(path.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at).copied() {
        at += 1;
        let pair = digit(at).zip(digit(at + 1)).filter(|_| byte == b'%');
        let (byte, coded) = match pair {
            Some((high, low)) => {
                at += 2;
                ((high * 16 + low) as u8, true)
            }
            None => (byte, false),
        };
        let bare = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
        if bare || (!coded && byte.is_ascii()) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Whether `path` starts with the pattern `rule`: `*` matches anything, `$` at the end matches the end of the path.
fn matches_rule(rule: &str, path: &str) -> bool {
    let (rule, to_the_end) = match rule.strip_suffix('$') {
        Some(it) => (it, true),
        None => (rule, false),
    };
    let mut parts = rule.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else {
        return !to_the_end || rest.is_empty();
    };
    for part in between {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    if to_the_end { rest.ends_with(last) } else { rest.contains(last) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(file: &str, path: &str) -> bool {
        Robots::parse(file.as_bytes(), TOKEN).allows(path)
    }

    #[test]
    fn the_longest_rule_decides_and_of_two_equal_the_one_that_allows() {
        let file = "user-agent: *\nallow: /p\ndisallow: /\n";
        assert!(allows(file, "/page") && !allows(file, "/other"));
        let file = "User-Agent: *\nDisallow: /folder\nAllow: /folder\n";
        assert!(allows(file, "/folder/page"));
        let file = "user-agent: *\nallow: /page\ndisallow: /*.htm\n";
        assert!(!allows(file, "/page.htm"));
        let file = "user-agent: *\nallow: /$\ndisallow: /\n";
        assert!(allows(file, "/") && !allows(file, "/page.htm"));
        assert!(allows("user-agent: *\ndisallow:\n", "/"));
        assert!(allows("user-agent: *\ndisallow: /", "/robots.txt"));
        assert!(allows("", "/") && !Robots::deny_all().allows("/"));
    }

    #[test]
    fn wildcards_stand_for_anything_and_a_dollar_for_the_end() {
        let no =
            |rule: &str, path: &str| !allows(&format!("user-agent: *\ndisallow: {rule}"), path);
        for (rule, path) in [
            ("/fish", "/fish.html"),
            ("/fish*", "/fishheads/yummy.html"),
            ("/*.php", "/filename.php?parameters"),
            ("/*.php$", "/folder/filename.php"),
            ("/fish*.php", "/fishheads/catfish.php?parameters"),
            ("*/private", "/a/private/b"),
            ("/a*b*c$", "/a-b-c-c"),
            ("private", "/private/x"),
            ("/**", "/x"),
            ("/q?*x=1", "/q?a=2&x=1"),
        ] {
            assert!(no(rule, path), "{rule} {path}");
        }
        for (rule, path) in [
            ("/fish", "/Fish.asp"),
            ("/fish/", "/fish"),
            ("/*.php$", "/filename.php?parameters"),
            ("/*.php$", "/filename.php5"),
            ("/a*b*c$", "/a-c-b"),
            ("/x$", "/xy"),
        ] {
            assert!(!no(rule, path), "{rule} {path}");
        }
    }

    #[test]
    fn groups_that_name_us_hide_those_for_everybody() {
        let file = "user-agent: *\ndisallow: /\n\nUser-Agent: Ibid/1.0\nUser-agent: other\nsitemap: /s.xml\nDisallow: /a\n\nuser-agent: ibid\ndisallow: /b\n";
        assert!(allows(file, "/c") && !allows(file, "/a") && !allows(file, "/b"));
        // A name that only begins like ours is another's.
        assert!(!allows("user-agent: *\ndisallow: /\nuser-agent: ibidem\nallow: /\n", "/"));
        assert!(allows("disallow: /\nuser-agent: x\ndisallow: /", "/"));
    }

    #[test]
    fn bytes_that_mean_the_same_are_the_same() {
        let no =
            |rule: &str, path: &str| !allows(&format!("user-agent: *\ndisallow: {rule}"), path);
        assert!(no("/foo/bar/ツ", "/foo/bar/%E3%83%84"));
        assert!(no("/%7ejoe", "/~joe/index.html"));
        assert!(no("/a%3cd", "/a%3Cd.html"));
        assert!(!no("/a%2fb", "/a/b"));
    }

    #[test]
    fn odd_files_are_read_as_far_as_they_make_sense() {
        let file =
            "\u{feff}USER-AGENT : * # all\r\rcrawl-delay: 3.5\rdisallow : /x # y\rnonsense\r";
        let robots = Robots::parse(file.as_bytes(), TOKEN);
        assert!(!robots.allows("/x") && robots.allows("/y"));
        assert_eq!(robots.crawl_delay(), Some(Duration::from_millis(3500)));
        let slow = Robots::parse(b"user-agent: ibid\ncrawl-delay: 86400\n", TOKEN);
        assert_eq!(slow.crawl_delay(), Some(MAX_CRAWL_DELAY));
        for odd in ["-1", "NaN", "inf", "ten"] {
            let it = Robots::parse(format!("user-agent: *\ncrawl-delay: {odd}").as_bytes(), TOKEN);
            assert!(
                it.crawl_delay().is_none_or(|crawl_delay| crawl_delay == MAX_CRAWL_DELAY),
                "{odd}"
            );
        }
        assert!(Robots::parse(b"<html><body>user-agent: x</body></html>", TOKEN).allows("/"));
        assert!(Robots::parse(&[0xff; 3000], TOKEN).allows("/"));
        let long = format!("user-agent: *\n#{}\ndisallow: /\n", "x".repeat(MAX_BYTES));
        assert!(allows(&long, "/"));
    }

    #[test]
    fn a_file_made_to_be_slow_is_not() {
        let rule = format!("disallow: /{}$\n", "*a".repeat(200));
        let file = format!("user-agent: *\n{}", rule.repeat(1000));
        let begun = std::time::Instant::now();
        assert!(allows(&file, &format!("/{}b", "a".repeat(10_000))));
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}
