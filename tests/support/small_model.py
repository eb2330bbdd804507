#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small safetensors files, or tells what one holds.

  small_model.py FILE WORD... [--pad N] [--field NAME]
  small_model.py --versions DIR COUNT [SEED]
  small_model.py --show FILE

The words are tensors of one dimension and metadata, written in the order given:
  NAME=SEED[:DTYPE[:COUNT]]      random data, 1,000 elements of F32 unless said otherwise; equal seeds make
                                 equal data
  NAME:DTYPE:NUMBER,NUMBER,...   these numbers; the name has no =
  @KEY=VALUE                     metadata
--pad adds N blanks to the header, --field an unknown field to the first tensor.
--versions writes DIR/1 to DIR/COUNT, for tests in which only it matters that bytes come back: three
BF16 tensors each, the same names and shapes in all of them. The first tensor is the same in all, the
others are each file's own.
--show prints the metadata and each tensor with a digest of its data, in the order of the data; it
fails if the file breaks a rule of the format.
"""
import hashlib
import json
import os
import random
import struct
import sys

SIZES = {"F64": 8, "F32": 4, "BF16": 2, "F16": 2, "U8": 1, "I8": 1, "BOOL": 1, "I32": 4, "I64": 8}
FORMATS = {"F64": "d", "F32": "f", "F16": "e", "U8": "B", "BOOL": "B", "I32": "i", "I64": "q"}
ROWS, COLUMNS = 16, 40  # of tensors of --versions


class Model:
    """A file in the making: header and data, in the order in which things are added."""

    def __init__(self):
        self.header, self.data = {}, b""

    def metadata(self, key, value):
        self.header.setdefault("__metadata__", {})[key] = value

    def tensor(self, name, dtype, shape, data):
        span = [len(self.data), len(self.data) + len(data)]
        self.header[name] = {"dtype": dtype, "shape": shape, "data_offsets": span}
        self.data += data

    def write(self, path, pad=0):
        text = json.dumps(self.header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8 + pad)
        with open(path, "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text + self.data)


def add_random(model, word):
    name, rest = word.rsplit("=", 1)
    given = rest.split(":")
    seed, dtype, count = given + ["F32", "1000"][len(given) - 1:]
    model.tensor(name, dtype, [int(count)], random.Random(seed).randbytes(SIZES[dtype] * int(count)))


def add_numbers(model, word):
    name, dtype, numbers = word.rsplit(":", 2)
    convert = float if dtype.startswith("F") else int
    values = [convert(n) for n in numbers.split(",") if n]
    model.tensor(name, dtype, [len(values)], struct.pack(f"<{len(values)}{FORMATS[dtype]}", *values))


def write(path, words):
    model, pad, field = Model(), 0, None
    words = iter(words)
    for word in words:
        if word == "--pad":
            pad = int(next(words))
        elif word == "--field":
            field = next(words)
        elif word.startswith("@"):
            model.metadata(*word[1:].split("=", 1))
        elif "=" in word:
            add_random(model, word)
        else:
            add_numbers(model, word)
    if field:
        next(value for key, value in model.header.items() if key != "__metadata__")[field] = 1
    model.write(path, pad)


def matrix(rng):
    """Words of a matrix of weights, whose columns differ in scale."""
    scales = [rng.uniform(0.01, 0.1) for _ in range(COLUMNS)]
    words = []
    for _ in range(ROWS):
        for scale in scales:
            (bits,) = struct.unpack("<I", struct.pack("<f", rng.gauss(0, scale)))
            words.append(bits >> 16)
    return struct.pack(f"<{len(words)}H", *words)


def write_versions(folder, count, seed="1"):
    os.makedirs(folder, exist_ok=True)
    common = matrix(random.Random(seed))
    for number in range(1, int(count) + 1):
        rng = random.Random(f"{seed}.{number}")
        model = Model()
        model.metadata("format", "pt")
        model.tensor("embed.weight", "BF16", [ROWS, COLUMNS], common)
        for name in ("layers.0.mlp.weight", "layers.1.mlp.weight"):
            model.tensor(name, "BF16", [ROWS, COLUMNS], matrix(rng))
        model.write(os.path.join(folder, str(number)))


def show(path):
    with open(path, "rb") as source:
        content = source.read()
    size = struct.unpack("<Q", content[:8])[0]
    assert size % 8 == 0, "the data is not aligned"
    header = json.loads(content[8:8 + size])
    data = content[8 + size:]
    for key, value in sorted(header.pop("__metadata__", {}).items()):
        print(f"@{key}={value}")
    at = 0
    for name, tensor in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = tensor["data_offsets"]
        assert begin == at, "tensors do not follow each other"
        at = end
        print(name, tensor["dtype"], tensor["shape"],
              hashlib.sha256(data[begin:end]).hexdigest()[:12])
    assert at == len(data), "the data is longer than the header says"


if sys.argv[1] == "--show":
    show(sys.argv[2])
elif sys.argv[1] == "--versions":
    write_versions(*sys.argv[2:])
else:
    write(sys.argv[1], sys.argv[2:])
