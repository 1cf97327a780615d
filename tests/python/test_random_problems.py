"""Risks and gradients of random problems, against a simulation in NumPy that shares no code with largo.

The table PROBLEMS names the laws and losses of twelve problems; their sizes, matrices, heads and lengths are random, from
fixed seeds. Each is tried at a finite length, at a law of lengths and at L = ∞. The simulation draws the laws itself, and
has its own softmax, its own tilts of laws and its own formula for the gradient:

    o = V μ,   ∂ℓ/∂V = ℓ'(o) μᵀ,   ∂ℓ/∂U = s C Vᵀ ℓ'(o) qᵀ,   with μ and C the mean and covariance of the tokens, tilted by s U q.

Each value, and each entry of the gradients, is one comparison: 642 for icl.prompt_risk (exact, limit or sampled, as the
library chooses), and 428 for prompts that are always sampled (one step of descent, and the first risk of a flow on common
draws). Each may differ by four standard errors of the difference. With other seeds one comparison fails with probability
6e-5, or up to 1.7e-4 where part of the error is that of 64 seeds (Student's t), so that the file would fail with at most
13 %; less, since the entries of a gradient are correlated. The seeds are fixed, so that it does not fail by chance.
"""

import math

import numpy as np
import pytest

import largo

SIMULATED = 20_000           # prompts of the simulation
SEEDS, PER_SEED = 64, 128    # prompts of largo, split over seeds
BATCH, COMMON = 16_000, 1000  # prompts of the step of descent, and of the flow, whose Jacobian costs many evaluations
ALLOWED = 4.0                # standard errors
STEP, DIFFERENCES = 1e-5, 1e-7  # of central differences, and their error relative to the norm of the gradient

# covariates, prior, noise, noise scale, loss, outputs
PROBLEMS = [
    ("gaussian", "gaussian", "gaussian", None, "squared", 1),
    ("gaussian", "laplace", None, None, "squared", 2),
    ("gaussian", "sphere", "gaussian", "two-point", "squared", 1),
    ("gaussian", "rademacher", "mixture", None, "huber", 1),
    ("rademacher", "gaussian", "uniform", "uniform", "squared", 2),
    ("rademacher", "laplace", "mixture", None, "huber", 1),
    ("sphere", "rademacher", None, None, "squared", 1),
    ("sphere", "sphere", "uniform", None, "huber", 3),
    ("uniform", "gaussian", "mixture", "two-point", "squared", 1),
    ("uniform", "rademacher", "gaussian", "uniform", "huber", 2),
    ("classes", None, None, None, "logistic", 1),
    ("classes", None, None, None, "logistic", 1),
]
CONTAMINATION = 0.15  # share of the wide component of the mixture


def langevin(t):
    """coth t - 1/t and its derivative."""
    small = np.abs(t) < 1e-2
    u = np.where(small, 1.0, t)
    value = np.where(small, t / 3 - t**3 / 45, 1 / np.tanh(u) - 1 / u)
    slope = np.where(small, 1 / 3 - t**2 / 15 + 2 * t**4 / 189, 1 / u**2 - 1 / np.sinh(u) ** 2)
    return value, slope


def diagonal(values):
    return values[..., None] * np.eye(values.shape[-1])


