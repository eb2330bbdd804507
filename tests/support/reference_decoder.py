#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reference decoder for the brevis archive format, version 1.

Written from the format's specification alone, to prove that the page suffices; its sections stand here in the order of the page's, except that
what is used comes before what uses it. It is made to be read, and shares no code with the product.

    reference_decoder.py ARCHIVE [-o OUT]

Decodes and verifies ARCHIVE, and writes the original to OUT if that is given. Exits with 0 and prints nothing if all is well; otherwise prints one line
to stderr, exits with 1 and leaves OUT as it was. Needs python3-zstandard, python3-xxhash and python3-numpy.
"""

import argparse
import array
import functools
import hashlib
import os
import sys

import numpy
import xxhash
import zstandard

# ---- Limits ----------------------------------------------------------------------------------------------------------

MAX_RAW_SIZE = 16_777_216
MAX_RECORD_SIZE = MAX_RAW_SIZE + 32
MAX_PIECES = 4_194_304
MAX_NODES = 64
MAX_DEPTH = 4
MAX_ENTROPY_WIDTH = 12
MAX_GAP_EXPONENT = 11


class Refused(Exception):
    """The archive breaks a rule of the format."""


def require(condition, message):
    if not condition:
        raise Refused(message)


# ---- Conventions -----------------------------------------------------------------------------------------------------

class ByteReader:
    """Reads data[pos:end] from front to back, and nothing beyond."""

    def __init__(self, data, pos, end, what):
        self.data, self.pos, self.end, self.what = data, pos, end, what

    def take(self, size):
        require(size <= self.end - self.pos, f"{self.what} ends too early")
        self.pos += size
        return self.data[self.pos - size:self.pos]

    def number(self, size):
        """An unsigned little-endian integer of size bytes."""
        return int.from_bytes(self.take(size), "little")

    def u8(self):
        return self.number(1)

    def varint(self):
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 0x7F) << shift
            require(value < 1 << 64, f"{self.what}: a varint exceeds 64 bits")
            if byte < 0x80:
                require(byte != 0 or shift == 0, f"{self.what}: a varint is not the shortest form of its value")
                return value
            shift += 7
            require(shift < 70, f"{self.what}: a varint exceeds 64 bits")


class BitReader:
    """Reads a bit stream that begins where the byte reader stands; finish() moves the latter behind it."""

    def __init__(self, reader):
        self.reader, self.byte, self.left = reader, 0, 0

    def bit(self):
        if self.left == 0:
            self.byte, self.left = self.reader.u8(), 8
        bit = self.byte & 1
        self.byte >>= 1
        self.left -= 1
        return bit

    def number(self, width):
        """The lowest bit comes first."""
        return sum(self.bit() << i for i in range(width))

    def gap(self):
        """A number g >= 1 in the code that levels use."""
        k = 0
        while not self.bit():
            k += 1
            require(k <= MAX_GAP_EXPONENT, "table: a run or a step between levels is too long")
        return (1 << k) + self.number(k)

    def finish(self):
        require(self.byte == 0, "the padding of a table is not 0")


def xxh3(data, seed=0):
    return xxhash.xxh3_64_intdigest(data, seed)


def word_type(width):
    """The smallest numpy type for words of width bits."""
    return next(numpy.dtype(f"<u{size}").type for size in (1, 2, 4, 8) if width <= 8 * size)


# ---- Literals --------------------------------------------------------------------------------------------------------
#
# Each parser checks what can be checked without decoding, and returns a function that yields the words as a numpy array.

def parse_raw(reader, width, count):
    require(width in (8, 16, 32, 64), f"raw literal of {width}-bit words")
    payload = reader.take(count * width // 8)
    return lambda: numpy.frombuffer(payload, word_type(width))


def parse_packed(reader, width, count):
    base = reader.varint()
    require(base < 1 << width, "packed literal: the base exceeds the width")
    bits = reader.u8()
    require(bits <= width, "packed literal: more bits than the words have")
    payload = reader.take((count * bits + 7) // 8)
    used = count * bits % 8
    require(used == 0 or payload[-1] >> used == 0, "packed literal: the padding is not 0")

    def yield_words():
        stream = numpy.unpackbits(numpy.frombuffer(payload, numpy.uint8), count=count * bits, bitorder="little")
        words = numpy.zeros(count, word_type(width))
        for i in range(bits):
            words |= stream[i::bits].astype(words.dtype) << words.dtype.type(i)
        require(count == 0 or base + int(words.max()) < 1 << width, "packed literal: a word exceeds the width")
        return words + words.dtype.type(base)
    return yield_words


# Levels

def read_levels(bits, count, maximum):
    """Generates the levels of count symbols; the caller may read from bits between them."""
    last, after_run = 1, False
    while count > 0:
        run = 0
        if bits.bit():
            pass
        elif bits.bit():
            last += -1 if bits.bit() else 1
        elif bits.bit():
            sign = -1 if bits.bit() else 1
            last += sign * (bits.gap() + 1)
        else:
            run = bits.gap()
            require(not after_run, "table: a run of level 0 follows another one")
            require(run <= count, "table: a run of level 0 goes on past the last symbol")
        require(1 <= last <= maximum, "table: a level is out of range")
        yield from [0] * run or [last]
        after_run = run > 0
        count -= run or 1


def read_range(bits, width):
    """The symbols of an entropy coding."""
    first, span = bits.number(width), bits.number(width)
    require(first + span + 1 < 1 << width, "table: a symbol exceeds the width")
    return range(first, first + span + 2)


# Huffman

def parse_huffman(reader, width, count):
    require(width <= MAX_ENTROPY_WIDTH, f"Huffman literal of {width}-bit words")
    require(count >= 1, "empty Huffman literal")
    longest = reader.u8()
    require(1 <= longest <= 15, "Huffman literal: the longest code is out of range")
    bits = BitReader(reader)
    symbols = read_range(bits, width)
    levels = list(read_levels(bits, len(symbols), longest))
    bits.finish()
    require(levels[0] and levels[-1], "Huffman literal: the first or the last symbol has no code")
    require(1 in levels, "Huffman literal: no code is the longest")
    require(sum(1 << level - 1 for level in levels if level) == 1 << longest, "Huffman literal: the codes are not complete")
    require(1 << longest <= 32 * count, "Huffman literal: the codes are too long for so few words")
    size = reader.varint()
    payload = reader.take(size)

    def yield_words():
        # What the next `longest` bits of the stream say: symbol * 16 + code length. The stream has the highest bit of a code first, that is, lowest.
        table = [0] * (1 << longest)
        code, before = -1, 1
        for length, symbol in sorted((longest + 1 - level, symbol) for symbol, level in zip(symbols, levels) if level):
            code = (code + 1) << length - before if code >= 0 else 0
            before = length
            reversed_code = int(f"{code:0{length}b}"[::-1], 2)
            entries = range(reversed_code, 1 << longest, 1 << length)
            table[reversed_code::1 << length] = [symbol << 4 | length] * len(entries)

        words = array.array("H", bytes(2 * count))
        mask, window, available, pos = (1 << longest) - 1, 0, 0, 0
        for i in range(count):
            if available < longest:  # what lies behind the payload reads as 0, and is noticed below
                window |= int.from_bytes(payload[pos:pos + 4], "little") << available
                available += 32
                pos += 4
            entry = table[window & mask]
            length = entry & 15
            window >>= length
            available -= length
            words[i] = entry >> 4
        used = 8 * pos - available
        require((used + 7) // 8 == size, "Huffman literal: the payload is not of the size that its codes take")
        require(window == 0, "Huffman literal: the padding is not 0")
        return numpy.array(words).astype(word_type(width))
    return yield_words


# rANS

def parse_rans(reader, width, count):
    require(width <= MAX_ENTROPY_WIDTH, f"rANS literal of {width}-bit words")
    require(count >= 1, "empty rANS literal")
    parameters = reader.u8()
    scale = 8 + (parameters & 7)
    require(scale <= 14, "rANS literal: the sum of the frequencies is out of range")
    require(scale == 8 or 1 << scale <= 2 * count, "rANS literal: the sum of the frequencies is too large for so few words")
    require(parameters >> 3 & 3 != 3, "rANS literal: unknown number of lanes")
    lanes = (1, 4, 32)[parameters >> 3 & 3]
    precision = parameters >> 5

    bits = BitReader(reader)
    symbols = read_range(bits, width)
    listed = len(symbols) - 1
    rest = bits.number(listed.bit_length())
    require(rest <= listed, "rANS literal: the symbol that is not listed is out of range")
    frequencies = []
    for level in read_levels(bits, listed, scale):
        if level:
            q = min(level - 1, precision)
            frequencies.append((1 << q) + bits.number(q) << level - 1 - q)
        else:
            frequencies.append(0)
    bits.finish()
    remainder = (1 << scale) - sum(frequencies)
    require(remainder >= 1, "rANS literal: the frequencies leave nothing to the symbol that is not listed")
    frequencies.insert(rest, remainder)
    require(frequencies[0] and frequencies[-1], "rANS literal: the first or the last symbol has frequency 0")

    size = reader.varint()
    require(size % 2 == 0 and size >= 4 * lanes, "rANS literal: impossible size of the payload")
    payload = reader.take(size)
    initial = numpy.frombuffer(payload[:4 * lanes], "<u4").tolist()
    require(min(initial) >= 1 << 16, "rANS literal: the initial state of a lane is too small")

    def yield_words():
        # For each slot: the symbol, its frequency, and slot - start.
        slot_symbol = numpy.repeat(symbols, frequencies).tolist()
        slot_frequency = numpy.repeat(frequencies, frequencies).tolist()
        slot_offset = [i for frequency in frequencies for i in range(frequency)]

        states = list(initial)
        units = array.array("H", numpy.frombuffer(payload[4 * lanes:], "<u2").astype(numpy.uint16).tobytes())
        words = array.array("H", bytes(2 * count))
        mask, lane_mask, next_unit, unit_count = (1 << scale) - 1, lanes - 1, 0, len(units)
        for i in range(count):
            x = states[i & lane_mask]
            slot = x & mask
            words[i] = slot_symbol[slot]
            x = slot_frequency[slot] * (x >> scale) + slot_offset[slot]
            if x < 65536:
                if next_unit == unit_count:
                    raise Refused("rANS literal: the payload ends too early")
                x = x << 16 | units[next_unit]
                next_unit += 1
            states[i & lane_mask] = x
        require(next_unit == unit_count, "rANS literal: units are left over")
        require(all(x == 1 << 16 for x in states), "rANS literal: the final state of a lane is wrong")
        return numpy.array(words).astype(word_type(width))
    return yield_words


LITERAL_CODINGS = {0: parse_raw, 1: parse_packed, 2: parse_huffman, 3: parse_rans}


# ---- Programs --------------------------------------------------------------------------------------------------------

class ProgramParser:
    """Checks one program; its nodes become functions that yield their words, so that nothing runs before all of it is checked."""

    def __init__(self, reader):
        self.reader, self.nodes = reader, 0

    def node(self, width, count, depth=1):
        self.nodes += 1
        require(self.nodes <= MAX_NODES, "a program has too many nodes")
        require(depth <= MAX_DEPTH, "a program is too deep")
        op = self.reader.u8()
        require(op in self.OPS, f"{'reserved' if op in (4, 5, 6) else 'unknown'} op {op} in a program")
        return self.OPS[op](self, width, count, depth)

    def lit(self, width, count, _depth):
        coding = self.reader.u8()
        require(coding in LITERAL_CODINGS, f"unknown coding {coding} of a literal")
        return LITERAL_CODINGS[coding](self.reader, width, count)

    def const(self, width, count, _depth):
        require(count >= 1, "const: no words")
        value = self.reader.number((width + 7) // 8)
        require(value < 1 << width, "const: the value exceeds the width")
        return lambda: numpy.full(count, value, word_type(width))

    def concat(self, width, count, depth):
        k = self.reader.u8()
        require(k >= 2, "concat: fewer than 2 children")
        lengths = [self.reader.varint() for _ in range(k - 1)]
        lengths.append(count - sum(lengths))
        require(all(length >= 1 for length in lengths[:-1]), "concat: an empty child")
        require(lengths[-1] >= 1, "concat: the children are too long")
        children = [self.node(width, length, depth + 1) for length in lengths]
        return lambda: numpy.concatenate([child() for child in children])

    def merge(self, width, count, depth):
        require(count >= 1, "merge: no words")
        form = self.reader.u8()
        require(form <= 2, f"merge: unknown form {form}")
        if form == 0:
            widths = list(self.reader.take(self.reader.u8()))
            require(all(w >= 1 for w in widths), "merge: a child of width 0")
            require(sum(widths) == width, "merge: the widths do not sum to that of the words")
        elif form == 1:
            widths = [1] * width
        else:
            require(width % 8 == 0, f"merge: byte planes of {width}-bit words")
            widths = [8] * (width // 8)
        require(len(widths) >= 2, "merge: fewer than 2 children")
        require(form != 0 or set(widths) not in ({1}, {8}), "merge: form 0 where form 1 or 2 says the same")
        children = [self.node(w, count, depth + 1) for w in widths]

        def yield_words():
            words = numpy.zeros(count, word_type(width))
            for w, child in zip(widths, children):
                words = words << words.dtype.type(w) | child().astype(words.dtype)
            return words
        return yield_words

    OPS = {1: lit, 2: const, 3: concat, 7: merge}


# ---- Record ----------------------------------------------------------------------------------------------------------

class Record:
    """The head of a record; restore() does the rest."""

    def __init__(self, data, pos, end, what):
        self.what, self.reader = what, ByteReader(data, pos, end, what)
        self.kind = self.reader.u8()
        require(self.kind in (0, 8, 16, 32, 64), f"{what} has the unknown kind {self.kind}")
        self.raw_size = self.reader.varint()
        require(1 <= self.raw_size <= MAX_RAW_SIZE, f"{what}: raw_size is out of range")
        require(self.kind == 0 or self.raw_size % (self.kind // 8) == 0, f"{what}: raw_size is not a multiple of the words' size")
        self.checksum = self.reader.number(8)
        self.body = self.reader.pos

    def restore(self):
        self.reader.pos, self.reader.what = self.body, "the body"
        try:
            restored = self.restore_bytes() if self.kind == 0 else self.restore_words()
        except Refused as refusal:
            raise Refused(f"{self.what}: {refusal}") from None
        require(xxh3(restored) == self.checksum, f"{self.what}: wrong checksum")
        return restored

    def restore_bytes(self):
        coding = self.reader.u8()
        require(coding <= 1, f"unknown coding {coding} of bytes")
        payload = self.reader.take(self.reader.end - self.reader.pos)
        restored = payload if coding == 0 else unpack_zstandard(payload, self.raw_size)
        require(len(restored) == self.raw_size, "the body yields fewer or more bytes than raw_size")
        return restored

    def restore_words(self):
        program = ProgramParser(self.reader).node(self.kind, self.raw_size * 8 // self.kind)
        require(self.reader.pos == self.reader.end, "something follows the program")
        return program().tobytes()


def unpack_zstandard(payload, limit):
    """The bytes that one Zstandard frame yields; it is left early if they exceed the limit."""
    require(payload[:4] == b"\x28\xB5\x2F\xFD", "not a Zstandard frame")
    decoder, restored, pos = zstandard.ZstdDecompressor(max_window_size=MAX_RAW_SIZE).decompressobj(), bytearray(), 0
    try:
        while pos < len(payload) and not decoder.eof and len(restored) <= limit:
            restored += decoder.decompress(payload[pos:pos + 256])
            pos += 256
    except zstandard.ZstdError as error:
        raise Refused(f"damaged Zstandard frame ({' '.join(str(error).split())})") from None
    if len(restored) <= limit:
        require(decoder.eof, "a Zstandard frame ends too early")
        require(pos >= len(payload) and not decoder.unused_data, "something follows the Zstandard frame")
    return restored


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
                self.piece_records.append(len(self.records))
                self.records.append(Record(self.data, pos, pos + size, what))
                pos += size
            else:
                require(entry // 2 < len(self.records), f"a piece refers to record {entry // 2}, which no earlier piece uses")
                self.piece_records.append(entry // 2)
        require(index.pos == index.end, "something follows the entries of the index")
        require(pos == index_start, "something lies between the records and the index")
        raw_sizes = sum(self.records[number].raw_size for number in self.piece_records)
        require(raw_sizes == self.original_size, "the sizes of the pieces do not sum to original_size")

    def pieces(self):
        restore = functools.lru_cache(maxsize=8)(lambda number: self.records[number].restore())
        sha256 = hashlib.sha256()
        for number in self.piece_records:
            piece = restore(number)
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
