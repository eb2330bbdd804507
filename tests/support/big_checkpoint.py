#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a checkpoint of 1.5 GiB with one tensor of 1 GiB, in seconds and sparse where it is zero.

usage: big_checkpoint.py DEMO OUT
       big_checkpoint.py --zero GIB OUT

The second form writes a single tensor of so many GiB that takes no room on the disk.

A third of the big tensor repeats the weights of DEMO, a real checkpoint in BF16, with zeros in
between. Then come 256 MiB of zeros, and 256 MiB of zeros with islands of weights, both in F32.
"""
import json
import struct
import sys

MIB = 1 << 20
BIG = 1024 * MIB
HALF = 256 * MIB


def weights(path):
    """The data of a checkpoint, cut to whole KiB."""
    with open(path, "rb") as demo:
        content = demo.read()
    data = content[8 + struct.unpack("<Q", content[:8])[0]:]
    return data[:len(data) // 1024 * 1024]


TENSORS = (
    ("layers.0.big.weight", "BF16", [1 << 14, 1 << 15], BIG),
    ("layers.1.zero.weight", "F32", [1 << 12, 1 << 14], HALF),
    ("layers.2.sparse.weight", "F32", [1 << 12, 1 << 14], HALF),
)


def header(tensors):
    described, end = {}, 0
    for name, dtype, shape, size in tensors:
        described[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(described, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def write_zeros(gib, path):
    size = gib << 30
    with open(path, "wb") as out:
        out.write(header((("zero.weight", "BF16", [gib << 14, 1 << 15], size),)))
        out.truncate(out.tell() + size)


def main():
    if sys.argv[1] == "--zero":
        write_zeros(int(sys.argv[2]), sys.argv[3])
        return
    tile = weights(sys.argv[1])
    tiles = tile * (24 * MIB // len(tile) + 2)
    with open(sys.argv[2], "wb") as out:
        out.write(header(TENSORS))
        start = out.tell()
        for block, begin in enumerate(range(start, start + BIG, 64 * MIB)):
            out.seek(begin)
            # Each block begins elsewhere in the weights, so that none repeats another one.
            out.write(tiles[block * 4096:block * 4096 + 24 * MIB])
        for island in range(16):
            out.seek(start + BIG + HALF + island * 16 * MIB)
            out.write(tile)
        out.truncate(start + BIG + 2 * HALF)


if __name__ == "__main__":
    main()
