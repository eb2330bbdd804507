# SPDX-License-Identifier: Apache-2.0
"""The lower half of the reference decoder (see reference_decoder.py): limits, conventions, compressed bytes, and literals with their tables."""

import array
import functools
import lzma

import numpy
import xxhash
import zstandard

# ---- Limits ----------------------------------------------------------------------------------------------------------

MAX_RAW_SIZE = 16_777_216
MAX_REACH = 8_388_608  # of chained bytes, into the piece before them
MAX_RECORD_SIZE = MAX_RAW_SIZE + 32
MAX_PIECES = 4_194_304
MAX_NODES = 64
MAX_DEPTH = 6
MAX_CHILDREN = 63
MAX_CLASSES = 32
MAX_PARAMETER_WORDS = 4_194_304
MAX_UNPACKED_SIZE = 33_554_432
MAX_SLOTS = 1_048_576
MAX_WORDS = 536_870_912  # that the nodes of a program yield
MAX_CODEBOOK_SIZE = 65_536
MAX_TABLES = 64
MAX_ENTROPY_WIDTH = 12
MAX_GAP_EXPONENT = 11
LANES = (1, 4, 16, 64)  # of rANS, as their two bits number them
LOWEST_STATE = 1 << 15  # of a lane, before the tail
DICTIONARY_SIZE = 16_777_216


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

    def __init__(self, reader, what="a table"):
        self.reader, self.what, self.byte, self.left = reader, what, 0, 0

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
        require(self.byte == 0, f"the padding of {self.what} is not 0")


def xxh3(data, seed=0):
    return xxhash.xxh3_64_intdigest(data, seed)


def word_type(width):
    """The smallest numpy type for words of width bits."""
    return next(numpy.dtype(f"<u{size}").type for size in (1, 2, 4, 8) if width <= 8 * size)


def mask_of(words, width):
    """A word of width 1 bits, of the array's type."""
    return words.dtype.type((1 << width) - 1)


# ---- Compressed bytes ------------------------------------------------------------------------------------------------

def unpack_zstandard(payload, size, reach=b""):
    """The size bytes that one Zstandard frame yields behind reach; it is left early if it yields more."""
    require(payload[:4] == b"\x28\xB5\x2F\xFD", "not a Zstandard frame")
    restored, pos = bytearray(), 0
    try:
        frame = zstandard.get_frame_parameters(payload)
        require(frame.window_size <= DICTIONARY_SIZE, "the window of a Zstandard frame is too large")
        require(frame.dict_id == 0, "a Zstandard frame needs a dictionary")
        prefix = zstandard.ZstdCompressionDict(bytes(reach), dict_type=zstandard.DICT_TYPE_RAWCONTENT) if reach else None
        decoder = zstandard.ZstdDecompressor(dict_data=prefix, max_window_size=DICTIONARY_SIZE).decompressobj()
        while pos < len(payload) and not decoder.eof and len(restored) <= size:
            restored += decoder.decompress(payload[pos:pos + 256])
            pos += 256
    except zstandard.ZstdError as error:
        raise Refused(f"damaged Zstandard frame ({' '.join(str(error).split())})") from None
    if len(restored) <= size:
        require(decoder.eof, "a Zstandard frame ends too early")
        require(pos >= len(payload) and not decoder.unused_data, "something follows the Zstandard frame")
    require(len(restored) == size, "a Zstandard frame yields fewer or more bytes than it must")
    return restored


def lzma2_chunks(content):
    """Chunks of an LZMA2 stream that hold content as it is; the first one resets the dictionary."""
    return b"".join(bytes([1 if pos == 0 else 2]) + (len(content[pos:pos + 65536]) - 1).to_bytes(2, "big") + content[pos:pos + 65536]
                    for pos in range(0, len(content), 65536))


