#!/usr/bin/python3
"""Output error of attention over sampled prompts: largo beside PyTorch, in the same run.

    benchmarks/compare_errors.py [--build build/release] [--rounds 5]

Both average ||T[prompt](z) - T[law](z)||^2 over prompts of L = 10,000 tokens in d = 16 dimensions, in float32 on one
core: Gaussian, Rademacher and sphere tokens, scores of variance about one. PyTorch draws a batch of prompts at once and
is given the fastest way found to draw each law. largo draws every coordinate (full), or the scores alone, which have a
known law for Gaussian and sphere tokens (collapsed). Medians over the rounds, PyTorch and largo in turn.
"""

import statistics
import time

import one_core  # before PyTorch

import torch

import programs

D, L = 16, 10000
BATCH = 16  # 10 MB of tokens: larger and smaller batches were slower
LAWS = ["gaussian", "rademacher", "sphere"]
BARS = {"gaussian": 15, "rademacher": 10, "sphere": 10}
DIRECTION = torch.full((D,), 0.25)


def draw(law):
    if law == "gaussian":
        return torch.randn(BATCH, L, D), DIRECTION
    if law == "rademacher":
        return torch.randint(0, 2, (BATCH, L, D), dtype=torch.float32) * 2 - 1, torch.tanh(DIRECTION)
    normals = torch.randn(BATCH, L, D)
    # The limit only shifts the error and costs nothing: any vector will do for the time.
    return normals * (4 / normals.norm(dim=-1, keepdim=True)), DIRECTION


def torch_rate(law):
    def step():
        tokens, limit = draw(law)
        weights = torch.softmax(tokens @ DIRECTION, -1)
        mean = torch.bmm(weights[:, None, :], tokens)[:, 0, :]
        return ((mean - limit) ** 2).sum(-1).mean()

    with torch.no_grad():
        step()
        start = time.perf_counter()
        for _ in range(5):
            step()
        return BATCH * L * 5 / (time.perf_counter() - start)


def largo_rate(program, law, collapsed, threads):
    name = f"output_error/law:{LAWS.index(law)}/L:{L}/collapsed:{collapsed}/threads:{threads}/real_time"
    return programs.benchmark(program, name, "--benchmark_min_time=0.2")["tokens"]


def compare(program, rounds, law):
    contenders = {"PyTorch": lambda: torch_rate(law)}
    for collapsed, kernel in enumerate(["full", "collapsed"]):
        if law == "rademacher" and collapsed:
            continue
        for threads in (1, 2):
            contenders[f"largo, {kernel}" + (", 2 threads" if threads == 2 else "")] = (
                lambda collapsed=collapsed, threads=threads: largo_rate(program, law, collapsed, threads))
    rates = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, rate in contenders.items():
            rates[name].append(rate() / 1e6)
    peer = statistics.median(rates["PyTorch"])
    print(f"\n{law}, d = {D}, L = {L} (bar: {BARS[law]}x on one core)")
    print(f"{'':28} {'Mtokens/s':>10} {'spread':>17} {'to PyTorch':>11}")
    for name, values in rates.items():
        median = statistics.median(values)
        print(f"{name:28} {median:10.2f} {min(values):8.2f}-{max(values):8.2f} {median / peer:10.1f}x")


def main():
    options = programs.options(__doc__, rounds=5)
    program = programs.built(options.build / "benchmarks" / "benchmark_attention_errors")
    for law in LAWS:
        compare(program, options.rounds, law)


if __name__ == "__main__":
    main()
