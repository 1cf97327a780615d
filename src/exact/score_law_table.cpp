#include "exact/score_law_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "exact/complement.hpp"
#include "largo/runtime/check.hpp"
#include "measures/score_law_nodes.hpp"
#include "numerics/log_sum_exp.hpp"
#include "numerics/simd_math.hpp"

namespace largo::exact {
namespace {

// Reduces the number of coordinates of x if there are few components; norms stay the same.
void compress(Centred& law) {
  const std::ptrdiff_t count = law.at.cols();
  const std::ptrdiff_t directions = 2 * count + law.planted.cols();
  if (law.at.rows() <= directions) return;
  Matrix columns(law.at.rows(), directions);
  columns << law.at, law.along, law.planted;
  const Eigen::HouseholderQR<Matrix> factor(columns);
  law.basis = factor.householderQ() * Matrix::Identity(law.at.rows(), directions);
  const Matrix coordinates = factor.matrixQR().topRows(directions).triangularView<Eigen::Upper>();
  law.at = coordinates.leftCols(count);
  law.along = coordinates.middleCols(count, count);
  law.planted = coordinates.rightCols(law.planted.cols());
}

// Everything is taken relative to the component that dominates under the tilt, so that x keeps its digits
// where attention concentrates on it.
Centred centre(const ScoreLaw& law, const ConstMatrixRef& V, const Matrix& planted) {
  const auto count = std::ssize(law.components);
  std::vector<double> scores;
  std::vector<double> traces;
  for (const Matrix& covariance : law.covariances) {
    traces.push_back(std::max(0.0, (V * covariance).cwiseProduct(V).sum()));
  }
  Centred result;
  for (const ScoreComponent& component : law.components) {
    scores.push_back(std::log(component.weight) + component.log_partition());
    result.tilted.push_back(component.tilted_mean());
    result.spread.push_back(
        component.covariance < 0 ? 0 : traces[static_cast<std::size_t>(component.covariance)]);
  }
  const auto tilted_mean = [&](std::ptrdiff_t k) {
    const auto at = static_cast<std::size_t>(k);
    const ScoreComponent& component = law.components[at];
    if (component.slope.size() == 0) return component.mean;
    return Vector(component.mean + result.tilted[at] * component.slope);
  };
  const auto top = std::max_element(scores.begin(), scores.end()) - scores.begin();
  result.reference = law.components[static_cast<std::size_t>(top)].centre;
  result.log_partition = numerics::log_sum_exp(scores) - result.reference;
  const Vector responsibility = numerics::softmax(scores);
  const Vector origin = tilted_mean(top);
  result.at.resize(V.rows(), count);
  result.along = Matrix::Zero(V.rows(), count);
  Vector limit = Vector::Zero(V.rows());
  for (std::ptrdiff_t k = 0; k < count; ++k) {
    const ScoreComponent& component = law.components[static_cast<std::size_t>(k)];
    result.at.col(k) = V * (tilted_mean(k) - origin);
    if (component.slope.size() > 0) result.along.col(k) = V * component.slope;
    limit += responsibility[k] * result.at.col(k);
  }
  result.at.colwise() -= limit;
  result.planted.resize(V.rows(), planted.cols());
  const Vector tilted_value = V * origin + limit;  // T[μ]
  for (std::ptrdiff_t j = 0; j < planted.cols(); ++j) {
    result.planted.col(j) = planted.col(j) - tilted_value;
    result.planted_terms = std::max(result.planted_terms, planted.col(j).norm() + tilted_value.norm());
  }
  return result;
}

}  // namespace

Centred centred_values(const ScoreLaw& law, const ConstMatrixRef& V) { return centre(law, V, {}); }

Centred compressed_values(const ScoreLaw& law, const ConstMatrixRef& V, const Matrix& planted) {
  Centred result = centre(law, V, planted);
  compress(result);
  return result;
}

namespace {

// Rows of nodes: a component whose lattice lies within that of another one shares its rows.
class MergedRows {
 public:
  /// The row of the first of these nodes; new rows are added unless a lattice holds them all.
  std::size_t place(const measures::ScoreNodes& nodes) {
    const std::int64_t last = nodes.first + std::ssize(nodes.v) - 1;
    for (const Lattice& lattice : lattices_) {
      if (lattice.step == nodes.step && lattice.first <= nodes.first && last <= lattice.last) {
        return lattice.begin + static_cast<std::size_t>(nodes.first - lattice.first);
      }
    }
    const std::size_t begin = score_.size();
    if (nodes.step > 0) lattices_.push_back({nodes.step, nodes.first, last, begin});
    score_.insert(score_.end(), nodes.score.begin(), nodes.score.end());
    return begin;
  }

  const std::vector<double>& score() const { return score_; }