def unpack_lzma2(payload, size, reach=b""):
    """The size bytes that an LZMA2 stream yields behind reach."""
    decoder = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": DICTIONARY_SIZE}])
    try:
        # The additional byte makes it go on to the end marker.
        restored = decoder.decompress(lzma2_chunks(reach) + payload, len(reach) + size + 1)[len(reach):]
    except lzma.LZMAError as error:
        raise Refused(f"damaged LZMA2 stream ({error})") from None
    if len(restored) <= size:
        require(decoder.eof, "an LZMA2 stream ends too early")
        require(not decoder.unused_data, "something follows the LZMA2 stream")
    require(len(restored) == size, "an LZMA2 stream yields fewer or more bytes than it must")
    return restored


# ---- Literals --------------------------------------------------------------------------------------------------------
#
# Each parser checks what can be checked without decoding, and returns a function that yields the words as a numpy array.

def bytes_per_word(width):
    return (width + 7) // 8


def words_of_bytes(content, width, count):
    """The words that content has as coding 0 stores them."""
    size, dtype = bytes_per_word(width), numpy.dtype(word_type(width))
    if size == dtype.itemsize:
        words = numpy.frombuffer(content, dtype)
    else:
        padded = numpy.zeros((count, dtype.itemsize), numpy.uint8)
        padded[:, :size] = numpy.frombuffer(content, numpy.uint8).reshape(count, size)
        words = padded.view(dtype).ravel()
    require(int(words.max()) < 1 << width, "a word of a literal exceeds the width")
    return words


def parse_raw(reader, width, count):
    payload = reader.take(count * bytes_per_word(width))
    return lambda: words_of_bytes(payload, width, count)


def parse_compressed(reader, width, count, unpack):
    payload = reader.take(reader.varint())
    return lambda: words_of_bytes(unpack(payload, count * bytes_per_word(width)), width, count)


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
        require(base + int(words.max()) < 1 << width, "packed literal: a word exceeds the width")
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

class RansParameters:
    """The byte `parameters`: 2**scale is the sum of the frequencies of each table."""

    def __init__(self, byte):
        self.scale, self.lanes, self.precision = 8 + (byte & 7), LANES[byte >> 3 & 3], byte >> 5
        require(self.scale <= 14, "rANS table: the sum of the frequencies is out of range")

    def require_words(self, count):
        require(self.scale == 8 or 1 << self.scale <= 2 * count, "rANS: the sum of the frequencies is too large for so few words")


class RansTable:
    """The frequencies of the symbols of a literal, of several, or of a class of words."""

    def __init__(self, bits, width, parameters):
        self.width, self.scale, precision = width, parameters.scale, parameters.precision
        self.symbols = read_range(bits, width)
        listed = len(self.symbols) - 1
        rest = bits.number(listed.bit_length())
        require(rest <= listed, "rANS table: the symbol that is not listed is out of range")
        self.frequencies = []
        for level in read_levels(bits, listed, self.scale):
            if level:
                q = min(level - 1, precision)
                self.frequencies.append((1 << q) + bits.number(q) << level - 1 - q)
            else:
                self.frequencies.append(0)
        remainder = (1 << self.scale) - sum(self.frequencies)
        require(remainder >= 1, "rANS table: the frequencies leave nothing to the symbol that is not listed")
        self.frequencies.insert(rest, remainder)
        require(self.frequencies[0] and self.frequencies[-1], "rANS table: the first or the last symbol has frequency 0")

    @functools.cached_property
    def slots(self):
        """For each slot: the symbol, its frequency, and slot - start."""
        return (numpy.repeat(self.symbols, self.frequencies).tolist(),
                numpy.repeat(self.frequencies, self.frequencies).tolist(),
                [i for frequency in self.frequencies for i in range(frequency)])


def read_rans_tables(reader, width, parameters, number):
    """That many tables in one bit stream."""
    bits = BitReader(reader)
    tables = [RansTable(bits, width, parameters) for _ in range(number)]
    bits.finish()
    return tables


