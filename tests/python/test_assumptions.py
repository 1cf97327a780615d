"""The hypotheses of the propositions, against NumPy and quadrature, and for laws that fail them."""

import math

import numpy as np
import pytest

import largo

NORMAL = largo.law("gaussian", 1)


class Laplace(largo.Law):
    """Density e^{-|x|}/2 in one dimension: Λ is infinite from |a| = 1 on."""

    def log_partition(self, a):
        square = float(a @ a)
        return -np.log1p(-square) if square < 1 else math.inf


def test_gaussian_tokens_and_queries():
    """The token under a random query is Gaussian; its moments here by Gauss-Hermite rules in three dimensions."""
    rng = np.random.default_rng(3)
    root, query_root, U = (rng.normal(size=shape) / 3 for shape in ((2, 2), (1, 1), (2, 1)))
    law, queries = largo.Gaussian(np.array([0.2, -0.1]), root @ root.T), largo.Gaussian(np.array([0.5]), query_root @ query_root.T)
    found = largo.assumptions(law, query_law=queries, U=U)
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    g = np.stack(np.meshgrid(nodes, nodes, nodes), axis=-1).reshape(-1, 3)
    w = np.prod(np.stack(np.meshgrid(weights, weights, weights), axis=-1).reshape(-1, 3), axis=1) / (2 * math.pi) ** 1.5
    z = 0.5 + g[:, :1] @ query_root.T
    x = np.array([0.2, -0.1]) + z @ U.T @ (root @ root.T) + g[:, 1:] @ root.T
    for order in (4, 8):
        expected = float(w @ np.linalg.norm(x, axis=1) ** order)
        assert found[f"tilted_moment_{order}"].value == pytest.approx(expected, rel=1e-11)
        assert found[f"tilted_moment_{order}"].kind == "exact"


def test_names_and_types():
    found = largo.assumptions(NORMAL, query=[[0.5], [1.0]], U="0.5*identity")
    assert list(found)[:2] == ["sub_gaussian_tokens", "large_sigma"] and len(found) == 10
    row = found["finite_rho"]
    assert isinstance(row, largo.Assumption) and row.holds is True
    assert row.at_queries == pytest.approx((0.0625, 0.25))
    assert row.value == pytest.approx(math.log((math.exp(0.0625) + math.exp(0.25)) / 2))
    assert found["bounded_tokens"].value == math.inf and found["gaussian_tokens"].value is None
    same = largo.assumptions(NORMAL, query=[[0.5], [1.0]], K=[[1.0]], Q=[[0.5]])
    assert same == found


def test_a_law_whose_partition_is_infinite_beyond_a_radius():
    inside = largo.assumptions(Laplace(1), query=[0.4])
    assert inside["sub_gaussian_tokens"].holds is False and "|a| = 1" in inside["sub_gaussian_tokens"].where
    assert inside["finite_log_partition"].holds is True
    assert inside["finite_log_partition"].value == pytest.approx(1, rel=1e-8)
    assert inside["finite_rho"].value == pytest.approx(-math.log(1 - 0.64) + 2 * math.log(1 - 0.16))
    x = np.linspace(-80, 80, 160001)
    weight = np.exp(0.4 * x - abs(x))
    for order in (4, 8):
        moment = float((weight * x**order).sum() / weight.sum())
        assert moment <= inside[f"tilted_moment_{order}"].value <= 100 * moment
    assert largo.assumptions(Laplace(1), query=[0.7])["finite_rho"].holds is False
    over = largo.assumptions(Laplace(2), query_law=largo.law("gaussian", 2), U="0.01*identity")
    for name in ("finite_log_partition", "tilted_moment_4", "tilted_moment_8", "finite_rho"):
        assert over[name].holds is False and "positive probability" in over[name].where
    # Attention itself names the law and the place, as before.
    with pytest.raises(ValueError, match=r"Laplace.log_partition: the result at a = \[3\] is inf"):
        largo.attention(Laplace(1), [3.0])


def test_a_law_of_which_only_values_are_known():
    class Coin(largo.Law):
        def log_partition(self, a):
            return np.log(np.cosh(a)).sum()

    found = largo.assumptions(Coin(2), query_law=largo.law("gaussian", 2))
    assert found["sub_gaussian_tokens"].holds is None and found["sub_gaussian_tokens"].kind == "at least"
    assert found["finite_rho"].holds is None and "prove nothing" in found["finite_rho"].note
    at = largo.assumptions(Coin(2), query=[1.0, 0.0])
    assert at["tilted_moment_4"].holds is True and at["tilted_moment_4"].value >= 4


def test_regression():
    found = largo.icl.assumptions(largo.icl.Problem(3), A="0.5*identity")
    assert found["finite_rho"].value == pytest.approx(-1.5 * math.log(0.5))
    assert found["task_moment_16"].value == pytest.approx(math.prod(range(3, 18, 2)))
    U = np.zeros((4, 4))
    U[3, 0] = 0.1
    assert largo.icl.assumptions(largo.icl.Problem(3), U=U)["finite_rho"].holds is False
    coins = largo.icl.Regression(3, covariates="rademacher", prior="sphere")
    assert largo.icl.assumptions(coins, A="identity")["one_sigma_for_all_tasks"].value == pytest.approx(2)
    scaled = largo.icl.assumptions(coins, A="identity", score_scale=2.0)
    assert scaled["tilted_moment_4"].value > largo.icl.assumptions(coins, A="identity")["tilted_moment_4"].value


@pytest.mark.parametrize("call, words", [
    (lambda: largo.assumptions(NORMAL), "give either query or query_law"),
    (lambda: largo.assumptions(NORMAL, query=[1, 0]), "size of a query"),
    (lambda: largo.assumptions(NORMAL, query=[math.nan]), "query"),
    (lambda: largo.assumptions(NORMAL, query=[1], K=[[1.0]]), "K and Q go together"),
    (lambda: largo.assumptions(NORMAL, query=[1], U="identity", K=[[1.0]], Q=[[1.0]]), "either U, or K and Q"),
    (lambda: largo.icl.assumptions(largo.icl.Problem(2)), "give either A or U"),
    (lambda: largo.icl.assumptions(largo.icl.Problem(2), U=np.eye(2)), "U"),
    (lambda: largo.icl.assumptions(largo.icl.Problem(2), A="identity", score_scale=2.0), "score_scale is for tasks"),
])
def test_mistakes(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_other_tasks_are_refused():
    with pytest.raises(TypeError, match="must be an icl.Problem or an icl.Regression"):
        largo.icl.assumptions(largo.icl.Classification(1.0, np.eye(2)), A="identity")
