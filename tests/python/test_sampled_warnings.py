"""What a sample may have missed is said wherever its numbers go; what a constant is, too."""
import math
import sys
import types

import numpy as np
import pytest

import largo


@pytest.fixture
def frames(monkeypatch):
    """pandas may not be installed: a frame of its columns is enough here."""
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=lambda columns: columns))


def test_frames_have_intervals_and_warnings(frames):
    rare = largo.concentration(largo.law("three-point:mass=1e-7", d=1), query=[1.0], L=[100], method="both", prompts=200)
    frame = rare.to_frame()
    exact, sampled = (list(frame["method"]).index(method) for method in ("exact", "sampled"))
    row = rare.rows[sampled]
    assert frame["warnings"][sampled] == "; ".join(row["warnings"]) != ""
    assert frame["warnings"][exact] == ""
    assert (frame["output_low"][sampled], frame["output_high"][sampled]) == tuple(row["output"]["interval"])
    assert math.isnan(frame["output_low"][exact])
    assert list(frame)[-1] == "warnings"


def test_rows_of_a_study_have_warnings(tmp_path):
    file = tmp_path / "rare.toml"
    file.write_text('quantity = "concentration"\n[settings]\nlaw = "three-point:mass=1e-7"\nd = 1\nquery = "1"\nprompts = 200\n'
                    'method = "sampled"\n[grid]\nL = [100]\n')
    largo.run_study(str(file), str(tmp_path / "rare.sqlite"))
    (row,) = largo.read_study(str(tmp_path / "rare.sqlite")).rows
    assert row["warning"].startswith("rare tokens carry the spread of the error") and row["message"] is None


def test_a_constant_says_what_it_is():
    class Oblique(largo.Law):
        """±v, v off all axes and diagonals: its constant is ‖v‖."""

        v = np.array([1.0, -2.0, 3.0, 1.5])

        def __init__(self):
            super().__init__(4)

        def log_partition(self, a):
            return np.logaddexp(a @ self.v, -(a @ self.v)) - math.log(2)

    own = Oblique()
    norm = float(np.linalg.norm(own.v))
    assert 0.999 * norm <= own.sub_gaussian_constant() <= norm * (1 + 1e-9)
    assert own.sub_gaussian_kind() == "at least"
    normal = largo.law("gaussian", d=2)
    assert normal.sub_gaussian_kind() == "smallest"
    assert largo.Mixture([1, 1], [normal, normal]).sub_gaussian_kind() == "at most"
    assert largo.concentration(normal, query=[0.1, 0], L=[10, 100]).fit["sub_gaussian_kind"] == "smallest"
