// A Gaussian crowd is one more class of tokens (class_moments.cpp). Any other law has its nodes
// (crowd_lattice.hpp).
#include "largo/exact/crowded_prompt.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "exact/class_node.hpp"
#include "exact/crowd_lattice.hpp"
#include "largo/exact/score_law_error.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

constexpr auto kFunction = "crowd_weights";

exact::AllWeights by_classes(std::vector<TokenClass> classes) {
  const ClassMoments found = class_moments(classes);
  return {found.weights, found.P2, found.entropy, found.log_partition};
}

// The scores at some β, with the needle last among what is planted.
struct ScaledScores {
  ScoreLaw law;
  std::vector<TokenClass> planted;

  ScaledScores(const CrowdedPrompt& prompt, double beta)
      : law(prompt.crowd->score_law(beta * prompt.direction)), planted(prompt.planted) {
    if (prompt.needle) planted.push_back(*prompt.needle);
    for (TokenClass& one : planted) {
      one.shift *= beta;
      one.spread *= beta;
    }
  }

  // Whether the crowd is one more class of tokens: a single Gaussian, or a single score.
  bool is_class() const {
    return law.components.size() == 1 && law.components[0].shape != ScoreShape::bounded;
  }

  std::optional<std::string> beyond_limits() const {
    const auto above = [](const char* what, double value, double limit) -> std::optional<std::string> {
      if (value <= limit) return std::nullopt;
      return fmt::format("{} is {:.6g}, must be at most {:.6g}", what, value, limit);
    };
    std::optional<std::string> found;
    const double reference = is_class() ? 0 : exact::reference_score(law);
    if (!is_class()) {
      found = largo::beyond_limits(law);
    } else {
      found = above("mean score of the crowd, in size,", std::abs(law.components[0].centre), kLargestShift);
      if (!found)
        found = above("standard deviation of the scores", law.components[0].scale, kLargestScoreSpread);
    }
    for (const TokenClass& one : planted) {
      if (found) break;
      found = above(is_class() ? "score of a planted token, in size,"
                               : "distance of a planted token's score from those of the crowd",
                    std::abs(one.shift - reference), is_class() ? kLargestShift : kLargestScoreRange);
      if (!found)
        found = above("standard deviation of a planted token's score", one.spread,
                      is_class() ? kLargestScoreSpread : kLargestScoreDeviation);
    }
    return found;
  }
};

void check_prompt(const CrowdedPrompt& prompt, double beta) {
  if (!prompt.crowd) fail(kFunction, "the prompt has no crowd");
  if (!(beta >= 0 && std::isfinite(beta))) fail(kFunction, "beta", beta, "finite and not negative");
  std::vector<TokenClass> all = prompt.planted;
  if (prompt.needle) all.push_back(*prompt.needle);
  if (all.size() + 1 > kMostClasses)
    fail(kFunction, "number of planted classes", static_cast<double>(all.size()), "at most 63");
  if (!all.empty()) exact::check_classes(kFunction, all);
}

void check_length(double L) {
  if (!(L >= 1 && L <= kLargestL)) fail(kFunction, "L", L, "between 1 and 1e300");
}

}  // namespace

double CrowdedPrompt::score_size() const {
  double size = 0;
  for (const ScoreComponent& one : crowd->score_law(direction).components)
    size = std::max({size, std::abs(one.centre), one.scale});
  const auto add = [&](const TokenClass& one) { size = std::max({size, std::abs(one.shift), one.spread}); };
  if (needle) add(*needle);
  for (const TokenClass& one : planted) add(one);
  return size;
}

CrowdedPrompt normal_crowd(double s) {
  check_positive("normal_crowd", "s", s);
  return {.crowd = std::make_shared<GaussianMeasure>(Vector::Zero(1), Matrix::Identity(1, 1)),
          .direction = Vector::Constant(1, s)};
}

std::optional<std::string> beyond_limits(const CrowdedPrompt& prompt, double beta) {
  check_prompt(prompt, beta);
  return ScaledScores(prompt, beta).beyond_limits();
}

CrowdWeights crowd_weights(const CrowdedPrompt& prompt, double L, double beta) {
  check_prompt(prompt, beta);
  check_length(L);
  ScaledScores scores(prompt, beta);
  if (const auto beyond = scores.beyond_limits())
    fail(kFunction, fmt::format("at beta = {:g} the {}", beta, *beyond));
  exact::AllWeights found;
  if (scores.is_class()) {
    const ScoreComponent& crowd = scores.law.components[0];
    scores.planted.push_back({L, crowd.centre, crowd.scale});
    found = by_classes(std::move(scores.planted));
  } else {
    found = exact::crowd_by_nodes(scores.law, std::move(scores.planted), L);
  }
  CrowdWeights weights;
  weights.crowd = found.weights.back();
  found.weights.pop_back();
  if (prompt.needle) {
    weights.needle = found.weights.back();
    found.weights.pop_back();
  }
  weights.planted = std::move(found.weights);
  weights.P2 = found.P2;
  weights.effective_tokens = {1 / found.P2.value, found.P2.error / found.P2.value / found.P2.value};
  weights.entropy = found.entropy;
  weights.log_partition = found.log_partition;
  return weights;
}

Estimate crowd_output_error(const CrowdedPrompt& prompt, const ConstMatrixRef& value_map, double L,
                            double beta) {
  check_prompt(prompt, beta);
  check_length(L);
  const ScoreLaw law = prompt.crowd->score_law(beta * prompt.direction);
  const ScoreComponent& one = law.components[0];
  if (law.components.size() > 1 || one.shape != ScoreShape::gaussian) {
    const OutputError found = score_law_error(law, value_map, L);
    return {found.mse, found.error};
  }
  // A single Gaussian may have any spread.
  check_size("crowd_output_error", "columns of the value map", value_map.cols(), one.mean.size());
  const SoftmaxMoments m = softmax_moments(one.scale, L);
  const double along = (value_map * one.slope).squaredNorm();
  double across = 0;
  if (one.covariance >= 0) {
    const Matrix& C = law.covariances[static_cast<std::size_t>(one.covariance)];
    across = one.constant_part * (value_map * C).cwiseProduct(value_map).sum();
  }
  return {along * m.mse.value + across * m.P2.value, along * m.mse.error + across * m.P2.error};
}

}  // namespace largo
