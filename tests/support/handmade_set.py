# SPDX-License-Identifier: Apache-2.0
"""The archives that handmade_archives.py writes, as they are collected: by name, the archive's bytes and what it restores, or the reason why it is refused."""

import random

from archive_builder import Node, archive, program, record, widen

rng = random.Random(7)

GOOD, BAD = {}, {}


def add(to, name, value):
    assert name not in to, name
    to[name] = value


def good(name, node, codebook=b""):
    node = widen(node)
    assert node.nodes <= 64, name
    add(GOOD, name, archive([program(node)], codebook))


def bad(name, reason, node, codebook=b""):
    add(BAD, name, (archive([program(widen(node))], codebook)[0], reason))


def bad_file(name, reason, pieces, **kw):
    add(BAD, name, (archive(pieces, **kw)[0], reason))


def some(b, n):
    return [rng.getrandbits(b) for _ in range(n)]


def skewed(b, n, spread=0.25):
    middle = rng.getrandbits(b)
    return [(middle + int(rng.gauss(0, 1) * max(1, 2**b * spread / 8))) % 2**b for _ in range(n)]


def text_record(data=b"plain bytes"):
    return record(0, data, b"\0" + data)


def patched(node, at, value):
    """The node with other bytes at that place."""
    return Node(node.b, node.words, node.code[:at] + bytes(value) + node.code[at + len(value):])
