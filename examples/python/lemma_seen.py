"""The Lemma, seen.

Over a Gaussian prompt, softmax attention is linear: T(z) = V Γ U z. Here are prompts of 10, 100, … tokens, attended at
queries along one line, and the line that they come closer to; and how fast: the mean squared distance falls like 1/L,
exactly as E‖T[μ̂_L] - T[μ]‖² is computed without drawing a single prompt.

    python examples/python/lemma_seen.py [--quick] [--out FOLDER] [--format svg]
"""

from __future__ import annotations

import numpy as np

import largo
import largo.plot
from figures import Figures, read_command_line


def main(figures: Figures) -> None:
    prompts = 500 if figures.quick else 20000
    law = largo.law("gaussian:cov=toeplitz:0.5", d=3)
    direction = np.array([1.0, 0.0, -1.0]) / np.sqrt(2)
    positions = np.linspace(-3, 3, 61)
    queries = positions[:, None] * direction

    # %% One prompt of each length, and the law: the same call.
    ax = largo.plot.axes()
    limit = largo.attention(law, queries)
    assert np.allclose(limit, queries @ law.covariance())  # the Lemma
    with largo.plot.style():
        for L in (10, 100, 10000):
            outputs = largo.attention(law.sample(L, seed=3), queries)
            ax.plot(positions, outputs @ direction, label=f"$L={L}$")
        ax.plot(positions, limit @ direction, "k--", label=r"$L=\infty$: $\Gamma z$")
        ax.set_xlabel("query, along (1, 0, -1)")
        ax.set_ylabel("output, along (1, 0, -1)")
        ax.legend()
    figures.save(ax, "lemma_outputs")

    # %% The distance at one query: sampled, and exact.
    lengths = [10, 30, 100, 300, 1000]
    result = largo.concentration(law, query=direction, L=lengths, method="both", prompts=prompts, seed=1)
    figures.save(largo.plot.concentration(result, ["output"]), "lemma_distance")
    exact = result.column("output", method="exact")
    sampled = result.column("output", method="sampled")
    error = result.column("output", part="error", method="sampled")
    print("      L   exact error   sampled error")
    for L, one, two, bar in zip(lengths, exact, sampled, error):
        print(f"{L:7d}   {one:.6f}      {two:.6f} ± {bar:.6f}")
    slope = result.fit["slopes"][0]["output"]["value"]
    print(f"slope {slope:.3f} in ln L: close to -1")


if __name__ == "__main__":
    main(read_command_line(__doc__))
