#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what the fuzzers begin with: for each target a folder of small inputs, most of them valid.

    make_seeds.py FOLDER PRIOR...

PRIOR is a file of a prior as git-brevis keeps it. Always the same files for the same priors.
"""

import glob
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SUPPORT = os.path.join(HERE, "..", "support")
CORPUS = os.path.join(HERE, "..", "corpus")
sys.path.insert(0, SUPPORT)

import edge_files  # noqa: E402
import reference_decoder  # noqa: E402

LARGEST = 4096
OID = "4a136158df826d258968a31cd3cbb22aaaa2cf34ed70f2eeab1a7039f0cda4f2"
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{OID}\nsize 2583696\n"


def archives():
    """Those of the corpus, and all that are made by hand after docs/FORMAT.md."""
    for path in sorted(glob.glob(os.path.join(CORPUS, "*.brevis"))):
        yield path
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(SUPPORT, "handmade_archives.py"), folder], check=True)
        for path in sorted(glob.glob(os.path.join(folder, "*", "*.brevis"))):
            yield path


def program_of(archive, record):
    """The input of fuzz_program for a record of words; its format is described there."""
    if record.kind <= 1 or record.raw_size * 8 // record.kind > 0xFFFF:
        return None
    head = reference_decoder.ByteReader(archive.data, 10, len(archive.data), "the head")
    codebook = head.take(head.varint())
    body = archive.data[record.body:record.reader.end]
    width = (8, 16, 32, 64).index(record.kind)
    words = record.raw_size * 8 // record.kind
    return bytes([width]) + words.to_bytes(2, "little") + len(codebook).to_bytes(2, "little") + codebook + body


def programs(data):
    try:
        archive = reference_decoder.Archive(data)
    except Exception:  # a bad archive: it has no programs for us
        return
    for record in archive.records:
        program = program_of(archive, record)
        if program:
            yield program


def headers():
    rng = random.Random(1)
    for i, (name, _, _) in enumerate(edge_files.KINDS):
        _, content, _ = edge_files.make(rng, i)
        if len(content) <= LARGEST or name in edge_files.BROKEN_HEADERS:
            yield content[:LARGEST]


def merges():
    """Three headers each, as fuzz_headers takes them."""
    def text(tensors, metadata=None, **more):
        out = {"__metadata__": metadata} if metadata is not None else {}
        at = 0
        for name, (dtype, shape, size) in tensors.items():
            out[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size], **more}
            at += size
        return json.dumps(out, ensure_ascii=False).encode()

    base = {"a.1": ("F32", [2, 3], 24), "b": ("BF16", [4], 8), "none": ("U8", [0, 7], 0), "s": ("F64", [], 8)}
    less = {name: base[name] for name in ("s", "a.1")}
    more = {"\u00e9\u65e5\n": ("I8", [5], 5), **base}
    other = {**base, "b": ("F16", [4], 8)}
    texts = [text(base), text(base, {"format": "pt"}), text(base, {"format": "pt", "k\"": "\u0000v"}), text(less, {}),
             text(more, {"format": "np"}), text(other), text(base, unknown=[1, {"x": None}]), b"{}",
             b'{"__metadata__":{"k":"1","k":"2","":""}}', b"", text({"huge": ("U8", [1 << 62], 1 << 62)}),
             text({"large": ("U8", [1 << 62], 1 << 62)}), text({"c": ("F4", [2, 4], 4)})[:-1]]
    for i, ours in enumerate(texts):
        for k, theirs in enumerate(texts):
            third = texts[(i * k) % 3]
            parts = (third, ours, theirs)
            yield b"".join(len(part).to_bytes(2, "little") + part for part in parts) + bytes([i & 1, k & 1]) * 4


def packet(text):
    data = text if isinstance(text, bytes) else (text + "\n").encode()
    return b"%04x" % (len(data) + 4) + data


def session(*commands):
    greeting = packet("git-filter-client") + packet("version=2") + b"0000"
    offer = packet("capability=clean") + packet("capability=smudge") + packet("capability=delay") + b"0000"
    return greeting + offer + b"".join(commands)


def command(verb, path, content, *more):
    lines = (f"command={verb}", f"pathname={path}", *more)
    return b"".join(map(packet, lines)) + b"0000" + (packet(content) if content else b"") + b"0000"


def sessions():
    yield session()
    yield session(command("clean", "a.safetensors", b"content"))
    yield session(command("smudge", "f", b"content"), command("clean", "b", b""))
    yield session(command("smudge", "d1", POINTER.encode(), "can-delay=1", "ref=refs/heads/main", "treeish=" + 40 * "0"),
                  packet("command=list_available_blobs") + b"0000", command("smudge", "d1", b""))
    yield session(command("unknown", "x", b"y"))


def events():
    init = {"event": "init", "operation": "upload", "remote": "origin", "concurrent": False, "concurrenttransfers": 1}
    header = {"Authorization": "Basic eA==", "chunk_size": "8388608", "1": "http://127.0.0.1/1", "number": 12}
    upload = {"event": "upload", "oid": OID, "size": 2583696, "path": "/tmp/object",
              "action": {"href": "http://127.0.0.1/complete", "header": header, "expires_at": "2030-01-01T00:00:00Z"}}
    download = {"event": "download", "oid": OID, "size": 2583696, "action": None}
    lines = [json.dumps(event) for event in (init, upload, download, {"event": "terminate"})]
    yield "\n".join(lines).encode()
    for line in lines:
        yield (line + "\n").encode()


def write(folder, target, inputs):
    os.makedirs(os.path.join(folder, target))
    for i, content in enumerate(inputs):
        with open(os.path.join(folder, target, f"seed-{i:03}"), "wb") as file:
            file.write(content)


def main():
    folder, priors = sys.argv[1], sys.argv[2:]
    contents = []
    for path in archives():
        with open(path, "rb") as file:
            contents.append(file.read())
    write(folder, "archive", (content for content in contents if len(content) <= LARGEST))
    write(folder, "program", (p for content in contents for p in programs(content) if len(p) <= LARGEST))
    write(folder, "safetensors", headers())
    write(folder, "headers", merges())
    write(folder, "pointer", [POINTER.encode(), POINTER.replace("\n", "\r\n").encode(), POINTER.replace("oid", "ext-0-x sha256:" + OID + "\noid").encode()])
    write(folder, "map", [POINTER.encode(), POINTER.encode()[:-1]])
    write(folder, "session", sessions())
    write(folder, "agent", events())
    os.makedirs(os.path.join(folder, "prior"))
    for prior in priors:
        shutil.copy(prior, os.path.join(folder, "prior"))


if __name__ == "__main__":
    main()
