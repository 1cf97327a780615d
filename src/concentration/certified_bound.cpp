#include "largo/concentration/certified_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "concentration/layer_average.hpp"
#include "concentration/tilted_moments.hpp"
#include "exact/softmax_bounds.hpp"
#include "largo/exact/query_average.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/sphere.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"
#include "runtime/distribute.hpp"

namespace largo {
namespace {

constexpr const char* kCertifiedBounds = "certified bounds";
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRoundingOfLambda = 4e-16;  // of a value of Λ, relative to its size
constexpr double kRounded = 1 + 1e-12;       // allows for rounding in sums, all of whose terms are positive

double square(double x) { return x * x; }

/// What the bounds at a query need to know of it, for a head of tokens z' and a = Uz. Moments are those of
/// x = z' − mean(ν_a) or of Vx; `tilted` ones are under ν_2a.
struct AtQuery {
  double log_rho = 0;
  double query_square = 0;  // |z|²
  double rows = 0;          // of V
  struct Values {
    double tilted_second = 0;  // E‖Vx‖²
    double fourth = 0;         // E‖Vx‖⁴, without a tilt
    double reach = kInfinity;  // ‖Vx‖ is at most this
  };
  Values values, tokens;         // with V, and with I in its place
  double covariance_norm = 0;    // ‖V cov(ν_a)‖
  double tilted_spread = 0;      // E‖V(xxᵀ − cov(ν_a))‖²
  double pairs = 0;              // tr(VMVᵀ) tr M + 2 tr(VM²Vᵀ) with M = E xxᵀ
  double log_fourth_weight = 0;  // log E w⁴
  double fourth_product = 0;     // E‖Vx‖²‖x‖² under ν_4a
  double eighth = 0;             // a bound on (E‖Vx‖⁸ E‖x‖⁸)^{1/2}, without a tilt
};

AtQuery::Values values_at(const Measure& law, const ConstMatrixRef& V, const Tilt& twice,
                          const Vector& centre, double fourth) {
  const double shift =
      (V * (twice.mean - centre)).norm() + concentration::rounding_of_shift(V, twice.mean, centre);
  AtQuery::Values values;
  values.tilted_second = (V * twice.covariance * V.transpose()).trace() + square(shift);
  values.fourth = fourth;
  values.reach = concentration::reach(law, V, centre).value_or(kInfinity);
  return values;
}

AtQuery at_query(const Measure& law, const Matrix& V, const Vector& a, double query_square) {
  const Eigen::Index d = law.dimension();
  const Matrix I = Matrix::Identity(d, d);
  const Vector zero = Vector::Zero(d);
  const Tilt none = law.tilt(zero), once = law.tilt(a), twice = law.tilt(2 * a), four = law.tilt(4 * a);
  const Vector& centre = once.mean;
  const auto moments = [&](const Vector& b, const Tilt& tilt, const Matrix& A) {
    return concentration::tilted_moments(law, b, tilt, A, centre);
  };
  const concentration::TiltedMoments plain_V = moments(zero, none, V), plain_I = moments(zero, none, I),
                                     twice_V = moments(2 * a, twice, V), twice_I = moments(2 * a, twice, I),
                                     four_V = moments(4 * a, four, V), four_I = moments(4 * a, four, I);
  AtQuery at;
  at.log_rho = std::max(0.0, twice.log_partition - 2 * once.log_partition) +
               kRoundingOfLambda * (std::abs(twice.log_partition) + 2 * std::abs(once.log_partition));
  at.log_fourth_weight =
      std::max(0.0, four.log_partition - 4 * once.log_partition) +
      kRoundingOfLambda * (std::abs(four.log_partition) + 4 * std::abs(once.log_partition));
  at.query_square = query_square;
  at.rows = static_cast<double>(V.rows());
  at.values = values_at(law, V, twice, centre, plain_V.fourth);
  at.tokens = values_at(law, I, twice, centre, plain_I.fourth);
  const Vector shift = twice.mean - centre;
  const double slip = concentration::rounding_of_shift(I, twice.mean, centre);
  const double doubt = 2 * shift.norm() * slip + square(slip);  // of M
  const Matrix M = twice.covariance + shift * shift.transpose() + doubt * I;
  const Matrix VC = V * once.covariance, VM = V * M;
  at.covariance_norm = VC.norm();
  at.tilted_spread = std::max(0.0, std::sqrt(twice_V.fourth * twice_I.fourth) -
                                       2 * VM.cwiseProduct(VC).sum() + VC.squaredNorm()) +
                     4 * doubt * V.norm() * VC.norm();
  at.pairs = (VM * V.transpose()).trace() * M.trace() + 2 * VM.squaredNorm();
  at.fourth_product = std::sqrt(four_V.fourth * four_I.fourth);
  at.eighth = std::sqrt(plain_V.eighth * plain_I.eighth);
  return at;
}

// The least of bound(δ) over 0 < δ < 1, for y = ρ/L: on a grid, and around what is best for E[P_2], which for
// long prompts is small.
template <typename Bound>
double least_over_delta(double log_y, const Bound& bound) {
  constexpr int kGrid = 50, kNear = 40;
  constexpr double kRatio = 1.05;
  double least = kInfinity;
  for (int i = 1; i < kGrid; ++i) least = std::min(least, bound(static_cast<double>(i) / kGrid));
  double delta = 0.7 * exact::weight_bound(log_y).delta;
  for (int i = 0; i < kNear && delta > 0 && delta < 1; ++i, delta *= kRatio)
    least = std::min(least, bound(delta));
  return least;
}

// R² e^{exponent}: no bound if R is infinite, however small the other factor
double within(double reach, double exponent) {
  return std::isinf(reach) ? kInfinity : square(reach) * std::exp(exponent);
}

// √(L m) e^{exponent}, without overflow where the product has none
double rare(double log_L, double moment, double exponent) {
  return moment == 0 ? 0 : std::exp(0.5 * (log_L + std::log(moment)) + exponent);
}

double output_bound(const AtQuery& at, const AtQuery::Values& values, double L) {
  const double log_L = std::log(L), log_y = at.log_rho - log_L;
  const double anyway = std::min(square(values.reach), rare(log_L, values.fourth, 0));
  if (log_y > 0) return anyway;
  const double y = std::exp(log_y);
  const double found = least_over_delta(log_y, [&](double delta) {
    const double exponent = -delta * delta / (2 * y);
    return y * values.tilted_second / square(1 - delta) +
           std::min(within(values.reach, exponent), rare(log_L, values.fourth, 0.5 * exponent));
  });
  return std::min(found, anyway);
}

// ‖V(C_p − C)‖ <= ‖Σ p V(xxᵀ − C)‖ + ‖Vx̄‖‖x̄‖, x̄ = Σ p x; and for rare prompts ‖VC_p‖ <= max‖Vx‖ max‖x‖.
double covariance_bound(const AtQuery& at, double L) {
  const double log_L = std::log(L), log_y = at.log_rho - log_L;
  const double product = at.values.reach == 0 ? 0 : at.values.reach * at.tokens.reach;
  const double bounded = product + at.covariance_norm;
  const auto rare_part = [&](double exponent) {
    return std::min(within(bounded, exponent), 2 * rare(log_L, at.eighth, 0.5 * exponent) +
                                                   2 * square(at.covariance_norm) * std::exp(exponent));
  };
  const double anyway = rare_part(0);
  if (log_y > 0) return anyway;
  const double y = std::exp(log_y);
  // E ‖VS‖²‖S‖² for S = (1/L) Σ w x
  const double fourth = std::exp(at.log_fourth_weight - 3 * log_L) * at.fourth_product + square(y) * at.pairs;
  const double found = least_over_delta(log_y, [&](double delta) {
    const double factor = 1 / square(1 - delta);
    const double mean_square =
        std::min(square(factor) * fourth, factor * y * at.values.tilted_second * square(at.tokens.reach));
    return square(std::sqrt(factor * y * at.tilted_spread) + std::sqrt(mean_square)) +
           rare_part(-delta * delta / (2 * y));
  });
  return std::min(found, anyway);
}

// NaN, from a product of infinity and zero, is no bound.
double known(double bound) { return std::isnan(bound) ? kInfinity : bound; }

bool is_bounded(const Measure& law) {
  return concentration::reach(law, Matrix::Identity(law.dimension(), law.dimension()), law.mean())
      .has_value();
}

}  // namespace

class CertifiedBounds::Rule {
 public:
  virtual ~Rule() = default;
  virtual CertifiedErrors operator()(double L, double sigma, const Execution& execution) const = 0;
};

// Gaussian tokens have bounds of their own, which the average over Gaussian queries and spheres needs.
class CertifiedBounds::GaussianTokens final : public Rule {
 public:
  explicit GaussianTokens(QueryAverage average) : average_(std::move(average)) {}
  CertifiedErrors operator()(double L, double sigma, const Execution& execution) const override {
    const AveragedBounds bounds = average_.bounds(L, sigma, execution);
    return {bounds.output, bounds.gradient_V, bounds.gradient_U};
  }

