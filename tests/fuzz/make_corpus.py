#!/usr/bin/env python3
"""Writes the seed inputs of the fuzz targets to corpus/ beside this file. Standard library only."""

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
    "csv": {
        "plain": b"1,2\n3,4\n",
        "header": b"\xef\xbb\xbfx,y\r\n1.5,-2e-3\r\n.5,+4\r\n\r\n",
        "semicolon": b"# comment\n\"a;b\";c\n1;2\n#\n3;4",
        "tab": b"1\t2\n3\t4\n",
        "ragged": b"1,2\n3\n",
        "nan": b"1,nan\ninf,2\n",
        "range": b"1e999,5e-324,1.7976931348623157e308\n",
    },
}

for target, seeds in SEEDS.items():
    (CORPUS / target).mkdir(parents=True, exist_ok=True)
    for name, content in seeds.items():
        (CORPUS / target / name).write_bytes(content)
