# SPDX-License-Identifier: Apache-2.0
"""Reading and writing safetensors files, as much of it as the scripts need."""

import json
import struct

HEADER_LIMIT = 100_000_000


def header_bytes(layout, metadata=None):
    """The length word and header for layout, a list of (name, dtype, shape, size in bytes)."""
    header = {"__metadata__": metadata} if metadata else {}
    offset = 0
    for name, dtype, shape, size in layout:
        if name in header:
            raise ValueError(f"two tensors are called {name}")
        header[name] = {
            "dtype": dtype,
            "shape": [int(n) for n in shape],
            "data_offsets": [offset, offset + size],
        }
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # data that starts aligned can be mapped
    return struct.pack("<Q", len(text)) + text


def file_parts(tensors, metadata=None):
    """Yields the bytes of a file that holds tensors, a list of (name, dtype, shape, bytes)."""
    yield header_bytes([(n, d, s, len(data)) for n, d, s, data in tensors], metadata)
    for *_, data in tensors:
        yield data


def read(path):
    """Returns (tensors, metadata) of a file; tensors as file_parts takes them, in data order."""
    with open(path, "rb") as f:
        content = f.read()
    if len(content) < 8:
        raise ValueError("shorter than 8 bytes")
    (size,) = struct.unpack_from("<Q", content)
    if size > min(HEADER_LIMIT, len(content) - 8):
        raise ValueError("the header's length is out of range")
    header = json.loads(content[8 : 8 + size])
    metadata = header.pop("__metadata__", None)
    data = memoryview(content)[8 + size :]
    tensors = []
    for name, t in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = t["data_offsets"]
        if not 0 <= begin <= end <= len(data):
            raise ValueError(f"{name} lies outside of the file")
        tensors.append((name, t["dtype"], t["shape"], bytes(data[begin:end])))
    return tensors, metadata
