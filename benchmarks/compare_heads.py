#!/usr/bin/env python3
"""largo heads beside PyTorch computing the outputs alone, on one capture in float16, each in a process of its own.

    compare_heads.py [--build build/release] [--rounds 3] [--heads 32] [--tokens 100000] [--file FILE]

Both read the same mapped file and attend with 64 queries a head. PyTorch (one thread, float32) computes softmax(q k) v
and nothing else; largo (one thread, double precision) computes the whole audit. Times are processor seconds, so that other
work on the machine counts less. The last line is the audit on all cores: its time, and its memory beyond the file.
Needs NumPy and PyTorch. Takes some minutes, and 1.2 GB of disk for the default size.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import programs

QUERIES, WIDTH = 64, 64

TORCH = """
import resource, sys, time
import numpy as np, torch
torch.set_num_threads(1)
offset, heads, tokens = map(int, sys.argv[2:5])
data = np.memmap(sys.argv[1], dtype=np.float16, mode="r", offset=offset, shape=(3, heads, tokens, 64))
rows = [(i + 1) * tokens // 64 - 1 for i in range(64)]
start = time.process_time()
with torch.no_grad():
    for head in range(heads):
        q, k, v = (torch.from_numpy(np.array(x[head])).float() for x in data)
        out = torch.softmax(q[rows] @ k.T / 8, dim=-1) @ v
print(time.process_time() - start)
"""


def write_capture(path, heads, tokens):
    """Normal numbers; the offset of the data."""
    header, at = {}, 0
    for name in "qkv":
        size = heads * tokens * WIDTH * 2
        header[f"layers.0.{name}"] = {"dtype": "F16", "shape": [heads, tokens, WIDTH], "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + 8) % 64)
    random = np.random.default_rng(1)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _ in range(3 * heads):
            file.write(random.standard_normal((tokens, WIDTH), dtype=np.float32).astype(np.float16).tobytes())
    return 8 + len(text)


def run(command):
    """Wall-clock and processor seconds, the largest memory in bytes, and the output of one process."""
    start = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command[0]} failed")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, out.decode()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default="build/release")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=100_000)
    options = parser.parse_args()
    largo = programs.built(options.build / "apps/largo/largo")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "capture.safetensors")
        offset = write_capture(file, options.heads, options.tokens)
        command = [largo, "heads", file, "--queries", QUERIES, "--json"]
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(run([*command, "--threads", 1])[1])
            theirs.append(float(run([sys.executable, "-c", TORCH, file, offset, options.heads, options.tokens])[3]))
        per_query = 1e3 / (QUERIES * options.heads)
        print(f"{options.heads} heads, {options.tokens} tokens, head_dim {WIDTH}, {QUERIES} queries a head; one core")
        for name, times in (("largo heads", ours), ("PyTorch, outputs alone", theirs)):
            print(f"{name:24}{statistics.median(times):8.2f} s  ({min(times):.2f} to {max(times):.2f})"
                  f"{per_query * statistics.median(times):10.2f} ms a query")
        print(f"largo : PyTorch = {statistics.median(ours) / statistics.median(theirs):.2f}")
        wall, _, memory, _ = run(command)
        print(f"all cores: {wall:.1f} s, {(memory - file.stat().st_size) / 1e6:.0f} MB beyond the file")


if __name__ == "__main__":
    main()
