#include "sampling/full_prompt.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "largo/numerics/check.hpp"
#include "numerics/distribute.hpp"
#include "numerics/portable_math.hpp"
#include "sampling/labels.hpp"

namespace largo {
namespace {

constexpr std::uint64_t kFirstLane = kLabelLane + 1;

}  // namespace

template <typename T>
FullPrompt<T>::FullPrompt(const Measure& law, SumOrder order) : dimension_(law.dimension()), order_(order) {
  std::uint64_t lane = kFirstLane;
  double sum = 0;
  std::size_t widest = 0;
  for (TokenLeaf& leaf : law.token_leaves()) {
    const std::uint64_t first_lane = lane;
    lane += lanes_of(leaf);
    sum += leaf.probability;
    cumulative_.push_back(sum);
    const auto width = static_cast<std::size_t>(leaf.base_dimension());
    widest = std::max(widest, width);
    auto source = make_token_source<T>(leaf, first_lane);
    leaves_.push_back({std::move(leaf), std::move(source), TokenSums<T>(width, order)});
  }
  if (lane > kMostLanes)
    fail("sampling", "dimension of the law", static_cast<double>(dimension_), "below 2^22 in all");
  chunk_.resize(widest * kChunkTokens);
}

template <typename T>
void FullPrompt<T>::attend(const ConstVectorRef& direction, std::uint64_t seed, std::uint64_t prompt,
                           std::int64_t L, const Execution& execution, PromptTilt& tilt) {
  for (Leaf& leaf : leaves_) leaf.sums.begin(leaf.law.pull_back(direction), Vector());
  share_out_labels(cumulative_, seed, prompt, L, [&](std::size_t k, std::int64_t first, std::int64_t count) {
    add_tokens(leaves_[k], seed, prompt, first, count, execution);
  });
  combine(direction, L, tilt);
}

template <typename T>
void FullPrompt<T>::add_tokens(Leaf& leaf, std::uint64_t seed, std::uint64_t prompt, std::int64_t first,
                               std::int64_t count, const Execution& execution) {
  for (std::int64_t done = 0; done < count; done += kChunkTokens) {
    check_stop(execution);
    const auto size = static_cast<std::size_t>(std::min<std::int64_t>(kChunkTokens, count - done));
    leaf.source->draw(seed, prompt, static_cast<std::uint64_t>(first + done), size, chunk_.data());
    leaf.sums.add(chunk_.data(), size);
  }
}

template <typename T>
void FullPrompt<T>::combine(const ConstVectorRef& direction, std::int64_t L, PromptTilt& tilt) {
  // ln of the factor that each leaf's sums are short of
  std::vector<double> scale(leaves_.size());
  double top = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < leaves_.size(); ++k) {
    const Leaf& leaf = leaves_[k];
    if (leaf.sums.weight() == 0) continue;
    scale[k] = static_cast<double>(leaf.sums.top()) * std::numbers::ln2;
    if (leaf.law.offset.size() > 0) scale[k] += leaf.law.offset.dot(direction);
    top = std::max(top, scale[k]);
  }
  double weight = 0;
  double squares = 0;
  tilt.mean = Vector::Zero(dimension_);
  for (std::size_t k = 0; k < leaves_.size(); ++k) {
    const Leaf& leaf = leaves_[k];
    const double factor = leaf.sums.weight() == 0 ? 0 : portable_exp(scale[k] - top);
    scale[k] = factor;
    if (factor == 0) continue;
    weight += factor * leaf.sums.weight();
    squares += factor * factor * leaf.sums.squared_weight();
    tilt.mean += factor * leaf.law.push_forward(leaf.sums.mean());
    if (leaf.law.offset.size() > 0) tilt.mean += (factor * leaf.sums.weight()) * leaf.law.offset;
  }
  tilt.mean /= weight;
  tilt.p2 = squares / (weight * weight);
  tilt.log_partition = top + portable_log(weight / static_cast<double>(L));
  if (order_ != SumOrder::covariance) return;

  // Around the mean: with z - mean = M x + o, Σ w (Mx + o)(Mx + o)ᵀ.
  tilt.covariance = Matrix::Zero(dimension_, dimension_);
  for (std::size_t k = 0; k < leaves_.size(); ++k) {
    const Leaf& leaf = leaves_[k];
    if (scale[k] == 0) continue;
    const double w = leaf.sums.weight();
    const Vector x_mean = leaf.sums.mean() / w;
    const Matrix spread = leaf.sums.second_moment() / w - x_mean * x_mean.transpose();
    Vector o = leaf.law.push_forward(x_mean) - tilt.mean;
    if (leaf.law.offset.size() > 0) o += leaf.law.offset;
    const double square = leaf.law.scale * leaf.law.scale;
    if (leaf.law.map.rows() == 0) {
      tilt.covariance += (scale[k] * w) * (square * spread + o * o.transpose());
    } else {
      tilt.covariance +=
          (scale[k] * w) * (square * (leaf.law.map * spread * leaf.law.map.transpose()) + o * o.transpose());
    }
  }
  tilt.covariance /= weight;
}

template class FullPrompt<float>;
template class FullPrompt<double>;

}  // namespace largo
