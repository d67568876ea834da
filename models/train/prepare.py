#!/usr/bin/env python3
"""Turn openly licensed public data sets into the two training files of the cross-encoder.

Input:  --mirror DIR, a folder with one copy of each repository below, named OWNER+NAME, either
        DIR/OWNER+NAME/repo (bare), DIR/OWNER+NAME/repo/.git or DIR/OWNER+NAME/.git.
Output: --out DIR, which receives
        support.jsonl    {"src", "premise", "claim", "label"[, "context"]}
        added.jsonl      the same, of ADDED
                         label: entail | neutral | contradict | not_entail
        relevance.jsonl  {"src", "question", "positives", "negatives"}
        counts.json      rows per source, label and split
        SOURCES.md       the sources, their commits and licences, and what was left out

No network, no randomness: the same repositories give the same bytes. Files are written to a
temporary name first and then renamed. Only the Python standard library is used.
"""
import argparse
import csv
import html
import io
import json
import os
import random
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from collections import Counter, OrderedDict

csv.field_size_limit(1 << 24)
MAX_NEGATIVES = 12
# Labels without a licence of their own, and labels that nobody has checked.
LEFT_OUT = (("wiki-nli", "entail"), ("wiki-nli", "neutral"), ("wiki-nli", "contradict"), ("entailment-bank", "not_entail"))
# Rows for support that training holds apart.
HELD = 640

# ----------------------------------------------------------------------------- repositories


class Mirror:
    """Reads files out of the repositories' newest commits."""

    def __init__(self, root):
        self.root = root

    def git_dir(self, repo):
        base = os.path.join(self.root, repo.replace("/", "+"))
        for tail in ("repo/.git", "repo", ".git"):
            path = os.path.join(base, tail)
            if os.path.isfile(os.path.join(path, "HEAD")):
                return path
        return None

    def git(self, repo, *args):
        out = subprocess.run(["git", "--git-dir=" + self.git_dir(repo), *args],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if out.returncode:
            raise FileNotFoundError("%s: git %s: %s" % (repo, " ".join(args), out.stderr.decode()[:200]))
        return out.stdout

    def commit(self, repo):
        return self.git(repo, "rev-parse", "HEAD").decode().strip()

    def read(self, repo, path):
        return self.git(repo, "show", "HEAD:" + path)

    def text(self, repo, path):
        return self.read(repo, path).decode("utf-8-sig", "replace")

    def names(self, repo, under):
        out = self.git(repo, "ls-tree", "-r", "--name-only", "HEAD", "--", under)
        return sorted(out.decode().split("\n")[:-1])

    def many(self, repo, paths):
        """Reads many small files with one git process."""
        asked = "".join("HEAD:%s\n" % p for p in paths).encode()
        out = subprocess.run(["git", "--git-dir=" + self.git_dir(repo), "cat-file", "--batch"],
                             input=asked, stdout=subprocess.PIPE, check=True).stdout
        at = 0
        for path in paths:
            end = out.index(b"\n", at)
            head = out[at:end].split()
            at = end + 1
            if head[-1] == b"missing":
                continue
            size = int(head[2])
            yield path, out[at:at + size].decode("utf-8", "replace")
            at += size + 1


# ----------------------------------------------------------------------------- text helpers

SPACE = re.compile(r"\s+")
ABBREVIATIONS = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Mt|Sr|Jr|Lt|Col|Gen|Sgt|Capt|Gov|Sen|Rep|Rev|Hon|No|Nos|vs|etc|"
    r"e\.g|i\.e|cf|al|approx|ca|c|Fig|Figs|Eq|Vol|pp|Inc|Ltd|Co|Corp|Bros|Jan|Feb|Mar|Apr|Jun|Jul|"
    r"Aug|Sep|Sept|Oct|Nov|Dec|U\.S|U\.K|U\.N|a\.m|p\.m|Ph\.D)|\b[A-Z])\.$")
BREAK = re.compile(r"""([.!?]["'”’)\]]*)\s+(?=["'“‘(\[]*[A-Z0-9])|\n+""")


