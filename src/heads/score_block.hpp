// The scores of some queries of a head, and what each of them sees.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "largo/heads/audit_options.hpp"
#include "largo/heads/captured_head.hpp"
#include "runtime/aligned_vector.hpp"

namespace largo::heads {

/// Positions from `begin` to before `end`.
struct Range {
  std::int64_t begin = 0, end = 0;
  bool contains(std::int64_t position) const { return begin <= position && position < end; }
};

/// The position in the prompt of query `row`: queries are those of the last tokens.
inline std::int64_t position_of(const CapturedHead& head, std::int64_t row) {
  return head.keys.rows - head.queries.rows + row;
}

/// The number of keys that it sees, which are the first ones.
inline std::int64_t seen_by(const CapturedHead& head, std::int64_t row, Visibility visibility) {
  return visibility == Visibility::causal ? position_of(head, row) + 1 : head.keys.rows;
}

/// The keys it sees that are less than `width` tokens away.
Range window_of(const CapturedHead& head, std::int64_t row, Visibility visibility, std::int64_t width);

class ScoreBlock {
 public:
  /// Rows of queries in increasing order. Cost: one pass over the keys that any of them sees.
  ScoreBlock(const CapturedHead& head, double scale, Visibility visibility,
             std::span<const std::int64_t> rows);

  std::span<const double> scores(std::size_t i) const {
    return {scores_.data() + i * stride_, static_cast<std::size_t>(seen_[i])};
  }
  std::int64_t seen(std::size_t i) const { return seen_[i]; }

 private:
  std::size_t stride_ = 0;
  std::vector<std::int64_t> seen_;
  runtime::AlignedVector<double> scores_;
};

/// How many queries of this head share a pass, so that scores and weights take at most 32 MB.
std::int64_t block_size(const CapturedHead& head, std::int64_t wanted);

}  // namespace largo::heads
