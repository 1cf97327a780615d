#include "exact/score_law_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "measures/score_law_nodes.hpp"
#include "numerics/log_sum_exp.hpp"

namespace largo::exact {
namespace {

// Reduces the number of coordinates of x if there are few components; norms stay the same.
void compress(Centred& law) {
  const std::ptrdiff_t count = law.at.cols();
  if (law.at.rows() <= 2 * count) return;
  Matrix columns(law.at.rows(), 2 * count);
  columns << law.at, law.along;
  const Eigen::HouseholderQR<Matrix> factor(columns);
  law.basis = factor.householderQ() * Matrix::Identity(law.at.rows(), 2 * count);
  const Matrix coordinates = factor.matrixQR().topRows(2 * count).triangularView<Eigen::Upper>();
  law.at = coordinates.leftCols(count);
  law.along = coordinates.rightCols(count);
}

}  // namespace

// Everything is taken relative to the component that dominates under the tilt, so that x keeps its digits
// where attention concentrates on it.
Centred centre(const ScoreLaw& law, const ConstMatrixRef& V) {
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
  compress(result);
  return result;
}

namespace {

class TableBuilder {
 public:
  TableBuilder(const ScoreLaw& law, const Centred& centred, double length, int coarsening)
      : centred_(centred), length_(length) {
    // The widest first: the lattices of the others lie within its lattice.
    std::vector<std::size_t> order(law.components.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
      return law.components[i].scale > law.components[j].scale;
    });
    for (const std::size_t k : order) {
      const ScoreComponent& component = law.components[k];
      const measures::ScoreNodes nodes =
          measures::score_nodes(component, centred.reference, std::log(length), coarsening);
      add(component, k, nodes);
      if (nodes.tilt_apart) add(component, k, measures::tilt_node(component, centred.reference));
    }
  }

  Table table() const {
    const auto array = [](const std::vector<double>& values) {
      return Eigen::Map<const Eigen::ArrayXd>(values.data(), std::ssize(values));
    };
    Table result{array(score_), array(expected_), array(square_),
                 Eigen::Map<const Matrix>(x_.data(), centred_.at.rows(), std::ssize(score_)).transpose()};
    for (std::ptrdiff_t i = 0; i < result.score.size(); ++i) {
      if (result.expected[i] > 0) result.x.row(i) /= result.expected[i];
    }
    return result;
  }

 private:
  struct Lattice {
    double step;
    std::int64_t first;
    std::int64_t last;
    std::size_t begin;
  };

  // The row of the first of these nodes in the table; new rows are added unless a lattice holds them all.
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
    expected_.resize(score_.size());
    square_.resize(score_.size());
    x_.resize(score_.size() * static_cast<std::size_t>(centred_.at.rows()));
    return begin;
  }

  void add(const ScoreComponent& component, std::size_t k, const measures::ScoreNodes& nodes) {
    const auto outputs = centred_.at.rows();
    const auto column = static_cast<std::ptrdiff_t>(k);
    std::size_t row = place(nodes);
    Vector x(outputs);
    for (std::size_t i = 0; i < nodes.v.size(); ++i, ++row) {
      x = centred_.at.col(column) + (nodes.v[i] - centred_.tilted[k]) * centred_.along.col(column);
      const double part = component.constant_part + component.round_part * nodes.one_minus_v_squared[i];
      const double expected = expected_tokens(component.weight, nodes.log_weight[i]);
      expected_[row] += expected;
      square_[row] += expected * (x.squaredNorm() + part * centred_.spread[k]);
      Eigen::Map<Vector>(x_.data() + row * static_cast<std::size_t>(outputs), outputs) += expected * x;
    }
  }

  double expected_tokens(double weight, double log_weight) const {
    constexpr double kNearUnderflow = -600;
    if (log_weight > kNearUnderflow) return length_ * weight * std::exp(log_weight);
    return weight * std::exp(log_weight + std::log(length_));
  }

  const Centred& centred_;
  double length_;
  std::vector<double> score_;
  std::vector<double> expected_;
  std::vector<double> square_;
  std::vector<double> x_;
  std::vector<Lattice> lattices_;
};

}  // namespace

Table make_table(const ScoreLaw& law, const Centred& centred, double length, int coarsening) {
  return TableBuilder(law, centred, length, coarsening).table();
}

}  // namespace largo::exact
