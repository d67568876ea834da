"""Trains the adapter and the two heads of the cross-encoder.

    python models/train/train.py --data DIR --base models/all-MiniLM-L6-v2 --out adapter.safetensors

DIR holds `support.jsonl` and `relevance.jsonl` (`prepare.py`). Equal data, seed and version of JAX give equal steps; `--state`
keeps where training is, and the same command goes on from there.
"""
import argparse
import json
import pathlib
import pickle
import re
import random as standard_random
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax
from tokenizers import Tokenizer

import made_claims
import model

FIRST_TOKENS = 64
PAIR_TOKENS = 192
# Tokens of a pair (with padding), and rows of a batch.
SUPPORT_SHAPES = ((40, 72), (64, 48), (104, 28), (PAIR_TOKENS, 16))
CANDIDATES = 5
# Tokens of a pair, and questions of a batch.
RELEVANCE_SHAPES = ((48, 13), (72, 8), (112, 5), (PAIR_TOKENS, 3))
SCALE = 2.0
# Sources count by the square root of their size, and by this: pairs of one narrow kind count less.
SOURCE_WEIGHTS = {"help": 0.5, "med": 0.6, "breaking-nli": 0.5, "snli-dev": 0.7, "cad-nli": 0.7, "infotabs": 0.8, "fever-symmetric": 1.5, "entailment-bank": 0.7, "medquad": 0.7, "wice-train": 0.5, "covid-faq-us": 1.5}
# Labels without a licence of their own, and labels that nobody has checked.
LEFT_OUT = (("wiki-nli", "entail"), ("wiki-nli", "neutral"), ("wiki-nli", "contradict"), ("entailment-bank", "not_entail"))
LABELS = {"entail": 0, "neutral": 1, "contradict": 2, "not_entail": 3}


