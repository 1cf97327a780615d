// A std::vector whose first element starts a cache line, so that no SIMD load of a row straddles two.
// oneTBB's allocator keeps freed memory for the next call: scratch of some 100 kB costs no page faults.
#pragma once

#include <oneapi/tbb/cache_aligned_allocator.h>

#include <vector>

#include "runtime/race_detector.hpp"

#ifdef LARGO_THREAD_SANITIZER
#include <boost/align/aligned_allocator.hpp>
#endif

namespace largo::runtime {

#ifdef LARGO_THREAD_SANITIZER
// ThreadSanitizer does not see oneTBB hand freed memory from one thread to another, and reports a race.
template <typename T>
using AlignedVector = std::vector<T, boost::alignment::aligned_allocator<T, 64>>;
#else
template <typename T>
using AlignedVector = std::vector<T, tbb::cache_aligned_allocator<T>>;
#endif

}  // namespace largo::runtime