 private:
  QueryAverage average_;
};

// Any tokens, at finitely many queries.
class CertifiedBounds::AtQueries final : public Rule {
 public:
  explicit AtQueries(const AttentionLayer& layer)
      : tokens_(in_float64(layer.tokens)),
        unit_(unit_of(layer.V)),
        V_(layer.V / unit_),
        queries_(finite_queries(layer.queries)),
        directions_(layer.U * queries_.rows.transpose()) {}

  CertifiedErrors operator()(double L, double sigma, const Execution& execution) const override {
    const std::vector<AtQuery>& all = moments(sigma, execution);
    CertifiedErrors sum;
    const double second = sigma * sigma, values = square(unit_);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double weight = queries_.probabilities[static_cast<Eigen::Index>(i)];
      const AtQuery& at = all[i];
      sum.output += weight * second * (values * known(output_bound(at, at.values, L)));
      sum.gradient_V += weight * second * at.rows * known(output_bound(at, at.tokens, L));
      if (at.query_square > 0)
        sum.gradient_U +=
            weight * square(second) * at.query_square * (values * known(covariance_bound(at, L)));
    }
    return sum;
  }

 private:
  // Computed when first asked for, and kept: they do not depend on L.
  const std::vector<AtQuery>& moments(double sigma, const Execution& execution) const {
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = moments_.try_emplace(sigma);
    if (!is_new) return place->second;
    try {
      for (Eigen::Index i = 0; i < directions_.cols(); ++i) {
        runtime::check_stop(execution);
        place->second.push_back(
            at_query(*tokens_, V_, sigma * directions_.col(i), queries_.rows.row(i).squaredNorm()));
      }
    } catch (...) {
      moments_.erase(place);
      throw;
    }
    return place->second;
  }

