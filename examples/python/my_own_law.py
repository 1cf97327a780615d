"""A law of your own.

Tokens on a circle, z = (cos φ, sin φ), with a density ∝ 1 + ε cos(3φ): a law that largo does not have. Its log-partition is
all that attention over infinite prompts needs (mean and covariance come from differences of it); with a way to make
tokens from uniform numbers it can be sampled, too, and finite prompts are compared with their limit.

    python examples/python/my_own_law.py [--quick] [--out FOLDER] [--format svg]
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import largo
import largo.plot
from figures import Figures, read_command_line

Array = npt.NDArray[np.float64]


class Wave(largo.Law):
    """Density (1 + depth cos 3φ) / 2π on the circle."""

    uniforms_per_token = 1

    def __init__(self, depth: float) -> None:
        super().__init__(2)
        # The trapezoidal rule converges geometrically for periodic functions: 256 nodes are exact for |a| up to 50.
        angles = 2 * np.pi * np.arange(256) / 256
        self.nodes = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        self.log_weights = np.log((1 + depth * np.cos(3 * angles)) / 256)
        grid = np.linspace(0, 2 * np.pi, 20001)
        self.quantiles = ((grid + depth * np.sin(3 * grid) / 3) / (2 * np.pi), grid)

    def log_partition(self, a: Array) -> float:
        scores = self.nodes @ a + self.log_weights
        top = float(scores.max())
        return top + float(np.log(np.exp(scores - top).sum()))

    def tokens(self, uniforms: Array) -> Array:
        angles = np.interp(uniforms[:, 0], *self.quantiles)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def main(figures: Figures) -> None:
    prompts = 300 if figures.quick else 5000
    law = Wave(0.8)

    # %% The limit of attention: not linear.
    turns = np.linspace(0, 2 * np.pi, 200)
    ax = largo.plot.axes(3.5, 2.7)
    with largo.plot.style():
        for size in (0.5, 1, 2, 4, 8):
            queries = size * np.stack([np.cos(turns), np.sin(turns)], axis=1)
            outputs = largo.attention(law, queries)
            ax.plot(outputs[:, 0], outputs[:, 1], label=rf"$\Vert z\Vert={size:g}$")
        ax.set_aspect("equal")
        ax.set_xlabel("$T_1$")
        ax.set_ylabel("$T_2$")
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    figures.save(ax, "law_limit")

    # %% Finite prompts of it, sampled.
    result = largo.concentration(law, query=[2.0, 1.0], L=[10, 30, 100, 300], prompts=prompts)
    ax = largo.plot.concentration(result, ["output"])
    lengths, errors = result.column("L"), result.column("output")
    with largo.plot.style():
        ax.plot(lengths, errors[-1] * lengths[-1] / lengths, color="0.6", zorder=0, label=r"$\propto 1/L$")
        ax.containers[0].set_label("sampled")
        ax.legend()
    figures.save(ax, "law_errors")
    print(f"T(2, 1) = {largo.attention(law, [2.0, 1.0]).round(6)}, method {result.rows[0]['method']}")
    for row in result.rows:
        print(f"L = {row['L']:4g}: error {row['output']['value']:.5f} ± {row['output']['error']:.5f}")


if __name__ == "__main__":
    main(read_command_line(__doc__))
