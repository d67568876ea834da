//! Which IP addresses belong to the open web.
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ibid_core::{Error, ErrorKind};

/// An address block such as `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    first: IpAddr,
    bits: u8,
}

impl Cidr {
    const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> Cidr {
        Cidr { first: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), bits }
    }

    const fn v6(a: u16, b: u16, c: u16, bits: u8) -> Cidr {
        Cidr { first: IpAddr::V6(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0)), bits }
    }

    /// Whether `address` is in the block. IPv4-mapped IPv6 addresses are treated as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.first, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(it)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits));
                let mask = mask.unwrap_or(0);
                own.to_bits() & mask == it.to_bits() & mask
            }
            (IpAddr::V6(own), IpAddr::V6(it)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits));
                let mask = mask.unwrap_or(0);
                own.to_bits() & mask == it.to_bits() & mask
            }
            _ => false,
        }
    }
}

impl FromStr for Cidr {
    type Err = Error;

    /// Parses `10.0.0.0/8`, `fd00::/8`, or a single address.
    fn from_str(text: &str) -> Result<Cidr, Error> {
        let wrong = || {
            Error::new(ErrorKind::Usage, format!("invalid address block `{text}`"))
                .with_hint("use a form such as 10.0.0.0/8, fd00::/8 or 127.0.0.1")
        };
        let (first, bits) = text.split_once('/').unwrap_or((text, ""));
        let first: IpAddr = first.trim().parse().map_err(|_| wrong())?;
        let most = if first.is_ipv4() { 32 } else { 128 };
        let bits = match bits.trim() {
            "" if !text.contains('/') => most,
            bits => bits.parse().map_err(|_| wrong())?,
        };
        if bits <= most { Ok(Cidr { first, bits }) } else { Err(wrong()) }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

/// IPv4 blocks outside the open web, with the reason. Source: the IANA registry of special-purpose addresses (RFC
/// 6890 and updates), and a cloud metadata address that no registry lists.
const V4: [(Cidr, &str); 16] = [
    (Cidr::v4(0, 0, 0, 0, 8), "this network"),
    (Cidr::v4(10, 0, 0, 0, 8), "private"),
    (Cidr::v4(100, 64, 0, 0, 10), "carrier-grade NAT"),
    (Cidr::v4(127, 0, 0, 0, 8), "loopback"),
    (Cidr::v4(169, 254, 0, 0, 16), "link-local or cloud metadata"),
    (Cidr::v4(172, 16, 0, 0, 12), "private"),
    (Cidr::v4(192, 0, 0, 0, 24), "reserved for protocols"),
    (Cidr::v4(192, 0, 2, 0, 24), "reserved for documentation"),
    (Cidr::v4(192, 88, 99, 0, 24), "a 6to4 relay"),
    (Cidr::v4(192, 168, 0, 0, 16), "private"),
    (Cidr::v4(198, 18, 0, 0, 15), "reserved for benchmarks"),
    (Cidr::v4(198, 51, 100, 0, 24), "reserved for documentation"),
    (Cidr::v4(203, 0, 113, 0, 24), "reserved for documentation"),
    (Cidr::v4(224, 0, 0, 0, 4), "multicast"),
    (Cidr::v4(240, 0, 0, 0, 4), "reserved"),
    (Cidr::v4(168, 63, 129, 16, 32), "cloud metadata"),
];

/// The only IPv6 block assigned for global use.
const GLOBAL_V6: Cidr = Cidr::v6(0x2000, 0, 0, 3);

/// Blocks inside it that are not global.
const V6: [(Cidr, &str); 4] = [
    (Cidr::v6(0x2001, 0, 0, 23), "reserved for protocols and tunnels"),
    (Cidr::v6(0x2001, 0xdb8, 0, 32), "reserved for documentation"),
    (Cidr::v6(0x2002, 0, 0, 16), "a 6to4 tunnel"),
    (Cidr::v6(0x3fff, 0, 0, 20), "reserved for documentation"),
];

/// Why an address is outside the open web; `None` if it is not. Addresses that embed an IPv4 address for translation
/// (NAT64, 6to4, Teredo) are blocked whatever they embed; IPv4-mapped addresses are checked as IPv4.
pub(crate) fn blocked_reason(address: IpAddr) -> Option<&'static str> {
    let within = |list: &[(Cidr, &'static str)], it: IpAddr| {
        let found = list.iter().find(|(block, _)| block.contains(it));
        found.map(|(_, why)| *why)
    };
    match address.to_canonical() {
        it @ IpAddr::V4(_) => within(&V4, it),
        IpAddr::V6(it) if it.is_loopback() => Some("loopback"),
        IpAddr::V6(it) if it.is_unspecified() => Some("this machine"),
        it @ IpAddr::V6(_) if !GLOBAL_V6.contains(it) => Some("not globally routable"),
        it @ IpAddr::V6(_) => within(&V6, it),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(text: &str) -> bool {
        blocked_reason(text.parse().unwrap()).is_none()
    }

    #[test]
    fn each_block_ends_where_it_ends() {
        let pairs = [
            ("9.255.255.255", "10.0.0.0"),
            ("11.0.0.0", "10.255.255.255"),
            ("100.63.255.255", "100.64.0.0"),
            ("100.128.0.0", "100.127.255.255"),
            ("126.255.255.255", "127.0.0.0"),
            ("169.253.255.255", "169.254.0.0"),
            ("172.15.255.255", "172.16.0.0"),
            ("172.32.0.0", "172.31.255.255"),
            ("192.0.1.0", "192.0.0.255"),
            ("192.169.0.0", "192.168.255.255"),
            ("198.20.0.0", "198.19.255.255"),
            ("223.255.255.255", "224.0.0.0"),
            ("168.63.129.15", "168.63.129.16"),
            ("2001:200::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("2001:db9::", "2001:db8:ffff::"),
            ("3fff:1000::", "3fff:fff::"),
            ("2000::", "1fff:ffff::"),
            ("3fff:ffff::", "4000::"),
        ];
        for (outside, inside) in pairs {
            assert!(open(outside), "{outside}");
            assert!(!open(inside), "{inside}");
        }
    }

    #[test]
    fn ipv4_within_ipv6_hides_nothing() {
        for it in [
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001:0:1::1",
            "::",
            "::1",
            "fe80::1",
            "fd00::1",
            "fec0::1",
            "ff02::1",
            "100::1",
            "5f00::1",
        ] {
            assert!(!open(it), "{it}");
        }
        assert!(open("::ffff:8.8.8.8"));
    }

    #[test]
    fn a_block_is_read_as_people_write_it() {
        let holds = |block: &str, it: &str| {
            let block: Cidr = block.parse().unwrap();
            block.contains(it.parse().unwrap())
        };
        assert!(holds("127.0.0.0/8", "127.9.9.9"));
        assert!(holds("127.0.0.1", "127.0.0.1"));
        assert!(!holds("127.0.0.1", "127.0.0.2"));
        assert!(holds("0.0.0.0/0", "8.8.8.8"));
        assert!(holds("fd00::/8", "fd12::1"));
        assert!(!holds("fd00::/8", "10.0.0.1"));
        assert!(holds("10.0.0.0/8", "::ffff:10.1.1.1"));
        for wrong in ["", "10", "10.0.0.0/33", "::/129", "10.0.0.0/", "a/8", "10.0.0.0/-1"] {
            assert!(wrong.parse::<Cidr>().is_err(), "{wrong}");
        }
        assert_eq!("fd00::/8".parse::<Cidr>().unwrap().to_string(), "fd00::/8");
    }
}
