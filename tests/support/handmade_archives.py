#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small archives made by hand after docs/FORMAT.md, every kind of thing that the page allows and every rule of it broken once.

    handmade_archives.py FOLDER

FOLDER/good/NAME.brevis restores FOLDER/good/NAME; FOLDER/bad/NAME.brevis must be refused, and FOLDER/bad/NAME holds a regular expression that the reference
decoder's reason matches. Always the same files: nothing is random but for a fixed seed.
"""

import lzma
import os
import random
import sys

import zstandard

from archive_builder import (
    Bits, END, Node, Table, archive, codebook_of, concat, const, escape, escape_of, flip, huffman, huffman_table, joined, lit, lit_code, lzma2,
    lzma2_stream, mapped, merge, op, pack, packed, per_word, planes, program, rans, raw, record, repeat, route, route_of, scan, shared, sized, u,
    varint, widen, xxh3, zstd)

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


# ---- Good ones ----

def make_good():
    text = b"some text that is repeated, some text that is repeated, " * 30
    frame = zstandard.compress(text)
    add(GOOD, "empty", archive([]))
    add(GOOD, "empty-codebook", archive([], codebook_of([Table(8, [1, 2, 2])])))
    add(GOOD, "bytes-raw", archive([text_record()]))
    add(GOOD, "bytes-zstd", archive([record(0, text, b"\1" + frame)]))
    add(GOOD, "bytes-zstd-checksum-no-size", archive([record(0, text, b"\1" + zstandard.ZstdCompressor(write_checksum=True, write_content_size=False).compress(text))]))
    # A frame by hand: window descriptor for 16 MiB, then one raw block that is the last.
    add(GOOD, "bytes-zstd-window-16M", archive([record(0, b"abc", b"\1" + bytes.fromhex("28B52FFD") + b"\x00" + u(14 << 3, 1) + u(3 << 3 | 1, 3) + b"abc")]))
    add(GOOD, "bytes-lzma2", archive([record(0, text, b"\2" + lzma2_stream(text))]))
    add(GOOD, "bytes-lzma2-stored", archive([record(0, b"abc", b"\2\1" + b"\0\2abc" + b"\0")]))
    for layout in range(3):
        add(GOOD, f"layout-{layout}", archive([text_record(), program(lit(16, [1, 2, 3])), 0, 1, text_record(b"x"), 2, 0], layout=layout, prior=bytes(range(32)) * (layout != 1)))
    for b in (8, 16, 32, 64):
        for name, coding in (("raw", raw), ("packed", packed), ("zstd", zstd), ("lzma2", lzma2)):
            good(f"lit-{name}-{b}", lit(b, some(b, 33), coding))
            good(f"lit-{name}-{b}-1", lit(b, some(b, 1), coding))
    for b in range(1, 64):
        coding = (raw, packed, zstd, lzma2)[b % 4]
        good(f"width-{b}", planes(0, 64, [64 - b, b], some(64, 5), coding))
    for b in (3, 12, 20, 24, 40, 48, 56):
        for name, coding in (("raw", raw), ("zstd", zstd), ("lzma2", lzma2)):
            good(f"odd-{name}-{b}", lit(b, some(b, 9) + [2**b - 1], coding))

    # Packed
    for b in (1, 7, 8, 16, 63, 64):
        good(f"packed-0-{b}", lit(b, [2**b - 1] * 5, packed))
        good(f"packed-all-{b}", lit(b, some(b, 5), lambda w, x: packed(w, x, 0, w)))
    good("packed-base", lit(16, [300 + x for x in some(5, 77)], packed))

    # Huffman
    for b in (1, 2, 5, 8, 11, 12):
        good(f"huffman-{b}", lit(b, skewed(b, 700), huffman))
        good(f"huffman-flat-{b}", lit(b, [x % 2**b for x in range(2**b)] * 2, huffman))
    for longest in range(1, 16):
        lengths = {s: min(s + 1, longest) for s in range(longest + 1)}
        words = [rng.randrange(longest + 1) for _ in range(max(1, 2**longest // 32))]
        good(f"huffman-longest-{longest}", lit(8, words, lambda w, x, l=lengths: huffman(w, x, l)))
    lengths = dict(zip((3, 900, 901, 902, 2000, 4095), (1, 5, 5, 4, 3, 2)))  # long runs of level 0 and steps of more than 1
    good("huffman-gaps", lit(12, [rng.choice(list(lengths)) for _ in range(50)], lambda w, x: huffman(w, x, lengths)))

    # rANS
    for scale in range(8, 15):
        for precision in (0, 3, 7):
            for lanes in range(3):
                words = skewed(8, 2**scale // 2 + 1 if scale > 8 else 40)
                good(f"rans-{scale}-{precision}-{lanes}", lit(8, words, lambda w, x: rans(w, x, scale, precision, lanes)))
    for precision in range(8):
        good(f"rans-precision-{precision}", lit(8, skewed(8, 3000), lambda w, x: rans(w, x, 12, precision)))
    for b in (1, 2, 3, 7, 9, 12):
        good(f"rans-width-{b}", lit(b, skewed(b, 600, 0.1), lambda w, x: rans(w, x, 10, 4, 1)))
        good(f"rans-few-{b}", lit(b, skewed(b, 3, 0.1), lambda w, x: rans(w, x, 8, 4, 2)))
    gaps = {5: 3, 6: 9, 60: 100, 61: 1, 255: 143}
    words = [rng.choice(list(gaps)) for _ in range(90)]
    for rest in gaps:  # runs of level 0 on both sides of the symbol that is not listed, or beginning or ending with it
        good(f"rans-rest-{rest}", lit(8, words, lambda w, x: rans(w, x, table=Table(w, None, 8, 7, gaps, rest))))
    alone = {0: 1, 100: 254, 200: 1}
    good("rans-rest-in-run", lit(8, [0, 100, 200], lambda w, x: rans(w, x, table=Table(w, None, 8, 0, alone, 100))))
    good("rans-1-of-everything", lit(8, list(range(256)), lambda w, x: rans(w, x, table=Table(w, None, 8, 0, dict.fromkeys(range(256), 1), 255))))
    good("rans-4096", lit(12, list(range(4096)) * 2, lambda w, x: rans(w, x, 14, 0, 2)))

    # Shared
    tables = [Table(8, skewed(8, 1000) + [0], 11, 5), Table(5, skewed(5, 100), 8, 0), Table(12, skewed(12, 4000), 14, 7), Table(1, [0, 0, 1], 9)]
    book = codebook_of(tables)
    for number, table in enumerate(tables):
        for lanes in range(3):
            words = rng.choices(list(table.frequencies), k=2**table.scale // 2 + 3)
            good(f"shared-{number}-{lanes}", lit(table.width, words, shared(tables, number, lanes)), book)
    many = [Table(1 + i % 12, skewed(1 + i % 12, 100), 8 + i % 7, i % 8) for i in range(64)]
    good("shared-63", concat(*(lit(4, rng.choices(list(many[i].frequencies), k=20000), shared(many, i, i % 3)) for i in (3, 15, 51, 63))), codebook_of(many))

    # Simple nodes
    for b in (1, 7, 8, 13, 16, 32, 63, 64):
        good(f"const-{b}", const(b, 3, 2**b - 1))
        good(f"const-zero-{b}", const(b, 1, 0))
        for f in (0, 1):
            good(f"scan-{f}-{b}", scan(lit(b, some(b, 30)), f, rng.getrandbits(b)))
            good(f"scan-2-words-{f}-{b}", scan(lit(b, some(b, 1)), f, 2**b - 1))
    for k in (2, 3, 16, 17, 18, 63):
        good(f"concat-{k}", concat(*(lit(8, some(8, 1 + i % 3)) if i % 2 else const(8, 2, i) for i in range(k))))
    for k in (2, 16, 17, 300, 40000):
        good(f"repeat-{k}", repeat(lit(16, some(16, 3)), k))
    good("repeat-13", repeat(lit(13, some(13, 3)), 5))
    for b in (1, 2, 3, 7, 8, 13, 16, 31, 32, 33, 63, 64):
        edge = sorted({0, 1, 2**b - 1, 2**(b - 1), 2**(b - 1) - 1, (2**(b - 1) + 1) % 2**b} | set(some(b, 12)))
        for f in range(8):
            for c in {0: [1, 2**b - 1], 1: [1, 2**b - 1, 2**(b - 1) + 1], 7: [1, b - 1, b // 2]}.get(f, [None]):
                if b == 1 and f or f == 1 and (c == 2**(b - 1) or c >= 2**b) or f == 7 and not 1 <= c < b:
                    continue
                name = f"map-{f}-{b}" + (f"-{c}" if c is not None else "")
                if name not in GOOD:
                    good(name, mapped(lit(b, edge), f, c))
    for f, g in ((2, 3), (4, 5), (5, 4), (3, 2), (6, 6)):
        node = mapped(mapped(lit(16, list(range(0, 65536, 77))), f), g)
        assert node.words == list(range(0, 65536, 77))
        good(f"map-inverse-{f}-{g}", node)

    # Merge
    for widths in ([1, 7], [3, 5], [7, 1], [4, 4], [2, 3, 3], [1, 1, 6], [5, 11], [8, 7, 1], [1, 6, 9], [1, 15], [3, 29], [8, 24], [16, 16], [1, 62, 1], [32, 32],
                   [7, 8, 9, 40], [1, 9, 54], [8, 8, 16], [24, 8]):
        b = sum(widths)
        good("merge-0-" + "-".join(map(str, widths)), planes(0, b, widths, some(b, 9)))
    for b in (2, 3, 8, 16, 32):
        good(f"merge-1-{b}", planes(1, b, [1] * b, some(b, 9)))
    for b in (16, 24, 32, 40, 48, 56, 64):
        good(f"merge-2-{b}", planes(2, b, [8] * (b // 8), some(b, 9)))
    for form, e, all_b in ((3, 8, (10, 16, 32, 64)), (4, 5, (7, 8, 16, 32)), (5, 11, (13, 16, 32, 64)), (6, 4, (6, 8, 16, 64))):
        for b in all_b:
            good(f"merge-{form}-{b}", planes(form, b, [1, e, b - 1 - e], some(b, 9)))

    # Route
    w = some(16, 60)
    good("route-rows", route_of(w, 16, 10, 1, row=[0, 1, 0, 2, 1, 1]))
    good("route-rows-inner", route_of(w, 16, 5, 2, row=[0, 1, 0, 2, 1, 1]))
    good("route-rows-1-column", route_of(w, 16, 1, 1, row=[rng.randrange(4) for _ in range(56)] + [0, 1, 2, 3]))
    good("route-columns", route_of(w, 16, 6, 1, column=[1, 0, 0, 2, 1, 1]))
    good("route-columns-inner", route_of(w, 16, 6, 5, column=[1, 0, 0, 2, 1, 1]))
    good("route-columns-1-row", route_of(w, 16, 60, 1, column=[i % 32 for i in range(60)]))
    good("route-both", route_of(w, 16, 6, 1, row=[0, 1] * 5, column=[0, 1, 2, 0, 1, 2], table=[0, 1, 2, 3, 4, 5]))
    good("route-both-inner", route_of(w, 16, 5, 3, row=[0, 2, 1, 0], column=[0, 1, 1, 0, 0], table=[0, 1, 1, 2, 2, 0]))
    good("route-both-2", route_of(w, 16, 5, 2, row=[3, 0, 2, 1, 0, 0], column=[0, 1, 2, 1, 0], table=[0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1]))
    good("route-32", route_of(some(8, 32 * 33), 8, 33, 1, row=[31 - i for i in range(32)], column=[i % 32 for i in range(33)], table=[i * 5 % 32 for i in range(1024)],
                             codings=(packed, rans, huffman)))
    for name, coding in (("packed", packed), ("huffman", huffman), ("rans", rans), ("zstd", zstd), ("lzma2", lzma2)):
        good(f"route-classes-{name}", route_of(w, 16, 6, 1, row=[0, 1, 2, 0, 1, 2, 0, 0, 0, 0], column=[0, 1, 0, 1, 1, 0], table=[0, 2, 1, 2, 1, 0], codings=(coding,) * 3))
    bits = [Table(1, [0, 1], 8), Table(2, [0, 1, 2, 2], 8)]
    good("route-classes-shared", route_of(w, 16, 6, 1, row=[0, 1, 2, 0, 1, 2, 0, 0, 0, 0], column=[0, 1, 0, 1, 1, 0], table=[0, 2, 1, 2, 1, 0],
                                          codings=(shared(bits, 1), shared(bits, 0), shared(bits, 1))), codebook_of(bits))
    good("route-13-bit", route_of(some(13, 20), 13, 5, 1, column=[0, 1, 1, 0, 1]))

    # Escape
    words = [1000 + rng.randrange(7) for _ in range(50)]
    good("escape", escape_of(words[:20] + [5, 65535, 0] + words[20:], 16, 3, 1000))
    good("escape-none", escape_of(words, 16, 3, 1000))
    good("escape-none-top", escape(16, 1000, lit(3, [0, 7, 7, 1])))
    good("escape-all", escape_of([1, 2, 3], 16, 5, 9000))
    good("escape-same-width", escape(8, 0, lit(8, [0, 255, 7])))
    good("escape-same-width-escaped", escape(8, 0, lit(8, [0, 255, 7, 255]), lit(8, [1, 255])))
    good("escape-1-bit", escape(8, 254, lit(1, [0, 1, 0, 1])))
    good("escape-1-bit-escaped", escape(64, 2**64 - 2, lit(1, [0, 1, 0, 1]), lit(64, [0, 5])))
    good("escape-1-in-1", escape(1, 0, lit(1, [0, 1, 1]), lit(1, [0, 1])))
    good("escape-of-base", escape_of([40, 41, 7, 39, 55], 8, 4, 40))  # an escaped word may be one that has a code
    good("escape-codable", escape(8, 40, lit(2, [3, 3, 0]), lit(8, [41, 43])))
    good("escape-63", escape_of(some(64, 9), 64, 63, 1))
    good("escape-rans", escape_of(skewed(16, 200, 0.01), 16, 6, 1, rans))

    # Pack
    for b, k in ((8, 2), (8, 4), (8, 8), (16, 2), (16, 16), (32, 4), (64, 2), (64, 8), (64, 64), (64, 32), (12, 3), (15, 5), (2, 2), (63, 7)):
        good(f"pack-{b}-{k}", pack(lit(b // k, some(b // k, 7 * k)), k))

    # Flip
    for b in (1, 5, 8, 16, 32, 64):
        good(f"flip-{b}", flip(lit(b, some(b, 24)), 4, 1, [0, 1, 1, 0]))
        good(f"flip-inner-{b}", flip(lit(b, some(b, 24)), 4, 3, [1, 0, 1, 1], packed))
    good("flip-1-column", flip(lit(8, some(8, 24)), 1, 5 - 1, [1]))
    good("flip-1-row", flip(lit(8, some(8, 24)), 24, 1, [i % 3 & 1 for i in range(24)], zstd))

    # Deep and mixed
    node = lit(8, some(8, 12))
    for step in (lambda n: flip(n, 3, 2, [1, 0, 1]), lambda n: mapped(n, 2), lambda n: repeat(n, 3), lambda n: scan(n, 1, 9), lambda n: concat(n, const(8, 3, 4))):
        node = step(node)
    good("deep", node)
    words = [rng.choice((0x3F80, 0xBF81, 0x4000, 0x0001)) + rng.randrange(60) for _ in range(96)]
    inner = planes(0, 8, [3, 5], some(8, 48), packed)
    node = merge(3, lit(1, some(1, 96), packed), route(96, 8, 2, [escape_of([7 + x for x in some(3, 48)], 8, 2, 7, packed), mapped(inner, 4)], row=[0, 1, 1, 0, 1, 0]),
                 pack(mapped(const(1, 7 * 96, 0), 0, 1), 7))
    good("deep-2", flip(node, 16, 3, [0, 1] * 8))
    node = escape(16, 500, pack(merge(0, lit(1, some(1, 24)), const(2, 24, 3), scan(lit(3, some(3, 23), zstd), 0, 5)), 2))
    good("deep-3", flip(node, 2, 3, [1, 0]))
    node = planes(4, 8, [1, 5, 2], some(8, 40), huffman)
    for step in (lambda n: mapped(n, 6), lambda n: pack(n, 4), lambda n: route(20, 5, 2, [n, lit(32, some(32, 10), lzma2)], row=[1, 0]), lambda n: scan(n, 0, 2**32 - 1)):
        node = step(node)
    good("deep-4", node)


# ---- Broken ones ----

def make_bad():
    text = b"some text that is repeated, some text that is repeated, " * 30
    frame = zstandard.compress(text)
    ok = lit(8, [1, 2, 3])

    # Head
    bad_file("head-magic", "not a brevis", [], magic=b"\x89BREVIS\r")
    bad_file("head-version", "unknown version 2", [], version=2)
    bad_file("head-version-0", "unknown version 0", [], version=0)
    bad_file("head-feature", "unknown features: 'new'", [], features=[b"new"])
    bad_file("codebook-too-large", "codebook is too large", [], codebook=bytes(65537))
    bad_file("codebook-varint", "not the shortest", [], codebook_size=b"\x80\0")
    table = Table(8, [1, 2, 2, 5], 9, 3)
    t = table.shared()
    bad_file("codebook-no-tables", "number of tables", [], codebook=b"\0")
    bad_file("codebook-65-tables", "number of tables", [], codebook=u(65, 1) + t * 65)
    bad_file("codebook-more", "follows the tables", [], codebook=u(1, 1) + t + b"\0")
    bad_file("codebook-short", "ends too early", [], codebook=u(2, 1) + t)
    bad_file("codebook-cut", "ends too early", [], codebook=u(1, 1) + t[:-1])
    bad_file("codebook-width-0", "width of a table", [], codebook=u(1, 1) + b"\0" + t[1:])
    bad_file("codebook-width-13", "width of a table", [], codebook=u(1, 1) + u(13, 1) + t[1:])
    bad_file("codebook-lanes", "with lanes", [], codebook=u(1, 1) + t[:1] + u(t[1] | 8, 1) + t[2:])
    bad_file("codebook-scale", "sum of the frequencies", [], codebook=u(1, 1) + t[:1] + u(t[1] | 7, 1) + t[2:])
    padded = Table(8, [1, 2, 2], 8, 3)
    assert len(padded.stream()) and padded.stream(1) != padded.stream()
    bad_file("codebook-padding", "padding", [], codebook=u(1, 1) + u(8, 1) + padded.parameters() + padded.stream(1))

    # Index and tail
    one = text_record()
    bad_file("tail-end-mark", "end mark", [one], end=END[::-1])
    bad_file("tail-checksum", "wrong checksum of head", [one], check=1)
    bad_file("tail-index-size", "index is larger", [one], index_size=10**6)
    bad_file("tail-index-size-max", "index is larger", [one], index_size=2**64 - 1)
    bad_file("tail-size", "do not sum to original_size", [one], size=10)
    bad_file("tail-sha", "wrong SHA-256", [one], sha=bytes(32))
    bad_file("index-layout", "unknown layout 3", [one], layout=3)
    bad_file("index-prior", "size of the prior", [one], prior=bytes(31))
    bad_file("index-prior-64", "size of the prior", [one], prior=bytes(64))
    bad_file("index-more", "follows the entries", [one], index_more=b"\0")
    bad_file("index-short", "ends too early", [one], count=2)
    bad_file("index-entry-varint", "not the shortest", [one], entries=u(2 * len(one[0]) | 128, 1) + b"\0")
    bad_file("index-pieces", "too many pieces", [one], count=4194305)
    bad_file("index-forward", "no earlier piece", [one, 1, text_record(b"x")])
    bad_file("index-self", "no earlier piece", [0, one])
    bad_file("index-record-large", "too large", [one], entries=varint(2 * 16777249))
    bad_file("index-record-beyond", "reaches into the index", [one], entries=varint(2 * 1000))
    bad_file("index-gap", "between the records and the index", [one], gap=b"\0")
    bad_file("index-record-short", "ends too early", [one], entries=varint(2 * 5))
    bad_file("index-record-0", "ends too early", [one, text_record()], entries=varint(0) + varint(2 * len(one[0])))
    bad_file("records-without-pieces", "between the records and the index", [], gap=one[0])
    add(BAD, "too-short", (archive([])[0][20:], "not a brevis"))
    add(BAD, "only-head", (archive([])[0][:40], "too short"))
    add(BAD, "nothing", (b"", "not a brevis"))

    # Records
    bad_file("kind", "unknown kind 2", [record(2, b"a", b"\0a")])
    bad_file("kind-24", "unknown kind 24", [record(24, b"abc", lit_code(24, [1]))])
    bad_file("kind-128", "unknown kind 128", [record(128, bytes(16), op(2) + b"\0")])
    bad_file("raw-size-0", "raw_size", [record(0, b"", b"\0")])
    bad_file("raw-size-large", "raw_size", [record(8, b"", op(2) + b"\0", raw_size=16777217)])
    bad_file("raw-size-multiple", "multiple", [record(16, b"abc", op(2) + b"\0")])
    bad_file("raw-size-varint", "shortest", [(b"\0\x81\0" + u(xxh3(b"a"), 8) + b"\0a", b"a")])
    bad_file("varint-65-bits", "exceeds 64 bits", [(b"\0" + b"\xFF" * 9 + b"\x02" + u(xxh3(b"a"), 8) + b"\0a", b"a")])
    bad_file("varint-11-bytes", "64 bits", [(b"\0" + b"\x81" + b"\x80" * 9 + b"\x01" + u(xxh3(b"a"), 8) + b"\0a", b"a")])
    bad_file("checksum", "wrong checksum", [record(0, b"abc", b"\0abc", checksum=5)])
    bad_file("bytes-coding", "unknown coding 3", [record(0, b"abc", b"\3abc")])
    bad_file("bytes-no-coding", "ends too early", [record(0, b"abc", b"")])
    bad_file("bytes-raw-short", "fewer or more", [record(0, b"abc", b"\0ab")])
    bad_file("bytes-raw-long", "fewer or more", [record(0, b"abc", b"\0abcd")])
    bad_file("zstd-more", "follows the Zstandard", [record(0, text, b"\1" + frame + b"\0")])
    bad_file("zstd-two", "follows the Zstandard", [record(0, text, b"\1" + zstandard.compress(text[:9]) + zstandard.compress(text[9:]))])
    bad_file("zstd-cut", "ends too early|damaged", [record(0, text, b"\1" + frame[:-1])])
    bad_file("zstd-short", "fewer or more", [record(0, text + b"x", b"\1" + frame)])
    bad_file("zstd-long", "fewer or more", [record(0, text[:-1], b"\1" + frame)])
    bad_file("zstd-skippable", "not a Zstandard", [record(0, text, b"\1" + bytes.fromhex("502A4D18") + u(1, 4) + b"a" + frame)])
    bad_file("zstd-skippable-behind", "follows the Zstandard", [record(0, text, b"\1" + frame + bytes.fromhex("502A4D18") + u(1, 4) + b"a")])
    bad_file("zstd-empty", "not a Zstandard", [record(0, text, b"\1")])
    block = u(3 << 3 | 1, 3) + b"abc"
    bad_file("zstd-window", "window", [record(0, b"abc", b"\1" + bytes.fromhex("28B52FFD") + b"\x00" + u(14 << 3 | 1, 1) + block)])
    bad_file("zstd-window-sized", "window", [record(0, b"abc", b"\1" + bytes.fromhex("28B52FFD") + b"\x40" + u(15 << 3, 1) + u(0, 2) + block)])
    bad_file("zstd-dictionary", "dictionary", [record(0, b"abc", b"\1" + bytes.fromhex("28B52FFD") + b"\x01" + u(0, 1) + u(9, 1) + block)])
    bad_file("zstd-checksum", "damaged", [record(0, text, b"\1" + zstandard.ZstdCompressor(write_checksum=True).compress(text)[:-4] + b"abcd")])
    stream = lzma2_stream(text)
    bad_file("lzma2-more", "follows the LZMA2", [record(0, text, b"\2" + stream + b"\0")])
    bad_file("lzma2-no-end", "ends too early", [record(0, text, b"\2" + stream[:-1])])
    bad_file("lzma2-cut", "ends too early|damaged", [record(0, text, b"\2" + stream[:-9])])
    bad_file("lzma2-short", "fewer or more", [record(0, text + b"x", b"\2" + stream)])
    bad_file("lzma2-long", "fewer or more", [record(0, text[:-1], b"\2" + stream)])
    bad_file("lzma2-xz", "damaged|ends", [record(0, text, b"\2" + lzma.compress(text))])
    bad_file("lzma2-no-reset", "damaged", [record(0, b"abc", b"\2\2" + b"\0\2abc" + b"\0")])
    bad_file("lzma2-empty", "ends too early", [record(0, text, b"\2")])
    bad_file("lzma2-only-end", "fewer or more", [record(0, b"abc", b"\2\0")])
    bad_file("program-more", "follows the program", [program(ok, b"\0")])
    bad_file("program-empty", "ends too early", [record(8, b"abc", b"")])

    # Nodes
    for number in (0, 12, 13, 14, 15):
        bad(f"op-{number}", f"unknown op {number}", Node(8, [1], op(number) + b"\0" * 9))
    for node in (const(8, 3, 1), mapped(ok, 0, 1), scan(ok, 0, 1), route_of([1, 2], 8, 2, 1, column=[0, 1]), escape(8, 0, lit(8, [1])), pack(lit(4, [1, 2]), 2), flip(ok, 3, 1, [0, 1, 0])):
        for s in (1, 15):
            bad(f"small-number-{node.code[0]}-{s}", f"op {node.code[0]} with the small number {s}", Node(8, node.words, u(node.code[0] | s << 4, 1) + node.code[1:]))
    for s in (7, 8, 15):
        bad(f"coding-{s}", f"unknown coding {s}", Node(8, [1], op(1, s) + b"\1\1"))
    bad("const-value", "const", Node(8, [0], op(2) + varint(256)))
    bad("const-value-3", "const", Node(3, [0], op(2) + varint(8)))
    bad("const-varint", "shortest", Node(8, [1], op(2) + b"\x81\0"))
    bad("concat-empty", "empty child", Node(8, [1, 2], op(3) + varint(0) + lit_code(8, []) + lit_code(8, [1, 2])))
    bad("concat-empty-last", "too long", Node(8, [1, 2], op(3) + varint(2) + lit_code(8, [1, 2]) + lit_code(8, [])))
    bad("concat-too-long", "too long", Node(8, [1, 2], op(3) + varint(3) + lit_code(8, [1, 2, 3]) + lit_code(8, [])))
    bad("concat-overflow", "too long", Node(8, [1, 2, 3], op(3, 1) + varint(1) + varint(2**64 - 1) + lit_code(8, [1]) + lit_code(8, [2]) + lit_code(8, [3])))
    children = [lit(8, [i]) for i in range(16)]
    lengths = varint(1) * 15
    bad("concat-count-16", "small count", Node(8, range(16), op(3, 15) + varint(16) + lengths + joined(children)))
    bad("concat-count-0", "small count", Node(8, range(16), op(3, 15) + varint(0) + lengths + joined(children)))
    bad("concat-64", "concat: too many children", concat(*(const(8, 1, i) for i in range(64))))
    bad("concat-huge", "concat: too many children", Node(8, [1], op(3, 15) + varint(2**64 - 1) + b"\1" * 99))
    bad("repeat-multiple", "repeat", Node(8, [1, 1, 1], op(4) + lit_code(8, [1])))
    bad("repeat-too-many", "repeat", Node(8, [1, 1], op(4, 1) + lit_code(8, [1])))
    bad("repeat-count", "small count", Node(8, [5] * 16, op(4, 15) + varint(16) + lit_code(8, [5])))
    for b in (1, 8, 13, 64):
        x = lit(b, [1, 0])
        bad(f"map-xor-0-{b}", "argument", mapped(x, 0, 0))
        bad(f"map-add-0-{b}", "argument", mapped(x, 1, 0))
        if b < 64:
            bad(f"map-xor-large-{b}", "argument", Node(b, x.words, op(5) + b"\0" + varint(2**b) + x.code))
            bad(f"map-add-large-{b}", "argument", mapped(x, 1, 2**b + 1))
        bad(f"map-add-half-{b}", "is an XOR", mapped(x, 1, 2**(b - 1)))
        bad(f"map-rotate-0-{b}", "rotation|1-bit", mapped(x, 7, 0))
        bad(f"map-rotate-all-{b}", "rotation|1-bit", mapped(x, 7, b))
    for f in range(2, 8):
        bad(f"map-{f}-of-1", "1-bit", Node(1, [1, 0], op(5) + u(f, 1) + (b"\1" if f == 7 else b"") + lit_code(1, [1, 0])))
    bad("map-function", "unknown function 8", Node(8, [1], op(5) + u(8, 1) + lit_code(8, [1])))
    bad("scan-function", "unknown function 2", Node(8, [1, 2], op(6) + u(2, 1) + varint(1) + lit_code(8, [2])))
    bad("scan-first", "first word", Node(13, [1, 2], op(6) + u(0, 1) + varint(2**13) + lit_code(13, [2])))
    bad("scan-1-word", "fewer than 2", Node(8, [1], op(6) + u(0, 1) + varint(1) + lit_code(8, [])))

    # Merge
    for form in range(7, 16):
        bad(f"merge-form-{form}", "unknown form", Node(8, [1], op(7, form) + lit_code(8, [1]) * 8))
    bad("merge-0-1-child", "number of children", Node(8, [1], op(7) + u(1, 1) + lit_code(8, [1])))
    bad("merge-0-0-children", "number of children", Node(8, [1], op(7) + u(0, 1) + lit_code(8, [1])))
    bad("merge-0-width-0", "width 0", Node(8, [1], op(7) + u(3, 1) + bytes([0, 4]) + lit_code(4, [1]) * 3))
    bad("merge-0-last-0", "width 0", Node(8, [1], op(7) + u(2, 1) + bytes([8]) + lit_code(8, [1]) * 2))
    bad("merge-0-sum", "width 0", Node(8, [1], op(7) + u(3, 1) + bytes([7, 255]) + lit_code(7, [1]) + bytes(40) * 2))
    for form, b, widths in ((1, 2, [1, 1]), (1, 8, [1] * 8), (1, 16, [1] * 16), (2, 16, [8, 8]), (2, 24, [8] * 3), (2, 32, [8] * 4), (2, 64, [8] * 8), (3, 16, [1, 8, 7]),
                            (3, 32, [1, 8, 23]), (3, 10, [1, 8, 1]), (4, 16, [1, 5, 10]), (4, 8, [1, 5, 2]), (4, 7, [1, 5, 1]), (5, 64, [1, 11, 52]), (5, 16, [1, 11, 4]),
                            (6, 8, [1, 4, 3]), (6, 64, [1, 4, 59])):
        bad(f"merge-0-as-{form}-{b}", "another form", planes(0, b, widths, some(b, 5)))
    bad("merge-1-1", "form 1 of 1-bit", Node(1, [1], op(7, 1) + lit_code(1, [1])))
    bad("merge-1-64", "form 1 of 64-bit", planes(1, 64, [1] * 64, some(64, 2), lambda w, x: packed(w, x)))
    bad("merge-2-8", "form 2 of 8-bit", Node(8, [1], op(7, 2) + lit_code(8, [1])))
    bad("merge-2-12", "form 2 of 12-bit", Node(12, [1], op(7, 2) + lit_code(8, [1]) * 2))
    for form, e in ((3, 8), (4, 5), (5, 11), (6, 4)):
        b = e + 1
        bad(f"merge-{form}-{b}", f"form {form} of {b}-bit", Node(b, [1], op(7, form) + lit_code(1, [0]) + lit_code(e, [1]) + lit_code(1, [0])))
        bad(f"merge-{form}-2", f"form {form} of 2-bit", Node(2, [1], op(7, form) + lit_code(1, [0]) + lit_code(e, [1]) + lit_code(1, [0])))

    # Route
    w = list(range(60))
    row, column = [0, 1, 0, 2, 1, 1], [1, 0, 0, 2, 1, 1]
    r = route_of(w, 8, 10, 1, row=row)

    def patched(node, at, value):
        return Node(node.b, node.words, node.code[:at] + bytes(value) + node.code[at + len(value):])
    bad("route-columns-0", "grid", patched(r, 1, [0]))
    bad("route-inner-0", "grid", patched(r, 2, [0]))
    bad("route-grid", "grid", patched(r, 1, [7]))
    bad("route-grid-large", "grid", patched(r, 1, [120]))
    bad("route-R-0", "row or column classes", patched(r, 3, [0]))
    bad("route-R-33", "row or column classes", patched(r, 3, [33]))
    bad("route-C-0", "row or column classes", patched(r, 4, [0]))
    bad("route-C-33", "row or column classes", patched(r, 4, [33, 33]))
    bad("route-K-1", "number of children", patched(r, 3, [1, 1, 1]))
    bad("route-K-33", "number of children", patched(r, 5, [33]))
    bad("route-K-not-R", "number of children", patched(r, 5, [2]))
    bad("route-R-1-C-1", "number of children", patched(r, 3, [1, 1, 2]))
    bad("route-K-not-C", "number of children", patched(route_of(w, 8, 6, 1, column=column), 5, [4]))
    bad("route-row-class", "class is out of range", route_of(w, 8, 10, 1, row=row[:-1] + [3], R=3, K=3))
    bad("route-column-class", "class is out of range", route_of(w, 8, 6, 1, column=column[:-1] + [3], C=3, K=3))
    bad("route-map-class", "class is out of range", route_of(w, 8, 6, 1, row=[0, 1] * 5, column=[0, 1] * 3, table=[0, 1, 2, 3], K=3))
    bad("route-row-class-8-bits", "exceeds the width", route_of(w, 8, 10, 1, row=row[:-1] + [255], R=3, K=3, child=lambda b, l: lit(b, l) if l else Node(b, l, b"", 0)))
    bad("route-no-words", "without words", route(60, 10, 1, [lit(8, w[:30]), Node(8, [], b""), lit(8, w[30:])], row=[0, 0, 0, 2, 2, 2]))
    bad("route-no-words-map", "without words", route(60, 6, 1, [lit(8, w), lit(8, [])], row=[0, 0, 0, 0, 0, 0, 0, 0, 0, 0], R=2, column=[0, 1] * 3, table=[0, 0, 1, 1]))
    for name, code in (("const", op(2) + b"\0"), ("map", op(5) + b"\0\1" + lit_code(2, row)), ("repeat", op(4, 4) + lit_code(2, [0]))):
        node = route_of(w, 8, 10, 1, row=row)
        bad(f"route-classes-{name}", "where a literal must be", Node(8, w, node.code[:6] + code + node.code[6 + len(lit_code(2, row)):]))
    # The classes are wrong, and the program ends too early: the former must be noticed while the latter is not yet.
    bad("route-classes-first", "class is out of range", Node(8, w, r.code[:6] + lit_code(2, row[:-1] + [3])))
    bad("route-classes-payload", "wrong|damaged|fewer|ends", Node(8, w, r.code[:6] + op(1, 5) + sized(b"\x28\xB5\x2F\xFD\0") + joined([lit(8, [1] * 20)] * 3)))
    # Escape
    e = lit(4, [1, 15, 2])
    bad("escape-w-0", "width of the codes", Node(8, [1, 2], op(9) + bytes([0, 0, 0]) + lit_code(8, [1, 2])))
    bad("escape-w-large", "width of the codes", Node(8, [1, 2], op(9) + bytes([9, 0, 0]) + lit_code(9, [1, 2])))
    bad("escape-w-base", "width of the codes", Node(8, [2, 3], op(9) + bytes([8, 1, 0]) + lit_code(8, [1, 2])))
    bad("escape-w-65", "width of the codes", Node(64, [2, 3], op(9) + bytes([65, 0, 0]) + lit_code(64, [1, 2])))
    bad("escape-base", "exceeds the width", Node(8, [242, 243], op(9) + bytes([4]) + varint(242) + b"\0" + lit_code(4, [1, 2])))
    # The largest code must fit even where it is the escape, and where no word has it.
    bad("escape-base-top", "exceeds the width", Node(8, [241, 255, 7], op(9) + bytes([4]) + varint(241) + b"\1" + lit_code(4, [0, 14, 15]) + lit_code(8, [7])))
    bad("escape-base-top-unused", "exceeds the width", Node(8, [241, 255], op(9) + bytes([4]) + varint(241) + b"\0" + lit_code(4, [0, 14])))
    bad("escape-m", "more escaped words", Node(8, [1, 2, 2], op(9) + bytes([4, 0, 4]) + e.code + lit_code(8, [2] * 4)))
    bad("escape-fewer", "fewer or more", Node(8, [1, 7, 2], op(9) + bytes([4, 0, 2]) + e.code + lit_code(8, [7, 8])))
    bad("escape-more", "fewer or more", Node(8, [7, 7, 2], op(9) + bytes([4, 0, 1]) + lit_code(4, [15, 15, 2]) + lit_code(8, [7])))
    bad("escape-no-code", "fewer or more", Node(8, [1, 1, 2], op(9) + bytes([4, 0, 1]) + lit_code(4, [1, 1, 2]) + lit_code(8, [7])))

    # Pack and flip
    bad("pack-0", "pack", Node(8, [1], op(10) + b"\0" + lit_code(8, [1])))
    bad("pack-1", "pack", Node(8, [1], op(10) + b"\1" + lit_code(8, [1])))
    bad("pack-3", "pack", Node(8, [1], op(10) + b"\3" + lit_code(2, [1] * 3)))
    bad("pack-16", "pack", Node(8, [1], op(10) + u(16, 1) + lit_code(1, [1] * 16)))
    f = flip(lit(8, w), 6, 2, [0, 1, 1, 0, 0, 1])
    bad("flip-columns-0", "grid", patched(f, 1, [0]))
    bad("flip-inner-0", "grid", patched(f, 2, [0]))
    bad("flip-grid", "grid", patched(f, 2, [7]))
    bad("flip-flag-2", "exceeds the width", flip(lit(8, w), 6, 2, [0, 1, 2, 0, 0, 1]))
    bad("flip-const", "where a literal must be", Node(8, w, op(11) + b"\6\2" + op(2) + b"\0" + lit_code(8, w)))
    bad("flip-flags-first", "exceeds the width", Node(8, w, op(11) + b"\6\2" + lit_code(1, [0, 1, 2, 0, 0, 1])))

    # Literals
    for b in (1, 3, 7, 9, 12, 13, 20, 31, 33, 63):
        words = [2**b]
        for name, coding in (("raw", raw), ("zstd", zstd), ("lzma2", lzma2)):
            if 2**b < 256**per_word(b):
                bad(f"literal-{name}-{b}", "exceeds the width", Node(b, [0], lit_code(b, words, coding)))
    bad("raw-short", "ends too early", Node(8, [1, 2], lit_code(8, [1])))
    bad("packed-base", "base", Node(7, [0], op(1, 1) + varint(128) + b"\0"))
    bad("packed-bits", "more bits", Node(7, [0], op(1, 1) + b"\0\x08\0"))
    bad("packed-padding", "padding", lit(8, [1, 2, 3], lambda w, x: packed(w, x, 0, 3, 1)))
    bad("packed-sum", "exceeds the width", Node(8, [255, 0], op(1, 1) + varint(255) + b"\1\2"))
    bad("packed-sum-64", "exceeds the width", Node(64, [2**64 - 1, 0], op(1, 1) + varint(2**64 - 1) + b"\1\2"))
    bad("packed-base-varint", "shortest", Node(8, [5], op(1, 1) + b"\x85\0\0"))
    x = [1, 2, 2, 3, 1, 1, 1, 9] * 5
    plain = dict(zip((1, 2, 3, 9), (1, 2, 3, 3)))
    bad("huffman-13", "13-bit", lit(13, x, huffman))
    for longest in (0, 16):
        bad(f"huffman-longest-{longest}", "longest code is out of range", Node(8, x, op(1, 2) + u(longest, 1) + lit_code(8, x, huffman)[2:]))
    bad("huffman-longest-few", "too long for so few", lit(8, [0, 15], lambda w, _: huffman(w, _, {s: min(s + 1, 15) for s in range(16)})))
    bad("huffman-not-longest", "no code is the longest", lit(8, x, lambda w, _: huffman(w, _, plain, longest=4)))
    bad("huffman-incomplete", "not complete", lit(8, [1, 2, 3] * 9, lambda w, _: huffman(w, _, {1: 1, 2: 3, 3: 3})))
    bad("huffman-over", "not complete", lit(8, [1, 1, 1] * 9, lambda w, _: huffman(w, _, plain, table=huffman_table(8, {1: 1, 2: 1, 3: 3}, 3))))
    bad("huffman-size", "payload is not of the size", lit(8, x, lambda w, _: huffman(w, _, plain, more=b"\0")))
    bad("huffman-padding", "padding", lit(8, x + [1], lambda w, _: huffman(w, _, plain, padding=1)))
    bad("huffman-table-padding", "padding of a table", lit(8, x, lambda w, _: (2, u(3, 1) + huffman_table(8, plain, 3, 1) + sized(b"\0"))))
    number, code = huffman(8, x, plain)
    size = len(huffman_table(8, plain, 3)) + 1
    bad("huffman-short", "payload is not of the size", Node(8, x, op(1, 2) + code[:size] + sized(code[size + 1:-1])))

    def with_bits(b, longest, build):
        bits = Bits()
        build(bits)
        return Node(b, x, op(1, 2) + u(longest, 1) + bits.bytes() + sized(b"\0" * 5))

    def start(bits, first, span, b=8):
        bits.put(first, b)
        bits.put(span, b)
    bad("huffman-range", "symbol exceeds the width", with_bits(8, 1, lambda t: (start(t, 200, 55), t.text("1"), t.text("000"), t.gap(54), t.text("1"))))
    bad("huffman-first", "first or the last", with_bits(8, 1, lambda t: (start(t, 0, 1), t.text("000"), t.gap(1), t.text("11"))))
    bad("huffman-last", "first or the last", with_bits(8, 1, lambda t: (start(t, 0, 1), t.text("11"), t.text("000"), t.gap(1))))
    bad("huffman-run-run", "follows another", with_bits(8, 1, lambda t: (start(t, 0, 2), t.text("1"), t.text("000"), t.gap(1), t.text("000"), t.gap(1), t.text("1"))))
    bad("huffman-run-past", "goes on past", with_bits(8, 1, lambda t: (start(t, 0, 1), t.text("11"), t.text("000"), t.gap(2))))
    bad("huffman-gap", "too long", with_bits(8, 1, lambda t: (start(t, 0, 250), t.text("1"), t.text("000"), t.text("0" * 12 + "1"), t.put(0, 12))))
    bad("huffman-level-0", "level is out of range", with_bits(8, 2, lambda t: (start(t, 0, 0), t.text("011"), t.text("1"))))
    bad("huffman-level-high", "level is out of range", with_bits(8, 1, lambda t: (start(t, 0, 0), t.text("010"), t.text("1"))))
    bad("huffman-level-far", "level is out of range", with_bits(8, 3, lambda t: (start(t, 0, 0), t.text("0010"), t.gap(2), t.text("1"))))
    bad("huffman-level-low", "level is out of range", with_bits(8, 3, lambda t: (start(t, 0, 0), t.text("0011"), t.gap(1), t.text("1"))))

    table = Table(8, None, 8, 7, {1: 100, 2: 100, 3: 50, 9: 6}, 2)

    def rans_node(payload, words=x, parameters=None, stream=None):
        return Node(8, words, op(1, 3) + (parameters or table.parameters()) + (stream or table.stream()) + sized(payload))
    payload = table.payload(x, 0)
    bad("rans-13", "13-bit", lit(13, x, lambda w, _: rans(w, _, 8)))
    bad("rans-scale", "sum of the frequencies is out", rans_node(payload, parameters=u(7 | 7 << 5, 1)))
    bad("rans-lanes-3", "number of lanes", rans_node(payload, parameters=table.parameters(3)))
    bad("rans-scale-few", "too large for so few", lit(8, [1, 2] * 127, lambda w, _: rans(w, _, 9)))
    bad("rans-initial", "initial state", rans_node(u(65535, 4) + payload[4:]))
    bad("rans-size-odd", "impossible size", rans_node(payload + b"\0"))
    bad("rans-size-small", "impossible size", rans_node(payload[:2]))
    bad("rans-size-small-lanes", "impossible size", rans_node(payload[:4], parameters=table.parameters(1)))
    bad("rans-more", "left over", rans_node(payload + b"\0\0"))
    bad("rans-short", "ends too early", rans_node(payload[:-2]))
    bad("rans-final", "final state", rans_node(table.payload(x, 0, (1 << 16) + 1)))
    idle = table.payload([1, 2], 1)
    bad("rans-idle-lane", "final state", rans_node(idle[:12] + u(65537, 4) + idle[16:], [1, 2], table.parameters(1)))
    bad("rans-table-padding", "padding", rans_node(payload, stream=table.stream(1)))
    assert table.stream(1) != table.stream()

    def rans_bits(build, scale=8, precision=0):
        bits = Bits()
        build(bits)
        return Node(8, x, op(1, 3) + u(scale - 8 | precision << 5, 1) + bits.bytes() + sized(u(1 << 16, 4)))
    bad("rans-range", "symbol exceeds the width", rans_bits(lambda t: (start(t, 255, 0), t.put(0, 1), t.text("1"))))
    bad("rans-rest", "not listed is out of range", rans_bits(lambda t: (start(t, 0, 1), t.put(3, 2), t.text("11"))))
    bad("rans-no-rest", "leave nothing", rans_bits(lambda t: (start(t, 0, 1), t.put(0, 2), t.text("0010"), t.gap(6), t.text("1"))))
    bad("rans-first-0", "first or the last", rans_bits(lambda t: (start(t, 0, 1), t.put(1, 2), t.text("000"), t.gap(1), t.text("1"))))
    bad("rans-last-0", "first or the last", rans_bits(lambda t: (start(t, 0, 1), t.put(1, 2), t.text("1"), t.text("000"), t.gap(1))))
    bad("rans-run-past-rest", "goes on past", rans_bits(lambda t: (start(t, 0, 2), t.put(3, 2), t.text("1"), t.text("000"), t.gap(3))))
    bad("rans-run-rest-run", "follows another", rans_bits(lambda t: (start(t, 0, 4), t.put(2, 3), t.text("1"), t.text("000"), t.gap(1), t.text("000"), t.gap(2), t.text("11"))))
    bad("rans-level", "level is out of range", rans_bits(lambda t: (start(t, 0, 0), t.put(0, 1), t.text("0010"), t.gap(7))))

    tables = [Table(8, None, 8, 7, {1: 100, 2: 100, 3: 50, 9: 6}), Table(7, [1, 2, 3])]
    book = codebook_of(tables)
    bad("shared-no-codebook", "has no table 0", lit(8, x, shared(tables, 0)))
    node = lit(8, x, shared(tables, 0))
    bad("shared-number", "has no table 2", Node(8, x, node.code[:1] + b"\2" + node.code[2:]), book)
    bad("shared-width", "another width", Node(8, x, node.code[:1] + b"\1" + node.code[2:]), book)
    for lanes in (3, 8, 255):
        bad(f"shared-lanes-{lanes}", "number of lanes", Node(8, x, node.code[:2] + u(lanes, 1) + node.code[3:]), book)
    bad("shared-final", "final state", Node(8, x, node.code[:3] + sized(tables[0].payload(x, 0, 70000))), book)
    bad("shared-13", "13-bit", lit(13, x, shared(tables, 0)), book)
    bad("shared-symbol", "payload|state", Node(8, x[:1], op(1, 4) + b"\0\0" + sized(u(1 << 16, 4) + b"\0\0")), book)

    bad("lit-zstd-more", "follows the Zstandard", Node(8, x, op(1, 5) + sized(zstandard.compress(bytes(x)) + b"\0")))
    bad("lit-zstd-size", "fewer or more", Node(8, x, op(1, 5) + sized(zstandard.compress(bytes(x) + b"\0"))))
    bad("lit-zstd-size-small", "ends too early|damaged", Node(8, x, op(1, 5) + sized(zstandard.compress(bytes(x))[:-1])))
    bad("lit-zstd-bits", "fewer or more", Node(4, [1] * 8, op(1, 5) + sized(zstandard.compress(b"\x11" * 4))))
    bad("lit-zstd-window", "window", Node(8, [97, 98, 99], op(1, 5) + sized(bytes.fromhex("28B52FFD") + b"\x00" + u(14 << 3 | 1, 1) + block)))
    bad("lit-lzma2-more", "follows the LZMA2", Node(8, x, op(1, 6) + sized(lzma2_stream(bytes(x)) + b"\0")))
    bad("lit-lzma2-size", "fewer or more", Node(8, x, op(1, 6) + sized(lzma2_stream(bytes(x) + b"\0"))))
    bad("lit-lzma2-no-end", "ends too early", Node(8, x, op(1, 6) + sized(lzma2_stream(bytes(x))[:-1])))
    # The page has rules of programs noticed before anything runs: the first child's payload is bad, the second child breaks a rule.
    first = op(1, 5) + sized(b"nonsense")
    bad("order", "const", Node(8, [1, 2], op(3) + varint(1) + first + op(2) + varint(256)))


# ---- Limits of programs, and what is just within them ----

def make_limits():
    deep = lit(8, [1, 2, 3])
    for _ in range(6):
        deep = mapped(deep, 0, 1)
    bad("deep-7", "too deep", deep)
    bad("nodes-65", "too many nodes", concat(*(const(8, 1, i) for i in range(62)), concat(const(8, 1, 1), const(8, 1, 1))))
    w = list(range(60))
    # Literals that are parameters do not count as nodes: 64 of these, and a depth of 6.
    good("nodes-64-and-parameters", flip(concat(*(const(8, 1, i) for i in range(60)), flip(const(8, 2, 1), 2, 1, [0, 1])), 2, 31, [0, 1]))
    deep = lit(8, w)
    for _ in range(4):
        deep = mapped(deep, 0, 1)
    good("depth-6-below-parameters", flip(deep, 6, 1, [0, 1] * 3))
    deep = flip(lit(8, w), 6, 1, [0, 1] * 3)
    for _ in range(4):
        deep = mapped(deep, 0, 1)
    good("depth-6-flip-at-5", deep)

    n = 4194305
    bad("parameter-words", "too many words", Node(8, [0] * n, op(11) + varint(n) + varint(1) + op(1, 1) + b"\0\0" + op(2) + b"\0"))
    n = 2097153
    once = op(11) + varint(n) + varint(1) + op(1, 1) + b"\0\0"
    bad("parameter-words-sum", "too many words", Node(8, [0] * n, once + once + op(2) + b"\0"))
    n = 4194304
    good("parameter-words", Node(8, [0] * n, op(11) + varint(n) + varint(1) + op(1, 1) + b"\0\0" + op(2) + b"\0", 2))

    # A raw_size of 8 MiB and planes of 1 bit: 5 of them yield 40 MiB. The good one has 4, thus exactly the limit.
    n = 1 << 23
    zeros = op(1, 5) + sized(zstandard.compress(bytes(n)))
    many = [zeros] * 5 + [op(2) + b"\0"] * 3
    bad("unpacked-too-much", "yield too much", Node(8, [0] * n, op(7, 1) + b"".join(many)))
    zeros6 = op(1, 6) + sized(lzma2_stream(bytes(n)))
    bad("unpacked-too-much-both", "yield too much", Node(8, [0] * n, op(7, 1) + b"".join([zeros, zeros6] * 2 + [zeros6] + [op(2) + b"\0"] * 3)))
    # Flags count like any other literal.
    half = n // 2
    flags = op(11) + varint(half) + varint(1) + op(1, 5) + sized(zstandard.compress(bytes(half)))
    bad("unpacked-too-much-flags", "yield too much", Node(8, [0] * n, flags + op(7, 1) + b"".join([zeros, zeros6] * 2 + [op(2) + b"\0"] * 4)))
    good("unpacked-limit", Node(8, [0] * n, op(7, 1) + b"".join([zeros, zeros6] * 2 + [op(2) + b"\0"] * 4), 9))


# ---- What nothing forbids, however odd ----

def make_odd():
    table = Table(8, None, 10, 7, {1: 1000, 2: 24})
    w = list(range(60))
    good("shared-few-words", lit(8, [1, 2, 1], shared([table], 0)), codebook_of([table]))
    # Only the classes of words need words, not those of rows and columns.
    good("route-unused-row-class", route_of(w, 8, 6, 1, row=[0, 1] * 5, R=3, column=[0, 1] * 3, table=[0, 1, 1, 0, 1, 0]))
    good("route-more-row-classes-than-rows", route_of(w, 8, 6, 2, row=[0, 1, 2, 3, 30], R=32, column=[0, 1] * 3, table=[0, 1] * 32))
    good("route-map-unused", route_of(w, 8, 6, 1, row=[0, 1] * 5, column=[0, 1] * 3, table=[0, 0, 1, 1]))
    good("escape-identity", escape(8, 0, lit(8, [1, 2])))
    good("scan-add-1-bit", scan(lit(1, [1, 0, 1]), 1, 1))
    good("flip-no-flags", flip(lit(8, w), 6, 1, [0] * 6))


def main():
    folder = sys.argv[1]
    make_good()
    make_bad()
    make_limits()
    make_odd()
    for kind, archives in (("good", GOOD), ("bad", BAD)):
        os.makedirs(os.path.join(folder, kind))
        for name, (data, expected) in archives.items():
            with open(os.path.join(folder, kind, name + ".brevis"), "wb") as file:
                file.write(data)
            with open(os.path.join(folder, kind, name), "wb") as file:
                file.write(expected if kind == "good" else expected.encode())


if __name__ == "__main__":
    main()
