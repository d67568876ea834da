"""Quantizes the weights of a BERT to 8 bits: one scale for each row of each matrix.

    python models/train/quantize.py IN/model.safetensors OUT/model.safetensors

Needs NumPy. Equal input gives equal bytes. Vectors stay floats; position ids and the pooler, which the mean over tokens does
not use, are left out.
"""

import json
import sys

import numpy as np


def read(path):
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        numbers = file.read()
    for name, row in header.items():
        if name != "__metadata__" and row["dtype"] == "F32":
            begin, end = row["data_offsets"]
            yield name, np.frombuffer(numbers[begin:end], "<f4").reshape(row["shape"])


def rounded(tensors):
    for name, values in tensors:
        if name.startswith("pooler."):
            continue
        if values.ndim != 2 or name.endswith("token_type_embeddings.weight"):
            yield name, values.astype("<f4")
            continue
        scale = np.abs(values).max(axis=1) / 127
        scale[scale == 0] = 1
        yield name, np.rint(values / scale[:, None]).astype(np.int8)
        yield name + ".scale", scale.astype("<f4")


def write(path, tensors):
    header, blobs, end = {}, [], 0
    for name, values in sorted(tensors, key=lambda row: (row[1].dtype == np.int8, row[0])):
        blob = values.tobytes()
        dtype = "I8" if values.dtype == np.int8 else "F32"
        header[name] = {"dtype": dtype, "shape": values.shape, "data_offsets": [end, end + len(blob)]}
        end += len(blob)
        blobs.append(blob)
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as file:
        file.write(len(head).to_bytes(8, "little") + head + b"".join(blobs))


if __name__ == "__main__":
    source, target = sys.argv[1:]
    write(target, rounded(read(source)))
