#include "measures/density.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include <Eigen/LU>

#include "largo/measures/token_leaf.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/simd_math.hpp"
#include "numerics/sphere_functions.hpp"

namespace largo::measures {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
constexpr double kFarBelow = -1e300;  // stands for -∞ where a difference of two of them would be NaN
constexpr double kSoftSlope = 10, kSoftRates = 2;  // Edges::soft
constexpr double kInterval = 3;  // the order of a bounded shape whose density is ∝ e^{rate v}
constexpr double kLeastCondition = 1e-14;
const double kLogRootTwoPi = 0.5 * std::log(2 * std::numbers::pi);

std::span<double> numbers(Eigen::ArrayXd& values) {
  return {values.data(), static_cast<std::size_t>(values.size())};
}

// sum = log(e^sum + e^term), element by element; `larger` is scratch memory
void add_in_logs(Eigen::ArrayXd& sum, Eigen::ArrayXd& term, Eigen::ArrayXd& larger) {
  larger = sum.max(term).max(kFarBelow);
  sum -= larger;
  term -= larger;
  numerics::exp(numbers(sum), numbers(sum));
  numerics::exp(numbers(term), numbers(term));
  sum += term;
  numerics::log(numbers(sum), numbers(sum));
  sum += larger;
}

// A law of a user's own may have no pieces.
std::vector<ScoreComponent> pieces_of(const CoordinateLaw& law) {
  try {
    return law.pieces();
  } catch (const InputError&) {
    return {};
  }
}

bool has_atoms_only(const std::vector<ScoreComponent>& pieces) {
  return !pieces.empty() && std::all_of(pieces.begin(), pieces.end(), [](const ScoreComponent& piece) {
    return piece.shape == ScoreShape::atom;
  });
}

}  // namespace

std::optional<ScalarDensity> ScalarDensity::of(const std::vector<ScoreComponent>& pieces) {
  ScalarDensity density;
  for (const ScoreComponent& piece : pieces) {
    if (piece.weight == 0) continue;
    const bool is_gaussian = piece.shape == ScoreShape::gaussian;
    const bool is_interval = piece.shape == ScoreShape::bounded && piece.order == kInterval;
    if (!is_gaussian && !is_interval) return std::nullopt;
    // On [-1, 1] the density of v is e^{rate v} over 2 E e^{rate v}, the mean being over the uniform law.
    const double normaliser =
        is_gaussian ? kLogRootTwoPi
                    : std::numbers::ln2 + numerics::sphere_tilt(kInterval, std::abs(piece.rate)).value;
    density.pieces_.push_back({std::log(piece.weight) - std::log(piece.scale) - normaliser, piece.centre,
                               piece.scale, is_gaussian ? 0 : piece.rate, is_gaussian});
  }
  if (density.pieces_.empty()) return std::nullopt;
  return density;
}

void ScalarDensity::log(std::span<const double> x, std::span<double> y, Edges edges) const {
  constexpr std::size_t kTogether = 512;
  Eigen::ArrayXd sum, term, larger;
  for (std::size_t first = 0; first < x.size(); first += kTogether) {
    const auto count = static_cast<Eigen::Index>(std::min(kTogether, x.size() - first));
    const Eigen::Map<const Eigen::ArrayXd> points(x.data() + first, count);
    for (std::size_t k = 0; k < pieces_.size(); ++k) {
      const Piece& piece = pieces_[k];
      Eigen::ArrayXd& to = k == 0 ? sum : term;
      to = (points - piece.centre) / piece.scale;
      if (piece.is_gaussian) {
        to = piece.log_height - 0.5 * to.square();
      } else {
        const auto inside = to.max(-1).min(1);  // the nearest point of the interval
        larger = (to - inside).abs();
        to = piece.log_height + piece.rate * inside;
        if (edges == Edges::soft) {
          to -= std::max(kSoftSlope, kSoftRates * std::abs(piece.rate)) * larger;
        } else {
          to = (larger > 0).select(kMinusInfinity, to);
        }
      }
      if (k > 0) add_in_logs(sum, term, larger);
    }
    Eigen::Map<Eigen::ArrayXd>(y.data() + first, count) = sum;
  }
}

