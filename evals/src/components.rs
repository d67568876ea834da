//! Every component of `evals`.
use crate::{
    Outcome, answers, attribution, conflicts, crash, dates, documents, extract, injection, linear,
    load, memory, quotes, recordings, reports, rerank, retrieve, speed, strategies,
    train_extractor, web,
};

/// One way to run a component: on which data, unless its arguments say otherwise, and what runs it.
pub(crate) struct Form {
    pub(crate) data: &'static str,
    pub(crate) run: fn(&[String]) -> Outcome,
}

/// A component: its whole form, and a small one that shows in seconds, in any checkout, that it still measures.
pub(crate) struct Component {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    pub(crate) run: Form,
    pub(crate) small: Form,
}

const LIBRARY: &str = "the sample library";
const TEXTS: &str = "the plain texts of the sample library";
const GENERATED: &str = "generated rows";

/// All components, in the order of the usage.
pub(crate) const COMPONENTS: &[Component] = &[
    Component {
        name: "quotes",
        text: "every citation of many runs against the stored pages",
        run: Form { data: "the sample library and four public sets", run: quotes::run },
        small: Form { data: LIBRARY, run: quotes::small },
    },
    Component {
        name: "speed",
        text: "start, runs, memory, reading and indexing against their bounds",
        run: Form { data: "the sample library, BioASQ and 199 web pages", run: speed::run },
        small: Form { data: "the sample library and generated rows", run: speed::small },
    },
    Component {
        name: "answers",
        text: "what reports answer, and whether they keep to the matter",
        run: Form { data: "BioASQ and MultiHop-RAG, development halves", run: answers::run },
        small: Form { data: LIBRARY, run: answers::small },
    },
    Component {
        name: "strategies",
        text: "the four ways to gather, on the same questions",
        run: Form {
            data: "BioASQ, MultiHop-RAG and RAMDocs, development halves",
            run: strategies::run,
        },
        small: Form { data: "the sample library and generated rows", run: strategies::small },
    },
    Component {
        name: "crash",
        text: "kills at random moments and at every named point",
        run: Form { data: LIBRARY, run: crash::run },
        small: Form { data: TEXTS, run: crash::small },
    },
    Component {
        name: "attribution",
        text: "claims against sources",
        run: Form { data: "nine sets of claims, development halves", run: attribution::run },
        small: Form { data: GENERATED, run: attribution::small },
    },
    Component {
        name: "conflicts",
        text: "documents that answer one question differently",
        run: Form { data: "RAMDocs and AVeriTeC, development halves", run: conflicts::run },
        small: Form { data: GENERATED, run: conflicts::small },
    },
    Component {
        name: "documents",
        text: "every file through the readers",
        run: Form { data: "the folders named", run: documents::run },
        small: Form { data: LIBRARY, run: documents::small },
    },
    Component {
        name: "linear",
        text: "documents written to be slow to read, from 64 kB to 8 MB",
        run: Form { data: "generated documents", run: linear::run },
        small: Form {
            data: "generated documents of one family for each reader",
            run: linear::small,
        },
    },
    Component {
        name: "extract",
        text: "main-content extraction against gold pages, beside other extractors",
        run: Form {
            data: "WCXB, Zyte's and trafilatura's pages, development halves",
            run: extract::run,
        },
        small: Form { data: "generated pages", run: extract::small },
    },
    Component {
        name: "dates",
        text: "publication dates of pages against gold dates, beside htmldate",
        run: Form { data: "htmldate's pages, development half", run: dates::run },
        small: Form { data: "generated pages", run: dates::small },
    },
    Component {
        name: "retrieve",
        text: "ranking on judged collections, beside BM25 and its libraries",
        run: Form { data: "the collections named", run: retrieve::once },
        small: Form { data: GENERATED, run: retrieve::small_once },
    },
    Component {
        name: "multihop",
        text: "the same asked in several steps",
        run: Form { data: "the collections named", run: retrieve::steps },
        small: Form { data: GENERATED, run: retrieve::small_steps },
    },
    Component {
        name: "rerank",
        text: "passages in order of graded judgements",
        run: Form { data: "the collections named", run: rerank::run },
        small: Form { data: GENERATED, run: rerank::small },
    },
    Component {
        name: "memory",
        text: "peak memory of indexing 100,000 passages, and of searching them",
        run: Form { data: "generated passages", run: memory::run },
        small: Form { data: "500 generated passages", run: memory::small },
    },
    Component {
        name: "load",
        text: "many runs at once on a server that is running",
        run: Form { data: "a server that is running", run: load::run },
        small: Form {
            data: "a server of its own over the plain texts of the sample library",
            run: load::small,
        },
    },
    Component {
        name: "web",
        text: "many pages of the web at once, beside the slowest, and their memory",
        run: Form { data: "generated pages on loopback", run: web::run },
        small: Form {
            data: "few generated pages on loopback that are a tenth as large and wait a tenth as long",
            run: web::small,
        },
    },
    Component {
        name: "injection",
        text: "pages that give orders, and a model that obeys them",
        run: Form { data: "123 pages, development half", run: injection::run },
        small: Form { data: "generated pages", run: injection::small },
    },
    Component {
        name: "reports",
        text: "what reports look like, beside those of other systems",
        run: Form {
            data: "the sample library, BioASQ, one long text, and reports of other systems",
            run: reports::run,
        },
        small: Form { data: TEXTS, run: reports::small },
    },
    Component {
        name: "recordings",
        text: "recorded calls of real interfaces through the wires",
        run: Form { data: "the recordings named", run: recordings::run },
        small: Form { data: "calls written after the documentation", run: recordings::small },
    },
    Component {
        name: "fit",
        text: "the trees of the main-text extraction, fitted again",
        run: Form {
            data: "WCXB, Zyte's, trafilatura's and Readability's pages, development halves",
            run: train_extractor::run,
        },
        small: Form { data: "generated pages", run: train_extractor::small },
    },
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