def clean(text):
    return SPACE.sub(" ", text or "").strip()


def key(text):
    """What two texts must share to count as the same: letters and digits only, lower case."""
    return re.sub(r"[^a-z0-9]+", "", text.lower())


def sentences(text):
    """Splits a paragraph into [(start, end, sentence)], with a small list of abbreviations."""
    spans, start = [], 0
    for m in BREAK.finditer(text):
        end = m.end(1) if m.group(1) is not None else m.start()
        if m.group(1) is not None and m.group(1)[0] == "." and ABBREVIATIONS.search(text[start:m.start(1) + 1]):
            continue
        spans.append((start, end))
        start = m.end()
    spans.append((start, len(text)))
    return [(a, b, clean(text[a:b])) for a, b in spans if clean(text[a:b])]


BRACKETS = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}"}


def detokenize(text):
    """Undoes Penn Treebank style tokens: brackets, quotes, spaces before punctuation."""
    text = re.sub(r"-(?:lrb|rrb|lsb|rsb|lcb|rcb)-", lambda m: BRACKETS[m.group(0).lower()], text, flags=re.I)
    text = re.sub(r"\s*``\s*", ' "', text)
    text = re.sub(r"\s*''", '"', text)
    text = re.sub(r"\s+--\s+", " - ", text)
    text = re.sub(r"\s+([.,;:?!%)\]}])", r"\1", text)
    text = re.sub(r"([(\[{$])\s+", r"\1", text)
    text = re.sub(r"\s+(n't|'s|'re|'ve|'ll|'d|'m)\b", r"\1", text)
    text = re.sub(r"\s+'(?=\s|$)", "'", text)
    return clean(text)


TAG = re.compile(r"<[^>]+>")


def strip_html(text):
    return clean(html.unescape(TAG.sub(" ", text or "")))


def head_passage(text, limit=500):
    """The first whole sentences of a text, up to `limit` characters (at least one sentence)."""
    out = ""
    for _, _, s in sentences(text):
        if out and len(out) + 1 + len(s) > limit:
            break
        out = (out + " " + s).strip()
    return out[:limit * 2]


LABELS = {"entailment": "entail", "contradiction": "contradict", "neutral": "neutral",
          "not_entailment": "not_entail", "e": "entail", "c": "contradict", "n": "neutral",
          "supports": "entail", "refutes": "contradict", "supported": "entail", "refuted": "contradict"}


def label_of(text):
    return LABELS.get((text or "").strip().lower())


def table(text, delimiter="\t", quoted=False):
    """Rows of a CSV or TSV file as dicts keyed by its header."""
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    return csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, quoting=quoting)


def json_lines(text):
    for line in text.split("\n"):
        if line.strip():
            yield json.loads(line)


# ----------------------------------------------------------------------------- support readers
# Each yields (split, premise, claim, label) or (split, premise, claim, label, context).


def nli_csv(path, split):
    def reader(mirror, repo):
        for row in table(mirror.text(repo, path), ",", quoted=True):
            yield split, row["premise"], row["hypothesis"], label_of(row["label"])
    return reader


def cad(mirror, repo):
    # Premises and hypotheses of SNLI with people's minimal edits that change the label.
    for split in ("train", "dev", "test"):
        for row in table(mirror.text(repo, "NLI/all_combined/%s.tsv" % split), "\t", quoted=True):
            yield split, row["sentence1"], row["sentence2"], label_of(row["gold_label"])


def breaking_nli(mirror, repo):
    # One word is replaced in the premise: numbers, colours, countries, antonyms, synonyms.
    with zipfile.ZipFile(io.BytesIO(mirror.read(repo, "breaking_nli_dataset.zip"))) as z:
        for row in json_lines(z.read("data/dataset.jsonl").decode("utf-8")):
            yield "all", row["sentence1"], row["sentence2"], label_of(row["gold_label"])


