#!/usr/bin/python3
"""One step of stochastic gradient descent of the published experiment: largo beside PyTorch, in the same run.

    benchmarks/compare_sampling.py [--build build/release] [--rounds 5]

Both draw 128 fresh prompts of L tokens in d dimensions and compute the gradient of the squared loss in K, Q, V and the
output row, in float32 on one core. PyTorch is written in two ways: `as published`, which projects every token by K and
V as the usual attention layer does, and `merged`, which multiplies the weights first and is the fastest way found.
Every round times each contender once, in turn; the table has the median and the spread over the rounds.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import torch

torch.set_num_threads(1)

PROMPTS = 128
CASES = [(10, 5), (100, 5), (1000, 5), (1000, 50)]


class Experiment:
    def __init__(self, d):
        self.d = d
        covariance = torch.tensor([[0.5 ** abs(i - j) for j in range(d)] for i in range(d)])
        self.root = torch.linalg.cholesky(covariance)
        self.parameters = [(0.3 * torch.randn(d + 1, d + 1)).requires_grad_() for _ in range(3)]
        self.parameters.append((0.3 * torch.randn(d + 1)).requires_grad_())

    def prompts(self, L):
        d = self.d
        w = torch.randn(PROMPTS, d) / math.sqrt(d)
        x = torch.randn(PROMPTS, L, d) @ self.root.T
        y = torch.bmm(x, w[:, :, None])[..., 0] + math.sqrt(0.1) * torch.randn(PROMPTS, L)
        query = torch.randn(PROMPTS, d) @ self.root.T
        tokens = torch.cat([x, y[..., None]], -1)
        return tokens, torch.cat([query, torch.zeros(PROMPTS, 1)], -1), (query * w).sum(-1)

    def as_published(self, L):
        K, Q, V, output = self.parameters
        tokens, query, label = self.prompts(L)
        scores = torch.bmm(tokens @ K.T, (query @ Q.T)[:, :, None])[..., 0] / math.sqrt(self.d + 1)
        attended = torch.bmm(torch.softmax(scores, -1)[:, None, :], tokens @ V.T)[:, 0, :]
        self.descend(((attended @ output - label) ** 2).mean())

    def merged(self, L):
        K, Q, V, output = self.parameters
        tokens, query, label = self.prompts(L)
        direction = query @ Q.T @ K / math.sqrt(self.d + 1)
        scores = torch.bmm(tokens, direction[:, :, None])[..., 0]
        attended = torch.bmm(torch.softmax(scores, -1)[:, None, :], tokens)[:, 0, :]
        self.descend(((attended @ (V.T @ output) - label) ** 2).mean())

    def descend(self, loss):
        slopes = torch.autograd.grad(loss, self.parameters)
        with torch.no_grad():
            for parameter, slope in zip(self.parameters, slopes):
                parameter -= 1e-3 * slope


def torch_rate(step, L, d):
    steps = max(2, 300_000 * 5 // (PROMPTS * L * d))
    step(L)
    start = time.perf_counter()
    for _ in range(steps):
        step(L)
    return PROMPTS * L * steps / (time.perf_counter() - start)


def largo_rate(program, L, d, collapsed, threads):
    name = f"sgd_step/L:{L}/d:{d}/collapsed:{collapsed}/threads:{threads}/real_time"
    out = subprocess.run([program, f"--benchmark_filter=^{name}$", "--benchmark_format=json",
                          "--benchmark_min_time=0.2"], check=True, capture_output=True, text=True).stdout
    return json.loads(out)["benchmarks"][0]["tokens"]


def compare(program, rounds, L, d):
    experiment = Experiment(d)
    contenders = {
        "PyTorch, as published": lambda: torch_rate(experiment.as_published, L, d),
        "PyTorch, merged": lambda: torch_rate(experiment.merged, L, d),
        "largo, full": lambda: largo_rate(program, L, d, 0, 1),
        "largo, collapsed": lambda: largo_rate(program, L, d, 1, 1),
    }
    if d == 5:
        contenders["largo, collapsed, 2 threads"] = lambda: largo_rate(program, L, d, 1, 2)
    rates = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, rate in contenders.items():
            rates[name].append(rate() / 1e6)
    published = statistics.median(rates["PyTorch, as published"])
    merged = statistics.median(rates["PyTorch, merged"])
    print(f"\nL = {L}, d = {d}, {PROMPTS} prompts a step, float32")
    print(f"{'':30} {'Mtokens/s':>10} {'spread':>17} {'to published':>13} {'to merged':>10}")
    for name, values in rates.items():
        median = statistics.median(values)
        print(f"{name:30} {median:10.2f} {min(values):8.2f}-{max(values):8.2f} {median / published:12.1f}x"
              f" {median / merged:9.1f}x")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    program = pathlib.Path(options.build) / "benchmarks" / "benchmark_sampling"
    if not program.exists():
        sys.exit(f"{program} is not there: cmake --preset release && cmake --build --preset release")
    for L, d in CASES:
        compare(program, options.rounds, L, d)


if __name__ == "__main__":
    main()
