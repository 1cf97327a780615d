#include "largo/concentration/exact_errors.hpp"

#include <vector>

#include <fmt/format.h>

#include "concentration/layer_average.hpp"
#include "largo/exact/query_average.hpp"
#include "largo/exact/score_law_error.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/sphere.hpp"
#include "largo/runtime/check.hpp"
#include "runtime/distribute.hpp"

namespace largo {
namespace {

constexpr const char* kExactErrors = "exact errors";

// Whether the errors are combinations of softmax moments (gaussian_error.hpp).
bool has_closed_form(const AttentionLayer& layer) {
  return has_gaussian_tokens(layer) && layer.planted.empty();
}

// Planted tokens as the query with this direction sees them. Given scores do not depend on either argument.
std::vector<PlantedValue> planted_values(const std::vector<PlantedToken>& planted, const Vector& direction,
                                         const Matrix& value_map) {
  std::vector<PlantedValue> values;
  for (const PlantedToken& token : planted) {
    values.push_back(
        {token.score.value_or(token.token.dot(direction)), value_map * token.token, token.count});
  }
  return values;
}

}  // namespace

class ExactErrors::Formula {
 public:
  virtual ~Formula() = default;
  virtual LayerErrors operator()(double L, double sigma, const Execution& execution) const = 0;
};

class ExactErrors::GaussianTokens final : public Formula {
 public:
  GaussianTokens(const GaussianMeasure& tokens, const AttentionLayer& layer)
      : average_(concentration::average_over(tokens.covariance(), layer).value()),
        centred_(tokens.mean().isZero(0)) {}

  LayerErrors operator()(double L, double sigma, const Execution& execution) const override {
    const AveragedAttentionError e = average_(L, sigma, execution);
    LayerErrors errors{e.output, e.gradient_V, e.gradient_U, std::nullopt};
    if (centred_) errors.softmax_linear = e.softmax_linear;
    return errors;
  }

 private:
  QueryAverage average_;
  bool centred_;
};

class ExactErrors::ScoreLawTokens final : public Formula {
 public:
  explicit ScoreLawTokens(const AttentionLayer& layer)
      : tokens_(layer.tokens),
        V_(layer.V),
        identity_(Matrix::Identity(V_.cols(), V_.cols())),
        queries_(finite_queries(layer.queries)),
        directions_(layer.U * queries_.rows.transpose()),
        planted_(layer.planted) {}

  LayerErrors operator()(double L, double sigma, const Execution& execution) const override {
    LayerErrors sum;
    if (planted_.empty()) sum.gradient_U.emplace();
    const auto add = [&](Estimate& to, double factor, const OutputError& error) {
      to.value += factor * error.mse;
      to.error += factor * error.error;
    };
    const auto rows = static_cast<double>(V_.rows());
    for (Eigen::Index i = 0; i < directions_.cols(); ++i) {
      runtime::check_stop(execution);
      const double weight = queries_.probabilities[i];
      const ScoreLaw law = tokens_->score_law(sigma * directions_.col(i));
      const auto error = [&](const Matrix& values) {
        return score_law_error(law, sigma * values, L,
                               planted_values(planted_, sigma * directions_.col(i), sigma * values));
      };
      add(sum.output, weight, error(V_));
      add(sum.gradient_V, weight * rows, error(identity_));
      if (!sum.gradient_U) continue;
      const auto covariance = score_law_covariance_error(law, sigma * sigma * V_, L);
      if (!covariance) {
        sum.gradient_U.reset();
        continue;
      }
      const double factor = weight * queries_.rows.row(i).squaredNorm();
      sum.gradient_U->value += factor * covariance->value;
      sum.gradient_U->error += factor * covariance->error;
    }
    return sum;
  }

 private:
  MeasurePtr tokens_;
  Matrix V_, identity_;
  FiniteQueries queries_;
  Matrix directions_;  // a = Uz, one per column
  std::vector<PlantedToken> planted_;
};

namespace {

// Calls body(score law, direction) for each query; tokens are `sigma` times those of the law.
template <typename Body>
void for_each_score_law(const AttentionLayer& layer, double sigma, const Body& body) {
  const FiniteQueries queries = finite_queries(layer.queries);
  for (Eigen::Index i = 0; i < queries.rows.rows(); ++i) {
    const Vector direction = sigma * (layer.U * queries.rows.row(i).transpose());
    body(layer.tokens->score_law(direction), direction);
  }
}

// Why the errors of this layer have no exact formula at any sigma; none if they have one.
std::optional<std::string> unknown_formula(const AttentionLayer& layer) {
  check_layer(kExactErrors, layer);
  const Measure* const law = concentration::law_of(layer.queries);
  const bool finite = law == nullptr || finite_queries(layer.queries).rows.rows() > 0;
  if (!finite && !layer.planted.empty()) {
    return "beside planted tokens, errors have an exact formula at given queries only";
  }
  if (has_closed_form(layer)) {
    const bool known = dynamic_cast<const GaussianMeasure*>(law) != nullptr ||
                       dynamic_cast<const SphereMeasure*>(law) != nullptr;
    if (finite || known) return std::nullopt;
    return "averages over queries of this law have no exact formula";
  }
  if (!finite) return "tokens that are not Gaussian have exact errors at given queries only";
  try {
    // The law of the scores may be known only along some directions.
    for_each_score_law(layer, 1, [](const ScoreLaw&, const Vector&) {});
  } catch (const InputError& error) {
    return fmt::format("the law of the scores is not known ({})", error.what());
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> missing_formula(const AttentionLayer& layer, double sigma) {
  std::optional<std::string> missing = unknown_formula(layer);
  if (missing || has_closed_form(layer)) return missing;
  for_each_score_law(layer, sigma, [&](const ScoreLaw& law, const Vector& direction) {
    const auto beyond = beyond_limits(law, planted_values(layer.planted, direction, sigma * layer.V));
    if (beyond) missing = fmt::format("the exact formula does not reach these scores: {}", *beyond);
  });
  return missing;
}

ExactErrors::ExactErrors(const AttentionLayer& layer) {
  if (const auto missing = unknown_formula(layer))
    fail(kExactErrors, fmt::format("{}; sample them", *missing));
  if (has_closed_form(layer)) {
    formula_ = std::make_unique<GaussianTokens>(dynamic_cast<const GaussianMeasure&>(*layer.tokens), layer);
  } else {
    formula_ = std::make_unique<ScoreLawTokens>(layer);
  }
}
ExactErrors::~ExactErrors() = default;

LayerErrors ExactErrors::operator()(double L, double sigma, const Execution& execution) const {
  // Fourth powers of sigma must neither overflow nor vanish.
  if (!(sigma == 0 || (sigma >= 1e-50 && sigma <= 1e50)))
    fail(kExactErrors, "sigma", sigma, "0, or between 1e-50 and 1e50");
  return (*formula_)(L, sigma, execution);
}

}  // namespace largo
