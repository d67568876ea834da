//! Keeps a draft within the length that was asked for.
use super::draft::{DraftLine, DraftSection, ReportDraft};
use super::heuristic::compose::max_words;

/// Share of the length that key findings may take.
const FINDINGS_SHARE: f32 = 0.3;

/// Share of the length that conflicts may take.
const CONFLICTS_SHARE: f32 = 0.4;

/// Share of the length that introduction and conclusion may take together.
const OPENING_SHARE: f32 = 0.2;

/// Share of a length that titles, open points and reasons of conflicts may take from the sentences.
const MAX_FRAME_SHARE: f32 = 0.4;

/// Removes lines from `draft` until its sentences have at most `tokens` tokens, less what its titles, open points and the reasons of its
/// conflicts take. Nothing is removed for 0 tokens.
pub(crate) fn trim_to_tokens(draft: &mut ReportDraft, tokens: u32) {
    if tokens > 0 {
        let most = max_words(tokens);
        let frame = frame_words(draft).min((most as f32 * MAX_FRAME_SHARE) as usize);
        trim_to_words(draft, most - frame);
    }
}

/// How many words of a draft are no sentences that it could lose.
fn frame_words(draft: &ReportDraft) -> usize {
    let titles = draft.sections.iter().map(|section| &section.title);
    let open = draft.open.iter().flat_map(|it| [&it.what, &it.why]);
    let conflicts = draft.conflicts.iter();
    let reasons =
        conflicts.flat_map(|it| [Some(&it.about), it.likely.as_ref().map(|it| &it.text)]).flatten();
    let says = draft.conflicts.iter().flat_map(|it| it.sides.iter().map(|side| &side.0));
    let disputed: Vec<&String> = reasons.chain(says).collect();
    // The conclusion that code makes tells them again.
    let again = if draft.conclusion_by_code { disputed.as_slice() } else { &[] };
    let texts = titles.chain(open).chain([&draft.title]).chain(&draft.confidence.why);
    let texts = texts.chain(again.iter().copied()).chain(disputed.iter().copied());
    texts.map(|text| text.split_whitespace().count()).sum()
}

/// Removes lines from `draft` until its short answer, introduction, conclusion, conflicts, findings and sections have at most `most` words.
///
/// The first line of the short answer stays in any case. Introduction and conclusion get up to 20 %, conflicts up to 40 %, findings up to
/// 30 %. The sections share the rest: each gets
/// its first line, then each its second, and so on, so that none is lost to a long one before it. A section keeps a
/// beginning and never a later line without those before it.
fn trim_to_words(draft: &mut ReportDraft, most: usize) {
    let mut room = most;
    let mut is_first = true;
    draft.short.retain(|line| {
        let fits = is_first || words(line) <= room;
        is_first = false;
        room = if fits { room.saturating_sub(words(line)) } else { room };
        fits
    });
    let mut for_opening = (most as f32 * OPENING_SHARE) as usize;
    for lines in [&mut draft.introduction, &mut draft.conclusion] {
        lines.retain(|line| {
            let fits = words(line) <= for_opening.min(room);
            if fits {
                for_opening -= words(line);
                room -= words(line);
            }
            fits
        });
    }
    let mut for_conflicts = (most as f32 * CONFLICTS_SHARE) as usize;
    draft.conflicts.retain(|conflict| {
        let length: usize = conflict.sides.iter().map(|(_, line)| words(line)).sum();
        let fits = length <= for_conflicts.min(room);
        if fits {
            for_conflicts -= length;
            room -= length;
        }
        fits
    });
    let mut for_findings = (most as f32 * FINDINGS_SHARE) as usize;
    draft.findings.retain(|(line, _)| {
        let fits = words(line) <= for_findings.min(room);
        if fits {
            for_findings -= words(line);
            room -= words(line);
        }
        fits
    });
    trim_sections(&mut draft.sections, room);
}

