#include "prompts/collapsed_kernel.hpp"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "prompts/collapsed_frame.cpp"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"

#include "largo/numerics/simd_level.hpp"
#include "numerics/simd-inl.hpp"
#include "prompts/kernel-inl.hpp"
#include "prompts/padded_rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {
namespace {

using namespace four;
constexpr std::size_t kPadding = PaddedRows::kPadding;
constexpr std::size_t kVectors = kPadding / kLanes;

// Eight partial sums, added up at the end in an order that is the same at every SIMD level.
class Sum {
 public:
  Sum() {
    for (V& s : sums_) s = hn::Zero(D());
  }
  HWY_INLINE void Add(std::size_t vector, V x, V y) { sums_[vector] = hn::Add(sums_[vector], hn::Mul(x, y)); }
  HWY_INLINE double Total() const {
    alignas(64) double s[kPadding];
    for (std::size_t k = 0; k < kVectors; ++k) hn::Store(sums_[k], D(), s + k * kLanes);
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
  }

 private:
  V sums_[kVectors];
};

// Calls use(i, k) for every vector of a padded row: i is its first index, k its place among eight numbers.
template <class Use>
HWY_INLINE void ForVectors(std::size_t stride, const Use& use) {
  for (std::size_t i = 0; i < stride; i += kPadding) {
    for (std::size_t k = 0; k < kVectors; ++k) use(i + k * kLanes, k);
  }
}

HWY_INLINE V At(const double* x, std::size_t i) { return hn::Load(D(), x + i); }

double Dot(const double* x, const double* y, std::size_t stride) {
  Sum sum;
  ForVectors(stride, [&](std::size_t i, std::size_t k) HWY_ATTR { sum.Add(k, At(x, i), At(y, i)); });
  return sum.Total();
}

void Collapse(const double* HWY_RESTRICT a, const double* HWY_RESTRICT b, std::size_t stride,
              double* HWY_RESTRICT e, double* HWY_RESTRICT f, CollapsedFrame& frame) {
  const D d;
  const double norm = std::sqrt(Dot(a, a, stride));
  frame.s = norm > 1e-150 ? norm : 0;  // below that, squares are no longer normal numbers
  const V inverse = hn::Set(d, frame.s > 0 ? 1 / frame.s : 0);
  Sum alpha;
  ForVectors(stride, [&](std::size_t i, std::size_t k) HWY_ATTR {
    const V e_i = hn::Mul(At(a, i), inverse);
    hn::Store(e_i, d, e + i);
    alpha.Add(k, At(b, i), e_i);
  });
  if (frame.s == 0) e[0] = 1;
  frame.alpha = frame.s == 0 ? b[0] : alpha.Total();
  Sum left;
  ForVectors(stride, [&](std::size_t i, std::size_t k) HWY_ATTR {
    const V f_i = hn::Sub(At(b, i), hn::Mul(hn::Set(d, frame.alpha), At(e, i)));
    hn::Store(f_i, d, f + i);
    left.Add(k, f_i, At(e, i));
  });
  const V along = hn::Set(d, left.Total());
  Sum squares;
  ForVectors(stride, [&](std::size_t i, std::size_t k) HWY_ATTR {
    const V f_i = hn::Sub(At(f, i), hn::Mul(along, At(e, i)));
    hn::Store(f_i, d, f + i);
    squares.Add(k, f_i, f_i);
  });
  const double beta = std::sqrt(squares.Total());
  frame.beta = beta > 1e-12 * std::abs(frame.alpha) ? beta : 0;
  const V scale = hn::Set(d, frame.beta > 0 ? 1 / frame.beta : 0);
  ForVectors(stride,
             [&](std::size_t i, std::size_t) HWY_ATTR { hn::Store(hn::Mul(At(f, i), scale), d, f + i); });
}

void Spread(const CollapsedSums& c, const double* HWY_RESTRICT e, const double* HWY_RESTRICT f,
            std::size_t stride, double* HWY_RESTRICT mean, double* HWY_RESTRICT gradient) {
  const D d;
  Sum n1_e, n1_f, n2_e, n2_f;
  ForVectors(stride, [&](std::size_t i, std::size_t k) HWY_ATTR {
    n1_e.Add(k, At(mean, i), At(e, i));
    n1_f.Add(k, At(mean, i), At(f, i));
    n2_e.Add(k, At(gradient, i), At(e, i));
    n2_f.Add(k, At(gradient, i), At(f, i));
  });
  // Given the scores and values, Σ p ξ and Σ p (v - v̄) ξ have variances p2 and p2vv, covariance p2v.
  const double share_of_first = c.p2v / c.p2;
  const V root = hn::Set(d, std::sqrt(c.p2));
  const V share = hn::Set(d, share_of_first);
  const V rest = hn::Set(d, std::sqrt(std::max(0.0, c.p2vv - c.p2v * share_of_first)));
  const V along1[2] = {hn::Set(d, n1_e.Total()), hn::Set(d, n1_f.Total())};
  const V along2[2] = {hn::Set(d, n2_e.Total()), hn::Set(d, n2_f.Total())};
  const V g = hn::Set(d, c.g), h = hn::Set(d, c.h), vg = hn::Set(d, c.vg), vh = hn::Set(d, c.vh);
  ForVectors(stride, [&](std::size_t i, std::size_t) HWY_ATTR {
    const V e_i = At(e, i), f_i = At(f, i);
    const auto combine = [&](V x, V y) HWY_ATTR { return hn::Add(hn::Mul(x, e_i), hn::Mul(y, f_i)); };
    const V across1 = hn::Mul(root, hn::Sub(At(mean, i), combine(along1[0], along1[1])));
    const V across2 = hn::Mul(rest, hn::Sub(At(gradient, i), combine(along2[0], along2[1])));
    hn::Store(hn::Add(combine(g, h), across1), d, mean + i);
    hn::Store(hn::Add(combine(vg, vh), hn::Add(hn::Mul(share, across1), across2)), d, gradient + i);
  });
}

}  // namespace
}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace largo::prompts {
HWY_EXPORT(Dot);
HWY_EXPORT(Collapse);
HWY_EXPORT(Spread);

CollapsedFrame collapse(const double* a, const double* b, std::size_t stride, double* e, double* f) {
  ensure_simd_level();
  CollapsedFrame frame;
  HWY_DYNAMIC_DISPATCH(Collapse)(a, b, stride, e, f, frame);
  return frame;
}

void spread(const CollapsedSums& sums, const double* e, const double* f, std::size_t stride, double* mean,
            double* gradient) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(Spread)(sums, e, f, stride, mean, gradient);
}

double dot(const double* x, const double* y, std::size_t stride) {
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(Dot)(x, y, stride);
}

}  // namespace largo::prompts
#endif  // HWY_ONCE
