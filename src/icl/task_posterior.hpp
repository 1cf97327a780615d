// The posterior of the task of a regression with one output, given a prompt (bayes_risk.hpp).
//
// It is sampled by importance sampling with a mixture of multivariate t's. The mixture starts at the
// posteriors that Gaussians would have, one for each part of the prior and each size of the noise, and at
// robust fits where a few tokens may have far more noise than the others. It is then fitted to weighted
// samples again and again (O. Cappé, R. Douc, A. Guillin, J.-M. Marin and C. P. Robert, Adaptive importance
// sampling in general mixture classes, 2008). The weights of the first fits are raised to a power that leaves
// a fifth of the samples effective.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "largo/icl/law_regression.hpp"
#include "largo/runtime/execution.hpp"
#include "measures/density.hpp"

namespace largo::icl {

class TaskPosterior {
 public:
  /// None unless there is one output, and prior and noise have densities (or the prior finitely many points).
  static std::optional<TaskPosterior> of(const RegressionLaws& laws);

  /// Whether the prior has finitely many points: its posterior is then exact.
  bool is_finite() const { return points_.has_value(); }

  struct Samples {
    Matrix tasks;          ///< d x n
    Vector weights;        ///< they sum to one
    double effective = 0;  ///< number of samples of equal weight that are worth as much; zero if all fell
                           ///< outside the support, and the weights are a makeshift
  };
  /// Tokens are rows (x, y). Throws Stopped.
  Samples sample(const Matrix& tokens, const Stream& stream, const Execution& execution) const;

 private:
  /// A part of the noise, as if it were Gaussian.
  struct NoisePart {
    double log_weight = 0, mean = 0, variance = 0;
  };
  class Mixture;
  struct Component;

  explicit TaskPosterior(measures::ScalarDensity noise) : noise_(std::move(noise)) {}
  Vector log_likelihoods(const Matrix& tokens, const Matrix& tasks, measures::Edges edges,
                         const Execution& execution) const;
  Component gaussian(const measures::LawDensity::Moments& prior, const Matrix& tokens, const Vector& means,
                     const Vector& deviations) const;
  Component same_noise(const measures::LawDensity::Moments& prior, const Matrix& tokens,
                       const NoisePart& noise) const;
  Component robust(const measures::LawDensity::Moments& prior, const Matrix& tokens, Component start) const;
  std::vector<Component> guesses(const Matrix& tokens, const Stream& stream) const;

  std::optional<measures::LawDensity> prior_;
  std::optional<measures::FinitePoints> points_;  // instead of a density
  measures::ScalarDensity noise_;
  std::vector<double> scales_, log_scale_probabilities_;  // of the factor of the noise
  measures::LawDensity::Moments prior_moments_;
  NoisePart whole_noise_;
  std::vector<NoisePart> noise_by_scale_;  // one for each scale
  std::vector<NoisePart> noise_parts_;     // one for each piece of the density and each scale
};

}  // namespace largo::icl
