#!/usr/bin/env python3
"""Risks of softmax attention off the invariant set, computed in another way: the oracle of exact_risk_test.cpp.

    tests/icl/risk_oracle.py            prints the table of references (some minutes)
    tests/icl/risk_oracle.py 3 17       these settings alone
    tests/icl/risk_oracle.py check      the values of d = 1 at U = [[0.5, 0], [0.7, 0]], v = (0, 1)

Nothing is shared with the library but the formula of the risk given a task w and a query x (docs/icl.md) and the
random numbers that make the settings. The statistics E[P2], E[P3], E[P2^2] come from trapezoidal rules of their own and
are interpolated in s. The average over (w, x) is for d = 1 a two-dimensional trapezoidal rule; otherwise importance
sampling: a mixture of nine Gaussians in which w and x are up to 2.4 times as large as they should be, so that the rare
pairs that carry R_L - R_inf are no longer rare, with scrambled Sobol points and an error from 8 independent scrambles.
R_inf, a polynomial, is exact by Gauss-Hermite rules, unless R_L is so far below it that sampling all is better. Slopes are those along a random direction of (U, v), by central
differences on the same points; their error has a share for that.
"""
import itertools
import sys
from multiprocessing import Pool

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import ndtr, ndtri
from scipy.stats import qmc

LENGTHS = [10, 100, 1e4, 1e8, 1e16, 1e32, 1e64]
DIMENSIONS = [1, 2, 3, 5]
SETTINGS = 60
SCRAMBLES = 8


# ---- statistics of softmax weights at (s, L) -------------------------------------------------------------------------
def moments(s, L):
    """E[P2], E[P3], E[P2^2]: integrals over y = ln t of powers of t e^{s g} (docs/moments.md)."""
    if s < 1e-8:
        return np.array([1 / L, 1 / L**2, 1 / L**2])
    log_L = np.log(L)
    far = np.sqrt(2 * (log_L + 55))
    h, step = min(0.24, 0.4 * s), max(0.2, s / 100)
    y = np.arange(-log_L - 50 - min(s * s / 2, s * far), (s * 12 if L < 1e4 else 0) + 8, step)
    if s >= 20:  # beyond 4 the exponential is zero, and below -60 nothing counts
        x = np.arange(-60, 4, h)
        beyond = ndtr((y - (x[-1] + h / 2)) / s)
    else:
        x = np.arange(y[0] - s * far, min(y[-1] + s * far, 4 + s * 12), h)
        beyond = ndtr((y - (x[-1] + h / 2)) / s) if x[-1] > 4 else np.zeros_like(y)
        if x[-1] <= 4:
            beyond = np.zeros_like(y)
    e = np.exp(np.minimum(x, 5.0))
    f = np.where(x < 5, np.exp(-e), 0)
    columns = np.stack([np.where(x < 5, -np.expm1(-e), 1)] + [f] + [np.exp(k * np.minimum(x, 5)) * f for k in (2, 3, 4)], axis=1)
    sums = np.empty((len(y), 5))
    for i in range(0, len(y), 128):
        sums[i:i + 128] = np.exp(-((x[None, :] - y[i:i + 128, None]) / s) ** 2 / 2) @ columns
    sums *= h / (s * np.sqrt(2 * np.pi))
    missing = sums[:, 0] + beyond
    below = ndtr((x[0] - h / 2 - y) / s)
    log_phi = np.where(missing < 0.5, np.log1p(-np.minimum(missing, 0.5)), np.log(np.maximum(sums[:, 1] + below, 1e-320)))
    one = np.exp((L - 1) * log_phi)
    p2 = L * sums[:, 2] @ one
    p3 = L * sums[:, 3] @ one / 2
    q = L * sums[:, 4] @ one / 6
    q += np.sum((L * sums[:, 2]) * ((L - 1) * sums[:, 2]) * np.exp((L - 2) * log_phi)) / 6
    return step * np.array([p2, p3, q])


