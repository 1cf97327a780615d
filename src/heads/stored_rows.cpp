#include "heads/stored_rows.hpp"

#include <bit>
#include <limits>

#include "io/bytes.hpp"

namespace largo::heads {
namespace {

// Without branches, so that a compiler can do many at a time. A half is a float whose exponent is off by 112;
// multiplying by 2^112 sets that right, also for subnormal numbers, and is exact.
double widen_half(std::uint16_t bits) {
  const float magnitude = std::bit_cast<float>(static_cast<std::uint32_t>(bits & 0x7fff) << 13) * 0x1p112F;
  return (bits & 0x8000) != 0 ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
}

template <typename Element, typename Widen>
void widen(const std::byte* from, std::int64_t count, std::int64_t columns, double* to, std::int64_t stride,
           Widen widen_one) {
  for (std::int64_t j = 0; j < count; ++j) {
    for (std::int64_t c = 0; c < columns; ++c)
      to[j * stride + c] = widen_one(io::load<Element>(from + (j * columns + c) * sizeof(Element)));
  }
}

// A number is finite unless all bits of its exponent are set. Blocks are searched before single numbers.
template <typename Bits>
std::optional<std::int64_t> find_exponent(const std::byte* from, std::int64_t count, Bits exponent) {
  constexpr std::int64_t kBlock = 4096;
  for (std::int64_t first = 0; first < count; first += kBlock) {
    const std::int64_t last = std::min(count, first + kBlock);
    int found = 0;
    for (std::int64_t i = first; i < last; ++i)
      found |= static_cast<int>((io::load<Bits>(from + i * sizeof(Bits)) & exponent) == exponent);
    if (found == 0) continue;
    for (std::int64_t i = first; i < last; ++i) {
      if ((io::load<Bits>(from + i * sizeof(Bits)) & exponent) == exponent) return i;
    }
  }
  return std::nullopt;
}

}  // namespace

void widen_rows(const StoredRows& rows, std::int64_t first, std::int64_t count, double* to,
                std::int64_t stride) {
  const std::byte* const from = rows.data + first * rows.columns * size_of(rows.storage);
  switch (rows.storage) {
    case Storage::float16: return widen<std::uint16_t>(from, count, rows.columns, to, stride, widen_half);
    case Storage::bfloat16:
      return widen<std::uint16_t>(from, count, rows.columns, to, stride, io::from_bfloat16);
    case Storage::float32:
      return widen<float>(from, count, rows.columns, to, stride,
                          [](float x) { return static_cast<double>(x); });
    case Storage::float64:
      return widen<double>(from, count, rows.columns, to, stride, [](double x) { return x; });
  }
}

std::optional<std::int64_t> find_not_finite(const StoredRows& rows) {
  const std::int64_t count = rows.rows * rows.columns;
  switch (rows.storage) {
    case Storage::float16: return find_exponent<std::uint16_t>(rows.data, count, 0x7c00);
    case Storage::bfloat16: return find_exponent<std::uint16_t>(rows.data, count, 0x7f80);
    case Storage::float32: return find_exponent<std::uint32_t>(rows.data, count, 0x7f800000);
    case Storage::float64: return find_exponent<std::uint64_t>(rows.data, count, 0x7ff0000000000000);
  }
  return std::nullopt;
}

}  // namespace largo::heads
