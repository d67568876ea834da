//! A script: what goes wrong in one run, at which call of which port, drawn from a seed.
use ibid_core::domain::{Effort, OutputMode, Strategy};

/// What a fault hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Port {
    Engine,
    Page,
    Model,
    Reranker,
    /// The call of any port; the fault hits the process, its store or its clock.
    Any,
}

/// What happens to a call, or around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum FaultEffect {
    // What a port answers.
    Transient,
    Limited,
    Refused,
    Quota,
    Key,
    Garbage,
    Truncated,
    Empty,
    /// No answer until the deadline of the call.
    Hang,
    // What happens to the clock.
    Forward,
    Back,
    // What happens to the store.
    Slow,
    DiskFull,
    // What happens to the process.
    Killed,
    /// The process dies, and what it wrote without a sync is lost.
    PowerLoss,
    /// The same on a disk that had not kept what was synced.
    LyingDisk,
    // What the user does.
    Cancel,
    Finish,
}

/// A kind of fault, a row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    pub(super) port: Port,
    pub(super) effect: FaultEffect,
    pub(super) name: &'static str,
}

const fn kind(port: Port, effect: FaultEffect, name: &'static str) -> Kind {
    Kind { port, effect, name }
}

/// Every kind of fault that hits a run in this process.
pub(super) const KINDS: &[Kind] = &[
    kind(Port::Engine, FaultEffect::Transient, "engine: connection lost"),
    kind(Port::Engine, FaultEffect::Limited, "engine: too many requests"),
    kind(Port::Engine, FaultEffect::Refused, "engine: request refused"),
    kind(Port::Engine, FaultEffect::Quota, "engine: quota used up"),
    kind(Port::Engine, FaultEffect::Key, "engine: wrong key"),
    kind(Port::Engine, FaultEffect::Garbage, "engine: hits that make no sense"),
    kind(Port::Engine, FaultEffect::Empty, "engine: no hits"),
    kind(Port::Engine, FaultEffect::Hang, "engine: no answer until its deadline"),
    kind(Port::Page, FaultEffect::Transient, "page: connection lost"),
    kind(Port::Page, FaultEffect::Refused, "page: refused"),
    kind(Port::Page, FaultEffect::Garbage, "page: binary text of 200 kB"),
    kind(Port::Page, FaultEffect::Truncated, "page: cut within a sentence"),
    kind(Port::Page, FaultEffect::Empty, "page: empty"),
    kind(Port::Page, FaultEffect::Hang, "page: no answer until its deadline"),
    kind(Port::Model, FaultEffect::Transient, "model: connection lost"),
    kind(Port::Model, FaultEffect::Limited, "model: too many requests"),
    kind(Port::Model, FaultEffect::Refused, "model: declines to answer"),
    kind(Port::Model, FaultEffect::Quota, "model: quota used up"),
    kind(Port::Model, FaultEffect::Key, "model: wrong key"),
    kind(Port::Model, FaultEffect::Garbage, "model: an answer that makes no sense"),
    kind(Port::Model, FaultEffect::Truncated, "model: an answer cut off"),
    kind(Port::Model, FaultEffect::Empty, "model: an empty answer"),
    kind(Port::Model, FaultEffect::Hang, "model: no answer until the run's time is up"),
    kind(Port::Reranker, FaultEffect::Transient, "reranker: connection lost"),
    kind(Port::Reranker, FaultEffect::Garbage, "reranker: scores that are no numbers"),
    kind(Port::Reranker, FaultEffect::Truncated, "reranker: too few scores"),
    kind(Port::Any, FaultEffect::Forward, "clock: an hour forward"),
    kind(Port::Any, FaultEffect::Back, "clock: an hour back"),
    kind(Port::Any, FaultEffect::Slow, "store: locked for 0.3 s"),
    kind(Port::Any, FaultEffect::DiskFull, "store: disk full"),
    kind(Port::Any, FaultEffect::Killed, "process: killed"),
    kind(Port::Any, FaultEffect::PowerLoss, "power loss: unsynced writes dropped"),
    kind(Port::Any, FaultEffect::LyingDisk, "power loss: synced writes dropped too"),
    kind(Port::Any, FaultEffect::Cancel, "user: cancels"),
    kind(Port::Any, FaultEffect::Finish, "user: asks to finish"),
];

