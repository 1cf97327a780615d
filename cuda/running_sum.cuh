// Softmax-weighted sums that are added one after another, each relative to its own power of two, 2^top.
#pragma once

#include "portable.cuh"

namespace largo::cuda {

/// One of the sums of a row, relative to 2^top, as in TokenSums::add and ScoreSums::merge.
struct RunningSum {
  double sum = 0, top = 0;
  bool empty = true;

  /// `power` is that of the weight in this sum, 1 to 3.
  LARGO_HOST_DEVICE void add(double more, double more_top, int power) {
    if (empty) top = more_top;
    empty = false;
    if (top < more_top) {  // seldom, so a sum mostly waits for one addition alone
      sum = scaled(sum, top - more_top, power);
      top = more_top;
    }
    sum = sum + scaled(more, more_top - top, power);
  }

  /// x times 2^{exponent power}, for whole exponents up to 0.
  LARGO_HOST_DEVICE static double scaled(double x, double exponent, int power) {
    const double scale = power_of_two(static_cast<std::int64_t>(exponent));
    return x * scale * (power > 1 ? scale : 1) * (power > 2 ? scale : 1);
  }
};

/// Calls add(number, top) for number k of rows 0, 1, ... of `width` numbers, in order; several loads are
/// under way before the first is used.
template <typename Add>
LARGO_HOST_DEVICE void for_rows_of(const double* rows, std::int64_t count, std::int64_t width, std::int64_t k,
                                   const Add& add) {
  constexpr int kAhead = 8;
  for (std::int64_t first = 0; first < count; first += kAhead) {
    double number[kAhead], top[kAhead];
    LARGO_UNROLL
    for (int a = 0; a < kAhead; ++a) {
      const std::int64_t at = (first + a < count ? first + a : count - 1) * width;
      number[a] = rows[at + k];
      top[a] = rows[at + width - 1];
    }
    LARGO_UNROLL
    for (int a = 0; a < kAhead; ++a) {
      if (first + a < count) add(number[a], top[a]);
    }
  }
}

}  // namespace largo::cuda
