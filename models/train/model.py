"""BERT (all-MiniLM-L6-v2) with a LoRA adapter and two heads, in JAX.

The base weights are those that Ibid runs: 8 bits with one scale a row. They stay as they are; what is learned is an adapter
(Hu and others 2021) for the linear maps, the LayerNorms, the embedding of the token type, and the heads.
"""
import math
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load_file, save_file

LAYERS = 6
HEADS = 12
EPSILON = 1e-12
# Names of the linear maps of a layer.
LINEAR = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
NORMS = ("attention.output.LayerNorm", "output.LayerNorm")


def load_base(directory):
    """The weights as 32-bit floats."""
    raw = load_file(pathlib.Path(directory) / "model.safetensors")
    base = {}
    for name, value in raw.items():
        if name.endswith(".scale") or name.endswith("_scale"):
            continue
        scale = raw.get(name + "_scale", raw.get(name + ".scale"))
        base[name] = value.astype(np.float32) * (1.0 if scale is None else scale.astype(np.float32).reshape(-1, 1))
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
                adapter[name] = base[name].copy()
    for name in ("embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias", "embeddings.token_type_embeddings.weight"):
        adapter[name] = base[name].copy()
    for head, outputs in (("relevance", 1), ("support", 3)):
        adapter[head + ".weight"] = random.normal(0, 0.02, (outputs, 384)).astype(np.float32)
        adapter[head + ".bias"] = np.zeros(outputs, np.float32)
    return adapter


def layer_norm(x, weight, bias):
    mean = x.mean(-1, keepdims=True)
    centred = x - mean
    return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + EPSILON) * weight + bias


def linear(x, name, base, adapter, scale):
    plain = x @ base[name + ".weight"].T + base[name + ".bias"]
    a = adapter.get(name + ".lora_A")
    return plain if a is None else plain + ((x @ a.T) @ adapter[name + ".lora_B"].T) * scale


def encode(base, adapter, ids, types, mask, scale):
    """The mean of the last layer over all tokens that are not padding: [batch, 384]."""
    batch, length = ids.shape
    x = base["embeddings.word_embeddings.weight"][ids]
    x = x + base["embeddings.position_embeddings.weight"][:length][None]
    x = x + adapter["embeddings.token_type_embeddings.weight"][types]
    x = layer_norm(x, adapter["embeddings.LayerNorm.weight"], adapter["embeddings.LayerNorm.bias"])
    penalty = (1.0 - mask)[:, None, None, :] * -1e9
    width = x.shape[-1] // HEADS
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        split = lambda it: it.reshape(batch, length, HEADS, width).transpose(0, 2, 1, 3)
        query, key, value = (split(linear(x, f"{at}attention.self.{it}", base, adapter, scale)) for it in ("query", "key", "value"))
        weights = jax.nn.softmax(query @ key.transpose(0, 1, 3, 2) / math.sqrt(width) + penalty, axis=-1)
        attended = (weights @ value).transpose(0, 2, 1, 3).reshape(batch, length, -1)
        attended = linear(attended, at + "attention.output.dense", base, adapter, scale)
        x = layer_norm(x + attended, adapter[at + "attention.output.LayerNorm.weight"], adapter[at + "attention.output.LayerNorm.bias"])
        inner = jax.nn.gelu(linear(x, at + "intermediate.dense", base, adapter, scale), approximate=True)
        x = layer_norm(x + linear(inner, at + "output.dense", base, adapter, scale), adapter[at + "output.LayerNorm.weight"], adapter[at + "output.LayerNorm.bias"])
    return (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)


def logits(base, adapter, ids, types, mask, scale):
    """Relevance [batch] and support [batch, 3]."""
    mean = encode(base, adapter, ids, types, mask, scale)
    relevance = mean @ adapter["relevance.weight"].T + adapter["relevance.bias"]
    support = mean @ adapter["support.weight"].T + adapter["support.bias"]
    return relevance[:, 0], support


def save_adapter(adapter, scale, path):
    """In 16 bits, with the scale multiplied into B."""
    out = {}
    for name, value in adapter.items():
        value = np.asarray(value)
        out[name] = np.ascontiguousarray((value * scale if name.endswith(".lora_B") else value).astype(np.float16))
    save_file(out, path)
