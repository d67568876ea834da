//! What a supervisor is shown of its researchers' work (row C5): their notes, and beside them the words they rest on.
use crate::domain::{Evidence, Notes, Team};

/// Words of one raw note, at most: a long quote would leave no room for others.
const QUOTED: usize = 80;

/// Notes as the supervisor sees them: the newest that fit in so many bullets and words, in their order.
pub(super) fn compressed(notes: &[String], team: &Team) -> Vec<String> {
    let words = team.supervisor_notes_word_budget as usize;
    newest(notes, team.supervisor_notes_max_bullets as usize, words)
}

/// The raw notes beside them: the newest that fit in half as many bullets and words, so that the notes of a wave and what they
/// rest on stand in one prompt with the rest.
pub(super) fn beside(raw: &[String], team: &Team) -> Vec<String> {
    let bullets = team.supervisor_notes_max_bullets.div_ceil(2) as usize;
    newest(raw, bullets, team.supervisor_notes_word_budget as usize / 2)
}

/// The raw note of a finding: who found it, the words of its source as they stand, and where they stand.
pub(super) fn raw(researcher: &str, finding: &Evidence, notes: &Notes) -> String {
    let text = finding.passage.text();
    let mut words: Vec<&str> = text.expose().split_whitespace().collect();
    let cut = words.len() > QUOTED;
    words.truncate(QUOTED);
    let end = if cut { " …" } else { "" };
    let place = notes
        .source(finding.source)
        .map_or("", |it| it.url.as_str());
    format!("{researcher}: \"{}{end}\" ({place})", words.join(" "))
}

fn newest(notes: &[String], bullets: usize, mut words: usize) -> Vec<String> {
    let mut kept = Vec::new();
    for it in notes.iter().rev().take(bullets) {
        let own = it.split_whitespace().count();
        if own > words {
            break;
        }
        words -= own;
        kept.push(format!("- {it}"));
    }
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_cut_to_the_newest_that_fit_in_bullets_and_words() {
        let notes: Vec<String> = (1..=100)
            .map(|nth| format!("note {nth} says this"))
            .collect();
        let mut team = Team::default();
        assert_eq!(
            (
                team.supervisor_notes_max_bullets,
                team.supervisor_notes_word_budget
            ),
            (40, 1_200)
        );
        let kept = compressed(&notes, &team);
        assert_eq!(kept.len(), 40);
        assert_eq!(kept[0], "- note 61 says this");
        assert_eq!(kept[39], "- note 100 says this");
        assert_eq!(beside(&notes, &team).len(), 20);
        // Four words each: ten words hold two of them.
        team.supervisor_notes_word_budget = 10;
        assert_eq!(
            compressed(&notes, &team),
            ["- note 99 says this", "- note 100 says this"]
        );
        assert_eq!(beside(&notes, &team), ["- note 100 says this"]);
        team.supervisor_notes_word_budget = 3;
        assert!(compressed(&notes, &team).is_empty());
    }
}