def med(mirror, repo):
    # Monotonicity: its "neutral" covers every pair that is not entailed.
    for row in table(mirror.text(repo, "MED.tsv")):
        lab = label_of(row["gold_label"])
        yield "all", row["sentence1"], row["sentence2"], "not_entail" if lab == "neutral" else lab


def help_nli(mirror, repo):
    # HELP: pairs made by the monotonicity of "and" and "or"; neutral means not entailed.
    for name in ("and", "or"):
        for row in table(mirror.text(repo, "output_en/leskexppmb_%s.tsv" % name)):
            lab = label_of(row["gold_label"])
            yield ("train", detokenize(row["ori_sentence"]), detokenize(row["new_sentence"]),
                   "not_entail" if lab == "neutral" else lab)


def conj_nli(mirror, repo):
    for split, path in (("train", "adversarial_train_15k.tsv"), ("dev", "conj_dev.tsv")):
        for row in table(mirror.text(repo, "data/NLI/" + path)):
            yield split, row["Premise"], row["Hypothesis"], label_of(row["Label"])


def negation_nli(mirror, repo):
    # Only the parts made from MNLI and SNLI; the part made from RTE has no stated licence.
    for name in ("MNLI", "SNLI"):
        for row in table(mirror.text(repo, "data/new_benchmarks/clean_data/%s.txt" % name)):
            yield name.lower(), row["Text"], row["Hypothesis"], label_of(row["gold_label"])


def infotabs(mirror, repo):
    # The premise is a Wikipedia info box written out as "key: value" sentences.
    boxes = {}
    for path, text in mirror.many(repo, mirror.names(repo, "data/tables/json")):
        box = json.loads(text, object_pairs_hook=OrderedDict)
        title = "; ".join(map(clean, box.get("title", [])))
        lines = ["%s: %s." % (clean(k), "; ".join(map(clean, v)) if isinstance(v, list) else clean(str(v)))
                 for k, v in box.items() if k != "title"]
        boxes[os.path.basename(path)[:-5]] = " ".join([title + "."] + lines)
    for split in ("train", "dev", "test_alpha1", "test_alpha2", "test_alpha3"):
        for row in table(mirror.text(repo, "data/maindata/infotabs_%s.tsv" % split)):
            if row["table_id"] in boxes:
                yield split, boxes[row["table_id"]], row["hypothesis"], label_of(row["label"])


def semi_automatic(mirror, repo):
    # Wikipedia parts only: the news parts use Gigaword, which is under the LDC's licence.
    for part in ("base_wiki", "sim_wiki", "translate_wiki"):
        for row in json_lines(mirror.text(repo, "data/%s/train.jsonl" % part)):
            yield part + "-train", row["premise"], row["hypothesis"], label_of(row["label"])


def fever_symmetric(mirror, repo):
    for split in ("dev", "test"):
        for row in json_lines(mirror.text(repo, "symmetric_v0.2/fever_symmetric_%s.jsonl" % split)):
            evidence = row.get("evidence") or row.get("evidence_sentence") or row.get("sentence1")
            yield ("v0.2-" + split, detokenize(evidence), detokenize(row["claim"]),
                   label_of(row.get("gold_label") or row["label"]))
    for row in json_lines(mirror.text(repo, "symmetric_v0.1/fever_symmetric_full.jsonl")):
        yield "v0.1", detokenize(row["evidence_sentence"]), detokenize(row["claim"]), label_of(row["label"])


def wice_train(mirror, repo):
    # Sub-claims that their web page supports only in part. Train split; never dev or test.
    for row in json_lines(mirror.text(repo, "data/non_supported_tokens/train.jsonl")):
        sets = [s for s in row["supporting_sentences"] if s]
        if row["label"] != "partially_supported" or not sets:
            continue
        best = max(sets, key=len)
        evidence = [clean(s) for s in row["evidence"]]
        context = [s for s in evidence[:80] if s]
        yield "train", " ".join(evidence[i] for i in sorted(best)), row["claim"], "not_entail", context


