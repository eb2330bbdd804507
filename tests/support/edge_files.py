# SPDX-License-Identifier: Apache-2.0
"""The kinds of edge files, and the layout rules once more, in other words than the library's.

Each kind is a function of a random generator that returns bytes; KINDS says in which layout they
must result. Only integer draws and exactly rounded arithmetic are used, so that a seed means the
same bytes on every machine.
"""

import json
import re
import struct

from edge_tensors import BITS, Draw, fill

MAX_HEADER = 100_000_000
MAX_NAME = 65_536
MAX_NESTING = 127
MAGIC = b"\x89BREVIS\n"


# ---- the rules ----------------------------------------------------------------------------------

class Broken(Exception):
    """A rule of the format does not hold."""


def need(condition):
    if not condition:
        raise Broken


def whole(value):
    need(type(value) is int and 0 <= value < 2**64)
    return value


def check_tensor(info):
    need(isinstance(info, list))
    fields = {}
    for key, value in info:
        need(key not in fields or key not in ("dtype", "shape", "data_offsets"))
        fields[key] = value
    need(all(key in fields for key in ("dtype", "shape", "data_offsets")))
    need(isinstance(fields["dtype"], str) and fields["dtype"] in BITS)
    need(isinstance(fields["shape"], tuple) and isinstance(fields["data_offsets"], tuple))
    need(len(fields["data_offsets"]) == 2)
    bits = 1
    for factor in [*fields["shape"], BITS[fields["dtype"]]]:
        bits *= whole(factor)
        need(bits < 2**64)
    begin, end = map(whole, fields["data_offsets"])
    need(bits % 8 == 0 and end - begin == bits // 8)
    return begin, end


def arrays_as_tuples(value):
    """Tells arrays from objects, which are lists of pairs here; bounds nesting."""
    if isinstance(value, Object):
        return [(key, arrays_as_tuples(item)) for key, item in value]
    if isinstance(value, list):
        return tuple(arrays_as_tuples(item) for item in value)
    return value


class Object(list):
    """A JSON object as its pairs, so that no key is lost."""


def not_a_number(word):
    raise Broken(word)


def integer(text):
    return -1.0 if text == "-0" else int(text)


def strings_are_valid(value):
    if isinstance(value, str):
        value.encode("utf-8")  # fails for a lone surrogate
    elif isinstance(value, (list, tuple)):
        for item in value:
            strings_are_valid(item)


def nesting(text):
    depth = deepest = 0
    for c in re.sub(r'"(\\.|[^"\\])*"', "", text):
        depth += (c in "[{") - (c in "]}")
        deepest = max(deepest, depth)
    return deepest


def check_header(raw):
    """Returns the size of the data that a header describes."""
    text = raw.decode("utf-8")
    need(text.startswith("{") and nesting(text) <= MAX_NESTING)
    root = json.loads(text, object_pairs_hook=Object, parse_constant=not_a_number, parse_int=integer)
    strings_are_valid(root)
    names, extents, metadata = set(), [], 0
    for name, value in arrays_as_tuples(root):
        if name == "__metadata__":
            metadata += 1
            need(value is None or isinstance(value, list))
            need(all(isinstance(item, str) for _, item in value or []))
            continue
        need(name not in names and "\0" not in name and len(name.encode()) < MAX_NAME)
        names.add(name)
        extents.append(check_tensor(value))
    need(metadata <= 1)
    at = 0
    for begin, end in sorted(extents):
        need(begin == at)
        at = end
    return at


def classify(content):
    """Returns the layout of a file."""
    if not content:
        return "empty"
    try:
        need(len(content) >= 8)
        (size,) = struct.unpack("<Q", content[:8])
        need(0 < size <= MAX_HEADER and size <= len(content) - 8)
        described = check_header(content[8 : 8 + size])
    except (Broken, ValueError, RecursionError):
        return "opaque"
    return "safetensors" if described == len(content) - 8 - size else "irregular"


# ---- building blocks ----------------------------------------------------------------------------

def prefixed(header, data=b""):
    return struct.pack("<Q", len(header)) + header + data


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def build(tensors, metadata=None, pad=True, **json_options):
    """A file of (name, dtype, shape, data) in the order given."""
    root = {} if metadata is None else {"__metadata__": metadata}
    at = 0
    for name, dtype, shape, data in tensors:
        root[name] = entry(dtype, shape, at, at + len(data))
        at += len(data)
    json_options.setdefault("separators", (",", ":"))
    header = json.dumps(root, **json_options).encode()
    if pad:
        header += b" " * (-len(header) % 8)
    return prefixed(header, b"".join(t[3] for t in tensors))


def shape_of(d, elements):
    """Factors that multiply to a number of elements."""
    for factor in (64, 48, 7, 5, 3, 2):
        if elements and elements % factor == 0 and d.below(2):
            return [elements // factor, factor]
    return [elements]


def tensor(d, name, dtype=None, content=None, nbytes=None):
    dtype = dtype or d.pick(list(BITS))
    nbytes = d.size() if nbytes is None else nbytes
    unit = max(BITS[dtype] // 8, 3 if BITS[dtype] == 6 else 1)
    nbytes -= nbytes % unit
    return (name, dtype, shape_of(d, nbytes * 8 // BITS[dtype]), fill(d, dtype, nbytes, content))


def model(d, count=None, dtype=None, content=None, largest=40_000, **options):
    """A file of a few tensors with names as models have them."""
    parts = ("self_attn.q_proj", "self_attn.o_proj", "mlp.up_proj", "mlp.down_proj", "norm")
    tensors = [
        tensor(d, f"model.layers.{i}.{d.pick(parts)}.weight", dtype, content, d.size(largest))
        for i in range(count or 1 + d.below(5))
    ]
    return build(tensors, **options)


def raw(header, data_size=16):
    """A kind whose header is given word for word; {N} in it is a small number."""
    def make(d):
        text = header(d) if callable(header) else header
        text = text if isinstance(text, bytes) else text.encode()
        return prefixed(text, d.bytes(data_size + d.below(2000)))
    return make


X = '"x":{"dtype":"U8","shape":[16],"data_offsets":[0,16]}'


def one(value):
    return raw('{"x":' + value + "}")


def info(dtype, shape, offsets):
    return one(f'{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}')


def named(name):
    return lambda d: build([tensor(d, name(d) if callable(name) else name, nbytes=d.size(3000))])


def cut(at):
    """A valid file that ends early, at a place that the sizes of its header and data tell."""
    def make(d):
        content = build([tensor(d, n, nbytes=64 + d.below(9000)) for n in "ab"])
        (size,) = struct.unpack("<Q", content[:8])
        return content[: at(8 + size, len(content))]
    return make


def with_length(length):
    """A valid file with another number in front."""
    def make(d):
        content = model(d, 2, largest=2000)
        return struct.pack("<Q", length(len(content)) if callable(length) else length) + content[8:]
    return make


# ---- valid files --------------------------------------------------------------------------------

def large(dtype, content):
    """Over a megabyte in the first round, small afterwards."""
    return lambda d: model(d, 2, dtype, content, d.pick((900_000, 1_400_000)) if d.first else 60_000)


def tiny_tensors(d):
    count = 2000 + d.below(3000) if d.first else 100 + d.below(400)
    return build([tensor(d, f"t.{i}", nbytes=d.below(24)) for i in range(count)])


def equal_tensors(d):
    same = tensor(d, "same", "BF16", "normal", 2000 + d.below(30_000))
    tensors = [(f"tied.{i}", *same[1:]) for i in range(2 + d.below(4))]
    tensors.insert(d.below(len(tensors)), tensor(d, "other", nbytes=d.size(5000)))
    return build(tensors)


def zero_sized(d):
    shapes = ([0], [2, 0], [0, 2**64 - 1], [0, 3, 5])
    tensors = [(f"empty.{i}", d.pick(list(BITS)), d.pick(shapes), b"") for i in range(6)]
    tensors.insert(d.below(7), tensor(d, "full", nbytes=d.size(3000)))
    return build(tensors)


def scalars(d):
    return build([(f"scalar.{t}", t, [], d.bytes(BITS[t] // 8)) for t in BITS if BITS[t] >= 8])


def odd_lengths(d):
    return build([tensor(d, f"odd.{n}", nbytes=n) for n in (1, 3, 5, 7, 9, 15, 17, 31, 33, 63, 65,
                                                             127, 129, 255, 257, 1023, 1025)])


def unaligned(d):
    content = model(d, pad=False)
    (size,) = struct.unpack("<Q", content[:8])
    extra = d.below(7) if size % 8 else 1 + d.below(7)
    extra += (size + extra) % 8 == 0
    return prefixed(content[8 : 8 + size] + b" " * extra, content[8 + size :])


def padded(d):
    content = model(d)
    (size,) = struct.unpack("<Q", content[:8])
    spaces = bytes(d.pick(b" \n\t\r") for _ in range(d.below(5000)))
    return prefixed(content[8 : 8 + size] + spaces, content[8 + size :])


def shuffled(d):
    """Names in another order than the data."""
    root, at, data = [], 0, []
    for i in range(2 + d.below(12)):
        _, dtype, shape, content = tensor(d, "", nbytes=d.size(4000))
        root.append((f"w{i}", entry(dtype, shape, at, at + len(content))))
        at += len(content)
        data.append(content)
    d.shuffle(root)
    return prefixed(json.dumps(dict(root)).encode(), b"".join(data))


def many_names(d):
    names = ("../../etc/passwd", "/abs", "a b", 'quo"te', "back\\slash", "[1]", "$(id)", "-rf", "",
             "tab\there", "line\nbreak", "\x1b[31mred", "\x7f", "naïve", "重み", "\U0001f600", "\u202e")
    return build([tensor(d, n, nbytes=d.below(200)) for n in names], ensure_ascii=bool(d.below(2)))


def extra_fields(d):
    value = d.pick(('"n":null', '"n":[1,{"dtype":[]}]', '"n":-1.5e-7', '"n":{"shape":[]},"n":true'))
    text = '{"x":{"dtype":"U8",%s,"shape":[16],"data_offsets":[0,16]}}' % value
    return prefixed(text.encode(), d.bytes(16))


def spaced(d):
    return model(d, indent=d.pick((0, 1, "\t")), separators=(" ,  ", "\n : "))


def big_metadata(d):
    text = "".join(d.pick(("step ", "\u00e9", "\U0001f600", '"', "\\", "\n"))
                   for _ in range(70_000 + d.below(50_000) if d.first else d.below(3000)))
    return model(d, metadata={"log": text}, ensure_ascii=bool(d.below(2)))


VALID = {
    **{f"dtype-{t.lower()}": (lambda d, t=t: model(d, dtype=t)) for t in BITS},
    **{f"normal-{t.lower()}": (lambda d, t=t: model(d, dtype=t, content="normal"))
       for t in ("BF16", "F16", "F32", "F64", "F8_E4M3", "F8_E5M2")},
    **{f"large-{t.lower()}-{c}": large(t, c)
       for t, c in (("BF16", "normal"), ("F32", "normal"), ("F16", "sparse"), ("F8_E4M3", "normal"),
                    ("U8", "random"), ("I64", "integers"), ("BF16", "constant"))},
    **{c: (lambda d, c=c: model(d, content=c))
       for c in ("constant", "random", "sparse", "nan", "zeros", "integers")},
    "nan-f32": lambda d: model(d, dtype="F32", content="nan"),
    "zeros-bf16": lambda d: model(d, dtype="BF16", content="zeros"),
    "no-tensors": lambda d: build([]),
    "no-tensors-bare": lambda d: prefixed(b"{}"),
    "one-byte-tensor": lambda d: build([tensor(d, "x", "I8", nbytes=1)]),
    "zero-sized": zero_sized,
    "scalars": scalars,
    "odd-lengths": odd_lengths,
    "unaligned-header": unaligned,
    "padded-header": padded,
    "spaced-header": spaced,
    "shuffled-header": shuffled,
    "extra-fields": extra_fields,
    "metadata": lambda d: model(d, metadata={"format": "pt", "a": "\0\n\"", "": ""}),
    "metadata-empty": lambda d: model(d, metadata={}),
    "metadata-null": lambda d: prefixed(
        b'{"__metadata__":null,"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'),
    "metadata-only": lambda d: build([], {"format": "pt"}),
    "metadata-big": big_metadata,
    "names": many_names,
    "name-long": named(lambda d: "layer." * (200 + d.below(2000))),
    "tiny-tensors": tiny_tensors,
    "equal-tensors": equal_tensors,
    "mixed": lambda d: model(d, 12),
}
# ---- valid headers, other data ------------------------------------------------------------------

IRREGULAR = {
    "trailing-byte": lambda d: model(d) + d.bytes(1),
    "trailing-bytes": lambda d: model(d) + d.bytes(2 + d.below(30_000)),
    "trailing-zeros": lambda d: model(d) + bytes(1 + d.below(4096)),
    "trailing-only": lambda d: build([]) + d.bytes(1 + d.below(100)),
    "cut-data-1": cut(lambda data, end: end - 1),
    "cut-data-2": cut(lambda data, end: end - 2),
    "cut-data-half": cut(lambda data, end: (data + end) // 2),
    "cut-data-first": cut(lambda data, end: data + 1),
    "cut-data-all": cut(lambda data, end: data),
    "described-huge": info("U8", "[2305843009213693951]", "[0,2305843009213693951]"),
}

# ---- everything else ----------------------------------------------------------------------------

BROKEN_HEADERS = {
    "duplicate-names": raw('{%s,%s}' % (X, X.replace("0,16", "16,32").replace('"x"', '"\\u0078"'))),
    "ten-on-one-range": raw("{" + ",".join(X.replace('"x"', f'"x{i}"') for i in range(10)) + "}"),
    "hole": raw("{%s,%s}" % (X, X.replace('"x"', '"y"').replace("0,16", "17,33"))),
    "hole-first": info("U8", "[8]", "[8,16]"),
    "overlap": raw("{%s,%s}" % (X, X.replace('"x"', '"y"').replace("0,16", "8,24"))),
    "json-comma": raw("{%s,}" % X),
    "json-open": raw("{%s" % X),
    "json-lone-brace": raw("{"),
    "json-quotes": raw("{%s}" % X.replace('"', "'")),
    "json-nan": one('{"dtype":"U8","shape":[16],"data_offsets":[0,16],"n":NaN}'),
    "json-comment": raw("{/* no */%s}" % X),
    "json-twice": raw("{%s}{}" % X),
    "json-array": raw("[]"),
    "json-string-tail": raw('{%s} "open' % X),
    "json-vertical-tab": raw("{\v%s}" % X),
    "json-zeros": info("U8", "[016]", "[0,16]"),
    "leading-space": raw(" {%s}" % X),
    "leading-bom": raw("\ufeff{%s}" % X),
    "nested-deeply": one('{"n":' + "[" * 50_000),
    "not-utf8": raw(b'{"\xff":{"dtype":"U8","shape":[16],"data_offsets":[0,16]}}'),
    "overlong-utf8": raw(b'{"\xc0\xaf":{"dtype":"U8","shape":[16],"data_offsets":[0,16]}}'),
    "surrogate-utf8": raw(b'{"\xed\xa0\x80":{"dtype":"U8","shape":[16],"data_offsets":[0,16]}}'),
    "surrogate-escape": raw("{%s}" % X.replace('"x"', '"\\ud800"')),
    "nul-escape": raw("{%s}" % X.replace('"x"', '"a\\u0000b"')),
    "nul-bytes": raw(b"\0" * 32),
    "name-too-long": raw("{%s}" % X.replace('"x"', '"%s"' % ("n" * 70_000))),
    "dtype-unknown": info("Q8_0", "[16]", "[0,16]"),
    "dtype-lower": info("u8", "[16]", "[0,16]"),
    "dtype-null": one('{"dtype":null,"shape":[16],"data_offsets":[0,16]}'),
    "shape-overflow": info("U8", "[2,18446744073709551614]", "[0,16]"),
    "shape-bits-overflow": info("F64", "[2305843009213693952]", "[0,0]"),
    "shape-float": info("U8", "[16.0]", "[0,16]"),
    "shape-minus-zero": info("U8", "[-0]", "[0,0]"),
    "shape-exponent": info("U8", "[16e0]", "[0,16]"),
    "shape-misfit": info("F32", "[16]", "[0,16]"),
    "shape-beyond-64-bits": info("U8", "[18446744073709551616]", "[0,16]"),
    "offsets-reversed": info("U8", "[16]", "[16,0]"),
    "offsets-negative": info("U8", "[16]", "[-16,0]"),
    "offsets-three": info("U8", "[16]", "[0,8,16]"),
    "f4-odd": info("F4", "[31]", "[0,16]"),
    "f6-part-byte": info("F6_E2M3", "[2]", "[0,2]"),
    "field-missing": one('{"dtype":"U8","data_offsets":[0,16]}'),
    "field-twice": one('{"dtype":"U8","shape":[16],"shape":[16],"data_offsets":[0,16]}'),
    "tensor-null": one("null"),
    "metadata-number": raw('{"__metadata__":{"epoch":3},%s}' % X),
    "metadata-is-number": raw('{"__metadata__":3,%s}' % X),
    "metadata-twice": raw('{"__metadata__":{},"__metadata__":{},%s}' % X),
}


def pointer_like(change):
    """Looks like a pointer of git-lfs, but is none."""
    def make(d):
        text = (b"version https://git-lfs.github.com/spec/v1\n"
                b"oid sha256:%s\nsize %d\n" % (d.bytes(32).hex().encode(), 1000 + d.below(10**9)))
        return change(text)
    return make


def words(d, end):
    return "".join(d.pick(("weights ", "tensor", "été ", "x", " ")) + (end if not d.below(7) else "")
                   for _ in range(1 + d.below(4000))).encode()


OTHER = {
    "one-byte": lambda d: d.bytes(1),
    "cut-at-7": cut(lambda data, end: 7),
    "cut-at-8": cut(lambda data, end: 8),
    "cut-header-1": cut(lambda data, end: data - 1),
    "cut-header-half": cut(lambda data, end: data // 2),
    "length-zero": with_length(0),
    "length-past-end": with_length(lambda size: size - 7),
    "length-at-limit": with_length(MAX_HEADER),
    "length-over-limit": with_length(MAX_HEADER + 1),
    "length-2-63": with_length(2**63),
    "length-max": with_length(2**64 - 1),
    "binary": lambda d: b"\xfe" * 8 + d.bytes(d.size()),
    "binary-large": lambda d: b"\xfe" * 8 + d.bytes(1_500_000 if d.first else d.size()),
    "zeros-only": lambda d: bytes(9 + d.below(20_000)),
    "text": lambda d: b"# notes\n" + words(d, "\n"),
    "text-crlf": lambda d: b"# notes\r\n" + words(d, "\r\n"),
    "pointer-crlf": pointer_like(lambda t: t.replace(b"\n", b"\r\n")),
    "pointer-extra-line": pointer_like(lambda t: t + b"x-note hello\n"),
    "pointer-no-newline": pointer_like(lambda t: t[:-1]),
    "pointer-upper-case": pointer_like(lambda t: t[:54] + t[54:118].upper().replace(b"0", b"A") + t[118:]),
    "pointer-short-oid": pointer_like(lambda t: t.replace(t[54:60], b"")),
    "pointer-other-hash": pointer_like(lambda t: t.replace(b"sha256", b"sha512")),
    "pointer-swapped": pointer_like(lambda t: b"\n".join(t.split(b"\n")[i] for i in (0, 2, 1, 3))),
    "pointer-padded": pointer_like(lambda t: t + b"\n" * 2000),
    "magic-only": lambda d: MAGIC,
    "magic-part": lambda d: MAGIC[:7],
    "magic-garbage": lambda d: MAGIC + d.bytes(d.size()),
    "magic-zeros": lambda d: MAGIC + bytes(d.below(5000)),
}

KINDS = [
    *((kind, make, "safetensors") for kind, make in VALID.items()),
    *((kind, make, "irregular") for kind, make in IRREGULAR.items()),
    *((kind, make, "opaque") for kind, make in {**BROKEN_HEADERS, **OTHER}.items()),
    ("empty", lambda d: b"", "empty"),
]


def make(rng, i):
    """Returns kind, content and layout of file number i. Every kind has its turn in each round."""
    kind, function, layout = KINDS[i % len(KINDS)]
    return kind, function(Draw(rng, first=i < len(KINDS))), layout
