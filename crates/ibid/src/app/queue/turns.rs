//! Whose run is next: organisations take turns, and within one its users.
use std::collections::BTreeMap;

use ibid_core::domain::Owner;

/// The most entries that are kept. Who is forgotten counts as one who never had a turn.
const MAX_KEPT: usize = 10_000;

/// Who takes turns with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Party<'o> {
    /// Whoever has no account.
    Operator,
    /// A user, or a user without an organisation among organisations.
    User(&'o str),
    Org(&'o str),
}

impl Party<'_> {
    fn key(self) -> (u8, String) {
        match self {
            Party::Operator => (0, String::new()),
            Party::User(id) => (1, id.to_owned()),
            Party::Org(id) => (2, id.to_owned()),
        }
    }
}

fn org(owner: Option<&Owner>) -> Party<'_> {
    owner.and_then(|owner| owner.org.as_deref()).map_or(user(owner), Party::Org)
}

fn user(owner: Option<&Owner>) -> Party<'_> {
    owner.map_or(Party::Operator, |owner| Party::User(&owner.user))
}

/// When each organisation and user had its last turn.
#[derive(Debug, Default)]
pub(super) struct Turns {
    last: BTreeMap<(u8, String), u64>,
    count: u64,
}

/// The order of turns: first comes the organisation with the fewest active runs, of several the one whose last turn is longest ago; then the
/// same of its users.
type Rank = (usize, u64, usize, u64);

impl Turns {
    /// The rank of `owner`, the lowest first, beside the owners of the `active` runs.
    pub(super) fn rank(&self, active: &[Option<&Owner>], owner: Option<&Owner>) -> Rank {
        let count = |of: fn(Option<&Owner>) -> Party<'_>| {
            active.iter().filter(|it| of(**it) == of(owner)).count()
        };
        let last = |party: Party<'_>| self.last.get(&party.key()).copied().unwrap_or(0);
        (count(org), last(org(owner)), count(user), last(user(owner)))
    }

    /// Gives `owner` a turn.
    pub(super) fn take(&mut self, owner: Option<&Owner>) {
        self.count += 1;
        for party in [org(owner), user(owner)] {
            self.last.insert(party.key(), self.count);
        }
        if self.last.len() > MAX_KEPT {
            let old = self.count.saturating_sub(MAX_KEPT as u64 / 4);
            self.last.retain(|_, last| *last > old);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(user: &str, org: &str) -> Option<Owner> {
        let org = (!org.is_empty()).then(|| org.to_owned());
        Some(Owner { user: user.to_owned(), org })
    }

    /// The users in the order of their turns, with `slots` active runs at most; the oldest ends first.
    fn order(waiting: &[Option<Owner>], slots: usize) -> Vec<String> {
        let (mut turns, mut active, mut order) = (Turns::default(), Vec::new(), Vec::new());
        let mut waiting: Vec<Option<Owner>> = waiting.to_vec();
        while !waiting.is_empty() {
            if active.len() == slots {
                active.remove(0);
            }
            let at_work: Vec<Option<&Owner>> = active.iter().map(Option::as_ref).collect();
            let rank = |at: &usize| (turns.rank(&at_work, waiting[*at].as_ref()), *at);
            let at = (0..waiting.len()).min_by_key(rank).unwrap();
            let next = waiting.remove(at);
            turns.take(next.as_ref());
            order.push(next.as_ref().map_or("-".to_owned(), |it| it.user.clone()));
            active.push(next);
        }
        order
    }

    #[test]
    fn an_organisation_with_many_runs_of_many_users_lets_another_begin_next() {
        for slots in [1, 2, 4] {
            let mut waiting: Vec<Option<Owner>> =
                (0..20).map(|nth| owned(&format!("a{nth}"), "a")).collect();
            waiting.push(owned("b", "b"));
            let order = order(&waiting, slots);
            let at = order.iter().position(|it| it == "b").unwrap();
            assert!(at <= 1, "{slots}: {order:?}");
        }
    }

    #[test]
    fn users_of_an_organisation_and_those_without_one_take_turns() {
        let (ann, bob, joe) = (owned("ann", "a"), owned("bob", "a"), owned("joe", ""));
        let ann = || ann.clone();
        let waiting = [ann(), ann(), ann(), bob.clone(), joe.clone(), joe, None];
        assert_eq!(order(&waiting, 1), ["ann", "joe", "-", "bob", "joe", "ann", "ann"]);
    }
}
