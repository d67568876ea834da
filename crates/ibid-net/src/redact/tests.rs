use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};
use proptest::prelude::*;

use super::*;

const KEY: &str = "sk-live_9aZ/4+Qx77==ü";

fn redactor(secret: &str) -> SecretRedactor {
    let mut redactor = SecretRedactor::default();
    redactor.add_secret(secret);
    redactor
}

#[test]
fn keys_and_passwords_are_taken_out_however_they_are_said() {
    let mut redactor = SecretRedactor::default();
    redactor.add_secret("sk-12345");
    redactor.add_secret("abc");
    redactor.add_url_password("http://me:p%40ssword@h/");
    let over = |text: &str| redactor.redact_text(text);
    assert_eq!(over("sk-12345sk-12345 is bad"), "[key][key] is bad");
    assert_eq!(over("p@ssword p%40ssword bWU6cEBzc3dvcmQ="), "[key] [key] [key]");
    assert_eq!(over("abc"), "abc");
}

/// The ways in which a server may quote a key; `pick` decides what is escaped.
fn ways(secret: &str, pick: u64) -> Vec<String> {
    let chosen = |nth: usize| pick >> (nth % 64) & 1 == 1;
    let escaped = |form: &dyn Fn(u8) -> String, every: bool| -> String {
        let bytes = secret.bytes().enumerate();
        bytes
            .map(|(nth, it)| {
                if every || chosen(nth) || !it.is_ascii() {
                    form(it)
                } else {
                    char::from(it).to_string()
                }
            })
            .collect()
    };
    let percent = |upper: bool| {
        move |byte: u8| {
            if upper { format!("%{byte:02X}") } else { format!("%{byte:02x}") }
        }
    };
    let json: String = secret
        .chars()
        .enumerate()
        .map(|(nth, it)| if chosen(nth) { format!("\\u{:04x}", it as u32) } else { it.to_string() })
        .collect();
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mixed: String = hex
        .chars()
        .enumerate()
        .map(|(nth, it)| if chosen(nth) { it.to_ascii_uppercase() } else { it })
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
        let engines: [String; 3] =
            [STANDARD.encode(&bytes), URL_SAFE.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)];
        all.extend(engines);
        all.push(STANDARD.encode(&bytes).replace('/', "%2F").replace('+', "%2b"));
        all.push(STANDARD.encode(&bytes).replace('/', "\\/"));
    }
    all
}

/// Whether the text contains the key in any of these forms.
fn betrays(text: &str, secret: &str) -> bool {
    ways(secret, u64::MAX)
        .into_iter()
        .chain(ways(secret, 0))
        .any(|way| way.len() >= secret.len() && text.contains(&way))
}

proptest! {
    // Each case tries every encoding of its key, whole and in pieces.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_way_of_saying_a_key_gets_through_whole_or_in_pieces(
        secret in "[A-Za-z0-9_/+=.-]{6,60}",
        pick in any::<u64>(),
        cuts in proptest::collection::vec(1_usize..9, 1..40),
    ) {
        let redactor = redactor(&secret);
        for way in ways(&secret, pick) {
            let text = format!("{{\"error\": \"wrong key: {way}; see the manual\"}}");
            let whole = redactor.redact_text(&text);
            prop_assert!(whole.contains("[key]"), "{way} stays in {whole}");
            prop_assert!(!betrays(&whole, &secret), "{whole}");
            let mut pieces = redactor.redact_stream();
            let (mut out, mut from) = (Vec::new(), 0);
            for cut in cuts.iter().cycle() {
                let to = (from + cut).min(text.len());
                out.extend(pieces.push(&text.as_bytes()[from..to]));
                from = to;
                if from == text.len() {
                    break;
                }
            }
            out.extend(pieces.finish());
            prop_assert_eq!(String::from_utf8_lossy(&out), whole);
        }
    }

}

proptest! {
    #[test]
    fn what_is_no_key_stays_as_it_is(text in "[ -~éü\n]{0,300}", cut in 1_usize..20) {
        let redactor = redactor(KEY);
        prop_assert_eq!(redactor.redact_text(&text), text.clone());
        let mut pieces = redactor.redact_stream();
        let mut out = Vec::new();
        for piece in text.as_bytes().chunks(cut) {
            out.extend(pieces.push(piece));
        }
        out.extend(pieces.finish());
        prop_assert_eq!(out, text.into_bytes());
    }
}

#[test]
fn a_piece_that_is_no_beginning_of_a_key_is_told_at_once() {
    let redactor = redactor("sk-12345");
    let mut pieces = redactor.redact_stream();
    assert_eq!(pieces.push(b"It rains in "), b"It rains in ");
    assert_eq!(pieces.push(b"Lisbon, sk-1"), b"Lisbon, ");
    assert_eq!(pieces.push(b"0 and more"), b"sk-10 and more");
    assert_eq!(pieces.push(b"%7"), b"");
    assert_eq!(pieces.push(b"3k-12345."), b"[key].");
    assert!(pieces.finish().is_empty());
}

#[test]
fn the_time_grows_with_the_text_and_no_faster() {
    let redactor = redactor("aaaaaaaaaaaaaaaaaaaaaaaab");
    let seconds = |bytes: usize| {
        let text = "\\u0061%61\\\\".repeat(bytes / 11).into_bytes();
        let begun = std::time::Instant::now();
        assert_eq!(redactor.redact(text.clone()).len(), text.len());
        begun.elapsed().as_secs_f64()
    };
    // The best of three, and far from both what is expected (8) and what a square would take (64):
    // other work on the machine slows one measurement and not the other.
    let best = |bytes| (0..3).map(|_| seconds(bytes)).fold(f64::MAX, f64::min);
    let (small, large) = (best(1 << 19), best(1 << 22));
    assert!(large < small * 24.0, "{small} s and {large} s for eight times as much");
}
