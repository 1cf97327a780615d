#!/usr/bin/env python3
"""Writes heads.safetensors beside this file: a made-up capture of 2 layers, 4 heads, 160 tokens and head_dim 8.

No model has seen it. Layer 0 has a head whose keys nearly agree, two whose scores are normal with small and with larger
spread, and one with a sink at the first position; layer 1 has a head that looks at the tokens just before, one that finds a
single token, one of two groups of tokens, and a copy of the first with other values. Needs NumPy.
"""

import json
from pathlib import Path

import numpy as np

TOKENS, WIDTH = 160, 8


def capture():
    random = np.random.default_rng(26)

    def normal(scale=1.0):
        return scale * random.standard_normal((TOKENS, WIDTH))

    heads = []
    for spread in (0.05, 0.5, 1.5):
        heads.append((normal(spread), normal(), normal()))
    q, k, v = normal(0.35), normal(), normal()  # a sink
    q[:, 0], k[:, 0], k[0, 0], v[0] = 3.0, 0.0, 7.0, 0.05
    heads.append((q, k, v))
    at = np.arange(TOKENS)
    turns = np.concatenate([np.exp(1j * 2 * np.pi * at / period) for period in (40, 90, 200, 500)]).reshape(4, -1)
    rotary = np.stack([turns.real, turns.imag], axis=-1).transpose(1, 0, 2).reshape(TOKENS, WIDTH)
    heads.append((9 * rotary, 2 * rotary, normal()))  # near tokens
    k = normal()
    heads.append((5 * k[random.integers(0, 20, TOKENS)], k, normal()))  # one token
    side = np.where(at % 3 == 0, 1.0, -1.0)[:, None]
    heads.append((normal(), 0.2 * normal() + 2.5 * side * np.eye(WIDTH)[0], 0.2 * normal() + side))  # two groups
    heads.append((normal(0.05), normal(), 1 + normal()))
    q, k, v = (np.stack(part).astype(np.float16).reshape(2, 4, TOKENS, WIDTH) for part in zip(*heads))
    return {f"layers.{layer}.{name}": part[layer] for layer in range(2) for name, part in zip("qkv", (q, k, v))}


def main():
    header, data = {}, b""
    for name, array in capture().items():
        begin = len(data)
        data += array.tobytes()
        header[name] = {"dtype": "F16", "shape": list(array.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    Path(__file__).with_name("heads.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)


if __name__ == "__main__":
    main()