def entailment_bank(mirror, repo):
    # School science. Proof trees over short facts: each step is an entailment, and so is the
    # hypothesis from all facts at the leaves. The distractors alone do not entail it.
    for split in ("train", "dev", "test"):
        for row in json_lines(mirror.text(repo, "data/processed_data/angles/task_2/%s.jsonl" % split)):
            hypothesis = re.search(r"\$hypothesis\$ = (.*?) ; \$", row["input"] + " ; $").group(1)
            parts = re.split(r"\bsent(\d+): ", row["input"].split("$context$ = ", 1)[1])
            facts = OrderedDict(("sent" + n, clean(t)) for n, t in zip(parts[1::2], parts[2::2]))
            known, leaves = dict(facts), []
            for step in row["output"].split("$proof$ = ", 1)[1].split(";"):
                if "->" not in step:
                    continue
                left, right = step.split("->", 1)
                used = [x.strip() for x in left.split("&")]
                if any(u not in known for u in used):
                    break
                leaves += [u for u in used if u in facts and u not in leaves]
                name, _, text = right.strip().partition(":")
                known[name] = clean(text) or hypothesis
                yield split, ". ".join(known[u] for u in used) + ".", known[name], "entail"
            else:
                context = list(facts.values())
                if len(leaves) > 2:
                    yield split, ". ".join(facts[x] for x in leaves) + ".", hypothesis, "entail", context
                others = [t for x, t in facts.items() if x not in leaves][:8]
                if others:
                    yield split, ". ".join(others) + ".", hypothesis, "not_entail"


def scitail(mirror, repo):
    # Named dev there; by its 2,126 rows it is SciTail's test set.
    for row in table(mirror.text(repo, "nli_datasets/scitail/dev.csv"), ",", quoted=True):
        yield "test", row["premise"], row["hypothesis"], label_of(row["label"])


def snli_test(mirror, repo):
    read = lambda name: [it.strip() for it in mirror.text(repo, "dataset/eSNLI/%s.test" % name).strip("\n").split("\n")]
    for premise, claim, label in zip(read("s1"), read("s2"), read("labels"), strict=True):
        yield "test", detokenize(premise), detokenize(claim), label_of(label)


def ambient(mirror, repo):
    # Pairs with one agreed label, and the spelled-out readings of the ambiguous ones.
    for row in json_lines(mirror.text(repo, "AmbiEnt/ambient_full.jsonl")):
        if not row["premise_ambiguous"] and not row["hypothesis_ambiguous"] and "," not in row["labels"]:
            yield "full", row["premise"], row["hypothesis"], label_of(row["labels"])
        for reading in row.get("disambiguations") or []:
            yield "full", reading["premise"], reading["hypothesis"], label_of(reading["label"])


# ----------------------------------------------------------------------------- relevance readers
# Each yields (split, question, positives, negatives).


def squad_paragraphs(data, split):
    """SQuAD-like JSON: the sentence with the answer against the paragraph's other sentences."""
    for article in data["data"]:
        for paragraph in article["paragraphs"]:
            context = paragraph["context"]
            spans = sentences(context)
            for qa in paragraph["qas"]:
                starts = [a["answer_start"] for a in qa.get("answers", []) if a["answer_start"] >= 0]
                answers = [a["text"] for a in qa.get("answers", [])]
                if not starts:
                    continue
                # The sentence that most annotators' answers start in; the others that any
                # answer touches are neither positive nor negative.
                votes, touched = Counter(), set()
                for begin, answer in zip(starts, answers):
                    for i, (a, b, _) in enumerate(spans):
                        if a <= begin < b:
                            votes[i] += 1
                        if begin < b and begin + len(answer) > a:
                            touched.add(i)
                if not votes:
                    continue
                best = min(votes, key=lambda i: (-votes[i], i))
                near = sorted((i for i in range(len(spans)) if i not in touched), key=lambda i: (abs(i - best), i))
                short = [clean(x).lower() for x in answers if x.strip()]
                negatives = [spans[i][2] for i in near if not any(x in spans[i][2].lower() for x in short)]
                yield split, qa["question"], [spans[best][2]], negatives


