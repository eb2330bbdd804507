#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes archives that promise, or cost, far more than they are: bombs.

    bombs.py FOLDER

FOLDER/refused/NAME.brevis breaks a rule or a limit of docs/FORMAT.md. FOLDER/valid/NAME.brevis breaks none and restores FOLDER/valid/NAME, but whoever
looks for tensors in it finds a header of a stranger's making. FOLDER/plain/NAME.N are three
safetensors files whose headers differ by a blank. Always the same files.
"""

import json
import os
import sys

import zstandard

sys.dont_write_bytecode = True
from archive_builder import archive, const, count_code, lit, lzma2, lzma2_stream, mapped, merge, op, program, record, u, varint, zstd  # noqa: E402

RAW_MAX = 16 << 20
HUGE = 1 << 60
FOLDER = sys.argv[1]


def write(kind, name, data, original=None):
    path = os.path.join(FOLDER, kind, name)
    with open(path + ".brevis", "wb") as out:
        out.write(data)
    if original is not None:
        with open(path, "wb") as out:
            out.write(original)


def refused(name, pieces, **kw):
    write("refused", name, archive(pieces, **kw)[0])


def zeros_frame(size, with_size):
    compressor = zstandard.ZstdCompressor(write_content_size=with_size).compressobj(size=size if with_size else -1)
    block = bytes(1 << 20)
    return b"".join(compressor.compress(block) for _ in range(size >> 20)) + compressor.flush()


def header(text):
    return u(len(text), 8) + text


def tensor(name, **kw):
    return json.dumps({name: {"dtype": "U8", "shape": [0], "data_offsets": [0, 0], **kw}}, ensure_ascii=False).encode()


def pieces_of(data):
    return [record(0, data[at:at + RAW_MAX], b"\1" + zstandard.compress(data[at:at + RAW_MAX])) for at in range(0, len(data), RAW_MAX)]


def valid(name, original, **kw):
    write("valid", name, archive(pieces_of(original), layout=1, **kw)[0], original)


def make_refused():
    zeros = const(8, 1, 0).code
    small = record(0, b"abc", b"\0abc")
    full = record(8, bytes(RAW_MAX), zeros)

    # More than is declared, and more than can be.
    refused("const-2-to-60", [record(8, b"", zeros, raw_size=HUGE)])
    refused("const-one-more", [record(8, b"", zeros, raw_size=RAW_MAX + 1)])
    refused("const-in-half-a-word", [record(64, b"", const(64, 1, 0).code, raw_size=RAW_MAX - 1)])
    refused("repeat-2-to-60", [record(8, bytes(RAW_MAX), op(4, 15) + varint(HUGE) + zeros)])
    refused("repeat-one-more", [record(8, bytes(RAW_MAX), op(4, 15) + varint(RAW_MAX + 1) + zeros)])
    refused("repeat-of-repeats", [record(8, bytes(RAW_MAX), count_code(4, 4096) * 3 + zeros)])
    refused("concat-2-to-60", [record(8, bytes(RAW_MAX), op(3, 0) + varint(HUGE) + zeros + zeros)])
    refused("concat-that-overflows", [record(8, bytes(RAW_MAX), op(3, 1) + varint((1 << 64) - 1) * 2 + zeros * 3)])
    refused("original-2-to-60", [small], size=HUGE)
    refused("original-less", [full, 0, 0], size=1)
    refused("original-other", [full], sha=bytes(32))

    # Deep and wide programs.
    step = mapped(const(8, 1, 0), 2).code[:2]
    refused("deep-7", [record(8, bytes(RAW_MAX), step * 6 + zeros)])
    refused("deep-million", [record(8, bytes(RAW_MAX), step * 1_000_000 + zeros)])
    refused("nodes-65", [record(8, bytes(64 * 64), count_code(3, 63) + varint(1) * 62 + zeros * 60 + (step + zeros) * 3)])
    refused("children-2-to-60", [record(8, bytes(RAW_MAX), count_code(3, HUGE) + varint(1) * 100 + zeros)])
    plane = step * 0 + op(5) + u(0, 1) + varint(1) + zeros
    for _ in range(3):
        plane = op(5) + u(0, 1) + varint(1) + plane
    refused("words-2-to-29", [record(8, bytes(RAW_MAX), op(7, 1) + plane * 8)])

    # An index that promises.
    refused("entry-2-to-60", [small], entries=varint(HUGE << 1), count=1)
    refused("entry-repeats-2-to-60", [small], entries=varint(2 * len(small[0])) + varint(HUGE << 1 | 1), count=2)
    refused("pieces-2-to-60", [small], count=HUGE)
    refused("pieces-without-entries", [small], count=1 << 22)
    refused("pieces-of-2-to-60", [full], entries=varint(2 * len(full[0])) + b"\1" * ((1 << 22) - 1), count=1 << 22, size=HUGE)
    refused("index-2-to-60", [small], index_size=HUGE)
    refused("codebook-2-to-60", [small], codebook_size=varint(HUGE))
    refused("codebook-2-to-64", [small], codebook_size=varint((1 << 64) - 1))

    # Compressed bytes that are more than they are to be.
    for name, frame in (("sized", zeros_frame(1 << 30, True)), ("unsized", zeros_frame(1 << 30, False))):
        refused(f"zstd-1-gib-{name}", [record(0, bytes(RAW_MAX), b"\1" + frame)])
    single = bytes.fromhex("28B52FFDE0") + u(HUGE, 8) + u(1 | 1 << 1 | 1000 << 3, 3) + b"\0"
    refused("zstd-says-2-to-60", [record(0, bytes(RAW_MAX), b"\1" + single)])
    window = bytes.fromhex("28B52FFD") + b"\0" + u(21 << 3, 1) + u(3 << 3 | 1, 3) + b"abc"
    refused("zstd-window-2-gib", [record(0, b"abc", b"\1" + window)])
    refused("lzma2-64-mib", [record(0, bytes(RAW_MAX), b"\2" + lzma2_stream(bytes(64 << 20)))])
    frame = zeros_frame(8 * RAW_MAX, True)
    refused("literal-of-128-mib", [record(8, bytes(RAW_MAX), op(10) + b"\x08" + op(1, 5) + varint(len(frame)) + frame)])
    frame = zeros_frame(1 << 30, False)
    refused("literal-of-1-gib", [record(8, bytes(RAW_MAX), op(1, 5) + varint(len(frame)) + frame)])
    stream = lzma2_stream(bytes(64 << 20))
    refused("literal-lzma2", [record(8, bytes(RAW_MAX), op(1, 6) + varint(len(stream)) + stream)])
    # A piece after another, each dearer than what it yields: nothing of it is to be believed before.
    refused("chain-first", [record(1, bytes(RAW_MAX), b"\1" + zeros_frame(RAW_MAX, True))])


def make_repeated():
    """A word for each piece, and as much to set up for it as a program can have."""
    for name, coding in (("zstd", zstd), ("lzma2", lzma2)):
        word = program(merge(0, *(lit(width, [0], coding) for width in [1] * 62 + [2])))
        write("valid", f"words-of-62-{name}", *archive([word] + [0] * 4000))


def make_valid():
    valid("header-2-to-60", u(HUGE, 8) + b"{}")
    valid("header-2-to-64", u((1 << 64) - 1, 8) + b"{}")
    valid("nested-lists", header(b"[" * (10 << 20)))
    valid("nested-objects", header(b'{"a":' * (2 << 20)))
    valid("nested-in-a-tensor", header(b'{"a":{"x":' + b"[" * (10 << 20)))
    valid("shape-2-to-240", header(tensor("a", shape=[HUGE] * 4)))
    valid("shape-2-to-64-of-nothing", header(tensor("a", shape=[(1 << 64) - 1, 0, (1 << 64) - 1])))
    valid("shape-of-million-numbers", header(tensor("a", shape=[0] * 1_000_000)))
    valid("offsets-2-to-60", header(tensor("a", shape=[HUGE], data_offsets=[0, HUGE])))
    valid("offsets-back", header(tensor("a", shape=[HUGE], data_offsets=[HUGE, 0])))
    valid("number-of-million-digits", header(b'{"a":{"dtype":"U8","shape":[' + b"9" * 1_000_000 + b'],"data_offsets":[0,0]}}'))
    valid("name-of-10-mb", header(tensor("n" * 10_000_000)))
    valid("dtype-of-10-mb", header(tensor("a", dtype="U" * 10_000_000)))
    valid("metadata-of-10-mb", header(json.dumps({"__metadata__": {"k" * 5_000_000: "v" * 5_000_000}}).encode()))
    million = b",".join(b'"%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}' % i for i in range(1_000_000))
    valid("million-tensors", header(b"{" + million + b"}"))


def fill(begin, part, end, size):
    """So many bytes, or some less."""
    return begin + b",".join([part] * ((size - len(begin) - len(end)) // (len(part) + 1))) + end


def plain(name, text, data=b""):
    for version in range(3):
        with open(os.path.join(FOLDER, "plain", f"{name}.{version}"), "wb") as out:
            out.write(header(text + version * b" ") + data)


def make_plain():
    """Of the largest headers that there are, and of the largest that are looked into."""
    field = b'"dtype":"U8","shape":[0],"data_offsets":[0,0]'
    size = (6 << 20) - 8
    plain("entries-largest", fill(b'{"__metadata__":{', b'"":""', b"}}", 100_000_000 - 8))
    plain("entries", fill(b'{"__metadata__":{', b'"":""', b"}}", size))
    plain("entries-looked-into", fill(b'{"__metadata__":{', b'"%s":"%s"' % (b"k" * 55, b"v" * 67), b"}}", size))
    plain("spaces", b"{" + b" " * (size - 2) + b"}")
    plain("value", b'{"__metadata__":{"":"' + b"\\u0041" * ((size - 24) // 6) + b'"}}')
    plain("fields", fill(b'{"a":{' + field + b",", b'"x":{"y":[1]}', b"}}", size))
    plain("names", b"{" + b",".join(b'"%s%d":{%s}' % (b"n" * 64_900, i, field) for i in range(size // 65_000)) + b"}")
    many = ((6 << 20) - 1000) // 75
    plain("tensors", b"{" + b",".join(b'"%d":{"dtype":"U8","shape":[0,0,0,0,0,0,0,0],"data_offsets":[0,0]}' % i for i in range(many)) + b"}")
    plain("nested", b'{"a":{' + field + b',"x":' + b"[" * 120 + b"]" * 120 + b"}}")
    million = b",".join(b'"%d":{"dtype":"U8","shape":[1],"data_offsets":[%d,%d]}' % (i, i, i + 1) for i in range(1_000_000))
    plain("million-tensors", b"{" + million + b"}", bytes(1_000_000))


for kind in ("refused", "valid", "plain"):
    os.makedirs(os.path.join(FOLDER, kind), exist_ok=True)
make_refused()
make_repeated()
make_valid()
make_plain()
