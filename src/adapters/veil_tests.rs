use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};
use proptest::prelude::*;

use super::*;

const KEY: &str = "sk-live_9aZ/4+Qx77==ü";

fn veil(secret: &str) -> Veil {
    let mut veil = Veil::default();
    veil.hide(secret);
    veil
}

#[test]
fn keys_and_passwords_are_taken_out_however_they_are_said() {
    let mut veil = Veil::default();
    veil.hide("sk-12345");
    veil.hide("abc");
    veil.hide_password("http://me:p%40ssword@h/");
    let over = |it: &str| veil.over_text(it);
    assert_eq!(over("sk-12345sk-12345 is bad"), "[key][key] is bad");
    assert_eq!(
        over("p@ssword p%40ssword bWU6cEBzc3dvcmQ="),
        "[key] [key] [key]"
    );
    assert_eq!(over("abc"), "abc");
}

/// The ways in which a server may quote a key, `pick` deciding what is escaped.
fn ways(secret: &str, pick: u64) -> Vec<String> {
    let chosen = |nth: usize| pick >> (nth % 64) & 1 == 1;
    let escaped = |form: &dyn Fn(u8) -> String, every: bool| -> String {
        let bytes = secret.bytes().enumerate();
        bytes
            .map(|(nth, it)| match every || chosen(nth) || !it.is_ascii() {
                true => form(it),
                false => char::from(it).to_string(),
            })
            .collect()
    };
    let percent = |upper: bool| {
        move |it: u8| match upper {
            true => format!("%{it:02X}"),
            false => format!("%{it:02x}"),
        }
    };
    let json: String = secret
        .chars()
        .enumerate()
        .map(|(nth, it)| match chosen(nth) {
            true => format!("\\u{:04x}", it as u32),
            false => it.to_string(),
        })
        .collect();
    let hex: String = secret.bytes().map(|it| format!("{it:02x}")).collect();
    let mixed: String = hex
        .chars()
        .enumerate()
        .map(|(nth, it)| match chosen(nth) {
            true => it.to_ascii_uppercase(),
            false => it,
        })
        .collect();
    let mut all = vec![
        secret.to_owned(),
        serde_json::to_string(secret).unwrap(),
        serde_json::to_string(&json).unwrap(),
        json.clone(),
        secret.replace('/', "\\/"),
        escaped(&percent(true), false),
        escaped(&percent(false), true),
        escaped(&percent(true), true).replace('%', "%25"),
        hex.to_ascii_uppercase(),
        hex,
        mixed,
    ];
    for before in ["", "B", "Be", "Bearer ", "user:"] {
        let bytes = format!("{before}{secret} and more");
        let engines: [String; 3] = [
            STANDARD.encode(&bytes),
            URL_SAFE.encode(&bytes),
            URL_SAFE_NO_PAD.encode(&bytes),
        ];
        all.extend(engines);
        all.push(
            STANDARD
                .encode(&bytes)
                .replace('/', "%2F")
                .replace('+', "%2b"),
        );
        all.push(STANDARD.encode(&bytes).replace('/', "\\/"));
    }
    all
}

/// What is left of a text if all of its escapes, its base64 and its hex are undone must not hold the key.
fn betrays(said: &str, secret: &str) -> bool {
    ways(secret, u64::MAX)
        .into_iter()
        .chain(ways(secret, 0))
        .any(|it| it.len() >= secret.len() && said.contains(&it))
}

proptest! {
    #[test]
    fn no_way_of_saying_a_key_gets_through_whole_or_in_pieces(
        secret in "[A-Za-z0-9_/+=.-]{6,60}",
        pick in any::<u64>(),
        cuts in proptest::collection::vec(1_usize..9, 1..40),
    ) {
        let veil = veil(&secret);
        for way in ways(&secret, pick) {
            let said = format!("{{\"error\": \"wrong key: {way}; see the manual\"}}");
            let whole = veil.over_text(&said);
            prop_assert!(whole.contains("[key]"), "{way} stays in {whole}");
            prop_assert!(!betrays(&whole, &secret), "{whole}");
            let mut pieces = veil.over_pieces();
            let (mut out, mut from) = (Vec::new(), 0);
            for cut in cuts.iter().cycle() {
                let to = (from + cut).min(said.len());
                out.extend(pieces.push(&said.as_bytes()[from..to]));
                from = to;
                if from == said.len() {
                    break;
                }
            }
            out.extend(pieces.end());
            prop_assert_eq!(String::from_utf8_lossy(&out), whole);
        }
    }

    #[test]
    fn what_is_no_key_stays_as_it_is(said in "[ -~éü\n]{0,300}", cut in 1_usize..20) {
        let veil = veil(KEY);
        prop_assert_eq!(veil.over_text(&said), said.clone());
        let mut pieces = veil.over_pieces();
        let mut out = Vec::new();
        for piece in said.as_bytes().chunks(cut) {
            out.extend(pieces.push(piece));
        }
        out.extend(pieces.end());
        prop_assert_eq!(out, said.into_bytes());
    }
}

#[test]
fn a_piece_that_is_no_beginning_of_a_key_is_told_at_once() {
    let veil = veil("sk-12345");
    let mut pieces = veil.over_pieces();
    assert_eq!(pieces.push(b"It rains in "), b"It rains in ");
    assert_eq!(pieces.push(b"Lisbon, sk-1"), b"Lisbon, ");
    assert_eq!(pieces.push(b"0 and more"), b"sk-10 and more");
    assert_eq!(pieces.push(b"%7"), b"");
    assert_eq!(pieces.push(b"3k-12345."), b"[key].");
    assert!(pieces.end().is_empty());
}

#[test]
fn the_time_grows_with_the_text_and_no_faster() {
    let veil = veil("aaaaaaaaaaaaaaaaaaaaaaaab");
    let seconds = |bytes: usize| {
        let text = "\\u0061%61\\\\".repeat(bytes / 11).into_bytes();
        let begun = std::time::Instant::now();
        assert_eq!(veil.over(text.clone()).len(), text.len());
        begun.elapsed().as_secs_f64()
    };
    // Long enough that what else this machine does is shared by both.
    let best = |bytes| (0..3).map(|_| seconds(bytes)).fold(f64::MAX, f64::min);
    let (small, large) = (best(1 << 20), best(1 << 21));
    assert!(large < small * 2.0 * 2.3, "{small} s and {large} s");
}
