#include "largo/exact/query_average.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "exact/attention_forms.hpp"
#include "exact/query_nodes.hpp"
#include "exact/softmax_bounds.hpp"
#include "largo/exact/gaussian_error.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/exact/softmax_table.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"

namespace largo {
namespace {

constexpr const char* kAveragedAttentionError = "averaged_attention_error";

// The step of the rule is halved until the remaining relative error is estimated to be below kEnough.
constexpr double kEnough = 1e-11;
// Bounds have kinks, so that every halving gains a factor of four only, and the change is above the error.
// What remains is added to the bound, and need not be smaller than a bound is sharp.
constexpr double kEnoughOfBounds = 1e-4;
constexpr double kSafety = 10;
constexpr double kRounding = 1e-14;
constexpr int kHalvings = 7;
// The largest error of the rule of sphere_query_nodes().
constexpr double kSphereError = 1e-10;
// If the average of one is off by more than this, the average over the queries has not converged.
constexpr double kLargestCheck = 1e-3;
// With more nodes than this, a table pays off.
constexpr std::size_t kFewNodes = 8;

enum : std::size_t { kOutput, kSquaredBias, kGradientV, kGradientU, kDifference, kLimit, kCheck, kAverages };
// Bounds have these in place of the bias and the difference.
enum : std::size_t { kWeight = kSquaredBias, kSquareWeight = kDifference };
using Averages = std::array<double, kAverages>;

struct Sums {
  Averages value{};
  Averages uncertainty{};  ///< from the nodes and the statistics

  void add(double factor, const Sums& other) {
    for (std::size_t i = 0; i < kAverages; ++i) {
      value[i] += factor * other.value[i];
      uncertainty[i] += factor * other.uncertainty[i];
    }
  }
};

// Softmax compared with linear attention over one prompt of centred tokens: along e the outputs differ by
// A − s Σ g_i²/L, across it by Σ (p_i − s g_i/L) r_i. By parts E[A Σ g_i²] = (L + 1) E[A] + s E[B], and so
//   along  E[(A − s)²] + 2 s² (E[P_2] − E[B])/L,   across  E[P_2] (1 + 2 s²/L) − s²/L.
struct SoftmaxLinear {
  SoftmaxLinear(const SoftmaxStatistics& m, double square, double L)
      : along(m.mse + 2 * square / L * (m.P2 - m.variance)),
        across(m.P2 * (1 + 2 * square / L) - square / L),
        along_size(m.mse + 2 * square / L * (m.P2 + m.variance)),
        across_size(m.P2 * (1 + 2 * square / L) + square / L) {}
  double along, across;
  double along_size, across_size;  ///< sums of the absolute values of the terms
};

// The errors of one layer at a node.
class ErrorsAt {
 public:
  static constexpr bool kIsSmooth = true;  // in s

  /// With a table if there are many nodes.
  ErrorsAt(const exact::AttentionForms& forms, double L, double scale, bool few)
      : forms_(forms),
        L_(L),
        square_(scale * scale),
        fourth_(square_ * square_),
        table_(few ? nullptr : SoftmaxTable::shared(L)) {}

  /// Adds the errors at all queries of a node, whose scores have the spread s.
  void add_to(Sums& sums, double s, const exact::DirectionNode& node) const {
    const SoftmaxStatistics m = table_ ? (*table_)(s) : softmax_statistics(s, L_);
    Averages size{};
    const Averages value = at(m, node.fine, node.square, &size);
    const Averages coarse = at(m, node.coarse, node.square, nullptr);
    for (std::size_t i = 0; i < kAverages; ++i) {
      sums.value[i] += value[i];
      sums.uncertainty[i] += size[i] * m.relative_error + std::abs(value[i] - coarse[i]);
    }
  }

