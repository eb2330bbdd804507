#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Writes small safetensors files with tensors of a structure that some operator or coding is for.

    structured_tensors.py FOLDER SEED

One file holds one topic. Always the same files for a seed and a version of numpy.
"""

import json
import os
import struct
import sys

import numpy as np

TYPES = {"u1": "U8", "i1": "I8", "u2": "U16", "i2": "I16", "u4": "U32", "i4": "I32", "u8": "U64", "i8": "I64", "f2": "F16", "f4": "F32", "f8": "F64"}


def bf16(values):
    """Floats as BF16, cut off, in a type that stands for it."""
    return (np.asarray(values, "<f4").view("<u4") >> 16).astype("<u2"), "BF16"


def e4m3(values):
    """Floats as F8_E4M3, roughly rounded; what is too small is 0."""
    magnitude = np.clip(np.abs(values), 0, 448)
    exponent = np.floor(np.log2(np.maximum(magnitude, 2.0**-6)))
    mantissa = np.floor(magnitude / 2.0**exponent * 8) - 8
    code = np.where(magnitude < 2.0**-6, 0, (exponent + 7) * 8 + mantissa)
    return (code + np.where(np.signbit(values), 128, 0)).astype("u1"), "F8_E4M3"


def write(path, tensors):
    header, parts, at = {}, [], 0
    for name, tensor in tensors.items():
        array, dtype = tensor if isinstance(tensor, tuple) else (tensor, TYPES[tensor.dtype.str[1:]])
        part = array.tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [at, at + len(part)]}
        parts.append(part)
        at += len(part)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(parts))


def scaled(rng, rows, columns, by_row, by_column):
    """Normal values whose scale depends on row and column, over a few octaves each."""
    scale = np.exp2(rng.integers(0, by_row + 1, (rows, 1)) + rng.integers(0, by_column + 1, (1, columns)))
    return rng.normal(0, 0.01, (rows, columns)) * scale


def scales(rng):
    shapes = {"rows": (8, 0), "columns": (0, 8), "both": (6, 6), "neither": (0, 0)}
    for name, (by_row, by_column) in shapes.items():
        values = scaled(rng, 192, 160, by_row, by_column)
        yield f"{name}.bf16", bf16(values)
        yield f"{name}.f16", values.astype("<f2")
        yield f"{name}.f32", values.astype("<f4")
        yield f"{name}.f64", values[:64].astype("<f8")
        yield f"{name}.fp8", e4m3(values * 20)
        yield f"{name}.u8", np.clip(np.rint(values * 40 + 128), 0, 255).astype("u1")
        yield f"{name}.i8", np.clip(np.rint(values * 40), -128, 127).astype("i1")
    kernel = scaled(rng, 48, 48, 8, 4)
    yield "kernel", bf16(np.repeat(kernel[:, :, None], 9, 2).reshape(48, 48, 3, 3) * rng.normal(0, 1, (48, 48, 3, 3)))


def signs(rng):
    values = np.abs(rng.normal(0, 1, (256, 128))) * np.where(rng.random((256, 128)) < 0.04, -1, 1) * rng.choice((-1, 1), (1, 128))
    yield "columns.bf16", bf16(values)
    yield "columns.f16", values.astype("<f2")
    yield "columns.f32", values.astype("<f4")
    yield "columns.i8", np.clip(np.rint(values * 30), -128, 127).astype("i1")


def groups(rng):
    """4-bit weights in groups, each with a scale of its own: eight in an I32, two in a U8."""
    spread = np.repeat(rng.choice((0.6, 1.2, 2.5), (128, 4)), 64, 1)
    codes = np.clip(np.rint(rng.normal(0, 1, (128, 256)) * spread), -8, 7).astype("i4") + 8
    shifts = np.arange(0, 32, 4, dtype="u4")
    yield "packed.i32", (codes.astype("u4").reshape(128, -1, 8) << shifts).sum(2, dtype="u4").view("<i4")
    yield "packed.u8", (codes[:, 0::2] | codes[:, 1::2] << 4).astype("u1")
    yield "scales", spread[:, ::64].astype("<f2")


def zeros(rng):
    for name, share in (("few", 0.3), ("most", 0.85), ("nearly all", 0.998)):
        values = rng.normal(0, 0.05, (128, 256)) * (rng.random((128, 256)) >= share)
        yield f"{name}.bf16", bf16(values)
        yield f"{name}.f16", values.astype("<f2")
        yield f"{name}.f32", values.astype("<f4")
    yield "flags", (rng.random(5000) < 0.02).astype("u1")


def upcast(rng):
    values = rng.normal(0, 0.05, (128, 128))
    yield "from bf16", (np.asarray(values, "<f4").view("<u4") & np.uint32(0xFFFF0000)).view("<f4")
    yield "from f16", values.astype("<f2").astype("<f4")
    yield "from f32", values.astype("<f4").astype("<f8")
    yield "mostly from f16", np.where(rng.random((128, 128)) < 0.95, values.astype("<f2").astype("<f4"), values).astype("<f4")


def outliers(rng):
    narrow = 1000 + rng.integers(0, 7, 30000)
    wide = np.where(rng.random(30000) < 0.003, rng.integers(0, 60000, 30000), narrow)
    yield "u16", wide.astype("<u2")
    yield "u32", (wide * 65537).astype("<u4")
    yield "u64", (wide.astype("<u8") << np.uint64(40)) + np.uint64(12345)
    values = rng.normal(0, 0.02, 30000)
    values[rng.integers(0, 30000, 60)] *= 1e30
    yield "bf16", bf16(values)


def sequences(rng):
    yield "count", np.arange(40000, dtype="<i8")
    yield "steps", np.cumsum(rng.integers(1, 4, 20000)).astype("<i4")
    yield "walk", np.cumsum(rng.integers(-3, 4, 20000)).astype("<i2")
    yield "xor", np.bitwise_xor.accumulate(rng.integers(0, 5, 20000).astype("<u4") << np.uint32(13))
    yield "small of both signs", rng.integers(-5, 6, 20000).astype("<i4")
    yield "Gray", (lambda x: x ^ x >> 1)(np.cumsum(rng.integers(0, 3, 20000)).astype("<u2"))
    ordered = np.cumsum(rng.integers(0, 3, 256)).astype("u1")
    yield "reversed", np.array([int(f"{x:08b}"[::-1], 2) for x in ordered], "u1")
    yield "rotated", (lambda x: x << np.uint16(5) | x >> np.uint16(11))(rng.integers(0, 99, 20000).astype("<u2"))


def copies(rng):
    block = rng.normal(0, 1, 999)
    yield "repeated", bf16(np.tile(block, 17))
    yield "repeated.f64", np.tile(block, 16).astype("<f8")
    yield "constant", np.full(5000, 0.25, "<f4")
    yield "begins constant", np.concatenate([np.full(9000, 7, "<i4"), rng.integers(0, 2**31, 3000).astype("<i4")])
    yield "again", bf16(np.tile(block, 17))
    words = rng.choice([b"layer", b"weight", b"scale", b"token", b" of ", b".", b"model", b"attention"], 6000)
    yield "text", np.frombuffer(b"".join(words.tolist()), "u1")
    phrases = rng.integers(0, 2**32, (40, 25), dtype="u4")
    yield "phrases", phrases[rng.integers(0, 40, 500)].ravel()


def many(rng):
    """Tensors of a few distributions, so small that a table of their own is dear: they can share tables."""
    for i in range(600):
        yield f"layer.{i}", bf16(rng.normal(0, 0.3 if i % 3 == 0 else 0.02, 200))


def main():
    folder, seed = sys.argv[1], int(sys.argv[2])
    for number, topic in enumerate((scales, signs, groups, zeros, upcast, outliers, sequences, copies, many)):
        write(os.path.join(folder, topic.__name__ + ".safetensors"), dict(topic(np.random.default_rng((seed, number)))))


if __name__ == "__main__":
    main()
