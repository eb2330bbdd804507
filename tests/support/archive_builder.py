# SPDX-License-Identifier: Apache-2.0
"""Builds archives by hand: bytes, literals, nodes, records, files, as docs/FORMAT.md has them, well-formed or not.

Each node is built together with the words that it yields, computed by the formulas of the page on Python integers; nothing here is shared with a decoder.
"""

import hashlib
import heapq
import itertools
import lzma

import xxhash
import zstandard


def u(value, size):
    return value.to_bytes(size, "little")


def varint(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def xxh3(data, seed=0):
    return xxhash.xxh3_64_intdigest(data, seed)


class Bits:
    def __init__(self):
        self.bits = []

    def put(self, value, width):
        self.bits += [value >> i & 1 for i in range(width)]

    def text(self, text):
        self.bits += [int(c) for c in text]

    def gap(self, g):
        k = g.bit_length() - 1
        self.text("0" * k + "1")
        self.put(g - (1 << k), k)

    def bytes(self, padding=0):
        bits = self.bits + [0] * (-len(self.bits) % 8)
        if padding and len(self.bits) % 8:
            bits[-1] = 1
        return bytes(sum(bits[i + j] << j for j in range(8)) for i in range(0, len(bits), 8))


def put_levels(bits, levels, after=lambda i, level: None):
    last, i = 1, 0
    while i < len(levels):
        level = levels[i]
        if level == 0:
            run = len(list(itertools.takewhile(lambda l: l == 0, levels[i:])))
            bits.text("000")
            bits.gap(run)
            i += run
            continue
        step = level - last
        if step == 0:
            bits.text("1")
        elif abs(step) == 1:
            bits.text("01" + ("1" if step < 0 else "0"))
        else:
            bits.text("001" + ("1" if step < 0 else "0"))
            bits.gap(abs(step) - 1)
        last = level
        after(i, level)
        i += 1


# ---- Codings: each takes width and words, and returns (number, bytes) ----

def per_word(width):
    return (width + 7) // 8


def raw_bytes(width, words):
    return b"".join(u(w, per_word(width)) for w in words)


def raw(width, words):
    return 0, raw_bytes(width, words)


def packed(width, words, base=None, bits=None, padding=0):
    base = min(words) if base is None else base
    bits = max(w - base for w in words).bit_length() if bits is None else bits
    stream = Bits()
    for w in words:
        stream.put(w - base, bits)
    return 1, varint(base) + u(bits, 1) + stream.bytes(padding)


def zstd(width, words, level=3, **kw):
    frame = zstandard.ZstdCompressor(level=level, **kw).compress(raw_bytes(width, words))
    return 5, varint(len(frame)) + frame


LZMA2 = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 24, "preset": 6}]


def lzma2_stream(data):
    return lzma.compress(data, lzma.FORMAT_RAW, filters=LZMA2)


def lzma2(width, words):
    stream = lzma2_stream(raw_bytes(width, words))
    return 6, varint(len(stream)) + stream


