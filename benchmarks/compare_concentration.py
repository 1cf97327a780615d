#!/usr/bin/python3
"""The errors of a layer against the prompt length: largo's exact table beside PyTorch's Monte-Carlo, in the same run.

    benchmarks/compare_concentration.py [--build build/release] [--rounds 3]

The published audit: d = 4, U and V random with operator norms 0.22 and 0.75, tokens with covariance 0.5^|i-j|, standard
Gaussian queries, L = 16 to 1024; and the same with sharper scores, U of norm 1. PyTorch draws prompts and queries and averages the squared distances of output, gradient
in V and gradient in U from their limits, in float32 on one core; from the noise it has after its prompts follows the time
to a standard error of 1 % in all three. largo is the whole command on one thread, start and local exponents included; its
errors are below 1e-9.
"""

import json
import math
import pathlib
import statistics
import subprocess
import tempfile
import time

import one_core  # before PyTorch

import torch

import programs

D = 4
LENGTHS = [16, 32, 64, 128, 256, 512, 1024]
TOKENS_A_BATCH = 1 << 18
BATCHES = 4
TARGET = 0.01


def with_norm(matrix, norm):
    return matrix * (norm / torch.linalg.matrix_norm(matrix, 2))


def monte_carlo(U, V, covariance, L):
    """Relative standard errors of the three means, and the means, from some 10^6 tokens."""
    root = torch.linalg.cholesky(covariance)
    samples = [[], [], []]
    prompts = TOKENS_A_BATCH // L
    for _ in range(BATCHES):
        tokens = torch.randn(prompts, L, D) @ root.T
        query = torch.randn(prompts, D)
        direction = query @ U.T
        weights = torch.softmax(torch.bmm(tokens, direction[:, :, None])[..., 0], -1)
        mean = torch.bmm(weights[:, None, :], tokens)[:, 0, :]
        second = torch.bmm((tokens * weights[..., None]).transpose(1, 2), tokens)
        spread = second - mean[:, :, None] * mean[:, None, :]
        distance = mean - direction @ covariance
        samples[0].append(((distance @ V.T) ** 2).sum(-1))
        samples[1].append(V.shape[0] * (distance ** 2).sum(-1))
        samples[2].append((query ** 2).sum(-1) * ((V @ (spread - covariance)) ** 2).sum((1, 2)))
    all_samples = [torch.cat(parts) for parts in samples]
    return ([float(x.std() / math.sqrt(len(x)) / x.mean()) for x in all_samples],
            [float(x.mean()) for x in all_samples])


def save(folder, name, matrix):
    path = pathlib.Path(folder) / name
    path.write_text("".join(",".join(repr(float(x)) for x in row) + "\n" for row in matrix))
    return str(path)


def main():
    options = programs.options(__doc__, rounds=3)
    program = programs.built(options.build / "apps" / "largo" / "largo")
    for norm in (0.22, 1.0):
        compare(program, options.rounds, norm)


def compare(program, rounds, norm):
    torch.manual_seed(1)
    U, V = with_norm(torch.randn(D, D), norm), with_norm(torch.randn(D, D), 0.75)
    covariance = torch.tensor([[0.5 ** abs(i - j) for j in range(D)] for i in range(D)])
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "concentration", "--law", "gaussian:cov=toeplitz:0.5", "--d", str(D), "--U",
                   save(folder, "U.csv", U), "--V", save(folder, "V.csv", V), "--query-law", "gaussian", "--L",
                   ",".join(map(str, LENGTHS)), "--threads", "1", "--json"]
        exact_times, torch_times, worst = [], [], 0
        for _ in range(rounds):
            start = time.perf_counter()
            rows = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["rows"]
            exact_times.append(time.perf_counter() - start)
            needed = 0
            for L, row in zip(LENGTHS, rows):
                start = time.perf_counter()
                errors, means = monte_carlo(U, V, covariance, L)
                elapsed = time.perf_counter() - start
                needed += elapsed * (max(errors) / TARGET) ** 2
                for mean, error, name in zip(means, errors, ("output", "gradient_V", "gradient_U")):
                    worst = max(worst, abs(mean / row[name]["value"] - 1) / error)
            torch_times.append(needed)
    ratios = [b / a for a, b in zip(exact_times, torch_times)]
    print(f"U of norm {norm}: {len(LENGTHS)} lengths, three errors, d = {D}; medians of {rounds} rounds (spread)")
    print(f"  largo, exact    {statistics.median(exact_times):8.3f} s ({min(exact_times):.3f}-{max(exact_times):.3f})")
    print(f"  PyTorch to 1 %  {statistics.median(torch_times):8.1f} s ({min(torch_times):.1f}-{max(torch_times):.1f})")
    print(f"  ratio           {statistics.median(ratios):8.0f}x ({min(ratios):.0f}-{max(ratios):.0f})")
    print(f"  largest distance between the two: {worst:.1f} standard errors")


if __name__ == "__main__":
    main()
