#include "estimation/growing_prompt.hpp"

#include <algorithm>
#include <cmath>

#include "largo/runtime/check.hpp"
#include "numerics/simd_math.hpp"
#include "runtime/distribute.hpp"

namespace largo::estimation {
namespace {

constexpr const char* kFollowGrowingPrompt = "follow_growing_prompt";
constexpr std::int64_t kBlockTokens = 4096;
constexpr std::ptrdiff_t kBlocksAtOnce = 64;  // drawn in parallel, then followed in parallel

// Some consecutive tokens: for each a row (w, w y) with its weight w, relative to the mean weight, and its
// value y, relative to the limit.
struct Block {
  std::int64_t first = 0, count = 0;
  RowMatrix terms;
  Vector sum;                          // of the rows
  Vector before;                       // the sum over all earlier tokens
  std::vector<PromptStretch> reached;  // the stretches that its lengths are in, from the first on
  std::size_t first_stretch = 0;
};

class Walk {
 public:
  Walk(const Measure& law, const ConstMatrixRef& V, const ConstVectorRef& direction,
       const ConstVectorRef& limit, const Stream& stream, std::span<const std::int64_t> ends)
      : law_(law),
        V_(V),
        direction_(direction),
        limit_(limit),
        log_partition_(law.log_partition(direction)),
        stream_(stream),
        ends_(ends) {}

  void draw(Block& block) const {
    RowMatrix tokens(block.count, law_.dimension());
    law_.sample(stream_, static_cast<std::uint64_t>(block.first), tokens);
    Vector weights = (tokens * direction_).array() - log_partition_;
    const std::span<double> values(weights.data(), static_cast<std::size_t>(weights.size()));
    numerics::exp(values, values);
    block.terms.resize(block.count, 1 + V_.rows());
    block.terms.col(0) = weights;
    block.terms.rightCols(V_.rows()) =
        ((tokens * V_.transpose()).rowwise() - limit_.transpose()).array().colwise() * weights.array();
    block.sum = Vector::Zero(block.terms.cols());
    for (Eigen::Index i = 0; i < block.count; ++i) block.sum += block.terms.row(i).transpose();
  }

  // The distances at the lengths that end in this block.
  void follow(Block& block) const {
    const std::int64_t length = block.first + 1;
    block.first_stretch =
        static_cast<std::size_t>(std::lower_bound(ends_.begin(), ends_.end(), length) - ends_.begin());
    block.reached.assign(1, {});
    std::size_t stretch = block.first_stretch;
    Vector sum = block.before;
    for (Eigen::Index i = 0; i < block.count; ++i) {
      const std::int64_t L = length + i;
      if (L > ends_[stretch]) {
        block.reached.push_back({});
        ++stretch;
      }
      for (Eigen::Index k = 0; k < sum.size(); ++k) sum[k] += block.terms(i, k);
      double square = 0;
      for (Eigen::Index k = 1; k < sum.size(); ++k) square += sum[k] * sum[k];
      square /= sum[0] * sum[0];
      PromptStretch& at = block.reached.back();  // squares, until the end of the block
      at.last = L;
      at.distance = square;
      at.largest_distance = std::max(at.largest_distance, square);
      at.largest_scaled = std::max(at.largest_scaled, square * static_cast<double>(L));
    }
    for (PromptStretch& at : block.reached) {
      for (double* number : {&at.distance, &at.largest_distance, &at.largest_scaled})
        *number = std::sqrt(*number);
    }
  }

 private:
  const Measure& law_;
  Matrix V_;
  Vector direction_, limit_;
  double log_partition_;
  Stream stream_;
  std::span<const std::int64_t> ends_;
};

void check(const Measure& law, const ConstMatrixRef& V, const ConstVectorRef& direction,
           const ConstVectorRef& limit, std::span<const std::int64_t> ends) {
  if (V.cols() != law.dimension() || direction.size() != law.dimension() || limit.size() != V.rows())
    fail(kFollowGrowingPrompt, "V, direction and limit must fit the tokens");
  std::int64_t before = 0;
  for (const std::int64_t end : ends) {
    if (end <= before) {
      fail(kFollowGrowingPrompt, "stretch_ends", static_cast<double>(end),
           "increasing lengths of at least 1");
    }
    before = end;
  }
  if (ends.empty()) fail(kFollowGrowingPrompt, "one stretch at least is needed");
}

}  // namespace

std::vector<PromptStretch> follow_growing_prompt(const Measure& law, const ConstMatrixRef& V,
                                                 const ConstVectorRef& direction, const ConstVectorRef& limit,
                                                 const Stream& stream,
                                                 std::span<const std::int64_t> stretch_ends,
                                                 const Execution& execution) {
  check(law, V, direction, limit, stretch_ends);
  const Walk walk(law, V, direction, limit, stream, stretch_ends);
  std::vector<PromptStretch> stretches(stretch_ends.size());
  Vector sum = Vector::Zero(1 + V.rows());
  const std::int64_t length = stretch_ends.back();
  std::vector<Block> blocks(kBlocksAtOnce);
  for (std::int64_t first = 0; first < length; first += kBlocksAtOnce * kBlockTokens) {
    const std::ptrdiff_t count =
        std::min<std::ptrdiff_t>(kBlocksAtOnce, (length - first + kBlockTokens - 1) / kBlockTokens);
    runtime::parallel_for(count, execution, [&](std::ptrdiff_t k) {
      runtime::check_stop(execution);
      Block& block = blocks[static_cast<std::size_t>(k)];
      block.first = first + k * kBlockTokens;
      block.count = std::min(kBlockTokens, length - block.first);
      walk.draw(block);
    });
    for (std::ptrdiff_t k = 0; k < count; ++k) {
      blocks[static_cast<std::size_t>(k)].before = sum;
      sum += blocks[static_cast<std::size_t>(k)].sum;
    }
    runtime::parallel_for(count, execution,
                          [&](std::ptrdiff_t k) { walk.follow(blocks[static_cast<std::size_t>(k)]); });
    for (std::ptrdiff_t k = 0; k < count; ++k) {
      const Block& block = blocks[static_cast<std::size_t>(k)];
      for (std::size_t i = 0; i < block.reached.size(); ++i) {
        PromptStretch& stretch = stretches[block.first_stretch + i];
        const PromptStretch& piece = block.reached[i];
        stretch.last = piece.last;
        stretch.distance = piece.distance;
        stretch.largest_distance = std::max(stretch.largest_distance, piece.largest_distance);
        stretch.largest_scaled = std::max(stretch.largest_scaled, piece.largest_scaled);
      }
    }
  }
  return stretches;
}

}  // namespace largo::estimation
