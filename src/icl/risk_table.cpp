#include "icl/risk_table.hpp"

#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "icl/risk_table.cpp"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"

#include "largo/numerics/simd_level.hpp"
#include "numerics/simd-inl.hpp"

#ifndef LARGO_RISK_TABLE_GRID
#define LARGO_RISK_TABLE_GRID
namespace largo::icl {
namespace {
constexpr double kSteps = 128;         // steps of the grid per unit of s
constexpr double kLast = 32;           // end of the grid
constexpr double kLeastSpread = 1e-9;  // slopes in s² are slopes in s over 2s
constexpr double kRound = 0x1p52;      // adding it leaves an integer in the low bits
}  // namespace
}  // namespace largo::icl
#endif

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {
namespace {

using namespace icl;
using namespace four;

// Loads the four numbers of kLanes knots into a vector for each kind.
HWY_INLINE void Gather(const double* const (&knots)[kLanes], V (&kinds)[4]) {
  const D d;
#if HWY_MAX_BYTES >= 32 && HWY_TARGET != HWY_SCALAR
  const V r0 = hn::Load(d, knots[0]), r1 = hn::Load(d, knots[1]);
  const V r2 = hn::Load(d, knots[2]), r3 = hn::Load(d, knots[3]);
  const V low0 = hn::InterleaveLower(d, r0, r1), high0 = hn::InterleaveUpper(d, r0, r1);
  const V low1 = hn::InterleaveLower(d, r2, r3), high1 = hn::InterleaveUpper(d, r2, r3);
  kinds[0] = hn::ConcatLowerLower(d, low1, low0);
  kinds[1] = hn::ConcatLowerLower(d, high1, high0);
  kinds[2] = hn::ConcatUpperUpper(d, low1, low0);
  kinds[3] = hn::ConcatUpperUpper(d, high1, high0);
#else
  alignas(64) double columns[4][kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) {
    for (std::size_t k = 0; k < 4; ++k) columns[k][i] = knots[i][k];
  }
  for (std::size_t k = 0; k < 4; ++k) kinds[k] = hn::Load(d, columns[k]);
#endif
}

// The cubic Hermite interpolant between knots at 0 and 1, and its slope.
struct Cubic {
  V value, slope;
};
HWY_INLINE Cubic Interpolate(V x, V f0, V d0, V f1, V d1) {
  const V rise = hn::Sub(f1, f0), slopes = hn::Add(d0, d1);
  const V a = hn::Sub(slopes, hn::Add(rise, rise));
  const V b = hn::Sub(hn::Sub(rise, d0), a);
  const V ax = hn::Mul(a, x);
  const V inner = hn::Add(b, ax);
  const V value = hn::Add(f0, hn::Mul(x, hn::Add(d0, hn::Mul(x, inner))));
  const V twice = hn::Add(inner, inner);
  return {value, hn::Add(d0, hn::Mul(x, hn::Add(twice, ax)))};
}

// Returns the largest square.
double Evaluate(const RiskTable::Knot* HWY_RESTRICT table, const double* HWY_RESTRICT squares,
                std::size_t count, const RiskRows& rows) {
  const D d;
  const hn::RebindToUnsigned<D> du;
  const auto* const numbers = reinterpret_cast<const double*>(table);
  V largest = hn::Zero(d);
  for (std::size_t i = 0; i < count; i += kLanes) {
    largest = hn::Max(largest, hn::Load(d, squares + i));
    const V s = hn::Max(hn::Sqrt(hn::Load(d, squares + i)), hn::Set(d, kLeastSpread));
    const V at = hn::Min(hn::Mul(s, hn::Set(d, kSteps)), hn::Set(d, kLast * kSteps - 1));
    // The largest integer below: the nearest one, less one if that is above.
    const V rounded = hn::Sub(hn::Add(at, hn::Set(d, kRound)), hn::Set(d, kRound));
    const V floor = hn::Sub(rounded, hn::IfThenElseZero(hn::Gt(rounded, at), hn::Set(d, 1.0)));
    const V x = hn::Sub(at, floor);
    alignas(64) std::uint64_t index[kLanes];
    hn::Store(hn::BitCast(du, hn::Add(floor, hn::Set(d, kRound))), du, index);
    const double *left[kLanes], *right[kLanes];
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      left[lane] = numbers + 4 * (index[lane] & 0xffffffff);
      right[lane] = left[lane] + 4;
    }
    V l[4], r[4];
    Gather(left, l);
    Gather(right, r);
    const Cubic p = Interpolate(x, l[0], l[1], r[0], r[1]);
    const Cubic phi = Interpolate(x, l[2], l[3], r[2], r[3]);
    const V scale = hn::Div(hn::Set(d, kSteps / 2), s);
    hn::Store(p.value, d, rows.p + i);
    hn::Store(phi.value, d, rows.phi + i);
    hn::Store(hn::Mul(scale, p.slope), d, rows.p_slope + i);
    hn::Store(hn::Mul(scale, phi.slope), d, rows.phi_slope + i);
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

}  // namespace
}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace largo::icl {
namespace {
HWY_EXPORT(Evaluate);
}  // namespace

RiskTable::RiskTable(const LengthLaw& L) : table_(SoftmaxTable::shared(L)) {
  const auto count = static_cast<std::size_t>(kLast * kSteps) + 1;
  knots_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double s = static_cast<double>(i) / kSteps;
    const RiskStatistics f = risk_statistics(*table_, s * s);
    knots_.push_back({f.p, 2 * s * f.p_slope / kSteps, f.phi, 2 * s * f.phi_slope / kSteps});
  }
}

void RiskTable::evaluate(const double* squares, std::size_t count, const RiskRows& rows) const {
  ensure_simd_level();
  constexpr double kInside = kLast - 1 / kSteps;
  if (HWY_DYNAMIC_DISPATCH(Evaluate)(knots_.data(), squares, count, rows) < kInside * kInside) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (squares[i] < kInside * kInside) continue;
    const RiskStatistics f = risk_statistics(*table_, squares[i]);
    rows.p[i] = f.p;
    rows.phi[i] = f.phi;
    rows.p_slope[i] = f.p_slope;
    rows.phi_slope[i] = f.phi_slope;
  }
}

}  // namespace largo::icl
#endif  // HWY_ONCE
