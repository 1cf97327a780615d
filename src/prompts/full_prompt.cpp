#include "prompts/full_prompt.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "largo/runtime/check.hpp"
#include "numerics/portable_math.hpp"
#include "prompts/labels.hpp"
#include "runtime/distribute.hpp"

namespace largo::prompts {
namespace {

constexpr std::uint64_t kFirstLane = kLabelLane + 1;

}  // namespace

std::vector<std::uint64_t> leaf_lanes(const std::vector<TokenLeaf>& leaves) {
  std::vector<std::uint64_t> lanes;
  std::uint64_t lane = kFirstLane;
  for (const TokenLeaf& leaf : leaves) {
    lanes.push_back(lane);
    lane += lanes_of(leaf);
  }
  if (lane > kMostLanes) fail("sampling", "dimension of the law", "too large", "below 2^20");
  return lanes;
}

template <typename T>
FullPrompt<T>::FullPrompt(const std::vector<TokenLeaf>& leaves, std::ptrdiff_t dimension, const Matrix* V)
    : dimension_(dimension), V_(V) {
  const std::vector<std::uint64_t> lanes = leaf_lanes(leaves);
  std::vector<double> probabilities;
  std::size_t widest = 0;
  for (const TokenLeaf& leaf : leaves) {
    probabilities.push_back(leaf.probability);
    const auto width = static_cast<std::size_t>(leaf.base_dimension());
    widest = std::max(widest, width);
    leaves_.push_back({&leaf, make_token_source<T>(leaf, lanes[leaves_.size()]),
                       TokenSums<T>(width, V == nullptr ? SumOrder::mean : SumOrder::covariance)});
    if (V != nullptr) {
      leaves_.back().VM =
          leaf.map.rows() == 0 ? Matrix(leaf.scale * *V) : Matrix(leaf.scale * (*V * leaf.map));
    }
  }
  cumulative_ = cumulative_probabilities(probabilities);
  chunk_.resize(widest * kChunkTokens);
}

template <typename T>
void FullPrompt<T>::attend(const ConstVectorRef& direction, std::uint64_t seed, std::uint64_t prompt,
                           std::int64_t L, const Execution& execution, PromptTilt& tilt) {
  for (Leaf& leaf : leaves_) leaf.drawn = false;
  share_out_labels(cumulative_, seed, prompt, L, [&](std::size_t k, std::int64_t first, std::int64_t count) {
    Leaf& leaf = leaves_[k];
    if (!leaf.drawn) leaf.sums.begin(leaf.law->pull_back(direction), Vector());
    leaf.drawn = true;
    add_tokens(leaf, seed, prompt, first, count, execution);
  });
  combine(direction, L, tilt);
}

template <typename T>
void FullPrompt<T>::attend_sums(const ConstVectorRef& direction, const PreparedPrompts& prepared,
                                std::uint64_t prompt, std::int64_t L, PromptTilt& tilt) {
  for (std::size_t k = 0; k < leaves_.size(); ++k) {
    leaves_[k].sums.set(prepared.row(k, prompt));
    leaves_[k].drawn = leaves_[k].sums.weight() > 0;
  }
  combine(direction, L, tilt);
}

template <typename T>
void FullPrompt<T>::add_tokens(Leaf& leaf, std::uint64_t seed, std::uint64_t prompt, std::int64_t first,
                               std::int64_t count, const Execution& execution) {
  for (std::int64_t done = 0; done < count; done += kChunkTokens) {
    runtime::check_stop(execution);
    const auto size = static_cast<std::size_t>(std::min<std::int64_t>(kChunkTokens, count - done));
    leaf.source->draw(seed, prompt, static_cast<std::uint64_t>(first + done), size, chunk_.data());
    leaf.sums.add(chunk_.data(), size);
  }
}

template <typename T>
void FullPrompt<T>::combine(const ConstVectorRef& direction, std::int64_t L, PromptTilt& tilt) {
  // The factor that the sums of each leaf lack: first its logarithm, then its value relative to the largest.
  double top = -std::numeric_limits<double>::infinity();
  for (Leaf& leaf : leaves_) {
    if (!leaf.drawn) continue;
    leaf.factor = static_cast<double>(leaf.sums.top()) * std::numbers::ln2;
    if (leaf.has_offset()) leaf.factor += leaf.law->offset.dot(direction);
    top = std::max(top, leaf.factor);
  }
  double weight = 0;
  double squares = 0;
  tilt.mean = Vector::Zero(dimension_);
  for (Leaf& leaf : leaves_) {
    if (!leaf.drawn) continue;
    leaf.factor = numerics::portable_exp(leaf.factor - top);
    weight += leaf.factor * leaf.sums.weight();
    squares += leaf.factor * leaf.factor * leaf.sums.squared_weight();
    tilt.mean += leaf.factor * leaf.law->push_forward(leaf.sums.mean());
    if (leaf.has_offset()) tilt.mean += (leaf.factor * leaf.sums.weight()) * leaf.law->offset;
  }
  tilt.mean /= weight;
  tilt.p2 = squares / (weight * weight);
  tilt.log_partition = top + numerics::portable_log(weight / static_cast<double>(L));
  if (V_ != nullptr) combine_covariances(weight, tilt);
}

// Covariances are taken around the mean of each leaf, and these means around the mean of all: with z - mean =
// M (x - x̄) + o, V Σ p (z - mean) (z - mean)ᵀ = VM cov(x) Mᵀ + (V o) oᵀ.
template <typename T>
void FullPrompt<T>::combine_covariances(double weight, PromptTilt& tilt) const {
  tilt.value_covariance = Matrix::Zero(V_->rows(), dimension_);
  for (const Leaf& leaf : leaves_) {
    if (!leaf.drawn || leaf.factor == 0) continue;
    const double w = leaf.sums.weight();
    const Vector x_mean = leaf.sums.mean() / w;
    const Matrix spread = leaf.sums.second_moment() / w - x_mean * x_mean.transpose();
    Vector o = leaf.law->push_forward(x_mean) - tilt.mean;
    if (leaf.has_offset()) o += leaf.law->offset;
    const Matrix half = (leaf.factor * w / weight * leaf.law->scale) * (leaf.VM * spread);
    if (leaf.law->map.rows() == 0) {
      tilt.value_covariance += half;
    } else {
      tilt.value_covariance += half * leaf.law->map.transpose();
    }
    tilt.value_covariance += (leaf.factor * w / weight) * (*V_ * o) * o.transpose();
  }
}

template class FullPrompt<float>;
template class FullPrompt<double>;

}  // namespace largo::prompts
