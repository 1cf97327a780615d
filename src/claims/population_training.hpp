// Training on the population risk of any in-context problem: descents whose prompts are all fresh, at some
// lengths and on the infinite prompt, and the risk of what they find on prompts that no descent has seen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "claims/claims.hpp"
#include "claims/plain_mean.hpp"
#include "largo/icl/in_context_problem.hpp"
#include "largo/training/stochastic_descent.hpp"

namespace largo::claims {

struct PopulationProblem {
  std::string name;
  InContextProblem problem;
  InContextProblem of_limit;  ///< what the infinite prompt trains on: the same, but in negative controls
};

/// Standard errors to either side of a mean over four seeds that cover the truth in 95 % of cases: Student's
/// t with three degrees of freedom, for normal numbers.
inline constexpr double kSeedErrors = 3.182;
inline constexpr std::int64_t kSeeds = 4;

struct PopulationPlan {
  std::vector<double> lengths = {};  ///< ascending
  std::int64_t seeds = kSeeds;
  std::int64_t steps = 300, batch = 256;
  double step_size = 0.02;
  std::int64_t tests = 4096;  ///< fresh prompts for the risk, other ones for each seed
};

struct PopulationRow {
  double L = 0;
  PlainMean excess;    ///< R_L after training at L, less R_∞ after training on the infinite prompt
  PlainMean distance;  ///< largest distance of the parameters at the records of both descents
};

struct PopulationResult {
  std::vector<PopulationRow> rows;  ///< in the order of the lengths
  double limit_risk = 0;            ///< R_∞ after training on the infinite prompt
  /// The exponent of the excess risk between the shortest and the longest length, over the seeds; an error of
  /// ∞ if an excess is not positive.
  PlainMean exponent;
  /// Risks at the records, for each length and then the infinite prompt, if `along` was asked for.
  std::vector<Curve> along;
};

enum class RisksAlong : std::uint8_t { no, yes };

/// Descents from A = 0.8 I/√d, b = 0.8 (V = (0, b I) for several outputs), in (A, b) if there is one output.
/// Draws are those of the options' seed and the seeds that follow.
PopulationResult train_on_population(const PopulationProblem& problem, const PopulationPlan& plan,
                                     RisksAlong along, const ClaimOptions& options);

/// The share of the first row that is left in the last, at most: with kSeedErrors standard errors of each on
/// the side that makes it larger. Infinite if the first may be zero.
double largest_share_left(const PlainMean& first, const PlainMean& last);

}  // namespace largo::claims