def xquad(mirror, repo):
    yield from squad_paragraphs(json.loads(mirror.text(repo, "xquad.en.json")), "en")


def squadshifts(part):
    def reader(mirror, repo):
        yield from squad_paragraphs(json.loads(mirror.text(repo, "datasets/%s_v1.0.json" % part)), "all")
    return reader


def covid_qa(mirror, repo):
    # Long articles: keep those whose header says that the article is CC BY or public domain,
    # and take the negatives from the neighbourhood of the answer.
    data = json.loads(mirror.text(repo, "data/question-answering/200423_covidQA.json"))
    for article in data["data"]:
        article["paragraphs"] = [p for p in article["paragraphs"]
                                 if re.search(r"License:\s*(cc-by\s|cc-by$|cc0|public)", p["context"][:3000], re.I | re.M)]
    yield from squad_paragraphs(data, "200423")


def selqa(mirror, repo):
    for split in ("dev", "test"):
        for row in json.loads(mirror.text(repo, "ass/selqa-ass-%s.json" % split)):
            right = set(row["answers"])
            yield (split, row["question"], [c for i, c in enumerate(row["candidates"]) if i in right],
                   [c for i, c in enumerate(row["candidates"]) if i not in right])


def qnli_dev(mirror, repo):
    # Pairs in the order of their SQuAD articles: beside the explicit negatives, take the other
    # sentences of the rows around the question.
    rows = [(r["premise"], r["hypothesis"], r["label"])
            for r in table(mirror.text(repo, "nli_datasets/qnli/dev.csv"), ",", quoted=True)]
    groups = OrderedDict()
    for i, (q, s, lab) in enumerate(rows):
        groups.setdefault(q, []).append((i, clean(s), lab))
    for q, items in groups.items():
        positives = [s for _, s, lab in items if lab == "entailment"]
        if not positives:
            continue
        middle = items[0][0]
        around = [clean(rows[i][1]) for i in sorted(range(max(0, middle - 24), min(len(rows), middle + 25)),
                                                    key=lambda i: abs(i - middle))]
        yield "dev", q, positives, [s for _, s, lab in items if lab == "not_entailment"] + around


def nqg(mirror, repo):
    # Questions of SQuAD 1.1 with the sentence that holds the answer, lower case, tokenised, in
    # the order of the articles. Negatives: the other answer sentences around it in the file.
    for split in ("dev", "test"):
        src = [detokenize(x) for x in mirror.text(repo, "data/processed/src-%s.txt" % split).strip("\n").split("\n")]
        tgt = [detokenize(x) for x in mirror.text(repo, "data/processed/tgt-%s.txt" % split).strip("\n").split("\n")]
        assert len(src) == len(tgt)
        for i, (s, q) in enumerate(zip(src, tgt)):
            order = sorted(range(max(0, i - 40), min(len(src), i + 41)), key=lambda j: (abs(i - j), j))
            yield split, q, [s], [src[j] for j in order if src[j] != s]


BOILERPLATE = re.compile(r"The Human Phenotype Ontology provides|^These resources address the diagnosis|"
                         r"^The (?:mission|NINDS|National Institute)\b|^Frequently asked|^NOTE:|^Key Points?\b", re.I)


def without_echo(answer):
    """Drops a leading repetition of the question, which some sites put before the answer."""
    spans = sentences(answer)
    if len(spans) > 1 and spans[0][2].endswith("?"):
        return answer[spans[1][0]:]
    return answer


