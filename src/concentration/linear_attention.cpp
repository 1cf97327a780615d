#include "largo/concentration/linear_attention.hpp"

#include <algorithm>
#include <cmath>

#include "concentration/shortest_length.hpp"
#include "largo/concentration/exact_errors.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/runtime/check.hpp"
#include "runtime/distribute.hpp"

namespace largo {
namespace {

constexpr const char* kLengthForTolerance = "length_for_tolerance";

const GaussianMeasure& gaussian_tokens(const char* function, const AttentionLayer& layer) {
  check_law_alone(function, layer);
  const auto* gaussian = dynamic_cast<const GaussianMeasure*>(layer.tokens.get());
  if (gaussian == nullptr) {
    fail(function,
         "exact for Gaussian tokens only; over other tokens softmax and linear attention have different "
         "limits");
  }
  return *gaussian;
}

}  // namespace

double linear_attention_error(const AttentionLayer& layer, double L, double sigma) {
  const GaussianMeasure& tokens = gaussian_tokens("linear_attention_error", layer);
  if (!(L >= 1)) fail("linear_attention_error", "L", L, "at least 1");
  const Matrix Gamma = tokens.covariance();
  const Vector Vm = layer.V * tokens.mean();
  const Matrix VGamma = layer.V * Gamma;
  const double t = (VGamma * layer.V.transpose()).trace();
  // Everything is a quadratic form in the query, so averages need only its second moment.
  const Matrix A = layer.U * second_moment(layer.queries) * layer.U.transpose();
  const Vector Am = A * tokens.mean();
  const double sum = (t + Vm.squaredNorm()) * (Gamma * A).trace() +
                     (VGamma * A * VGamma.transpose()).trace() + t * tokens.mean().dot(Am) +
                     2 * Vm.dot(VGamma * Am);
  return std::pow(sigma, 4) * sum / L;
}

double softmax_linear_distance(const AttentionLayer& layer, double L) {
  constexpr const char* kSoftmaxLinearDistance = "softmax_linear_distance";
  const GaussianMeasure& tokens = gaussian_tokens(kSoftmaxLinearDistance, layer);
  const auto* const query = std::get_if<Vector>(&layer.queries);
  if (query == nullptr) fail(kSoftmaxLinearDistance, "known at one query; give a query instead of a law");
  check_prompt_length(kSoftmaxLinearDistance, L);
  const Matrix Gamma = tokens.covariance();
  const Vector a = layer.U * *query, Vm = layer.V * tokens.mean(), VGamma_a = layer.V * (Gamma * a);
  const double alpha = tokens.mean().dot(a), limits = (1 - alpha) * (1 - alpha) * Vm.squaredNorm();
  if (L == kInfinitePrompt) return limits;
  const double variance = std::max(0.0, a.dot(Gamma * a)), along = Vm.dot(VGamma_a);
  const double t = (layer.V * Gamma * layer.V.transpose()).trace();
  const auto centred = std::make_shared<GaussianMeasure>(Vector::Zero(tokens.dimension()), Gamma);
  const double D = ExactErrors({centred, layer.U, layer.V, layer.queries})(L).softmax_linear->value;
  const double p = softmax_moments(std::sqrt(variance), L).P2.value;
  return limits + D - 2 * p * (1 - alpha) * along +
         (variance * Vm.squaredNorm() + alpha * (alpha - 2) * t - 2 * (1 - alpha) * along) / L;
}

void check_tolerance(const AttentionLayer& layer, double tolerance) {
  check_positive(kLengthForTolerance, "tolerance", tolerance);
  const GaussianMeasure& tokens = gaussian_tokens(kLengthForTolerance, layer);
  if (!tokens.mean().isZero(0)) {
    fail(kLengthForTolerance,
         "tokens with a mean: softmax and linear attention have different limits, so that no prompt is long "
         "enough");
  }
  if (const auto missing = missing_formula(layer)) fail(kLengthForTolerance, *missing);
}

std::optional<ToleratedLength> length_for_tolerance(const AttentionLayer& layer, double tolerance,
                                                    double sigma, const Execution& execution) {
  check_tolerance(layer, tolerance);
  const ExactErrors errors(layer);
  const auto difference = [&](double L) {
    runtime::check_stop(execution);
    return errors(L, sigma, execution).softmax_linear->value;
  };
  const auto L = concentration::shortest_length(tolerance, difference);
  if (!L) return std::nullopt;
  return ToleratedLength{*L, difference(*L)};
}

std::vector<std::optional<ToleratedLength>> lengths_for_tolerance(const AttentionLayer& layer,
                                                                  double tolerance,
                                                                  std::span<const double> sigmas,
                                                                  const Execution& execution) {
  check_tolerance(layer, tolerance);
  constexpr std::size_t kNumbers = 2;  // L (zero: none) and the value
  const runtime::AlignedVector<double> found = runtime::distribute_rows(
      std::ssize(sigmas), kNumbers, execution, [&](std::ptrdiff_t i, std::span<double> row) {
        const auto length =
            length_for_tolerance(layer, tolerance, sigmas[static_cast<std::size_t>(i)], execution);
        if (length) row[0] = length->L, row[1] = length->value;
      });
  std::vector<std::optional<ToleratedLength>> lengths(sigmas.size());
  for (std::size_t i = 0; i < sigmas.size(); ++i) {
    const double* const row = found.data() + i * kNumbers;
    if (row[0] > 0) lengths[i] = ToleratedLength{row[0], row[1]};
  }
  return lengths;
}

}  // namespace largo