 private:
  struct Lattice {
    double step;
    std::int64_t first;
    std::int64_t last;
    std::size_t begin;
  };
  std::vector<double> score_;
  std::vector<Lattice> lattices_;
};

struct PlacedNodes {
  std::size_t component;
  std::size_t row;  // of the first
  measures::ScoreNodes nodes;
  bool is_tilt;
};

double expected_tokens(double length, double weight, double log_weight) {
  constexpr double kNearUnderflow = -600;
  if (log_weight > kNearUnderflow) return length * weight * std::exp(log_weight);
  return weight * std::exp(log_weight + std::log(length));
}

}  // namespace

NodeTable make_node_table(const ScoreLaw& law, double reference, double length,
                          const measures::ScoreReach& prompts, int coarsening, std::ptrdiff_t count,
                          std::ptrdiff_t most_numbers,
                          const std::function<void(const ScoreNode&, Eigen::Ref<Vector>)>& fill) {
  // The widest first: the lattices of the others lie within its lattice.
  std::vector<std::size_t> order(law.components.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    return law.components[i].scale > law.components[j].scale;
  });
  MergedRows rows;
  std::vector<PlacedNodes> placed;
  const auto place = [&](std::size_t k, measures::ScoreNodes nodes, bool is_tilt) {
    const std::size_t row = rows.place(nodes);
    placed.push_back({k, row, std::move(nodes), is_tilt});
  };
  for (const std::size_t k : order) {
    const ScoreComponent& component = law.components[k];
    measures::ScoreNodes nodes = measures::score_nodes(component, reference, prompts, coarsening);
    const bool tilt_apart = nodes.tilt_apart;
    place(k, std::move(nodes), false);
    if (tilt_apart) place(k, measures::tilt_node(component, reference), true);
  }
  const std::ptrdiff_t size = std::ssize(rows.score());
  if (size > most_numbers / count) return {};

  NodeTable table{Eigen::Map<const Eigen::ArrayXd>(rows.score().data(), size), Eigen::ArrayXd::Zero(size),
                  RowMatrix::Zero(size, count)};
  Vector features(count);
  for (const PlacedNodes& part : placed) {
    auto row = static_cast<std::ptrdiff_t>(part.row);
    for (std::size_t i = 0; i < part.nodes.v.size(); ++i, ++row) {
      features.setZero();
      fill({part.component, part.nodes.v[i], part.nodes.one_minus_v_squared[i], part.is_tilt}, features);
      const double expected =
          expected_tokens(length, law.components[part.component].weight, part.nodes.log_weight[i]);
      table.expected[row] += expected;
      table.averages.row(row) += expected * features.transpose();
    }
  }
  return table;
}

NodesAtT::NodesAtT(const Eigen::ArrayXd& score, const Eigen::ArrayXd& expected, double length)
    : score_(score), expected_(expected), length_(length) {
  for (Eigen::ArrayXd* scratch : {&z_, &exponential_, &complement_}) scratch->resize(score.size());
}

double NodesAtT::farthest() const { return -score_.minCoeff(); }

double NodesAtT::exponent(double y) {
  constexpr double kLargestExponent = 700;  // e^700 is finite, and beyond e^450 no node has a share in T
  z_ = (score_ + y).min(kLargestExponent);
  numerics::exp({z_.data(), size()}, {z_.data(), size()});
  exponential_ = -z_;
  numerics::exp({exponential_.data(), size()}, {exponential_.data(), size()});
  complements({z_.data(), size()}, {exponential_.data(), size()}, {complement_.data(), size()});
  const double missing = (expected_ * complement_).sum() / length_;
  if (missing < 0.5) return -std::log1p(-missing);
  return -std::log((expected_ * exponential_).sum() / length_);
}

double sum_over_t(NodesAtT& nodes, double log_partition, double length, double step,
                  const std::function<double(double y)>& add, const std::function<bool()>& is_rest_small) {
  constexpr double kVanishes = 745;  // e^{-745} is zero
  constexpr double kFoldsAtLeft = 25;
  // Here L (1 - φ_0) <= 1: tokens of every size still count, and to the left the terms fall like t² alone.
  const double all_present = -(std::log(length) + log_partition);
  auto last = static_cast<std::int64_t>(std::ceil((4 + nodes.farthest()) / step));
  if (length > 3) {
    auto below = static_cast<std::int64_t>(std::floor(all_present / step));
    while (last - below > 1) {
      const std::int64_t middle = below + (last - below) / 2;
      const double exponent = (length - 2) * nodes.exponent(static_cast<double>(middle) * step);
      (exponent < kVanishes ? below : last) = middle;
    }
  }
  double largest = 0, peak = 0;
  for (std::int64_t k = last;; --k) {
    const double y = static_cast<double>(k) * step;
    const double term = add(y);
    if (!std::isfinite(term)) return y;  // and so is the caller's sum
    if (term > largest) {
      largest = term;
      peak = y;
    }
    const bool small = term <= kNegligibleTerm * largest && is_rest_small();
    if (small && (largest > 0 || y < all_present - kFoldsAtLeft)) return peak;
  }
}

double steepness(const ScoreLaw& law) {
  double steepest = 0;
  for (const ScoreComponent& component : law.components)
    steepest = std::max(steepest, std::abs(component.rate));
  return steepest;
}

double error_of_sum(const ScoreLaw& law, const SumOverT& fine, double coarse) {
  const double difference = fine.magnitude > 0 ? std::abs(fine.value - coarse) / fine.magnitude : 0;
  const double rounding =
      std::numeric_limits<double>::epsilon() * (32 + std::abs(fine.peak) + steepness(law));
  const double relative = std::min(difference, 10 * difference * difference) + rounding + law.relative_error;
  // For subnormal values, the spacing of the subnormal numbers adds to the error.
  return fine.magnitude > 0 ? fine.magnitude * relative + 1e3 * std::numeric_limits<double>::denorm_min() : 0;
}

}  // namespace largo::exact
