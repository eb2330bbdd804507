# SPDX-License-Identifier: Apache-2.0
"""The archives that handmade_archives.py writes, as they are collected: by name, the archive's bytes and what it restores, or the reason why it is refused."""

import random

from archive_builder import LANES, Node, archive, program, rans_payload, record, widen

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


def bad_payloads(name, lanes, tables, node, codebook=b""):
    """Breaks every rule of the payload of rANS, of words of 8 bits. Word i is coded with tables[i % len(tables)]; node(words, payload) makes the node."""
    few, many = [1, 2], [1, 2, 3, 1, 9, 2] * 120

    def payload(words, **kw):
        return rans_payload([(tables[i % len(tables)], word) for i, word in enumerate(words)], lanes, **kw)

    def broken(what, reason, words, data):
        bad(f"{name}-{what}-{lanes}", reason, node(words, data), codebook)
    broken("no-payload", "bit stream of a rANS payload ends too early", few, b"")
    broken("states-cut", "bit stream of a rANS payload ends too early", few, payload(few)[:-1])
    padded = next(few * i for i in range(1, 200) if payload(few * i, padding=1) != payload(few * i))
    broken("states-padding", "padding of the states", padded, payload(padded, padding=1))
    broken("half-unit", "half a unit", few, payload(few) + b"\0")
    broken("half-unit-cut", "half a unit", many, payload(many)[:-1])
    broken("unit-missing", "units end too early", many, payload(many)[:-2])
    broken("unit-left", "units are left over", many, payload(many) + b"\0\0")
    broken("unit-left-no-main-words", "units are left over", few, payload(few) + b"\0\0")
    last = LANES[lanes] - 1
    broken("final-state", "final state", many, payload(many, last={0: 256}))
    broken("final-state-last", "final state", many, payload(many, last={last: 256}))
    broken("final-state-no-tail", "final state", many, payload(many, tail=0, last={last: 1}))
    broken("final-state-few", "final state", few, payload(few, last={0: 256}))
    broken("final-state-idle", "final state", few, payload(few, last={last: 256 if lanes == 0 else 1}))  # only one lane is never idle
    broken("tail-longer", "longer than need be", few, payload(few, says_tail=-(-len(few) // LANES[lanes]) + 1))
    # Words of the tail that take units, main words that take none.
    for tail, said in ((0, 1), (0, 15), (1, 0), (1, 2)):
        broken(f"tail-{tail}-says-{said}", "rANS payload", many, payload(many, tail=tail, says_tail=said))


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