class Pairs:
    """Turns texts into token ids, each text once."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.known = {}

    def tokens(self, text):
        found = self.known.get(text)
        if found is None:
            found = np.asarray(self.tokenizer.encode(text[:1600], add_special_tokens=False).ids[:PAIR_TOKENS], np.uint16)
            self.known[text] = found
        return found

    def pair(self, first, second):
        one = self.tokens(first)[: FIRST_TOKENS - 2]
        other = self.tokens(second)[: PAIR_TOKENS - 3 - len(one)]
        return one, other

    def length(self, first, second):
        one, other = self.pair(first, second)
        return len(one) + len(other) + 3

    def batch(self, pairs, length):
        ids = np.zeros((len(pairs), length), np.int32)
        types = np.zeros((len(pairs), length), np.int32)
        mask = np.zeros((len(pairs), length), np.float32)
        for row, (first, second) in enumerate(pairs):
            one, other = self.pair(first, second)
            other = other[: length - 3 - len(one)]
            line = [101, *one, 102, *other, 102]
            ids[row, : len(line)] = line
            types[row, len(one) + 2 : len(line)] = 1
            mask[row, : len(line)] = 1
        return ids, types, mask


def support_loss(adapter, base, batch, labels):
    _, support = model.logits(base, adapter, *batch, SCALE)
    log = jax.nn.log_softmax(support)
    # Of two classes that are not told apart, the sum is right.
    rest = jnp.logaddexp(log[:, 1], log[:, 2])
    told = jnp.concatenate([log, rest[:, None]], 1)
    return -jnp.take_along_axis(told, labels[:, None], 1).mean()


def relevance_loss(adapter, base, batch, labels):
    relevance, _ = model.logits(base, adapter, *batch, SCALE)
    groups = relevance.reshape(-1, CANDIDATES)
    # The first of most groups answers (a label of 1), the others do not.
    answers = labels.astype(groups.dtype)
    listwise = -(jax.nn.log_softmax(groups, axis=1)[:, 0] * answers).sum() / jnp.maximum(answers.sum(), 1)
    told = jnp.zeros_like(groups).at[:, 0].set(answers)
    weight = jnp.full_like(groups, 0.5 / (CANDIDATES - 1)).at[:, 0].set(0.5)
    binary = (optax.sigmoid_binary_cross_entropy(groups, told) * weight).sum(1).mean()
    return listwise + binary


def made_support(sentences, names, random):
    """A premise of one to four sentences of a page, and a claim made from one of them."""
    at = random.randrange(len(sentences))
    sentence = sentences[at]
    before = random.randint(0, 2)
    premise = " ".join(sentences[max(0, at - before) : at + 1 + random.randint(0, 2)])
    way = random.random()
    if way < 0.22:
        return premise, sentence if random.random() < 0.4 else made_claims.shortened(sentence, random) or sentence, "entail"
    if way < 0.36:
        rest = [it for it in sentences if it not in premise]
        return (premise, random.choice(rest), "neutral") if rest else None
    change, label = random.choice((
        (made_claims.swap_number, "contradict"), (made_claims.swap_number, "contradict"), (made_claims.swap_number, "contradict"),
        (made_claims.swap_date, "contradict"), (made_claims.negate, "contradict"), (made_claims.negate, "contradict"),
        (made_claims.opposite, "contradict"), (made_claims.opposite, "contradict"), (made_claims.overstate, "neutral"),
        (lambda text, random: made_claims.swap_name(text, names, random), "not_entail"), (made_claims.swap_roles, "not_entail"),
    ))
    source = sentence if random.random() < 0.6 else made_claims.shortened(sentence, random) or sentence
    claim = change(source, random)
    if not claim or claim in premise:
        return None
    # A claim may also deny what its premise denies: the other way round is as true a pair.
    if label == "contradict" and random.random() < 0.3:
        return premise.replace(sentence, claim) if claim != sentence else premise, sentence, label
    return premise, claim, label


WH = re.compile("(?i)(what|which|who|when|where|how|why|in what|in which)\\b")


def words(text):
    return set(re.findall(r"[a-z]{4,}", text.lower()))


def read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Data:
    def __init__(self, directory, pairs, seed, held):
        random = standard_random.Random(seed)
        support = [it for it in read(directory / "support.jsonl") if (it["src"], it["label"]) not in LEFT_OUT]
        relevance = [it for it in read(directory / "relevance.jsonl") if it["positives"]]
        random.shuffle(support)
        random.shuffle(relevance)
        self.held_support, self.support = support[:held], support[held:]
        self.held_relevance, self.relevance = relevance[: held // 4], relevance[held // 4 :]
        self.pages = [it["positives"][:1] + it["negatives"] for it in self.relevance if len(it["negatives"]) >= 3]
        self.pages = [[s for s in page if 5 <= len(s.split()) <= 60] for page in self.pages]
        self.pages = [page for page in self.pages if len(page) >= 3]
        self.pairs = pairs
        # Rows of each length that wait for a full batch.
        self.waiting_support, self.waiting_relevance = {}, {}
        by_source = {}
        for row in self.support:
            by_source.setdefault(row["src"], []).append(row)
        self.by_source = by_source
        weigh = lambda src, rows: len(rows) ** 0.5 * SOURCE_WEIGHTS.get(src, 1)
        self.weights = {src: weigh(src, rows) for src, rows in by_source.items()}
        self.by_relevance = {}
        for row in self.relevance:
            self.by_relevance.setdefault(row["src"], []).append(row)
        self.relevance_weights = {src: weigh(src, rows) for src, rows in self.by_relevance.items()}

    def support_row(self, random):
        while True:
            if random.random() < 0.35 and self.pages:
                page = random.choice(self.pages)
                names = [it for s in random.choice(self.pages) for it in made_claims.NAME.findall(s)]
                row = made_support(page, names, random)
                if row is None:
                    continue
                return row[1], row[0], row[2]
            src = random.choices(list(self.weights), list(self.weights.values()))[0]
            row = random.choice(self.by_source[src])
            return row["claim"], row["premise"], row["label"]

    def relevance_row(self, random):
        src = random.choices(list(self.relevance_weights), list(self.relevance_weights.values()))[0]
        row = random.choice(self.by_relevance[src])
        asked = words(row["question"])
        # Most of them share words with the question, or they would teach nothing.
        hard = lambda text: len(asked & words(text)) + 1.5 * random.random()
        negatives = sorted(row["negatives"], key=hard, reverse=True)[: CANDIDATES - 2]
        while len(negatives) < CANDIDATES - 1:
            other = random.choice(self.by_relevance[src])
            negatives.append(random.choice(other["positives"] + other["negatives"]))
        texts = [random.choice(row["positives"]), *negatives]
        question, answers = row["question"], 1
        # The opposite of what is asked is not answered by the same sentence.
        if random.random() < 0.15 and WH.match(question):
            opposite = made_claims.opposite(question, random) or made_claims.swap_date(question, random) or made_claims.swap_number(question, random)
            if opposite:
                question, answers = opposite, 0
        return [(question, text) for text in texts], answers

    def support_batch(self, random):
        """Rows of one length bucket. Rows of other lengths wait in their buckets."""
        while True:
            claim, premise, label = self.support_row(random)
            length = self.pairs.length(claim, premise)
            for size, rows in SUPPORT_SHAPES:
                if length <= size:
                    bucket = self.waiting_support.setdefault(size, [])
                    bucket.append((claim, premise, label))
                    if len(bucket) == rows:
                        del self.waiting_support[size]
                        batch = self.pairs.batch([it[:2] for it in bucket], size)
                        return batch, np.asarray([LABELS[it[2]] for it in bucket])
                    break

    def relevance_batch(self, random):
        while True:
            group, answers = self.relevance_row(random)
            length = sorted(self.pairs.length(*it) for it in group)[-2]
            for size, groups in RELEVANCE_SHAPES:
                if length <= size:
                    bucket = self.waiting_relevance.setdefault(size, [])
                    bucket.append((group, answers))
                    if len(bucket) == groups:
                        del self.waiting_relevance[size]
                        batch = self.pairs.batch([it for group, _ in bucket for it in group], size)
                        return batch, np.asarray([answers for _, answers in bucket])
                    break

def evaluate(data, score, log):
    rows = data.held_support
    right, told = {}, {}
    for begin in range(0, len(rows) - 31, 32):
        part = rows[begin : begin + 32]
        _, support = score(*data.pairs.batch([(it["claim"], it["premise"]) for it in part], PAIR_TOKENS))
        best = np.asarray(support).argmax(1)
        for row, guess in zip(part, best):
            want = LABELS[row["label"]]
            ok = guess == want if want < 3 else guess != 0
            right[row["src"]] = right.get(row["src"], 0) + int(ok)
            told[row["src"]] = told.get(row["src"], 0) + 1
    first, rank = 0, 0
    for row in data.held_relevance:
        texts = [row["positives"][0], *row["negatives"][:12]]
        texts += [""] * (16 - len(texts))
        relevance, _ = score(*data.pairs.batch([(row["question"], it) for it in texts], 96))
        values = np.asarray(relevance)[: 1 + len(row["negatives"][:12])]
        place = int((values > values[0]).sum())
        first += place == 0
        rank += 1 / (place + 1)
    count = len(data.held_relevance)
    log(f"held: support {sum(right.values()) / sum(told.values()):.3f} " + " ".join(f"{src} {right[src] / told[src]:.2f}" for src in sorted(told)))
    log(f"held: relevance first {first / count:.3f} MRR {rank / count:.3f}")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--data", type=pathlib.Path, required=True)
    arguments.add_argument("--base", type=pathlib.Path, required=True)
    arguments.add_argument("--out", type=pathlib.Path, required=True)
    arguments.add_argument("--state", type=pathlib.Path)
    arguments.add_argument("--steps", type=int, default=2000)
    arguments.add_argument("--rate", type=float, default=1.2e-3)
    arguments.add_argument("--rank", type=int, default=16)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--held", type=int, default=640)
    options = arguments.parse_args()
    log = lambda text: print(text, flush=True)

    base = {name: jnp.asarray(value) for name, value in model.load_base(options.base).items()}
    adapter = model.new_adapter(base, options.rank, options.seed)
    pairs = Pairs(Tokenizer.from_file(str(options.base / "tokenizer.json")))
    data = Data(options.data, pairs, options.seed, options.held)
    log(f"{len(data.support)} pairs for support, {len(data.relevance)} questions, {len(data.pages)} pages")

    schedule = optax.warmup_cosine_decay_schedule(0, options.rate, options.steps // 20 + 1, options.steps, options.rate / 20)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, b2=0.99, weight_decay=0.01))
    adapter = {name: jnp.asarray(value) for name, value in adapter.items()}
    state = optimizer.init(adapter)
    step = 0
    if options.state and options.state.exists():
        with open(options.state, "rb") as file:
            kept = pickle.load(file)
        adapter, state, step = kept["adapter"], kept["state"], kept["step"]
        data.waiting_support, data.waiting_relevance = kept["waiting"]

    def update(loss):
        def one(adapter, state, batch, labels):
            value, gradient = jax.value_and_grad(loss)(adapter, base, batch, labels)
            changes, state = optimizer.update(gradient, state, adapter)
            return optax.apply_updates(adapter, changes), state, value
        return jax.jit(one, donate_argnums=(0, 1))

    support_step, relevance_step = update(support_loss), update(relevance_loss)
    score = jax.jit(lambda adapter, ids, types, mask: model.logits(base, adapter, ids, types, mask, SCALE))
    losses = {"support": [], "relevance": []}
    begun = time.time()
    while step < options.steps:
        random = standard_random.Random(f"{options.seed}/{step}")
        kind = "support" if random.random() < 0.55 else "relevance"
        batch, labels = data.support_batch(random) if kind == "support" else data.relevance_batch(random)
        act = support_step if kind == "support" else relevance_step
        adapter, state, value = act(adapter, state, batch, labels)
        losses[kind].append(float(value))
        step += 1
        if step % 50 == 0:
            mean = {name: sum(it[-50:]) / max(1, len(it[-50:])) for name, it in losses.items()}
            log(f"step {step} support {mean['support']:.3f} relevance {mean['relevance']:.3f} {time.time() - begun:.0f} s")
        if step % 400 == 0 or step == options.steps:
            evaluate(data, lambda *batch: score(adapter, *batch), log)
            model.save_adapter(adapter, SCALE, options.out)
            if options.state:
                keep = {"adapter": jax.device_get(adapter), "state": jax.device_get(state), "step": step}
                keep["waiting"] = (data.waiting_support, data.waiting_relevance)
                temporary = options.state.with_suffix(".new")
                with open(temporary, "wb") as file:
                    pickle.dump(keep, file)
                temporary.rename(options.state)


if __name__ == "__main__":
    main()
