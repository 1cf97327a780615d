#include "icl/task_kernel.hpp"

#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "icl/task_kernel.cpp"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"

#include "largo/numerics/simd_level.hpp"
#include "numerics/simd-inl.hpp"

#ifndef LARGO_TASK_KERNEL_ROWS
#define LARGO_TASK_KERNEL_ROWS
namespace largo::icl {
namespace {

constexpr std::size_t kBlock = TaskBlocks::kBlock;
constexpr double kOverflow = kLargestScoreSpread * kLargestScoreSpread;  // limit of s²

// Rows of kBlock numbers that depend on the parameters.
struct TaskScratch {
  double *u_hat, *u_y;  // û has a row for each coordinate; u_y is the row after them
  double *m, *n, *c;    // <û, ŵ>, <v̂, ŵ> and the part of c that does not change with the sign of w
  double* squares;      // s² for w, then for -w
  RiskRows statistics;  // at these squares
  double *across, *along, *e;  // coefficients of v̂, û and ŵ in the slope of û
  double *to_label, *to_v;     // slope of u_y, coefficient of ŵ in that of v̂
};
constexpr std::size_t kScratchRows = 1 + 3 + 2 + 8 + 5;  // rows other than û

struct TaskView {
  std::size_t queries, tokens;
  const double *chi, *w_hat, *labels, *norms, *weights;
};

struct ParameterView {
  const double *hidden, *label, *v_hat;
  double v_y, noise, v_square;
};

}  // namespace
}  // namespace largo::icl
#endif

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {
namespace {

using namespace icl;
using namespace four;
constexpr std::size_t kSide = 8;  // number of partial sums, at every SIMD level
constexpr std::size_t kVectors = kSide / kLanes;

HWY_INLINE V At(const double* x) { return hn::Load(D(), x); }
HWY_INLINE V Number(double x) { return hn::Set(D(), x); }

// Computes û and u_y, and from them the squared spreads of the scores; returns the largest of these. It takes
// kVectors vectors at a time, so that each coefficient is loaded once for all of them.
double Scores(const TaskView& task, const ParameterView& given, const TaskScratch& s) {
  const D d;
  V largest = hn::Zero(d);
  const V v_y = Number(given.v_y), noise = Number(given.noise), two = Number(2);
  const auto product = [&](const double* row, std::size_t t, V(&sum)[kVectors]) HWY_ATTR {
    for (V& part : sum) part = hn::Zero(d);
    for (std::size_t j = 0; j < task.queries; ++j) {
      const V coefficient = Number(row[j]);
      for (std::size_t k = 0; k < kVectors; ++k) {
        sum[k] = FusedExact::MulAdd(coefficient, At(task.chi + j * kBlock + t + k * kLanes), sum[k]);
      }
    }
  };
  for (std::size_t t = 0; t < kBlock; t += kSide) {
    V u_y[kVectors], square[kVectors], m[kVectors], n[kVectors], c[kVectors];
    product(given.label, t, u_y);
    for (std::size_t k = 0; k < kVectors; ++k) square[k] = m[k] = n[k] = c[k] = hn::Zero(d);
    for (std::size_t i = 0; i < task.tokens; ++i) {
      V u[kVectors];
      product(given.hidden + i * task.queries, t, u);
      const V v = Number(given.v_hat[i]);
      for (std::size_t k = 0; k < kVectors; ++k) {
        const std::size_t at = i * kBlock + t + k * kLanes;
        hn::Store(u[k], d, s.u_hat + at);
        const V w = At(task.w_hat + at);
        square[k] = FusedExact::MulAdd(u[k], u[k], square[k]);
        m[k] = FusedExact::MulAdd(u[k], w, m[k]);
        n[k] = FusedExact::MulAdd(v, w, n[k]);
        c[k] = FusedExact::MulAdd(u[k], v, c[k]);
      }
    }
    for (std::size_t k = 0; k < kVectors; ++k) {
      const std::size_t at = t + k * kLanes;
      const V u_T = hn::Mul(u_y[k], hn::Add(At(task.norms + at), noise));
      hn::Store(u_y[k], d, s.u_y + at);
      hn::Store(m[k], d, s.m + at);
      hn::Store(n[k], d, s.n + at);
      hn::Store(FusedExact::MulAdd(v_y, u_T, c[k]), d, s.c + at);
      const V even = FusedExact::MulAdd(u_y[k], u_T, square[k]), odd = hn::Mul(hn::Mul(two, u_y[k]), m[k]);
      hn::Store(hn::Max(hn::Add(even, odd), hn::Zero(d)), d, s.squares + at);
      hn::Store(hn::Max(hn::Sub(even, odd), hn::Zero(d)), d, s.squares + kBlock + at);
      // even >= |odd|, so even is not finite if one of the squares is not
      largest = hn::Max(largest, hn::IfThenElse(hn::Lt(even, Number(kOverflow)), even, Number(kOverflow)));
    }
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

// Sums ½ [ (c - y)² + c² φ + κ p ] + c y p over both signs of w, and computes the coefficients of its slopes.
double Coefficients(const TaskView& task, const ParameterView& given, const TaskScratch& s,
                    double* HWY_RESTRICT v_sums) {
  const D d;
  const V v_y = Number(given.v_y), noise = Number(given.noise), half = Number(0.5), two = Number(2);
  V value[kVectors], sum_p[kVectors], sum_v_y[kVectors];
  for (std::size_t k = 0; k < kVectors; ++k) value[k] = sum_p[k] = sum_v_y[k] = hn::Zero(d);
  for (std::size_t t = 0; t < kBlock; t += kLanes) {
    const std::size_t k = t / kLanes % kVectors;
    const V weight = At(task.weights + t), y = At(task.labels + t), T = hn::Add(At(task.norms + t), noise);
    const V m = At(s.m + t), n = At(s.n + t), u_y = At(s.u_y + t);
    const V c_even = At(s.c + t), c_odd = FusedExact::MulAdd(v_y, m, hn::Mul(u_y, n));
    const V kappa_even = FusedExact::MulAdd(hn::Mul(v_y, v_y), T, Number(given.v_square));
    const V kappa_odd = hn::Mul(hn::Mul(two, v_y), n);
    V across[2], along[2], p[2];
    for (std::size_t sign = 0; sign < 2; ++sign) {
      const std::size_t at = sign * kBlock + t;
      const auto combine = [&](V even, V odd)
                               HWY_ATTR { return sign == 0 ? hn::Add(even, odd) : hn::Sub(even, odd); };
      const V c = combine(c_even, c_odd), kappa = combine(kappa_even, kappa_odd);
      const V label = sign == 0 ? y : hn::Neg(y);
      const V f_p = At(s.statistics.p + at), f_phi = At(s.statistics.phi + at);
      const V miss = hn::Sub(c, label), cc = hn::Mul(c, c), cy = hn::Mul(c, label);
      const V squares = FusedExact::MulAdd(miss, miss, FusedExact::MulAdd(cc, f_phi, hn::Mul(kappa, f_p)));
      value[k] = FusedExact::MulAdd(weight, FusedExact::MulAdd(half, squares, hn::Mul(cy, f_p)), value[k]);
      across[sign] = hn::Mul(weight, FusedExact::MulAdd(c, f_phi, FusedExact::MulAdd(label, f_p, miss)));
      const V p_part = hn::Mul(FusedExact::MulAdd(two, cy, kappa), At(s.statistics.p_slope + at));
      along[sign] = hn::Mul(weight, FusedExact::MulAdd(cc, At(s.statistics.phi_slope + at), p_part));
      p[sign] = hn::Mul(weight, f_p);
    }
    const V across_sum = hn::Add(across[0], across[1]), across_odd = hn::Sub(across[0], across[1]);
    const V along_sum = hn::Add(along[0], along[1]), along_odd = hn::Sub(along[0], along[1]);
    const V p_sum = hn::Add(p[0], p[1]), p_odd = hn::Sub(p[0], p[1]);
    const V v_T = hn::Mul(v_y, T), u_T = hn::Mul(u_y, T);
    hn::Store(across_sum, d, s.across + t);
    hn::Store(along_sum, d, s.along + t);
    hn::Store(FusedExact::MulAdd(v_y, across_odd, hn::Mul(u_y, along_odd)), d, s.e + t);
    hn::Store(FusedExact::MulAdd(u_y, across_odd, hn::Mul(v_y, p_odd)), d, s.to_v + t);
    hn::Store(
        FusedExact::MulAdd(
            across_odd, n,
            FusedExact::MulAdd(across_sum, v_T, FusedExact::MulAdd(along_odd, m, hn::Mul(along_sum, u_T)))),
        d, s.to_label + t);
    sum_p[k] = hn::Add(sum_p[k], p_sum);
    sum_v_y[k] =
        hn::Add(sum_v_y[k],
                FusedExact::MulAdd(
                    across_odd, m,
                    FusedExact::MulAdd(across_sum, u_T, FusedExact::MulAdd(p_odd, n, hn::Mul(p_sum, v_T)))));
  }
  const auto total = [&](const V(&sums)[kVectors]) HWY_ATTR {
    alignas(64) double x[kSide];
    for (std::size_t k = 0; k < kVectors; ++k) hn::Store(sums[k], d, x + k * kLanes);
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
  };
  v_sums[0] = total(sum_p);
  v_sums[1] = total(sum_v_y);
  return total(value);
}

// sums[j] = Σ_t x_t y_jt, for rows y_j.
HWY_INLINE void Dots(const double* HWY_RESTRICT x, const double* HWY_RESTRICT y, std::size_t rows,
                     double* HWY_RESTRICT sums) {
  const D d;
  const auto some = [&](auto count, std::size_t first) HWY_ATTR {
    constexpr std::size_t kRows = decltype(count)::value;
    V sum[kRows][kVectors];
    for (auto& row : sum) {
      for (V& part : row) part = hn::Zero(d);
    }
    for (std::size_t t = 0; t < kBlock; t += kSide) {
      for (std::size_t k = 0; k < kVectors; ++k) {
        const V x_t = At(x + t + k * kLanes);
        for (std::size_t j = 0; j < kRows; ++j) {
          sum[j][k] = FusedExact::MulAdd(x_t, At(y + (first + j) * kBlock + t + k * kLanes), sum[j][k]);
        }
      }
    }
    for (std::size_t j = 0; j < kRows; ++j) {
      alignas(64) double z[kSide];
      for (std::size_t k = 0; k < kVectors; ++k) hn::Store(sum[j][k], d, z + k * kLanes);
      sums[first + j] = ((z[0] + z[4]) + (z[2] + z[6])) + ((z[1] + z[5]) + (z[3] + z[7]));
    }
  };
  std::size_t j = 0;
  for (; j + 5 <= rows; j += 5) some(std::integral_constant<std::size_t, 5>(), j);
  for (; j < rows; ++j) some(std::integral_constant<std::size_t, 1>(), j);
}

// Σ across χ and Σ label χ, then Σ (along û + e ŵ) χ for each coordinate, then Σ across û + to_v ŵ.
void Slopes(const TaskView& task, const TaskScratch& s, double* HWY_RESTRICT sums) {
  const D d;
  const std::size_t q = task.queries;
  Dots(s.across, task.chi, q, sums);
  Dots(s.to_label, task.chi, q, sums + q);
  double* const in_v = sums + (2 + task.tokens) * q;
  for (std::size_t i = 0; i < task.tokens; ++i) {
    double* const u = s.u_hat + i * kBlock;
    const double* const w = task.w_hat + i * kBlock;
    double with_u = 0, with_w = 0;
    Dots(s.across, u, 1, &with_u);
    Dots(s.to_v, w, 1, &with_w);
    in_v[i] = with_u + with_w;
    for (std::size_t t = 0; t < kBlock; t += kLanes) {  // û is no longer needed
      hn::Store(FusedExact::MulAdd(At(s.along + t), At(u + t), hn::Mul(At(s.e + t), At(w + t))), d, u + t);
    }
    Dots(u, task.chi, q, sums + (2 + i) * q);
  }
}

}  // namespace
}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace largo::icl {
namespace {
HWY_EXPORT(Scores);
HWY_EXPORT(Coefficients);
HWY_EXPORT(Slopes);
}  // namespace

TaskBlocks::TaskBlocks(const Matrix& chi, const Matrix& w_hat, const Vector& labels, const Vector& weights)
    : queries_(static_cast<std::size_t>(chi.cols())),
      tokens_(static_cast<std::size_t>(w_hat.cols())),
      blocks_((static_cast<std::size_t>(weights.size()) + kBlock - 1) / kBlock),
      rows_(blocks_ * width() * kBlock) {
  const Vector norms = w_hat.rowwise().squaredNorm();
  const auto place = [&](std::size_t row, const auto& values) {
    for (Eigen::Index t = 0; t < values.size(); ++t) {  // places after the last task stay zero
      const auto task = static_cast<std::size_t>(t);
      rows_[(task / kBlock * width() + row) * kBlock + task % kBlock] = values[t];
    }
  };
  std::size_t row = 0;
  for (Eigen::Index j = 0; j < chi.cols(); ++j) place(row++, chi.col(j));
  for (Eigen::Index i = 0; i < w_hat.cols(); ++i) place(row++, w_hat.col(i));
  place(row++, labels);
  place(row++, norms);
  place(row, Vector(0.5 * weights));
}

std::size_t sums_width(const TaskBlocks& tasks) {
  return 3 + (2 + tasks.token_size()) * tasks.query_size() + tasks.token_size();
}

StandardParameters task_slope(const TaskBlocks& tasks, const StandardParameters& parameters,
                              std::span<const double> sums) {
  const auto q = static_cast<Eigen::Index>(tasks.query_size());
  const auto r = static_cast<Eigen::Index>(tasks.token_size());
  const Eigen::Map<const Vector> all(sums.data(), static_cast<Eigen::Index>(sums.size()));
  StandardParameters slope;
  slope.v_y = all[2];
  slope.label = all.segment(3 + q, q);
  slope.hidden = parameters.v_hat * all.segment(3, q).transpose();
  slope.hidden += all.segment(3 + 2 * q, r * q).reshaped(q, r).transpose();
  slope.v_hat = all.tail(r) + all[1] * parameters.v_hat;
  return slope;
}

bool add_task_block(const TaskBlocks& tasks, std::size_t i, const StandardParameters& parameters,
                    double noise, const RiskTable& table, std::span<double> sums) {
  ensure_simd_level();
  const std::size_t q = tasks.query_size(), r = tasks.token_size();
  const double* const rows = tasks.block(i);
  const TaskView task{q,
                      r,
                      rows,
                      rows + q * kBlock,
                      rows + (q + r) * kBlock,
                      rows + (q + r + 1) * kBlock,
                      rows + (q + r + 2) * kBlock};
  const ParameterView given{
      parameters.hidden.data(),      parameters.label.data(), parameters.v_hat.data(), parameters.v_y, noise,
      parameters.v_hat.squaredNorm()};
  thread_local runtime::AlignedVector<double> memory;
  memory.resize((r + kScratchRows) * kBlock);
  double* next = memory.data();
  const auto take = [&](std::size_t count) {
    double* const taken = next;
    next += count * kBlock;
    return taken;
  };
  TaskScratch s{};
  s.u_hat = take(r);
  for (double** row : {&s.u_y, &s.m, &s.n, &s.c, &s.across, &s.along, &s.e, &s.to_label, &s.to_v})
    *row = take(1);
  s.squares = take(2);
  for (double** row : {&s.statistics.p, &s.statistics.phi, &s.statistics.p_slope, &s.statistics.phi_slope}) {
    *row = take(2);
  }
  if (!(HWY_DYNAMIC_DISPATCH(Scores)(task, given, s) < kOverflow)) return false;
  table.evaluate(s.squares, 2 * kBlock, s.statistics);
  sums[0] = HWY_DYNAMIC_DISPATCH(Coefficients)(task, given, s, sums.data() + 1);
  HWY_DYNAMIC_DISPATCH(Slopes)(task, s, sums.data() + 3);
  return true;
}

}  // namespace largo::icl
#endif  // HWY_ONCE