class Statistics:
    """p and F - 1 as functions of s."""

    def __init__(self, L):
        s = np.concatenate([np.arange(0, 12, 0.1), np.arange(12, 24, 0.5), np.geomspace(24, 400, 40)])
        m = np.array([moments(x, L) for x in s])
        self.log_p = CubicSpline(s, np.log(m[:, 0]))
        self.ratio = CubicSpline(s, -1 + 6 * (m[:, 2] - m[:, 1]) / m[:, 0])

    def __call__(self, s):
        s = np.minimum(s, 400)
        p = np.exp(self.log_p(s))
        return p, p * self.ratio(s)


# ---- settings, the same as in exact_risk_test.cpp --------------------------------------------------------------------
class Uniforms:
    def __init__(self, seed):
        self.state = seed

    def __call__(self, *shape):
        values = []
        for _ in range(int(np.prod(shape))):
            self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
            values.append(2 * (self.state >> 11) * 2.0**-53 - 1)
        return np.array(values).reshape(shape)


class Setting:
    def __init__(self, number):
        draw = Uniforms(number + 1)
        draw(8)
        self.d = d = DIMENSIONS[number % 4]
        self.L = LENGTHS[(number // 4) % 7]
        self.S, self.S_q, self.O = (self.covariance(draw, d) for _ in range(3))
        self.noise = 0.5 * (1 + draw(1)[0]) if number % 3 else 0.0
        self.gamma = 1.0
        self.U = draw(d + 1, d + 1) * (2.4 + 1.2 * draw(1)[0]) / np.sqrt(d + 1)
        self.v = draw(d + 1) * 1.5 / np.sqrt(d + 1)
        self.direction_U, self.direction_v = draw(d + 1, d + 1), draw(d + 1)

    @staticmethod
    def covariance(draw, d):
        A = draw(d, d)
        return 0.3 * np.eye(d) + A @ A.T * 1.5 / d

    def shares(self, statistics, w, x, at):
        """The integrand at L = inf and what L adds to it, for rows of w and x, at (U, v) + at * direction."""
        d, U, v = self.d, self.U + at * self.direction_U, self.v + at * self.direction_v
        u = x @ U[:, :d].T * self.gamma
        a = u[:, :d] + u[:, d:] * w
        k = v[:d] + v[d] * w
        aS = a @ self.S
        s2 = np.einsum("ij,ij->i", aS, a) + self.noise * u[:, d] ** 2
        c = np.einsum("ij,ij->i", aS, k) + self.noise * u[:, d] * v[d]
        kappa = np.einsum("ij,ij->i", k @ self.S, k) + self.noise * v[d] ** 2
        y = np.einsum("ij,ij->i", w, x)
        infinite = 0.5 * (c - y) ** 2
        if statistics is None:
            return infinite
        p, phi = statistics(np.sqrt(np.maximum(s2, 0)))
        return np.stack([infinite, 0.5 * (c * c * phi + kappa * p) + c * y * p])


STEP = 1e-4  # of the differences
TABLES = {}  # length: Statistics


def limit(setting, at):
    """R_inf by Gauss-Hermite rules: three nodes for w, of degree 4, and two for x, of degree 2."""
    d, total = setting.d, 0
    P, Q = np.linalg.cholesky(setting.O), np.linalg.cholesky(setting.S_q)
    w = np.array(list(itertools.product([-np.sqrt(3), 0, np.sqrt(3)], repeat=d)))
    weight = np.prod(np.where(w == 0, 2 / 3, 1 / 6), axis=1)
    for x in itertools.product([-1.0, 1.0], repeat=d):
        rows = np.tile(Q @ np.array(x), (len(w), 1))
        total += weight @ setting.shares(None, w @ P.T, rows, at) / 2**d
    return total


def results(averages, setting):
    """Value and slope from averages of both shares at -STEP, 0, STEP: with R_inf exact, and with both averaged."""
    exact = [excess + limit(setting, at) for (_, excess), at in zip(averages, (-STEP, 0, STEP))]
    return np.array([[f[1], (f[2] - f[0]) / (2 * STEP)] for f in (exact, [sum(both) for both in averages])])


def by_quadrature(setting, statistics, step):
    x = np.arange(step / 2, 10, step)
    w = np.arange(-10, 10 + step / 2, step)
    W, X = (grid.reshape(-1, 1) for grid in np.meshgrid(w, x))
    weight = 2 * step * step * np.exp(-(W[:, 0] ** 2 + X[:, 0] ** 2) / 2) / (2 * np.pi)
    W, X = W * np.sqrt(setting.O[0, 0]), X * np.sqrt(setting.S_q[0, 0])
    return results([setting.shares(statistics, W, X, at) @ weight for at in (-STEP, 0, STEP)], setting)[0]


def by_sampling(setting, statistics, power, seed):
    d = setting.d
    P, Q = np.linalg.cholesky(setting.O), np.linalg.cholesky(setting.S_q)
    scales = [1, 1.5, 2.4]
    mixture = [(a, b, 0.44 if (a, b) == (1, 1) else 0.07) for a in scales for b in scales]
    averages = np.zeros((3, 2))
    for number, (a, b, share) in enumerate(mixture):
        points = qmc.Sobol(2 * d, seed=1000 * seed + number).random_base2(power + (2 if a == b == 1 else 0))
        normal = ndtri(np.clip(points, 1e-15, 1 - 1e-15))
        omega, chi = a * normal[:, :d], b * normal[:, d:]
        r, q = (omega**2).sum(1) / 2, (chi**2).sum(1) / 2
        density = sum(s * np.exp(r + q - r / i**2 - q / j**2) / (i * j) ** d for i, j, s in mixture)
        for k, at in enumerate((-STEP, 0, STEP)):
            averages[k] += share * np.mean(setting.shares(statistics, omega @ P.T, chi @ Q.T, at) / density, axis=1)
    return results(averages, setting)


def reference(number):
    setting = Setting(number)
    statistics = TABLES[setting.L]
    if setting.d == 1:
        fine = by_quadrature(setting, statistics, 0.03)
        error = np.abs(fine - by_quadrature(setting, statistics, 0.05)) + 2e-7 * np.abs(fine)
    else:
        all_of_them = np.array([by_sampling(setting, statistics, 14, seed) for seed in range(SCRAMBLES)])
        both, errors = all_of_them.mean(0), all_of_them.std(0, ddof=1) / np.sqrt(SCRAMBLES) + 2e-7
        better = np.argmin(errors, axis=0)  # R_inf is no help where R_L is far below it
        fine, error = both[better, [0, 1]], errors[better, [0, 1]]
    error[1] += 1e-6 * (1 + abs(fine[1]))
    return number, setting, fine, error


def check_values():
    setting = Setting(0)
    setting.S = setting.S_q = setting.O = np.eye(1)
    setting.noise, setting.U, setting.v = 0.0, np.array([[0.5, 0], [0.7, 0]]), np.array([0.0, 1.0])
    for L in (1e4, 1e6, 1e16, 1e32, 1e64):
        statistics = Statistics(L)
        values = [by_quadrature(setting, statistics, step)[0] for step in (0.05, 0.03)]
        print(f"L = {L:g}: {values[1]:.10f}, change {values[1] - values[0]:.1e}, R_inf - {0.86 - values[1]:.4e}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["check"]:
        check_values()
        sys.exit()
    wanted = [int(x) for x in sys.argv[1:]] or range(SETTINGS)
    lengths = sorted({Setting(number).L for number in wanted})
    with Pool() as pool:
        TABLES.update(zip(lengths, pool.map(Statistics, lengths)))
    with Pool() as pool:  # these processes know the tables
        for number, setting, value, error in pool.imap(reference, wanted):
            print(f"    {{{number}, {value[0]:.9g}, {error[0]:.1e}, {value[1]:.9g}, {error[1]:.1e}}},  // d = {setting.d}, L = {setting.L:g}",
                  flush=True)
