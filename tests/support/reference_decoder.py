#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reference decoder for the brevis archive format, version 1.

Written from the format's specification alone, to prove that the page suffices; its sections stand here in the order of the page's, except that
what is used comes before what uses it, and the literals, with what lies below them, in reference_literals.py. It is made to be read, and shares no code
with the product.

    reference_decoder.py ARCHIVE [-o OUT]

Decodes and verifies ARCHIVE, and writes the original to OUT if that is given. Exits with 0 and prints nothing if all is well; otherwise prints one line
to stderr, exits with 1 and leaves OUT as it was. Needs python3-zstandard, python3-xxhash and python3-numpy.
"""

import argparse
import functools
import hashlib
import os
import sys

import numpy

from reference_literals import (
    MAX_CHILDREN, MAX_CLASSES, MAX_CODEBOOK_SIZE, MAX_DEPTH, MAX_ENTROPY_WIDTH, MAX_NODES, MAX_PARAMETER_WORDS, MAX_PIECES, MAX_RAW_SIZE, MAX_REACH,
    MAX_RECORD_SIZE, MAX_SLOTS, MAX_UNPACKED_SIZE, MAX_WORDS, ByteReader, RansParameters, Refused, bytes_per_word, mask_of, parse_compressed,
    parse_huffman, parse_packed, parse_rans, parse_rans_payload, parse_raw, parse_shared, read_codebook, read_rans_tables, require, unpack_lzma2,
    unpack_zstandard, word_type, xxh3)

# ---- Programs --------------------------------------------------------------------------------------------------------

# Functions of map: each takes an array of words x, their width b, and the argument c, a word of the array's type, or r. The arithmetic of an array is
# modulo the size of its type, a multiple of 2**b, so that masking the result is all it takes to have it modulo 2**b.

def zigzag(x, b, _):
    return numpy.where(x >> b - 1, ~(x << 1), x << 1) & mask_of(x, b)  # ~y is -y - 1, thus 2 * (2**b - x) - 1


def unzigzag(x, b, _):
    return numpy.where(x & 1, ~(x >> 1), x >> 1) & mask_of(x, b)


def ungray(x, b, _):
    shift = 1
    while shift < b:
        x = x ^ x >> shift
        shift *= 2
    return x


def reverse(x, b, _):
    return sum((x >> i & 1) << b - 1 - i for i in range(b))


def rotate(x, b, r):
    return (x << r | x >> b - r) & mask_of(x, b)


MAP_XOR, MAP_ADDITION, MAP_ROTATION = 0, 1, 7
MAP_FUNCTIONS = {
    MAP_XOR: lambda x, b, c: x ^ x.dtype.type(c),
    MAP_ADDITION: lambda x, b, c: x + x.dtype.type(c) & mask_of(x, b),
    2: zigzag,
    3: unzigzag,
    4: lambda x, b, _: x ^ x >> 1,
    5: ungray,
    6: reverse,
    MAP_ROTATION: rotate,
}


def merge_widths(form, width):
    """The widths of the children in forms 1 to 6 of merge; they do not sum to the width, or are fewer than 2, where the form does not suit it."""
    if form == 1:
        return [1] * width
    if form == 2:
        return [8] * (width // 8)
    exponent = {3: 8, 4: 5, 5: 11, 6: 4}[form]
    return [1, exponent, max(width - 1 - exponent, 1)]


class ProgramParser:
    """Checks one program; its nodes become functions that yield their words, so that nothing runs before all of it is checked."""

    def __init__(self, reader, codebook):
        self.reader, self.codebook = reader, codebook
        self.nodes = self.parameter_words = self.unpacked_size = self.slots = self.words = 0
        self.times = 1  # that the repeats above a node yield its words

    def node(self, width, count, depth=1):
        self.nodes += 1
        require(self.nodes <= MAX_NODES, "a program has too many nodes")
        require(depth <= MAX_DEPTH, "a program is too deep")
        self.words += count * self.times
        require(self.words <= MAX_WORDS, "the nodes of a program yield too many words")
        op, small = self.op()
        require(op in self.OPS, f"unknown op {op} in a program")
        require(small == 0 or op in self.OPS_WITH_SMALL_NUMBER, f"op {op} with the small number {small}")
        return self.OPS[op](self, small, width, count, depth)

    def op(self):
        """An operator and its small number."""
        byte = self.reader.u8()
        return byte & 15, byte >> 4

    def small_count(self, small):
        if small < 15:
            return small + 2
        count = self.reader.varint()
        require(count >= 17, "a small count is not the shortest form of its value")
        return count

    # Literals

    def lit(self, coding, width, count, _depth):
        if coding == 0:
            return parse_raw(self.reader, width, count)
        if coding == 1:
            return parse_packed(self.reader, width, count)
        if coding == 2:
            return parse_huffman(self.reader, width, count)
        if coding == 3:
            return parse_rans(self.reader, width, count, self.count_slots)
        if coding == 4:
            return parse_shared(self.reader, width, count, self.codebook)
        require(coding in (5, 6), f"unknown coding {coding} of a literal")
        self.unpacked_size += count * bytes_per_word(width)
        require(self.unpacked_size <= MAX_UNPACKED_SIZE, "the Zstandard and LZMA2 literals of a program yield too much")
        return parse_compressed(self.reader, width, count, unpack_zstandard if coding == 5 else unpack_lzma2)

    def count_slots(self, tables, scale):
        self.slots += tables << scale
        require(self.slots <= MAX_SLOTS, "the tables of a program have too many slots")

    def parameter(self, width, count, limit):
        """The words of a lit node that is no child but a parameter, decoded at once; they are less than limit."""
        self.parameter_words += count
        require(self.parameter_words <= MAX_PARAMETER_WORDS, "the classes, maps and flags of a program have too many words")
        op, coding = self.op()
        require(op == 1, f"op {op} where a literal must be")
        words = self.lit(coding, width, count, None)()
        require(int(words.max()) < limit, "a class is out of range")
        return words

    # The other nodes

    def const(self, _small, width, count, _depth):
        value = self.reader.varint()
        require(value < 1 << width, "const: the value exceeds the width")
        return lambda: numpy.full(count, value, word_type(width))

    def concat(self, small, width, count, depth):
        k = self.small_count(small)
        require(k <= MAX_CHILDREN, "concat: too many children")
        lengths = [self.reader.varint() for _ in range(k - 1)]
        lengths.append(count - sum(lengths))
        require(all(length >= 1 for length in lengths[:-1]), "concat: an empty child")
        require(lengths[-1] >= 1, "concat: the children are too long")
        children = [self.node(width, length, depth + 1) for length in lengths]
        return lambda: numpy.concatenate([child() for child in children])

    def repeat(self, small, width, count, depth):
        k = self.small_count(small)
        require(count % k == 0, "repeat: the number of words is not a multiple of the count")
        self.times *= k
        child = self.node(width, count // k, depth + 1)
        self.times //= k
        return lambda: numpy.tile(child(), k)

    def map(self, _small, width, count, depth):
        number = self.reader.u8()
        require(number in MAP_FUNCTIONS, f"map: unknown function {number}")
        argument = None
        if number in (MAP_XOR, MAP_ADDITION):
            argument = self.reader.varint()
            require(1 <= argument < 1 << width, "map: the argument is out of range")
            require(number == MAP_XOR or argument != 1 << width - 1, "map: an addition that is an XOR")
        else:
            require(width >= 2, f"map: function {number} of 1-bit words")
        if number == MAP_ROTATION:
            argument = self.reader.u8()
            require(1 <= argument < width, "map: the rotation is out of range")
        child = self.node(width, count, depth + 1)
        return lambda: MAP_FUNCTIONS[number](child(), width, argument).astype(word_type(width))

    def scan(self, _small, width, count, depth):
        function = self.reader.u8()
        require(function <= 1, f"scan: unknown function {function}")
        first = self.reader.varint()
        require(first < 1 << width, "scan: the first word exceeds the width")
        require(count >= 2, "scan: fewer than 2 words")
        child = self.node(width, count - 1, depth + 1)

        def yield_words():
            words = numpy.concatenate([numpy.array([first], word_type(width)), child()])
            accumulate = numpy.add.accumulate if function else numpy.bitwise_xor.accumulate
            return accumulate(words, dtype=words.dtype) & mask_of(words, width)
        return yield_words

    def merge(self, form, width, count, depth):
        require(form <= 6, f"merge: unknown form {form}")
        if form == 0:
            k = self.reader.u8()
            require(2 <= k <= MAX_CHILDREN, "merge: the number of children is out of range")
            widths = list(self.reader.take(k - 1))
            widths.append(width - sum(widths))
            require(all(w >= 1 for w in widths), "merge: a child of width 0 or less")
            require(all(widths != merge_widths(other, width) for other in range(1, 7)), "merge: form 0 where another form says the same")
        else:
            widths = merge_widths(form, width)
            require(sum(widths) == width and 2 <= len(widths) <= MAX_CHILDREN, f"merge: form {form} of {width}-bit words")
        children = [self.node(w, count, depth + 1) for w in widths]

        def yield_words():
            words = numpy.zeros(count, word_type(width))
            for w, child in zip(widths, children):
                words = words << words.dtype.type(w) | child().astype(words.dtype)
            return words
        return yield_words

    def grid(self, count):
        """rows, columns and inner of a grid of count words."""
        columns, inner = self.reader.varint(), self.reader.varint()
        require(columns >= 1 and inner >= 1 and count % (columns * inner) == 0, "a grid does not fit the number of words")
        return count // (columns * inner), columns, inner

    def route(self, _small, width, count, _depth):
        require(width <= MAX_ENTROPY_WIDTH, f"route of {width}-bit words")
        rows, columns, inner = self.grid(count)
        row_limit, column_limit, k = self.reader.u8(), self.reader.u8(), self.reader.u8()
        require(1 <= row_limit <= MAX_CLASSES and 1 <= column_limit <= MAX_CLASSES, "route: the number of row or column classes is out of range")
        require(2 <= k <= MAX_CLASSES, "route: the number of classes is out of range")
        pairs = row_limit * column_limit
        by_row, by_column, by_pair = numpy.zeros(rows, numpy.uint8), numpy.zeros(columns, numpy.uint8), numpy.arange(pairs)
        has_map = row_limit > 1 and column_limit > 1
        require(has_map or pairs == k, "route: the number of classes of words is not that of rows or columns")
        if row_limit > 1:
            by_row = self.parameter((row_limit - 1).bit_length(), rows, row_limit)
        if column_limit > 1:
            by_column = self.parameter((column_limit - 1).bit_length(), columns, column_limit)
        if has_map:
            by_pair = self.parameter((k - 1).bit_length(), pairs, k)

        # How many words each pair of a row class and a column class has; those of its pairs are those of a class.
        words_of_pair = numpy.outer(numpy.bincount(by_row, minlength=row_limit), numpy.bincount(by_column, minlength=column_limit)).ravel() * inner
        require(all(words_of_pair[by_pair == number].sum() for number in range(k)), "route: a class without words")

        parameters = RansParameters(self.reader.u8())
        parameters.require_words(count)
        self.count_slots(k, parameters.scale)
        tables = read_rans_tables(self.reader, width, parameters, k)

        def classes():
            pair = by_row.astype(numpy.uint16)[:, None] * numpy.uint16(column_limit) + by_column
            return numpy.repeat(by_pair.astype(numpy.uint8)[pair], inner)
        return parse_rans_payload(self.reader, tables, parameters.lanes, count, classes)

    def escape(self, _small, width, count, depth):
        w, base, escaped_count = self.reader.u8(), self.reader.varint(), self.reader.varint()
        require(1 <= w < width or w == width and base == 0, "escape: the width of the codes is out of range")
        require(escaped_count <= count, "escape: more escaped words than words")
        require(base + (1 << w) - 1 < 1 << width, "escape: a code exceeds the width")
        child = self.node(w, count, depth + 1)
        escaped = self.node(width, escaped_count, depth + 1) if escaped_count else None

        def yield_words():
            codes = child()
            words = codes.astype(word_type(width))
            words = words + words.dtype.type(base)
            if escaped:
                is_escaped = codes == mask_of(codes, w)
                require(numpy.count_nonzero(is_escaped) == escaped_count, "escape: fewer or more escaped words than announced")
                words[is_escaped] = escaped()
            return words
        return yield_words

    def pack(self, _small, width, count, depth):
        k = self.reader.u8()
        require(k >= 2 and width % k == 0, "pack: the width is not a multiple of the count")
        child = self.node(width // k, count * k, depth + 1)

        def yield_words():
            parts = child().reshape(count, k)
            words = numpy.zeros(count, word_type(width))
            for i in range(k):
                words |= parts[:, i].astype(words.dtype) << words.dtype.type(i * (width // k))
            return words
        return yield_words

    def flip(self, _small, width, count, depth):
        rows, columns, inner = self.grid(count)
        flags = self.parameter(1, columns, 2)
        child = self.node(width, count, depth + 1)

        def yield_words():
            words = child().reshape(rows, columns, inner)
            return (words ^ (flags.astype(words.dtype) << words.dtype.type(width - 1))[:, None]).ravel()
        return yield_words

    OPS = {1: lit, 2: const, 3: concat, 4: repeat, 5: map, 6: scan, 7: merge, 8: route, 9: escape, 10: pack, 11: flip}
    OPS_WITH_SMALL_NUMBER = (1, 3, 4, 7)


# ---- Record ----------------------------------------------------------------------------------------------------------

class Record:
    """The head of a record; restore() does the rest."""

    def __init__(self, data, pos, end, what, codebook):
        self.what, self.reader, self.codebook = what, ByteReader(data, pos, end, what), codebook
        self.kind = self.reader.u8()
        require(self.kind in (0, 1, 8, 16, 32, 64), f"{what} has the unknown kind {self.kind}")
        self.raw_size = self.reader.varint()
        require(1 <= self.raw_size <= MAX_RAW_SIZE, f"{what}: raw_size is out of range")
        require(self.kind <= 1 or self.raw_size % (self.kind // 8) == 0, f"{what}: raw_size is not a multiple of the words' size")
        self.checksum = self.reader.number(8)
        self.body = self.reader.pos

    def restore(self, reach=b""):
        """What it restores; reach is needed by chained records only, kind 1."""
        self.reader.pos, self.reader.what = self.body, "the body"
        try:
            restored = self.restore_bytes(reach) if self.kind <= 1 else self.restore_words()
        except Refused as refusal:
            raise Refused(f"{self.what}: {refusal}") from None
        require(xxh3(restored) == self.checksum, f"{self.what}: wrong checksum")
        return restored

    def restore_bytes(self, reach):
        coding = self.reader.u8()
        require(coding <= 2 and (coding > 0 or self.kind == 0), f"unknown coding {coding} of bytes of kind {self.kind}")
        payload = self.reader.take(self.reader.end - self.reader.pos)
        if coding == 1:
            return unpack_zstandard(payload, self.raw_size, reach)
        if coding == 2:
            return unpack_lzma2(payload, self.raw_size, reach)
        require(len(payload) == self.raw_size, "the body has fewer or more bytes than raw_size")
        return payload

    def restore_words(self):
        program = ProgramParser(self.reader, self.codebook).node(self.kind, self.raw_size * 8 // self.kind)
        require(self.reader.pos == self.reader.end, "something follows the program")
        return program().tobytes()


# ---- The file --------------------------------------------------------------------------------------------------------

MAGIC = bytes.fromhex("89 42 52 45 56 49 53 0A")
END_MARK = bytes.fromhex("0A 42 52 45 56 49 53 89")
TAIL_SIZE = 64


class Archive:
    """Head, index and tail of an archive, checked; pieces() restores the original."""

    def __init__(self, data):
        self.data = data
        head_end = self.read_head()
        index_start = self.read_tail(head_end)
        self.read_index(head_end, index_start)

    def read_head(self):
        require(self.data[:len(MAGIC)] == MAGIC, "not a brevis archive")
        head = ByteReader(self.data, len(MAGIC), len(self.data), "the head")
        version = head.u8()
        require(version == 1, f"unknown version {version}")
        features = [head.take(head.u8()).decode("latin-1") for _ in range(head.u8())]
        require(not features, "unknown features: " + ", ".join(map(ascii, features)))
        codebook_size = head.varint()
        require(codebook_size <= MAX_CODEBOOK_SIZE, "the codebook is too large")
        codebook = head.take(codebook_size)
        self.codebook = read_codebook(ByteReader(codebook, 0, codebook_size, "the codebook"))
        return head.pos

    def read_tail(self, head_end):
        tail_start = len(self.data) - TAIL_SIZE
        require(tail_start >= head_end, "the archive is too short")
        tail = ByteReader(self.data, tail_start, len(self.data), "the tail")
        index_size = tail.number(8)
        self.original_size = tail.number(8)
        self.original_sha256 = tail.take(32)
        checksum = tail.number(8)
        require(tail.take(8) == END_MARK, "the end mark is missing")
        require(index_size <= tail_start - head_end, "the index is larger than the archive")
        index_start = tail_start - index_size
        require(xxh3(self.data[index_start:tail_start + 48], xxh3(self.data[:head_end])) == checksum, "wrong checksum of head, index and tail")
        return index_start

    def read_index(self, head_end, index_start):
        index = ByteReader(self.data, index_start, len(self.data) - TAIL_SIZE, "the index")
        layout = index.u8()
        require(layout <= 2, f"unknown layout {layout}")
        prior_size = index.u8()
        require(prior_size in (0, 32), "the size of the prior is neither 0 nor 32")
        index.take(prior_size)
        piece_count = index.varint()
        require(piece_count <= MAX_PIECES, "too many pieces")
        self.records, self.piece_records = [], []
        pos = head_end
        for _ in range(piece_count):
            entry = index.varint()
            if entry % 2 == 0:
                size = entry // 2
                what = f"record {len(self.records)}"
                require(size <= MAX_RECORD_SIZE, f"{what} is too large")
                require(size <= index_start - pos, f"{what} reaches into the index")
                previous_kind = self.records[self.piece_records[-1]].kind if self.piece_records else None
                self.piece_records.append(len(self.records))
                self.records.append(Record(self.data, pos, pos + size, what, self.codebook))
                pos += size
                require(self.records[-1].kind != 1 or previous_kind in (0, 1), f"{what} is chained, but not behind bytes")
            else:
                require(entry // 2 < len(self.records), f"a piece refers to record {entry // 2}, which no earlier piece uses")
                require(self.records[entry // 2].kind != 1, f"a piece repeats record {entry // 2}, which is chained")
                self.piece_records.append(entry // 2)
        require(index.pos == index.end, "something follows the entries of the index")
        require(pos == index_start, "something lies between the records and the index")
        raw_sizes = sum(self.records[number].raw_size for number in self.piece_records)
        require(raw_sizes == self.original_size, "the sizes of the pieces do not sum to original_size")

    def pieces(self):
        restore = functools.lru_cache(maxsize=8)(lambda number: self.records[number].restore())
        sha256 = hashlib.sha256()
        piece = b""
        for number in self.piece_records:
            piece = self.records[number].restore(bytes(piece[-MAX_REACH:])) if self.records[number].kind == 1 else restore(number)
            sha256.update(piece)
            yield piece
        require(sha256.digest() == self.original_sha256, "wrong SHA-256 of the original")


def main():
    parser = argparse.ArgumentParser(description="Reference decoder for brevis archives.")
    parser.add_argument("archive")
    parser.add_argument("-o", dest="out", help="where to write the original (default: only verify)")
    arguments = parser.parse_args()
    partial = f"{arguments.out}.partial-{os.getpid()}" if arguments.out else os.devnull
    try:
        with open(arguments.archive, "rb") as file, open(partial, "wb") as out:
            out.writelines(Archive(file.read()).pieces())
        if arguments.out:
            os.replace(partial, arguments.out)
    except (Refused, OSError, MemoryError) as error:
        if arguments.out and os.path.exists(partial):
            os.unlink(partial)
        print(f"reference_decoder: {arguments.archive}: {str(error) or 'not enough memory'}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
