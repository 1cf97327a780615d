// The exact output error of softmax attention over L i.i.d. tokens, for every law with a known score law.
//
// The weights are e^{u_i}/Σ_j e^{u_j} with scores u_i = <a, z_i>, a = Uz. With 1/Σ² = ∫_0^∞ t e^{-tΣ} dt the
// tokens become independent under the integral. With x = V z' - T[μ](z), centred at the limit, and
// Φ_k[h](t) = E[h e^{ku} e^{-t e^u}], φ_0 = Φ_0[1],
//
//   E‖T[μ̂_L] - T[μ]‖² = ∫_0^∞ t { L Φ_2[‖x‖²] φ_0^{L-1} + L(L-1) ‖Φ_1[x]‖² φ_0^{L-2} } dt
//   E T[μ̂_L] - T[μ]   = ∫_0^∞ L Φ_1[x] φ_0^{L-1} dt.
//
// Both terms of the first integral are positive, so nothing cancels, and the relative accuracy does not fall
// with L. Tokens that are planted beside the L, with S_0 = Σ e^{u_j} and X_0 = Σ e^{u_j} x_j over them,
// change this into
//
//   ∫_0^∞ t e^{-t S_0} { ‖X_0‖² φ_0^L + 2L <X_0, Φ_1[x]> φ_0^{L-1} + the terms above } dt,
//   ∫_0^∞ e^{-t S_0} { X_0 φ_0^L + L Φ_1[x] φ_0^{L-1} } dt.
//
// The integrals are computed by the trapezoidal rule in y = ln t; its error is e^{-π²/h} for step h,
// because the integrand is analytic for |Im y| < π/2. The Φ_k are computed by the nodes of
// score_law_nodes.hpp, the same for every t.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "largo/measures/measure.hpp"
#include "largo/numerics/estimate.hpp"

namespace largo {

struct OutputError {
  double mse = 0;    ///< E‖T[μ̂_L](z) - T[μ](z)‖²
  Vector bias;       ///< E T[μ̂_L](z) - T[μ](z)
  double error = 0;  ///< estimate of the absolute error of mse
};

inline constexpr double kLargestLength = 1e300;
/// The largest standard deviation of the score within a component. For bounded shapes it limits half-width /
/// √order, which is the same unless the density falls off to one side.
inline constexpr double kLargestScoreDeviation = 30;
/// The largest distance between the scores that matter.
inline constexpr double kLargestScoreRange = 1e4;
/// The largest |rate| of a bounded shape: a density that falls off within a smaller share of its range would
/// be lost between the nodes. Rounding grows with it, as 2e-16 |rate|, relative; this is part of `error`.
inline constexpr double kSteepestScore = 1e6;

/// The largest standard deviation of the score within a component, and the largest distance of a planted
/// score from the others, if tokens are planted. Beside a sink with nearly all of the weight, the error comes
/// from tokens that are rarer the larger the deviation is, and beside a needle of low score with a large
/// value, from prompts that are; beyond this limit they are out of the range of float64.
inline constexpr double kLargestDeviationBesidePlanted = 14;
inline constexpr double kFarthestPlantedScore = 1e4;

/// A planted token as one query sees it: `count` copies of a score u and a value V z'.
struct PlantedValue {
  double score = 0;
  Vector value;
  double count = 1;
};

/// Says which of these limits the law exceeds, in words, or returns nothing.
std::optional<std::string> beyond_limits(const ScoreLaw& law, std::span<const PlantedValue> planted = {});

/// The output error over prompts of `length` tokens of the law, for values V (o x d) and a direction a = Uz.
/// Domain: real length in [1, kLargestLength], or infinity (then 0); between integers, the analytic
/// continuation of the formula. InputError beyond the limits above, or for a law without a score law. Error:
/// about 1e-14 relative, 1e-13 at the limits; that of the bias is relative to √mse. `error` comes from a
/// comparison with both steps doubled: the rules converge geometrically, so the square of their relative
/// difference is the error of the finer one; ten times that is reported, plus rounding and
/// ScoreLaw::relative_error. Cost: 100 to 400 values of y times the number of nodes, a few ns each: 0.3 ms
/// for a Gaussian score of deviation 1, 1 to 3 ms at 3, 40 to 130 ms at 30. Gaussian components around one
/// centre share their nodes.
OutputError score_law_error(const Measure& law, const ConstMatrixRef& value_map,
                            const ConstVectorRef& direction, double length);

/// The same for a score law that is already known, for use at many lengths, and for prompts of `length`
/// tokens of the law beside planted ones. These count neither in `length` nor in T[μ], from which the error
/// is measured. Where values cancel, those of planted tokens, of the crowd and of the limit, `error` is
/// relative to what cancels.
OutputError score_law_error(const ScoreLaw& law, const ConstMatrixRef& value_map, double length,
                            std::span<const PlantedValue> planted = {});

/// E‖V(C_p - cov(ν_a))‖_F² over prompts of `length` tokens, where C_p is the covariance of the tokens under
/// the softmax weights and ν_a the tilted law: the squared error of the gradient in U at a query z is ‖z‖²
/// times that. It is an integral like those above, with up to four tokens under it (docs/moments.md). Empty
/// if the law of a token given its score is not known to fourth order (ScoreLaw::has_fourth_moments), if it
/// takes more than 2^21 numbers to write down, or if a fourth power overflows. Domain: as above. Error: as
/// above, but relative to the summands, which cancel where xxᵀ hardly differs from its mean (two tokens of
/// equal weight), where one token has all the weight, and where the result is of the order 1/L². Cost: 2 to 5
/// times that of the output error for few components; a second where there are 2^20 numbers.
std::optional<Estimate> score_law_covariance_error(const ScoreLaw& law, const ConstMatrixRef& value_map,
                                                   double length);

}  // namespace largo
