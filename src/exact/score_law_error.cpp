#include "largo/exact/score_law_error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "exact/score_law_table.hpp"
#include "largo/runtime/check.hpp"
#include "measures/score_law_nodes.hpp"
#include "numerics/log_sum_exp.hpp"

namespace largo {
namespace {

constexpr auto kFunction = "score_law_error";
constexpr double kTailOfBias = 1e-15;
constexpr double kLargestSquare = 1e290;  // integrands multiply it by the square of some 800
constexpr auto kAnyNumber = std::numeric_limits<std::ptrdiff_t>::max();

using Array = Eigen::ArrayXd;
using exact::Centred;

// The nodes of the law, with the values of x = Vz' - T[μ] at each of them.
struct Table {
  Array score;
  Array expected;  // L w
  Array square;    // L w E[‖x‖² | u]
  Matrix x;        // row i: E[x | u]
};

Table make_table(const ScoreLaw& law, const Centred& centred, double length,
                 const measures::ScoreReach& prompts, int coarsening) {
  const std::ptrdiff_t outputs = centred.at.rows();
  const exact::NodeTable nodes = exact::make_node_table(
      law, centred.reference, length, prompts, coarsening, outputs + 1, kAnyNumber,
      [&](const exact::ScoreNode& node, Eigen::Ref<Vector> features) {
        const ScoreComponent& component = law.components[node.component];
        const auto column = static_cast<std::ptrdiff_t>(node.component);
        auto x = features.tail(outputs);
        x = centred.at.col(column) + (node.v - centred.tilted[node.component]) * centred.along.col(column);
        const double part = component.constant_part + component.round_part * node.one_minus_v_squared;
        features[0] = x.squaredNorm() + part * centred.spread[node.component];
      });
  Table table{nodes.score, nodes.expected, nodes.averages.col(0), nodes.averages.rightCols(outputs)};
  for (std::ptrdiff_t i = 0; i < table.score.size(); ++i) {
    if (table.expected[i] > 0) table.x.row(i) /= table.expected[i];
  }
  return table;
}

// All planted tokens together: S_0 = Σ e^{u_j}, and the mean of x under their weights.
struct Planted {
  double log_sum = -std::numeric_limits<double>::infinity();  // ln S_0, relative to the reference
  Vector mean;
  double rounding = 0;        // of the mean
  double score_rounding = 0;  // of the scores, and so of ln S_0

  bool any() const { return mean.size() > 0; }
};

Planted gather(std::span<const PlantedValue> tokens, const Centred& centred) {
  Planted planted;
  if (tokens.empty()) return planted;
  std::vector<double> scores;
  for (const PlantedValue& token : tokens) {
    scores.push_back(std::log(token.count) + token.score - centred.reference);
  }
  planted.log_sum = numerics::log_sum_exp(scores);
  planted.mean = centred.planted * numerics::softmax(scores);
  double largest = std::abs(centred.reference);
  for (const PlantedValue& token : tokens) largest = std::max(largest, std::abs(token.score));
  planted.score_rounding = std::numeric_limits<double>::epsilon() * (4 + 2 * largest);
  planted.rounding = planted.score_rounding * centred.planted_terms;
  return planted;
}

struct Integral {
  double mse = 0;
  double magnitude = 0;  // the sum over the sizes of terms that may cancel
  double square = 0;     // the mean square of the weight of the planted tokens
  Vector bias;
  double peak = 0;  // y of the largest term
};

// The integrands at one t.
class Integrand {
 public:
  Integrand(const Table& table, const Planted& planted, double log_partition, double length)
      : table_(table),
        planted_(planted),
        log_tilted_tokens_(std::log(length) + log_partition),
        length_(length),
        nodes_(table.score, table.expected, length) {}

  struct Term {
    double value = 0;
    double magnitude = 0;
    double square = 0;  // of the weight of the planted tokens
  };

