//! The names of the things that a question names, as documents explain them.

/// Things whose names are learnt.
const MAX_THINGS: usize = 12;

/// A name: the numbers of its words, sorted. A short form is one word.
type Name = Vec<u32>;

/// Things, each with its names.
#[derive(Default)]
pub(super) struct Aliases(Vec<Vec<Name>>);

impl Aliases {
    /// Learns a name and another one by which it is explained. A name of one word, and a nickname, may have several meanings: it keeps the
    /// first that is learnt. Others are names of the same thing if both are names of `via`, or if the longer name that they explain is
    /// known as one of that thing.
    pub(super) fn learn(&mut self, names: [Name; 2], via: Option<&Name>) {
        if names.iter().any(Vec::is_empty) || names[0] == names[1] {
            return;
        }
        let has = |thing: &Vec<Name>, name: &Name| thing.contains(name);
        let is_same = |thing: &&mut Vec<Name>| {
            via.is_some_and(|via| has(thing, via)) || names[0].len() > 1 && has(thing, &names[0])
        };
        if let Some(thing) = self.0.iter_mut().find(is_same) {
            for name in names {
                if !thing.contains(&name) {
                    thing.push(name);
                }
            }
        } else if self.0.len() < MAX_THINGS
            && !self.0.iter().flatten().any(|known| names.contains(known))
        {
            self.0.push(names.into());
        }
    }

    /// Adds to `ids`, the words of a text, those of the other names of each thing that it names.
    pub(super) fn add_other_names(&self, ids: &mut Vec<u32>) {
        let has = |name: &Name| name.iter().all(|it| ids.binary_search(it).is_ok());
        let named = self.0.iter().filter(|names| names.iter().any(has));
        let more: Vec<u32> = named.flatten().flatten().copied().collect();
        if !more.is_empty() {
            ids.extend(more);
            ids.sort_unstable();
            ids.dedup();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BCC: u32 = 9;

    fn with_other_names(aliases: &Aliases, ids: &[u32]) -> Vec<u32> {
        let mut ids = ids.to_vec();
        aliases.add_other_names(&mut ids);
        ids
    }

    #[test]
    fn a_thing_is_named_by_any_of_its_names() {
        let mut aliases = Aliases::default();
        let (carcinoma, skin_cancer) = (vec![1, 2, 3], vec![1, 2, 4, 5]);
        aliases.learn([carcinoma.clone(), vec![BCC]], None);
        assert_eq!(with_other_names(&aliases, &[1, 2, 4, 5]), [1, 2, 4, 5]);
        aliases.learn([skin_cancer, vec![BCC]], Some(&carcinoma));
        assert_eq!(with_other_names(&aliases, &[1, 2, 4, 5]), [1, 2, 3, 4, 5, BCC]);
        assert_eq!(with_other_names(&aliases, &[BCC]), [1, 2, 3, 4, 5, BCC]);
        assert_eq!(with_other_names(&aliases, &[4, 5]), [4, 5]);
    }

    #[test]
    fn two_things_of_one_nickname_stay_apart() {
        let mut aliases = Aliases::default();
        let (chicago, wellington, windy_city) = (vec![1], vec![2], vec![3, 4]);
        aliases.learn([chicago, windy_city.clone()], None);
        aliases.learn([wellington, windy_city], None);
        assert_eq!(with_other_names(&aliases, &[1]), [1, 3, 4]);
        assert_eq!(with_other_names(&aliases, &[2]), [2]);
    }

    #[test]
    fn a_short_form_keeps_its_first_meaning() {
        let mut aliases = Aliases::default();
        aliases.learn([vec![1, 2], vec![BCC]], None);
        aliases.learn([vec![5, 6], vec![BCC]], None);
        assert_eq!(with_other_names(&aliases, &[BCC]), [1, 2, BCC]);
        assert_eq!(with_other_names(&aliases, &[5, 6]), [5, 6]);
    }
}
