//! Who is connected and has not yet shown who they are. They are bounded by address, and where every place is taken the
//! one that has been there for longest makes room, so that strangers cannot keep others out.
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::error::{Error, Kind, Result};

/// The connections of strangers.
#[derive(Debug)]
pub(super) struct Peers {
    strangers: Mutex<Strangers>,
    /// Most connections of strangers from one address.
    each: usize,
    /// Addresses from which many people come: the bound by address is not for them.
    proxies: Vec<IpAddr>,
}

#[derive(Debug, Default)]
struct Strangers {
    next: u64,
    /// By the order in which they came.
    open: BTreeMap<u64, (IpAddr, Arc<Notify>)>,
    by_address: HashMap<IpAddr, usize>,
}

impl Strangers {
    fn forget(&mut self, nth: u64) -> Option<Arc<Notify>> {
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
    /// Nobody yet: at most `each` strangers from one address, but for those of `proxies`.
    ///
    /// # Errors
    /// `Usage` where one of `proxies` is no address.
    pub(super) fn new(each: usize, proxies: &[String]) -> Result<Arc<Peers>> {
        let read = |it: &String| {
            it.trim().parse::<IpAddr>().map(network).map_err(|fault| {
                Error::new(Kind::Usage, format!("serve.proxies: `{it}` is no address"))
                    .because(fault)
                    .hint("write addresses as in 127.0.0.1, 10.0.0.7")
            })
        };
        Ok(Arc::new(Peers {
            strangers: Mutex::default(),
            each,
            proxies: proxies.iter().map(read).collect::<Result<_>>()?,
        }))
    }

    /// Takes note of a connection from `address`; `None` where that address has as many as it may.
    pub(super) fn enter(self: &Arc<Peers>, address: IpAddr) -> Option<Peer> {
        let address = network(address);
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
        Some(Peer {
            peers: Arc::clone(self),
            address,
            nth,
            leave,
        })
    }

    /// Has the stranger leave who has been there for longest, so that `newcomer` can stay; false where there is no other.
    pub(super) fn make_room(&self, newcomer: &Peer) -> bool {
        let mut strangers = self.lock();
        let oldest = strangers
            .open
            .keys()
            .find(|it| **it != newcomer.nth)
            .copied();
        match oldest.and_then(|it| strangers.forget(it)) {
            Some(leave) => {
                leave.notify_one();
                true
            }
            None => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Strangers> {
        self.strangers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
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
    /// Where it comes from: an address of version 4, or a network of version 6.
    pub(super) fn address(&self) -> IpAddr {
        self.address
    }

    /// Whether many people come from there.
    pub(super) fn is_proxy(&self) -> bool {
        self.peers.proxies.contains(&self.address)
    }

    /// Whoever is at the other end has shown who they are: the connection is a stranger's no longer.
    pub(super) fn known(&self) {
        self.peers.lock().forget(self.nth);
    }

    /// Done once the connection has to make room for another.
    pub(super) async fn leave(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.known();
    }
}

/// What one subscriber has of addresses: one of version 4, a network of 64 bits of version 6.
fn network(address: IpAddr) -> IpAddr {
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
        let at = |it: &str| peers.enter(it.parse().unwrap());
        let one = at("10.0.0.1").unwrap();
        let two = at("::ffff:10.0.0.1").unwrap();
        assert!(at("10.0.0.1").is_none());
        let other = at("10.0.0.2");
        assert!(other.is_some());
        two.known();
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
        let at = |it: &str| peers.enter(it.parse().unwrap()).unwrap();
        let (known, first, second) = (at("10.0.0.1"), at("10.0.0.2"), at("10.0.0.3"));
        known.known();
        let newcomer = at("10.0.0.4");
        assert!(peers.make_room(&newcomer));
        first.leave().await;
        assert!(peers.make_room(&newcomer));
        second.leave().await;
        assert!(!peers.make_room(&newcomer), "who is known stays");
    }
}