  /// All terms of the squared error, times t² as dt = t dy. Sets bias() and left_bound().
  Term evaluate(double y) {
    constexpr double kGone = 6.7;  // the exponential of -e^6.7 is zero
    if (y + planted_.log_sum > kGone) return nothing();
    const double decay = nodes_.exponent(y);
    if (std::isinf(decay)) return nothing();  // φ_0 is zero, and so are all terms
    const Array& z = nodes_.z();
    mass_ = z * nodes_.exponential();
    const double first = ((table_.square * mass_) * z).sum();
    left_bound_ = (table_.square * z.min(1.0) * z.min(1.0)).sum();
    // Φ_1[x] vanishes at t = 0: while most of the tilted law is still there, sum what has gone instead.
    mass_ *= table_.expected;
    const double remains = std::exp(std::log(mass_.sum()) - log_tilted_tokens_ - y);
    if (remains > 0.5) mass_ = -(table_.expected * z) * nodes_.complement();
    bias_.noalias() = table_.x.transpose() * mass_.matrix();
    const double survival = std::exp(-(length_ - 1) * decay);
    double second = 0;
    if (length_ > 1) second = (1 - 1 / length_) * bias_.squaredNorm() * std::exp(-(length_ - 2) * decay);
    Term term{first * survival + second, first * survival + second};
    if (planted_.any()) add_planted(y, decay, survival, term);
    bias_ *= survival;
    if (planted_.any()) bias_ = remains_ * (bias_ + std::exp(-length_ * decay) * weight_ * planted_.mean);
    return term;
  }

  const Vector& bias() const { return bias_; }
  /// Bounds the integral of the first term over all smaller t.
  double left_bound() const { return left_bound_; }
  exact::NodesAtT& nodes() { return nodes_; }

 private:
  Term nothing() {
    bias_ = Vector::Zero(table_.x.cols());
    left_bound_ = std::numeric_limits<double>::infinity();
    return {};
  }

  // The terms of X_0 = S_0 times the mean, and the factor e^{-t S_0} of all terms.
  void add_planted(double y, double decay, double survival, Term& term) {
    weight_ = std::exp(y + planted_.log_sum);
    remains_ = std::exp(-weight_);
    term.square = remains_ * weight_ * weight_ * std::exp(-length_ * decay);
    const double own = weight_ * weight_ * planted_.mean.squaredNorm() * std::exp(-length_ * decay);
    const double cross = 2 * weight_ * planted_.mean.dot(bias_) * survival;
    term.value = remains_ * (term.value + cross + own);
    term.magnitude = remains_ * (term.magnitude + std::abs(cross) + own);
    left_bound_ = 2 * (left_bound_ + std::min(1.0, weight_ * weight_) * planted_.mean.squaredNorm());
  }

  const Table& table_;
  const Planted& planted_;
  double weight_ = 0, remains_ = 1;  // t S_0, and e^{-t S_0}
  double log_tilted_tokens_;         // log(L E e^u)
  double length_;
  exact::NodesAtT nodes_;
  double left_bound_ = 0;
  Array mass_;
  Vector bias_;
};

Integral integrate(const Table& table, const Planted& planted, double log_partition, double length,
                   double step) {
  Integrand integrand(table, planted, log_partition, length);
  Integral result;
  result.bias = Vector::Zero(table.x.cols());
  const auto add = [&](double y) {
    const Integrand::Term term = integrand.evaluate(y);
    result.mse += step * term.value;
    result.magnitude += step * term.magnitude;
    result.square += step * term.square;
    result.bias += step * integrand.bias();
    return term.magnitude;
  };
  // The bias falls like t where the error falls like t², so it is tested as well.
  const auto is_rest_small = [&] {
    return integrand.left_bound() <= exact::kNegligibleTerm * result.magnitude &&
           integrand.bias().norm() <= kTailOfBias * std::sqrt(result.magnitude);
  };
  // A crowd of the same length with the weight of all tokens: where its terms begin, so do these.
  const double log_weight =
      planted.any() ? numerics::log_sum_exp(std::array{log_partition, planted.log_sum - std::log(length)})
                    : log_partition;
  result.peak = exact::sum_over_t(integrand.nodes(), log_weight, length, step, add, is_rest_small);
  return result;
}

}  // namespace

std::optional<std::string> beyond_limits(const ScoreLaw& law, std::span<const PlantedValue> planted) {
  const auto refuse = [](const std::string& what, double value, double limit) {
    return fmt::format("{} is {:.6g}, must be at most {:.6g}", what, value, limit);
  };
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const ScoreComponent& component : law.components) {
    double left = component.scale;
    double right = component.scale;
    double limit = kLargestScoreDeviation;
    const bool bounded = component.shape == ScoreShape::bounded;
    if (component.shape == ScoreShape::gaussian) {
      right *= measures::tail_reach(component.scale);
      left *= std::sqrt(-2 * measures::kNegligibleLog);
      if (!planted.empty()) limit = kLargestDeviationBesidePlanted;
    } else if (bounded) {
      if (!planted.empty()) limit = kLargestDeviationBesidePlanted;
      limit *= std::sqrt(component.order);
    }
    if (!(component.scale <= limit)) {
      return refuse(fmt::format("{} of a score{}", bounded ? "half-width of the range" : "standard deviation",
                                planted.empty() ? "" : " beside planted tokens"),
                    component.scale, limit);
    }
    low = std::min(low, component.centre - left);
    high = std::max(high, component.centre + right);
  }
  if (!(high - low <= kLargestScoreRange)) {
    return refuse("range of the scores", high - low, kLargestScoreRange);
  }
  if (const double steepest = exact::steepness(law); !(steepest <= kSteepestScore)) {
    return refuse("half-width of a score, in units of the length within which its density falls off,",
                  steepest, kSteepestScore);
  }
  for (const PlantedValue& token : planted) {
    const double distance = std::max(token.score - high, low - token.score);
    if (!(distance <= kFarthestPlantedScore)) {
      return refuse("distance of a planted score from the others", distance, kFarthestPlantedScore);
    }
  }
  return std::nullopt;
}

