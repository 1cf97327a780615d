#include "sampling/full_prompt.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "largo/numerics/check.hpp"
#include "largo/numerics/simd_math.hpp"
#include "numerics/distribute.hpp"

namespace largo {
namespace {

// Tokens of a mixture are shared out to its leaves in spans: long enough for each leaf to fill chunks.
constexpr std::int64_t kSpan = std::int64_t{1} << 14;
constexpr std::uint64_t kLabelLane = 0;
constexpr std::uint64_t kFirstLane = 1;

double exp_of(double x) {
  double y = 0;
  simd::exp({&x, 1}, {&y, 1});
  return y;
}

double log_of(double x) {
  double y = 0;
  simd::log({&x, 1}, {&y, 1});
  return y;
}

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
  if (leaves_.size() == 1) {
    add_tokens(leaves_.front(), seed, prompt, 0, L, execution);
  } else {
    // Attention does not see the order of the tokens: leaf k gets as many as its share of the labels, and
    // numbers them on its own.
    for (std::int64_t first = 0; first < L; first += kSpan) {
      share_out(seed, prompt, first, std::min(kSpan, L - first));
      for (Leaf& leaf : leaves_) add_tokens(leaf, seed, prompt, first, leaf.count, execution);
    }
  }
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
void FullPrompt<T>::share_out(std::uint64_t seed, std::uint64_t prompt, std::int64_t first,
                              std::int64_t count) {
  for (Leaf& leaf : leaves_) leaf.count = 0;
  alignas(64) std::uint32_t high[kChunkTokens], low[kChunkTokens];
  for (std::int64_t done = 0; done < count; done += kChunkTokens) {
    const std::int64_t size = std::min<std::int64_t>(kChunkTokens, count - done);
    token_words(lane_address(seed, prompt, kLabelLane, static_cast<std::uint64_t>(first + done)),
                static_cast<std::size_t>(size + kTokensAtOnce - 1) / kTokensAtOnce, high, low);
    for (std::int64_t i = 0; i < size; ++i) {
      const double target = open_uniform(high[i], low[i]) * cumulative_.back();
      const auto at = std::upper_bound(cumulative_.begin(), std::prev(cumulative_.end()), target);
      ++leaves_[static_cast<std::size_t>(at - cumulative_.begin())].count;
    }
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
    const double factor = leaf.sums.weight() == 0 ? 0 : exp_of(scale[k] - top);
    scale[k] = factor;
    if (factor == 0) continue;
    weight += factor * leaf.sums.weight();
    squares += factor * factor * leaf.sums.squared_weight();
    tilt.mean += factor * leaf.law.push_forward(leaf.sums.mean());
    if (leaf.law.offset.size() > 0) tilt.mean += (factor * leaf.sums.weight()) * leaf.law.offset;
  }
  tilt.mean /= weight;
  tilt.p2 = squares / (weight * weight);
  tilt.log_partition = top + log_of(weight / static_cast<double>(L));
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
