#!/usr/bin/python3
"""One step of stochastic gradient descent of the published experiment: largo beside PyTorch, in the same run.

    benchmarks/compare_sampling.py [--build build/release] [--rounds 5]

Both draw 128 fresh prompts of L tokens in d dimensions and compute the gradient of the squared loss in K, Q, V and the
output row, in float32 on one core. PyTorch is written in two ways: `as published`, which projects every token by K and
V as the usual attention layer does, and `merged`, which multiplies the weights first and is the fastest way found.
Every round times each contender once, in turn; the table has the median and the spread over the rounds. Ratios of
largo with two threads to one are taken within each round.

The limit of the collapsed kernel is what its vector operations (eight tokens each) would take if every
unit of the core were busy in every cycle; `benchmark_machine` measures how many a second that is.
"""

import math
import statistics
import time

import one_core  # before PyTorch

import torch

import programs

PROMPTS = 128
CASES = [(10, 5), (100, 5), (1000, 5), (1000, 50)]

# Vector operations for eight tokens of the collapsed kernel, counted in its source: multiplications, additions and
# subtractions, fused or not, conversions and roots in float32; 32-bit products, shifts and logic of the generator.
OPERATIONS = {
    # Three quarters of 73: round 1: 3, round 2: 4, round 3: 7, seven more of 8, counter, words to the upper halves.
    "Philox": 55,
    "words to tokens": 4,  # 14 for 32 tokens: six pairs, four angles of two
    "normals": 37,  # logarithm and root 20, circle 13, sign and products 4; 14 of them fused
    "weight": 11,  # 7 fused
    "sums": 12,  # value 3, product and eight sums 9; 8 fused
}


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
    return programs.benchmark(program, name, "--benchmark_min_time=0.2")["tokens"]


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
    report(rates, L, d)


def report(rates, L, d):
    published = statistics.median(rates["PyTorch, as published"])
    merged = statistics.median(rates["PyTorch, merged"])
    print(f"\nL = {L}, d = {d}, {PROMPTS} prompts a step, float32")
    print(f"{'':30} {'Mtokens/s':>10} {'spread':>17} {'to published':>13} {'to merged':>10}")
    for name, values in rates.items():
        median = statistics.median(values)
        print(f"{name:30} {median:10.2f} {min(values):8.2f}-{max(values):8.2f} {median / published:12.1f}x"
              f" {median / merged:9.1f}x")
    if "largo, collapsed, 2 threads" in rates:
        ratios = [two / one for one, two in zip(rates["largo, collapsed"], rates["largo, collapsed, 2 threads"])]
        print(f"two threads to one: {statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})")


def vector_operations(program):
    return programs.benchmark(program, "vector_operations/real_time")["operations"]


def share_of_the_limit(build, rounds):
    machine, program = build / "benchmarks" / "benchmark_machine", build / "benchmarks" / "benchmark_sampling"
    total = sum(OPERATIONS.values())
    shares, ceilings = [], []
    for _ in range(rounds):
        ceilings.append(vector_operations(machine))
        shares.append(largo_rate(program, 1000, 5, 1, 1) * total / 8 / ceilings[-1])
    print("\nCollapsed kernel, vector operations for eight tokens: "
          + ", ".join(f"{name} {count}" for name, count in OPERATIONS.items()) + f"; {total} in all")
    print(f"this core: {statistics.median(ceilings) / 1e9:.1f}e9 vector operations a second, so at most"
          f" {statistics.median(ceilings) / total * 8 / 1e6:.0f} Mtokens/s; a whole step at L = 1000 reaches"
          f" {statistics.median(shares):.0%} ({min(shares):.0%}-{max(shares):.0%}) of it")


def main():
    options = programs.options(__doc__, rounds=5)
    program = programs.built(options.build / "benchmarks" / "benchmark_sampling")
    for L, d in CASES:
        compare(program, options.rounds, L, d)
    share_of_the_limit(options.build, options.rounds)


if __name__ == "__main__":
    main()