OutputError score_law_error(const ScoreLaw& law, const ConstMatrixRef& value_map, double length,
                            std::span<const PlantedValue> planted) {
  if (law.components.empty()) fail(kFunction, "number of components of the score law", "0", "at least 1");
  check_size(kFunction, "columns of the value map", value_map.cols(), law.components.front().mean.size());
  check_finite(kFunction, "value map", value_map);
  if (!(length >= 1 && (length <= kLargestLength || std::isinf(length)))) {
    fail(kFunction, "length", length, fmt::format("in [1, {}] or infinite", kLargestLength));
  }
  for (const PlantedValue& token : planted) {
    check_size(kFunction, "value of a planted token", token.value.size(), value_map.rows());
    check_finite(kFunction, "value of a planted token", token.value);
    if (!std::isfinite(token.score)) fail(kFunction, "score of a planted token", token.score, "finite");
    if (!(token.count >= 1 && token.count <= kLargestLength)) {
      fail(kFunction, "number of copies of a planted token", token.count,
           fmt::format("in [1, {}]", kLargestLength));
    }
  }
  OutputError result;
  result.bias = Vector::Zero(value_map.rows());
  if (std::isinf(length)) return result;
  if (const auto beyond = beyond_limits(law, planted)) fail(kFunction, *beyond);

  Matrix planted_values(value_map.rows(), std::ssize(planted));
  for (std::size_t j = 0; j < planted.size(); ++j) {
    planted_values.col(static_cast<std::ptrdiff_t>(j)) = planted[j].value;
  }
  const Centred centred = exact::compressed_values(law, value_map, planted_values);
  const Planted together = gather(planted, centred);
  if (!(together.mean.squaredNorm() <= kLargestSquare)) {
    fail(kFunction, "the squared value of a planted token overflows float64: scale down the value map");
  }
  // Beside a sink, tokens count that the prompt is not likely to hold; beside a needle of low score with a
  // large value, prompts whose tokens are all lower.
  measures::ScoreReach prompts{.log_length = std::log(length)};
  if (!planted.empty()) prompts = {.log_length = std::log(kLargestLength), .low = true};
  const auto at_coarsening = [&](int coarsening) {
    const Table table = make_table(law, centred, length, prompts, coarsening);
    if (!table.square.isFinite().all()) {
      fail(kFunction, "the squared output overflows float64: scale down the value map");
    }
    Integral sum = integrate(table, together, centred.log_partition, length, coarsening * exact::kStepInLogT);
    if (!std::isfinite(sum.magnitude)) {
      fail(kFunction, "an integral overflows float64: scale down the value map");
    }
    return sum;
  };
  const Integral fine = at_coarsening(1);
  const Integral coarse = at_coarsening(2);
  result.mse = fine.mse;
  result.bias = centred.basis.size() > 0 ? Vector(centred.basis * fine.bias) : fine.bias;
  result.error = exact::error_of_sum(law, {fine.mse, fine.magnitude, fine.peak}, coarse.mse);
  // An error δ of X_0/S_0 counts with the weight of the planted tokens.
  result.error += 2 * together.rounding * std::sqrt(fine.magnitude * fine.square) +
                  together.rounding * together.rounding * fine.square +
                  2 * together.score_rounding * fine.magnitude;
  return result;
}

OutputError score_law_error(const Measure& law, const ConstMatrixRef& value_map,
                            const ConstVectorRef& direction, double length) {
  return score_law_error(law.score_law(direction), value_map, length);
}

}  // namespace largo