/// A fault of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScriptedFault {
    pub(super) kind: Kind,
    /// The call that it hits first, from 1, over all sessions of the run.
    pub(super) nth: u32,
    /// How many calls of the port it hits.
    pub(super) times: u32,
}

impl ScriptedFault {
    pub(super) fn hits(&self, port: Port, nth: u32) -> bool {
        self.kind.port == port && (self.nth..self.nth.saturating_add(self.times)).contains(&nth)
    }
}

/// How one run is asked, and what goes wrong in it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Script {
    pub(super) seed: u64,
    pub(super) strategy: Strategy,
    pub(super) effort: Effort,
    pub(super) mode: OutputMode,
    /// Whether models have the roles of the run.
    pub(super) has_model: bool,
    pub(super) has_reranker: bool,
    pub(super) usd: Option<f64>,
    pub(super) calls: Option<u64>,
    pub(super) seconds: u64,
    pub(super) faults: Vec<ScriptedFault>,
}

impl Script {
    /// The script of `seed`. The first fault is of the kind whose turn it is, so that each kind has its share.
    pub(super) fn from_seed(seed: u64, can_mount: bool) -> Script {
        let mut chance = Chance(seed);
        let usable: Vec<Kind> = KINDS
            .iter()
            .filter(|it| can_mount || it.effect != FaultEffect::DiskFull)
            .copied()
            .collect();
        let first = usable[seed as usize % usable.len()];
        let mut faults = vec![fault(first, &mut chance)];
        for _ in 0..chance.below(5) {
            let kind = *chance.one_of(&usable);
            // A run ends at most once by the user's word.
            let ends =
                |kind: Kind| matches!(kind.effect, FaultEffect::Cancel | FaultEffect::Finish);
            if !(ends(kind) && faults.iter().any(|it| ends(it.kind))) {
                faults.push(fault(kind, &mut chance));
            }
        }
        let needs = |port| faults.iter().any(|it| it.kind.port == port);
        Script {
            seed,
            strategy: *chance.one_of(&Strategy::ALL),
            effort: *chance.one_of(&[Effort::Quick, Effort::Standard, Effort::Deep]),
            mode: *chance.one_of(&[OutputMode::Report, OutputMode::Answer, OutputMode::Evidence]),
            has_model: needs(Port::Model) || chance.below(4) > 0,
            has_reranker: needs(Port::Reranker) || chance.below(2) > 0,
            usd: *chance.one_of(&[None, Some(0.02), Some(0.2), Some(1.0)]),
            calls: *chance.one_of(&[None, Some(6), Some(40)]),
            seconds: 7_200,
            faults,
        }
    }
}

fn fault(kind: Kind, chance: &mut Chance) -> ScriptedFault {
    let last = match kind.port {
        Port::Engine => 4,
        Port::Page => 4,
        Port::Model => 8,
        Port::Reranker => 1,
        Port::Any => 16,
    };
    let for_good = u32::MAX;
    let times = match kind.port {
        Port::Any => 1,
        _ => *chance.one_of(&[1, 1, 1, 3, for_good]),
    };
    ScriptedFault { kind, nth: 1 + chance.below(last), times }
}

/// SplitMix64 (public domain).
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `most`.
    pub(super) fn below(&mut self, most: u32) -> u32 {
        (((self.next() >> 32) * u64::from(most)) >> 32) as u32
    }

    pub(super) fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(u32::try_from(all.len()).unwrap_or(u32::MAX)) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_script_and_every_kind_has_its_turn() {
        assert_eq!(Script::from_seed(7, true), Script::from_seed(7, true));
        for (nth, kind) in KINDS.iter().enumerate() {
            assert_eq!(Script::from_seed(nth as u64, true).faults[0].kind, *kind);
        }
        let scripts = (0..500).map(|seed| Script::from_seed(seed, false));
        assert!(
            scripts
                .flat_map(|it| it.faults)
                .all(|fault| fault.kind.effect != FaultEffect::DiskFull)
        );
    }
}