 private:
  Averages at(const SoftmaxStatistics& m, const exact::FormProducts& f, double square, Averages* size) const {
    const exact::DirectionValues at{f[exact::kOne], f[exact::kW], f[exact::kG], 0, 0};
    const exact::DirectionValues times_Z{f[exact::kZ], f[exact::kZW], f[exact::kZG], f[exact::kZH],
                                         f[exact::kZWG]};
    const exact::MomentCombination output = exact::output_combination(forms_, at);
    const exact::MomentCombination gradient_V = exact::value_gradient_combination(forms_, at);
    const exact::MomentCombination gradient_U = exact::covariance_combination(forms_, times_Z);
    const SoftmaxLinear difference(m, square_ * square, L_);
    const double across = f[exact::kOne] * forms_.W_trace - f[exact::kW];
    const double limit = fourth_ * f[exact::kW] * square;  // ‖VΓUz‖²
    const double bias = m.P2 * m.P2 * limit;
    if (size != nullptr) {
      *size = {square_ * output.size_of(m),
               2 * bias,
               square_ * gradient_V.size_of(m),
               fourth_ * gradient_U.size_of(m),
               square_ * (f[exact::kW] * difference.along_size + std::abs(across) * difference.across_size),
               0,
               0};
    }
    return {square_ * output.of(m),
            bias,
            square_ * gradient_V.of(m),
            fourth_ * gradient_U.of(m),
            square_ * (f[exact::kW] * difference.along + across * difference.across),
            limit,
            f[exact::kOne]};
  }

  const exact::AttentionForms& forms_;
  double L_, square_, fourth_;  // powers of the scale
  std::shared_ptr<const SoftmaxTable> table_;
};

// Bounds on the errors of one layer at a node, in the order of the errors.
class BoundsAt {
 public:
  static constexpr bool kIsSmooth = false;  // in s

  BoundsAt(const exact::AttentionForms& forms, double L, double scale)
      : forms_(forms), L_(L), square_(scale * scale), fourth_(square_ * square_) {}

  void add_to(Sums& sums, double s, const exact::DirectionNode& node) const {
    const exact::SoftmaxBounds bounds = exact::softmax_bounds(s, L_);
    const Averages value = at(bounds, node.fine), coarse = at(bounds, node.coarse);
    for (std::size_t i = 0; i < kAverages; ++i) {
      sums.value[i] += value[i];
      sums.uncertainty[i] += std::abs(value[i] - coarse[i]);
    }
  }

 private:
  Averages at(const exact::SoftmaxBounds& m, const exact::FormProducts& f) const {
    const double output = (f[exact::kOne] * forms_.W_trace - f[exact::kW]) * m.P2 + f[exact::kW] * m.mse;
    const double values = (f[exact::kOne] * forms_.G_trace - f[exact::kG]) * m.P2 + f[exact::kG] * m.mse;
    // Those of covariance_combination. The cross term is at most `mixed` in size, so it is added to that.
    const double product = f[exact::kZ] * forms_.WG_trace - 2 * f[exact::kZH] + f[exact::kZWG];
    const double traces = f[exact::kZ] * forms_.W_trace * forms_.G_trace - forms_.W_trace * f[exact::kZG] -
                          f[exact::kZW] * forms_.G_trace + f[exact::kZWG];
    const double mixed = f[exact::kZW] * forms_.G_trace + f[exact::kZG] * forms_.W_trace - 2 * f[exact::kZWG];
    const double covariance = (product + traces) * m.P2 + f[exact::kZWG] * m.variance_mse +
                              mixed * (2 * m.squared_spread + m.variance_P2);
    Averages bounds{};
    bounds[kOutput] = square_ * output;
    bounds[kGradientV] = square_ * forms_.rows * values;
    bounds[kGradientU] = fourth_ * covariance;
    bounds[kWeight] = f[exact::kOne] * m.P2;
    bounds[kSquareWeight] = f[exact::kZ] * m.P2;
    bounds[kCheck] = f[exact::kOne];
    return bounds;
  }

