# SPDX-License-Identifier: Apache-2.0
"""
Independent Gaussian weights in BF16: the limit that large matrices of language models approach.

The words are drawn straight from the distribution that rounding gives them, with an integer
generator whose stream numpy promises never to change. So the bytes do not depend on how a library
makes normal deviates.
"""

import math

import numpy as np

from rounding import to_bf16
from safetensors_file import header_bytes

SEED = 20240229
SIGMA = 0.02
COLUMNS = 4096
ROWS_EACH = 4096  # rows of one tensor: 32 MiB
ROWS_A_MIB = (1 << 20) // (2 * COLUMNS)
TAIL = 12.0  # standard deviations; beyond lies less than 2^-100 of the distribution


def thresholds():
    """
    For each BF16 magnitude c, 2^63 times the probability that a deviate rounds to c or less. Where
    exactly a tie falls has no weight in a continuous distribution.
    """
    top = int(to_bf16(np.array([SIGMA * TAIL]))[0])
    words = np.arange(top + 1, dtype=np.uint32)
    # The middle between a BF16 number and the next one has the next lower bit set.
    middles = ((words << np.uint32(16)) | np.uint32(0x8000)).view(np.float32)
    return np.array(
        [round(math.erf(float(m) / SIGMA / math.sqrt(2)) * 2**63) for m in middles], np.uint64
    )


def gaussian_parts(mib):
    """Yields the bytes of a safetensors file with mib MiB of weights."""
    rows = mib * ROWS_A_MIB
    heights = [min(ROWS_EACH, rows - at) for at in range(0, rows, ROWS_EACH)]
    yield header_bytes(
        [
            (f"layers.{i}.weight", "BF16", (height, COLUMNS), height * COLUMNS * 2)
            for i, height in enumerate(heights)
        ]
    )
    table = thresholds()
    generator = np.random.PCG64(SEED)
    for _ in range(mib):
        draws = generator.random_raw(ROWS_A_MIB * COLUMNS)
        magnitudes = np.searchsorted(table, draws >> np.uint64(1), side="right")
        signs = (draws & np.uint64(1)) << np.uint64(15)
        yield (magnitudes.astype(np.uint64) | signs).astype("<u2").tobytes()
