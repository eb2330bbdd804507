#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small archives made by hand after docs/FORMAT.md, every kind of thing that the page allows and every rule of it broken once.

    handmade_archives.py FOLDER

FOLDER/good/NAME.brevis restores FOLDER/good/NAME; FOLDER/bad/NAME.brevis must be refused, and FOLDER/bad/NAME holds a regular expression that the reference
decoder's reason matches. Always the same files: nothing is random but for a fixed seed.
"""

import lzma
import os
import sys

import zstandard

from archive_builder import (
    END, Node, Table, archive, codebook_of, concat, const, escape, escape_of, flip, huffman, joined, lit, lit_code, lzma2, lzma2_stream, mapped, merge,
    op, pack, packed, planes, program, rans, raw, record, repeat, route, scan, shared, sized, u, varint, xxh3, zstd)
from handmade_literals import make_bad_literals, make_good_literals
from handmade_routes import make_bad_routes, make_good_routes
from handmade_set import BAD, GOOD, add, bad, bad_file, good, patched, rng, skewed, some, text_record

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
    node = merge(3, lit(1, some(1, 96), packed), mapped(route([7 + x for x in some(3, 96)], 8, 8, 2, row=[0, 1, 1, 0, 1, 0]), 4),
                 pack(mapped(const(1, 7 * 96, 0), 0, 1), 7))
    good("deep-2", flip(node, 16, 3, [0, 1] * 8))
    node = escape(16, 500, pack(merge(0, lit(1, some(1, 24)), const(2, 24, 3), scan(lit(3, some(3, 23), zstd), 0, 5)), 2))
    good("deep-3", flip(node, 2, 3, [1, 0]))
    node = planes(4, 8, [1, 5, 2], some(8, 40), huffman)
    for step in (lambda n: mapped(n, 6), lambda n: pack(n, 4), lambda n: concat(n, lit(32, some(32, 10), lzma2)), lambda n: scan(n, 0, 2**32 - 1)):
        node = step(node)
    good("deep-4", node)
    parts = [route(some(b, 60), b, 6, 5, row=[1, 0], column=[0, 1, 2, 0, 1, 1], table=[0, 1, 0, 1, 1, 0], lanes=i % 4) for i, b in enumerate((6, 2))]
    good("deep-5", flip(escape(16, 77, scan(merge(0, *parts), 1, 9)), 61, 1, [i % 2 for i in range(61)]))


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
    for node in (const(8, 3, 1), mapped(ok, 0, 1), scan(ok, 0, 1), route([1, 2], 8, 2, 1, column=[0, 1]), escape(8, 0, lit(8, [1])), pack(lit(4, [1, 2]), 2), flip(ok, 3, 1, [0, 1, 0])):
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
    w = list(range(60))
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
    make_slot_limits()
    make_word_limits()


def make_slot_limits():
    """Routes with 32 tables of 2**14 slots: two of them have as many as there may be."""
    n = 1 << 13
    column, table = list(range(32)), Table(12, None, 14, 0, {7: 1 << 13, 9: 1 << 13})

    def large():
        return route(rng.choices((7, 9), k=n), 12, 32, 1, column=column, tables=[table] * 32)
    small = Table(8, None, 8, 0, {1: 128, 2: 128})
    flags = Table(1, None, 8, 0, {0: 128, 1: 128})

    def flipped(coding):
        return flip(merge(0, large(), large(), const(40, n, 3)), 4, 1, [0, 1, 1, 0], coding)
    good("slots", merge(0, large(), large(), const(40, n, 3)))
    good("slots-and-codebook", merge(0, large(), large(), lit(8, [1, 2] * (n // 2), shared([small], 0)), const(32, n, 3)), codebook_of([small]))
    good("slots-and-huffman", flipped(huffman))
    bad("slots-lit", "too many slots", merge(0, large(), large(), lit(8, [1, 2] * (n // 2), lambda w, x: rans(w, x, table=small)), const(32, n, 3)))
    bad("slots-flags", "too many slots", flipped(lambda w, x: rans(w, x, table=flags)))
    bad("slots-3-routes", "too many slots", merge(0, large(), large(), large(), const(28, n, 3)))
    lits = [lit(1, [0, 1] * (n // 2), lambda w, x: rans(w, x, 14)) for _ in range(33)]
    good("slots-32-literals", merge(0, large(), *lits[:32], const(20, n, 3)))
    bad("slots-33-literals", "too many slots", merge(0, large(), *lits, const(19, n, 3)))


def make_word_limits():
    """Records of 16 MiB, of bytes 255: 32 times as many words are 2**29."""
    n = 1 << 24

    def record_of(code):
        return record(8, bytes([255]) * n, code)

    def planes_of_nodes(*nodes):
        """The planes of 16 words have that many nodes, and all of them yield ones; a repeat and a merge make the record's words of them."""
        return record_of(op(4, 15) + varint(n // 16) + op(7, 1) + b"".join(one_bits(k) for k in nodes))

    def one_bits(nodes):
        return (op(5) + b"\0\1") * (nodes - 1) + op(2) + varint(nodes % 2)

    def all_escaped(n, second):
        return op(9) + b"\1\0" + varint(n) + one_bits(1) + second
    bits = op(10) + u(8, 1)
    add(GOOD, "words", archive([planes_of_nodes(4, 4, 4, 4, 4, 4, 4, 2)]))
    few = 1 << 16
    for name, code in (("bits", bits + one_bits(4)),
                       ("escapes", bits + all_escaped(8 * n, all_escaped(8 * n, one_bits(1)))),
                       ("repeat-of-bits", op(4, 15) + varint(8 * n // few) + bits + one_bits(4)),
                       ("repeats-of-bits", op(4) + op(4, 15) + varint(4 * n // few) + bits + all_escaped(few, all_escaped(few, one_bits(1))))):
        bad_file(f"words-{name}", "yield too many words", [record_of(code)])
    bad_file("words-planes", "yield too many words", [planes_of_nodes(4, 4, 4, 4, 4, 4, 4, 3)])


# ---- What nothing forbids, however odd ----

def make_odd():
    table = Table(8, None, 10, 7, {1: 1000, 2: 24})
    w = list(range(60))
    good("shared-few-words", lit(8, [1, 2, 1], shared([table], 0)), codebook_of([table]))
    good("escape-identity", escape(8, 0, lit(8, [1, 2])))
    good("scan-add-1-bit", scan(lit(1, [1, 0, 1]), 1, 1))
    good("flip-no-flags", flip(lit(8, w), 6, 1, [0] * 6))


def main():
    folder = sys.argv[1]
    make_good()
    make_good_literals()
    make_good_routes()
    make_bad()
    make_bad_literals()
    make_bad_routes()
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