def medquad(mirror, repo):
    # Consumer health questions of US government sites. The first sentences of the answer against
    # those of the answers to the other questions of the same page, then against the answers to
    # the same kind of question on the next pages of the same site.
    paths = [p for p in mirror.names(repo, ".") if p.endswith(".xml") and not re.match(r"1[012]_", p)]
    sites = OrderedDict()
    for path, text in mirror.many(repo, paths):
        try:
            doc = ET.fromstring(text.encode("utf-8"))
        except ET.ParseError:
            continue
        pairs = []
        for pair in doc.iter("QAPair"):
            asked, answer = pair.find("Question"), pair.findtext("Answer") or ""
            question = clean(asked.text if asked is not None else "")
            answer = "\n".join(clean(x) for x in re.split(r"\n\s*\n", answer) if clean(x))
            question = re.sub(r"\s*\?+$", "?", question.replace("What is (are)", "What is"))
            answer = head_passage(without_echo(answer))
            if question and len(answer) > 20 and not BOILERPLATE.search(answer[:160]):
                pairs.append((question, answer, asked.get("qtype")))
        sites.setdefault(path.split("/")[0], []).append(pairs)
    for site, pages in sites.items():
        for n, pairs in enumerate(pages):
            for i, (q, a, kind) in enumerate(pairs):
                same = [x for j, (_, x, _) in enumerate(pairs) if j != i and x != a][:7]
                after = [x for k in range(1, 16) for _, x, t in pages[(n + k) % len(pages)] if t == kind and x != a]
                yield site, q, [a], same + after


def covid_faq(mirror, repo):
    # Only the FAQ pages of US federal bodies (CDC, FDA), whose text is in the public domain.
    wanted = re.compile(r"data/scraping/schema_v0\.\d/(?:CDC|FDA)\w*_v0\.\d\.jsonl$")
    for path in mirror.names(repo, "data/scraping"):
        if not wanted.match(path):
            continue
        pairs = []
        for row in json_lines(mirror.text(repo, path)):
            q = re.sub(r"^Q[.:]\s*", "", strip_html(row.get("questionText")))
            a = head_passage(re.sub(r"^A[.:]\s*", "", strip_html(row.get("answerText"))))
            if q.endswith("?") and len(a) > 20:
                pairs.append((q, a))
        for i, (q, a) in enumerate(pairs):
            order = sorted(range(len(pairs)), key=lambda j: (abs(i - j), j))
            yield os.path.basename(path), q, [a], [pairs[j][1] for j in order
                                                   if j != i and pairs[j][1] != a and key(pairs[j][0]) != key(q)]


# ----------------------------------------------------------------------------- the sources

