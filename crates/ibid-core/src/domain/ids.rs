use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Error, ErrorKind};

/// The id of a run: `r_` and a ULID, so that ids sort by time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct RunId(String);

/// File names are derived from run ids, so an id read from a foreign file must be valid.
impl<'de> Deserialize<'de> for RunId {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<RunId, D::Error> {
        let text = String::deserialize(d)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl RunId {
    /// Creates a run id from a time (milliseconds since 1970) and 80 random bits.
    pub fn new(unix_ms: u64, chance: u128) -> RunId {
        RunId(format!("r_{}", ulid::Ulid::from_parts(unix_ms, chance)))
    }

    /// The id in UUID form, used as `trace_id` by tools.
    pub fn uuid(&self) -> String {
        let number = ulid::Ulid::from_string(self.0.trim_start_matches("r_"));
        let hex = format!("{:032x}", number.map_or(0, |number| number.0));
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        parts.join("-")
    }

    /// The run id with this UUID form; `None` for a text that is not a UUID.
    pub fn from_uuid(text: &str) -> Option<RunId> {
        let lengths = text.split('-').map(str::len);
        let hex = text.replace('-', "");
        let is_uuid = lengths.eq([8, 4, 4, 4, 12]) && hex.bytes().all(|it| it.is_ascii_hexdigit());
        let bits = u128::from_str_radix(&hex, 16).ok().filter(|_| is_uuid)?;
        Some(RunId(format!("r_{}", ulid::Ulid(bits))))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same 128 bits in UUID form, for trace collectors.
    pub fn trace_id(&self) -> String {
        let bare = self.0.strip_prefix("r_").unwrap_or(&self.0);
        let bits = ulid::Ulid::from_string(bare).map_or(0, |pair| pair.0);
        let hex = format!("{bits:032x}");
        let groups = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        groups.join("-")
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for RunId {
    type Err = Error;
    fn from_str(text: &str) -> Result<RunId, Error> {
        let bare = text.strip_prefix("r_").unwrap_or(text);
        ulid::Ulid::from_string(bare).map(|it| RunId(format!("r_{it}"))).map_err(|_| {
            Error::new(ErrorKind::Usage, format!("run id `{text}` is not of the form r_01J…"))
                .with_hint("see `ibid ls` for the ids of your runs")
        })
    }
}

macro_rules! counted {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $name {
            /// Creates the `n`-th id of a run, counted from 1.
            pub fn new(n: u32) -> $name {
                $name(n)
            }
            /// The number, from 1.
            pub fn number(self) -> u32 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<$name, D::Error> {
                let text = String::deserialize(d)?;
                text.strip_prefix($prefix)
                    .and_then(|rest| rest.parse().ok())
                    .map($name)
                    .ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not a valid {}", stringify!($name))))
            }
        }
    };
}

counted!(
    /// The id of a checklist item: `Q1`, `Q2`, …
    ItemId, "Q"
);
counted!(
    /// The id of a piece of evidence: `e1`, `e2`, … in the order found.
    EvidenceId, "e"
);
counted!(
    /// The id of a source: `src_1`, `src_2`, … in the order first read.
    SourceId, "src_"
);
counted!(
    /// The id of a claim of the report: `c1`, `c2`, … in reading order.
    ClaimId, "c"
);

/// The content hash of a page: `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PageHash(String);

impl PageHash {
    /// Hashes `parts`. Each part is length-prefixed, so that different lists with equal concatenations do not
    /// collide.
    pub fn from_parts(parts: &[&str]) -> PageHash {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        PageHash(format!("sha256:{}", hex::encode(hasher.finalize())))
    }

    /// The hash as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PageHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
