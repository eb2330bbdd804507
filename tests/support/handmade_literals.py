# SPDX-License-Identifier: Apache-2.0
"""The part of handmade_archives.py for literals and their codings; route is in handmade_routes.py."""

import zstandard

from archive_builder import (
    LANES, Bits, Node, Table, codebook_of, concat, huffman, huffman_table, lit, lit_code, lzma2, lzma2_stream, merge, op, packed, per_word, rans, rans_states, raw,
    shared, sized, u, varint, zstd)
from handmade_set import bad, bad_payloads, good, rng, skewed, some


def make_good_literals():
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
            for lanes in range(4):
                words = skewed(8, 2**scale // 2 + 1 if scale > 8 else 40)
                good(f"rans-{scale}-{precision}-{lanes}", lit(8, words, lambda w, x: rans(w, x, scale, precision, lanes)))
    for precision in range(8):
        good(f"rans-precision-{precision}", lit(8, skewed(8, 3000), lambda w, x: rans(w, x, 12, precision)))
    for b in (1, 2, 3, 7, 9, 12):
        good(f"rans-width-{b}", lit(b, skewed(b, 600, 0.1), lambda w, x: rans(w, x, 10, 4, 1)))
        for lanes in (1, 2, 3):
            good(f"rans-few-{b}-{lanes}", lit(b, skewed(b, 3, 0.1), lambda w, x: rans(w, x, 8, 4, lanes)))
    for n in (15, 16, 17, 63, 64, 65, 127, 128, 129):
        for lanes in (2, 3):
            good(f"rans-words-{n}-{lanes}", lit(8, skewed(8, n), lambda w, x: rans(w, x, 8, 7, lanes)))
    gaps = {5: 3, 6: 9, 60: 100, 61: 1, 255: 143}
    words = [rng.choice(list(gaps)) for _ in range(90)]
    for rest in gaps:  # runs of level 0 on both sides of the symbol that is not listed, or beginning or ending with it
        good(f"rans-rest-{rest}", lit(8, words, lambda w, x: rans(w, x, table=Table(w, None, 8, 7, gaps, rest))))
    alone = {0: 1, 100: 254, 200: 1}
    good("rans-rest-in-run", lit(8, [0, 100, 200], lambda w, x: rans(w, x, table=Table(w, None, 8, 0, alone, 100))))
    good("rans-1-of-everything", lit(8, list(range(256)), lambda w, x: rans(w, x, table=Table(w, None, 8, 0, dict.fromkeys(range(256), 1), 255))))
    good("rans-4096", lit(12, list(range(4096)) * 2, lambda w, x: rans(w, x, 14, 0, 2)))
    make_good_tails()

    # Shared
    tables = [Table(8, skewed(8, 1000) + [0], 11, 5), Table(5, skewed(5, 100), 8, 0), Table(12, skewed(12, 4000), 14, 7), Table(1, [0, 0, 1], 9)]
    book = codebook_of(tables)
    for number, table in enumerate(tables):
        for lanes in range(4):
            words = rng.choices(list(table.frequencies), k=2**table.scale // 2 + 3)
            good(f"shared-{number}-{lanes}", lit(table.width, words, shared(tables, number, lanes)), book)
    many = [Table(1 + i % 12, skewed(1 + i % 12, 100), 8 + i % 7, i % 8) for i in range(64)]
    good("shared-without-codes", merge(0, *(lit(1 + i, [2**(1 + i) - 1], shared(many, i, i % 4)) for i in range(10))), codebook_of(many))
    good("shared-63", concat(*(lit(4, rng.choices(list(many[i].frequencies), k=20000), shared(many, i, i % 4)) for i in (3, 15, 51, 63))), codebook_of(many))


def make_good_tails():
    table = Table(8, None, 8, 7, {0: 90, 1: 70, 2: 55, 3: 40, 4: 1})
    flat = Table(8, None, 8, 0, dict.fromkeys(range(256), 1), 255)

    def tailed(name, words, table=table, lanes=0, **kw):
        good(f"rans-{name}", lit(8, words, lambda w, x: rans(w, x, table=table, lanes=lanes, **kw)))
    # With and without main words, of whole groups and not, and with lanes that have no words.
    for lanes, number in enumerate(LANES):
        for n in sorted({1, 2, number - 1, number, number + 1, 2 * number + 1, 5 * number - 1, 5 * number, 5 * number + 2} - {0}):
            words = rng.choices(list(table.frequencies), list(table.frequencies.values()), k=n)
            for tail in (0, 1, 2):
                if (tail - 1) * number < n:
                    tailed(f"tail-{tail}-{n}-{lanes}", words, lanes=lanes, tail=tail)
            tailed(f"tail-{n}-{lanes}", words, lanes=lanes)
        # The last word of a lane needs no code.
        tailed(f"tail-without-codes-{lanes}", [255 - i for i in range(number)], lanes=lanes)
        tailed(f"tail-ends-without-codes-{lanes}", [2, 1] * number + [255 - i for i in range(number)], lanes=lanes, tail=2)
        # A lane stays at 0 while its words are of the first symbol.
        tailed(f"tail-of-nothing-{lanes}", [0] * 15 * number, lanes=lanes, tail=15)
        tailed(f"tail-mostly-of-nothing-{lanes}", [4, 0, 3, 0, 1] + [1, 2] * number + [0] * 13 * number, lanes=lanes, tail=15)
    # The largest state that there is, 2^31 - 1, as an initial one: of a main word, of a tail.
    words = [4, 4, 3, 4, 3, 4, 4, 4, 0, 2, 2, 3, 3, 2, 0, 1, 3, 2, 3, 1, 0, 3, 3, 0, 1, 3, 1, 0]
    highest = [255, 127, 255, 127]
    assert table.payload(words, 0, tail=0)[:5] == rans_states(0, [2**31 - 1]) and flat.payload(highest, 0) == rans_states(4, [2**31 - 1])
    tailed("highest-state", words, tail=0)
    tailed("highest-state-of-tail", highest, flat)
    # The next one is too large for a tail of 4 words.
    words = [0, 128] + highest[2:]
    assert flat.payload(words, 0)[0] & 15 == 3
    tailed("state-too-high-for-tail", words, flat)


def make_bad_literals():
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
    bad("rans-scale-few", "too large for so few", lit(8, [1, 2] * 127, lambda w, _: rans(w, _, 9)))
    for lanes in range(4):
        bad_payloads("rans", lanes, [table], lambda words, payload, l=lanes: rans_node(payload, words, table.parameters(l)))
    bad("rans-table-padding", "padding", rans_node(payload, stream=table.stream(1)))
    assert table.stream(1) != table.stream()

    def rans_bits(build, scale=8, precision=0):
        bits = Bits()
        build(bits)
        return Node(8, x, op(1, 3) + u(scale - 8 | precision << 5, 1) + bits.bytes() + sized(rans_states(0, [1 << 15])))
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
    for lanes in (4, 8, 255):
        bad(f"shared-lanes-{lanes}", "number of lanes", Node(8, x, node.code[:2] + u(lanes, 1) + node.code[3:]), book)
    for lanes in range(4):
        bad_payloads("shared", lanes, tables[:1], lambda words, payload, l=lanes: Node(8, words, op(1, 4) + b"\0" + u(l, 1) + sized(payload)), book)
    bad("shared-13", "13-bit", lit(13, x, shared(tables, 0)), book)
    bad("shared-symbol", "payload|state", Node(8, x[:1], op(1, 4) + b"\0\0" + sized(rans_states(0, [1 << 15]) + b"\0\0")), book)

    bad("lit-zstd-more", "follows the Zstandard", Node(8, x, op(1, 5) + sized(zstandard.compress(bytes(x)) + b"\0")))
    bad("lit-zstd-size", "fewer or more", Node(8, x, op(1, 5) + sized(zstandard.compress(bytes(x) + b"\0"))))
    bad("lit-zstd-size-small", "ends too early|damaged", Node(8, x, op(1, 5) + sized(zstandard.compress(bytes(x))[:-1])))
    bad("lit-zstd-bits", "fewer or more", Node(4, [1] * 8, op(1, 5) + sized(zstandard.compress(b"\x11" * 4))))
    bad("lit-zstd-window", "window", Node(8, [97, 98, 99], op(1, 5) + sized(bytes.fromhex("28B52FFD") + b"\x00" + u(14 << 3 | 1, 1) + u(3 << 3 | 1, 3) + b"abc")))
    bad("lit-lzma2-more", "follows the LZMA2", Node(8, x, op(1, 6) + sized(lzma2_stream(bytes(x)) + b"\0")))
    bad("lit-lzma2-size", "fewer or more", Node(8, x, op(1, 6) + sized(lzma2_stream(bytes(x) + b"\0"))))
    bad("lit-lzma2-no-end", "ends too early", Node(8, x, op(1, 6) + sized(lzma2_stream(bytes(x))[:-1])))
