#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sets git-brevis against the reference decoder. Prints a line for each disagreement, and at the end how much was compared.

    compare_decoders.py handmade FOLDER              what handmade_archives.py wrote: both restore the good ones, both refuse the bad ones
    compare_decoders.py encoded ORIGINALS ARCHIVES   the reference restores each archive to the original of the same name, but for its suffix
    compare_decoders.py judge ARCHIVE...             both restore the same, or both refuse
    compare_decoders.py mutants FOLDER SEED COUNT    the same for programs with a few wrong bytes, made of the good ones in FOLDER; their checksums are right

`encoded` tells too which operators, which codings of literals and which numbers of lanes the archives have. What is made by hand, and mutants, are given to core-digests, which
decodes a thousand archives while git-brevis starts ten times; both have to be in PATH.
"""

import collections
import concurrent.futures
import hashlib
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import reference_decoder  # noqa: E402
import reference_literals  # noqa: E402
from archive_builder import archive, u, varint, xxh3  # noqa: E402
from reference_decoder import Archive, ProgramParser, Record  # noqa: E402
from reference_literals import ByteReader, Refused  # noqa: E402


def content(path):
    with open(path, "rb") as file:
        return file.read()


def reference(data):
    """What the reference decoder restores, and why it refuses: one of them is None."""
    try:
        return b"".join(Archive(data).pieces()), None
    except Refused as why:
        return None, str(why)


def git_brevis(path):
    """What git-brevis restores, and why it refuses. A refusal that is not as it should be is an answer of its own: bytes that no other decoder has."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        run = subprocess.run(["git-brevis", "decompress", "-o", out, path], capture_output=True, check=False)
        said = run.stderr.decode(errors="replace")
        if run.returncode == 0:
            return content(out), None
        if run.returncode != 128 or os.listdir(folder) or not re.fullmatch(r"git-brevis: error: [^\n]+\n", said):
            return f"exit code {run.returncode}, left {os.listdir(folder)}, said {said}".encode(), None
        return None, said.strip()


def core(paths):
    """The answers of the library that git-brevis is made of, in order: (digest of what it restores, why it refuses), one of them None."""
    run = subprocess.run(["core-digests", "default", "2", "", *paths], capture_output=True, check=True)
    lines = run.stdout.decode(errors="replace").removesuffix("\n").split("\n")
    answers = [re.fullmatch(r'(.*): status (-?\d+) "(.*)", \d+ bytes ([0-9a-f]{64})', line) for line in lines]
    wrong = [line for line, answer in zip(lines, answers) if not answer]
    if wrong or [answer[1] for answer in answers] != [os.path.basename(path) for path in paths]:
        sys.exit(f"core-digests says something else than was asked: {wrong[:3]}")
    return [(None, answer[3] or "for no reason") if int(answer[2]) else (answer[4], None) for answer in answers]


def digest_of(restored):
    return None if restored is None else hashlib.sha256(restored).hexdigest()


