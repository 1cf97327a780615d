#include "claims/claims.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include <fmt/core.h>

#include "report/report.hpp"

namespace largo::claims {

std::span<const NamedClaim> all_claims() {
  // The formulas are longer than its penalties can count, and it would break every line:
  // clang-format off
  static constexpr std::array kClaims = std::to_array<NamedClaim>({
      {.id = "almost-sure",
       .title = "One growing prompt converges, in any order",
       .source = "lecture notes, section I",
       .statement = "Attention does not depend on the order of the tokens: a prompt is a "
                    "measure. Over the first L of infinitely many independent tokens of a law "
                    "with exponential moments (the notes state no condition), it converges "
                    "almost surely to attention over their law. That is, the largest distance "
                    "over all longer prompts tends to zero.",
       .formula =
           R"(T^{K,Q,V}[\hat\mu_L](z) \xrightarrow[L\to\infty]{\text{a.s.}} T^{K,Q,V}[\mu](z),\qquad \sup_{L>n}\|T[\hat\mu_L](z)-T[\mu](z)\| \to 0)",
       .control = {"The limit is that of attention without scores, V times the mean of the tokens.",
                   "In the rearranged prompts one token is replaced by a copy of another; the three threads "
                   "attend over such a prompt."},
       .compute = almost_sure_claim},
      {.id = "lemma",
       .title = "Gaussian tokens make softmax attention affine",
       .source = "Lemma (Castin et al., 2025; lecture notes, section I)",
       .statement = "Softmax attention over an infinite prompt of Gaussian tokens N(m, Γ) is the affine map "
                    "z ↦ V m + V Γ KᵀQ z, because the law ν that softmax makes of the tokens is Gaussian "
                    "again, with the mean m + Γ KᵀQ z and the covariance Γ.",
       .formula =
           R"(\begin{gathered}T^{K,Q,V}[\mathcal N(m,\Gamma)](z) = V m + V\,\Gamma\,K^\top Q z,\\ d\nu(z')\propto e^{\langle Kz',Qz\rangle}\,d\mu(z'),\quad \nu=\mathcal N(m+\Gamma K^\top Qz,\,\Gamma)\end{gathered})",
       .control = {"The definitions have K and Q exchanged, which transposes U = KᵀQ.",
                   "The closed forms are those of tokens of covariance 2Γ."},
       .compute = lemma_claim},
      {.id = "exact-error",
       .title = "The exact error at every prompt length",
       .source = "ours",
       .statement =
           "For Gaussian tokens N(m, Γ) the mean squared distance of attention over L tokens from its limit, "
           "and that of its gradients in V and U, are known up to integrals over one variable of φ(t) = E "
           "exp(−t e^{sg}), itself a one-dimensional integral, for every L. They need moments of the power sums of the softmax weights pᵢ, which depend on L "
           "and on the standard deviation s of the scores alone, s² = zᵀUᵀΓUz.",
       .formula =
           R"(\begin{gathered}\mathbb E\,\|T[\hat\mu_L](z)-T[\mu](z)\|^2 = \operatorname{tr}(V\Gamma V^\top)\,p + \|V\Gamma Uz\|^2\,(p-6p_3+6q),\\ p=\mathbb E[P_2],\quad p_3=\mathbb E[P_3],\quad q=\mathbb E[P_2^2],\quad P_k=\textstyle\sum_i p_i^k\end{gathered})",
       .control = "The exact errors are those of the transposed U.",
       .compute = exact_error_claim},
      {.id = "other-laws",
       .title = "Tokens that are not Gaussian",
       .source = "ours",
       .statement =
           "Attention over prompts of other laws converges as well, to V times the mean of the tilted law, "
           "which is not linear in the query in general (docs/attention.md: tanh for coordinates ±1; not "
           "computed here. Two of the summaries given with the paper call the limit linear without saying "
           "that tokens are Gaussian). Its error is an integral over one variable t wherever the law of the "
           "score ⟨Uz, x⟩ of a token x and the moments of the token given its score are known; below, Y = "
           "Vx − T[μ](z). The error of the gradient in U is an integral of the same kind, with up to four "
           "tokens under it.",
       .formula =
           R"(\begin{gathered}\mathbb E\,\|T[\hat\mu_L](z)-T[\mu](z)\|^2 = \int_0^\infty t\,\Big\{L\,\Phi_2[\|Y\|^2]\,\varphi^{L-1} + L(L-1)\,\|\Phi_1[Y]\|^2\,\varphi^{L-2}\Big\}\,dt,\\ \Phi_k[h]=\mathbb E\big[h\,e^{k\langle Uz,x\rangle}\,e^{-t e^{\langle Uz,x\rangle}}\big],\quad \varphi=\Phi_0[1]\end{gathered})",
       .control = "The exact errors are those of the transposed U.",
       .compute = other_laws_claim},
      {.id = "classes",
       .title = "Sinks, needles and crowds",
       .source = "ours",
       .statement = "Where a prompt has n tokens of class c with scores b + s g, for several classes, the "
                    "mean weight of a "
                    "class, the power sums, the entropy, the log-partition and the largest weight are "
                    "integrals over one "
                    "variable y (the last one over two). A given score has s = 0. The distribution of the weight W of one "
                    "token of given score a follows from that of S, the sum of exp(score) over the others, which is "
                    "computed from its Laplace transform. Below, x = y + b + s g.",
       .formula =
           R"(\begin{gathered}\mathbb E\sum_{i\in c}p_i=\int\Phi\,R_c(1)\,dy,\qquad \mathbb E[P_2]=\int\Phi\sum_cR_c(2)\,dy,\\ \Phi=\prod_c\varphi_c^{n_c},\quad \varphi_c=\mathbb E\,e^{-e^{x}},\quad R_c(k)=n_c\,\mathbb E\big[e^{kx-e^{x}}\big]/\varphi_c,\\ \mathbb P(W>w)=\mathbb P\big(S<e^{a}(1/w-1)\big)\end{gathered})",
       .control = "The exact numbers are those of one crowd with the mean and variance of all scores.",
       .compute = classes_claim},
      {.id = "planted",
       .title = "Attention beside sinks and needles",
       .source = "ours",
       .statement =
           "Where every prompt holds given tokens beside the L that are drawn from a "
           "law, attention has the limit of the law all the same, and the distance from "
           "it is an integral. Over the given tokens S₀ is the sum of "
           "exp(score), and X₀ the sum of exp(score) times the value minus the limit; "
           "Y, φ and Φ are those of other-laws.",
       .formula =
           R"(\mathbb E\,\|T-T[\mu](z)\|^2=\int_0^\infty t\,e^{-tS_0}\big\{\|X_0\|^2\varphi^L+2L\langle X_0,\Phi_1[Y]\rangle\varphi^{L-1}+L\Phi_2[\|Y\|^2]\varphi^{L-1}+L(L-1)\|\Phi_1[Y]\|^2\varphi^{L-2}\big\}dt)",
       .control = {"The exact errors are those of the crowd alone.",
                   "The scores of planted tokens grow like ln L."},
       .compute = planted_claim},
      {.id = "temperature",
       .title = "Critical scales of the temperature",
       .source = "ours; the scale of spheres is that of arXiv 2605.08505, 1 − 1/x that of the random "
                 "energy model",
       .statement = "If all scores are multiplied by β, attention over many tokens becomes "
                    "attention to few of them at a critical scale of β. For L normal scores of "
                    "spread s it is √(2 ln L)/s: with x = βs/√(2 ln L) the mean of P₂, one over "
                    "the effective number of tokens, falls like a power of L below x = 1, and "
                    "tends to 1 − 1/x above. For n tokens on the sphere of Rᵈ it is n^{2/(d−1)}: "
                    "if β is this scale to a power γ < 1, the number of effective tokens grows like n^{1−γ}; "
                    "at ten times the scale few are left (that they tend to one for γ > 1 is not "
                    "computed). The exponent between x = 1/√3 and 1 comes from a heuristic.",
       .formula =
           R"(\begin{gathered}\mathbb E[P_2]=L^{-\kappa(x)+o(1)},\quad \kappa=1-2x^2\ (x\le\tfrac1{\sqrt3}),\quad \kappa=\tfrac14\big(\tfrac1x-x\big)^2\ (\tfrac1{\sqrt3}\le x\le1),\\ \mathbb E[P_2]\to1-\tfrac1x\ (x>1)\end{gathered})",
       .control = {"The exponents of normal scores are those of scores that are larger by 5 %.",
                   "Beyond x = 1 the limit is 1 − 1/x².",
                   "For spheres, β is a tenth of the critical scale instead of ten times it."},
       .compute = temperature_claim},
      {.id = "averaged-exponent",
       .title = "The exponent of the averaged error",
       .source = "ours, beside Proposition 3.1",
       .statement =
           "Averaged over standard Gaussian queries, the error of attention over L Gaussian tokens falls "
           "like L⁻ᶜ up to logarithms. The formula for c comes from a heuristic, which counts how rare the "
           "queries and tokens are that carry the error; exact output errors in one dimension agree with "
           "it, and it is not proved. It is about 1/σ² for large σ, as in the bound of the paper, which has "
           "an exponent c₂/σ² with a c₂ that is not known; σ is the largest standard deviation of the "
           "scores over unit queries.",
       .formula =
           R"(c(\sigma) = 1 \;\text{ for } \sigma^2\le\tfrac12,\qquad c(\sigma)=\tfrac12\Big(\sqrt{1+4/\sigma^2}-1\Big) \;\text{ beyond})",
       .control = "The exponent is that of the bulk of the queries, c = 1 for every σ.",
       .compute = averaged_exponent_claim},
      {.id = "audit",
       .title = "Errors of moderate tokens fall like 1/L",
       .source = "ours, beside Propositions 3.1 and 3.4",
       .statement =
           "For tokens and queries of moderate size (σ² < 1/2 for an average over Gaussian queries, L ≫ "
           "ρ = exp(Λ(2a) − 2Λ(a)) at a query) the errors of the output and of both gradients fall like "
           "1/L in the end. How soon depends on σ: the lengths below are enough for the U that are used "
           "(‖U‖ = 0.22 with Gaussian queries, ‖U‖|z| = 0.5 for the other laws). The propositions bound "
           "these errors, and do not state this rate. At a given query the constant C follows from two "
           "tilts of the law of the tokens, as below, with a = Uz, the tilted laws ν, the log-partition "
           "Λ and Y = V(x − mean νₐ).",
       .formula =
           R"(L\;\mathbb E\,\|T[\hat\mu_L](z)-T[\mu](z)\|^2 \longrightarrow C = e^{\Lambda(2a)-2\Lambda(a)}\;\mathbb E_{\nu_{2a}}\|Y\|^2)",
       .control = {"The tokens are twenty times as large.", "C has the law νₐ in place of ν with index 2a."},
       .compute = audit_claim},
      {.id = "bounds",
       .title = "The paper's bounds",
       .source = "Propositions 3.1 and 3.4",
       .statement = "Let tokens be σ-sub-Gaussian (the scanned notes read σ ≫ 1, which may be σ ≥ "
                    "1), queries 1-sub-Gaussian, and L ≥ 2; at L = 1 the bounds are zero. Then "
                    "the errors are at most as below, with constants c₁, c₂ > 0 that depend on d, "
                    "U and V alone. For gradients, moments of the tilted law must be bounded; the "
                    "gradient in V has the bound of the output. (docs/assumptions.md has our reading of that "
                    "hypothesis, and a proof that it holds for sub-Gaussian tokens and queries.)",
       .formula =
           R"(\mathbb E\,\|T[\hat\mu_L]-T[\mu]\|^2_{L^2(\nu)} \le c_1\,\sigma^6\,\frac{\ln L}{L^{c_2/\sigma^2}},\qquad \mathbb E\,\|\nabla_U T[\hat\mu_L]-\nabla_U T[\mu]\|^2_{L^2(\nu)} \le c_1\,\sigma^{12}\,\frac{\ln^2 L}{L^{c_2/\sigma^2}})",
       .control = {"c₂ = 1, which is too large, with c₁ fitted in the same way.",
                   "c₁ is a ten-thousandth of what it is."},
       .compute = bounds_claim},
      {.id = "proof",
       .title = "The idea of the proof, in numbers",
       .source = "lecture notes, section II, proof idea",
       .statement =
           "Attention is a quotient of two means over the tokens, whose terms have heavy tails. Where no "
           "weight in the prompt exceeds M, the denominator is a mean of bounded terms and concentrates "
           "exponentially: Bernstein's inequality is a theorem, and the comparison shows how sharp it is "
           "and checks the code. (The tail of the numerator, whose terms are then light-tailed, is not "
           "computed.) Prompts with a weight beyond M become rare as L grows, for M = √L once ln L is well "
           "above 8s², and their output is at most as large as their largest value. Together the two "
           "regimes make up the error.",
       .formula =
           R"(\begin{gathered}\mathbb E\,\Delta^2 = \mathbb E\big[\Delta^2;\,\max_i e^{\langle Kz_i,Qz\rangle}\le M\big] + \mathbb E\big[\Delta^2;\,\max_i e^{\langle Kz_i,Qz\rangle}> M\big],\quad \Delta=\|T[\hat\mu_L](z)-T[\mu](z)\|,\\ P\big(\max_i e^{\langle Kz_i,Qz\rangle}\le M\big)=\Phi\big(\tfrac{\ln M}{s}\big)^L\;\text{ for centred Gaussian tokens}\end{gathered})",
       .control =
           {"The exact values are those of a truncation at 2M.",
            "Bernstein's bound has its exponent times ten, and the share for long prompts is also that "
            "of s = 3."},
       .compute = proof_claim},
      {.id = "certified",
       .title = "Bounds with constants",
       .source = "ours, beside Propositions 3.1 and 3.4",
       .statement =
           "For every law of tokens with exponential moments of all orders, at every query and every L, "
           "the errors of the output and of both gradients have bounds whose constants are all known; "
           "that of the output is below, for every δ between 0 and 1. Here a = Uz, νₐ is the tilted "
           "law, Y = V(x − mean νₐ) and ρ is the second moment of the weight of a token. The last term, "
           "for rare prompts, is R² exp(−δ²L/2ρ) if |Y| ≤ R, and (L E|Y|⁴)^{1/2} exp(−δ²L/4ρ) for any "
           "law. Averaged over a law of queries there are bounds for some laws.",
       .formula =
           R"(\mathbb E\,\|T[\hat\mu_L](z)-T[\mu](z)\|^2 \le \frac{\rho}{(1-\delta)^2 L}\,\mathbb E_{\nu_{2a}}\|Y\|^2 + \text{(rare prompts)},\qquad \rho=e^{\Lambda(2a)-2\Lambda(a)})",
       .control = {"The bound is its first term alone, with δ = 0 and without rare prompts.",
                   "Bounds are a millionth of what they are.", "Bounds are ten times what they are."},
       .compute = certified_claim},
      {.id = "linear-error",
       .title = "The error of linear attention",
       .source = "a weaker form of the proposition in the lecture notes, section II, as "
                 "written there, with T_lin on both sides",
       .statement =
           "The mean squared distance of linear attention over L tokens from its limit is at most a "
           "bound of the form below. It is exactly the variance of one term over L, so there are such "
           "constants for each law. The notes have one pair of constants for all laws with the same σ. As "
           "written, that needs centred tokens, because the error grows with the square of their mean; "
           "probably T is meant, as in Proposition 3.1. The notes also say that softmax and (normalized) "
           "linear attention have the same limit for Gaussian tokens. That is so if the tokens are centred. "
           "Over Gaussian tokens of mean m the two limits differ unless ⟨m, Uz⟩ = 1 or Vm = 0: the mean "
           "squared distance tends to (1 − ⟨m, Uz⟩)² |Vm|², which is ours.",
       .formula =
           R"(\begin{gathered}\mathbb E\,\|T_{\mathrm{lin}}[\hat\mu_L]-T_{\mathrm{lin}}[\mu]\|^2_{L^2(\nu)} \le c_1\,\sigma^6\,\frac{\ln L}{L^{c_2/\sigma^2}},\\ \mathbb E\,\|T[\hat\mu_L](z)-T_{\mathrm{lin}}[\hat\mu_L](z)\|^2 \longrightarrow (1-\langle m,Uz\rangle)^2\,\|Vm\|^2\end{gathered})",
       .control = {"The exact values are those of tokens without their mean.",
                   "The limit of the distance of softmax and linear attention is that of 2U."},
       .compute = linear_error_claim},
      {.id = "softmax-linear",
       .title = "When linear attention will do",
       .source = "ours, on a question in the lecture notes, section I",
       .statement = "Over long prompts of centred Gaussian tokens softmax attention may be replaced by "
                    "linear attention over the same tokens: their mean squared distance falls like 1/L at a fixed "
                    "query. For standard tokens, U = V = I and |z| = 1 the constant is (d + 1)(e − 1).",
       .formula =
           R"(L\;\mathbb E\,\|T[\hat\mu_L](z)-T_{\mathrm{lin}}[\hat\mu_L](z)\|^2 \longrightarrow (d+1)(e-1)\quad\text{for } \mu=\mathcal N(0,I),\;U=V=I,\;|z|=1)",
       .control = {"The constant has the directions orthogonal to the query alone, (d − 1)(e − 1).",
                   "The tolerance is so small that no length up to 10³⁰⁰ is enough."},
       .compute = softmax_linear_claim},
      {.id = "stability",
       .title = "Concentration is stable along training",
       .source = "abstract of the paper; the rate and its exponent are ours",
       .statement =
           "Along the whole training trajectory, from the start to the end, attention over L tokens stays "
           "close to that over the infinite prompt, and so do its gradients: the largest errors at a few "
           "points of the path fall as L grows. (The abstract says so for general in-context learning with "
           "sub-Gaussian tokens.) This is checked for Gaussian regression from the paper's start, and for "
           "one problem whose tokens are not Gaussian given the task. For the former a heuristic says that "
           "they fall like L⁻ᶜ up to logarithms, where c is the exponent of the averaged error at the "
           "largest spread σ of the scores on the path. Scores may be largest in the middle of the path, "
           "not at its end.",
       .formula =
           R"(\sup_{t\ge0}\,\mathbb E\,\|T^{\theta(t)}[\hat\mu_L]-T^{\theta(t)}[\mu]\|^2_{L^2(\nu)} = L^{-c(\sigma)+o(1)}\;\text{(heuristic)},\qquad \sigma=\sup_{t\ge0}\,\|\Sigma^{1/2}A(t)\,\Sigma^{1/2}\|)",
       .control = {"The scores run away: along the path they grow to 16 times what training makes them.",
                   "The exact errors that others are compared with are those of 12 tokens for 10.",
                   "Exact errors are those of L^{1/8} tokens."},
       .compute = stability_claim},
      {.id = "infinite-limit",
       .title = "Training on infinite prompts",
       .source =
           "Theorem 5.1, after Zhang et al. (2024) on linear attention; starts beyond its interval: ours",
       .statement =
           "From A = αΘΘᵀ, b = α with ‖ΘΘᵀ‖ = 1 and 0 < α < √2/(d^{1/4}‖Σ‖), where ‖Σ‖ is the operator "
           "norm and other norms are Frobenius, the flow of the infinite prompt ends at the point "
           "below, one of the minima of its risk, which is zero there like that of Bayes; on its way it "
           "keeps ‖A‖² − b². From this start all other entries of U and v stay zero at every L "
           "(docs/icl.md; not computed here), so that flows are in (A, b). On infinite prompts softmax "
           "and linear attention have the same risk, and so the same flow, by the Lemma (this is not "
           "computed here): that is why results on linear attention carry over. The flow ends at "
           "this point from every larger α, too; docs/icl.md proves it. So α need not be in the interval.",
       .formula =
           R"(A_\infty = \operatorname{tr}(\Sigma^{-2})^{-1/4}\,\Sigma^{-1},\qquad b_\infty = \operatorname{tr}(\Sigma^{-2})^{1/4})",
       .control = {"The limit has tr(Σ⁻²)^{1/2} for tr(Σ⁻²)^{1/4}: another minimum of the same risk.",
                   "Training is that on prompts of a thousand tokens."},
       .compute = infinite_limit_claim},
      {.id = "exact-risk",
       .title = "The exact risk at every prompt length",
       .source = "ours",
       .statement =
           "For centred Gaussian tokens N(0, Γ_w) given the task w, the risk of softmax attention over L "
           "tokens is an average over tasks and queries in which the prompt no longer appears, for every L "
           "and all parameters; so is its gradient. F and p depend on L and on the standard deviation of "
           "the scores alone.",
       .formula =
           R"(\begin{gathered}R_L(U,v)=\tfrac12\,\mathbb E_{w,x}\big[c^2F+\kappa\,p-2c(1-p)\,y+y^2\big],\quad F=1-p-6p_3+6q,\\ u=U(x,0),\quad c=v^\top\Gamma_wu,\quad \kappa=v^\top\Gamma_wv,\quad y=w^\top x\end{gathered})",
       .control = {"The exact numbers are those of the transposed U.", "The exact risk beside a sink is that without it."},
       .compute = exact_risk_claim},
      {.id = "transfer",
       .title = "From infinite to finite prompts",
       .source = "Theorems 4.3 and 5.2; the constants C are ours",
       .statement =
           "If the flow of the infinite prompt is bounded (Theorem 4.3, for smooth losses), then on a "
           "finite horizon the training trajectories of long prompts from the same start are uniformly "
           "close to it, and for every ε there is an L(ε) from which on all trained risks are at most ε "
           "above its limit. For regression without label noise, from the start of Theorem 5.1, that limit "
           "is the Bayes risk, zero (Theorem 5.2). (The scanned notes read “= instance of label noise”, "
           "probably “= 0 in absence of label noise”.) With label noise only Theorem 4.3 applies. This is "
           "what the abstract calls the transfer of analyses of linear attention; it holds for paths on a "
           "finite horizon and for limits of the risk, and not for end points: for d = 5 training on "
           "prompts of a million tokens ends at another point than training on the infinite prompt "
           "(docs/icl.md; not computed here).",
       .formula =
           R"(\sup_{t\le T}\|\theta_L(t)-\theta_\infty(t)\| \to 0,\qquad \lim_{t\to\infty} R_L(\theta_L(t)) \le \lim_{t\to\infty} R_\infty(\theta_\infty(t)) + \varepsilon \;\text{ for } L\ge L(\varepsilon))",
       .control = {"The limit flow is that of prompts with twice the covariance.",
                   "The limit flow is that of a thousand tokens, lengths are taken downwards, and the closed "
                   "form is that of twice the length."},
       .compute = transfer_claim},
      {.id = "threshold",
       .title = "How long must a prompt be: L(ε)",
       .source = "ours; that some L(ε) exists is Theorem 5.2",
       .statement =
           "In the runs below, the smallest L whose trained risk is within ε of the limit is asymptotically "
           "a constant over ε, for Σ = I without noise 47.89/ε in five dimensions. C is the least constant "
           "on the valley of minima of the limit; that training ends there is seen, and not proved.",
       .formula =
           R"(L(\varepsilon)\sim \frac{C_d}{\varepsilon},\qquad C_d = \min_{0<t<1/2}\ \tfrac d2\,(1-2t)^{-d/2-1}\,\frac{1-t}{t})",
       .control = {"C is the constant of linear attention.", "L(ε) is to be enough for 0.99 ε."},
       .compute = threshold_claim},
      {.id = "risk-ratio",
       .title = "Trained softmax beside the best linear attention",
       .source = "ours",
       .statement =
           "For Σ = I without noise in five dimensions a trained softmax head has a larger risk than the "
           "best linear head, at each length below. If training ends at the best point of the valley, which "
           "is seen and not proved, their ratio tends to 3.19 for long prompts (C as in L(ε)).",
       .formula =
           R"(\frac{R_L^{\mathrm{softmax}}}{R_L^{\mathrm{linear}}} \longrightarrow \frac{2\,C_d}{d(d+1)})",
       .control = {"The linear head is that of prompts twice as long.", "The ratio is upside down."},
       .compute = risk_ratio_claim},
      {.id = "random-lengths",
       .title = "Prompts of random length, and lengths not trained on",
       .source = "ours",
       .statement = "The risk over prompts whose length has a law π is that of one length with the "
                    "statistics of the softmax averaged over π, so it has a gradient flow like any other. In "
                    "the runs below, training at a length ends no worse there than training elsewhere.",
       .formula = R"(R_\pi=\sum_L \pi_L R_L,\qquad p_\pi(s)=\sum_L \pi_L\,p(s,L))",
       .control = {"The risk of the law is that of its mean length.",
                   "The law has one length, and heads trained at a length are those trained at L = 8."},
       .compute = random_lengths_claim},
      {.id = "slow-limit",
       .title = "Off the invariant set two heads approach their limit more and more slowly",
       .source = "ours",
       .statement =
           "Where scores depend on labels, U₂₁ ≠ 0, the difference of the risk of L tokens from its limit "
           "falls with an exponent that becomes smaller and smaller as L grows, for the heads below. A "
           "heuristic says why: pairs of a large task and a large query, whose scores are as large as their "
           "product, carry the difference, which is about exp(−c √(ln L)); that falls more slowly than "
           "every power of L. Training from the paper's start keeps U₂₁ = 0, and is not concerned.",
       .formula =
           R"(R_L-R_\infty=\tfrac12\,\mathbb E\big[c^2(F-1)+\kappa\,p+2\,c\,y\,p\big],\qquad |R_L-R_\infty|\approx e^{-c\sqrt{\ln L}}\;\text{(heuristic)})",
       .control = {"The plain rules have a head whose U₂₁ is 1 % larger.", "Lengths are taken downwards."},
       .compute = slow_limit_claim},
      {.id = "single-location",
       .title = "A needle is found above √(2 ln L)",
       .source = "ours; the task is that of Marion et al. (2024)",
       .statement =
           "One token of L, the needle, is N(m k*, γ² I), the others are N(0, I), and the target is the "
           "needle's coordinate along v*, where k* and v* are orthogonal unit vectors. The risk of "
           "every softmax head is known exactly. For γ = 1 the head u = m k*, v = v* is the Bayes "
           "predictor (docs/single-location.md), and gradient flow from a small start ends there at the "
           "lengths computed. A heuristic, which numbers at 10³⁰⁰ tokens agree with, says that as L "
           "grows needles of a signal m below √(2 ln L) are lost, and those above are found. Below, q "
           "is the weight of the needle, and τ² the variance of the label noise.",
       .formula =
           R"(R_L(a k^*, b v^*) = \tfrac12\Big[\gamma^2\,\mathbb E(1-bq)^2 + b^2\,\mathbb E\sum_{i\ne\text{needle}}p_i^2 + \tau^2\Big],\qquad m_c = \sqrt{2\ln L})",
       .control = {"The critical signal is √(ln L).",
                   "The value vectors of the exact risks are 1.5 times too large.",
                   "The best head is u = 1.1 m k*."},
       .compute = single_location_claim},
      {.id = "real-heads",
       .title = "Heads of a real model",
       .source = "ours",
       .statement =
           "The tokens of a text are neither Gaussian nor independent. For the heads of a real model, the "
           "audit of largo computes from their queries q, keys k and values v how far attention is from the "
           "affine limit of Gaussian tokens, and how far L tokens drawn from the prompt are from the whole "
           "prompt. Normal scores of the measured mean and spread, beside the sinks found, predict P₂ "
           "within a factor of 2 for most heads here; the verdict asks for 60 %, a number of our choice.",
       .formula =
           R"(T(q)=\sum_jp_jv_j,\quad p_j\propto e^{\langle u,k_j\rangle},\quad u=q/\sqrt{d_k},\qquad \tilde T(q)=\bar v+\operatorname{Cov}(v,k)\,u)",
       .control = {"The audit has scores that are larger by 1 %.",
                   "The predicted P₂ is that of normal scores of twice the spread.",
                   "The prompts are drawn by the weights of their tokens."},
       .compute = real_heads_claim},
      {.id = kPublishedClaim,
       .title = "The published experiment",
       .source = "ours, on the experiment of the paper",
       .statement =
           "From the start used here, stochastic training at L = 50 (in a full run, at all lengths) "
           "ends at the risk at which gradient flow on the averaged risk ends, plus an excess of the predicted "
           "size, for softmax and for linear attention. Except in a quick run, the risks of both flows "
           "also fall with L, and the data are also those of the paper's code, Σ² for "
           "prompts and I for queries; the data of the paper are Σᵢⱼ = 0.5^{|i−j|} for both.",
       .formula = R"(\dot\theta = -\nabla R_L(\theta),\qquad \theta=(K,Q,V,o),\;U=K^\top Q,\;v=V^\top o)",
       .control = {"Descents are compared with the flow of prompts twice as long.",
                   "The risks at L = 50 and L = 100 are exchanged."},
       .compute = published_claim},
      {.id = "other-covariates",
       .title = "Covariates that are not Gaussian",
       .source = "Theorem 4.3, for other laws; the rate is ours",
       .statement = "With covariates that are not Gaussian, training on prompts of L tokens "
                    "approaches training on the infinite prompt of their law as L grows. The "
                    "risk on fresh prompts is above that of the infinite prompt by an excess "
                    "that falls with an exponent near one; the verdict rules out 1/√L, and "
                    "nothing finer. The theorem is about gradient flow, and this is stochastic descent. "
                    "Only a finite horizon is tested; whether these limit flows stay bounded, as "
                    "the theorem asks for later times, was not checked.",
       .formula =
           R"(\sup_{t\le T}\|\theta_L(t)-\theta_\infty(t)\| \to 0,\qquad R_L(\theta_L(T))-R_\infty(\theta_\infty(T)) \approx C/L)",
       .control = "The infinite prompt has Gaussian covariates of the same covariance.",
       .compute = other_covariates_claim},
      {.id = "other-losses",
       .title = "Other losses, tasks and noise",
       .source = "Theorem 4.3, for other tasks and losses",
       .statement = "Training on prompts of L tokens comes closer to training on the infinite "
                    "prompt as L grows for other laws of the tasks and other smooth losses as "
                    "well, in the parameters and in the risk on fresh prompts: for "
                    "classification with the logistic loss, and for two more problems. The "
                    "verdict says only that less than half of the excess and of the distance is "
                    "left. The theorem is about gradient flow, and this is stochastic "
                    "descent. Only a finite horizon is tested; whether the limit flows stay "
                    "bounded was not checked. (The slope of Huber's loss is Lipschitz, but "
                    "not differentiable.)",
       .formula =
           R"(R_L(\theta)=\mathbb E\,\ell\big(T^{\theta}[\hat\mu_L](z_q),\,y_q\big),\qquad \sup_{t\le T}\|\theta_L(t)-\theta_\infty(t)\| \to 0)",
       .control = "The infinite prompt trains on the squared loss.",
       .compute = other_losses_claim},
  });
  // clang-format on
  return kClaims;
}

report::ReportSection decided(report::ReportSection claim, const std::vector<Condition>& conditions) {
  const auto add = [&](const std::string& reason, const std::string& what, bool holds) {
    claim.reason += (claim.reason.empty() ? "" : "; ") + reason;
    claim.conditions.push_back({what, holds});
  };
  for (const Condition& one : conditions)
    add(one.holds ? one.when_it_holds : one.when_it_fails, one.when_it_holds, one.holds);
  for (const report::ReportNumber& number : claim.numbers) {
    if (!number.limit) continue;
    add(fmt::format("{}: {} (tolerance {})", number.label, report::shown(number.value),
                    report::shown(*number.limit)),
        number.label, number.value <= *number.limit);
  }
  const bool holds = std::all_of(claim.conditions.begin(), claim.conditions.end(),
                                 [](const report::ReportCondition& one) { return one.holds; });
  claim.verdict = holds ? report::Verdict::holds : report::Verdict::fails;
  return claim;
}

std::vector<double> log_spaced(double first, double last, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(first * std::pow(last / first, i / (count - 1.0)));
  return values;
}

std::vector<double> log_spaced_lengths(double first, double last, int count) {
  std::vector<double> lengths;
  for (const double L : log_spaced(first, last, count)) {
    lengths.push_back(std::round(std::strtod(fmt::format("{:.1e}", L).c_str(), nullptr)));
  }
  return lengths;
}

}  // namespace largo::claims