  const exact::AttentionForms& forms_;
  double L_, square_, fourth_;
};

// The values, and estimates of their errors.
struct Averaged {
  Averages value{}, error{};
};

// The average of ErrorsAt or BoundsAt over a given set of nodes, from a rule with this relative error.
template <typename At>
Averaged average(const std::vector<exact::DirectionNode>& nodes, double rule_error, const At& errors,
                 double scale) {
  Sums sums;
  for (const exact::DirectionNode& node : nodes) {
    const double s = scale * std::sqrt(node.square);
    check_score_spread(kAveragedAttentionError, s);
    errors.add_to(sums, s, node);
  }
  Averaged result{sums.value, sums.uncertainty};
  const double check = std::abs(sums.value[kCheck] - 1);
  for (std::size_t i = 0; i < kAverages; ++i) {
    result.error[i] += (kRounding + rule_error + check) * std::abs(sums.value[i]);
  }
  return result;
}

// The average over Gaussian queries, with as many nodes as are needed.
template <typename At>
Averaged average(const exact::GaussianNodes& nodes, const At& errors, double L, double scale,
                 const Execution& execution) {
  const double largest = scale * std::sqrt(nodes.largest_square(L));
  if (!(largest <= kLargestScoreSpread)) {
    fail(kAveragedAttentionError, "spread of the scores", largest, "at most 1e6 for all queries");
  }
  const auto sum_level = [&](int level) {
    Sums sums;
    const std::size_t count = nodes.count(level, L);
    for (std::size_t i = 0; i < count; ++i) {
      const exact::DirectionNode& node = nodes.at(level, i, execution);
      errors.add_to(sums, scale * std::sqrt(node.square), node);
    }
    return sums;
  };
  double step = exact::GaussianNodes::kFirstStep;
  Sums sums;
  sums.add(step, sum_level(0));
  Averages last_change{};
  for (int halving = 1;; ++halving) {
    Sums finer;
    finer.add(0.5, sums);
    finer.add(0.5 * step, sum_level(halving));
    step *= 0.5;
    Averages error{};
    double worst = 0;
    const double check = std::abs(finer.value[kCheck] - 1);
    for (std::size_t i = 0; i < kAverages; ++i) {
      const double size = std::abs(finer.value[i]);
      const double change = size > 0 ? std::abs(finer.value[i] - sums.value[i]) / size : 0;
      // The next change, if the changes fell geometrically; usually they fall much faster.
      const double ratio =
          At::kIsSmooth && halving > 1 ? std::min(1.0, kSafety * change / last_change[i]) : 1;
      const double remaining = change * ratio;
      last_change[i] = std::max(change, std::numeric_limits<double>::epsilon());
      // Interpolation in the table has small jumps between panels: no step resolves those.
      if (size * remaining > finer.uncertainty[i]) worst = std::max(worst, remaining);
      error[i] = finer.uncertainty[i] + size * (remaining + kRounding + check);
    }
    if (worst < (At::kIsSmooth ? kEnough : kEnoughOfBounds) || halving == kHalvings)
      return {finer.value, error};
    sums = finer;
  }
}

// Checks the shapes before any product: a release build does not notice a mismatch.
exact::AttentionForms checked_forms(const Matrix& root, const ConstMatrixRef& U, const ConstMatrixRef& V,
                                    std::ptrdiff_t query_size) {
  check_shape(kAveragedAttentionError, "U", U.rows(), U.cols(), root.rows(), query_size);
  check_size(kAveragedAttentionError, "columns of V", V.cols(), root.rows());
  check_finite(kAveragedAttentionError, "U", U);
  check_finite(kAveragedAttentionError, "V", V);
  return {root, V};
}

}  // namespace

class QueryAverage::Rule {
 public:
  Rule(const ConstMatrixRef& token_covariance, const ConstMatrixRef& U, const ConstMatrixRef& V,
       std::ptrdiff_t query_size)
      : root(numerics::covariance_root(kAveragedAttentionError, "token_covariance", token_covariance).root),
        forms(checked_forms(root, U, V, query_size)) {
    scores = root.transpose() * U;
    if (forms.W_trace < std::numeric_limits<double>::min() && !(V * root).isZero(0)) {
      fail(kAveragedAttentionError,
           "V is too small: scale it up, and divide the errors by the square of the factor");
    }
  }

