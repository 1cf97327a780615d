#include "heads/score_block.hpp"

#include <algorithm>

#include "heads/stored_rows.hpp"
#include "heads/tile_kernel.hpp"

namespace largo::heads {
namespace {

constexpr std::int64_t kScoresInMemory = std::int64_t{1} << 21;  // with as many weights: 32 MB

// Rows of `kTile` keys, one coordinate in each line of the panel. Keys that are missing are zero.
void fill_panel(const StoredRows& keys, std::int64_t first, double* rows, double* panel) {
  const std::int64_t count = std::min(kTile, keys.rows - first), columns = keys.columns;
  widen_rows(keys, first, count, rows, columns);
  constexpr std::int64_t kSquare = 8;  // so that both sides stay in cache lines
  for (std::int64_t j = 0; j < count; j += kSquare) {
    for (std::int64_t c = 0; c < columns; ++c) {
      for (std::int64_t i = j; i < std::min(count, j + kSquare); ++i)
        panel[c * kTile + i] = rows[i * columns + c];
    }
  }
  for (std::int64_t c = 0; c < columns; ++c)
    std::fill(panel + c * kTile + count, panel + (c + 1) * kTile, 0.0);
}

}  // namespace

Range window_of(const CapturedHead& head, std::int64_t row, Visibility visibility, std::int64_t width) {
  const std::int64_t at = position_of(head, row), seen = seen_by(head, row, visibility);
  if (width == 0) return {seen, seen};
  width = std::min(width, head.keys.rows);
  return {std::max<std::int64_t>(0, at - width + 1), std::min(seen, at + width)};
}

ScoreBlock::ScoreBlock(const CapturedHead& head, double scale, Visibility visibility,
                       std::span<const std::int64_t> rows) {
  const std::int64_t columns = head.keys.columns;
  const auto count = static_cast<std::int64_t>(rows.size());
  for (const std::int64_t row : rows) seen_.push_back(seen_by(head, row, visibility));
  const std::int64_t most = seen_.back();
  stride_ = static_cast<std::size_t>((most + kTile - 1) / kTile * kTile);
  scores_.resize(rows.size() * stride_);
  runtime::AlignedVector<double> queries(static_cast<std::size_t>(count * columns));
  for (std::int64_t i = 0; i < count; ++i)
    widen_rows(head.queries, rows[static_cast<std::size_t>(i)], 1, queries.data() + i * columns, columns);
  const Products products = has_exact_products(head.queries, head.keys) ? Products::exact : Products::rounded;
  runtime::AlignedVector<double> tile(static_cast<std::size_t>(kTile * columns)), panel(tile.size());
  std::int64_t from = 0;  // queries before this one see nothing of the tile
  for (std::int64_t first = 0; first < most; first += kTile) {
    while (seen_[static_cast<std::size_t>(from)] <= first) ++from;
    fill_panel(head.keys, first, tile.data(), panel.data());
    score_tile(products, queries.data() + from * columns, count - from, columns, panel.data(), scale,
               scores_.data() + static_cast<std::size_t>(from) * stride_ + first,
               static_cast<std::int64_t>(stride_));
  }
}

std::int64_t block_size(const CapturedHead& head, std::int64_t wanted) {
  if (wanted > 0) return wanted;
  constexpr std::int64_t kMost = 64;
  return std::clamp<std::int64_t>(kScoresInMemory / head.keys.rows, 1, kMost);
}

}  // namespace largo::heads
