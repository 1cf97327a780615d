#include "largo/measures/independent_pair.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "largo/measures/token_leaf.hpp"
#include "largo/runtime/check.hpp"
#include "measures/blocks.hpp"
#include "measures/nesting.hpp"
#include "measures/sampling.hpp"
#include "measures/score_law_parts.hpp"

namespace largo {
namespace {

// The parts have substreams of their own; number 1 is for what a law draws besides its tokens.
constexpr std::uint64_t kFirstStream = 2;
constexpr std::uint64_t kSecondStream = 3;

std::ptrdiff_t common_dimension(const MeasurePtr& first, const MeasurePtr& second) {
  if (!first || !second) fail("IndependentPair", "a part is null");
  return first->dimension() + second->dimension();
}

}  // namespace

IndependentPair::IndependentPair(MeasurePtr first, MeasurePtr second)
    : Measure(common_dimension(first, second)), first_(std::move(first)), second_(std::move(second)) {
  nesting_ = measures::nesting_around("IndependentPair", {first_, second_});
}

double IndependentPair::log_partition(const ConstVectorRef& direction) const {
  check_direction(direction);
  return first_->log_partition(direction.head(first_->dimension())) +
         second_->log_partition(direction.tail(second_->dimension()));
}

Tilt IndependentPair::join(const Tilt& first, const Tilt& second, TiltOrder order) const {
  Tilt result;
  result.log_partition = first.log_partition + second.log_partition;
  if (order >= TiltOrder::mean) result.mean = measures::stack(first.mean, second.mean);
  if (order >= TiltOrder::covariance)
    result.covariance = measures::block_diagonal(first.covariance, second.covariance);
  return finite(std::move(result));
}

Tilt IndependentPair::tilt(const ConstVectorRef& direction, TiltOrder order) const {
  check_direction(direction);
  return join(first_->tilt(direction.head(first_->dimension()), order),
              second_->tilt(direction.tail(second_->dimension()), order), order);
}

std::vector<Tilt> IndependentPair::tilts(const ConstMatrixRef& directions, TiltOrder order,
                                         const Execution& execution) const {
  check_size("tilts", "each direction", directions.rows(), dimension());
  std::vector<Tilt> results = first_->tilts(directions.topRows(first_->dimension()), order, execution);
  const std::vector<Tilt> others =
      second_->tilts(directions.bottomRows(second_->dimension()), order, execution);
  for (std::size_t q = 0; q < results.size(); ++q) results[q] = join(results[q], others[q], order);
  return results;
}

Matrix IndependentPair::tilted_covariance_products(const ConstMatrixRef& directions,
                                                   const ConstMatrixRef& vectors,
                                                   const Execution& execution) const {
  check_pairs(directions, vectors);
  const std::ptrdiff_t d1 = first_->dimension();
  const std::ptrdiff_t d2 = second_->dimension();
  Matrix products(dimension(), directions.cols());
  products.topRows(d1) =
      first_->tilted_covariance_products(directions.topRows(d1), vectors.topRows(d1), execution);
  products.bottomRows(d2) =
      second_->tilted_covariance_products(directions.bottomRows(d2), vectors.bottomRows(d2), execution);
  return products;
}

Vector IndependentPair::mean() const { return measures::stack(first_->mean(), second_->mean()); }

Matrix IndependentPair::covariance() const {
  return measures::block_diagonal(first_->covariance(), second_->covariance());
}

double IndependentPair::sub_gaussian_constant() const {
  return std::max(first_->sub_gaussian_constant(), second_->sub_gaussian_constant());
}

SubGaussianKind IndependentPair::sub_gaussian_kind() const {
  return std::max(first_->sub_gaussian_kind(), second_->sub_gaussian_kind());
}

void IndependentPair::sample(const Stream& stream, std::uint64_t first_token,
                             Eigen::Ref<RowMatrix> tokens) const {
  check_size("sample", "each token", tokens.cols(), dimension());
  first_->sample(stream.substream(kFirstStream), first_token, tokens.leftCols(first_->dimension()));
  second_->sample(stream.substream(kSecondStream), first_token, tokens.rightCols(second_->dimension()));
}

// The score of an independent pair is the sum of the scores of its parts: a mixture over pairs of components,
// where each such sum must again be of a standard shape.

namespace {

class PairScore {
 public:
  PairScore(const ScoreLaw& first, const ScoreLaw& second, std::ptrdiff_t d1, std::ptrdiff_t d2)
      : first_(first), second_(second), d1_(d1), d2_(d2) {
    // The covariances of the parts, as covariances of the pair, come first.
    for (const Matrix& C : first.covariances)
      law_.covariances.push_back(measures::block_diagonal(C, Matrix::Zero(d2, d2)));
    for (const Matrix& C : second.covariances)
      law_.covariances.push_back(measures::block_diagonal(Matrix::Zero(d1, d1), C));
    law_.relative_error = first.relative_error + second.relative_error;
  }

