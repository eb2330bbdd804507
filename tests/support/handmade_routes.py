# SPDX-License-Identifier: Apache-2.0
"""The part of handmade_archives.py for route: its classes, its tables, its payload."""

from archive_builder import (
    LANES, Bits, Node, Table, codebook_of, concat, const, flip, huffman, lit, lit_code, lzma2, mapped, merge, op, packed, rans, rans_parameters, rans_states, raw, route,
    shared, sized, tables_stream, u, varint, zstd)
from handmade_set import bad, bad_payloads, good, patched, rng, skewed, some


def make_good_routes():
    make_good_classes()
    make_good_tables()
    make_odd_routes()


def make_good_classes():
    w = some(5, 60)
    row, column, table = [0, 1, 2, 0, 1, 2, 0, 0, 0, 0], [0, 1, 0, 1, 1, 0], [0, 2, 1, 2, 1, 0]
    good("route-rows", route(w, 5, 10, 1, row=[0, 1, 0, 2, 1, 1]))
    good("route-rows-inner", route(w, 5, 5, 2, row=[0, 1, 0, 2, 1, 1]))
    good("route-rows-1-column", route(w, 5, 1, 1, row=[rng.randrange(4) for _ in range(56)] + [0, 1, 2, 3]))
    good("route-columns", route(w, 5, 6, 1, column=[1, 0, 0, 2, 1, 1]))
    good("route-columns-inner", route(w, 5, 6, 5, column=[1, 0, 0, 2, 1, 1]))
    good("route-columns-1-row", route(w, 5, 60, 1, column=[i % 32 for i in range(60)]))
    good("route-both", route(w, 5, 6, 1, row=[0, 1] * 5, column=[0, 1, 2, 0, 1, 2], table=[0, 1, 2, 3, 4, 5]))
    good("route-both-inner", route(w, 5, 5, 3, row=[0, 2, 1, 0], column=[0, 1, 1, 0, 0], table=[0, 1, 1, 2, 2, 0]))
    good("route-both-2", route(w, 5, 5, 2, row=[3, 0, 2, 1, 0, 0], column=[0, 1, 2, 1, 0], table=[0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1]))
    good("route-32", route(some(8, 32 * 33), 8, 33, 1, row=[31 - i for i in range(32)], column=[i % 32 for i in range(33)], table=[i * 5 % 32 for i in range(1024)],
                           codings=(packed, rans, huffman), lanes=1))
    for name, coding in (("packed", packed), ("huffman", huffman), ("rans", rans), ("zstd", zstd), ("lzma2", lzma2)):
        good(f"route-classes-{name}", route(w, 5, 6, 1, row=row, column=column, table=table, codings=(coding,) * 3))
    bits = [Table(1, [0, 1], 8), Table(2, [0, 1, 2, 2], 8)]
    good("route-classes-shared", route(w, 5, 6, 1, row=row, column=column, table=table, codings=(shared(bits, 1), shared(bits, 0), shared(bits, 1))), codebook_of(bits))
    good("route-one-word-in-a-class", route([3, 9, 9], 4, 3, 1, column=[0, 1, 1]))
    good("route-child", merge(0, const(4, 60, 9), mapped(route(some(4, 60), 4, 10, 1, row=[0, 1, 0, 2, 1, 1]), 2)))


