//! Peak memory of indexing 100,000 passages and of searching them, by the program itself.
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::program::Home;
use crate::speed::peak;
use crate::{Fault, Measured, Outcome, program};

/// Passages in the folder.
const PASSAGES: usize = 100_000;
/// The most that indexing may take, MB.
const INDEXING_MB: f64 = 250.0;
/// The most that a hundred searches may take beyond what one takes, as a share: a cache that grows shows here.
const GROWTH: f64 = 1.2;

/// Runs `evals memory [--ibid PATH]`: abstracts of made-up words (a fixed sequence, some 130 words each, a vocabulary that
/// grows as language's does) are indexed by `ibid index add`, then asked for by `ibid search`, once and a hundred times.
pub(crate) fn run(args: &[String]) -> Outcome {
    if measure(args, PASSAGES)? {
        Ok(Measured::new(PASSAGES, "passages"))
    } else {
        Err("a bound is not kept".into())
    }
}

/// Fewer passages; what they take is only printed.
pub(crate) fn small(args: &[String]) -> Outcome {
    let passages = PASSAGES / 1000;
    measure(args, passages)?;
    Ok(Measured::new(passages, "passages"))
}

/// Prints what so many passages take; whether the bounds are kept.
fn measure(args: &[String], passages: usize) -> Result<bool, Fault> {
    let binary = program::binary(args)?;
    let home = Home::new(&binary)?;
    let folder = tempfile::tempdir()?;
    write(folder.path(), passages)?;
    let path = folder.path().to_string_lossy().into_owned();
    let indexing = peak(&mut home.command(&["index", "add", &path]))?;
    let mut numbers = Numbers::new(7);
    let asked = tempfile::tempdir()?;
    let mut searching = |many: usize| -> Result<f64, Fault> {
        let mut row = |nth: usize| format!("{{\"id\":{nth},\"query\":\"{}\"}}\n", numbers.text(8));
        let rows: String = (0..many).map(&mut row).collect();
        let file = asked.path().join(format!("{many}.jsonl"));
        fs::write(&file, rows)?;
        let file = file.to_string_lossy().into_owned();
        peak(&mut home.command(&["search", "--queries", &file, "--folder", &path]))
    };
    let (one, hundred) = (searching(1)?, searching(100)?);
    println!("{passages} passages      MB   bound");
    println!("indexing, peak    {indexing:6.1}   {INDEXING_MB}");
    println!("one search        {one:6.1}");
    println!("100 searches      {hundred:6.1}   {:.1}", one * GROWTH);
    Ok(indexing <= INDEXING_MB && hundred <= one * GROWTH)
}

fn write(dir: &Path, passages: usize) -> Result<(), Fault> {
    let mut numbers = Numbers::new(1);
    for file in 0..10 {
        let mut rows = String::new();
        for nth in 0..passages / 10 {
            let (title, text) = (numbers.text(8), numbers.text(130));
            let id = file * passages / 10 + nth;
            writeln!(rows, "{{\"_id\":\"{id}\",\"title\":\"{title}\",\"text\":\"{text}.\"}}")?;
        }
        fs::write(dir.join(format!("{file}.jsonl")), rows)?;
    }
    Ok(())
}

/// Numbers without pattern, the same every time (xorshift, Marsaglia 2003).
pub(crate) struct Numbers(u64);

impl Numbers {
    /// The sequence that begins with `seed`, which is not 0.
    pub(crate) fn new(seed: u64) -> Numbers {
        Numbers(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Words of a vocabulary of some 60,000, of which the lower numbers come up more often, as Zipf found.
    pub(crate) fn text(&mut self, words: usize) -> String {
        let mut text = String::new();
        for nth in 0..words {
            let share = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
            let word = (60_000_f64.powf(share)) as u64;
            if nth > 0 {
                text.push(' ');
            }
            let _ = write!(text, "w{}", base(word));
        }
        text
    }
}

/// A number in letters.
fn base(mut number: u64) -> String {
    let mut letters = String::new();
    while number > 0 {
        letters.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
    }
    letters
}
