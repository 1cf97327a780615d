#!/usr/bin/python3
"""Training on other tasks: largo beside PyTorch, and beside a risk glued together in Python, in the same run.

    benchmarks/compare_tasks.py [--build build/release] [--rounds 5] [--part descent|glue]

descent: stochastic descent on the squared loss over covariates on a sphere and of coins, d = 5, 128 prompts a step,
merged parameters, float32, one core. largo is the command line; its time is the difference of a long and a short run,
so that its start and the risk at its end do not count. PyTorch is written in three ways: `autograd`; `by hand`, with
the gradient in closed form and no tokens formed, only covariates and noise; `compiled`, the same for torch.compile,
with the draws outside, which is faster. Ratios are to the fastest of them.

glue: flows of examples/tasks/robust_regression.toml at three lengths, by `largo icl train --task`, and as one had to
write it without: a Task and a loss in Python, prompt_risk as the risk of training.flow. Needs the module
(PYTHONPATH=BUILD/python). A flow that would take more than two minutes is not run: its time is then that of one
evaluation, times the number of evaluations of a flow over 50 tasks; the output says so. The command line does more in
its time: it computes the distance to the flow of the infinite prompt too, and the risk at the end over fresh draws.

Every round times each contender once, in turn, and ratios are taken within rounds; the tables have the median and the
spread. Times are those of the processor: all sides have one thread, and other programs do not count.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import time

from one_core import torch  # before NumPy

import numpy as np

import programs

try:
    import largo
except ImportError:
    largo = None

D, PROMPTS, NOISE, STEP_SIZE = 5, 128, math.sqrt(0.1), 0.01
STEPS = {50: 4000, 200: 2500, 1000: 1500}
LAWS = {"sphere": f"sphere:radius={math.sqrt(D)!r}", "rademacher": "rademacher"}
TASK = pathlib.Path(__file__).resolve().parent.parent / "examples" / "tasks" / "robust_regression.toml"
TASKS, FEW, LENGTHS, PATIENCE = 1000, 50, (20.0, 100.0, math.inf), 120.0


def run(program, *arguments):
    """Processor seconds of a run of the command line, and what it printed."""
    process = subprocess.Popen([program, "icl", "train", "--threads", "1", "--json", *map(str, arguments)],
                               stdout=subprocess.PIPE)
    out = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{program} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, json.loads(out)


def spread(values, form):
    return f"{statistics.median(values):{form}} ({min(values):{form}}-{max(values):{form}})"


def coins(*shape):
    """Bits as bytes, eight of a random word: three to five times as fast as randint or bernoulli."""
    count = math.prod(shape)
    words = torch.empty(-(-count // 8), dtype=torch.int64).random_()
    return words.view(torch.uint8).bitwise_and_(1)[:count].view(shape)


def to_sphere(x):
    return x * ((x * x).sum(1, keepdim=True) / D).rsqrt()


def to_signs(bits):
    return bits.to(torch.float32) * 2 - 1


def weighted_sums(w, p, x, noise):
    """Sums of tokens (x, <w, x> + noise) with weights p."""
    mean = (p[:, None] * x).sum(-1)
    return torch.cat([mean, ((mean * w).sum(-1) + NOISE * (p * noise).sum(-1))[:, None]], 1)


class Descent:
    """U and v in PyTorch, and steps of descent. The query ends with a zero, so the last column of U is left out."""

    def __init__(self, law):
        self.draw, self.finish = {"sphere": (torch.randn, to_sphere), "rademacher": (coins, to_signs)}[law]
        self.U = torch.cat([torch.eye(D), torch.zeros(1, D)])
        self.v = torch.cat([torch.zeros(D), torch.ones(1)])

    def prompts(self, L):
        return torch.randn(PROMPTS, D), self.draw(PROMPTS, D), self.draw(PROMPTS, D, L), torch.randn(PROMPTS, L)

    def automatic(self, U, v, w, query, x, noise):
        query, x = self.finish(query), self.finish(x)
        y = torch.einsum("bd,bdl->bl", w, x) + NOISE * noise
        tokens = torch.cat([x, y[:, None]], 1)
        with torch.enable_grad():
            U, v = U.detach().requires_grad_(), v.detach().requires_grad_()
            weights = torch.softmax(torch.einsum("bd,bdl->bl", query @ U.T, tokens), -1)
            attended = torch.einsum("bl,bdl->bd", weights, tokens)
            loss = ((attended @ v - (query * w).sum(-1)) ** 2).mean() / 2
        slope_U, slope_v = torch.autograd.grad(loss, (U, v))
        return U.detach() - STEP_SIZE * slope_U, v.detach() - STEP_SIZE * slope_v

    def by_hand(self, U, v, w, query, x, noise):
        query, x = self.finish(query), self.finish(x)
        a = query @ U.T
        rows = torch.stack([a[:, :D] + a[:, D:] * w, v[:D] + v[D] * w], 1)
        noisy = torch.stack([a[:, D], v[D].expand(PROMPTS)], 1)[:, :, None] * (NOISE * noise)[:, None]
        score, value = torch.baddbmm(noisy, rows, x).unbind(1)
        weights = torch.softmax(score, -1)
        both = torch.stack([weights, weights * value], 1)
        mean = torch.bmm(both, x.transpose(1, 2))
        label = torch.bmm(mean, w[:, :, None]) + NOISE * torch.bmm(both, noise[:, :, None])
        attended, second = torch.cat([mean, label], 2).unbind(1)
        return self.updated(U, v, w, query, attended, second)

    def fused(self, U, v, w, query, x, noise):
        query, x = self.finish(query), self.finish(x)
        a = query @ U.T
        score = ((a[:, :D] + a[:, D:] * w)[:, :, None] * x).sum(1) + NOISE * a[:, D:] * noise
        value = ((v[:D] + v[D] * w)[:, :, None] * x).sum(1) + NOISE * v[D] * noise
        weights = torch.softmax(score, -1)
        attended, second = weighted_sums(w, weights, x, noise), weighted_sums(w, weights * value, x, noise)
        return self.updated(U, v, w, query, attended, second)

    @staticmethod
    def updated(U, v, w, query, attended, second):
        output = attended @ v
        residual = (output - (query * w).sum(-1)) / PROMPTS
        slope_U = (residual[:, None] * (second - output[:, None] * attended)).T @ query
        return U - STEP_SIZE * slope_U, v - STEP_SIZE * (residual @ attended)

    def rate(self, step, L):
        steps = max(20, 60_000 // L)
        start = time.process_time()
        for _ in range(steps):
            self.U, self.v = step(self.U, self.v, *self.prompts(L))
        return PROMPTS * L * steps / (time.process_time() - start) / 1e6

    def contenders(self, L):
        """Ways to take a step; all must take the same one on a batch. The first call compiles."""
        ways = {"PyTorch, autograd": self.automatic, "PyTorch, by hand": self.by_hand}
        if hasattr(torch, "compile"):
            ways["PyTorch, compiled"] = torch.compile(self.fused, dynamic=False)
        else:
            print(f"PyTorch {torch.__version__} has no torch.compile")
        batch = self.prompts(L)
        known = self.automatic(self.U, self.v, *batch)
        for name in list(ways):
            try:
                found = ways[name](self.U, self.v, *batch)
            except Exception as error:  # no compiler, or a Python that it does not know
                print(f"{name} does not work here: {type(error).__name__}")
                del ways[name]
                continue
            for one, other in zip(known, found):
                torch.testing.assert_close(other, one, rtol=0, atol=1e-3 * STEP_SIZE)
        return ways


def largo_rate(program, law, L):
    given = ("--covariates", LAWS[law], "--d", D, "--noise", NOISE**2, "--method", "sgd", "--parameters", "merged",
             "--batch", PROMPTS, "--step-size", STEP_SIZE, "--L", L)
    short = run(program, *given, "--steps", 100)[0]
    return PROMPTS * L * STEPS[L] / (run(program, *given, "--steps", 100 + STEPS[L])[0] - short) / 1e6


def compare_descents(program, rounds):
    print(f"Stochastic descent, d = {D}, {PROMPTS} prompts a step, one core; PyTorch {torch.__version__}")
    for law in LAWS:
        for L in STEPS:
            descent = Descent(law)
            ways = descent.contenders(L)
            rates = {"largo": [], **{name: [] for name in ways}}
            for _ in range(rounds):
                rates["largo"].append(largo_rate(program, law, L))
                for name, step in ways.items():
                    rates[name].append(descent.rate(step, L))
            fastest = max(ways, key=lambda name: statistics.median(rates[name]))
            print(f"\n{law}, L = {L}; Mtokens/s")
            for name, values in rates.items():
                ratios = [ours / theirs for ours, theirs in zip(rates["largo"], values)]
                mark = "" if name == "largo" else f"largo is {spread(ratios, '.2f')} times as fast"
                best = ", the fastest" if name == fastest else ""
                print(f"  {name:18} {spread(values, '.1f'):22} {mark}{best}", flush=True)


def huber(outputs, targets):
    residuals = outputs - targets
    size = np.abs(residuals)
    return np.where(size <= 1, residuals**2 / 2, size - 0.5), np.clip(residuals, -1, 1)


def glued_task():
    """The task of the file, by hand: the tokens are a mixture of two Gaussian laws, of clean and of bad labels."""

    class Robust(largo.icl.Task):
        uniforms_per_task = 3 * D

        def draw(self, uniforms):
            side = 1 - 2 * uniforms[:D]
            w = -0.7 * np.sign(side) * np.log1p(np.abs(side) * np.expm1(-10 / 0.7))
            radius = np.sqrt(-2 * np.log1p(-uniforms[D : 2 * D]))
            x = radius * np.cos(2 * np.pi * uniforms[2 * D :])
            laws = []
            for variance in (0.01, 9.0):
                covariance = np.eye(D + 1)
                covariance[D, :D] = covariance[:D, D] = w
                covariance[D, D] = w @ w + variance
                laws.append(largo.Gaussian(np.zeros(D + 1), covariance))
            return largo.Mixture([0.9, 0.1], laws), [*x, 0.0], float(w @ x)

    return Robust(D + 1, D + 1)


def glued_risk(L, tasks):
    """The risk in (A, b) as one glues it, and the paper's start."""
    task = glued_task()

    def risk(parameters):
        found = largo.icl.prompt_risk(task, L, point=(parameters[:-1].reshape(D, D), parameters[-1]), loss=huber,
                                      prompts=tasks, threads=1)
        return found.value, np.append(found.U[:D, :D].ravel(), found.v[D])

    A, b = largo.icl.start(largo.icl.Problem(D))
    return risk, np.append(A.ravel(), b)


