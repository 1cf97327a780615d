#!/usr/bin/python3
"""largo.torch beside PyTorch's own softmax attention under autograd: forwards and backwards, on one core, in the same run.

    benchmarks/compare_torch.py [--rounds 7] [--L 1000000]

The module is to be importable (scripts/python ENV, or PYTHONPATH=BUILD/python), PyTorch too. Both compute the outputs of 8
queries over a prompt of L x 16 numbers, and the gradients in the queries, U and V; once more with those in the tokens. They
take turns, each first in every other round. Printed are medians, and the ratio of each round.
"""

import argparse
import statistics
import time

from one_core import torch

import largo
import largo.torch


def own(tokens, queries, U, V):
    return torch.softmax(queries @ U.T @ tokens.T, dim=1) @ tokens @ V.T


def seconds(function, tensors):
    for tensor in tensors:
        tensor.grad = None
    start = time.perf_counter()
    function(*tensors).sum().backward()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--L", type=int, default=1_000_000)
    options = parser.parse_args()
    if torch is None:
        raise SystemExit("compare_torch: PyTorch is not installed")
    print(f"PyTorch {torch.__version__}, one core, L = {options.L}, d = 16, 8 queries, forwards and backwards")
    print("  tokens    gradients             PyTorch       largo   ratio, least to largest")
    for dtype in (torch.float64, torch.float32):
        for of_tokens in (False, True):
            torch.manual_seed(1)
            tokens = torch.randn(options.L, 16, dtype=dtype).requires_grad_(of_tokens)
            others = [(torch.randn(*shape, dtype=dtype) / 4).requires_grad_() for shape in ((8, 16), (16, 16), (16, 16))]
            calls = [own, lambda *tensors: largo.torch.attention(*tensors, threads=1)]
            for call in calls:
                seconds(call, [tokens, *others])
            taken = [[], []]
            for turn in range(options.rounds):
                for i in (0, 1) if turn % 2 == 0 else (1, 0):
                    taken[i].append(seconds(calls[i], [tokens, *others]))
            ratios = [a / b for a, b in zip(*taken)]
            what = "queries, U, V" + (", tokens" if of_tokens else "")
            print(f"  {str(dtype)[6:]:<9} {what:<21} {1e3 * statistics.median(taken[0]):7.1f} ms  {1e3 * statistics.median(taken[1]):7.1f} ms"
                  f"   {statistics.median(ratios):.1f}, {min(ratios):.1f} to {max(ratios):.1f}")


if __name__ == "__main__":
    main()
