//! Unauthenticated connections. Their number is limited per address, and when all connections are in use the oldest of them is
//! closed, so that strangers cannot lock others out.
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use ibid_core::{Error, ErrorKind, Result};

/// The unauthenticated connections.
#[derive(Debug)]
pub(super) struct Peers {
    strangers: Mutex<AnonymousPeers>,
    /// Maximum number of unauthenticated connections from one address.
    each: usize,
    /// Addresses of proxies, to which that limit does not apply.
    proxies: Vec<IpAddr>,
}

#[derive(Debug, Default)]
struct AnonymousPeers {
    next: u64,
    /// By order of arrival.
    open: BTreeMap<u64, (IpAddr, Arc<Notify>)>,
    by_address: HashMap<IpAddr, usize>,
}

impl AnonymousPeers {
    fn remove(&mut self, nth: u64) -> Option<Arc<Notify>> {
        let (address, leave) = self.open.remove(&nth)?;
        if let Some(count) = self.by_address.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&address);
            }
        }
        Some(leave)
    }
}

impl Peers {
    /// Allows `each` unauthenticated connections per address, and any number from `proxies`.
    ///
    /// # Errors
    /// `Usage` if one of `proxies` is not an IP address.
    pub(super) fn new(each: usize, proxies: &[String]) -> Result<Arc<Peers>> {
        let read = |text: &String| {
            text.trim().parse::<IpAddr>().map(subscriber_network).map_err(|fault| {
                Error::new(ErrorKind::Usage, format!("serve.proxies: invalid address `{text}`"))
                    .with_source(fault)
                    .with_hint("write addresses as in 127.0.0.1, 10.0.0.7")
            })
        };
        Ok(Arc::new(Peers {
            strangers: Mutex::default(),
            each,
            proxies: proxies.iter().map(read).collect::<Result<_>>()?,
        }))
    }

    /// Registers a connection from `address`; `None` if the address has reached its limit.
    pub(super) fn enter(self: &Arc<Peers>, address: IpAddr) -> Option<Peer> {
        let address = subscriber_network(address);
        let mut strangers = self.lock();
        let count = strangers.by_address.entry(address).or_default();
        if *count >= self.each && !self.proxies.contains(&address) {
            return None;
        }
        *count += 1;
        let nth = strangers.next;
        strangers.next += 1;
        let leave = Arc::new(Notify::new());
        strangers.open.insert(nth, (address, Arc::clone(&leave)));
        drop(strangers);
        Some(Peer { peers: Arc::clone(self), address, nth, leave })
    }

    /// Closes the oldest unauthenticated connection besides `newcomer`; returns false if there is none.
    pub(super) fn make_room(&self, newcomer: &Peer) -> bool {
        let mut strangers = self.lock();
        let oldest = strangers.open.keys().find(|key| **key != newcomer.nth).copied();
        match oldest.and_then(|it| strangers.remove(it)) {
            Some(leave) => {
                leave.notify_one();
                true
            }
            None => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, AnonymousPeers> {
        self.strangers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection.
#[derive(Debug)]
pub(super) struct Peer {
    peers: Arc<Peers>,
    address: IpAddr,
    nth: u64,
    leave: Arc<Notify>,
}

impl Peer {
    /// Its origin: an IPv4 address or an IPv6 /64 network.
    pub(super) fn address(&self) -> IpAddr {
        self.address
    }

    /// Whether it comes from a proxy.
    pub(super) fn is_proxy(&self) -> bool {
        self.peers.proxies.contains(&self.address)
    }

    /// Marks the connection as authenticated, so that it no longer counts.
    pub(super) fn mark_authenticated(&self) {
        self.peers.lock().remove(self.nth);
    }

    /// Completes when the connection must close to make room.
    pub(super) async fn evicted(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.mark_authenticated();
    }
}

/// The addresses of one subscriber: an IPv4 address, or an IPv6 /64 network.
fn subscriber_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(it) => {
            let high = u128::from(it) >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from(high))
        }
        it => it,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_so_many_strangers_and_another_has_its_own() {
        let peers = Peers::new(2, &["10.0.0.9".to_owned()]).unwrap();
        let at = |text: &str| peers.enter(text.parse().unwrap());
        let one = at("10.0.0.1").unwrap();
        let two = at("::ffff:10.0.0.1").unwrap();
        assert!(at("10.0.0.1").is_none());
        let other = at("10.0.0.2");
        assert!(other.is_some());
        two.mark_authenticated();
        let three = at("10.0.0.1");
        assert!(three.is_some(), "who has signed in is counted no longer");
        drop(one);
        assert!(at("10.0.0.1").is_some());
        let proxied: Vec<_> = (0..9).filter_map(|_| at("10.0.0.9")).collect();
        assert_eq!(proxied.len(), 9);
        let kept = (at("2001:db8::1"), at("2001:db8::2"));
        assert!(kept.0.is_some() && kept.1.is_some());
        assert!(at("2001:db8::3").is_none(), "one network of version 6");
        assert!(Peers::new(2, &["a proxy".to_owned()]).is_err());
    }

    #[tokio::test]
    async fn the_stranger_who_came_first_makes_room() {
        let peers = Peers::new(9, &[]).unwrap();
        let at = |text: &str| peers.enter(text.parse().unwrap()).unwrap();
        let (known, first, second) = (at("10.0.0.1"), at("10.0.0.2"), at("10.0.0.3"));
        known.mark_authenticated();
        let newcomer = at("10.0.0.4");
        assert!(peers.make_room(&newcomer));
        first.evicted().await;
        assert!(peers.make_room(&newcomer));
        second.evicted().await;
        assert!(!peers.make_room(&newcomer), "who is known stays");
    }
}
