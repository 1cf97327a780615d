// The docstrings of what the extension itself defines: formula, shapes, and an example that the tests run.
// The first line is the signature, which Python takes off the docstring where "--" follows
// (inspect.signature).
#pragma once

namespace largo::python::docs {

inline constexpr const char* kLaw = R"(A token law μ on R^d: an infinite prompt.

With Λ(a) = log ∫ e^<a,z> dμ(z) the log-partition, the tilted law ν_a ∝ e^<a,·> μ has mean ∇Λ(a) and covariance ∇²Λ(a);
softmax attention, its limit and its gradients need nothing else. To define a law of your own, derive, call
super().__init__(d) and define

    log_partition(self, a)      Λ(a) for a of shape (d,); +inf where it is infinite, which has no tilt
    tilted_mean(self, a)        optional, (d,): else by differences, to about 1e-12 of the law's spread
    tilted_covariance(self, a)  optional, (d, d): else by differences, to about 1e-9
    tokens(self, uniforms)      optional, for sampling: (n, d) tokens from (n, k) numbers uniform on (0, 1), row by row;
                                k is the attribute uniforms_per_token, else d

Exceptions of these methods go through unchanged; a result that is not finite is a ValueError.

>>> import numpy as np, largo
>>> class Coin(largo.Law):
...     def log_partition(self, a):
...         return np.log(np.cosh(a)).sum()
>>> Coin(2).tilt([0.0, 0.5]).mean.round(6)
array([0.      , 0.462117])
>>> largo.attention(Coin(2), [0.0, 0.5]).round(6)
array([0.      , 0.462117]))";

inline constexpr const char* kLogPartition = R"(log_partition(self, a, *, threads=0)
--

Λ(a) = log ∫ e^<a,z> dμ(z): a number for a of shape (d,), an array (n,) for (n, d).

>>> import largo
>>> largo.law("gaussian", d=2).log_partition([3.0, 4.0])
12.5)";

inline constexpr const char* kTilt = R"(tilt(self, a, *, threads=0)
--

The law tilted by e^<a,z>: log-partition Λ(a), mean ∇Λ(a) and covariance ∇²Λ(a), as a named tuple. Shapes (), (d,) and
(d, d) for a of shape (d,); with n in front of them for (n, d).

>>> import largo
>>> largo.law("gaussian", d=2).tilt([3.0, 4.0]).mean
array([3., 4.]))";

inline constexpr const char* kSample = R"(sample(self, L, *, seed=1, threads=0)
--

L independent tokens, (L, d). The same for the same seed, on every machine; a longer prompt begins with the shorter one.

>>> import largo
>>> largo.rademacher(3).sample(2, seed=7).shape
(2, 3))";

inline constexpr const char* kGaussian = R"(N(mean, covariance), the covariance possibly singular.

Its tilt is a translation: Λ(a) = <a,m> + aᵀΓa/2, ν_a = N(m + Γa, Γ).

>>> import largo
>>> largo.Gaussian([1.0, 0.0], [[2.0, 1.0], [1.0, 1.0]]).tilt([1.0, 0.0]).mean
array([3., 1.]))";

inline constexpr const char* kSphere = R"(Uniform on the sphere of this radius in R^d.

>>> import largo
>>> largo.Sphere(3).covariance().round(3)[0, 0]
0.333)";

inline constexpr const char* kBall = R"(Uniform on the ball of this radius in R^d.

>>> import largo
>>> largo.Ball(3).covariance().round(3)[0, 0]
0.2)";

inline constexpr const char* kProduct =
    "Independent coordinates: largo.rademacher, uniform, three_point, bernoulli "
    "and laplace make one.";

inline constexpr const char* kMixture = R"(Σ π_k μ_k, of any laws; the weights π are normalised.

>>> import largo
>>> largo.Mixture([1, 3], [largo.Sphere(2), largo.law("gaussian", d=2)]).covariance()[0, 0]
0.875)";

inline constexpr const char* kAffine = R"(The law of M z + b, z of the base law: map is d x d', offset (d,).

>>> import largo
>>> largo.Affine([[2.0, 0.0]], [1.0], largo.law("gaussian", d=2)).covariance()
array([[4.]]))";

inline constexpr const char* kPair = R"(The law of (x, y), x and y independent.

>>> import largo
>>> largo.Pair(largo.Sphere(2), largo.rademacher(1)).dimension
3)";

inline constexpr const char* kElliptical =
    R"(√W Γ^{1/2} x, x standard Gaussian or uniform on the sphere of radius √d.

W is uniform between the two `values`, or discrete with these values and `weights`; the covariance is E[W] Γ.

>>> import largo
>>> largo.Elliptical([[1.0, 0.0], [0.0, 1.0]], values=[1.0, 3.0], weights=[1, 1]).covariance()[0, 0]
2.0)";

inline constexpr const char* kPrompt =
    R"(The empirical measure of a prompt, Σ p_l δ_{z_l}: a law like any other.

`tokens` is (L, d), one token in each row; float64 and float32 are read where they lie, so do not change them while the
prompt is in use. `weights` (L,) are normalised, and equal where they are not given. `precision` is that of the
arithmetic: that of the tokens ("auto"), "float32" or "float64".