def make_good_tables():
    for b in (1, 2, 3, 7, 8, 9, 12):
        for lanes in range(4):
            words = [x >> k for x in skewed(b, 100, 0.1) for k in (0, b // 2, b // 3)]
            good(f"route-width-{b}-{lanes}", route(words, b, 3, 1, column=[0, 2, 1], lanes=lanes, scale=9 if b > 8 else 8))
    for scale in range(8, 15):
        for lanes in range(4):
            n = 2**scale // 2 if scale > 8 else 64
            good(f"route-scale-{scale}-{lanes}", route(skewed(6, n), 6, 2, 1, column=[0, 1], scale=scale, precision=(scale + lanes) % 8, lanes=lanes))
    for n in (2, 4, 14, 16, 18, 62, 64, 66, 130):
        for lanes in range(4):
            for tail in (None, 0, 1, 2):
                if (tail or 0) <= 1 or LANES[lanes] < n:
                    good(f"route-words-{n}-{lanes}-{tail}", route(skewed(4, n), 4, 2, 1, column=[0, 1], lanes=lanes, tail=tail))
    good("route-32-tables-of-2-14", route(skewed(12, 2**13, 0.1), 12, 32, 1, column=list(range(32)), scale=14, precision=3, lanes=3))

    # Each table begins anew: with a run of level 0 where the one before ends with one, and with 1 as the level before its first.
    tables = [Table(8, None, 8, 0, f, rest) for f, rest in (({7: 1, 9: 255}, 9), ({0: 254, 100: 1, 101: 1}, 0), ({200: 128, 255: 128}, 200), ({3: 64, 4: 192}, 4))]
    words = [rng.choice(list(t.frequencies)) for _ in range(40) for t in tables]
    good("route-tables", route(words, 8, 4, 1, column=[0, 1, 2, 3], tables=tables))
    flat = Table(8, None, 10, 3, dict.fromkeys(range(256), 4))
    good("route-tables-equal", route(some(8, 600), 8, 3, 1, column=[2, 0, 1], tables=[flat] * 3))
    # Together they fill whole bytes, but alone they do not.
    tables = [Table(4, None, 8, 7, {i: 9, i + 1: 247}) for i in range(8)]
    assert tables_stream(tables) == tables_stream(tables, 1) and tables[0].stream() != tables[0].stream(1)
    good("route-tables-no-padding", route([i + (j & 1) for j in range(5) for i in range(8)], 4, 8, 1, column=list(range(8)), tables=tables))


def make_odd_routes():
    """What nothing forbids."""
    w = list(range(60))
    # Only the classes of words need words, not those of rows and columns.
    good("route-unused-row-class", route(w, 8, 6, 1, row=[0, 1] * 5, R=3, column=[0, 1] * 3, table=[0, 1, 1, 0, 1, 0]))
    good("route-more-row-classes-than-rows", route(w, 8, 6, 2, row=[0, 1, 2, 3, 30], R=32, column=[0, 1] * 3, table=[0, 1] * 32))
    good("route-map-unused", route(w, 8, 6, 1, row=[0, 1] * 5, column=[0, 1] * 3, table=[0, 0, 1, 1]))
    # A class's table may have symbols that none of its words is, and give the same frequencies as another's.
    table = Table(8, None, 8, 7, {1: 100, 2: 100, 3: 50, 200: 6}, 2)
    for lanes in range(4):  # nor need the last words of lanes be of it
        good(f"route-without-codes-{lanes}", route([1, 2] * 64 + [1] * (LANES[lanes] % 2) + [0] * LANES[lanes], 8, 2, 1, column=[0, 1], tables=[table] * 2, lanes=lanes, tail=2))
    good("route-symbols-unused", route([1, 2] * 30, 8, 2, 1, column=[0, 1], tables=[table] * 2))


def make_bad_routes():
    make_bad_classes()
    make_bad_tables()
    make_bad_payloads()


def make_bad_classes():
    w = list(range(60))
    row, column = [0, 1, 0, 2, 1, 1], [1, 0, 0, 2, 1, 1]
    r = route(w, 8, 10, 1, row=row)
    for b in (13, 16, 64):
        bad(f"route-{b}-bit", f"route of {b}-bit", route([1, 2] * 30, b, 10, 1, row=row))
    bad("route-columns-0", "grid", patched(r, 1, [0]))
    bad("route-inner-0", "grid", patched(r, 2, [0]))
    bad("route-grid", "grid", patched(r, 1, [7]))
    bad("route-grid-large", "grid", patched(r, 1, [120]))
    bad("route-R-0", "row or column classes", patched(r, 3, [0]))
    bad("route-R-33", "row or column classes", patched(r, 3, [33]))
    bad("route-C-0", "row or column classes", patched(r, 4, [0]))
    bad("route-C-33", "row or column classes", patched(r, 4, [33, 33]))
    bad("route-K-0", "number of classes", patched(r, 5, [0]))
    bad("route-K-33", "number of classes", patched(r, 5, [33]))
    bad("route-K-not-R", "number of classes of words is not", patched(r, 5, [2]))
    bad("route-K-not-C", "number of classes of words is not", patched(route(w, 8, 6, 1, column=column), 5, [4]))
    bad("route-R-1-C-1", "number of classes of words is not", patched(r, 3, [1, 1, 2]))
    # One class of words, with the table and the payload that it would take.
    one = Table(8, None, 8, 7, {1: 100, 2: 156})
    rest = one.parameters() + one.stream() + sized(one.payload([1, 2] * 30, 0))
    bad("route-K-1", "number of classes", Node(8, [1, 2] * 30, op(8) + bytes([10, 1, 1, 1, 1]) + rest))
    zeros = lit_code(1, [0] * 6, packed)
    bad("route-K-1-map", "number of classes", Node(8, [1, 2] * 30, op(8) + bytes([10, 1, 2, 1, 1]) + zeros + rest))
    bad("route-row-class", "class is out of range", route(w, 8, 10, 1, row=row[:-1] + [3], R=3, K=3))
    bad("route-column-class", "class is out of range", route(w, 8, 6, 1, column=column[:-1] + [3], C=3, K=3))
    bad("route-map-class", "class is out of range", route(w, 8, 6, 1, row=[0, 1] * 5, column=[0, 1] * 3, table=[0, 1, 2, 3], K=3))
    bad("route-row-class-8-bits", "exceeds the width", route(w, 8, 10, 1, row=row[:-1] + [255], R=3, K=3))
    bad("route-no-words", "without words", route(w, 8, 10, 1, row=[0, 0, 0, 2, 2, 2]))
    bad("route-no-words-last", "without words", route(w, 8, 10, 1, row=row, R=4, K=4))
    bad("route-no-words-column", "without words", route(w, 8, 6, 1, column=[0, 2] * 3))
    bad("route-no-words-map", "without words", route(w, 8, 6, 1, row=[0] * 10, R=2, column=[0, 1] * 3, table=[0, 0, 1, 1]))
    behind = 6 + len(lit_code(2, row))
    for name, code in (("const", op(2) + b"\0"), ("map", op(5) + b"\0\1" + lit_code(2, row)), ("repeat", op(4, 4) + lit_code(2, [0]))):
        bad(f"route-classes-{name}", "where a literal must be", Node(8, w, r.code[:6] + code + r.code[behind:]))
    # Two rules are broken, the one of the classes and one behind it.
    bad("route-classes-first", "class is out of range", Node(8, w, r.code[:6] + lit_code(2, row[:-1] + [3])))
    bad("route-classes-payload", "wrong|damaged|fewer|ends", Node(8, w, r.code[:6] + op(1, 5) + sized(b"\x28\xB5\x2F\xFD\0") + r.code[behind:]))


def make_bad_tables():
    w, column = [1, 2, 3, 1, 9, 2] * 10, [0, 1]
    table = Table(8, None, 8, 7, {1: 100, 2: 100, 3: 50, 9: 6}, 2)
    r = route(w, 8, 2, 1, column=column, tables=[table] * 2)
    size = len(r.code) - len(tables_stream([table] * 2)) - 1 - len(sized(table.payload(w, 0)))  # of what stands before `parameters`

    def with_stream(words, *parts, scale=8, precision=7, end=sized(rans_states(0, [1 << 15]))):
        return Node(8, words, r.code[:size] + rans_parameters(scale, precision, 0) + b"".join(parts) + end)
    bad("route-no-parameters", "ends too early", Node(8, w, r.code[:size]))
    bad("route-scale-7", "sum of the frequencies is out", route(w, 8, 2, 1, column=column, tables=[table] * 2, parameters=u(7 | 7 << 5, 1)))
    # What counts is the words of all classes, not those of each.
    bad("route-scale-few", "too large for so few", route([1, 2] * 127, 8, 2, 1, column=column, scale=9))
    bad("route-scale-few-14", "too large for so few", route([1, 2] * 4095, 8, 2, 1, column=column, scale=14))
    good("route-scale-just-enough", route([1, 2] * 128, 8, 2, 1, column=column, scale=9))

    bad("route-no-tables", "ends too early", with_stream(w, end=b""))
    bad("route-tables-cut", "ends too early", with_stream(w, tables_stream([table] * 2)[:-1], end=b""))
    bad("route-1-table-of-2", "ends too early", with_stream(w, table.stream(), end=b""))
    for number in (2, 4):  # all is there, but for one table too few or too many
        bad(f"route-{number}-tables-of-3", "table|payload|early", route([1, 2, 3] * 20, 8, 3, 1, column=[0, 1, 2], tables=[table] * 3, stream=tables_stream([table] * number)))
    assert table.stream() != table.stream(1)
    bad("route-padding-between-tables", "table|payload|early", with_stream(w, table.stream(), table.stream(), end=sized(table.payload(w, 0))))
    two = [table, Table(8, None, 8, 7, {1: 1, 2: 255})]
    assert tables_stream(two) != tables_stream(two, 1)
    bad("route-table-padding", "padding of a table", route(w, 8, 2, 1, column=column, tables=two, stream=tables_stream(two, 1)))
    bad("route-tables-padding-byte", "payload", with_stream(w, tables_stream([table] * 2), b"\0", end=sized(table.payload(w, 0))))
    # Of another scale than `parameters` says, or another precision.
    half = Table(8, None, 9, 7, {1: 200, 2: 90, 3: 222}, 3)
    bad("route-tables-scale", "leave nothing", with_stream(w, tables_stream([table, half])))
    bad("route-tables-precision", "table|payload|early|leave", with_stream(w, tables_stream([table] * 2), precision=2))

    # Each rule of a table, in the one of the second class.
    def second(build):
        bits = Bits()
        table.put(bits)
        build(bits)
        return with_stream(w, bits.bytes())

    def start(bits, first, span, rest):
        bits.put(first, 8)
        bits.put(span, 8)
        bits.put(rest, (span + 1).bit_length())
    bad("route-table-range", "symbol exceeds the width", second(lambda t: (start(t, 255, 0, 0), t.text("1"))))
    bad("route-table-rest", "not listed is out of range", second(lambda t: (start(t, 0, 1, 3), t.text("11"))))
    bad("route-table-no-rest", "leave nothing", second(lambda t: (start(t, 0, 1, 2), t.text("0010"), t.gap(6), t.put(0, 7), t.text("1"), t.put(0, 7))))
    bad("route-table-first-0", "first or the last", second(lambda t: (start(t, 0, 1, 1), t.text("000"), t.gap(1), t.text("1"))))
    bad("route-table-last-0", "first or the last", second(lambda t: (start(t, 0, 1, 1), t.text("1"), t.text("000"), t.gap(1))))
    bad("route-table-run-past", "goes on past", second(lambda t: (start(t, 0, 2, 3), t.text("1"), t.text("000"), t.gap(3))))
    bad("route-table-run-rest-run", "follows another", second(lambda t: (start(t, 0, 4, 2), t.text("1"), t.text("000"), t.gap(1), t.text("000"), t.gap(2), t.text("11"))))
    bad("route-table-level-0", "level is out of range", second(lambda t: (start(t, 0, 0, 0), t.text("011"))))
    bad("route-table-level-9", "level is out of range", second(lambda t: (start(t, 0, 0, 0), t.text("0010"), t.gap(7))))
    bad("route-table-gap", "too long", second(lambda t: (start(t, 0, 250, 0), t.text("000"), t.text("0" * 12 + "1"), t.put(0, 12))))
    # The level before a table's first is 1, not the one that the table before ends with.
    ends_high = Table(8, None, 8, 7, {1: 128, 2: 100, 3: 28}, 2)
    bits = Bits()
    ends_high.put(bits)
    start(bits, 1, 0, 0)
    bits.text("0011")
    bits.gap(1)  # two below
    bad("route-table-level-carried", "level is out of range", with_stream(w, bits.bytes()))


def make_bad_payloads():
    w, column = [1, 2, 3, 1, 9, 2] * 120, [0, 1]
    tables = [Table(8, None, 8, 7, {1: 100, 2: 100, 3: 50, 9: 6}, 2), Table(8, None, 8, 7, {1: 3, 2: 53, 9: 200}, 9)]

    def with_payload(payload, words=w, lanes=0, **kw):
        return route(words, 8, 2, 1, column=column, tables=tables, payload=payload, lanes=lanes, **kw)
    whole = route(w, 8, 2, 1, column=column, tables=tables)
    head = len(with_payload(b"").code) - 1
    payload = whole.code[head + 2:]
    assert with_payload(payload).code == whole.code and len(payload) in range(128, 16384)
    bad("route-no-size", "ends too early", Node(8, w, whole.code[:head]))
    bad("route-size-varint", "shortest", Node(8, w, whole.code[:head] + u(len(payload) & 127 | 128, 1) + u(len(payload) >> 7 | 128, 1) + b"\0" + payload))
    bad("route-size-beyond", "ends too early", Node(8, w, whole.code[:head] + varint(len(payload) + 2) + payload))
    bad("route-size-huge", "ends too early", Node(8, w, whole.code[:head] + varint(2**64 - 2) + payload))
    bad("route-rest", "follows the program", Node(8, w, whole.code + b"\0\0"))
    for lanes in range(4):
        bad_payloads("route", lanes, tables, lambda words, data, l=lanes: with_payload(data, words, l))
    bad("route-missing-unit", "payload", with_payload(payload[:8] + payload[10:]))
    # Each word decoded with the table of another class.
    bad("route-classes-swapped", "payload|state|checksum", route(w, 8, 2, 1, column=column, tables=tables, stream=tables_stream(tables[::-1])))
    # Rules of the program come before what a payload holds: here the second one of two routes breaks one.
    broken = with_payload(rans_states(0, [1 << 16]))
    bad("route-payload-alone", "rANS payload", concat(broken, const(8, 1, 1)))
    bad("route-payload-and-value", "const", Node(8, w + [1], op(3) + varint(len(w)) + broken.code + op(2) + varint(256)))
    bad("route-payload-and-table", "table", concat(broken, with_payload(rans_states(0, [1 << 15]), stream=tables_stream(tables)[:-1] + b"\xFF" * 30)))
    bad("route-payload-and-flags", "exceeds the width", concat(broken, flip(lit(8, [1, 2], raw), 2, 1, [0, 2])))
