"""What the tests of largo icl share: its answers, and closed forms.

For Σ = Σ_q = Ω = I and A = aI linear attention has the risk ½ d [b²a² (1 + (d + 1 + τ²)/L) - 2ab + 1], whose minimum without
noise is ½ d (d + 1)/(L + d + 1).
"""

import largo_cli

INF = "inf"


def linear_risk(d, a, b, L, noise=0.0):
    return d / 2 * (b * b * a * a * (1 + (d + 1 + noise) / L) - 2 * a * b + 1)


def best_linear_risk(d, L):
    return d * (d + 1) / (2 * (L + d + 1))


class IclTest(largo_cli.CliTest):
    def run_largo(self, *arguments, simd=None):
        result = super().run_largo(*arguments, simd=simd)
        self.assertNotIn("nan", result.out.lower(), result)
        self.assertNotIn("null,", result.out, result)  # how JSON would say it; the risk of predicting zero is "null":
        return result

    def icl(self, *arguments):
        return self.json("icl", *arguments)

    def risks(self, *arguments):
        return self.icl("risk", *arguments)["rows"]

    def runs(self, *arguments):
        return self.icl("train", *arguments)["runs"]
