"""The same bits as the command line: every number of its JSON, compared for equality."""

import math

import numpy as np
import pytest
from conftest import number, plain

import largo

THREADS = [1, 2]


@pytest.mark.parametrize("threads", THREADS)
def test_moments(cli, threads):
    rows = cli("moments", "--s", "0:6:5", "--L", "1,10,1e4,1e12,inf", "--threads", threads)["rows"]
    s, L = np.linspace(0, 6, 5), np.array([1, 10, 1e4, 1e12, math.inf])
    moments = largo.moments(s[:, None], L[None, :], threads=threads)
    assert moments.shape == (5, 5)
    weights = ["entropy", "log_partition", "max_weight"]
    for name in rows[0]["errors"]:
        if name in weights:
            continue
        assert getattr(moments, name).ravel().tolist() == [row[name] for row in rows], name
        assert moments.errors[name].ravel().tolist() == [row["errors"][name] for row in rows], name
    assert moments.effective_tokens.ravel().tolist() == [number(row["effective_tokens"]) for row in rows]
    assert moments.self_check.ravel().tolist() == [row["self_check"] for row in rows]
    # The statistics that moments() does not have are those of a prompt with one class.
    crowd = largo.class_moments([(L[None, 1:4], 0, s[:, None])], threads=threads)
    finite = [row for row in rows if row["L"] in L[1:4].tolist()]
    for name in weights:
        assert getattr(crowd, name).ravel().tolist() == [row[name] for row in finite], name
        assert crowd.errors[name].ravel().tolist() == [row["errors"][name] for row in finite], name
    one = largo.moments(s[3], 10)
    assert one.mse == moments.mse[3, 1] and isinstance(one.mse, float)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("law,length", [("gaussian:cov=toeplitz:0.5", "inf"), ("rademacher", 1000), ("sphere", 777),
                                        ("elliptical:low=0,high=2", 64), ("gaussian", 200000)])
def test_attention(cli, law, length, threads):
    gradients = ["--gradients"] if length != 200000 else []
    seen = cli("attention", "--law", law, "--d", 4, "--U", "0.7*toeplitz:0.3", "--V", "random:3", "--query", "random:7",
               "--L", length, "--seed", 5, "--threads", threads, *gradients)
    prompt = largo.law(law, 4)
    if length != "inf":
        prompt = prompt.sample(length, seed=5)
    weights = {"U": "0.7*toeplitz:0.3", "V": "random:3", "threads": threads}
    queries = largo.matrix("random:7", 1, 4)
    for kind in ("softmax", "linear"):
        assert largo.attention(prompt, queries, attention=kind, **weights).tolist() == seen[kind]
    if gradients:
        jacobian = largo.attention_jacobian(prompt, queries, **weights)
        assert jacobian["U"].tolist() == seen["gradient_U"]
        assert jacobian["V"].tolist() == seen["gradient_V"]


@pytest.mark.parametrize("threads", THREADS)
def test_factored_attention(cli, threads):
    seen = cli("attention", "--law", "uniform", "--d", 3, "--K", "random:1", "--Q", "random:2", "--score-scale", "auto", "--L",
               50, "--query", "1,0,-1", "--threads", threads, "--gradients")
    prompt = largo.uniform(3).sample(50)
    weights = {"K": "random:1", "Q": "random:2", "score_scale": "auto", "threads": threads}
    assert largo.attention(prompt, [1, 0, -1], **weights).tolist() == seen["softmax"][0]
    jacobian = largo.attention_jacobian(prompt, [[1, 0, -1]], **weights)
    for name in "KQV":
        assert jacobian[name].tolist() == seen["gradient_" + name]


@pytest.mark.parametrize("threads", THREADS)
def test_concentration(cli, threads):
    seen = cli("concentration", "--law", "gaussian", "--d", 3, "--U", "0.5*identity", "--query", "1,0,-1", "--L",
               "16,256,inf", "--sigma", "0.5,1", "--method", "exact,sampled", "--prompts", 500, "--seed", 9, "--threads",
               threads, "--tolerance", "0.01")
    law = largo.law("gaussian", 3)
    result = largo.concentration(law, query=[1, 0, -1], U="0.5*identity", L=[16, 256, math.inf], sigma=[0.5, 1],
                                 method="both", prompts=500, seed=9, threads=threads)
    assert plain(result.to_dict()) == {"rows": seen["rows"], "fit": seen["fit"]}
    for one in seen["tolerance"]:
        found = largo.length_for_tolerance(law, 0.01, query=[1, 0, -1], U="0.5*identity", sigma=one["sigma"])
        assert (found.L, found.value) == (one["L"], one["value"])


def test_concentration_beside_planted_tokens(cli):
    seen = cli("concentration", "--law", "sphere", "--d", 3, "--query", "1,0,-1", "--plant", "1,0,1;0,2,0", "--sink", 2, "--L",
               "16,256", "--method", "exact,sampled", "--prompts", 300)
    result = largo.concentration(largo.Sphere(3), query=[1, 0, -1], planted=[[1, 0, 1], [0, 2, 0]], sinks=[2], L=[16, 256],
                                 method="both", prompts=300)
    assert plain(result.to_dict())["rows"] == seen["rows"]
    for planted in ([1, 2], [[math.nan, 0, 0]], "1,0,0"):
        with pytest.raises((ValueError, TypeError), match="planted"):
            largo.concentration(largo.Sphere(3), query=[1, 0, -1], planted=planted, L=10)


def test_sampled_concentration_over_a_law(cli):
    seen = cli("concentration", "--law", "uniform", "--d", 3, "--query-law", "sphere", "--L", "10,100", "--prompts", 300)
    result = largo.concentration(largo.uniform(3), query_law=largo.Sphere(3), L=[10, 100], prompts=300)
    assert plain(result.to_dict()["rows"]) == seen["rows"]