  // A power of two of the size of V, whose fourth powers must not vanish.
  static double unit_of(const Matrix& V) {
    const double size = V.cwiseAbs().maxCoeff();
    return size > 0 ? std::scalbn(1.0, std::ilogb(size)) : 1;
  }
  // Prompts in float32 have tilts in float32, which are not accurate enough.
  static MeasurePtr in_float64(const MeasurePtr& tokens) {
    const auto* prompt = dynamic_cast<const EmpiricalMeasure*>(tokens.get());
    if (prompt == nullptr) return tokens;
    std::optional<Vector> weights;
    if (prompt->probabilities().size() > 0) weights = prompt->probabilities();
    return std::make_shared<EmpiricalMeasure>(prompt->tokens(), tokens, weights, Arithmetic::float64);
  }

  MeasurePtr tokens_;
  double unit_;
  Matrix V_;
  FiniteQueries queries_;
  Matrix directions_;
  mutable std::mutex mutex_;
  mutable std::map<double, std::vector<AtQuery>> moments_;  // a map, so that they stay where they are
};

// Bounded tokens under a law of queries. With D a bound on ‖V(z' − z'')‖ and D' on ‖z' − z''‖ over two
// tokens, the errors are at most D², rows D'² and 9 |z|² D² D'² times the bound on E[P_2] at ρ <=
// e^{2σ²|Uz|²}, as if the scores were those of Gaussian tokens of covariance 2σ² I.
class CertifiedBounds::BoundedTokens final : public Rule {
 public:
  BoundedTokens(const AttentionLayer& layer, QueryAverage weights)
      : weights_(std::move(weights)), rows_(static_cast<double>(layer.V.rows())) {
    const Eigen::Index d = layer.tokens->dimension();
    const Vector mean = layer.tokens->mean();
    values_ = 4 * square(concentration::reach(*layer.tokens, layer.V, mean).value());
    tokens_ = 4 * square(concentration::reach(*layer.tokens, Matrix::Identity(d, d), mean).value());
  }

