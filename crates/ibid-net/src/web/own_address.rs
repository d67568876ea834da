//! The addresses where this process listens. They are never fetched, whatever the operator allows: a page that links
//! to the server would make it call itself as a local client.
//!
//! Sockets belong to the process and not to a run, so they are kept in one place that every guard consults.
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{PoisonError, RwLock};

static OWN: RwLock<Vec<OwnAddress>> = RwLock::new(Vec::new());

#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnAddress {
    addr: SocketAddr,
    names: Vec<String>,
}

/// A registered address, until dropped.
#[derive(Debug)]
pub struct OwnAddressGuard(OwnAddress);

impl OwnAddressGuard {
    /// Registers that this process listens at `addr` and is reachable as `names`, hosts with or without port.
    pub fn register(addr: SocketAddr, names: &[String]) -> OwnAddressGuard {
        let bare = names.iter().map(|name| {
            let host = name.rsplit_once(':').map_or(name.as_str(), |parts| parts.0);
            host.trim_end_matches('.').to_ascii_lowercase()
        });
        let own = OwnAddress {
            addr,
            // A name without a dot may refer to any machine; its resolved addresses decide.
            names: bare.filter(|it| it.contains('.') && it.parse::<IpAddr>().is_err()).collect(),
        };
        let mut all = OWN.write().unwrap_or_else(PoisonError::into_inner);
        all.push(own.clone());
        OwnAddressGuard(own)
    }
}

impl Drop for OwnAddressGuard {
    fn drop(&mut self) {
        let mut all = OWN.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = all.iter().position(|it| *it == self.0) {
            all.swap_remove(at);
        }
    }
}

/// Whether a connection to this address and port would reach a socket of this process.
pub(super) fn is_own(address: IpAddr, port: u16) -> bool {
    let address = address.to_canonical();
    let all = OWN.read().unwrap_or_else(PoisonError::into_inner);
    let ours = all.iter().map(|it| it.addr).filter(|addr| addr.port() == port);
    ours.map(|it| it.ip().to_canonical()).any(|own| {
        // The unspecified address connects to this machine.
        own == address
            || address.is_unspecified()
            || own.is_unspecified() && is_local_interface(address)
    })
}

/// Whether this process is reachable under this name at a standard port.
pub(super) fn is_own_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    let all = OWN.read().unwrap_or_else(PoisonError::into_inner);
    all.iter().any(|it| it.names.iter().any(|own| own.eq_ignore_ascii_case(name)))
}

/// Whether an address belongs to this machine: only those can be bound.
fn is_local_interface(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::guard::SsrfGuard;

    #[test]
    fn no_guard_lets_through_where_this_process_listens() {
        let guard =
            SsrfGuard::with_allowed(vec!["0.0.0.0/0".parse().unwrap(), "::/0".parse().unwrap()]);
        let at = |text: &str| guard.check(text).is_ok();
        let (loopback, any) = (59_871, 59_872);
        assert!(at("http://127.0.0.1:59871/") && at("http://127.0.0.5:59872/"));
        let one = OwnAddressGuard::register(
            SocketAddr::from(([127, 0, 0, 1], loopback)),
            &["ibid.elsewhere.example:8443".to_owned(), "localhost".to_owned()],
        );
        let two = OwnAddressGuard::register(SocketAddr::from(([0, 0, 0, 0], any)), &[]);
        for own in [
            "http://127.0.0.1:59871/v1/runs",
            "http://2130706433:59871/",
            "http://[::ffff:127.0.0.1]:59871/",
            "http://0.0.0.0:59871/",
            "http://127.0.0.5:59872/",
            "http://[::1]:59872/",
            "https://IBID.elsewhere.example./login",
            "http://ibid.elsewhere.example:8080/",
        ] {
            assert!(!at(own), "{own}");
        }
        assert!(at("http://127.0.0.1:59873/"));
        assert!(at("http://127.0.0.2:59871/"), "nobody of ours listens there");
        let target = guard.check("http://name.invalid.example:59871/").unwrap();
        assert!(guard.check_addresses(&target, &["127.0.0.1".parse().unwrap()]).is_err());
        drop((one, two));
        assert!(at("http://127.0.0.1:59871/"));
    }
}