class Law:
    """A law of R^k as a largo law, as samples of shape (..., k), and as tilted means and covariances."""

    def __init__(self, name, k, rng):
        self.name, self.k = name, k
        self.size = rng.uniform(0.5, 1.2)
        root = rng.normal(size=(k, k)) / math.sqrt(k)
        self.covariance = self.size * (0.5 * np.eye(k) + 0.5 * root @ root.T)
        self.scales = np.array([self.size, 3 * self.size]) * 0.5
        self.weights = np.array([1 - CONTAMINATION, CONTAMINATION])

    def largo(self):
        k, size = self.k, self.size
        if self.name == "mixture":
            return largo.Mixture(self.weights, [largo.Gaussian(np.zeros(k), scale**2 * np.eye(k)) for scale in self.scales])
        return {"gaussian": lambda: largo.Gaussian(np.zeros(k), self.covariance), "rademacher": lambda: largo.rademacher(k, size),
                "uniform": lambda: largo.uniform(k, size), "sphere": lambda: largo.Sphere(k, size),
                "laplace": lambda: largo.laplace(k, size, 2.5), "two-point": lambda: largo.Affine([[0.4]], [size], largo.rademacher(1))}[self.name]()

    def sample(self, rng, *shape):
        shape, size = (*shape, self.k), self.size
        if self.name == "gaussian":
            return rng.normal(size=shape) @ np.linalg.cholesky(self.covariance).T
        if self.name == "rademacher":
            return size * rng.choice([-1.0, 1.0], size=shape)
        if self.name == "uniform":
            return rng.uniform(-size, size, size=shape)
        if self.name == "sphere":
            normal = rng.normal(size=shape)
            return size * normal / np.linalg.norm(normal, axis=-1, keepdims=True)
        if self.name == "laplace":
            magnitude = -size * np.log1p(-rng.uniform(size=shape) * -np.expm1(-2.5 / size))
            return magnitude * rng.choice([-1.0, 1.0], size=shape)
        if self.name == "mixture":
            return rng.normal(size=shape) * rng.choice(self.scales, p=self.weights, size=(*shape[:-1], 1))
        return size + 0.4 * rng.choice([-1.0, 1.0], size=shape)

    def tilt(self, c):
        """Mean (n, k) and covariance (n, k, k) of the law tilted by each row of c."""
        size, one = self.size, np.eye(self.k)
        if self.name == "gaussian":
            return c @ self.covariance, np.broadcast_to(self.covariance, (len(c), self.k, self.k))
        if self.name == "rademacher":
            mean = np.tanh(size * c)
            return size * mean, diagonal(size**2 * (1 - mean**2))
        if self.name == "uniform":
            value, slope = langevin(size * c)
            return size * value, diagonal(size**2 * slope)
        if self.name == "sphere":
            assert self.k == 3
            norm = np.linalg.norm(c, axis=1)[:, None]
            along, (value, slope) = c / norm, langevin(size * norm)
            outer = along[:, :, None] * along[:, None, :]
            return size * value * along, size**2 * (slope[..., None] * outer + (value / (size * norm))[..., None] * (one - outer))
        variances = self.scales**2
        logs = np.log(self.weights) + variances * (c**2).sum(axis=1)[:, None] / 2
        share = np.exp(logs - logs.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        first, second = share @ variances, share @ variances**2
        return first[:, None] * c, first[:, None, None] * one + (second - first**2)[:, None, None] * c[:, :, None] * c[:, None, :]


class Problem:
    """One row of the table, made from the seed; simulate() is the reference."""

    def __init__(self, number):
        rng = np.random.default_rng(100 + number)
        covariates, prior, noise, scale, self.loss_name, self.m = PROBLEMS[number]
        self.d = 3 if covariates == "sphere" else int(rng.integers(2, 4))
        self.delta, self.score_scale = rng.uniform(0.4, 0.9), rng.uniform(0.6, 1.4)
        self.L = int(rng.integers(4, 13))
        low, high = int(rng.integers(2, 5)), int(rng.integers(7, 13))
        self.mixed = {low: 0.3, high: 0.7} if number % 2 else {k: 1 / (high - low + 1) for k in range(low, high + 1)}
        self.mixed_name = f"{low}=0.3,{high}=0.7" if number % 2 else f"uniform:{low}:{high}"
        D = self.d + self.m
        self.U, self.V = 0.4 * rng.normal(size=(D, D)), 0.7 * rng.normal(size=(self.m, D))
        self.classes = covariates == "classes"
        if self.classes:
            self.mean_scale, self.within = rng.uniform(0.7, 1.3), Law("gaussian", self.d, rng)
            self.task = largo.icl.Classification(self.mean_scale, self.within.covariance)
            return
        self.x, self.prior = Law(covariates, self.d, rng), Law(prior, self.d, rng)
        self.queries = Law("uniform", self.d, rng) if number % 3 == 2 else self.x
        self.noise = Law(noise, self.m, rng) if noise else None
        self.scale = Law(scale, 1, rng) if scale else None
        self.task = largo.icl.Regression(covariates=self.x.largo(), queries=self.queries.largo(), prior=self.prior.largo(),
                                         noise=self.noise and self.noise.largo(), noise_scale=self.scale and self.scale.largo(), outputs=self.m)

    @property
    def options(self):
        return {"loss": f"huber:{self.delta!r}" if self.loss_name == "huber" else self.loss_name, "score_scale": self.score_scale}

    def given(self, L):
        return self.mixed_name if isinstance(L, dict) else L

    def risk(self, L, *, U=None, V=None, prompts, seed=1):
        V = self.V if V is None else V
        return largo.icl.prompt_risk(self.task, self.given(L), U=self.U if U is None else U, v=V[0] if self.m == 1 else V,
                                     prompts=prompts, seed=seed, threads=1, **self.options)

    # The simulation

    def losses(self, o, y):
        if self.loss_name == "squared":
            return ((o - y) ** 2).sum(axis=1) / 2, o - y
        if self.loss_name == "huber":
            r = o - y
            inside = np.abs(r) <= self.delta
            return np.where(inside, r**2 / 2, self.delta * np.abs(r) - self.delta**2 / 2).sum(axis=1), np.clip(r, -self.delta, self.delta)
        return np.logaddexp(0, -y * o).sum(axis=1), -y / (1 + np.exp(y * o))

    def simulate(self, L, rng, n=SIMULATED):
        """The loss and its gradient, U by rows and then V by rows, of n prompts: (n, 1 + D² + m D)."""
        d, m, D = self.d, self.m, self.d + self.m
        if self.classes:
            means = self.mean_scale * rng.normal(size=(n, d))
            y = rng.choice([-1.0, 1.0], size=(n, 1))
            x = y * means + self.within.sample(rng, n)
        else:
            W = self.prior.sample(rng, n, m)
            x = self.queries.sample(rng, n)
            y = np.einsum("nkd,nd->nk", W, x)
            s = self.scale.sample(rng, n) if self.scale else np.ones((n, 1))
        q = np.concatenate([x, np.zeros((n, m))], axis=1)
        a = self.score_scale * q @ self.U.T
        if L == math.inf:
            mean, covariance = self.limit(a, means) if self.classes else self.limit(a, W, s)
        else:
            longest = max(L) if isinstance(L, dict) else L
            if self.classes:
                labels = rng.choice([-1.0, 1.0], size=(n, longest, 1))
                z = np.concatenate([labels * means[:, None] + self.within.sample(rng, n, longest), labels], axis=2)
            else:
                tokens = self.x.sample(rng, n, longest)
                answers = np.einsum("nkd,nld->nlk", W, tokens)
                if self.noise:
                    answers = answers + s[:, None] * self.noise.sample(rng, n, longest)
                z = np.concatenate([tokens, answers], axis=2)
            scores = np.einsum("nld,nd->nl", z, a)
            if isinstance(L, dict):
                own = rng.choice(list(L), p=list(L.values()), size=n)
                scores[np.arange(longest) >= own[:, None]] = -np.inf
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            weights /= weights.sum(axis=1, keepdims=True)
            mean = np.einsum("nl,nld->nd", weights, z)
            z -= mean[:, None]
            covariance = np.einsum("nl,nld,nle->nde", weights, z, z, optimize=True)
        value, slope = self.losses(mean @ self.V.T, y)
        by_U = self.score_scale * np.einsum("nde,ne,nf->ndf", covariance, slope @ self.V, q, optimize=True)
        by_V = slope[:, :, None] * mean[:, None, :]
        return np.concatenate([value[:, None], by_U.reshape(n, D * D), by_V.reshape(n, m * D)], axis=1)

    def limit(self, a, task, s=None):
        """The tilted mean and covariance of the tokens."""
        n, d, m = len(a), self.d, self.m
        if self.classes:
            t = np.tanh((a[:, :d] * task).sum(axis=1) + a[:, d])
            arm = np.concatenate([task, np.ones((n, 1))], axis=1)
            mean = t[:, None] * arm
            mean[:, :d] += a[:, :d] @ self.within.covariance
            covariance = (1 - t**2)[:, None, None] * arm[:, :, None] * arm[:, None, :]
            covariance[:, :d, :d] += self.within.covariance
            return mean, covariance
        B = np.zeros((n, d + m, d + m))  # of (x, ε)
        B[:, :d, :d], B[:, d:, :d] = np.eye(d), task
        B[:, d:, d:] = diagonal(np.broadcast_to(s, (n, m)))
        c = np.einsum("nij,ni->nj", B, a)
        mean, covariance = np.zeros((n, d + m)), np.zeros((n, d + m, d + m))
        mean[:, :d], covariance[:, :d, :d] = self.x.tilt(c[:, :d])
        if self.noise:
            mean[:, d:], covariance[:, d:, d:] = self.noise.tilt(c[:, d:])
        return np.einsum("nij,nj->ni", B, mean), np.einsum("nij,njk,nlk->nil", B, covariance, B, optimize=True)


COUNTS = {"prompt_risk": 0, "sampled": 0}
LARGEST = {}


def compare(kind, where, found, error, simulated):
    """All entries within ALLOWED standard errors; entries that cannot differ from zero are zero."""
    mean, own = simulated.mean(axis=0), simulated.std(axis=0, ddof=1) / math.sqrt(len(simulated))
    still = own == 0
    assert np.all(np.abs(found[still] - mean[still]) == 0), where
    z = ((found - mean) / np.where(still, 1, np.hypot(own, error)))[~still]
    COUNTS[kind] += len(z)
    LARGEST[kind, where] = float(np.abs(z).max())
    assert np.all(np.abs(z) < ALLOWED), (kind, where, np.abs(z).max())


def packed(value, U, V):
    return np.concatenate([[value], np.ravel(U), np.ravel(V)])


PLACES = ["finite", "mixed", "infinite"]
MADE = {}


def place(number, kind):
    """The problem, the length and its simulation, made once."""
    if (number, kind) not in MADE:
        problem = Problem(number)
        L = {"finite": problem.L, "mixed": problem.mixed, "infinite": math.inf}[kind]
        MADE[number, kind] = problem, L, problem.simulate(L, np.random.default_rng([number, PLACES.index(kind)]))
    return MADE[number, kind]


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("number", range(len(PROBLEMS)))
def test_risk_and_gradient(number, kind):
    """The mean over seeds, with the standard error of that mean, which the reported one of the value agrees with."""
    problem, L, simulated = place(number, kind)
    points = [problem.risk(L, prompts=PER_SEED, seed=1000 + seed) for seed in range(SEEDS)]
    rows = np.array([packed(one.value, one.U, one.v) for one in points])
    gaussian = PROBLEMS[number][0] == "gaussian" and PROBLEMS[number][2] in (None, "gaussian") and problem.loss_name == "squared"
    assert {one.average for one in points} == {"limit" if kind == "infinite" else "exact" if gaussian else "sampled"}
    spread = rows.std(axis=0, ddof=1) / math.sqrt(SEEDS)
    compare("prompt_risk", (number, kind), rows.mean(axis=0), spread, simulated)
    reported = math.sqrt(np.mean([one.error**2 for one in points]) / SEEDS)
    assert 0.6 < reported / spread[0] < 1.6


@pytest.mark.parametrize("kind", PLACES[:2])
@pytest.mark.parametrize("number", range(len(PROBLEMS)))
def test_sampled_prompts(number, kind):
    """One step of descent is the gradient over a batch; a flow on common draws begins at their risk. Both are means over
    prompts like those of the simulation, so that they have its spread."""
    problem, L, simulated = place(number, kind)
    head = (problem.U, problem.V[0] if problem.m == 1 else problem.V)
    plan = {"start": head, "parameters": "merged", "seed": 7, "threads": 1, **problem.options}
    step, = largo.icl.train(problem.task, problem.given(L), method="sgd", steps=1, step_size=1.0, batch=BATCH, **plan)
    flow, = largo.icl.train(problem.task, problem.given(L), common_draws=True, time=1e-6, prompts=COMMON, **plan)
    assert flow.details["average"] == "sampled"
    found = packed(flow.risks[0], step.U_path[0] - step.U_path[-1], step.v_path[0] - step.v_path[-1])
    found[1:][simulated[:, 1:].std(axis=0) == 0] = 0  # rounding of the difference
    prompts = np.full(len(found), BATCH)
    prompts[0] = COMMON
    compare("sampled", (number, kind), found, simulated.std(axis=0, ddof=1) / np.sqrt(prompts), simulated)


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("number", range(len(PROBLEMS)))
def test_gradient_by_differences(number, kind):
    problem, L, _ = place(number, kind)
    n = 50
    found = problem.risk(L, prompts=n)
    slopes = []
    for name, matrix in (("U", problem.U), ("V", problem.V)):
        for at in np.ndindex(*matrix.shape):
            move = np.zeros(matrix.shape)
            move[at] = STEP
            up, down = (problem.risk(L, prompts=n, **{name: matrix + sign * move}).value for sign in (1, -1))
            slopes.append((up - down) / (2 * STEP))
    gradient = packed(0, found.U, found.v)[1:]
    assert np.linalg.norm(gradient - slopes) < DIFFERENCES * np.linalg.norm(gradient)


def test_number_of_comparisons():
    """As the head of this file says."""
    if len(LARGEST) == 5 * len(PROBLEMS):
        assert COUNTS == {"prompt_risk": 642, "sampled": 428}