>>> import numpy as np, largo
>>> tokens = np.array([[0.0], [1.0]])
>>> prompt = largo.Prompt(tokens)
>>> prompt.softmax_weights([np.log(3.0)])
array([0.25, 0.75])
>>> np.shares_memory(prompt.tokens, tokens)
True)";

inline constexpr const char* kTable =
    R"(The statistics of moments() at one length, as functions of s, interpolated.

Called with s, a number or an array of any shape, it returns an object with the same fields and relative_error; about
0.1 µs each once a range of s has been seen, below 1e-10 relative error.

>>> import largo
>>> table = largo.SoftmaxTable(1e6)
>>> round(table(1.7).mse, 9) == round(largo.moments(1.7, 1e6).mse, 9)
True)";

inline constexpr const char* kExpression =
    R"(A sum of products of softmax sums S(k, m) = Σ p_i^k g_i^m, with coefficients that are polynomials in s.

Made of largo.parts.S, P, A, B, D and s by +, -, * and **, with whole numbers for constants; exact.

>>> from largo import parts
>>> print(((parts.A - parts.s) ** 2).reduce())
(1 + s^2) E[P2] + 6 s^2 E[P2^2] - 6 s^2 E[P3]
>>> parts.A * parts.s == parts.s * parts.A
True)";

inline constexpr const char* kExpressionTerms =
    R"({((k, m), …): (c_0, c_1, …)}: the coefficient Σ c_j s^j of each product of S(k, m); () is the number 1.)";

inline constexpr const char* kExpressionReduce =
    R"(reduce(self)
--

The same expectation in power sums P_k alone, for every s and every L, by Gaussian integration by parts.

>>> from largo import parts
>>> print(parts.A.reduce())
s - s E[P2])";

inline constexpr const char* kExpressionDerivative =
    R"(derivative(self)
--

An expression whose expectation is d/ds of this one's; to be reduced.

>>> from largo import parts
>>> print(parts.P(2).derivative().reduce())
2 s E[P2] + 6 s E[P2^2] - 8 s E[P3])";

inline constexpr const char* kTask =
    R"(A task of in-context learning: tokens that are i.i.d. given it, a query, a target.

To define one of your own, derive, call super().__init__(token_dimension, query_dimension, output_dimension=1) and define

    draw(self, uniforms)    (law, query, target): the law of the tokens given the task, a largo.Law; the query, (e,); the
                            target, a number or (m,) for m outputs. A function of the uniform numbers alone: as many as the
                            attribute uniforms_per_task says, else the dimension of the tokens

>>> import numpy as np, largo
>>> class Shift(largo.icl.Task):                  # which way were the tokens shifted?
...     def draw(self, uniforms):
...         side = 1.0 if uniforms[0] < 0.5 else -1.0
...         return largo.Gaussian([side], [[1.0]]), [1.0], side
>>> round(largo.icl.risk(Shift(1, 1), 100, U=[[0.0]], v=[1.0], prompts=200).value, 3)
0.005)";

inline constexpr const char* kRegression =
    R"(Linear regression in which covariates, tasks and noise have any law, with one or several outputs.

The task is an m x d matrix W. Tokens are (x, y) with y = W x + s ε in R^m; the query is (x_q, 0) and its target is W x_q.

    covariates, queries     laws of x and x_q; queries are as the covariates unless given
    prior                   law of W, row after row, on R^{md}; or of each row, on R^d
    noise                   law of ε, on R^m, or a variance; None for no noise
    noise_scale             law of s, on the line, drawn with the task; None for s = 1
    outputs                 m

Laws are laws of largo or their names ("laplace:scale=0.7", as in largo.law). d may be left out if a law knows its
dimension. Prompts whose tokens are Gaussian are not sampled if the loss is squared; one with all laws Gaussian and centred
is an icl.Problem, and is trained as one, exactly.

>>> import largo
>>> task = largo.icl.Regression(3, covariates="sphere:radius=2", prior="laplace", noise=0.1)
>>> task.token_dimension, task.output_dimension
(4, 1)
>>> risk = largo.icl.risk(task, [10, 100], point=("0.5*identity", 2.0), loss="huber:1", prompts=200)
>>> risk.value[0] > risk.value[1]
True)";

inline constexpr const char* kLoss =
    R"(Loss(*args, **kwargs)
--

A loss that a task file names: icl.read_task(path).loss. Accepted wherever a loss is.)";

inline constexpr const char* kClassification =
    R"(Two Gaussian classes whose means the prompt must tell: m ~ N(0, mean_scale² I), tokens (y m + ξ, y), ξ ~ N(0, Σ).

The query is (x, 0) for an x of the same law, its target the label y = ±1: for the logistic loss. Over the infinite prompt
the head U = [[A, 0], [0, 0]], v = (0, b) says b tanh <m, A x>.

>>> import math, largo
>>> task = largo.icl.Classification(1.2, [[1.0, 0.0], [0.0, 0.25]])
>>> risk = largo.icl.prompt_risk(task, [20, math.inf], point=("identity", 2.0), loss="logistic", prompts=500)
>>> risk.value[0] > risk.value[1]
True)";

}  // namespace largo::python::docs
