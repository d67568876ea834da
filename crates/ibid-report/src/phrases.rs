//! Short texts that every form of a report shares.
use ibid_core::domain::{Citation, ConflictSide, GateVerdict, Ratio, Report, Source, SourceKind};

/// What a report says before anything else if it cites one source.
pub const ONE_SOURCE: &str = "All of this rests on one source.";

/// [`ONE_SOURCE`], if that is so.
pub fn one_source_note(it: &Report) -> Option<&'static str> {
    (it.sources.len() == 1).then_some(ONE_SOURCE)
}

/// The checks that had something to check: name, result. `0/0` would say nothing and look like success.
pub fn applied_checks(it: &Report) -> Vec<(&'static str, Ratio)> {
    let checks = &it.checks;
    let all = [
        ("quotes verified", checks.quotes),
        ("claims cited", checks.claims),
        ("numbers matched", checks.numbers),
    ];
    all.into_iter().filter(|check| check.1.total > 0).collect()
}

/// `43/43 quotes verified · 61/64 claims cited · 12/12 numbers matched · 0 self-contradictions`. Never a bare percentage.
pub fn checks_line(it: &Report) -> String {
    let applied = applied_checks(it);
    if applied.is_empty() && it.checks.contradictions == 0 {
        return "nothing to check".to_owned();
    }
    let counts = applied.iter().map(|(name, it)| format!("{}/{} {name}", it.passed, it.total));
    let contradictions = pluralize(u64::from(it.checks.contradictions), "self-contradiction");
    counts.chain([contradictions]).collect::<Vec<_>>().join(" · ")
}

/// What a run found and what it had to find: `25 passages from 8 sites (required: 5 from 3 sites)`.
pub(crate) fn evidence_count(gate: &GateVerdict) -> String {
    let found = format!(
        "{} from {}",
        pluralize_as(u64::from(gate.evidence_records), "passage", "passages"),
        pluralize_as(u64::from(gate.source_domains), "site", "sites"),
    );
    let wanted = &gate.gate;
    let passages = wanted.min_evidence_records.max(wanted.min_cited_records);
    let sites = pluralize_as(u64::from(wanted.min_source_domains), "site", "sites");
    match gate.pass {
        true => format!("{found} (required: {passages} from {sites})"),
        false => format!("{found}, less than the required {passages} from {sites}"),
    }
}

/// The ids of a source: `DOI 10.1000/182 · PMID 123`; for a document without one, its id in its collection.
pub(crate) fn id_list(source: &Source) -> String {
    let work = &source.work;
    let named =
        [("DOI ", &work.doi), ("PMID ", &work.pmid), ("", &work.pmcid), ("arXiv ", &work.arxiv)];
    let all: Vec<String> = named
        .into_iter()
        .filter_map(|(name, id)| Some(format!("{name}{}", id.as_ref()?)))
        .collect();
    if all.is_empty() { source.doc_id.clone().unwrap_or_default() } else { all.join(" · ") }
}

/// What a list of sources says of one that no longer applies, or that sells what it describes.
pub fn source_note(report: &Report, source: &Source) -> Option<String> {
    let offer = source.is_offer.then(|| "offers for sale what it describes".to_owned());
    let notes: Vec<String> = [replaced_note(report, source), offer].into_iter().flatten().collect();
    (!notes.is_empty()).then(|| notes.join(" · "))
}

/// Whether all that a side of a conflict cites offers for sale what it describes.
pub fn is_from_seller(report: &Report, side: &ConflictSide) -> bool {
    let is_offer = |citation: &Citation| {
        let at = (citation.n as usize).checked_sub(1);
        at.and_then(|at| report.sources.get(at)).is_some_and(|source| source.is_offer)
    };
    let citations = side.claim.citations();
    !citations.is_empty() && citations.iter().all(is_offer)
}

/// The weight of a side of a conflict, and that it is from a seller, if so: `weight 0.31, from a seller`.
pub(crate) fn side_weight(report: &Report, side: &ConflictSide) -> String {
    let seller = if is_from_seller(report, side) { ", from a seller" } else { "" };
    format!("weight {:.2}{seller}", side.weight)
}

fn replaced_note(report: &Report, source: &Source) -> Option<String> {
    let newer = source.trust.as_ref().and_then(|trust| trust.replaced_by);
    let at = newer.map(|newer| report.sources.iter().position(|it| it.id == newer));
    match at {
        Some(Some(at)) => Some(format!("replaced by a newer edition: [{}]", at + 1)),
        Some(None) => Some("a newer edition of it was read".to_owned()),
        None => source.superseded.then(|| "superseded, as it says itself".to_owned()),
    }
}

/// The kind of a source, in words.
pub fn source_kind_label(it: &Source) -> &'static str {
    match it.kind {
        _ if it.url.starts_with("mcp://") => "MCP server",
        SourceKind::Web => "web page",
        SourceKind::Scholar if it.is_unlisted_paper() => "web page",
        SourceKind::Pubmed => "PubMed",
        SourceKind::Scholar => "scholarly work",
        SourceKind::News => "news",
        SourceKind::Local => "local document",
    }
}

/// The path of a `file:` URL, `folder:NAME/path` for a `folder:` URL, else the URL itself.
pub fn local_path(url: &str) -> String {
    if let Some(inside) = url.strip_prefix("folder:") {
        let path = local_path(&format!("file:///{inside}"));
        return format!("folder:{}", path.trim_start_matches('/'));
    }
    url::Url::parse(url)
        .ok()
        .filter(|parsed| parsed.scheme() == "file")
        .and_then(|parsed| parsed.to_file_path().ok())
        .map_or_else(|| url.to_owned(), |it| it.to_string_lossy().into_owned())
}

/// The file name of a source, else its URL.
pub fn source_file_name(source: &Source) -> String {
    let path = local_path(&source.url);
    match path.rsplit_once('/') {
        Some((_, name)) if !name.is_empty() => name.to_owned(),
        _ => path,
    }
}

/// `1 page`, `2 pages`.
pub fn pluralize(n: u64, word: &str) -> String {
    pluralize_as(n, word, &format!("{word}s"))
}

/// `1 query`, `2 queries`.
pub fn pluralize_as(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// A number with `separator` between thousands: `1,842`.
pub fn grouped(n: u64, separator: char) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(separator);
        }
        out.push(digit);
    }
    out
}

/// `text` with its first letter in upper case.
pub fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect()
}

/// `text` with a full stop, unless it is empty or ends a sentence.
pub fn end_sentence(text: &str) -> String {
    match text.chars().last() {
        Some('.' | '?' | '!' | '…') | None => text.to_owned(),
        Some(_) => format!("{text}."),
    }
}

/// A duration: `35 ms`, `0.4 s`, `12 s`, `3 min 05 s`, `1 h 02 min`.
pub fn duration(ms: i64) -> String {
    match ms {
        ms if ms < 100 => format!("{ms} ms"),
        ms if ms < 10_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        ms if ms < 60_000 => format!("{} s", ms / 1_000),
        ms if ms < 3_600_000 => format!("{} min {:02} s", ms / 60_000, ms / 1_000 % 60),
        ms => format!("{} h {:02} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}
