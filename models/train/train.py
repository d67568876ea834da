"""Trains the adapter and the two heads of the cross-encoder, in PyTorch on the CPU.

    python models/train/train.py --data DIR --base models/all-MiniLM-L6-v2 --out adapter.safetensors --state STATE --until 18:05

DIR holds what `prepare.py` writes. `--from` goes on from an adapter instead of a new one. Equal data, seed, steps and version of PyTorch
give equal steps; `--state` keeps where training is, and the same command goes on from there. The rate follows a cosine to the end of the
steps or of the time, whichever is nearer.

The model is a BERT with a LoRA adapter (Hu and others 2021) for all linear maps. The base weights are those that Ibid runs, 8 bits with one
scale a row, and stay as they are; the adapter, the LayerNorms, the token types and the heads are learned.
"""
import argparse
import datetime
import json
import math
import pathlib
import pickle
import random as standard_random
import re
import time

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

import made_claims
import prepare

FIRST_TOKENS = 64
PAIR_TOKENS = 192
# Tokens of a pair at most, and rows of a batch: about 3,000 tokens.
SUPPORT_SHAPES = ((32, 96), (40, 76), (48, 64), (64, 48), (88, 34), (128, 24), (PAIR_TOKENS, 16))
CANDIDATES = 5
# The same for questions, each with its candidates.
RELEVANCE_SHAPES = ((48, 13), (72, 8), (112, 5), (PAIR_TOKENS, 3))
SCALE = 2.0
# The share of batches for support, and of its rows those that are made by code.
SUPPORT_SHARE = 0.65
MADE_SHARE = 0.3
# Sources count by the square root of their size, and by this: pairs of one narrow kind count less.
SOURCE_WEIGHTS = {
    "mnli-dev": 3.0, "snli-dev": 1.3, "cad-nli": 0.9, "conj-nli": 0.6, "infotabs": 0.5, "breaking-nli": 0.3, "help": 0.3, "med": 0.4,
    "negation-nli": 1.0, "fever-symmetric": 3.0, "entailment-bank": 0.5, "ambient": 2.0, "wice-train": 1.2,
    "scitail": 1.8, "snli-test": 0.8, "medquad": 0.7, "covid-faq-us": 1.5,
}
LABELS = {"entail": 0, "neutral": 1, "contradict": 2, "not_entail": 3}
LAYERS, HEADS = 6, 12


LINEAR = (
    "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense", "intermediate.dense", "output.dense",
)
NORMS = ("attention.output.LayerNorm", "output.LayerNorm")


def load_base(directory):
    """The weights as 32-bit floats. Queries, keys and values of a layer also stand side by side."""
    raw = load_file(pathlib.Path(directory) / "model.safetensors")
    base = {}
    for name, value in raw.items():
        if name.endswith(".scale") or name.endswith("_scale"):
            continue
        scale = raw.get(name + "_scale", raw.get(name + ".scale"))
        base[name] = torch.from_numpy(value.astype(np.float32) * (1.0 if scale is None else scale.astype(np.float32).reshape(-1, 1)))
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}.attention."
        for part in ("weight", "bias"):
            base[at + "qkv." + part] = torch.cat([base[f"{at}self.{it}.{part}"] for it in ("query", "key", "value")]).contiguous()
    return base


def new_adapter(base, rank, seed):
    """An adapter that changes nothing yet: B is zero."""
    random = np.random.default_rng(seed)
    adapter = {}
    for layer in range(LAYERS):
        for linear in LINEAR:
            name = f"encoder.layer.{layer}.{linear}"
            outputs, inputs = base[name + ".weight"].shape
            adapter[name + ".lora_A"] = random.normal(0, 1 / math.sqrt(inputs), (rank, inputs)).astype(np.float32)
            adapter[name + ".lora_B"] = np.zeros((outputs, rank), np.float32)
        for norm in NORMS:
            for part in ("weight", "bias"):
                name = f"encoder.layer.{layer}.{norm}.{part}"
                adapter[name] = base[name].numpy().copy()
    for name in ("embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias", "embeddings.token_type_embeddings.weight"):
        adapter[name] = base[name].numpy().copy()
    for head, outputs in (("relevance", 1), ("support", 3)):
        adapter[head + ".weight"] = random.normal(0, 0.02, (outputs, 384)).astype(np.float32)
        adapter[head + ".bias"] = np.zeros(outputs, np.float32)
    return adapter


