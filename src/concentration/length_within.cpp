#include "largo/concentration/length_within.hpp"

#include <cmath>
#include <functional>

#include "concentration/shortest_length.hpp"
#include "largo/concentration/exact_errors.hpp"
#include "largo/concentration/factored_gradients.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

constexpr const char* kLengthsWithin = "lengths_within";

// E‖T[μ](z)‖² and the same of its gradients, for tokens `sigma` times those of the law.
struct LimitSquares {
  double output = 0, gradient_V = 0, gradient_U = 0, gradient_K = 0, gradient_Q = 0;

  // A share of the queries, at which the tilted law has this mean and covariance: `rows` has E zzᵀ over them.
  void add(double weight, const MergedWeights& merged, const std::optional<FactoredWeights>& factors,
           double mean_square, double valued_square, const Matrix& covariance, const Matrix& queries) {
    const Matrix VC = merged.V * covariance;
    output += weight * valued_square;
    gradient_V += weight * static_cast<double>(merged.V.rows()) * mean_square;
    gradient_U += weight * queries.trace() * VC.squaredNorm();
    if (!factors) return;
    gradient_K += weight * (factors->Q * queries * factors->Q.transpose()).trace() * VC.squaredNorm();
    gradient_Q += weight * queries.trace() * (VC * factors->K.transpose()).squaredNorm();
  }
};

LimitSquares limit_squares(const AttentionLayer& layer, const std::optional<FactoredWeights>& factors,
                           double sigma) {
  const MergedWeights merged{layer.U, layer.V};
  const double square = sigma * sigma;
  LimitSquares squares;
  const FiniteQueries finite = finite_queries(layer.queries);
  for (Eigen::Index i = 0; i < finite.rows.rows(); ++i) {
    const Vector z = finite.rows.row(i).transpose();
    const Tilt tilt = layer.tokens->tilt(sigma * (layer.U * z));
    squares.add(finite.probabilities[i], merged, factors, square * tilt.mean.squaredNorm(),
                square * (layer.V * tilt.mean).squaredNorm(), square * tilt.covariance, z * z.transpose());
  }
  if (finite.rows.rows() > 0) return squares;
  // Gaussian tokens: the tilted mean is m + ΓUz, and its square needs two moments of z alone.
  const Matrix moment = second_moment(layer.queries), Gamma = square * layer.tokens->covariance();
  const Vector m = sigma * layer.tokens->mean(),
               along = Gamma * (layer.U * std::get<MeasurePtr>(layer.queries)->mean());
  const Matrix spread = Gamma * layer.U * moment * layer.U.transpose() * Gamma;
  const Vector Vm = layer.V * m;
  squares.add(
      1, merged, factors, m.squaredNorm() + 2 * m.dot(along) + spread.trace(),
      Vm.squaredNorm() + 2 * Vm.dot(layer.V * along) + (layer.V * spread * layer.V.transpose()).trace(),
      Gamma, moment);
  return squares;
}

using ErrorAt = std::function<std::optional<Estimate>(double L)>;

LengthWithin length_of(const char* name, double limit_square, double share, const ErrorAt& error) {
  LengthWithin found{.name = name, .limit_square = limit_square, .L = {}, .missing = {}};
  if (!(limit_square > 0)) {
    found.missing = "the limit is zero";
  } else if (!error(2)) {
    found.missing = "its error has no exact formula here";
  } else {
    const auto value = [&](double L) { return error(L)->value; };
    found.L = concentration::shortest_length(share * share * limit_square, value);
    if (found.L) found.relative = std::sqrt(value(*found.L) / limit_square);
    if (!found.L) found.missing = "it takes more than 1e300 tokens";
  }
  return found;
}

}  // namespace

void check_within(const AttentionLayer& layer, double share) {
  check_positive(kLengthsWithin, "share", share);
  if (!layer.planted.empty()) {
    fail(kLengthsWithin, "beside planted tokens errors need not fall with L: leave these out");
  }
  if (const auto missing = missing_formula(layer)) fail(kLengthsWithin, *missing);
}

std::vector<LengthWithin> lengths_within(const AttentionLayer& layer,
                                         const std::optional<FactoredWeights>& factors, double share,
                                         double sigma, const Execution& execution) {
  check_within(layer, share);
  const LimitSquares limit = limit_squares(layer, factors, sigma);
  const ExactErrors plain(layer);
  const auto of_layer = [&](const auto& part) -> ErrorAt {
    return [&, part](double L) { return part(plain(L, sigma, execution)); };
  };
  using Errors = const LayerErrors&;
  std::vector<LengthWithin> lengths = {
      length_of("output", limit.output, share, of_layer([](Errors e) { return std::optional(e.output); })),
      length_of("gradient_V", limit.gradient_V, share,
                of_layer([](Errors e) { return std::optional(e.gradient_V); })),
      length_of("gradient_U", limit.gradient_U, share, of_layer([](Errors e) { return e.gradient_U; }))};
  if (!factors) return lengths;
  const FactoredGradients gradients(layer.tokens, *factors, layer.queries);
  const auto of_factors = [&](std::optional<Estimate> FactoredErrors::*part) -> ErrorAt {
    return [&, part](double L) { return gradients(L, sigma, execution).*part; };
  };
  lengths.push_back(
      length_of("gradient_K", limit.gradient_K, share, of_factors(&FactoredErrors::gradient_K)));
  lengths.push_back(
      length_of("gradient_Q", limit.gradient_Q, share, of_factors(&FactoredErrors::gradient_Q)));
  return lengths;
}

}  // namespace largo