def huffman_lengths(words):
    counts = {}
    for w in words:
        counts[w] = counts.get(w, 0) + 1
    if len(counts) == 1:
        counts[next(iter(counts)) ^ 1] = 0
    while True:
        heap = [(c, s, [s]) for s, c in counts.items()]
        heapq.heapify(heap)
        lengths = dict.fromkeys(counts, 0)
        while len(heap) > 1:
            a, b = heapq.heappop(heap), heapq.heappop(heap)
            for s in a[2] + b[2]:
                lengths[s] += 1
            heapq.heappush(heap, (a[0] + b[0], a[1], a[2] + b[2]))
        if max(lengths.values()) <= 15 and 1 << max(lengths.values()) <= 32 * len(words):
            return lengths
        counts = {s: c // 2 + 1 for s, c in counts.items()}


def huffman_codes(lengths):
    codes, code, before = {}, 0, None
    for length, s in sorted((l, s) for s, l in lengths.items()):
        code = 0 if before is None else code + 1 << length - before
        codes[s], before = (code, length), length
    return codes


def huffman_table(width, lengths, longest, padding=0):
    first, final = min(lengths), max(lengths)
    bits = Bits()
    bits.put(first, width)
    bits.put(final - first - 1, width)
    put_levels(bits, [longest + 1 - lengths[s] if s in lengths else 0 for s in range(first, final + 1)])
    return bits.bytes(padding)


def huffman(width, words, lengths=None, longest=None, padding=0, more=b"", table=None, table_padding=0):
    lengths = lengths or huffman_lengths(words)
    longest = longest or max(lengths.values())
    codes, stream = huffman_codes(lengths), Bits()
    for w in words:
        code, length = codes[w]
        stream.text(f"{code:0{length}b}")
    payload = stream.bytes(padding) + more
    return 2, u(longest, 1) + (table or huffman_table(width, lengths, longest, table_padding)) + varint(len(payload)) + payload


class Table:
    """A table of frequencies for rANS; from words, or given as a dictionary."""

    def __init__(self, width, words=None, scale=8, precision=7, frequencies=None, rest=None):
        self.width, self.scale, self.precision = width, scale, precision
        if frequencies is None:
            counts = {}
            for w in words:
                counts[w] = counts.get(w, 0) + 1
            if len(counts) == 1:
                counts[next(iter(counts)) ^ 1] = 0
            top = max(counts, key=counts.get) if rest is None else rest
            total, share = max(sum(counts.values()), 1), (1 << scale) - len(counts)
            frequencies = {}
            for s, c in counts.items():
                f = max(1, c * share // total)
                level = f.bit_length()
                low = level - 1 - min(level - 1, precision)
                frequencies[s] = f >> low << low
            frequencies[top] = 0
            frequencies[top] = (1 << scale) - sum(frequencies.values())
            rest = top
        self.frequencies, self.rest = frequencies, max(frequencies, key=frequencies.get) if rest is None else rest
        self.first, self.final = min(frequencies), max(frequencies)
        assert sum(frequencies.values()) == 1 << scale and frequencies[self.rest] >= 1 and len(frequencies) >= 2
        start = 0
        self.starts = {}
        for s in sorted(frequencies):
            self.starts[s] = start
            start += frequencies[s]

    def put(self, bits):
        bits.put(self.first, self.width)
        bits.put(self.final - self.first - 1, self.width)
        bits.put(self.rest - self.first, (self.final - self.first).bit_length())
        listed = [self.frequencies.get(s, 0) for s in range(self.first, self.final + 1) if s != self.rest]

        def mantissa(i, level):
            q = min(level - 1, self.precision)
            m = (listed[i] >> level - 1 - q) - (1 << q)
            assert (1 << q) + m << level - 1 - q == listed[i]
            bits.put(m, q)
        put_levels(bits, [f.bit_length() for f in listed], mantissa)

    def stream(self, padding=0):
        return tables_stream([self], padding)

    def parameters(self, lanes=0):
        return rans_parameters(self.scale, self.precision, lanes)

    def shared(self):
        return u(self.width, 1) + self.parameters() + self.stream()

    def payload(self, words, lanes, **kw):
        return rans_payload([(self, word) for word in words], lanes, **kw)


def tables_stream(tables, padding=0):
    bits = Bits()
    for table in tables:
        table.put(bits)
    return bits.bytes(padding)


def rans_parameters(scale, precision, lanes):
    return u(scale - 8 | lanes << 3 | precision << 5, 1)


LANES = (1, 4, 16, 64)


def rans_step(x, table, word):
    f = table.frequencies[word]
    return (x // f << table.scale) + x % f + table.starts[word]


def rans_tail(coded, tail, lanes, last):
    """The states once the last words are in them, `tail` of each lane, and how many words those are."""
    states, count = [last.get(lane, 0) for lane in range(lanes)], min(len(coded), tail * lanes)
    for i in range(len(coded) - 1, len(coded) - 1 - count, -1):
        lane, (table, word) = i % lanes, coded[i]
        states[lane] = rans_step(states[lane], table, word) if i < len(coded) - lanes else last.get(lane, word)
    return states, count


def longest_tail(coded, lanes, last):
    needed = -(-len(coded) // lanes)
    return max(k for k in range(min(needed, 15) + 1) if max(rans_tail(coded, k, lanes, last)[0]) < 2**31 - 2**15)


def rans_states(tail, states, padding=0):
    bits = Bits()
    bits.put(tail, 4)
    for x in states:
        size = x.bit_length() - 1
        bits.put(size - 15, 4)
        bits.put(x - (1 << size), size)
    return bits.bytes(padding)


def rans_payload(coded, lanes, tail=None, says_tail=None, last=None, padding=0):
    """The payload of pairs of a table and a word, with a tail as long as it can be if none is given. last[LANE] is what that lane begins with, to an encoder, where
    it should be its last word, or 0 if there is no tail or no such word."""
    count, units = LANES[lanes], []
    tail = longest_tail(coded, count, last or {}) if tail is None else tail
    states, size = rans_tail(coded, tail, count, last or {})
    states = [x + 2**15 for x in states]
    for i in reversed(range(len(coded) - size)):
        table, word = coded[i]
        x = states[i % count]
        if x >= table.frequencies[word] << 31 - table.scale:
            units.append(x & 65535)
            x >>= 16
        states[i % count] = rans_step(x, table, word)
    return rans_states(tail if says_tail is None else says_tail, states, padding) + b"".join(u(x, 2) for x in reversed(units))


def sized(payload):
    return varint(len(payload)) + payload


def rans(width, words, scale=8, precision=7, lanes=0, table=None, rest=None, **kw):
    table = table or Table(width, words, scale, precision, rest=rest)
    return 3, table.parameters(lanes) + table.stream() + sized(table.payload(words, lanes, **kw))


def shared(tables, number, lanes=0, **kw):
    return lambda width, words: (4, u(number, 1) + u(lanes, 1) + sized(tables[number].payload(words, lanes, **kw)))


# ---- Nodes ----

class Node:
    def __init__(self, width, words, code, nodes=1):
        self.b, self.words, self.code, self.nodes = width, list(words), code, nodes


def op(number, s=0):
    return u(number | s << 4, 1)


def lit_code(width, words, coding=raw):
    number, code = coding(width, words)
    return op(1, number) + code


def lit(width, words, coding=raw):
    return Node(width, words, lit_code(width, words, coding))


def const(width, n, value):
    return Node(width, [value] * n, op(2) + varint(value))


def count_code(number, k):
    return op(number, k - 2) if k <= 16 else op(number, 15) + varint(k)


def joined(children):
    return b"".join(c.code for c in children)


def total(children):
    return 1 + sum(c.nodes for c in children)


def concat(*children):
    code = count_code(3, len(children)) + b"".join(varint(len(c.words)) for c in children[:-1])
    return Node(children[0].b, [w for c in children for w in c.words], code + joined(children), total(children))


def repeat(child, k):
    return Node(child.b, child.words * k, count_code(4, k) + child.code, child.nodes + 1)


def map_word(f, x, b, c):
    if f == 0:
        return x ^ c
    if f == 1:
        return (x + c) % 2**b
    if f == 2:
        return 2 * x if x < 2**(b - 1) else 2 * (2**b - x) - 1
    if f == 3:
        return x // 2 if x % 2 == 0 else 2**b - (x + 1) // 2
    if f == 4:
        return x ^ x // 2
    if f == 5:
        out = 0
        for i in range(b - 1, -1, -1):  # each bit of a word is that of its Gray code XOR the word's next higher bit
            out |= (x >> i & 1 ^ (out >> i + 1 & 1)) << i
        return out
    if f == 6:
        return int(f"{x:0{b}b}"[::-1], 2)
    text = f"{x:0{b}b}"
    return int(text[c:] + text[:c], 2)


def mapped(child, f, c=None):
    argument = varint(c) if f <= 1 else u(c, 1) if f == 7 else b""
    return Node(child.b, [map_word(f, x, child.b, c) for x in child.words], op(5) + u(f, 1) + argument + child.code, child.nodes + 1)


def scan(child, f, first):
    words = [first]
    for x in child.words:
        words.append((words[-1] + x) % 2**child.b if f else words[-1] ^ x)
    return Node(child.b, words, op(6) + u(f, 1) + varint(first) + child.code, child.nodes + 1)


def merge(form, *children):
    words = []
    for parts in zip(*(c.words for c in children)):
        words.append(int("".join(f"{x:0{c.b}b}" for x, c in zip(parts, children)), 2))
    code = op(7, form) + (u(len(children), 1) + bytes(c.b for c in children[:-1]) if form == 0 else b"")
    return Node(sum(c.b for c in children), words, code + joined(children), total(children))


def grid_at(i, columns, inner):
    return i // (columns * inner), i // inner % columns


def route(words, b, columns, inner, row=None, column=None, table=None, codings=(raw, raw, raw), R=None, C=None, K=None, tables=None, scale=8, precision=7, lanes=0,
          parameters=None, stream=None, payload=None, **kw):
    """The class of a row, of a column, and the map, where there are any; a table of frequencies for each class, made of its words if tables has none."""
    R, C, K = R or (max(row) + 1 if row else 1), C or (max(column) + 1 if column else 1), K or max(table or row or column) + 1
    places = [grid_at(i, columns, inner) for i in range(len(words))]
    classes = [table[row[r] * C + column[c]] if table else row[r] if row else column[c] for r, c in places]
    classes = [k % K for k in classes]  # what is out of range has some table too
    code = op(8) + varint(columns) + varint(inner) + bytes([R, C, K])
    for side, limit, coding in zip((row, column, table), (R, C, K), codings):
        if side:
            code += lit_code((limit - 1).bit_length(), side, coding)
    if tables is None:
        tables = [Table(b, [w for w, k in zip(words, classes) if k == number] or [0, 1], scale, precision) for number in range(K)]
    code += parameters or rans_parameters(tables[0].scale, tables[0].precision, lanes)
    code += stream or tables_stream(tables)
    return Node(b, words, code + sized(rans_payload([(tables[k], w) for w, k in zip(words, classes)], lanes, **kw) if payload is None else payload))


def escape(b, base, codes, escaped=None):
    queue, words = iter(escaped.words if escaped else []), []
    for code in codes.words:
        words.append(next(queue) if escaped and code == 2**codes.b - 1 else base + code)
    children = [codes] + ([escaped] if escaped else [])
    code = op(9) + u(codes.b, 1) + varint(base) + varint(len(escaped.words) if escaped else 0)
    return Node(b, words, code + joined(children), total(children))


def escape_of(words, b, w, base, coding=raw, second=lit):
    top = 2**w - 1
    codes = [x - base if 0 <= x - base < top else top for x in words]
    escaped = [x for x, c in zip(words, codes) if c == top]
    node = escape(b, base, lit(w, codes, coding), second(b, escaped) if escaped else None)
    assert node.words == list(words)
    return node


def pack(child, k):
    groups = [child.words[i:i + k] for i in range(0, len(child.words), k)]
    words = [sum(x << i * child.b for i, x in enumerate(group)) for group in groups]
    return Node(child.b * k, words, op(10) + u(k, 1) + child.code, child.nodes + 1)


def flip(child, columns, inner, flags, coding=raw):
    words = [(x ^ flags[grid_at(i, columns, inner)[1]] << child.b - 1) % 2**child.b for i, x in enumerate(child.words)]
    return Node(child.b, words, op(11) + varint(columns) + varint(inner) + lit_code(1, flags, coding) + child.code, child.nodes + 1)


def planes(form, b, widths, words, coding=raw):
    """A merge of literals that yields words."""
    children, below = [], b
    for w in widths:
        below -= w
        children.append(lit(w, [x >> below & (1 << w) - 1 for x in words], coding))
    node = merge(form, *children)
    assert node.words == list(words)
    return node


def widen(node):
    """The node itself if records can have its width; else within a merge that makes it a record's."""
    if node.b in (8, 16, 32, 64):
        return node
    to = next(w for w in (8, 16, 32, 64) if w > node.b)
    return merge(0, const(to - node.b, len(node.words), 1), node)


# ---- The file ----

MAGIC, END = bytes.fromhex("8942524556 49530A"), bytes.fromhex("0A42524556495389")


def record(kind, restored, body, raw_size=None, checksum=None):
    return u(kind, 1) + varint(len(restored) if raw_size is None else raw_size) + u(xxh3(restored) if checksum is None else checksum, 8) + body, restored


def program(node, more=b""):
    # Programs at the limits have millions of bytes as words.
    restored = bytes(node.words) if node.b == 8 else b"".join(u(w, node.b // 8) for w in node.words)
    return record(node.b, restored, node.code + more)


def codebook_of(tables):
    return u(len(tables), 1) + b"".join(t.shared() for t in tables)


def archive(pieces, codebook=b"", layout=0, prior=b"", magic=MAGIC, version=1, features=(), gap=b"", entries=None, count=None, index_more=b"", size=None,
            sha=None, check=None, index_size=None, end=END, codebook_size=None):
    """A piece is a record as above, or the number of an earlier one."""
    records = [p for p in pieces if not isinstance(p, int)]
    original = b"".join(records[p][1] if isinstance(p, int) else p[1] for p in pieces)
    head = magic + u(version, 1) + u(len(features), 1) + b"".join(u(len(f), 1) + f for f in features)
    head += varint(len(codebook)) if codebook_size is None else codebook_size
    head += codebook
    index = u(layout, 1) + u(len(prior), 1) + prior + varint(len(pieces) if count is None else count)
    index += b"".join(varint(2 * p + 1 if isinstance(p, int) else 2 * len(p[0])) for p in pieces) if entries is None else entries
    index += index_more
    tail = u(len(index) if index_size is None else index_size, 8) + u(len(original) if size is None else size, 8)
    tail += hashlib.sha256(original).digest() if sha is None else sha
    tail += u(xxh3(index + tail, xxh3(head)) if check is None else check, 8) + end
    return head + b"".join(r[0] for r in records) + gap + index + tail, original
