"""Training at every L.

In-context regression by one head: gradient flow on the exact risk, for prompts of 10 tokens, of a million, and infinite
ones. All follow the infinite prompt at first; then each turns, along the valley bΣA = I, to where prompts of its length do
best. Stochastic descent on drawn prompts goes the same way. And the length that is enough for a given risk.

    python examples/python/training.py [--quick] [--out FOLDER] [--format svg]
"""

from __future__ import annotations

import math

import largo
import largo.plot
from figures import Figures, read_command_line


def main(figures: Figures) -> None:
    steps = 200 if figures.quick else 500
    problem = largo.icl.Problem(5)

    # %% Flows.
    runs = largo.icl.train(problem, [10, 100, 1e4, 1e6, math.inf])
    figures.save(largo.plot.trajectories(runs), "training_risks")
    figures.save(largo.plot.phase_portrait(problem, runs), "training_phase")
    print("       L   trained risk   Bayes risk        b")
    for run in runs:
        print(f"{run.L:8g}   {run.final_risk:12.6g}   {largo.icl.floor(problem, run.L).value:10.3g}   {run.b:.4f}")
    limit = largo.icl.limit(problem)
    print(f"the infinite prompt ends at b = {runs[-1].b:.6f}; the theorem says {limit.b:.6f}")

    # %% Descent beside the flow, for as long.
    pair = largo.icl.train(problem, [30], method=("flow", "sgd"), steps=steps, step_size=0.02)
    figures.save(largo.plot.trajectories(pair), "training_descent")
    flow, descent = pair
    print(f"L = 30, t = {flow.times[-1]:g}: flow {flow.final_risk:.5f}, descent {descent.final_risk:.5f}")

    # %% How long must the prompts be?
    for epsilon in (0.1, 0.01):
        found = largo.icl.threshold(problem, epsilon)
        print(f"risk within {epsilon:g} of the limit: from L = {found.L:.0f} on")


if __name__ == "__main__":
    main(read_command_line(__doc__))
