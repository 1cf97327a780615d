#!/usr/bin/env python3
"""Writes the seed inputs of the fuzz targets to corpus/ beside this file. Standard library only."""

import hashlib
import json
import struct
from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"


def npy(version, descr, fortran, shape, data):
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n".encode()
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def safetensors(header, data):
    text = header.encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(dtype, shape, begin, end):
    return f'{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}'


def descent(tensors, format="largo descent 2", run="0123456789abcdef"):
    """A checkpoint: rows of numbers by name, and the checksum of it all with zeros in its place."""
    header, data = {"__metadata__": {"format": format, "run": run, "sha256": "0" * 64}}, b""
    for name, rows in tensors.items():
        begin = len(data)
        data += b"".join(struct.pack(f"<{len(row)}d", *row) for row in rows)
        shape = [len(rows), len(rows[0])]
        header[name] = {"dtype": "F64", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header, separators=(",", ":"))
    whole = safetensors(text + " " * (-len(text) % 8), data)
    return whole.replace(b"0" * 64, hashlib.sha256(whole).hexdigest().encode(), 1)


def capture(shapes, dtype="F32", layer=0, parts="qkv", scale=1.0):
    """Queries, keys and values of these shapes: 0, 1, 2, … eighths, times `scale` in the values."""
    formats = {"F64": "d", "F32": "f", "F16": "e"}
    header, data = {}, b""
    for part, shape in zip(parts, shapes):
        count = 1
        for extent in shape:
            count *= extent
        begin = len(data)
        factor = scale if part == "v" else 1.0
        data += struct.pack(f"<{count}{formats[dtype]}", *(factor * (i % 7 / 8) for i in range(count)))
        header[f"layers.{layer}.{part}"] = {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, len(data)]}
    return json.dumps(header, separators=(",", ":")), data


DOUBLES = struct.pack("<6d", 1, -2, 0.5, 1e300, float("nan"), 0)
FLOATS = struct.pack("<6f", 1, -2, 0.5, 1e30, float("inf"), 0)
HALVES = struct.pack("<4H", 0x3C00, 0x7C01, 0x0001, 0xFFFF)

