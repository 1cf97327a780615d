#!/usr/bin/python3
"""What Python adds: calls through the module beside the same calls in C++, in the same run.

    benchmarks/compare_python.py [--rounds 15]

The module is to be importable (scripts/python ENV, or PYTHONPATH=BUILD/python). Scalar moments: the time of a call from
Python less that of a call in C++, at points where the call itself takes little; bar 5 µs. Attention over a prompt of
10^6 x 16 NumPy numbers: the ratio; bar 1.05. Both sides in turn, by the clock; the median over the rounds decides.
"""

import argparse
import statistics
import sys
import time

import numpy as np

import largo
from largo import _largo


def seconds(call, repeats):
    """By the clock: what a caller waits for, the hand-over to a worker thread included."""
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def compare_moments(rounds):
    held = True
    for s, L, repeats in ((0.0, 10.0, 20000), (1.0, float("inf"), 20000), (1.0, 1000.0, 300)):
        extra, whole = [], []
        for _ in range(rounds):
            inside = seconds(lambda: _largo._time_moments(s, L, repeats), 1) / repeats
            outside = seconds(lambda: largo.moments(s, L), repeats)
            extra.append(1e6 * (outside - inside))
            whole.append(1e6 * outside)
        print(f"moments(s={s:g}, L={L:g}): {min(whole):8.2f} µs from Python, of which the call "
              f"{min(extra):6.2f} µs (median {statistics.median(extra):.2f})")
        held = held and (min(whole) > 50 or statistics.median(extra) <= 5)  # a long call drowns the difference
    return held


def compare_attention(rounds):
    held = True
    draw = np.random.default_rng(1)
    for dtype in (np.float64, np.float32):
        tokens = draw.normal(size=(1_000_000, 16)).astype(dtype)
        for count in (1, 64):
            queries = draw.normal(size=(count, 16)) / 4
            ratios, times = [], []
            prompt = largo.Prompt(tokens)
            for _ in range(rounds):
                inside = seconds(lambda: _largo._time_attention(prompt, queries, 1, 1), 1)
                outside = seconds(lambda: largo.attention(prompt, queries, threads=1), 1)
                ratios.append(outside / inside)
                times.append((outside, inside))
            outside, inside = (1e3 * min(column) for column in zip(*times))
            print(f"attention, 10^6 x 16 {np.dtype(dtype).name}, {count:2d} queries: {outside:8.2f} ms from Python, {inside:8.2f} ms in C++, "
                  f"ratio {outside / inside:.3f} (median {statistics.median(ratios):.3f})")
            held = held and statistics.median(ratios) <= 1.05
    return held


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    held = compare_moments(options.rounds)
    held = compare_attention(options.rounds) and held
    print("bars held" if held else "a bar was missed")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
