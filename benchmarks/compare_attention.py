#!/usr/bin/python3
"""Attention over a given prompt: largo beside NumPy and PyTorch, on one core, in the same run.

    benchmarks/compare_attention.py [--build build/release] [--rounds 5]

Every round times each contender once more, in turn, so that a slow phase of a shared machine hits all of
them; the table has the median over the rounds and the spread (smallest to largest). The peers compute
matmul, softmax, matmul in float32, in the fastest of the layouts tried; for the covariance, one weighted
matmul per query, the fastest way found in either library. The last lines measure the memory of a process that
attends over 10^7 tokens from a file.
"""

import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from one_core import torch  # before NumPy

import numpy as np

import programs

SIZES = [(1_000_000, 16, 8), (100_000, 64, 64)]


def largo_ms(program, name):
    """One timing of a Google Benchmark by its exact name, in milliseconds, with its counters."""
    row = programs.benchmark(program, name, "--benchmark_min_time=0.3")
    unit = {"us": 1e-3, "ms": 1.0, "ns": 1e-6, "s": 1e3}[row["time_unit"]]
    return row["real_time"] * unit, row


def timed_ms(function):
    function()
    best = []
    for _ in range(3):
        start = time.perf_counter()
        function()
        best.append((time.perf_counter() - start) * 1e3)
    return statistics.median(best)


def numpy_output(Z, A):
    S = Z @ A
    S -= S.max(axis=0)
    np.exp(S, out=S)
    S /= S.sum(axis=0)
    return S, S.T @ Z


def numpy_covariance(Z, A):
    W, mean = numpy_output(Z, A)
    return [(Z * W[:, q : q + 1]).T @ Z - np.outer(mean[q], mean[q]) for q in range(A.shape[1])]


def torch_output(Z, A):
    # Queries first: softmax over contiguous rows is several times faster than over columns.
    W = torch.softmax(A.T @ Z.T, 1)
    return W, W @ Z


def torch_covariance(Z, A):
    W, mean = torch_output(Z, A)
    return [(Z * W[q][:, None]).T @ Z - torch.outer(mean[q], mean[q]) for q in range(A.shape[1])]


def contenders(Z, A):
    yield "NumPy", lambda: numpy_output(Z, A), lambda: numpy_covariance(Z, A)
    if torch is not None:
        tZ, tA = torch.from_numpy(Z), torch.from_numpy(A)
        yield "PyTorch", lambda: torch_output(tZ, tA), lambda: torch_covariance(tZ, tA)


def compare(program, rounds, L, d, queries, ceilings):
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((L, d)).astype(np.float32)
    A = (0.2 * rng.standard_normal((d, queries))).astype(np.float32)
    times = {}
    rows = {}
    for _ in range(rounds):
        for what, index in (("output", 1), ("covariance", 2)):
            name = f"{what}_float32/L:{L}/d:{d}/queries:{queries}/threads:1/real_time"
            ms, rows[what] = largo_ms(program, name)
            times.setdefault((what, "largo"), []).append(ms)
            for contender in contenders(Z, A):
                times.setdefault((what, contender[0]), []).append(timed_ms(contender[index]))
    print(f"\nL = {L}, d = {d}, {queries} queries, float32, one core")
    print(f"{'':12} {'':10} {'ms':>9} {'spread':>17} {'largo is faster by':>20}")
    for what in ("output", "covariance"):
        largo = statistics.median(times[what, "largo"])
        for name in [n for w, n in times if w == what]:
            all_ms = times[what, name]
            ratio = "" if name == "largo" else f"{statistics.median(all_ms) / largo:.1f}x"
            print(f"{what:12} {name:10} {statistics.median(all_ms):9.2f} {min(all_ms):8.2f}-{max(all_ms):8.2f}"
                  f" {ratio:>20}")
        print(f"{what:12} share of the machine: {rows[what]['flops'] / ceilings['flops']:.0%} of its float32"
              f" multiply-adds, {rows[what]['bytes_read'] / ceilings['bytes_read']:.0%} of its read bandwidth")


def machine_ceilings(program):
    _, flops = largo_ms(program, "float32_multiply_adds")
    _, reads = largo_ms(program, "read_bandwidth/real_time")
    print(f"this machine, one core: {flops['flops'] / 1e9:.0f} Gflop/s in float32 multiply-adds,"
          f" {reads['bytes_read'] / 1e9:.1f} GB/s read")
    return {"flops": flops["flops"], "bytes_read": reads["bytes_read"]}


def memory(largo):
    """Peak memory of `largo attention` over a mapped prompt of 10^7 tokens, beside the prompt's size."""
    L, d = 10_000_000, 16
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "prompt.npy"
        tokens = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(L, d))
        rng = np.random.default_rng(1)
        for start in range(0, L, 1_000_000):
            tokens[start : start + 1_000_000] = rng.standard_normal((1_000_000, d), dtype=np.float32)
        tokens.flush()
        del tokens
        query = ",".join(["0.3"] * d)
        # From a process of its own: a child starts with the peak memory of its parent.
        launcher = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, "
                    "stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        out = subprocess.run([sys.executable, "-c", launcher, largo, "attention", "--law", f"tokens:{path}",
                              "--query", query, "--json"], check=True, capture_output=True, text=True).stdout
        peak = int(out) * 1024
        size = path.stat().st_size
    print(f"\nmemory at L = 10^7, d = 16, float32: prompt {size / 1e6:.0f} MB, peak {peak / 1e6:.0f} MB,"
          f" beyond the prompt {max(0, peak - size) / 1e6:.0f} MB")


def main():
    options = programs.options(__doc__, rounds=5)
    build = options.build
    program = programs.built(build / "benchmarks" / "benchmark_attention")
    if torch is None:
        print("PyTorch is not installed (scripts/deps --bench): comparing with NumPy alone")
    ceilings = machine_ceilings(build / "benchmarks" / "benchmark_machine")
    memory(build / "apps" / "largo" / "largo")
    for L, d, queries in SIZES:
        compare(program, options.rounds, L, d, queries, ceilings)


if __name__ == "__main__":
    main()
