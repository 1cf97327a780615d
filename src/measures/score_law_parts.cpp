#include "measures/score_law_parts.hpp"

#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "largo/measures/independent_pair.hpp"
#include "largo/measures/product.hpp"
#include "largo/runtime/check.hpp"
#include "measures/sampling.hpp"

namespace largo {
ScoreLaw constant_score(double score, Vector mean, Matrix covariance) {
  ScoreComponent atom;
  atom.centre = score;
  atom.mean = std::move(mean);
  atom.covariance = 0;
  atom.constant_part = 1;
  return {{std::move(atom)}, {std::move(covariance)}};
}

void add_round_component(ScoreLaw& law, double weight, const RoundBase& base, double centre, double s,
                         const Vector& mean, const Vector& slope) {
  ScoreComponent component;
  component.weight = weight;
  component.centre = centre;
  component.mean = mean;
  if (base.order == 1) {  // the sphere of R^1 is two points
    component.weight = weight / 2;
    for (const double sign : {-1.0, 1.0}) {
      component.centre = centre + sign * base.radius * s;
      component.mean = mean + sign * base.radius * slope;
      law.components.push_back(component);
    }
    return;
  }
  component.scale = base.radius * s;
  component.slope = base.radius * slope;
  component.covariance = 0;
  if (base.order == 0) {
    component.shape = ScoreShape::gaussian;
    component.constant_part = base.radius * base.radius;
  } else {
    component.shape = ScoreShape::bounded;
    component.order = base.order;
    component.round_part = base.radius * base.radius / (base.order - 1);
  }
  law.components.push_back(std::move(component));
}

ScoreLaw finite(ScoreLaw law) {
  bool good = true;
  for (const ScoreComponent& component : law.components) {
    good = good && std::isfinite(component.centre) && std::isfinite(component.scale) &&
           component.mean.allFinite() && component.slope.allFinite();
  }
  for (const Matrix& covariance : law.covariances) good = good && covariance.allFinite();
  if (!good) fail("score_law", "a score or a moment overflows float64: scale down the direction or the law");
  return law;
}

// The score of an independent pair, the sum of theirs: a mixture over pairs of components, where each such
// sum is again of a standard shape.

namespace {

constexpr std::size_t kMostComponents = std::size_t{1} << 16;

class PairScore {
 public:
  PairScore(const ScoreLaw& first, const ScoreLaw& second, std::ptrdiff_t d1, std::ptrdiff_t d2)
      : first_(first), second_(second), d1_(d1), d2_(d2) {
    // The covariances of the parts, as covariances of the pair, come first.
    for (const Matrix& C : first.covariances)
      law_.covariances.push_back(block_diagonal(C, Matrix::Zero(d2, d2)));
    for (const Matrix& C : second.covariances)
      law_.covariances.push_back(block_diagonal(Matrix::Zero(d1, d1), C));
    law_.relative_error = first.relative_error + second.relative_error;
  }

  void add(const ScoreComponent& x, const ScoreComponent& y) {
    ScoreComponent sum = y.shape == ScoreShape::atom ? x : y;  // shape, order, rate
    sum.weight = x.weight * y.weight;
    sum.centre = x.centre + y.centre;
    sum.mean = stack(x.mean, y.mean);
    Vector across;  // what the score of two Gaussians leaves free
    if (x.shape == ScoreShape::gaussian && y.shape == ScoreShape::gaussian) {
      sum.scale = std::hypot(x.scale, y.scale);
      const double c = x.scale / sum.scale, s = y.scale / sum.scale;
      sum.slope = stack(c * x.slope, s * y.slope);
      across = stack(s * x.slope, -c * y.slope);
    } else if (x.shape != ScoreShape::atom && y.shape != ScoreShape::atom) {
      refuse();
    } else if (x.shape != ScoreShape::atom) {
      sum.slope = stack(x.slope, Vector::Zero(d2_));
    } else if (y.shape != ScoreShape::atom) {
      sum.slope = stack(Vector::Zero(d1_), y.slope);
    }
    set_covariance(sum, x, y, across);
    law_.components.push_back(std::move(sum));
  }

  ScoreLaw take() { return std::move(law_); }

 private:
  [[noreturn]] static void refuse() {
    fail("score_law",
         "the score of this pair of laws is a convolution of two that are not Gaussian: sample prompts "
         "instead");
  }

  void set_covariance(ScoreComponent& sum, const ScoreComponent& x, const ScoreComponent& y,
                      const Vector& across) {
    const auto take_parts = [&](const ScoreComponent& from, std::ptrdiff_t index) {
      sum.covariance = index;
      sum.constant_part = from.constant_part;
      sum.round_part = from.round_part;
    };
    if (across.size() == 0 && y.covariance < 0) {
      take_parts(x, x.covariance);
    } else if (across.size() == 0 && x.covariance < 0) {
      take_parts(y, y.covariance + std::ssize(first_.covariances));
    } else if (x.round_part == 0 && y.round_part == 0) {
      sum.covariance = constant_covariance(x, y, across);
      sum.constant_part = 1;
      sum.round_part = 0;
    } else {
      refuse();  // two matrices that vary differently with the score
    }
  }