@pytest.mark.parametrize("threads", THREADS)
def test_icl_risk(cli, threads):
    lengths = [10, 100, 1e6, math.inf]
    problem = largo.icl.Problem(3, covariance="toeplitz:0.5", noise=0.1)
    options = ["--d", 3, "--cov", "toeplitz:0.5", "--noise", 0.1, "--L", "10,100,1e6,inf", "--threads", threads]
    seen = cli("icl", "risk", *options, "--A", "0.5*identity", "--b", 2)["rows"]
    point = largo.icl.Point(0.5 * np.eye(3), 2.0)
    risk = largo.icl.risk(problem, lengths, point=point, threads=threads)
    assert risk.value.tolist() == [row["softmax"]["value"] for row in seen]
    assert risk.error.tolist() == [row["softmax"]["error"] for row in seen]
    linear = largo.icl.risk(problem, lengths, point=point, attention="linear", threads=threads)
    assert linear.value.tolist() == [row["linear"]["value"] for row in seen]
    floor = largo.icl.floor(problem, lengths, threads=threads)
    assert floor.value.tolist() == [row["ridge"]["value"] for row in seen]
    seen = cli("icl", "risk", *options, "--U", "0.3*random:2", "--V", "random:4", "--nodes", 1024)["rows"]
    merged = largo.icl.risk(problem, lengths, U=largo.matrix("0.3*random:2", 4, 4), v=largo.matrix("random:4", 4, 4)[-1],
                            nodes=1024, threads=threads)
    assert merged.value.tolist() == [row["softmax"]["value"] for row in seen]


def test_sampled_icl_risk(cli):
    seen = cli("icl", "risk", "--d", 3, "--covariates", "rademacher", "--A", "identity", "--b", 1, "--L", "10,100", "--prompts", 200)
    risk = largo.icl.sampled_risk(largo.icl.Problem(3), [10, 100], largo.rademacher(3), point=("identity", 1.0), prompts=200)
    assert risk.value.tolist() == [row["softmax"]["value"] for row in seen["rows"]]


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("parameters", ["invariant", "merged", "factored"])
def test_training(cli, parameters, threads):
    seen = cli("icl", "train", "--d", 2, "--L", "10,inf", "--method", "flow,sgd", "--steps", 50, "--parameters", parameters,
               "--step-size", 0.02, "--nodes", 512, "--threads", threads, "--seed", 3, "--seeds", 2)["runs"]
    runs = largo.icl.train(largo.icl.Problem(2), [10, math.inf], method=("flow", "sgd"), steps=50, step_size=0.02,
                           parameters=parameters, nodes=512, seed=3, seeds=2, threads=threads)
    assert len(runs) == len(seen)
    for run, one in zip(runs, seen):
        assert (run.L, run.method, run.final_risk) == (number(one["L"]), one["method"], one["final_risk"])
        assert run.times[-1] == one["time"] and run.steps == one["steps"] and run.seed == one["seed"]
        if parameters == "invariant":
            assert run.A.tolist() == one["A"] and run.b == one["b"]
        else:
            assert run.U.tolist() == one["U"] and run.v.tolist() == one["v"]
        assert np.array_equal(run.U_path[-1], run.U) and np.array_equal(run.v_path[-1], run.v)
        if "distances_to_limit_flow" in one:
            assert run.details["distances_to_limit_flow"] == one["distances_to_limit_flow"]


def test_threshold(cli):
    seen = cli("icl", "threshold", "--d", 3, "--epsilon", 0.05)
    found = largo.icl.threshold(largo.icl.Problem(3), 0.05)
    assert (found.L, found.risk, found.limit) == (seen["L"], seen["risk"], seen["limit"])
    assert [{"L": L, "risk": risk} for L, risk in found.tried] == seen["tried"]


def test_threshold_of_a_task(cli):
    seen = cli("icl", "threshold", "--d", 1, "--prior-law", "rademacher", "--noise", 0.1, "--epsilon", 0.3, "--prompts", 8, "--alpha", 0.5,
               "--seed", 3)
    found = largo.icl.threshold(largo.icl.Regression(1, prior="rademacher", noise=0.1), 0.3, prompts=8, alpha=0.5, seed=3)
    assert [found.L, found.average, *found.interval] == [seen["L"], seen["average"], *seen["interval"]]
    assert [*found.risk, *found.limit] == [seen[name] for name in ("risk", "risk_error", "limit", "limit_error")]
    assert [{"L": one.L, "risk": one.risk._asdict(), "excess": one.excess._asdict()} for one in found.tried] == seen["tried"]


def test_study(cli, tmp_path):
    file = tmp_path / "errors.toml"
    file.write_text('title = "Errors"\nquantity = "concentration"\n[settings]\nlaw = "gaussian"\nd = 2\nquery = "1,0"\n'
                    "[grid]\nsigma = [0.5, 1]\nL = [10, 100, inf]\n")
    seen = cli("run", file, "--store", tmp_path / "cli.sqlite", "--set", "sigma=0.5,2")
    run = largo.run_study(file, tmp_path / "python.sqlite", set={"sigma": [0.5, 2]}, threads=2)
    assert run.content == seen["content"] and run.done == seen["done"] == 6
    assert largo.study_status(run.store).content == cli("status", tmp_path / "cli.sqlite")["content"]
    table = largo.read_study(run.store)
    rows = cli("report", tmp_path / "cli.sqlite")["rows"]
    for row, one in zip(table.rows, rows):
        assert all(plain(row[name]) == value for name, value in one["inputs"].items())
        assert all(row[name] == value["value"] for name, value in one["results"].items())