/// How many words the lines of a draft have.
pub(crate) fn draft_words(draft: &ReportDraft) -> usize {
    let sides = draft.conflicts.iter().flat_map(|conflict| conflict.sides.iter().map(|it| &it.1));
    let sections = draft.sections.iter().flat_map(|section| section.paragraphs.iter().flatten());
    let lines = draft.short.iter().chain(&draft.introduction).chain(&draft.conclusion);
    lines.chain(sides).chain(draft.findings.iter().map(|it| &it.0)).chain(sections).map(words).sum()
}

/// Keeps as many beginnings of the sections as have at most `room` words.
fn trim_sections(sections: &mut Vec<DraftSection>, mut room: usize) {
    let lines: Vec<Vec<usize>> = sections
        .iter()
        .map(|section| section.paragraphs.iter().flatten().map(words).collect())
        .collect();
    let mut kept = vec![0; lines.len()];
    let longest = lines.iter().map(Vec::len).max().unwrap_or(0);
    for nth in 0..longest {
        for (kept, lines) in kept.iter_mut().zip(&lines) {
            // A section that has lost a line gets no later one.
            if *kept == nth && lines.get(nth).is_some_and(|words| *words <= room) {
                room -= lines[nth];
                *kept += 1;
            }
        }
    }
    for (section, kept) in sections.iter_mut().zip(kept) {
        let mut left = kept;
        for paragraph in &mut section.paragraphs {
            paragraph.truncate(left);
            left -= paragraph.len();
        }
        section.paragraphs.retain(|paragraph| !paragraph.is_empty());
    }
    sections.retain(|section| !section.paragraphs.is_empty());
}

/// How many words a line has.
pub(crate) fn words(line: &DraftLine) -> usize {
    line.text.split_whitespace().count()
}

#[cfg(test)]
mod tests {
    use ibid_core::domain::{ItemId, OpenItem, SectionLayout};

    use super::*;

    fn line(words: usize) -> DraftLine {
        DraftLine { text: vec!["word"; words].join(" "), evidence: Vec::new() }
    }

    fn section(lines: &[usize]) -> DraftSection {
        DraftSection {
            title: "Costs".to_owned(),
            item: Some(ItemId::new(1)),
            layout: SectionLayout::Prose,
            paragraphs: vec![lines.iter().map(|it| line(*it)).collect()],
        }
    }

    fn counts(sections: &[DraftSection]) -> Vec<Vec<usize>> {
        let lines = |it: &DraftSection| it.paragraphs.iter().flatten().map(words).collect();
        sections.iter().map(lines).collect()
    }

    #[test]
    fn titles_and_open_points_take_room_from_the_sentences() {
        let draft = || crate::test_support::draft(&[line(10)], vec![section(&[30, 30, 30])]);
        let words_of = |tokens: u32, why: &str| {
            let mut draft = draft();
            let open = OpenItem { item: None, what: String::new(), why: why.to_owned() };
            draft.open.push(open);
            trim_to_tokens(&mut draft, tokens);
            draft_words(&draft)
        };
        assert_eq!(words_of(0, ""), 100);
        assert_eq!(words_of(110, ""), 70);
        assert_eq!(words_of(110, &["word"; 20].join(" ")), 40);
    }

    #[test]
    fn sections_share_the_room() {
        let mut sections = vec![section(&[10, 10, 10, 10]), section(&[10, 10]), section(&[10])];
        trim_sections(&mut sections, 50);
        assert_eq!(counts(&sections), [vec![10, 10], vec![10, 10], vec![10]]);
        // A line that does not fit ends its section; shorter ones of others still fit.
        let mut sections = vec![section(&[5, 40, 1]), section(&[5, 5])];
        trim_sections(&mut sections, 20);
        assert_eq!(counts(&sections), [vec![5], vec![5, 5]]);
        let mut sections = vec![section(&[10]), section(&[5])];
        trim_sections(&mut sections, 5);
        assert_eq!(counts(&sections), [vec![5]]);
    }
}
