# SPDX-License-Identifier: Apache-2.0
"""Draws and tensor contents for edge files: the same bytes for a seed on every machine."""

import array
import struct
import sys

# Bits of an element.
BITS = {
    "BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8,
    "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64,
}

# Of floats: struct's letter for the format whose high bytes they are, and how many bytes that is.
FLOATS = {"BF16": ("f", 2), "F32": ("f", 2), "C64": ("f", 2), "F16": ("e", 2), "F64": ("d", 2),
          "F8_E5M2": ("e", 1)}


class Draw:
    """Random draws that depend on nothing but the generator's bits."""

    def __init__(self, rng, first):
        self.rng = rng
        self.first = first  # in the first round of kinds, where some files are large

    def below(self, n):
        return self.rng.getrandbits(64) % n

    def pick(self, choices):
        return choices[self.below(len(choices))]

    def bytes(self, n):
        return self.rng.getrandbits(8 * n).to_bytes(n, "little") if n else b""

    def shuffle(self, items):
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]

    def size(self, largest=200_000):
        """Often small, sometimes as large as allowed; the largest sizes are taken as they are."""
        if largest > 200_000:
            return largest - self.below(50_000)
        return self.below(min(self.pick((300, 8_000, 64_000, 200_000)), largest) + 1)

    def normal(self):
        """About normal, deviation 0.02: a sum of twelve."""
        bits = self.rng.getrandbits(192)
        total = sum((bits >> (16 * i)) & 0xFFFF for i in range(12))
        return (total - 6 * 65535) / 65535.0 * 0.02


def e4m3(value):
    """The nearest F8_E4M3, searched among all 127 magnitudes."""
    magnitudes = [(m / 8.0) * 2.0**-6 for m in range(8)]
    magnitudes += [(1 + m / 8.0) * 2.0 ** (e - 7) for e in range(1, 16) for m in range(8)]
    size = abs(value)
    code = min(range(127), key=lambda c: abs(magnitudes[c] - size))
    return code | (0x80 if value < 0 else 0)


def normal_words(d, dtype, nbytes):
    """Floats: sign, exponent and leading mantissa from a pool of values, what is below at random."""
    if dtype == "F8_E4M3":
        pool = bytes(e4m3(d.normal() * 50) for _ in range(256))
        return d.bytes(nbytes).translate(pool)
    letter, width = FLOATS[dtype]
    pool = [struct.pack(">" + letter, d.normal())[:width] for _ in range(2048 if width == 2 else 256)]
    if width == 1:
        return d.bytes(nbytes).translate(b"".join(pool))
    numbers = [int.from_bytes(p, "big") for p in pool]
    word = {"C64": 4}.get(dtype, BITS[dtype] // 8)
    draws = array.array("H", d.bytes(nbytes // word * 2))
    if sys.byteorder == "big":
        draws.byteswap()
    top = array.array("H", [numbers[i & 2047] for i in draws])
    if sys.byteorder == "big":
        top.byteswap()
    high = top.tobytes()
    out = bytearray(d.bytes(nbytes))
    out[word - 2 :: word] = high[0::2]
    out[word - 1 :: word] = high[1::2]
    return bytes(out)


def special(d, dtype, nbytes, kind):
    """NaNs with payloads and infinities, or zeros of both signs, among small words."""
    word = max(BITS[dtype] // 8, 1)
    ones = (1 << (8 * word)) - 1
    sign = 1 << (8 * word - 1)
    exponent = {"F16": 0x7C00, "BF16": 0x7F80, "F32": 0x7F800000, "F64": 0x7FF << 52}.get(dtype, ones >> 1)
    words = [0, sign] if kind == "zeros" else [exponent, exponent | sign, ones, exponent | 1, 1]
    if kind == "nan":
        words += [exponent | d.below(1 << (8 * word)) for _ in range(20)]
    return b"".join(d.pick(words).to_bytes(word, "little") for _ in range(nbytes // word))


def integers(d, dtype, nbytes):
    """Indices, counters and small numbers of both signs."""
    word = max(BITS[dtype] // 8, 1)
    ones = (1 << (8 * word)) - 1
    start, step = d.below(1000), d.pick((0, 1, 1, 7))
    jitter = d.pick((1, 3, 200))
    return b"".join(((start + step * i - d.below(jitter)) & ones).to_bytes(word, "little")
                    for i in range(nbytes // word))


def sparse(d, dtype, nbytes):
    word = max(BITS[dtype] // 8, 1)
    out = bytearray(nbytes)
    for _ in range(nbytes // word // 20):
        at = d.below(nbytes // word) * word
        out[at : at + word] = d.bytes(word)
    return bytes(out)


def fill(d, dtype, nbytes, content=None):
    """The bytes of a tensor; nbytes must be whole words, except for packed types."""
    word = max(BITS[dtype] // 8, 1)
    content = content or d.pick(("normal", "random", "random", "sparse", "integers", "constant"))
    if content == "normal" and (dtype in FLOATS or dtype == "F8_E4M3"):
        return normal_words(d, dtype, nbytes)
    if content == "constant":
        return (d.pick((bytes(word), d.bytes(word))) * (nbytes // word))[:nbytes]
    if content in ("nan", "zeros"):
        return special(d, dtype, nbytes, content)
    if content == "integers":
        return integers(d, dtype, nbytes)
    if content == "sparse":
        return sparse(d, dtype, nbytes)
    if dtype == "BOOL":
        return bytes(b & 1 for b in d.bytes(nbytes))
    return d.bytes(nbytes)
