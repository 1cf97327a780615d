// Some of many, evenly spaced.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace largo::heads {

/// `wanted` of `count` rows, evenly spaced, the last among them; all if `wanted` is 0 or at least `count`.
inline std::vector<std::int64_t> evenly_spaced(std::int64_t count, std::int64_t wanted) {
  if (wanted == 0 || wanted >= count) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), std::int64_t{0});
    return all;
  }
  std::vector<std::int64_t> result;
  // floor((i + 1) count / wanted) - 1 without overflow
  for (std::int64_t i = 1; i <= wanted; ++i)
    result.push_back(count / wanted * i + count % wanted * i / wanted - 1);
  return result;
}

}  // namespace largo::heads