def seconds(call, repeats=1):
    start = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - start) / repeats


def glued_seconds(L):
    """A function that says how long a glued flow takes, by running it or by its evaluations."""
    risk, start = glued_risk(L, TASKS)
    evaluations = largo.training.flow(*glued_risk(L, FEW)).evaluations
    once = seconds(lambda: risk(start), 3)
    if once * evaluations <= PATIENCE:
        return lambda: seconds(lambda: largo.training.flow(risk, start))
    print(f"  L = {L:g}: the glued flow is not run; {once * 1e3:.0f} ms for one evaluation over {TASKS} tasks,"
          f" times {evaluations} evaluations of a flow over {FEW}", flush=True)
    return lambda: evaluations * seconds(lambda: risk(start), 20)


def compare_glue(program, rounds):
    print(f"\nFlows of {TASK.name}, {TASKS} tasks, invariant parameters, one core; processor seconds")
    glued = {L: glued_seconds(L) for L in LENGTHS}
    ours, theirs = [], {L: [] for L in LENGTHS}
    for _ in range(rounds):
        ours.append(run(program, "--task", TASK, "--L", ",".join(map(str, LENGTHS)), "--prompts", TASKS)[0])
        for L in LENGTHS:
            theirs[L].append(glued[L]())
    for L in LENGTHS:
        print(f"  glued, L = {L:g}: {spread(theirs[L], '.0f')}")
    sums = [sum(turn) for turn in zip(*theirs.values())]
    ratios = [slow / fast for slow, fast in zip(sums, ours)]
    print(f"  all lengths: glued {spread(sums, '.0f')}, largo {spread(ours, '.1f')}, ratio {spread(ratios, '.0f')}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default="build/release")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--part", choices=["descent", "glue"])
    options = parser.parse_args()
    program = programs.built(options.build / "apps" / "largo" / "largo")
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if options.part != "glue":
        if torch is None:
            print("PyTorch is not installed: left out (scripts/deps --bench)")
        else:
            with torch.no_grad():
                compare_descents(program, options.rounds)
    if options.part != "descent":
        if largo is None:
            print(f"the Python module is not importable: glue left out (PYTHONPATH={options.build}/python)")
        else:
            compare_glue(program, options.rounds)


if __name__ == "__main__":
    main()
