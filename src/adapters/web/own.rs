//! Where this process itself listens. Nothing here fetches from there, whatever else the operator allows: a page that leads to
//! the server would have it ask itself, as a caller on its own machine.
//!
//! Sockets are the process's and not a run's, so they are known in one place that no guard can be made without.
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{PoisonError, RwLock};

static OWN: RwLock<Vec<Own>> = RwLock::new(Vec::new());

#[derive(Debug, Clone, PartialEq, Eq)]
struct Own {
    addr: SocketAddr,
    names: Vec<String>,
}

/// A socket that listens, until this is dropped.
#[derive(Debug)]
pub struct OwnSocket(Own);

impl OwnSocket {
    /// Takes note that this process listens at `addr` and is reached by `names`, hosts with or without a port.
    pub fn note(addr: SocketAddr, names: &[String]) -> OwnSocket {
        let bare = names.iter().map(|it| {
            let name = it.rsplit_once(':').map_or(it.as_str(), |it| it.0);
            name.trim_end_matches('.').to_ascii_lowercase()
        });
        let own = Own {
            addr,
            // A name without a dot is any machine's word for itself or a neighbour; its addresses decide.
            names: bare
                .filter(|it| it.contains('.') && it.parse::<IpAddr>().is_err())
                .collect(),
        };
        let mut all = OWN.write().unwrap_or_else(PoisonError::into_inner);
        all.push(own.clone());
        OwnSocket(own)
    }
}

impl Drop for OwnSocket {
    fn drop(&mut self) {
        let mut all = OWN.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = all.iter().position(|it| *it == self.0) {
            all.swap_remove(at);
        }
    }
}

/// Whether a connection to this address and port would come to a socket of this process.
pub(super) fn is_own(address: IpAddr, port: u16) -> bool {
    let address = address.to_canonical();
    let all = OWN.read().unwrap_or_else(PoisonError::into_inner);
    let ours = all.iter().map(|it| it.addr).filter(|it| it.port() == port);
    ours.map(|it| it.ip().to_canonical()).any(|own| {
        // The system takes "no address" for this machine.
        own == address || address.is_unspecified() || own.is_unspecified() && is_here(address)
    })
}

/// Whether this name is one by which this process is reached, at a port of the web.
pub(super) fn is_own_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    let all = OWN.read().unwrap_or_else(PoisonError::into_inner);
    all.iter()
        .any(|it| it.names.iter().any(|own| own.eq_ignore_ascii_case(name)))
}

/// Whether an address is one of this machine: only those can be bound.
fn is_here(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::web::guard::Guard;

    #[test]
    fn no_guard_lets_through_where_this_process_listens() {
        let guard = Guard::allowing(vec!["0.0.0.0/0".parse().unwrap(), "::/0".parse().unwrap()]);
        let at = |it: &str| guard.target(it).is_ok();
        let (loopback, any) = (59_871, 59_872);
        assert!(at("http://127.0.0.1:59871/") && at("http://127.0.0.5:59872/"));
        let one = OwnSocket::note(
            SocketAddr::from(([127, 0, 0, 1], loopback)),
            &[
                "ibid.elsewhere.example:8443".to_owned(),
                "localhost".to_owned(),
            ],
        );
        let two = OwnSocket::note(SocketAddr::from(([0, 0, 0, 0], any)), &[]);
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
        assert!(
            at("http://127.0.0.2:59871/"),
            "nobody of ours listens there"
        );
        let target = guard.target("http://name.invalid.example:59871/").unwrap();
        assert!(
            guard
                .addresses(&target, &["127.0.0.1".parse().unwrap()])
                .is_err()
        );
        drop((one, two));
        assert!(at("http://127.0.0.1:59871/"));
    }
}