std::optional<LawDensity> LawDensity::of(const Measure& law) {
  LawDensity density;
  const Eigen::Index d = law.dimension();
  for (const TokenLeaf& leaf : law.token_leaves()) {
    if (leaf.squared_radius || leaf.base_dimension() != d) return std::nullopt;
    const Eigen::PartialPivLU<Matrix> factor(leaf.whole_map());
    if (!(factor.rcond() > kLeastCondition)) return std::nullopt;
    Part part{std::log(leaf.probability) - factor.matrixLU().diagonal().array().abs().log().sum(),
              factor.inverse(),
              leaf.whole_offset(),
              {}};
    Vector mean = Vector::Zero(d), deviations = Vector::Ones(d);
    if (const auto* product = std::get_if<ProductTokens>(&leaf.base)) {
      for (Eigen::Index j = 0; j < d; ++j) {
        const CoordinateLaw& coordinate = *product->coordinates[static_cast<std::size_t>(j)];
        std::optional<ScalarDensity> one = ScalarDensity::of(pieces_of(coordinate));
        if (!one) return std::nullopt;
        part.coordinates.push_back(std::move(*one));
        const Cumulants moments = coordinate.cumulants(0);
        mean[j] = moments.derivative;
        deviations[j] = std::sqrt(moments.curvature);
      }
    } else if (!std::holds_alternative<NormalTokens>(leaf.base)) {
      return std::nullopt;
    }
    density.moments_.push_back(
        {part.offset + leaf.push_forward(mean), leaf.whole_map() * deviations.asDiagonal()});
    density.parts_.push_back(std::move(part));
  }
  return density;
}

Vector LawDensity::log(const ConstMatrixRef& points, Edges edges) const {
  Eigen::ArrayXd sum, term, larger;
  Vector coordinate(points.cols());
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    const Part& part = parts_[k];
    const Matrix x = part.inverse * (points.colwise() - part.offset);
    Eigen::ArrayXd& to = k == 0 ? sum : term;
    if (part.coordinates.empty()) {
      to = part.log_weight - kLogRootTwoPi * static_cast<double>(x.rows()) -
           0.5 * x.colwise().squaredNorm().array().transpose();
    } else {
      to.setConstant(points.cols(), part.log_weight);
      for (Eigen::Index j = 0; j < x.rows(); ++j) {
        coordinate = x.row(j).transpose();
        const std::span<double> values(coordinate.data(), static_cast<std::size_t>(coordinate.size()));
        part.coordinates[static_cast<std::size_t>(j)].log(values, values, edges);
        to += coordinate.array();
      }
    }
    if (k > 0) add_in_logs(sum, term, larger);
  }
  return sum.matrix();
}

std::optional<FinitePoints> finite_points(const Measure& law, std::size_t most) {
  const Eigen::Index d = law.dimension();
  std::vector<std::pair<Vector, double>> found;
  for (const TokenLeaf& leaf : law.token_leaves()) {
    if (std::holds_alternative<NormalTokens>(leaf.base) && leaf.whole_map().isZero(0)) {
      found.emplace_back(leaf.whole_offset(), leaf.probability);
      continue;
    }
    const auto* product = std::get_if<ProductTokens>(&leaf.base);
    if (product == nullptr || leaf.squared_radius) return std::nullopt;
    const Eigen::Index n = leaf.base_dimension();
    std::vector<std::pair<Vector, double>> points = {{Vector::Zero(n), leaf.probability}};
    for (Eigen::Index j = 0; j < n; ++j) {
      const std::vector<ScoreComponent> pieces =
          pieces_of(*product->coordinates[static_cast<std::size_t>(j)]);
      if (!has_atoms_only(pieces) || points.size() * pieces.size() > most) return std::nullopt;
      std::vector<std::pair<Vector, double>> longer;
      for (const auto& [point, probability] : points) {
        for (const ScoreComponent& piece : pieces) {
          longer.emplace_back(point, probability * piece.weight);
          longer.back().first[j] = piece.centre;
        }
      }
      points = std::move(longer);
    }
    for (const auto& [point, probability] : points) {
      found.emplace_back(leaf.whole_offset() + leaf.push_forward(point), probability);
    }
    if (found.size() > most) return std::nullopt;
  }
  FinitePoints all{Matrix(d, std::ssize(found)), Vector(std::ssize(found))};
  for (std::size_t k = 0; k < found.size(); ++k) {
    all.points.col(static_cast<Eigen::Index>(k)) = found[k].first;
    all.probabilities[static_cast<Eigen::Index>(k)] = found[k].second;
  }
  return all;
}

}  // namespace largo::measures
