// A std::vector whose first element starts a cache line, so that no SIMD load of a row straddles two.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace largo {

template <typename T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  CacheLineAllocator() = default;
  template <typename U>
  CacheLineAllocator(const CacheLineAllocator<U>& /*other*/) {}  // NOLINT(google-explicit-constructor)

  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* memory, std::size_t /*count*/) { ::operator delete(memory, kLine); }
  bool operator==(const CacheLineAllocator&) const = default;
};

template <typename T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace largo