NLI_SETS = "felipessalvatore/NLI_datasets"
SUPPORT = [
    ("mnli-dev", NLI_SETS, nli_csv("nli_datasets/mnli/dev.csv", "dev"),
     "OANC licence / CC BY-SA 3.0 / CC BY 3.0 by genre (MultiNLI paper, 2.2); repository MIT"),
    ("snli-dev", NLI_SETS, nli_csv("nli_datasets/snli/dev.csv", "dev"), "CC BY-SA 4.0 (SNLI); repository MIT"),
    ("cad-nli", "acmi-lab/counterfactually-augmented-data", cad, "Apache-2.0; SNLI text CC BY-SA 4.0"),
    ("breaking-nli", "BIU-NLP/Breaking_NLI", breaking_nli, "CC BY-SA 4.0"),
    ("med", "verypluming/MED", med, "CC BY-SA 4.0"),
    ("help", "verypluming/HELP", help_nli, "CC BY-SA 4.0"),
    ("conj-nli", "swarnaHub/ConjNLI", conj_nli, "MIT; Wikipedia and MultiNLI text"),
    ("negation-nli", "mosharafhossain/negation-and-nli", negation_nli, "MIT; MultiNLI and SNLI text"),
    ("infotabs", "infotabs/infotabs", infotabs, "Apache-2.0; info boxes of Wikipedia, CC BY-SA"),
    ("wiki-nli", "nyu-mll/semi-automatic-nli", semi_automatic,
     "Wikipedia text CC BY-SA 3.0 / GFDL; no separate licence for the labels (see doubts)"),
    ("fever-symmetric", "TalSchuster/FeverSymmetric", fever_symmetric, "CC BY-SA 3.0"),
    ("entailment-bank", "allenai/entailment_bank", entailment_bank, "Apache-2.0 (repository; see doubts)"),
    ("ambient", "alisawuffles/ambient", ambient, "CC BY 4.0"),
    ("wice-train", "ryokamoi/wice", wice_train, "annotations ODC-BY; claims CC BY-SA; pages by Common Crawl terms"),
]
# Rows of a later training. They are kept in a file of their own, so that the same rows of the others are held apart.
ADDED = [
    ("scitail", NLI_SETS, scitail, "Apache-2.0 (SciTail); repository MIT"),
    ("snli-test", "OanaMariaCamburu/e-SNLI", snli_test, "CC BY-SA 4.0 (SNLI); repository MIT"),
]
# The order matters where sources share questions: the first one wins.
RELEVANCE = [
    ("xquad-en", "deepmind/xquad", xquad, "CC BY-SA 4.0"),
    ("qnli-dev", NLI_SETS, qnli_dev, "CC BY-SA 4.0 (SQuAD); repository MIT"),
    ("squad-nqg", "xinyadu/nqg", nqg, "CC BY-SA 4.0 (SQuAD)"),
    ("squadshifts-wiki", "modestyachts/squadshifts-website", squadshifts("new_wiki"), "CC BY 4.0 (data set card); Wikipedia text CC BY-SA"),
    ("squadshifts-reddit", "modestyachts/squadshifts-website", squadshifts("reddit"), "CC BY 4.0 (data set card); see doubts"),
    ("squadshifts-amazon", "modestyachts/squadshifts-website", squadshifts("amazon_reviews"), "CC BY 4.0 (data set card); see doubts"),
    ("selqa", "emorynlp/selqa", selqa, "Apache-2.0; Wikipedia text CC BY-SA"),
    ("medquad", "abachaa/MedQuAD", medquad, "CC BY 4.0"),
    ("covid-qa", "deepset-ai/COVID-QA", covid_qa, "Apache-2.0; articles CC BY or CC0"),
    ("covid-faq-us", "JHU-COVID-QA/scraping-qas", covid_faq, "Apache-2.0; text of CDC and FDA, public domain"),
]

# ----------------------------------------------------------------------------- writing


def write_atomically(path, text):
    with open(path + ".tmp", "w", encoding="utf-8", newline="\n") as f:
        f.write(text)
    os.replace(path + ".tmp", path)


def build_added(mirror, counts, support):
    """The rows of ADDED that are not in `support`, and whose premises are not among the rows that `train.py` holds apart."""
    rows = [json.loads(line) for line in support.splitlines()]
    known = {(key(row["premise"]), key(row["claim"])) for row in rows}
    rows = [row for row in rows if (row["src"], row["label"]) not in LEFT_OUT]
    random.Random(1).shuffle(rows)
    kept = {key(row["premise"]) for row in rows[:HELD]}
    out = []
    for line in build_support(mirror, counts, ADDED).splitlines():
        row = json.loads(line)
        if (key(row["premise"]), key(row["claim"])) not in known and key(row["premise"]) not in kept:
            out.append(line)
    return "\n".join(out) + "\n"


def build_support(mirror, counts, sources):
    rows, by_key, clash = [], {}, set()
    for src, repo, reader, _ in sources:
        if not mirror.git_dir(repo):
            print("missing repository: " + repo, file=sys.stderr)
            continue
        for item in reader(mirror, repo):
            split, premise, claim, lab = item[:4]
            premise, claim = clean(premise), clean(claim)
            if not lab or len(claim) < 3 or len(premise) < 3:
                continue
            k = (key(premise), key(claim))
            if k[0] == k[1] and lab == "entail":
                continue
            if k in by_key:
                # The same pair with another label: a two-class label does not clash with the
                # three-class label that it covers; anything else drops the pair.
                old = rows[by_key[k]]["label"]
                if old != lab and {old, lab} not in ({"not_entail", "neutral"}, {"not_entail", "contradict"}):
                    clash.add(by_key[k])
                continue
            by_key[k] = len(rows)
            row = {"src": src, "premise": premise, "claim": claim, "label": lab}
            if len(item) > 4:
                row["context"] = item[4]
            rows.append(row)
            row["split"] = split
    out = []
    for i, row in enumerate(rows):
        if i not in clash:
            split = row.pop("split")
            counts["support"].setdefault(row["src"], Counter())[row["label"]] += 1
            counts["splits"].setdefault(row["src"], Counter())[split] += 1
            out.append(json.dumps(row, ensure_ascii=False))
    return "\n".join(out) + "\n"


