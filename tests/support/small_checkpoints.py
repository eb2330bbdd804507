# SPDX-License-Identifier: Apache-2.0
"""Small checkpoints, some KB each, for tests in which only it matters that bytes come back.

    small_checkpoints.py DIR COUNT [SEED]

writes DIR/1 to DIR/COUNT: three BF16 tensors each, the same names and shapes in all of them. The
first tensor is the same in all, the others are each file's own.
"""
import json
import os
import random
import struct
import sys

ROWS, COLUMNS = 16, 40


def tensor(rng):
    """Words of a matrix of weights, whose columns differ in scale."""
    scales = [rng.uniform(0.01, 0.1) for _ in range(COLUMNS)]
    words = []
    for _ in range(ROWS):
        for scale in scales:
            (bits,) = struct.unpack("<I", struct.pack("<f", rng.gauss(0, scale)))
            words.append(bits >> 16)
    return struct.pack("<%dH" % len(words), *words)


def checkpoint(tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, content in tensors:
        header[name] = {
            "dtype": "BF16",
            "shape": [ROWS, COLUMNS],
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def main():
    directory, count = sys.argv[1], int(sys.argv[2])
    seed = sys.argv[3] if len(sys.argv) > 3 else "1"
    common = tensor(random.Random(seed))
    os.makedirs(directory, exist_ok=True)
    for number in range(1, count + 1):
        rng = random.Random("%s.%d" % (seed, number))
        names = ("layers.0.mlp.weight", "layers.1.mlp.weight")
        own = [(name, tensor(rng)) for name in names]
        with open(os.path.join(directory, str(number)), "wb") as file:
            file.write(checkpoint([("embed.weight", common)] + own))


main()
