# SPDX-License-Identifier: Apache-2.0
"""Writes a safetensors file of a few numbers.

    tiny_model.py FILE [KEY=VALUE...] NAME:DTYPE:NUMBER,NUMBER,... ...

KEY=VALUE are metadata. Tensors have one dimension and come in this order.
"""

import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts" / "lib"))
import safetensors_file  # noqa: E402

FORMATS = {"F64": "d", "F32": "f", "F16": "e", "I32": "i", "U8": "B", "I64": "q", "BOOL": "B"}


def tensor(text):
    name, dtype, numbers = text.rsplit(":", 2)
    convert = float if dtype.startswith("F") else int
    values = [convert(n) for n in numbers.split(",") if n]
    return name, dtype, [len(values)], struct.pack(f"<{len(values)}{FORMATS[dtype]}", *values)


def main():
    path, *words = sys.argv[1:]
    metadata = dict(w.split("=", 1) for w in words if ":" not in w)
    tensors = [tensor(w) for w in words if ":" in w]
    with open(path, "wb") as f:
        for part in safetensors_file.file_parts(tensors, metadata):
            f.write(part)


main()