  std::ptrdiff_t constant_covariance(const ScoreComponent& x, const ScoreComponent& y, const Vector& across) {
    const auto made = [&] {
      Matrix C = block_diagonal(part(first_, x, d1_), part(second_, y, d2_));
      if (across.size() > 0) C += across * across.transpose();
      law_.covariances.push_back(std::move(C));
      return std::ssize(law_.covariances) - 1;
    };
    if (across.size() > 0) return made();
    const Key key{x.covariance, x.constant_part, y.covariance, y.constant_part};
    const auto found = constant_.find(key);
    return found != constant_.end() ? found->second : constant_.emplace(key, made()).first->second;
  }

  static Matrix part(const ScoreLaw& law, const ScoreComponent& component, std::ptrdiff_t d) {
    if (component.covariance < 0) return Matrix::Zero(d, d);
    return component.constant_part * law.covariances[static_cast<std::size_t>(component.covariance)];
  }

  using Key = std::tuple<std::ptrdiff_t, double, std::ptrdiff_t, double>;
  const ScoreLaw& first_;
  const ScoreLaw& second_;
  std::ptrdiff_t d1_, d2_;
  ScoreLaw law_;
  std::map<Key, std::ptrdiff_t> constant_;
};

}  // namespace

ScoreLaw IndependentPair::score_law(const ConstVectorRef& direction) const {
  check_direction(direction);
  const ScoreLaw first = first_->score_law(direction.head(first_->dimension()));
  const ScoreLaw second = second_->score_law(direction.tail(second_->dimension()));
  if (first.components.size() * second.components.size() > kMostComponents) {
    fail("score_law",
         fmt::format("the score of this pair of laws has more than {} components: sample prompts instead",
                     kMostComponents));
  }
  PairScore pair(first, second, first_->dimension(), second_->dimension());
  for (const ScoreComponent& x : first.components) {
    for (const ScoreComponent& y : second.components) pair.add(x, y);
  }
  return largo::finite(pair.take());
}

// The score of independent coordinates, Σ_j a_j X_j: a mixture over the values of the discrete ones, which
// may leave one continuous term.

namespace {

bool is_continuous(const std::vector<ScoreComponent>& pieces) {
  for (const ScoreComponent& piece : pieces) {
    if (piece.shape != ScoreShape::atom) return true;
  }
  return false;
}

// What is added to the score and to coordinate j when X_j follows one of its pieces.
ScoreComponent with_coordinate(ScoreComponent so_far, const ScoreComponent& piece, std::ptrdiff_t j,
                               double a) {
  so_far.weight *= piece.weight;
  so_far.centre += a * piece.centre;
  so_far.mean[j] = piece.centre;
  if (piece.shape != ScoreShape::atom) {
    const double sign = std::copysign(1.0, a);  // v points where the score grows
    so_far.shape = piece.shape;
    so_far.scale = std::abs(a) * piece.scale;
    so_far.order = piece.order;
    so_far.rate = sign * piece.rate;
    so_far.slope = sign * piece.scale * Vector::Unit(so_far.mean.size(), j);
  }
  return so_far;
}

}  // namespace

ScoreLaw ProductMeasure::score_law(const ConstVectorRef& direction) const {
  check_direction(direction);
  ScoreComponent start;
  start.mean = Vector::Zero(dimension());
  Matrix ignored =
      Matrix::Zero(dimension(), dimension());  // the covariance of the coordinates the score ignores
  for (std::ptrdiff_t j = 0; j < dimension(); ++j) {
    if (direction[j] != 0) continue;
    const Cumulants cumulants = coordinates_[static_cast<std::size_t>(j)]->cumulants(0);
    start.mean[j] = cumulants.derivative;
    ignored(j, j) = cumulants.curvature;
    start.covariance = 0;
    start.constant_part = 1;
  }
  ScoreLaw law;
  law.components.push_back(std::move(start));
  if (law.components.front().covariance == 0) law.covariances.push_back(std::move(ignored));

  bool continuous = false;
  for (std::ptrdiff_t j = 0; j < dimension(); ++j) {
    if (direction[j] == 0) continue;
    const std::vector<ScoreComponent> pieces = coordinates_[static_cast<std::size_t>(j)]->pieces();
    if (is_continuous(pieces) && std::exchange(continuous, true)) {
      fail("score_law",
           "the direction meets two continuous coordinates of a product law, whose score is a convolution: "
           "sample prompts instead");
    }
    if (law.components.size() * pieces.size() > kMostComponents) {
      fail("score_law", fmt::format("the score of this product law takes more than {} values: sample prompts "
                                    "instead",
                                    kMostComponents));
    }
    std::vector<ScoreComponent> next;
    next.reserve(law.components.size() * pieces.size());
    for (const ScoreComponent& component : law.components) {
      for (const ScoreComponent& piece : pieces) {
        next.push_back(with_coordinate(component, piece, j, direction[j]));
      }
    }
    law.components = std::move(next);
  }
  return largo::finite(std::move(law));
}

}  // namespace largo
