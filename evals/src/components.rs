//! Every component of `evals`.
use crate::{
    Outcome, answers, attribution, chaos, conflicts, crash, dates, documents, extract, fact, fleet,
    injection, linear, load, memory, questions, quotes, race, recordings, reports, rerank,
    retrieve, rubrics, speed, strategies, train_extractor, web,
};

type ComponentFn = fn(&[String]) -> Outcome;

/// One way to run a component: on which data, unless its arguments say otherwise, and what runs it.
pub(crate) struct Form {
    pub(crate) data: &'static str,
    pub(crate) run: ComponentFn,
}

/// A component: its whole form, and a small one that shows in seconds, in any checkout, that it still measures.
pub(crate) struct Component {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    pub(crate) run: Form,
    pub(crate) small: Form,
}

const fn component(
    name: &'static str,
    text: &'static str,
    whole: (&'static str, ComponentFn),
    small: (&'static str, ComponentFn),
) -> Component {
    let run = Form { data: whole.0, run: whole.1 };
    Component { name, text, run, small: Form { data: small.0, run: small.1 } }
}

const LIBRARY: &str = "the sample library";
const TEXTS: &str = "the plain texts of the sample library";
const GENERATED: &str = "generated rows";

/// All components, in the order of the usage.
#[rustfmt::skip]
pub(crate) const COMPONENTS: &[Component] = &[
    component("quotes", "every citation of many runs against the stored pages",
        ("the sample library and four public sets", quotes::run), (LIBRARY, quotes::small)),
    component("speed", "start, runs, memory, reading and indexing against their bounds",
        ("the sample library, BioASQ and 199 web pages", speed::run), ("the sample library and generated rows", speed::small)),
    component("answers", "what reports answer, and whether they keep to the matter",
        ("BioASQ and MultiHop-RAG, development halves", answers::run), (LIBRARY, answers::small)),
    component("questions", "questions about small folders of everyday documents, without a model",
        ("four sets of folders and questions in `questions/`", questions::run), ("four questions about one folder", questions::small)),
    component("strategies", "the four ways to gather, on the same questions",
        ("BioASQ, MultiHop-RAG and RAMDocs, development halves", strategies::run), ("the sample library and generated rows", strategies::small)),
    component("crash", "kills at random moments and at every named point",
        (LIBRARY, crash::run), (TEXTS, crash::small)),
    component("chaos", "scripts of faults over all ports, and what must hold after each",
        ("generated pages and scripted faults", chaos::run), ("a script for each kind of fault", chaos::small)),
    component("fleet", "what saturates first in a fleet of many servers, and what it costs, by simulation",
        ("parameters measured and assumed", fleet::run), ("parameters measured and assumed", fleet::small)),
    component("attribution", "claims against sources",
        ("nine sets of claims, development halves", attribution::run), (GENERATED, attribution::small)),
    component("conflicts", "documents that answer one question differently",
        ("RAMDocs and AVeriTeC, development halves", conflicts::run), (GENERATED, conflicts::small)),
    component("documents", "every file through the readers",
        ("the folders named", documents::run), (LIBRARY, documents::small)),
    component("linear", "documents written to be slow to read, from 64 kB to 8 MB",
        ("generated documents", linear::run), ("generated documents of one family for each reader", linear::small)),
    component("extract", "main-content extraction against gold pages, beside other extractors",
        ("WCXB, Zyte's and trafilatura's pages, development halves", extract::run), ("generated pages", extract::small)),
    component("dates", "publication dates of pages against gold dates, beside htmldate",
        ("htmldate's pages, development half", dates::run), ("generated pages", dates::small)),
    component("retrieve", "ranking on judged collections, beside BM25 and its libraries",
        ("the collections named", retrieve::once), (GENERATED, retrieve::small_once)),
    component("multihop", "the same asked in several steps",
        ("the collections named", retrieve::steps), (GENERATED, retrieve::small_steps)),
    component("rerank", "passages in order of graded judgements",
        ("the collections named", rerank::run), (GENERATED, rerank::small)),
    component("memory", "peak memory of indexing 100,000 passages, and of searching them",
        ("generated passages", memory::run), ("100 generated passages", memory::small)),
    component("load", "many runs at once on a server that is running",
        ("a server that is running", load::run), ("a server of its own over the plain texts of the sample library", load::small)),
    component("web", "many pages of the web at once, beside the slowest, and their memory",
        ("generated pages on loopback", web::run), ("few generated pages on loopback that are a tenth as large and wait a tenth as long", web::small)),
    component("injection", "pages that give orders, and a model that obeys them",
        ("123 pages, development half", injection::run), ("generated pages", injection::small)),
    component("reports", "what reports look like, beside those of other systems",
        ("the sample library, BioASQ, one long text, and reports of other systems", reports::run), (TEXTS, reports::small)),
    component("race", "the quality of reports beside a reference, as DeepResearch Bench judges it",
        ("DeepResearch Bench, development half", race::run), ("generated reports and a scripted judge", race::small)),
    component("fact", "whether cited pages bear out what reports say, as DeepResearch Bench judges it",
        ("DeepResearch Bench or ReportBench, development halves", fact::run), ("generated reports, pages and a scripted judge", fact::small)),
    component("rubrics", "reports against the points of their tasks, as four benchmarks judge them",
        ("DeepResearch Bench II or ScholarQA-CS, development halves, or the tasks named", rubrics::run), ("generated tasks, a report and a scripted judge", rubrics::small)),
    component("recordings", "recorded calls of real interfaces through the wires",
        ("the recordings named", recordings::run), ("calls written after the documentation", recordings::small)),
    component("fit", "the trees of the main-text extraction, fitted again",
        ("WCXB, Zyte's, trafilatura's and Readability's pages, development halves", train_extractor::run), ("generated pages", train_extractor::small)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_component_has_a_name_of_its_own_and_is_in_the_readme() {
        let text = include_str!("../README.md");
        for (nth, it) in COMPONENTS.iter().enumerate() {
            assert!(COMPONENTS[..nth].iter().all(|other| other.name != it.name), "{}", it.name);
            let row = format!("`{}", it.name);
            assert!(
                text.lines().any(|line| line.trim_start_matches("| ").starts_with(&row)),
                "{}",
                it.name
            );
        }
    }
}
