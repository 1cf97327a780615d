// Eight threads that hold a vector together, with element i in thread i mod 8, and sums over it in the order
// of src/prompts/collapsed_frame.cpp: the eight partial sums there are the eight threads here.
#pragma once

#include "collapsed.cuh"

namespace largo::cuda {

/// This thread among those of its prompt, which are `count` octets of one warp.
struct Team {
  unsigned mask;        // the threads of the prompt
  unsigned octet_mask;  // the threads of this octet, which may diverge from the others
  int count;
  int octet;  // octet of this thread
  int lane;   // lane in its octet

  template <typename T>
  __device__ T from(T x, int other_lane) const {
    return __shfl_sync(octet_mask, x, other_lane, kLanes);
  }
  template <typename T>
  __device__ T from_partner(T x, int distance) const {
    return __shfl_xor_sync(octet_mask, x, distance, kLanes);
  }
  /// The value of the same lane in another octet.
  template <typename T>
  __device__ T from_octet(T x, int other) const {
    return __shfl_sync(mask, x, other * kLanes + lane, count * kLanes);
  }
  /// ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7)), in every thread.
  __device__ double total(double x) const {
    x = x + from_partner(x, 4);
    x = x + from_partner(x, 2);
    return x + from_partner(x, 1);
  }
  __device__ float largest(float x) const {
    for (int distance = 4; distance > 0; distance /= 2) {
      const float other = from_partner(x, distance);
      x = x < other ? other : x;
    }
    return x;
  }
};

/// Each thread has kParts elements: the vector is 8 kParts long.
template <int kParts>
struct Row {
  double at[kParts];

  __device__ static Row zero() {
    Row row;
    LARGO_UNROLL
    for (int m = 0; m < kParts; ++m) row.at[m] = 0;
    return row;
  }
};

template <int kParts>
__device__ double dot(const Team& team, const Row<kParts>& x, const Row<kParts>& y) {
  double sum = 0;
  LARGO_UNROLL
  for (int m = 0; m < kParts; ++m) sum = sum + x.at[m] * y.at[m];
  return team.total(sum);
}

/// Element i, in every thread.
template <int kParts>
__device__ double element(const Team& team, const Row<kParts>& x, int i) {
  double mine = x.at[0];
  LARGO_UNROLL
  for (int m = 1; m < kParts; ++m) mine = i / kLanes == m ? x.at[m] : mine;
  return team.from(mine, i % kLanes);
}

/// y_i = Σ_k x_k A_ki for i < columns, with k < inner ascending and A_ki at A[k inner_step + i column_step].
/// Takes eight terms at a time, with zeros beyond the last, which do not change a sum: then no term waits for
/// the loads of another.
template <int kParts>
__device__ Row<kParts> product(const Team& team, const Row<kParts>& x, int inner, int columns,
                               const double* A, int inner_step, int column_step) {
  Row<kParts> y = Row<kParts>::zero();
  LARGO_UNROLL
  for (int part = 0; part < kParts; ++part) {
    if (part * kLanes >= inner) break;
    LARGO_UNROLL
    for (int lane = 0; lane < kLanes; ++lane) {
      const int k = part * kLanes + lane;
      const double drawn = team.from(x.at[part], lane);
      const double x_k = k < inner ? drawn : 0;
      LARGO_UNROLL
      for (int m = 0; m < kParts; ++m) {
        const int i = m * kLanes + team.lane;
        const double A_ki = k < inner && i < columns ? A[k * inner_step + i * column_step] : 0;
        y.at[m] = fused(x_k, A_ki, y.at[m]);
      }
    }
  }
  return y;
}

/// Scores <a, x> = s g and values <b, x> = α g + β h, with g = <e, x>, h = <f, x>.
template <int kParts>
struct Frame {
  double s, alpha, beta;
  Row<kParts> e, f;
};

template <int kParts>
__device__ Frame<kParts> collapse(const Team& team, const Row<kParts>& a, const Row<kParts>& b) {
  Frame<kParts> frame;
  const double norm = root(dot(team, a, a));
  frame.s = norm > 1e-150 ? norm : 0;
  const double inverse = frame.s > 0 ? 1 / frame.s : 0;
  LARGO_UNROLL
  for (int m = 0; m < kParts; ++m) frame.e.at[m] = a.at[m] * inverse;
  frame.alpha = dot(team, b, frame.e);
  if (frame.s == 0) {
    if (team.lane == 0) frame.e.at[0] = 1;
    frame.alpha = team.from(b.at[0], 0);
  }
  LARGO_UNROLL
  for (int m = 0; m < kParts; ++m) frame.f.at[m] = b.at[m] - frame.alpha * frame.e.at[m];
  const double along = dot(team, frame.f, frame.e);
  LARGO_UNROLL
  for (int m = 0; m < kParts; ++m) frame.f.at[m] = frame.f.at[m] - along * frame.e.at[m];
  const double beta = root(dot(team, frame.f, frame.f));
  frame.beta = beta > 1e-12 * runtime::size_of_number(frame.alpha) ? beta : 0;
  const double scale = frame.beta > 0 ? 1 / frame.beta : 0;
  LARGO_UNROLL
  for (int m = 0; m < kParts; ++m) frame.f.at[m] = frame.f.at[m] * scale;
  return frame;
}

/// Computes Σ p x and Σ p (v - v̄) x from two vectors of standard normals.
template <int kParts>
__device__ void spread(const Team& team, const prompts::CollapsedSums& c, const Frame<kParts>& frame,
                       Row<kParts>& mean, Row<kParts>& gradient) {
  const double mean_e = dot(team, mean, frame.e), mean_f = dot(team, mean, frame.f);
  const double gradient_e = dot(team, gradient, frame.e), gradient_f = dot(team, gradient, frame.f);
  const double share = c.p2v / c.p2;
  const double across = root(c.p2);
  const double rest = root(runtime::larger_of(0.0, c.p2vv - c.p2v * share));
  LARGO_UNROLL
  for (int m = 0; m < kParts; ++m) {
    const double e = frame.e.at[m], f = frame.f.at[m];
    const double across1 = across * (mean.at[m] - (mean_e * e + mean_f * f));
    const double across2 = rest * (gradient.at[m] - (gradient_e * e + gradient_f * f));
    mean.at[m] = (c.g * e + c.h * f) + across1;
    gradient.at[m] = (c.vg * e + c.vh * f) + (share * across1 + across2);
  }
}

}  // namespace largo::cuda
