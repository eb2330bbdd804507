# SPDX-License-Identifier: Apache-2.0
"""The weights inside model files, as (name, numpy array) in the order of the file."""

import json
import math
import posixpath

import numpy as np

SMALL_CONSTANT = 256  # bytes; constants up to here are shapes and the like, not weights

TFJS_TYPES = {"float32", "float16", "int32", "uint16", "uint8", "bool"}


def onnx_weights(model):
    """Weights of a serialized ONNX model: its initializers, then its larger constants."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load_from_string(model).graph
    found = [(t.name, t) for t in graph.initializer]
    for node in graph.node:
        if node.op_type != "Constant":
            continue
        for attribute in node.attribute:
            if attribute.name == "value" and attribute.t.ByteSize() > SMALL_CONSTANT:
                found.append((node.output[0], attribute.t))
    return [(name, numpy_helper.to_array(t)) for name, t in found]


def tfjs_weights(path, files):
    """
    Weights of the tfjs network whose description is files[path]; the binary parts are looked up
    beside it. An empty list if that JSON describes no network.
    """
    description = json.loads(files[path])
    result = []
    for group in description.get("weightsManifest", []):
        folder = posixpath.dirname(path)
        data = b"".join(files[posixpath.join(folder, part)] for part in group["paths"])
        offset = 0
        for weight in group["weights"]:
            # A quantised weight is stored in the type that its quantisation names.
            dtype = weight.get("quantization", weight).get("dtype", weight["dtype"])
            if dtype not in TFJS_TYPES:
                raise ValueError(f"{path}: unknown type {dtype}")
            count = math.prod(weight["shape"])
            array = np.frombuffer(data, np.dtype(dtype), count, offset)
            offset += array.nbytes
            result.append((weight["name"], array.reshape(weight["shape"])))
    return result
