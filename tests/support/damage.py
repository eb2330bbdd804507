#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Spoils a brevis archive in one way; layout of the bytes: docs/FORMAT.md.

usage: damage.py HOW IN OUT

  record   one wrong bit in the middle, where the records are
  index    one wrong bit in the last byte of the index
  digest   another SHA-256 of the original, checksums right
  cut      without its last 100 bytes
  half     without its second half
  version  of the next format version, checksums right
  feature  needs the feature "time-travel", checksums right
  end      another end mark
"""
import struct
import sys

import xxhash

FIXED = 10  # bytes of the head before the codebook's size
TAIL = 64


def sealed(head, records, index, tail):
    """The archive of these parts, with the checksum that belongs to it."""
    seed = xxhash.xxh3_64_intdigest(head)
    checksum = xxhash.xxh3_64_intdigest(index + tail[:48], seed=seed)
    return head + records + index + tail[:48] + struct.pack("<Q", checksum) + tail[56:]


def flipped(data, offset):
    spoiled = bytearray(data)
    spoiled[offset] ^= 0x10
    return bytes(spoiled)


def head_size(archive):
    """Bytes up to the end of the codebook."""
    size, shift, at = 0, 0, FIXED
    while True:
        byte = archive[at]
        size |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if byte < 128:
            return at + size


def damaged(how, archive):
    tail = archive[-TAIL:]
    index_size = struct.unpack("<Q", tail[:8])[0]
    head = archive[:head_size(archive)]
    records = archive[len(head):-TAIL - index_size]
    index = archive[-TAIL - index_size:-TAIL]
    if sealed(head, records, index, tail) != archive:
        raise SystemExit("damage.py: this is no archive as docs/FORMAT.md describes it")
    if how == "record":
        return flipped(archive, len(head) + len(records) // 2)
    if how == "index":
        return flipped(archive, len(archive) - TAIL - 1)
    if how == "digest":
        return sealed(head, records, index, flipped(tail, 20))
    if how == "cut":
        return archive[:-100]
    if how == "half":
        return archive[:len(archive) // 2]
    if how == "version":
        return sealed(head[:8] + bytes([head[8] + 1]) + head[9:], records, index, tail)
    if how == "feature":
        name = b"time-travel"
        return sealed(head[:9] + bytes([1, len(name)]) + name + head[FIXED:], records, index, tail)
    if how == "end":
        return flipped(archive, len(archive) - 4)
    raise SystemExit(f"damage.py: {how} is no way to spoil an archive")


def main():
    how, source, target = sys.argv[1:]
    with open(source, "rb") as archive:
        spoiled = damaged(how, archive.read())
    with open(target, "wb") as out:
        out.write(spoiled)


if __name__ == "__main__":
    main()