def build_relevance(mirror, counts):
    out, seen = [], set()
    for src, repo, reader, _ in RELEVANCE:
        if not mirror.git_dir(repo):
            print("missing repository: " + repo, file=sys.stderr)
            continue
        for split, question, positives, negatives in reader(mirror, repo):
            question = clean(question)
            good, used = [], set()
            for s in map(clean, positives):
                if s and key(s) not in used and len(s) <= 1500:
                    used.add(key(s))
                    good.append(s)
            bad = []
            for s in map(clean, negatives):
                if key(s) and key(s) not in used and len(s.split()) >= 3 and len(s) <= 1500:
                    used.add(key(s))
                    bad.append(s)
                if len(bad) == MAX_NEGATIVES:
                    break
            # A question is used once, so that SQuAD's questions don't come from three sources.
            k = key(question)
            if len(question) < 8 or not good or k in seen:
                continue
            seen.add(k)
            counts["relevance"].setdefault(src, Counter()).update(
                {"questions": 1, "positives": len(good), "negatives": len(bad), "without negatives": int(not bad)})
            counts["splits"].setdefault(src, Counter())[split] += 1
            out.append(json.dumps({"src": src, "question": question, "positives": good, "negatives": bad},
                                  ensure_ascii=False))
    return "\n".join(out) + "\n"


def sources_md(mirror, counts):
    lines = ["# Sources of the training data", "",
             "Made by prepare.py. Every repository is on GitHub as `https://github.com/OWNER/NAME`.", "",
             "| file | source | repository, commit | licence | rows used | splits |", "| --- | --- | --- | --- | --- | --- |"]
    for name, group in (("support", SUPPORT + ADDED), ("relevance", RELEVANCE)):
        for src, repo, _, licence in group:
            if src not in counts[name]:
                continue
            made = ", ".join("%s %d" % kv for kv in sorted(counts[name][src].items()))
            splits = counts["splits"][src]
            shown = ", ".join("%s %d" % kv for kv in sorted(splits.items())[:8]) + (" ..." if len(splits) > 8 else "")
            lines.append("| %s | %s | https://github.com/%s %s | %s | %s | %s |" % (
                name, src, repo, mirror.commit(repo)[:12], licence, made, shown))
    notes = os.path.join(os.path.dirname(os.path.abspath(__file__)), "SOURCES-notes.md")
    if os.path.exists(notes):
        with open(notes, encoding="utf-8") as f:
            lines += ["", f.read().rstrip("\n")]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mirror", required=True, help="folder with the repositories' git directories")
    parser.add_argument("--out", required=True, help="folder for the two files")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    mirror, counts = Mirror(args.mirror), {"support": {}, "relevance": {}, "splits": {}}
    support = build_support(mirror, counts, SUPPORT)
    write_atomically(os.path.join(args.out, "support.jsonl"), support)
    write_atomically(os.path.join(args.out, "added.jsonl"), build_added(mirror, counts, support))
    write_atomically(os.path.join(args.out, "relevance.jsonl"), build_relevance(mirror, counts))
    write_atomically(os.path.join(args.out, "counts.json"), json.dumps(counts, indent=1, sort_keys=True) + "\n")
    write_atomically(os.path.join(args.out, "SOURCES.md"), sources_md(mirror, counts))
    for name in ("support", "relevance"):
        for src, c in counts[name].items():
            print(name, src, dict(c))


if __name__ == "__main__":
    main()