  Averaged operator()(double L, double scale, const Execution& execution) const {
    const bool few = !gaussian && !sphere && nodes.size() <= kFewNodes;
    return averaged(ErrorsAt(forms, L, scale, few), L, scale, execution);
  }

  Averaged bounds(double L, double scale, const Execution& execution) const {
    return averaged(BoundsAt(forms, L, scale), L, scale, execution);
  }

  Matrix root;  ///< R, Γ = R Rᵀ
  exact::AttentionForms forms;
  Matrix scores;                                 ///< RᵀU
  std::vector<exact::DirectionNode> nodes;       // for rows, or for a constant spread
  std::optional<exact::SphereNodes> sphere;      // for a sphere
  std::optional<exact::GaussianNodes> gaussian;  // for Gaussian queries

 private:
  template <typename At>
  Averaged averaged(const At& errors, double L, double scale, const Execution& execution) const {
    if (gaussian) return average(*gaussian, errors, L, scale, execution);
    if (sphere) return average(sphere->at(scale, execution), kSphereError, errors, scale);
    return average(nodes, 0, errors, scale);
  }
};

QueryAverage::QueryAverage(std::shared_ptr<const Rule> rule) : rule_(std::move(rule)) {}

QueryAverage QueryAverage::over_rows(const ConstMatrixRef& token_covariance, const ConstMatrixRef& U,
                                     const ConstMatrixRef& V, const ConstMatrixRef& queries,
                                     const ConstVectorRef& weights) {
  if (queries.rows() < 1) fail(kAveragedAttentionError, "number of queries", 0, "at least 1");
  check_finite(kAveragedAttentionError, "queries", queries);
  check_size(kAveragedAttentionError, "weights", weights.size(), queries.rows());
  check_weights(kAveragedAttentionError, "weights", weights);
  const auto rule = std::make_shared<Rule>(token_covariance, U, V, queries.cols());
  if (rule->root.cols() > 0)
    rule->nodes = exact::nodes_of_rows(queries, weights / weights.sum(), rule->scores, rule->forms);
  return QueryAverage(rule);
}

QueryAverage QueryAverage::over_gaussian(const ConstMatrixRef& token_covariance, const ConstMatrixRef& U,
                                         const ConstMatrixRef& V, const ConstVectorRef& query_mean,
                                         const ConstMatrixRef& query_covariance) {
  const Matrix S =
      numerics::covariance_root(kAveragedAttentionError, "query_covariance", query_covariance).root;
  check_size(kAveragedAttentionError, "query_mean", query_mean.size(), query_covariance.rows());
  check_finite(kAveragedAttentionError, "query_mean", query_mean);
  const auto rule = std::make_shared<Rule>(token_covariance, U, V, query_mean.size());
  if (rule->root.cols() == 0) return QueryAverage(rule);
  const exact::AttentionForms& forms = rule->forms;
  const exact::QueryLaw law(query_mean, S, rule->scores, forms.W, forms.G, forms.WG);
  if (law.rank() > 0) {
    rule->gaussian.emplace(law);
  } else {
    rule->nodes = {exact::node_of_constant_spread(law, forms)};
  }
  return QueryAverage(rule);
}

QueryAverage QueryAverage::over_sphere(const ConstMatrixRef& token_covariance, const ConstMatrixRef& U,
                                       const ConstMatrixRef& V, double radius) {
  check_nonnegative(kAveragedAttentionError, "radius", radius);
  if (U.cols() < 1) fail(kAveragedAttentionError, "columns of U", 0, "at least 1");
  const auto rule = std::make_shared<Rule>(token_covariance, U, V, U.cols());
  if (rule->root.cols() > 0) rule->sphere.emplace(radius, rule->scores, rule->forms);
  return QueryAverage(rule);
}

AveragedAttentionError QueryAverage::operator()(double L, double token_scale,
                                                const Execution& execution) const {
  check_prompt_length(kAveragedAttentionError, L);
  check_nonnegative(kAveragedAttentionError, "token_scale", token_scale);
  AveragedAttentionError result;
  const bool infinite = L == kInfinitePrompt;
  if (rule_->root.cols() == 0) return result;
  // The limit does not depend on L; everything else vanishes for an infinite prompt.
  const auto [value, error] = (*rule_)(infinite ? 1 : L, token_scale, execution);
  for (const double x : value) check_finite(kAveragedAttentionError, "averaged error", x);
  if (!(std::abs(value[kCheck] - 1) < kLargestCheck)) {
    fail(kAveragedAttentionError, "the average over the queries does not converge: sample the queries");
  }
  result.limit = {value[kLimit], error[kLimit]};
  if (infinite) return result;
  result.output = {value[kOutput], error[kOutput]};
  result.squared_bias = {value[kSquaredBias], error[kSquaredBias]};
  result.gradient_V = {value[kGradientV], error[kGradientV]};
  result.gradient_U = {value[kGradientU], error[kGradientU]};
  result.softmax_linear = {value[kDifference], error[kDifference]};
  result.self_check = value[kCheck] - 1;
  return result;
}

AveragedBounds QueryAverage::bounds(double L, double token_scale, const Execution& execution) const {
  check_prompt_length(kAveragedAttentionError, L);
  check_nonnegative(kAveragedAttentionError, "token_scale", token_scale);
  if (rule_->root.cols() == 0 || L == kInfinitePrompt) return {};
  const Averaged found = rule_->bounds(L, token_scale, execution);
  if (!(std::abs(found.value[kCheck] - 1) < kLargestCheck)) {
    fail(kAveragedAttentionError, "the average over the queries does not converge: sample the queries");
  }
  const auto above = [&](std::size_t i) { return found.value[i] + found.error[i]; };
  return {above(kOutput), above(kGradientV), above(kGradientU), above(kWeight), above(kSquareWeight)};
}

AveragedAttentionError averaged_attention_error(const ConstMatrixRef& token_covariance,
                                                const ConstMatrixRef& U, const ConstMatrixRef& V,
                                                const ConstVectorRef& query_mean,
                                                const ConstMatrixRef& query_covariance, double L) {
  return QueryAverage::over_gaussian(token_covariance, U, V, query_mean, query_covariance)(L);
}

AttentionError gaussian_attention_error(const ConstMatrixRef& token_covariance, const ConstMatrixRef& U,
                                        const ConstMatrixRef& V, const ConstVectorRef& query, double L) {
  constexpr const char* kFunction = "gaussian_attention_error";
  check_prompt_length(kFunction, L);
  const Matrix R = numerics::covariance_root(kFunction, "token_covariance", token_covariance).root;
  check_shape(kFunction, "U", U.rows(), U.cols(), R.rows(), query.size());
  check_size(kFunction, "columns of V", V.cols(), R.rows());
  check_finite(kFunction, "U", U);
  check_finite(kFunction, "V", V);
  check_finite(kFunction, "query", query);

  AttentionError error;
  const Vector along = R.transpose() * (U * query);
  error.s = along.stableNorm();
  error.bias = Vector::Zero(V.rows());
  if (R.cols() == 0) return error;

  const SoftmaxMoments m = softmax_moments(error.s, L);
  const Vector e = error.s > 0 ? Vector(along / error.s) : Vector(Vector::Unit(R.cols(), 0));
  const exact::AttentionForms forms(R, V);
  exact::DirectionValues at;
  at.W = e.dot(forms.W * e);
  at.G = e.dot(forms.G * e);
  at.WG = e.dot(forms.WG * e);
  at.W_G = at.W * at.G;
  error.output = exact::output_combination(forms, at).of(m);
  error.bias = -m.P2.value * (V * (R * along));
  error.gradient_V = exact::value_gradient_combination(forms, at).of(m);
  error.gradient_U = exact::covariance_combination(forms, at).of(m);
  error.gradient_U.value *= query.squaredNorm();
  error.gradient_U.error *= query.squaredNorm();
  check_finite(kFunction, "output error", error.output.value);
  check_finite(kFunction, "gradient error in V", error.gradient_V.value);
  check_finite(kFunction, "gradient error in U", error.gradient_U.value);
  check_finite(kFunction, "bias", error.bias);
  return error;
}

}  // namespace largo