SEEDS = {
    "npy": {
        "v1": npy(1, "<f8", False, (2, 3), DOUBLES),
        "v2-fortran": npy(2, "<f8", True, (2, 3), DOUBLES),
        "v3-float32": npy(3, "<f4", False, (6,), FLOATS),
        "empty": npy(1, "<f4", False, (0, 3), b""),
        "big-endian": npy(1, ">f8", False, (6,), DOUBLES),
        "object": npy(1, "|O", False, (1,), b""),
        "overflow": npy(1, "<f8", False, (2**32, 2**32), b""),
        "text": b"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 6), }\0" + DOUBLES,
    },
    "safetensors": {
        "two": safetensors(
            '{"a":' + tensor("F64", [2, 3], 0, 48) + ',"b":' + tensor("F32", [6], 48, 72) + "}",
            DOUBLES + FLOATS,
        ),
        "halves": safetensors(
            '{"__metadata__":{"format":"pt"},"h":'
            + tensor("F16", [2, 1], 0, 4)
            + ',"b":'
            + tensor("BF16", [2], 4, 8)
            + "}  ",
            HALVES,
        ),
        "scalar": safetensors('{"s":' + tensor("F32", [], 0, 4) + "}", FLOATS[:4]),
        "overlap": safetensors(
            '{"a":' + tensor("F32", [2], 0, 8) + ',"b":' + tensor("F32", [2], 4, 12) + "}", FLOATS[:12]
        ),
        "text": ('{"a":' + tensor("F32", [3, 2], 0, 24) + "}").encode() + b"\0" + FLOATS,
        "empty": safetensors("{}", b""),
    },
    "capture": {
        "plain": safetensors(*capture([(1, 3, 2)] * 3)),
        "batch": safetensors(*capture([(2, 1, 2, 2)] * 3, "F16")),
        "grouped": safetensors(*capture([(2, 2, 3), (1, 3, 3), (1, 3, 1)], "F64", layer=7)),
        "huge": safetensors(*capture([(1, 3, 2)] * 3, "F64", scale=1e200)),
        "tiny": safetensors(*capture([(1, 3, 2)] * 3, "F64", scale=1e-200)),
        "missing": safetensors(*capture([(1, 2, 2)] * 2, parts="qv")),
        "shapes": safetensors(*capture([(1, 3, 2), (1, 2, 2), (1, 2, 2)])),
        "empty": safetensors(*capture([(1, 2, 0)] * 3)),
        "weights": safetensors('{"model.layers.0.q_proj.weight":' + tensor("F32", [1], 0, 4) + "}", FLOATS[:4]),
        "text": capture([(1, 3, 2)] * 3)[0].encode() + b"\0" + capture([(1, 3, 2)] * 3)[1],
    },
    "csv": {
        "plain": b"1,2\n3,4\n",
        "header": b"\xef\xbb\xbfx,y\r\n1.5,-2e-3\r\n.5,+4\r\n\r\n",
        "semicolon": b"# comment\n\"a;b\";c\n1;2\n#\n3;4",
        "tab": b"1\t2\n3\t4\n",
        "ragged": b"1,2\n3\n",
        "nan": b"1,nan\ninf,2\n",
        "range": b"1e999,5e-324,1.7976931348623157e308\n",
    },
    "study": {
        "moments": b'title = "Moments"\nquantity = "moments"\nseed = 2\n[grid]\ns = [0.5, 1]\nL = "1e1:1e6:13"\n',
        "concentration": b'quantity = "concentration"\nmethod = "sampled"\ntolerance = 1e-3\n[settings]\n'
        b'law = "gaussian:cov=toeplitz:0.5"\nd = 4\nU = "0.5*identity"\nquery = "1,0,-1,0"\nprompts = 1000\n'
        b'[grid]\nsigma = "0.01:1:9:log"\nL = [10, 100, inf]\n',
        "risk": b"quantity = 'icl-risk'\n[settings]\nd = 2\nA = 'identity'\nb = 1\n[grid]\nL = '10,100,inf'\nnoise = 0.5\n",
        "flow": b'quantity = "icl-flow"\n[settings]\nd = 3\ncov = """toeplitz:0.5"""\ntime = 10\n[[points]]\nL = 10\n'
        b'[[points]]\nL = 20\nattention = "linear"\n',
        "threshold": b'quantity = "icl-threshold"\nsettings = {d = 2, alpha = 0.5}\ngrid = {epsilon = "0.1:1:3"}\n',
        "mistake": b'quantity = "moments"\n[grid]\ns = [1,\n true]\nL = []\n',
        "dotted": b'quantity = "moments"\ngrid.s = [1]\ngrid."L" = [2]\n',
        "dates": b"quantity = 'moments'\n[grid]\ns = [1979-05-27T07:32:00.999Z]\nL = 07:32:00\n",
        "mixture": b"[[component]]\nweight = 0.5\nlaw = 'gaussian:mean=1,2'\n[[component]]\nweight = 1\nlaw = 'sphere'\n"
        b"shift = [1, 2.5]\n",
        "list": b"[1, 2.5, inf]",
        "range": b"1e1:1e3:7",
    },
    "task": {
        "gaussian": b'dimension = 5\ncovariates = "gaussian:cov=toeplitz:0.5"\n',
        "regression": b'kind = "regression"\ndimension = 4\noutputs = 3\ncovariates = "sphere:radius=2"\nqueries = "uniform"\n'
        b'prior = "laplace"\nnoise = "gaussian:cov=diag:0.1,0.2,0.3"\nnoise_scale = "uniform"\nloss = "huber:1"\nscore_scale = 0.5\n',
        "mixture": b"dimension = 2\nnoise = [{weight = 0.9, law = 'gaussian:cov=0.01*identity'},\n  {weight = 1, law = 'gaussian'}]\n"
        b"prior = [{weight = 1, law = 'sphere', shift = [1, 2.5]}]\n",
        "tables": b"dimension = 1\n[[covariates]]\nweight = 1\nlaw = 'rademacher'\n[[covariates]]\nweight = 2\nlaw = 'mixture:m.toml'\n"
        b"shift = [-1]\n",
        "classification": b"kind = 'classification'\ndimension = 3\nmean_scale = 1.5\ncovariance = 'toeplitz:0.3'\nloss = 'logistic'\n",
        "mistake": b"dimension = 5.5\nmean_scale = 1\nnoise = []\n",
        "dates": b"dimension = 1979-05-27T07:32:00.999Z\nscore_scale = 07:32:00\n",
    },
    "formula": {
        "plain": b"1 + 0.1*ln(L/4096)",
        "power": b"-2^-3^.5e1",
        "functions": b"max(min(L, 1e300), sqrt(floor(exp(1)))) / log(L)",
        "deep": b"(" * 45 + b"L" + b")" * 45,
        "too-deep": b"-" * 60 + b"L",
        "open": b"ln(L",
        "zero": b"1\0+2",
        "line": b"1\n+2",
        "name": b"0.5*log-squared",
        "trained": b"yarn:4096",
        "trained-badly": b"longrope:1",
        "negative": b"1-L",
    },
    "descent": {
        "plain": descent({"state": [[0, 0, 1, 1, 0, 0, 0]], "parameters": [[1, 2]]}),
        "adam": descent({"state": [[5, 0.05, 0.5, 0.9, 2, 1.5, 3]], "parameters": [[1, 2]], "momentum": [[0.1, 0.2]],
                         "squares": [[0.3, 0.4]], "records": [[0, 0, 2, 1, 1], [5, 0.05, 1.5, 1, 2]]}),
        "nan": descent({"state": [[0, float("nan"), 1, 1, 0, 0, 0]], "parameters": [[1, 2]]}),
        "sizes": descent({"state": [[0, 0, 1, 1, 0, 0, 0]], "parameters": [[1, 2]], "momentum": [[1, 2, 3]]}),
        "steps": descent({"state": [[2.0**53, 0, 1, 1, 0, 0, 0]], "parameters": [[1]]}),
        "format": descent({"state": [[0, 0, 1, 1, 0, 0, 0]], "parameters": [[1]]}, format="largo descent 3"),
        "changed": descent({"state": [[0, 0, 1, 1, 0, 0, 0]], "parameters": [[1]]})[:-1] + b"\x01",
        "first-format": safetensors('{"state":' + tensor("F64", [1, 6], 0, 48) + "}", DOUBLES),
        "text": descent({"state": [[0, 0, 1, 1, 0, 0, 0]], "parameters": [[1]]})[8:].replace(b"}  ", b"}\0"),
    },
}

for target, seeds in SEEDS.items():
    (CORPUS / target).mkdir(parents=True, exist_ok=True)
    for name, content in seeds.items():
        (CORPUS / target / name).write_bytes(content)
