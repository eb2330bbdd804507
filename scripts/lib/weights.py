# SPDX-License-Identifier: Apache-2.0
"""The weights inside model files, as (name, numpy array) in the order of the file."""

import json
import math
import posixpath
import re

import numpy as np

SMALL_CONSTANT = 256  # bytes; constants up to here are shapes and the like, not weights

TFJS_TYPES = {"float32", "float16", "int32", "uint16", "uint8", "bool"}


# A token of a JavaScript literal: a string, a word or number, or a single mark.
LITERAL_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[-+.\w$]+|[^\s\w])')


def graph_tensors(graph, prefix=""):
    """Named tensors of a graph itself: its initializers, then its larger constants."""
    found = [(prefix + t.name, t) for t in graph.initializer]
    for node in graph.node:
        if node.op_type != "Constant":
            continue
        for attribute in node.attribute:
            if attribute.name == "value" and attribute.t.ByteSize() > SMALL_CONSTANT:
                found.append((prefix + node.output[0], attribute.t))
    return found


def branch_tensors(graph, prefix=""):
    """
    Named tensors of the graphs inside a graph's nodes (branches of If, bodies of Loop), at any
    depth. Graphs beside each other may use the same names, so each name begins with its way there;
    outputs mark it, since these, unlike the nodes' names, have to be there and differ.
    """
    found = []
    for node in graph.node:
        for attribute in node.attribute:
            inner = [attribute.g] if attribute.HasField("g") else []
            for i, subgraph in enumerate([*inner, *attribute.graphs]):
                way = f"{prefix}{node.output[0]}.{attribute.name}{i or ''}/"
                found += graph_tensors(subgraph, way) + branch_tensors(subgraph, way)
    return found


def onnx_weights(model, branches=False):
    """Weights of a serialized ONNX model; those inside branches and loops only if asked for."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load_from_string(model).graph
    found = graph_tensors(graph)
    if branches:
        found += branch_tensors(graph)
    return [(name, numpy_helper.to_array(t)) for name, t in found]


def literal_to_json(text, at):
    """
    JSON of the object or array that stands at text[at:] as a literal of minified JavaScript. It has
    words as keys and numbers like .5, and is read rather than run: it came from a package.
    """
    tokens, depth = [], 0
    while not tokens or depth:
        match = LITERAL_TOKEN.match(text, at)
        if not match:
            raise ValueError("a JavaScript literal has no end")
        token, at = match[1], match.end()
        depth += (token in "{[") - (token in "}]")
        if re.fullmatch(r"[A-Za-z_$][\w$]*", token) and token not in ("null", "true", "false"):
            token = f'"{token}"'
        tokens.append(re.sub(r"^(-?)\.", r"\g<1>0.", token))
    return "".join(tokens)


def tfjs_weights(path, files):
    """
    Weights of the tfjs network whose description is files[path]; the binary parts are looked up
    beside it. The description is a model with a manifest of its weights, or only the manifest. An
    empty list if that JSON describes no network.
    """
    description = json.loads(files[path])
    if isinstance(description, dict):
        description = description.get("weightsManifest", [])
    result = []
    for group in description:
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
