#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a small safetensors file, or tells what one holds.

  small_model.py FILE NAME=SEED[:DTYPE[:COUNT]]... [@KEY=VALUE]... [--pad N] [--field NAME]
  small_model.py --show FILE

Tensors are written in the order given, 1,000 elements of F32 each unless said otherwise; equal seeds
make equal data. @ adds metadata. --pad adds N blanks to the header, --field an unknown field to the
first tensor.
--show prints the metadata and each tensor with a digest of its data, in the order of the data; it
fails if the file breaks a rule of the format.
"""
import hashlib
import json
import random
import struct
import sys

SIZES = {"F32": 4, "BF16": 2, "F16": 2, "U8": 1, "I8": 1, "F64": 8, "I64": 8}


def write(path, words):
    header, data, pad, field = {}, b"", 0, None
    words = iter(words)
    for word in words:
        if word == "--pad":
            pad = int(next(words))
        elif word == "--field":
            field = next(words)
        elif word.startswith("@"):
            key, value = word[1:].split("=", 1)
            header.setdefault("__metadata__", {})[key] = value
        else:
            name, rest = word.rsplit("=", 1)
            given = rest.split(":")
            seed, dtype, count = given + ["F32", "1000"][len(given) - 1:]
            size = SIZES[dtype] * int(count)
            header[name] = {"dtype": dtype, "shape": [int(count)],
                            "data_offsets": [len(data), len(data) + size]}
            data += random.Random(seed).randbytes(size)
    if field:
        next(value for key, value in header.items() if key != "__metadata__")[field] = 1
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8 + pad)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data)


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
else:
    write(sys.argv[1], sys.argv[2:])
