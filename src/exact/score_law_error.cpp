#include "largo/exact/score_law_error.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "exact/score_law_table.hpp"
#include "largo/runtime/check.hpp"
#include "measures/score_law_nodes.hpp"

namespace largo {
namespace {

constexpr auto kFunction = "score_law_error";
constexpr double kTailOfBias = 1e-15;
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

Table make_table(const ScoreLaw& law, const Centred& centred, double length, int coarsening) {
  const std::ptrdiff_t outputs = centred.at.rows();
  const exact::NodeTable nodes = exact::make_node_table(
      law, centred.reference, length, coarsening, outputs + 1, kAnyNumber,
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

struct Integral {
  double mse = 0;
  Vector bias;
  double peak = 0;  // y of the largest term
};

// The integrands at one t.
class Integrand {
 public:
  Integrand(const Table& table, double log_partition, double length)
      : table_(table),
        log_tilted_tokens_(std::log(length) + log_partition),
        length_(length),
        nodes_(table.score, table.expected, length) {}

  /// Both terms of the squared error, times t² as dt = t dy. Sets bias() and left_bound().
  double evaluate(double y) {
    const double decay = nodes_.exponent(y);
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
    bias_ *= survival;
    return first * survival + second;
  }

  const Vector& bias() const { return bias_; }
  /// Bounds the integral of the first term over all smaller t.
  double left_bound() const { return left_bound_; }
  exact::NodesAtT& nodes() { return nodes_; }

 private:
  const Table& table_;
  double log_tilted_tokens_;  // log(L E e^u)
  double length_;
  exact::NodesAtT nodes_;
  double left_bound_ = 0;
  Array mass_;
  Vector bias_;
};

Integral integrate(const Table& table, double log_partition, double length, double step) {
  Integrand integrand(table, log_partition, length);
  Integral result;
  result.bias = Vector::Zero(table.x.cols());
  const auto add = [&](double y) {
    const double term = integrand.evaluate(y);
    result.mse += step * term;
    result.bias += step * integrand.bias();
    return term;
  };
  // The bias falls like t where the error falls like t², so it is tested as well.
  const auto is_rest_small = [&] {
    return integrand.left_bound() <= exact::kNegligibleTerm * result.mse &&
           integrand.bias().norm() <= kTailOfBias * std::sqrt(result.mse);
  };
  result.peak = exact::sum_over_t(integrand.nodes(), log_partition, length, step, add, is_rest_small);
  return result;
}

}  // namespace

std::optional<std::string> beyond_limits(const ScoreLaw& law) {
  const auto refuse = [](const char* what, double value, double limit) {
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
    } else if (bounded) {
      limit *= std::sqrt(component.order);
    }
    if (!(component.scale <= limit)) {
      return refuse(bounded ? "half-width of the range of a score" : "standard deviation of a score",
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
  return std::nullopt;
}

OutputError score_law_error(const ScoreLaw& law, const ConstMatrixRef& value_map, double length) {
  if (law.components.empty()) fail(kFunction, "number of components of the score law", "0", "at least 1");
  check_size(kFunction, "columns of the value map", value_map.cols(), law.components.front().mean.size());
  check_finite(kFunction, "value map", value_map);
  if (!(length >= 1 && (length <= kLargestLength || std::isinf(length)))) {
    fail(kFunction, "length", length, fmt::format("in [1, {}] or infinite", kLargestLength));
  }
  OutputError result;
  result.bias = Vector::Zero(value_map.rows());
  if (std::isinf(length)) return result;
  if (const auto beyond = beyond_limits(law)) fail(kFunction, *beyond);

  const Centred centred = exact::compressed_values(law, value_map);
  const auto at_coarsening = [&](int coarsening) {
    const Table table = make_table(law, centred, length, coarsening);
    if (!table.square.isFinite().all()) {
      fail(kFunction, "the squared output overflows float64: scale down the value map");
    }
    return integrate(table, centred.log_partition, length, coarsening * exact::kStepInLogT);
  };
  const Integral fine = at_coarsening(1);
  const Integral coarse = at_coarsening(2);
  result.mse = fine.mse;
  result.bias = centred.basis.size() > 0 ? Vector(centred.basis * fine.bias) : fine.bias;
  result.error = exact::error_of_sum(law, {fine.mse, fine.mse, fine.peak}, coarse.mse);
  return result;
}

OutputError score_law_error(const Measure& law, const ConstMatrixRef& value_map,
                            const ConstVectorRef& direction, double length) {
  return score_law_error(law.score_law(direction), value_map, length);
}

}  // namespace largo
