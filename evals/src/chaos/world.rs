//! The world of one script: engines, pages, models, a reranker and a clock that fail as the script says, and keep books.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ibid_core::ports::Clock;
use tokio::sync::mpsc;

use super::script::{FaultEffect, Port, Script};

/// What every script asks.
pub(super) const QUESTION: &str = "What is cork?";

/// When the clock of every script starts.
const BEGIN_MS: i64 = 1_790_000_000_000;
const HOUR_MS: i64 = 3_600_000;

/// The pages of the world: address, title, day and text.
pub(super) const PAGES: &[(&str, &str, &str, &str)] = &[
    (
        "https://oak.example/cork",
        "Cork",
        "2022-03-01",
        "Cork is a light material that is stripped from the bark of the cork oak.\n\
         Cork oak forests cover 2.1 million hectares of land.\n\
         Cork floats because its cells are closed and filled with air.",
    ),
    (
        "https://bark.example/harvest",
        "Cork harvest",
        "2023-05-01",
        "Cork is stripped from the living tree every nine years without felling it.\n\
         Cork workers cut the bark with an axe in summer.",
    ),
    (
        "https://stopper.example/wine",
        "Cork stoppers",
        "2021-09-12",
        "Cork is used for stoppers because it is elastic and keeps wine from air.\n\
         About 70 percent of cork by value goes into stoppers.",
    ),
    (
        "https://floor.example/insulation",
        "Cork floors",
        "2020-02-02",
        "Cork is used in floors because it insulates against heat and sound.\n\
         Cork types include natural cork, agglomerated cork and expanded cork.",
    ),
    (
        "https://forest.example/law",
        "Cork forests",
        "2019-11-30",
        "Cork forests in Portugal and Spain are protected by law.\n\
         However, cork cannot be harvested from trees younger than 25 years.",
    ),
    (
        "https://cells.example/physics",
        "Why cork floats",
        "2018-06-21",
        "A cubic centimetre of cork holds about 40 million cells.\n\
         Cork floats on water because most of its volume is gas in closed cells.",
    ),
    (
        "https://bread.example/rye",
        "Rye bread",
        "2022-01-01",
        "Rye bread keeps for a week because its crumb holds much water.",
    ),
];

/// What the driver of the script must do, since no port can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Kill,
    PowerLoss,
    LyingDisk,
    Cancel,
    Finish,
    Lock,
}

/// A call that came to a port.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sent {
    pub(super) session: u32,
    pub(super) port: Port,
    /// What was asked, comparable with the request in the journal.
    pub(super) key: String,
}

/// The books of a world.
#[derive(Default)]
pub(super) struct Books {
    pub(super) counts: BTreeMap<Port, u32>,
    /// How often each fault of the script happened.
    pub(super) fired: Vec<u32>,
    pub(super) sent: Vec<Sent>,
    /// Every text that was served for an address.
    pub(super) served: BTreeMap<String, Vec<String>>,
    /// What the models billed, US dollars.
    pub(super) billed: f64,
}

/// The world of one script, over all sessions of its run.
pub(super) struct World {
    pub(super) script: Script,
    books: Mutex<Books>,
    pub(super) session: AtomicU32,
    clock_ms: AtomicI64,
    orders: mpsc::UnboundedSender<Order>,
    /// Fills the disk of the store.
    fill: Box<dyn Fn() + Send + Sync>,
}

impl World {
    pub(super) fn new(
        script: Script,
        orders: mpsc::UnboundedSender<Order>,
        fill: Box<dyn Fn() + Send + Sync>,
    ) -> Arc<World> {
        let books = Books { fired: vec![0; script.faults.len()], ..Books::default() };
        Arc::new(World {
            script,
            books: Mutex::new(books),
            session: AtomicU32::new(1),
            clock_ms: AtomicI64::new(BEGIN_MS),
            orders,
            fill,
        })
    }

    pub(super) fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Books a call and returns what becomes of it; `None` if nothing goes wrong. Does not return for a process that dies.
    pub(super) async fn meet(&self, port: Port, key: String) -> Option<FaultEffect> {
        let effects = self.book(port, key);
        let mut own = None;
        for effect in effects {
            match effect {
                FaultEffect::Forward => self.advance(HOUR_MS),
                FaultEffect::Back => self.advance(-HOUR_MS),
                FaultEffect::Slow => self.order(Order::Lock),
                FaultEffect::DiskFull => (self.fill)(),
                FaultEffect::Cancel => self.order(Order::Cancel),
                FaultEffect::Finish => self.order(Order::Finish),
                FaultEffect::Killed => self.die(Order::Kill).await,
                FaultEffect::PowerLoss => self.die(Order::PowerLoss).await,
                FaultEffect::LyingDisk => self.die(Order::LyingDisk).await,
                other => own = own.or(Some(other)),
            }
        }
        own
    }

    fn book(&self, port: Port, key: String) -> Vec<FaultEffect> {
        let mut books = self.books();
        books.sent.push(Sent { session: self.session.load(Ordering::Relaxed), port, key });
        let mut nth = |port| {
            let count = books.counts.entry(port).or_default();
            *count += 1;
            *count
        };
        let (own, any) = (nth(port), nth(Port::Any));
        let mut effects = Vec::new();
        for (at, fault) in self.script.faults.iter().enumerate() {
            if fault.hits(port, own) || fault.hits(Port::Any, any) {
                books.fired[at] += 1;
                effects.push(fault.kind.effect);
            }
        }
        effects
    }

    fn order(&self, order: Order) {
        // Without a driver the script is over.
        self.orders.send(order).ok();
    }

    async fn die(&self, order: Order) {
        self.order(order);
        std::future::pending::<()>().await;
    }

    pub(super) fn advance(&self, ms: i64) {
        self.clock_ms.fetch_add(ms, Ordering::Relaxed);
    }

    /// Books that `text` was served for `url`.
    pub(super) fn serve(&self, url: &str, text: &str) {
        self.books().served.entry(url.to_owned()).or_default().push(text.to_owned());
    }

    pub(super) fn bill(&self, usd: f64) {
        self.books().billed += usd;
    }
}

impl Clock for World {
    /// Five milliseconds pass at each look, and what a fault adds.
    fn unix_ms(&self) -> u64 {
        self.clock_ms.fetch_add(5, Ordering::Relaxed).unsigned_abs()
    }
}