def together(paths):
    """The answers of both decoders for each path, in order: (path, reference's, git-brevis's). The latter runs in other processes anyway."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for path, ours in zip(paths, pool.map(git_brevis, paths)):
            yield path, reference(content(path)), ours


def shown(answer):
    restored, reason = answer
    if reason:
        return f"refuses it ({reason})"
    return f"restores {len(restored)} bytes {restored[:200]!r}" if isinstance(restored, bytes) else f"restores what has the SHA-256 {restored}"


def disagreement(name, theirs, ours):
    print(f"{name}: the reference {shown(theirs)}; git-brevis {shown(ours)}")


def archives_in(folder):
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".brevis")]


def handmade(folder):
    count = 0
    good = archives_in(f"{folder}/good")
    for path, ours in zip(good, core(good)):
        count += 1
        theirs, expected = reference(content(path)), content(path.removesuffix(".brevis"))
        if theirs[0] != expected or ours[0] != digest_of(expected):
            disagreement(path, theirs, ours)
    bad = archives_in(f"{folder}/bad")
    for path, ours in zip(bad, core(bad)):
        count += 1
        theirs, reason = reference(content(path)), content(path.removesuffix(".brevis")).decode()
        if not theirs[1] or not re.search(reason, theirs[1]) or not ours[1]:
            disagreement(path, theirs, ours)
    # The program says what its library says: of some that is enough.
    for path, theirs, ours in together(bad[::10]):
        if not ours[1]:
            disagreement(path, theirs, ours)
    print(f"{count} archives made by hand")


class Census:
    """Counts the operators, codings and numbers of lanes of all programs that are parsed."""

    def __init__(self):
        self.seen = collections.Counter()
        for number, parse in ProgramParser.OPS.items():
            ProgramParser.OPS[number] = self.counting(parse)
        parse_payload = reference_literals.parse_rans_payload

        def count(reader, tables, lanes, *arguments):
            self.seen[f"lanes.{lanes:02}"] += 1
            return parse_payload(reader, tables, lanes, *arguments)
        reference_decoder.parse_rans_payload = reference_literals.parse_rans_payload = count

    def counting(self, parse):
        def count(parser, small, *arguments):
            name = parse.__name__
            self.seen[f"lit.{small}" if name == "lit" else name] += 1
            return parse(parser, small, *arguments)
        return count


def encoded(originals, archives):
    census, count = Census(), 0
    for path in archives_in(archives):
        name = os.path.basename(path).removesuffix(".brevis").rpartition(".")[0]
        count += 1
        restored, why = reference(content(path))
        if restored != content(f"{originals}/{name}"):
            print(f"{path}: " + (why or "restored to something else"))
    print("with " + " ".join(sorted(census.seen)))
    print(f"{count} archives of the encoder")


def judge(*paths):
    refused = 0
    for path, theirs, ours in together(paths):
        refused += theirs[1] is not None
        if theirs[0] != ours[0]:
            disagreement(path, theirs, ours)
    print(f"{refused} of {len(paths)} archives refused")


# ---- Mutants ----

def first_program(data):
    """Codebook and first record of an archive; None if that is no program, or a large one."""
    try:
        whole = Archive(data)
    except Refused:
        return None
    if not whole.records or whole.records[0].kind == 0 or whole.records[0].raw_size > 100_000:
        return None
    head = ByteReader(data, 10, len(data), "the head")
    codebook = head.take(head.varint())
    return bytes(codebook), whole.records[0].kind, whole.records[0].raw_size, data[whole.records[0].body:whole.records[0].reader.end]


def mutant(rng, codebook, kind, raw_size, body):
    """An archive of that program with a few wrong bytes, mostly in its nodes rather than in a payload."""
    body = bytearray(body)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(min(len(body), 60) if rng.random() < 0.7 else len(body))
        choice = rng.randrange(8)
        if choice == 0 and len(body) > 1:
            del body[at]
        elif choice == 1:
            body.insert(at, rng.randrange(256))
        else:
            body[at] = rng.choice((body[at] ^ 1 << rng.randrange(8), rng.randrange(256), 0, 255, (body[at] + 1) % 256))
    if rng.randrange(6) == 0:
        kind = rng.choice((8, 16, 32, 64))
    if rng.randrange(6) == 0:
        raw_size = max(kind // 8, raw_size + rng.choice((-2, -1, 1, 2)) * kind // 8)
    head = u(kind, 1) + varint(raw_size)
    record = head + u(0, 8) + bytes(body)
    try:
        restored = bytes(Unchecked(record, 0, len(record), "record 0", Archive(archive([], codebook)[0]).codebook).restore())
    except Refused:
        restored = bytes(raw_size)
    return archive([(head + u(xxh3(restored), 8) + bytes(body), restored)], codebook)[0]


class Unchecked(Record):
    """A record whose checksum is not known yet."""

    def restore(self):
        self.reader.pos, self.reader.what = self.body, "the body"
        return self.restore_words()


def mutants(folder, seed, count):
    rng, refused = random.Random(int(seed)), 0
    programs = [program for program in map(first_program, map(content, archives_in(folder))) if program]
    with tempfile.TemporaryDirectory() as out:
        for i in range(int(count)):
            with open(f"{out}/{i}.brevis", "wb") as file:
                file.write(mutant(rng, *rng.choice(programs)))
        paths = [f"{out}/{i}.brevis" for i in range(int(count))]
        for path, ours in zip(paths, core(paths)):
            theirs = reference(content(path))
            refused += theirs[1] is not None
            # What the reference refuses has a checksum of nothing: that must not be what the library finds wrong.
            if digest_of(theirs[0]) != ours[0] or ours[1] and "checksum" in ours[1] and "checksum" not in theirs[1]:
                disagreement(content(path).hex(), theirs, ours)
    print(f"{refused} of {count} mutants refused")


if __name__ == "__main__":
    {"handmade": handmade, "encoded": encoded, "judge": judge, "mutants": mutants}[sys.argv[1]](*sys.argv[2:])