  void add(const ScoreComponent& x, const ScoreComponent& y) {
    ScoreComponent sum = y.shape == ScoreShape::atom ? x : y;  // shape, order, rate
    sum.weight = x.weight * y.weight;
    sum.centre = x.centre + y.centre;
    sum.mean = measures::stack(x.mean, y.mean);
    Vector across;  // the direction that the score of two Gaussians leaves free
    if (x.shape == ScoreShape::gaussian && y.shape == ScoreShape::gaussian) {
      sum.scale = std::hypot(x.scale, y.scale);
      const double c = x.scale / sum.scale, s = y.scale / sum.scale;
      sum.slope = measures::stack(c * x.slope, s * y.slope);
      across = measures::stack(s * x.slope, -c * y.slope);
    } else if (x.shape != ScoreShape::atom && y.shape != ScoreShape::atom) {
      refuse();
    } else if (x.shape != ScoreShape::atom) {
      sum.slope = measures::stack(x.slope, Vector::Zero(d2_));
    } else if (y.shape != ScoreShape::atom) {
      sum.slope = measures::stack(Vector::Zero(d1_), y.slope);
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
      sum.fourth = from.fourth;
    };
    if (across.size() == 0 && y.covariance < 0) {
      take_parts(x, x.covariance);
    } else if (across.size() == 0 && x.covariance < 0) {
      take_parts(y, y.covariance + std::ssize(first_.covariances));
    } else if (x.round_part == 0 && y.round_part == 0) {
      sum.covariance = constant_covariance(x, y, across);
      sum.constant_part = 1;
      sum.round_part = 0;
      sum.fourth = is_gaussian(x) && is_gaussian(y) ? std::optional(1.0) : std::nullopt;
    } else {
      refuse();  // two matrices that vary differently with the score
    }
  }

  // Whether a token of this component is Gaussian given its score.
  static bool is_gaussian(const ScoreComponent& component) {
    return component.covariance < 0 || component.fourth == 1.0;
  }

  std::ptrdiff_t constant_covariance(const ScoreComponent& x, const ScoreComponent& y, const Vector& across) {
    const auto made = [&] {
      Matrix C = measures::block_diagonal(part(first_, x, d1_), part(second_, y, d2_));
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
  if (first.components.size() * second.components.size() > measures::kMostScoreComponents) {
    fail("score_law",
         fmt::format("the score of this pair of laws has more than {} components: sample prompts instead",
                     measures::kMostScoreComponents));
  }
  PairScore pair(first, second, first_->dimension(), second_->dimension());
  for (const ScoreComponent& x : first.components) {
    for (const ScoreComponent& y : second.components) pair.add(x, y);
  }
  return measures::finite_law(pair.take());
}

namespace {

constexpr std::size_t kMostPairs = 256;

bool is_gaussian(const TokenLeaf& leaf) {
  return std::holds_alternative<NormalTokens>(leaf.base) && !leaf.squared_radius;
}

}  // namespace

std::vector<TokenLeaf> IndependentPair::token_leaves() const {
  const std::vector<TokenLeaf> first = first_->token_leaves(), second = second_->token_leaves();
  if (!std::all_of(first.begin(), first.end(), is_gaussian) ||
      !std::all_of(second.begin(), second.end(), is_gaussian) || first.size() * second.size() > kMostPairs) {
    return Measure::token_leaves();
  }
  const std::ptrdiff_t d1 = first_->dimension(), d2 = second_->dimension();
  std::vector<TokenLeaf> leaves;
  for (const TokenLeaf& x : first) {
    for (const TokenLeaf& y : second) {
      TokenLeaf pair;
      pair.probability = x.probability * y.probability;
      const Matrix X = x.whole_map(), Y = y.whole_map();
      pair.map = Matrix::Zero(d1 + d2, X.cols() + Y.cols());
      pair.map.topLeftCorner(d1, X.cols()) = X;
      pair.map.bottomRightCorner(d2, Y.cols()) = Y;
      pair.base = NormalTokens{pair.map.cols()};
      pair.offset = measures::stack(x.whole_offset(), y.whole_offset());
      leaves.push_back(std::move(pair));
    }
  }
  return leaves;
}

}  // namespace largo
