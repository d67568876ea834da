//! A prompt never grows over its window.
use ibid_research::ask::fit::{
    ContextWindow, PromptPart, estimate_tokens, fit_parts, sentence_batches,
};
use ibid_research::ask::template::numbered;
use proptest::prelude::*;

fn part(text: &str, must: bool, weight: f32) -> PromptPart {
    PromptPart { text: text.to_owned(), required: must, weight }
}

fn window(room: usize) -> ContextWindow {
    ContextWindow { tokens: room + 132, answer: 100 }
}

#[test]
fn tokens_are_counted_high() {
    assert_eq!(estimate_tokens(""), 0);
    assert_eq!(estimate_tokens("green roofs cool"), 6);
    assert_eq!(estimate_tokens("中文字"), 3);
    assert_eq!(estimate_tokens("2019"), 4);
    assert_eq!(estimate_tokens("привет"), 4);
}

#[test]
fn what_is_worth_least_is_left_out_whole_and_the_order_stays() {
    let parts = vec![
        part("aaaaaa", false, 1.0),
        part("bbbbbb", true, 0.0),
        part("cccccc", false, 3.0),
        part("dddddd", false, 2.0),
    ];
    let it = fit_parts(parts, window(9));
    let kept: Vec<usize> = it.kept.iter().map(|it| it.0).collect();
    assert_eq!((kept, it.dropped, it.cut, it.tokens), (vec![1, 2, 3], vec![0], vec![], 9));
}

#[test]
fn what_must_be_in_is_cut_at_a_sentence_only_when_nothing_else_helps() {
    let long = "Green roofs cool the air. They hold the rain back. They cost more than gravel.";
    let it = fit_parts(vec![part("xxx", false, 9.0), part(long, true, 0.0)], window(24));
    assert_eq!(it.kept, [(1, "Green roofs cool the air. They hold the rain back.".to_owned())]);
    assert_eq!((it.dropped, it.cut), (vec![0], vec![1]));
    let it = fit_parts(vec![part(long, true, 0.0)], window(0));
    assert_eq!((it.kept.len(), it.cut, it.tokens), (0, vec![0], 0));
}

#[test]
fn batches_of_a_window_without_room_are_none() {
    assert!(sentence_batches(&[(0, "Words.")], window(0)).is_empty());
    assert!(sentence_batches(&[], window(100)).is_empty());
}

proptest! {
    #[test]
    fn the_window_is_never_exceeded_and_the_order_is_kept(
        parts in prop::collection::vec(("[ a-zé中1.]{0,80}", any::<bool>(), -2.0_f32..2.0), 0..12),
        room in 0_usize..120,
    ) {
        let parts: Vec<PromptPart> = parts.iter().map(|it| part(&it.0, it.1, it.2)).collect();
        let it = fit_parts(parts.clone(), window(room));
        let texts: Vec<&str> = it.kept.iter().map(|it| it.1.as_str()).collect();
        prop_assert!(estimate_tokens(&texts.join("\n")) <= room);
        prop_assert!(it.tokens <= room);
        prop_assert!(it.kept.windows(2).all(|it| it[0].0 < it[1].0));
        for (nth, text) in &it.kept {
            prop_assert!(parts[*nth].text.starts_with(text.as_str()));
            prop_assert!(it.cut.contains(nth) || parts[*nth].text == *text);
        }
        // Nothing that must be in makes way for something else.
        if it.kept.iter().any(|it| !parts[it.0].required) {
            prop_assert!(it.cut.is_empty());
        }
        for nth in &it.dropped {
            prop_assert!(!parts[*nth].required);
        }
    }

    #[test]
    fn batches_hold_every_sentence_once_in_order_and_fit(
        words in prop::collection::vec("[ a-z中1]{1,60}", 0..30),
        room in 12_usize..200,
    ) {
        let sentences: Vec<(usize, &str)> = words.iter().map(String::as_str).enumerate().collect();
        let all = sentence_batches(&sentences, window(room));
        for batch in &all {
            let fenced = numbered("", batch.iter().map(|it| (it.0, it.1.as_str())));
            let inside = fenced.strip_prefix("<<<\n").unwrap().strip_suffix("\n>>>").unwrap();
            prop_assert!(estimate_tokens(inside) <= room, "{} > {room}", estimate_tokens(inside));
        }
        let numbers: Vec<usize> = all.iter().flatten().map(|it| it.0).collect();
        prop_assert!(numbers.windows(2).all(|it| it[0] < it[1]));
        if room > 70 {
            prop_assert_eq!(numbers.len(), words.len());
        }
    }
}
