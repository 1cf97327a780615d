#include "exact/oracle_kernel.hpp"

#include <stdexcept>

namespace largo::oracle {
namespace {

__extension__ using Wide = unsigned __int128;
/// A sum as an integer multiple of 2^(top − 192), least significant limb first.
using Sum = std::array<std::uint64_t, 5>;

/// The upper kLimbs limbs of the product of the upper kLimbs limbs of a and b (to 2 units in the last),
/// shifted right by `bits` < 64.
template <std::size_t kLimbs>
inline std::array<std::uint64_t, kLimbs> product(const std::uint64_t* a, const std::uint64_t* b,
                                                 unsigned bits) {
  constexpr std::size_t kSkip = 3 - kLimbs;
  std::array<std::uint64_t, kLimbs + 2> r{};  // r[0] is below the result, the last limb stays 0
#pragma GCC unroll 3
  for (std::size_t i = 0; i < kLimbs; ++i) {
    // Columns below kLimbs − 1 contribute only rounding.
    std::uint64_t carry = 0;
#pragma GCC unroll 3
    for (std::size_t j = kLimbs - 1 - i; j < kLimbs; ++j) {
      const std::size_t column = i + j - (kLimbs - 1);
      const Wide t = static_cast<Wide>(a[kSkip + i]) * b[kSkip + j] + r[column] + carry;
      r[column] = static_cast<std::uint64_t>(t);
      carry = static_cast<std::uint64_t>(t >> 64);
    }
    r[i + 1] = carry;
  }
  std::array<std::uint64_t, kLimbs> v;
#pragma GCC unroll 3
  for (std::size_t k = 0; k < kLimbs; ++k) v[k] = (r[k + 1] >> bits) | ((r[k + 2] << 1) << (63 - bits));
  return v;
}

/// sum += v · factor
template <std::size_t kLimbs>
inline void add_multiple(Sum& sum, const std::array<std::uint64_t, kLimbs>& v, std::uint64_t factor) {
  std::uint64_t carry = 0;
#pragma GCC unroll 3
  for (std::size_t k = 0; k < kLimbs; ++k) {
    const Wide t = static_cast<Wide>(v[k]) * factor + sum[k] + carry;
    sum[k] = static_cast<std::uint64_t>(t);
    carry = static_cast<std::uint64_t>(t >> 64);
  }
#pragma GCC unroll 4
  for (std::size_t k = kLimbs; k < 5; ++k) {
    const Wide t = static_cast<Wide>(sum[k]) + carry;
    sum[k] = static_cast<std::uint64_t>(t);
    carry = static_cast<std::uint64_t>(t >> 64);
  }
}

/// Adds one term, of which only the upper kLimbs limbs lie above 2^(top − 192).
template <int kOrder, std::size_t kLimbs>
inline void add_term(std::array<Sum, 5>& sums, const std::uint64_t* a, const std::uint64_t* b, unsigned bits,
                     std::uint64_t distance) {
  const auto v = product<kLimbs>(a, b, bits);
  std::uint64_t power = 1;
#pragma GCC unroll 5
  for (std::size_t m = 0; m <= kOrder; ++m) {
    add_multiple<kLimbs>(sums[m], v, power);
    power *= distance;
  }
}

/// One side of the centre, distances d_first..d_last, so that all terms keep one sign.
template <int kOrder>
std::array<Sum, 5> one_side(const FixedTable& a, const FixedTable& b, std::int64_t ia, std::int64_t ib,
                            std::int64_t direction, std::int64_t d_first, std::int64_t d_last,
                            std::int64_t top) {
  std::array<Sum, 5> sums{};
  for (std::int64_t d = d_first; d <= d_last; ++d) {
    const auto pa = static_cast<std::size_t>(ia + direction * d);
    const auto pb = static_cast<std::size_t>(ib + direction * d);
    const std::int64_t shift = top - (a.exponent[pa] + b.exponent[pb]);
    if (shift < 0) throw std::logic_error("power_sums: the centre is not at the largest term");
    const std::uint64_t* ma = a.mantissa[pa].data();
    const std::uint64_t* mb = b.mantissa[pb].data();
    const auto bits = static_cast<unsigned>(shift) % 64;
    const auto distance = static_cast<std::uint64_t>(d);
    if (shift < 64) {
      add_term<kOrder, 3>(sums, ma, mb, bits, distance);
    } else if (shift < 128) {
      add_term<kOrder, 2>(sums, ma, mb, bits, distance);
    } else if (shift < 192) {
      add_term<kOrder, 1>(sums, ma, mb, bits, distance);
    }
  }
  return sums;
}

Real to_real(const Sum& limbs) {
  Real value = 0;
  for (std::size_t k = 5; k-- > 0;) value = ldexp(value, 64) + Real(limbs[k]);
  return value;
}

template <int kOrder>
PowerSums both_sides(const FixedTable& a, const FixedTable& b, std::int64_t shift, std::int64_t first,
                     std::int64_t last, std::int64_t centre) {
  const std::int64_t top =
      a.exponent[static_cast<std::size_t>(centre + shift)] + b.exponent[static_cast<std::size_t>(centre)] + 3;
  const auto right = one_side<kOrder>(a, b, centre + shift, centre, 1, 0, last - centre, top);
  const auto left = one_side<kOrder>(a, b, centre + shift, centre, -1, 1, centre - first, top);
  PowerSums sums;
  for (std::size_t m = 0; m < 5; ++m) {
    const Real r = to_real(right[m]);
    const Real l = to_real(left[m]);
    sums[m] = ldexp(m % 2 == 0 ? r + l : r - l, static_cast<int>(top - 192));
  }
  return sums;
}

}  // namespace

void FixedTable::push_back(const Real& value) {
  if (!(value > 0)) throw std::logic_error("FixedTable: not a positive number");
  // MPFR keeps the mantissa with its top bit set, least significant limb first.
  const auto* x = value.backend().data();
  const std::size_t limbs = (static_cast<std::size_t>(x->_mpfr_prec) + 63) / 64;
  std::array<std::uint64_t, 3> m;
  for (std::size_t k = 0; k < 3; ++k) m[k] = x->_mpfr_d[limbs - 3 + k];
  mantissa.push_back(m);
  exponent.push_back(mpfr_get_exp(x));
}

PowerSums power_sums(const FixedTable& a, const FixedTable& b, std::int64_t shift, std::int64_t first,
                     std::int64_t last, std::int64_t centre, int order) {
  if (first > centre || centre > last || first < 0 || last >= std::ssize(b.exponent) || first + shift < 0 ||
      last + shift >= std::ssize(a.exponent) || last - first > 65535) {
    throw std::logic_error("power_sums: a window outside its tables");
  }
  switch (order) {
    case 0: return both_sides<0>(a, b, shift, first, last, centre);
    case 1: return both_sides<1>(a, b, shift, first, last, centre);
    case 2: return both_sides<2>(a, b, shift, first, last, centre);
    default: return both_sides<4>(a, b, shift, first, last, centre);
  }
}

}  // namespace largo::oracle
