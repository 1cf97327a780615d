// A std::vector whose first element starts a cache line, so that no SIMD load of a row straddles two.
// oneTBB's allocator keeps freed memory for the next call: scratch of some 100 kB costs no page faults.
#pragma once

#include <oneapi/tbb/cache_aligned_allocator.h>

#include <vector>

namespace largo {

template <typename T>
using AlignedVector = std::vector<T, tbb::cache_aligned_allocator<T>>;

}  // namespace largo