def load_adapter(path):
    """As it was trained: B without the scale."""
    return {name: value.astype(np.float32) / (SCALE if name.endswith(".lora_B") else 1.0) for name, value in load_file(path).items()}


def save_adapter(adapter, path):
    """In 16 bits, with the scale multiplied into B."""
    out = {}
    for name, value in adapter.items():
        value = value.detach().numpy()
        out[name] = np.ascontiguousarray((value * SCALE if name.endswith(".lora_B") else value).astype(np.float16))
    temporary = pathlib.Path(str(path) + ".new")
    save_file(out, temporary)
    temporary.rename(path)


def linear(x, name, base, adapter):
    y = F.linear(x, base[name + ".weight"], base[name + ".bias"])
    h = F.linear(x, adapter[name + ".lora_A"])
    return y.addmm_(h, adapter[name + ".lora_B"].t(), alpha=SCALE)


def norm(x, name, adapter):
    return F.layer_norm(x, x.shape[-1:], adapter[name + ".weight"], adapter[name + ".bias"], 1e-12)


def logits(base, adapter, ids, types, mask):
    """Relevance [rows] and support [rows, 3], by the mean of the last layer over all tokens that are not padding."""
    rows, length = ids.shape
    x = base["embeddings.word_embeddings.weight"][ids] + base["embeddings.position_embeddings.weight"][:length]
    x = x + F.embedding(types, adapter["embeddings.token_type_embeddings.weight"])
    x = norm(x.view(rows * length, -1), "embeddings.LayerNorm", adapter)
    penalty = ((1.0 - mask) * -1e9)[:, None, None, :].expand(rows, 1, length, length)
    wide = x.shape[-1]
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        plain = F.linear(x, base[at + "attention.qkv.weight"], base[at + "attention.qkv.bias"])
        names = [f"{at}attention.self.{it}" for it in ("query", "key", "value")]
        h = F.linear(x, torch.cat([adapter[it + ".lora_A"] for it in names]))
        rank = h.shape[1] // 3
        parts = []
        for nth, name in enumerate(names):
            low = h[:, nth * rank : (nth + 1) * rank]
            part = torch.addmm(plain[:, nth * wide : (nth + 1) * wide], low, adapter[name + ".lora_B"].t(), alpha=SCALE)
            parts.append(part.view(rows, length, HEADS, -1).transpose(1, 2))
        attended = F.scaled_dot_product_attention(*parts, attn_mask=penalty)
        attended = attended.transpose(1, 2).reshape(rows * length, wide)
        x = norm(x + linear(attended, at + "attention.output.dense", base, adapter), at + "attention.output.LayerNorm", adapter)
        inner = F.gelu(linear(x, at + "intermediate.dense", base, adapter), approximate="tanh")
        x = norm(x + linear(inner, at + "output.dense", base, adapter), at + "output.LayerNorm", adapter)
    mean = (x.view(rows, length, wide) * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
    relevance = F.linear(mean, adapter["relevance.weight"], adapter["relevance.bias"])
    return relevance[:, 0], F.linear(mean, adapter["support.weight"], adapter["support.bias"])


def support_loss(support, labels):
    log = F.log_softmax(support, 1)
    # Of two classes that are not told apart, the sum is right.
    rest = torch.logaddexp(log[:, 1], log[:, 2])
    told = torch.cat([log, rest[:, None]], 1)
    return -told.gather(1, labels[:, None]).mean()


def relevance_loss(relevance, labels):
    groups = relevance.view(-1, CANDIDATES)
    # The first of most groups answers (a label of 1), the others do not.
    answers = labels.to(groups.dtype)
    listwise = -(F.log_softmax(groups, 1)[:, 0] * answers).sum() / answers.sum().clamp(min=1)
    told = torch.zeros_like(groups)
    told[:, 0] = answers
    weight = torch.full_like(groups, 0.5 / (CANDIDATES - 1))
    weight[:, 0] = 0.5
    binary = (F.binary_cross_entropy_with_logits(groups, told, reduction="none") * weight).sum(1).mean()
    return listwise + binary


class Pairs:
    """Turns texts into token ids, each text once."""

    def __init__(self, tokenizer):
        self.tokenizer, self.known = tokenizer, {}

    def tokens(self, text):
        found = self.known.get(text)
        if found is None:
            found = np.asarray(self.tokenizer.encode(text[:1600], add_special_tokens=False).ids[:PAIR_TOKENS], np.uint16)
            self.known[text] = found
        return found

    def pair(self, first, second):
        one = self.tokens(first)[: FIRST_TOKENS - 2]
        return one, self.tokens(second)[: PAIR_TOKENS - 3 - len(one)]

    def length(self, first, second):
        one, other = self.pair(first, second)
        return len(one) + len(other) + 3

    def batch(self, pairs, most):
        """At most `most` tokens a pair, and no more padding than the longest needs."""
        length = min(most, max(self.length(*it) for it in pairs))
        ids = np.zeros((len(pairs), length), np.int64)
        types = np.zeros((len(pairs), length), np.int64)
        mask = np.zeros((len(pairs), length), np.float32)
        for row, (first, second) in enumerate(pairs):
            one, other = self.pair(first, second)
            other = other[: length - 3 - len(one)]
            line = [101, *one, 102, *other, 102]
            ids[row, : len(line)] = line
            types[row, len(one) + 2 : len(line)] = 1
            mask[row, : len(line)] = 1
        return torch.from_numpy(ids), torch.from_numpy(types), torch.from_numpy(mask)


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
        support = [it for it in read(directory / "support.jsonl") if (it["src"], it["label"]) not in prepare.LEFT_OUT]
        relevance = [it for it in read(directory / "relevance.jsonl") if it["positives"]]
        random.shuffle(support)
        random.shuffle(relevance)
        # The same rows are held as before. What was added since comes after.
        self.held_support, self.support = support[:held], support[held:]
        self.held_relevance, self.relevance = relevance[: held // 4], relevance[held // 4 :]
        extra = directory / "added.jsonl"
        if extra.exists():
            added = read(extra)
            standard_random.Random(seed).shuffle(added)
            self.held_extra = [it for it in added if it["src"] == "scitail"][:96]
            kept = {id(it) for it in self.held_extra}
            self.support += [it for it in added if id(it) not in kept]
        else:
            self.held_extra = []
        self.pages = [it["positives"][:1] + it["negatives"] for it in self.relevance if len(it["negatives"]) >= 3]
        self.pages = [[s for s in page if 5 <= len(s.split()) <= 60] for page in self.pages]
        self.pages = [page for page in self.pages if len(page) >= 3]
        self.pairs = pairs
        # Rows of each length that wait for a full batch.
        self.waiting_support, self.waiting_relevance = {}, {}
        self.by_source, self.by_relevance = {}, {}
        for row in self.support:
            self.by_source.setdefault(row["src"], []).append(row)
        for row in self.relevance:
            self.by_relevance.setdefault(row["src"], []).append(row)
        weigh = lambda src, rows: len(rows) ** 0.5 * SOURCE_WEIGHTS.get(src, 1)
        self.weights = {src: weigh(src, rows) for src, rows in self.by_source.items()}
        self.relevance_weights = {src: weigh(src, rows) for src, rows in self.by_relevance.items()}

    def support_row(self, random):
        while True:
            if random.random() < MADE_SHARE and self.pages:
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
        while True:
            claim, premise, label = self.support_row(random)
            length = self.pairs.length(claim, premise)
            for size, rows in SUPPORT_SHAPES:
                if length <= size:
                    bucket = self.waiting_support.setdefault(size, [])
                    bucket.append((claim, premise, label))
                    if len(bucket) == rows:
                        del self.waiting_support[size]
                        return self.pairs.batch([it[:2] for it in bucket], size), torch.tensor([LABELS[it[2]] for it in bucket])
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
                        return batch, torch.tensor([answers for _, answers in bucket])
                    break


def scores(data, base, adapter, pairs, most):
    """The logits of the pairs, in batches of one length each."""
    order = sorted(range(len(pairs)), key=lambda it: data.pairs.length(*pairs[it]))
    relevance, support = np.zeros(len(pairs)), np.zeros((len(pairs), 3))
    with torch.inference_mode():
        for begin in range(0, len(order), 32):
            part = order[begin : begin + 32]
            one, other = logits(base, adapter, *data.pairs.batch([pairs[it] for it in part], most))
            relevance[part], support[part] = one.numpy(), other.numpy()
    return relevance, support


def support_figures(data, base, adapter, rows):
    _, support = scores(data, base, adapter, [(it["claim"], it["premise"]) for it in rows], PAIR_TOKENS)
    right, told, table = {}, {}, np.zeros((4, 3), int)
    for row, guess in zip(rows, support.argmax(1)):
        want = LABELS[row["label"]]
        ok = guess == want if want < 3 else guess != 0
        right[row["src"]] = right.get(row["src"], 0) + int(ok)
        told[row["src"]] = told.get(row["src"], 0) + 1
        table[want, guess] += 1
    return right, told, table


def evaluate(data, base, adapter, log, title=""):
    right, told, table = support_figures(data, base, adapter, data.held_support)
    log(f"held: {title} support {sum(right.values()) / sum(told.values()):.3f} " + " ".join(f"{src} {right[src] / told[src]:.2f}" for src in sorted(told)))
    log("held: rows of entail, neutral, contradict, not_entail told as those three: " + str(table.tolist()))
    pairs, begins = [], []
    for row in data.held_relevance:
        begins.append(len(pairs))
        pairs += [(row["question"], it) for it in [row["positives"][0], *row["negatives"][:12]]]
    relevance, _ = scores(data, base, adapter, pairs, 96)
    first, rank = 0, 0
    for begin, end in zip(begins, begins[1:] + [len(pairs)]):
        place = int((relevance[begin:end] > relevance[begin]).sum())
        first += place == 0
        rank += 1 / (place + 1)
    log(f"held: {title} relevance first {first / len(begins):.3f} MRR {rank / len(begins):.3f}")
    if data.held_extra:
        right, told, _ = support_figures(data, base, adapter, data.held_extra)
        log(f"held: {title} added " + " ".join(f"{src} {right[src] / told[src]:.2f} of {told[src]}" for src in sorted(told)))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--data", type=pathlib.Path, required=True)
    arguments.add_argument("--base", type=pathlib.Path, required=True)
    arguments.add_argument("--from", dest="begin", type=pathlib.Path, help="the adapter to go on from")
    arguments.add_argument("--rank", type=int, default=16, help="of a new adapter")
    arguments.add_argument("--out", type=pathlib.Path)
    arguments.add_argument("--state", type=pathlib.Path)
    arguments.add_argument("--steps", type=int, default=2000)
    arguments.add_argument("--until", help="HH:MM of today: ends then, whatever the steps")
    arguments.add_argument("--rate", type=float, default=7e-4)
    arguments.add_argument("--seed", type=int, default=2)
    arguments.add_argument("--held", type=int, default=prepare.HELD)
    arguments.add_argument("--held-seed", type=int, default=1)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--evaluate", action="store_true", help="only tells what --from knows")
    options = arguments.parse_args()
    log = lambda text: print(time.strftime("%H:%M:%S ") + text, flush=True)
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)

    base = load_base(options.base)
    adapter = load_adapter(options.begin) if options.begin else new_adapter(base, options.rank, options.seed)
    adapter = {name: torch.from_numpy(value).requires_grad_() for name, value in sorted(adapter.items())}
    pairs = Pairs(Tokenizer.from_file(str(options.base / "tokenizer.json")))
    data = Data(options.data, pairs, options.held_seed, options.held)
    log(f"{len(data.support)} pairs for support, {len(data.relevance)} questions, {len(data.pages)} pages")
    if options.evaluate:
        return evaluate(data, base, adapter, log, str(options.begin))
    total = sum(data.weights.values())
    log("shares: " + " ".join(f"{src} {value / total:.3f}" for src, value in data.weights.items()))

    optimizer = torch.optim.AdamW(list(adapter.values()), lr=options.rate, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.01)
    step, first = 0, time.time()
    if options.state and options.state.exists():
        with open(options.state, "rb") as file:
            kept = pickle.load(file)
        for name, value in kept["adapter"].items():
            adapter[name].data.copy_(torch.from_numpy(value))
        optimizer.load_state_dict(kept["optimizer"])
        step, first = kept["step"], kept["first"]
        data.waiting_support, data.waiting_relevance = kept["waiting"]
        log(f"goes on from step {step}")
    end = None
    if options.until:
        hour, minute = map(int, options.until.split(":"))
        end = datetime.datetime.now().replace(hour=hour, minute=minute, second=0, microsecond=0).timestamp()

    def keep():
        save_adapter(adapter, options.out)
        if options.state:
            kept = {"adapter": {name: it.detach().numpy().copy() for name, it in adapter.items()}, "optimizer": optimizer.state_dict(), "step": step, "first": first}
            kept["waiting"] = (data.waiting_support, data.waiting_relevance)
            temporary = options.state.with_suffix(".new")
            with open(temporary, "wb") as file:
                pickle.dump(kept, file)
            temporary.rename(options.state)

    losses = {"support": [], "relevance": []}
    begun, tokens, busy = time.time(), 0, time.process_time()
    since, kept_at = step, time.time()
    while True:
        # At the end, the rate is a twentieth.
        fraction = step / options.steps
        if end is not None:
            fraction = max(fraction, (time.time() - first) / (end - first))
        if fraction >= 1:
            break
        rate = options.rate * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * fraction))) * min(1, (step + 1) / 40)
        for group in optimizer.param_groups:
            group["lr"] = rate
        random = standard_random.Random(f"{options.seed}/{step}")
        kind = "support" if random.random() < SUPPORT_SHARE else "relevance"
        batch, labels = data.support_batch(random) if kind == "support" else data.relevance_batch(random)
        relevance, support = logits(base, adapter, *batch)
        loss = support_loss(support, labels) if kind == "support" else relevance_loss(relevance, labels)
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(adapter.values()), 1.0)
        optimizer.step()
        losses[kind].append(loss.item())
        tokens += batch[0].numel()
        step += 1
        if step % 25 == 0:
            mean = {name: sum(it[-50:]) / max(1, len(it[-50:])) for name, it in losses.items()}
            spent = time.time() - begun
            log(f"step {step} support {mean['support']:.3f} relevance {mean['relevance']:.3f} rate {rate:.2e} done {fraction:.3f} "
                f"{spent:.0f} s, {tokens / spent:.0f} tokens/s, {tokens / (time.process_time() - busy):.0f} tokens per CPU second")
        if step % 200 == 0 or time.time() - kept_at > 600:
            keep()
            kept_at = time.time()
        if step % 400 == 0:
            evaluate(data, base, adapter, log, f"step {step}")
    keep()
    log(f"ended at step {step}; adapter saved as {options.out}")
    evaluate(data, base, adapter, log, f"end {step}")


if __name__ == "__main__":
    main()
