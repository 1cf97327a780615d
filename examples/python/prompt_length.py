"""How long must a prompt be?

At which length is a layer as good as linear? It depends on the spread s of its scores: below √(2 ln L) many tokens share
the weight, beyond a few hold it all. And for a layer with queries of a law: the errors at every L up to 1e12, none of
them sampled, the exponent that they end with, and the length from which linear attention may stand in for softmax.

    python examples/python/prompt_length.py [--quick] [--out FOLDER] [--format svg]
"""

from __future__ import annotations

import numpy as np

import largo
import largo.plot
from figures import Figures, read_command_line


def main(figures: Figures) -> None:
    points = 21 if figures.quick else 101
    # %% The plane of s and L.
    plane = largo.plot.error_plane(np.linspace(0, 6, points), np.geomspace(2, 1e8, points), "mse")
    figures.save(plane, "length_plane")

    # %% A layer: tokens of three sizes, Gaussian queries.
    law = largo.law("gaussian", d=4)
    result = largo.concentration(law, query_law=law, L=np.geomspace(10, 1e12, 12), sigma=[0.5, 1.0, 2.0])
    figures.save(largo.plot.concentration(result, ["output"]), "length_errors")
    print("size of the tokens   slope up to 1e12   slope for L -> inf   L with |softmax - linear|² <= 0.1")
    for slopes in result.fit["slopes"]:
        enough = largo.length_for_tolerance(law, 0.1, query_law=law, sigma=slopes["sigma"])
        length = f"{enough.L:.6g}" if enough is not None else "beyond 1e300"
        print(f"{slopes['sigma']:18g}   {slopes['output']['value']:16.3f}   {-slopes['asymptotic_exponent']:18.3f}   {length:>33}")


if __name__ == "__main__":
    main(read_command_line(__doc__))
