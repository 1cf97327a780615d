// Attention in 100 digits, written from nothing but the log-partition Λ of a law: the reference of these
// tests.
//   softmax   T = V ∇Λ(a)
//   linear    T = V M a,  M = ∇²e^Λ(0)
// Derivatives are central differences of step 1e-10, with an error of about 1e-20. Up to three of them are
// nested, and each loses 10 digits to rounding; log-partitions that are 0/0 at the origin lose 20 more there.
// The library's tilts are not used.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include <boost/multiprecision/mpfr.hpp>

#include "largo/attention/attention.hpp"

namespace largo::test {

using Wide = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<100>,
                                           boost::multiprecision::et_off>;
using WideVector = std::vector<Wide>;
using LogPartition = std::function<Wide(const WideVector&)>;

inline Wide difference_step() { return Wide("1e-10"); }

inline WideVector wide(const ConstVectorRef& values) { return {values.begin(), values.end()}; }

/// The entries row by row, as a Jacobian numbers the parameters.
inline WideVector flat(const Matrix& values) {
  WideVector entries;
  for (std::ptrdiff_t i = 0; i < values.rows(); ++i) {
    for (std::ptrdiff_t j = 0; j < values.cols(); ++j) entries.push_back(values(i, j));
  }
  return entries;
}

inline Wide dot(const WideVector& x, const WideVector& y) {
  Wide sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

inline WideVector scaled(const Wide& factor, WideVector x) {
  for (Wide& entry : x) entry *= factor;
  return x;
}

/// Column j is (f(x + h e_j) - f(x - h e_j)) / 2h.
inline std::vector<WideVector> differences(const std::function<WideVector(const WideVector&)>& f,
                                           WideVector x) {
  const Wide h = difference_step();
  std::vector<WideVector> columns;
  for (Wide& entry : x) {
    const Wide centre = entry;
    entry = centre + h;
    WideVector column = f(x);
    entry = centre - h;
    const WideVector below = f(x);
    entry = centre;
    for (std::size_t i = 0; i < column.size(); ++i) column[i] = (column[i] - below[i]) / (2 * h);
    columns.push_back(column);
  }
  return columns;
}

inline WideVector gradient(const LogPartition& f, const WideVector& at) {
  WideVector result;
  for (const WideVector& column : differences([&f](const WideVector& x) { return WideVector{f(x)}; }, at)) {
    result.push_back(column[0]);
  }
  return result;
}

/// r(a) with T = V r(a).
inline WideVector wide_response(AttentionKind kind, const LogPartition& law, const WideVector& a) {
  if (kind == AttentionKind::softmax) return gradient(law, a);
  const LogPartition partition = [&law](const WideVector& x) -> Wide { return exp(law(x)); };
  const auto along = [&](const WideVector& t) { return gradient(partition, scaled(t[0], a)); };
  return differences(along, {Wide(0)})[0];
}

/// T for weights given entry by entry: U is d x e, V is o x d.
inline WideVector wide_attention(AttentionKind kind, const LogPartition& law, const WideVector& U,
                                 const WideVector& V, double scale, const WideVector& query) {
  const std::size_t e = query.size();
  const std::size_t d = U.size() / e;
  WideVector a(d, Wide(0));
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < e; ++j) a[i] += Wide(scale) * U[i * e + j] * query[j];
  }
  const WideVector response = wide_response(kind, law, a);
  WideVector output(V.size() / d, Wide(0));
  for (std::size_t k = 0; k < output.size(); ++k) {
    for (std::size_t i = 0; i < d; ++i) output[k] += V[k * d + i] * response[i];
  }
  return output;
}

/// KᵀQ, where K and Q have `rank` rows.
inline WideVector wide_product(const WideVector& K, const WideVector& Q, std::size_t rank) {
  const std::size_t d = K.size() / rank;
  const std::size_t e = Q.size() / rank;
  WideVector U(d * e, Wide(0));
  for (std::size_t r = 0; r < rank; ++r) {
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j < e; ++j) U[i * e + j] += K[r * d + i] * Q[r * e + j];
    }
  }
  return U;
}

/// The largest |value - exact| over the largest |exact|, for a matrix whose exact columns are given.
inline double relative_error(const Matrix& value, const std::vector<WideVector>& exact) {
  Wide error = 0;
  Wide largest = 0;
  for (std::size_t j = 0; j < exact.size(); ++j) {
    for (std::size_t i = 0; i < exact[j].size(); ++i) {
      const Wide entry = value(static_cast<std::ptrdiff_t>(i), static_cast<std::ptrdiff_t>(j));
      error = std::max<Wide>(error, abs(entry - exact[j][i]));
      largest = std::max<Wide>(largest, abs(exact[j][i]));
    }
  }
  return static_cast<double>(error / largest);
}

}  // namespace largo::test
