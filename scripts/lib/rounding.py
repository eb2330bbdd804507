# SPDX-License-Identifier: Apache-2.0
"""Narrow floats made from wider ones the way checkpoints are made: to nearest, ties to even."""

import numpy as np

E4M3_MAX = 448.0
E4M3_BIAS = 7
BLOCK = 128  # rows and columns that share one scale in an FP8 checkpoint


def to_bf16(values):
    """BF16 words of an array of finite floats."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    # Just under half of the last place that stays, and one more if that place is odd: the carry
    # then rounds to nearest with ties to even.
    carry = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return ((bits + carry) >> np.uint32(16)).astype("<u2")


def to_e4m3(values):
    """E4M3 bytes of an array of finite floats; what is too large becomes the largest number."""
    magnitude = np.minimum(np.abs(values.astype(np.float64)), E4M3_MAX)
    _, exponent = np.frexp(magnitude)
    # frexp's exponent is one above that of a normal number; below 2^-6 the step stays the same.
    exponent = np.maximum(exponent - 1, 1 - E4M3_BIAS)
    steps = np.rint(np.ldexp(magnitude, 3 - exponent)).astype(np.int64)
    # Eight steps make an exponent: a normal number's implicit bit adds itself to the exponent
    # field, and so does a mantissa that was rounded up to the next power of two.
    code = ((exponent + E4M3_BIAS - 1) << 3) + steps
    return (code | (np.signbit(values) << 7)).astype(np.uint8)


def to_scaled_e4m3(values):
    """E4M3 bytes of a matrix, and the scale of each of its 128 x 128 blocks as FP32."""
    rows, columns = values.shape
    scales = np.zeros((-(-rows // BLOCK), -(-columns // BLOCK)), np.float32)
    scaled = np.zeros_like(values, np.float32)
    for i, j in np.ndindex(scales.shape):
        at = np.s_[i * BLOCK : (i + 1) * BLOCK, j * BLOCK : (j + 1) * BLOCK]
        largest = float(np.abs(values[at]).max())
        scales[i, j] = max(largest / E4M3_MAX, 1e-12)
        scaled[at] = values[at] / scales[i, j]
    return to_e4m3(scaled), scales
