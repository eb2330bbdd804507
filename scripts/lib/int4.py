# SPDX-License-Identifier: Apache-2.0
"""
Symmetric 4-bit quantisation the way checkpoints for inference hold it: groups of 128 weights of a
row share a scale, eight codes fill an I32. Started by scripts/simulate-int4; scripts/corpus makes
int4_symmetric.safetensors with it.
"""

import argparse
import os
import sys

import numpy as np

from safetensors_file import file_parts, read

MINIMUM = 4096  # elements; checkpoints keep smaller tensors as they are
GROUP = 128  # weights of a row that share a scale; the last group of a row may have fewer
LARGEST = 7  # the code of the group's largest weight
ZERO = 8  # stored codes count from 0, this one is weight 0
IN_A_WORD = 8
SMALLEST_SCALE = 2.0**-24  # of F16, so that no scale is 0


def from_bf16(data, shape):
    words = np.frombuffer(data, "<u2").astype(np.uint32) << np.uint32(16)
    return words.view(np.float32).reshape(shape)


def quantise(weights):
    """Codes 0 to 15 of a matrix, and the scale of each group as F16."""
    rows, columns = weights.shape
    groups = -(-columns // GROUP)
    padded = np.zeros((rows, groups * GROUP))
    padded[:, :columns] = weights
    padded = padded.reshape(rows, groups, GROUP)
    largest = np.abs(padded).max(axis=2)
    scales = np.maximum(largest / LARGEST, SMALLEST_SCALE).astype(np.float16)
    # By what a reader multiplies with: the scale as it is stored.
    codes = np.rint(padded / scales.astype(np.float64)[:, :, None])
    codes = np.clip(codes, -ZERO, LARGEST) + ZERO
    return codes.reshape(rows, groups * GROUP)[:, :columns].astype(np.uint32), scales


def pack(codes):
    """Eight codes to a word, the first lowest; rows are filled up with the code of 0."""
    rows, columns = codes.shape
    padded = np.full((rows, -(-columns // IN_A_WORD) * IN_A_WORD), ZERO, np.uint32)
    padded[:, :columns] = codes
    shifts = np.arange(0, 4 * IN_A_WORD, 4, dtype=np.uint32)
    return (padded.reshape(rows, -1, IN_A_WORD) << shifts).sum(axis=2, dtype=np.uint32)


def int4(tensors):
    """The tensors of a BF16 file, with the codes and scales of its matrices in their place."""
    result = []
    for name, dtype, shape, data in tensors:
        if dtype != "BF16" or len(shape) < 2 or np.prod(shape) < MINIMUM:
            result.append((name, dtype, shape, data))
            continue
        codes, scales = quantise(from_bf16(data, (shape[0], -1)))
        words = pack(codes)
        result.append((name + "_packed", "I32", words.shape, words.astype("<u4").tobytes()))
        result.append((name + "_scale", "F16", scales.shape, scales.astype("<f2").tobytes()))
    return result


def main():
    parser = argparse.ArgumentParser(
        prog="simulate-int4",
        description="Quantise the matrices of a BF16 safetensors file to 4 bits, symmetrically, "
        f"in groups of {GROUP}, packed into I32.",
    )
    parser.add_argument("input", help="safetensors file; tensors that are not BF16 stay as they are")
    parser.add_argument("output", help="safetensors file to write")
    options = parser.parse_args()
    tensors, metadata = read(options.input)
    temporary = f"{options.output}.tmp"
    try:
        with open(temporary, "wb") as f:
            f.writelines(file_parts(int4(tensors), metadata))
        os.rename(temporary, options.output)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"simulate-int4: {error.filename}: {error.strerror}")
    except ValueError as error:
        sys.exit(f"simulate-int4: {sys.argv[1]}: {error}")