def parse_rans(reader, width, count, count_slots):
    require(width <= MAX_ENTROPY_WIDTH, f"rANS literal of {width}-bit words")
    parameters = RansParameters(reader.u8())
    parameters.require_words(count)
    count_slots(1, parameters.scale)
    tables = read_rans_tables(reader, width, parameters, 1)
    return parse_rans_payload(reader, tables, parameters.lanes, count)


def parse_shared(reader, width, count, codebook):
    require(width <= MAX_ENTROPY_WIDTH, f"shared literal of {width}-bit words")
    number = reader.u8()
    require(number < len(codebook), f"shared literal: the codebook has no table {number}")
    require(codebook[number].width == width, f"shared literal: table {number} of the codebook has another width")
    lanes = reader.u8()
    require(lanes < len(LANES), "shared literal: unknown number of lanes")
    return parse_rans_payload(reader, [codebook[number]], LANES[lanes], count)


def read_rans_states(reader, lanes):
    """The number of words of each lane that are its tail, and the initial states."""
    bits = BitReader(reader, "the states of a rANS payload")
    tail, states = bits.number(4), []
    for _ in range(lanes):
        size = 15 + bits.number(4)
        states.append((1 << size) + bits.number(size))
    bits.finish()
    return tail, states


def parse_rans_payload(reader, tables, lanes, count, classes=None):
    """The words of a payload; classes, if given, yields the number of each one's table."""
    size = reader.varint()
    payload = ByteReader(reader.take(size), 0, size, "the bit stream of a rANS payload")
    tail, initial = read_rans_states(payload, lanes)
    require((tail - 1) * lanes < count, "rANS payload: the tail is longer than need be")
    rest = payload.take(payload.end - payload.pos)
    require(len(rest) % 2 == 0, "rANS payload: half a unit")

    def yield_words():
        slots = [table.slots for table in tables]
        units = array.array("H", numpy.frombuffer(rest, "<u2").astype(numpy.uint16).tobytes())
        words = array.array("H", bytes(2 * count))
        numbers = bytes(count) if classes is None else classes().tolist()
        width, scale, states, main = tables[0].width, tables[0].scale, list(initial), max(0, count - tail * lanes)
        mask, lane_mask, next_unit, unit_count = (1 << scale) - 1, lanes - 1, 0, len(units)
        for i in range(main):
            slot_symbol, slot_frequency, slot_offset = slots[numbers[i]]
            x = states[i & lane_mask]
            slot = x & mask
            words[i] = slot_symbol[slot]
            x = slot_frequency[slot] * (x >> scale) + slot_offset[slot]
            if x < LOWEST_STATE:
                if next_unit == unit_count:
                    raise Refused("rANS payload: the units end too early")
                x = x << 16 | units[next_unit]
                next_unit += 1
            states[i & lane_mask] = x
        require(next_unit == unit_count, "rANS payload: units are left over")
        states = [x - LOWEST_STATE for x in states]
        for i in range(main, count):
            x = states[i & lane_mask]
            if i < count - lanes:
                words[i], frequency, offset = (of_slot[x & mask] for of_slot in slots[numbers[i]])
                states[i & lane_mask] = frequency * (x >> scale) + offset
            else:
                require(x < 1 << width, "rANS payload: the final state of a lane is no word")
                words[i], states[i & lane_mask] = x, 0
        require(not any(states), "rANS payload: the final state of a lane is wrong")
        return numpy.array(words).astype(word_type(width))
    return yield_words


def read_codebook(reader):
    """The tables of the codebook that fills the reader; none if there is no codebook."""
    if reader.pos == reader.end:
        return []
    count = reader.u8()
    require(1 <= count <= MAX_TABLES, "codebook: the number of tables is out of range")
    tables = []
    for _ in range(count):
        width = reader.u8()
        require(1 <= width <= MAX_ENTROPY_WIDTH, "codebook: the width of a table is out of range")
        parameters = reader.u8()
        require(parameters >> 3 & 3 == 0, "codebook: a table with lanes")
        tables += read_rans_tables(reader, width, RansParameters(parameters), 1)
    require(reader.pos == reader.end, "something follows the tables of the codebook")
    return tables
