//! What a supervisor sees of its researchers' work: their notes, and the quotes behind them.
use ibid_core::domain::{Evidence, EvidenceStore, SupervisorSettings, public_address};

/// Maximum number of words of one raw note: a long quote would leave no room for others.
const MAX_NOTE_WORDS: usize = 80;

/// The newest notes that fit into the limits on bullets and words, in order.
pub(super) fn compressed_notes(notes: &[String], team: &SupervisorSettings) -> Vec<String> {
    let words = team.supervisor_notes_word_budget as usize;
    newest_within(notes, team.supervisor_notes_max_bullets as usize, words)
}

/// The newest raw notes that fit into half of these limits, so that the notes of a round and their quotes fit
/// into one prompt.
pub(super) fn compressed_raw_notes(raw: &[String], team: &SupervisorSettings) -> Vec<String> {
    let bullets = team.supervisor_notes_max_bullets.div_ceil(2) as usize;
    newest_within(raw, bullets, team.supervisor_notes_word_budget as usize / 2)
}

/// The raw note of a finding: who found it, the words of its source, and its address.
pub(super) fn raw_note(researcher: &str, finding: &Evidence, notes: &EvidenceStore) -> String {
    let text = match finding.has_context() {
        true => &finding.claim,
        false => finding.passage.text().expose(),
    };
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let cut = words.len() > MAX_NOTE_WORDS;
    words.truncate(MAX_NOTE_WORDS);
    let end = if cut { " …" } else { "" };
    let place = notes.source(finding.source).map_or("", |source| public_address(&source.url));
    format!("{researcher}: \"{}{end}\" ({place})", words.join(" "))
}

fn newest_within(notes: &[String], bullets: usize, mut words: usize) -> Vec<String> {
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
        let notes: Vec<String> = (1..=100).map(|nth| format!("note {nth} says this")).collect();
        let mut team = SupervisorSettings::default();
        assert_eq!(
            (team.supervisor_notes_max_bullets, team.supervisor_notes_word_budget),
            (40, 1_200)
        );
        let kept = compressed_notes(&notes, &team);
        assert_eq!(kept.len(), 40);
        assert_eq!(kept[0], "- note 61 says this");
        assert_eq!(kept[39], "- note 100 says this");
        assert_eq!(compressed_raw_notes(&notes, &team).len(), 20);
        // Four words each: ten words hold two notes.
        team.supervisor_notes_word_budget = 10;
        assert_eq!(
            compressed_notes(&notes, &team),
            ["- note 99 says this", "- note 100 says this"]
        );
        assert_eq!(compressed_raw_notes(&notes, &team), ["- note 100 says this"]);
        team.supervisor_notes_word_budget = 3;
        assert!(compressed_notes(&notes, &team).is_empty());
    }
}