  CertifiedErrors operator()(double L, double sigma, const Execution& execution) const override {
    const AveragedBounds weights = weights_.bounds(L, sigma, execution);
    const double second = sigma * sigma;
    return {second * values_ * weights.P2, second * rows_ * tokens_ * weights.P2,
            9 * square(second) * values_ * tokens_ * weights.P2_square};
  }

 private:
  QueryAverage weights_;
  double rows_, values_ = 0, tokens_ = 0;
};

namespace {

// One query as far out as any of the law's, in two measures: |Uz| and |z|. None if the law is not bounded.
std::optional<QueryAverage> farthest_query(double variance, const AttentionLayer& layer) {
  const Measure& law = *concentration::law_of(layer.queries);
  const Eigen::Index e = law.dimension();
  const Vector zero = Vector::Zero(e);
  const auto scores = concentration::reach(law, layer.U, zero);
  const auto size = concentration::reach(law, Matrix::Identity(e, e), zero);
  if (!scores || !size) return std::nullopt;
  // |z| in one coordinate, which scores of the largest spread see
  const Matrix U = Matrix::Constant(1, 1, *size > 0 ? *scores / *size : 0);
  return QueryAverage::over_rows(Matrix::Constant(1, 1, variance), U, Matrix::Identity(1, 1),
                                 Matrix::Constant(1, 1, *size), Vector::Ones(1));
}

}  // namespace

std::optional<std::string> missing_bound(const AttentionLayer& layer) {
  check_layer(kCertifiedBounds, layer);
  if (!layer.planted.empty()) return "none are known beside planted tokens";
  if (finite_queries(layer.queries).rows.rows() > 0) return std::nullopt;
  const Measure& queries = *concentration::law_of(layer.queries);
  const bool averaged = dynamic_cast<const GaussianMeasure*>(&queries) != nullptr ||
                        dynamic_cast<const SphereMeasure*>(&queries) != nullptr;
  if (has_gaussian_tokens(layer)) {
    if (averaged) return std::nullopt;
    return "bounds for Gaussian tokens are known at given queries, and for queries that are Gaussian or on a "
           "sphere";
  }
  if (!is_bounded(*layer.tokens)) {
    return "under a law of queries, bounds are known for tokens that are Gaussian or bounded; give queries";
  }
  if (layer.tokens->sub_gaussian_kind() == SubGaussianKind::at_least) {
    return "under a law of queries, bounds need a proved sub-Gaussian constant of the tokens; give queries";
  }
  if (!averaged && !is_bounded(queries)) {
    return "bounds are known for queries that are Gaussian, on a sphere or bounded";
  }
  return std::nullopt;
}

CertifiedBounds::CertifiedBounds(const AttentionLayer& layer) {
  if (const auto missing = missing_bound(layer)) fail(kCertifiedBounds, *missing);
  if (has_gaussian_tokens(layer)) {
    rule_ = std::make_unique<GaussianTokens>(
        concentration::average_over(layer.tokens->covariance(), layer).value());
    return;
  }
  if (finite_queries(layer.queries).rows.rows() > 0) {
    rule_ = std::make_unique<AtQueries>(layer);
    return;
  }
  const Eigen::Index d = layer.tokens->dimension();
  const double variance = 2 * square(layer.tokens->sub_gaussian_constant());
  auto weights = concentration::average_over(variance * Matrix::Identity(d, d), layer);
  if (!weights) weights = farthest_query(variance, layer);
  rule_ = std::make_unique<BoundedTokens>(layer, std::move(*weights));
}
CertifiedBounds::~CertifiedBounds() = default;
CertifiedBounds::CertifiedBounds(CertifiedBounds&&) noexcept = default;
CertifiedBounds& CertifiedBounds::operator=(CertifiedBounds&&) noexcept = default;

CertifiedErrors CertifiedBounds::operator()(double L, double sigma, const Execution& execution) const {
  check_prompt_length(kCertifiedBounds, L);
  if (!(sigma >= 1e-50 && sigma <= 1e50)) fail(kCertifiedBounds, "sigma", sigma, "between 1e-50 and 1e50");
  if (L == kInfinitePrompt) return {};
  CertifiedErrors bounds = (*rule_)(L, sigma, execution);
  for (double* const bound : {&bounds.output, &bounds.gradient_V, &bounds.gradient_U}) *bound *= kRounded;
  return bounds;
}

}  // namespace largo
