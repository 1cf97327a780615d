#include "largo/numerics/exact_sum.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace largo {
namespace {

constexpr int kDigitBits = 32;
constexpr std::int64_t kDigitMask = (std::int64_t{1} << kDigitBits) - 1;
constexpr int kMantissaBits = 52;
constexpr std::uint64_t kMantissaMask = (std::uint64_t{1} << kMantissaBits) - 1;
constexpr int kExponentMask = 0x7ff;
constexpr int kLowestExponent = -1074;  // of the lowest bit of digit 0

}  // namespace

void ExactSum::add_finite(std::uint64_t bits) {
  // The term is +-mantissa 2^(shift - 1074); it overlaps at most three digits.
  const int exponent = static_cast<int>(bits >> kMantissaBits) & kExponentMask;
  const bool normal = exponent != 0;
  const std::uint64_t mantissa = (bits & kMantissaMask) | (std::uint64_t{normal} << kMantissaBits);
  const int shift = exponent - static_cast<int>(normal);
  const int digit = shift / kDigitBits;
  const int offset = shift % kDigitBits;
  const std::uint64_t low = mantissa << offset;  // bits 0..63 of the shifted
  const std::uint64_t high = offset == 0 ? 0 : mantissa >> (2 * kDigitBits - offset);  // and those above
  const std::int64_t negate = -static_cast<std::int64_t>(bits >> 63);                  // 0 or -1
  const auto signed_digit = [negate](std::uint64_t magnitude) {
    return (static_cast<std::int64_t>(magnitude) ^ negate) - negate;
  };
  std::int64_t* const at = &digits_[static_cast<std::size_t>(digit)];
  at[0] += signed_digit(low & static_cast<std::uint64_t>(kDigitMask));
  at[1] += signed_digit(low >> kDigitBits);
  at[2] += signed_digit(high);
}

void ExactSum::propagate() {
  // Every digit but the last to 0 <= digit < 2^32; the last one carries the sign.
  for (std::size_t k = 0; k + 1 < digits_.size(); ++k) {
    digits_[k + 1] += digits_[k] >> kDigitBits;
    digits_[k] &= kDigitMask;
  }
  adds_since_carry_ = 0;
}

void ExactSum::add(double term) {
  if (!std::isfinite(term)) {
    nan_ = nan_ || std::isnan(term);
    positive_infinity_ = positive_infinity_ || term > 0;
    negative_infinity_ = negative_infinity_ || term < 0;
    return;
  }
  add_finite(std::bit_cast<std::uint64_t>(term));
  if (++adds_since_carry_ == kAddsBetweenCarries) propagate();
}

void ExactSum::add(std::span<const double> terms) {
  for (const double term : terms) add(term);
}

void ExactSum::merge(const ExactSum& other) {
  ExactSum carried = other;
  carried.propagate();
  propagate();
  for (std::size_t k = 0; k < digits_.size(); ++k) digits_[k] += carried.digits_[k];
  propagate();
  nan_ = nan_ || other.nan_;
  positive_infinity_ = positive_infinity_ || other.positive_infinity_;
  negative_infinity_ = negative_infinity_ || other.negative_infinity_;
}

double ExactSum::value() const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (nan_ || (positive_infinity_ && negative_infinity_)) return std::numeric_limits<double>::quiet_NaN();
  if (positive_infinity_ || negative_infinity_) return positive_infinity_ ? kInfinity : -kInfinity;

  ExactSum sum = *this;
  sum.propagate();
  const bool negative = sum.digits_.back() < 0;
  if (negative) {
    for (std::int64_t& digit : sum.digits_) digit = -digit;
    sum.propagate();
  }
  int top = kDigits - 1;
  while (top >= 0 && sum.digits_[static_cast<std::size_t>(top)] == 0) --top;
  if (top < 0) return 0;

  // The leading 64 bits, the last of them sticky; then one rounding to the 53 bits, or fewer for subnormals.
  const auto digit = [&sum](int k) {
    return k < 0 ? std::uint64_t{0} : static_cast<std::uint64_t>(sum.digits_[static_cast<std::size_t>(k)]);
  };
  // The top digit may exceed 32 bits only beyond the range of double.
  if (digit(top) >> kDigitBits != 0) return negative ? -kInfinity : kInfinity;
  const int zeros = std::countl_zero(static_cast<std::uint32_t>(digit(top)));
  std::uint64_t leading = (digit(top) << kDigitBits | digit(top - 1)) << zeros;
  if (zeros > 0) leading |= digit(top - 2) >> (kDigitBits - zeros);
  bool sticky = (digit(top - 2) << zeros & static_cast<std::uint64_t>(kDigitMask)) != 0;
  for (int k = top - 3; k >= 0 && !sticky; --k) sticky = digit(k) != 0;

  // Exponent of the lowest bit of `leading`; drop enough bits to reach 53, or the subnormal grid.
  int exponent = kLowestExponent + kDigitBits * (top - 1) - zeros;
  int drop = 64 - (kMantissaBits + 1);
  if (exponent + drop < kLowestExponent) drop = kLowestExponent - exponent;
  // The top bit is at 2^-1074 or above, so drop is at most 63.
  const std::uint64_t half = std::uint64_t{1} << (drop - 1);
  const std::uint64_t rest = leading & ((half << 1) - 1);
  std::uint64_t mantissa = leading >> drop;
  if (rest > half || (rest == half && (sticky || (mantissa & 1) != 0))) ++mantissa;
  exponent += drop;
  const double magnitude = std::ldexp(static_cast<double>(mantissa), exponent);
  return negative ? -magnitude : magnitude;
}

double exact_sum(std::span<const double> terms) {
  ExactSum sum;
  sum.add(terms);
  return sum.value();
}

}  // namespace largo
