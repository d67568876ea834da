//! What the sources of a skeleton draft disagree on, to be searched for.
use std::collections::BTreeSet;

use ibid_core::domain::ItemId;

/// Maximum number of disputes searched for in a round.
const MAX_DISPUTE_QUERIES: usize = 2;

/// The disputes of the latest draft, and those that were searched for.
#[derive(Default)]
pub(super) struct Disputes {
    open: Vec<(ItemId, String)>,
    searched: BTreeSet<String>,
}

impl Disputes {
    /// Replaces the disputes: the item and the query of each.
    pub(super) fn set(&mut self, open: Vec<(ItemId, String)>) {
        self.open = open;
    }

    /// The next disputes to search for, each once.
    pub(super) fn take(&mut self) -> Vec<(ItemId, String)> {
        let open = std::mem::take(&mut self.open).into_iter();
        let new = open.filter(|(_, text)| self.searched.insert(text.clone()));
        new.take(MAX_DISPUTE_QUERIES).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dispute_is_searched_for_once() {
        let of = |texts: &[&str]| -> Vec<(ItemId, String)> {
            texts.iter().map(|text| (ItemId::new(1), (*text).to_owned())).collect()
        };
        let mut disputes = Disputes::default();
        disputes.set(of(&["yield", "weight", "price"]));
        assert_eq!(disputes.take(), of(&["yield", "weight"]));
        disputes.set(of(&["yield", "price"]));
        assert_eq!(disputes.take(), of(&["price"]));
        assert_eq!(disputes.take(), of(&[]));
    }
}
