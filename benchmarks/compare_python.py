#!/usr/bin/python3
"""What Python adds: calls through the module beside the same calls in C++, in the same run.

    benchmarks/compare_python.py [--rounds 101]

The module is to be importable (scripts/python ENV, or PYTHONPATH=BUILD/python). Scalar moments: the time of a call from
Python less that of a call in C++, at points where the call itself takes little; bar 5 µs. Attention over a prompt of
10^6 x 16 NumPy numbers, as an array and as a Prompt: the ratio; bar 1.05. Both sides in turn, each first in every other
round, by the clock; the median over the rounds decides, and its 95 % interval says how well it is known: on shared
machines single rounds differ by 40 %, in processor time too, as whoever has the other half of a core comes and goes.
The two sides run on threads of their own; all are kept on one core, since cores differ by as much.
"""

import argparse
import concurrent.futures
import math
import os
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


def both(calls, turn):
    """(clock, processor) seconds of two calls, the first one last in every other turn; the second says its clock itself."""
    taken = [None, None]
    for i in (0, 1) if turn % 2 == 0 else (1, 0):
        processor = time.process_time()
        clock = seconds(calls[i], 1) if i == 0 else calls[i]()
        taken[i] = clock, time.process_time() - processor
    return taken


def median_interval(values):
    """Order statistics around the median: between them it lies with 95 % probability, whatever the law of the noise."""
    ranked, last = sorted(values), len(values) - 1
    reach = 0.98 * math.sqrt(len(values))
    return ranked[max(0, math.floor(last / 2 - reach))], ranked[min(last, math.ceil(last / 2 + reach))]


def compare_attention(rounds):
    held = True
    draw = np.random.default_rng(1)
    apart = concurrent.futures.ThreadPoolExecutor(1)
    for dtype in (np.float64, np.float32):
        tokens = draw.normal(size=(1_000_000, 16)).astype(dtype)
        prompt = largo.Prompt(tokens)
        for count in (1, 64):
            queries = draw.normal(size=(count, 16)) / 4
            for name, given in (("array", tokens), ("Prompt", prompt)):
                calls = (lambda: largo.attention(given, queries, threads=1),
                         lambda: apart.submit(_largo._time_attention, prompt, queries, 1, 1).result())
                taken = np.array([both(calls, turn) for turn in range(rounds)])
                clock, processor = (taken[:, 0] / taken[:, 1]).T
                low, high = median_interval(clock)
                outside, inside = 1e3 * np.median(taken[:, :, 0], axis=0)
                print(f"attention, 10^6 x 16 {np.dtype(dtype).name} {name:6s}, {count:2d} queries: "
                      f"{outside:7.2f} ms from Python, {inside:7.2f} ms in C++, ratio {np.median(clock):.3f} ({low:.3f} to {high:.3f}; "
                      f"processor {np.median(processor):.3f})", flush=True)
                held = held and np.median(clock) <= 1.05
    return held


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=101)
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    held = compare_moments(options.rounds)
    held = compare_attention(options.rounds) and held
    print("bars held" if held else "a bar was missed")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
