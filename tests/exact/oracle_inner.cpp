#include "exact/oracle_inner.hpp"

#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <map>
#include <stdexcept>
#include <vector>

namespace largo::oracle {
namespace {

using boost::math::constants::pi;

/// The highest power of x that is needed with T^k.
constexpr std::array<int, 6> kOrder = {0, 2, 4, 4, 4, 1};
/// Terms below e^-kCut = 1e-53 of the largest are left out.
constexpr double kCut = 122;

/// Functions of X = y + s g with T = e^X, the kinds of terms that occur.
enum Kind : std::size_t { kOneMinus, kExp, kReduced, kPower1, kPower2, kPower3, kPower4, kPower5, kKinds };

/// T^k e^{−T}, 1 − e^{−T} and T (1 − e^{−T}) on X = index·step, index − first ≥ 0.
struct ScoreTables {
  static constexpr int kFirst = -2400;
  static constexpr int kLast = 600;
  std::array<FixedTable, kKinds> table;
  std::array<std::vector<double>, kKinds> log;  ///< for finding the terms that count
  std::int64_t origin = 0;                      ///< position of X = 0

  explicit ScoreTables(int steps) : origin(-static_cast<std::int64_t>(kFirst) * steps) {
    for (std::int64_t j = static_cast<std::int64_t>(kFirst) * steps; j <= std::int64_t{kLast} * steps; ++j) {
      const Real T = exp(Real(j) / steps);
      std::array<Real, kKinds> w;
      w[kOneMinus] = one_minus_exp(T);
      w[kReduced] = T * w[kOneMinus];
      // Beyond X = 16, e^{−T} leaves the default exponent range of MPFR, and no window goes there.
      w[kExp] = j > 16 * steps ? ldexp(Real(1), -1000000000) : exp(-T);
      for (std::size_t k = kPower1; k <= kPower5; ++k) w[k] = w[k - (k == kPower1 ? 2 : 1)] * T;
      const double X = static_cast<double>(j) / steps;
      for (std::size_t k = 0; k < kKinds; ++k) table[k].push_back(w[k]);
      const double log_one_minus = X < -30 ? X : std::log(-std::expm1(-std::exp(X)));
      log[kOneMinus].push_back(log_one_minus);
      log[kReduced].push_back(X + log_one_minus);
      for (std::size_t k = 0; k <= 5; ++k) {
        log[k == 0 ? kExp : kReduced + k].push_back(static_cast<double>(k) * X - std::exp(X));
      }
    }
  }

  static const ScoreTables& with(int steps) {
    static std::map<int, ScoreTables> tables;
    return tables.try_emplace(steps, steps).first->second;
  }
};

class WideSums : public InnerSums {
 public:
  WideSums(const Real& s, int refine)
      : s_(s),
        finer_(s < 0.5 ? 2 : 1),
        steps_(kStepsPerUnit * refine * finer_),
        cut_(kCut + 8 * (refine - 1)),
        tables_(ScoreTables::with(steps_)) {
    // G(u) = h/(s√2π) e^{−u²/2s²} on u = i h from the ratios of neighbours: 2 products per point, with errors
    // of at most 1e5·1e-70.
    first_ = -std::int64_t{1000} * steps_;
    const std::int64_t last = std::int64_t{2400} * steps_;
    const Real h = Real(1) / steps_;
    const Real curvature = h * h / (s * s);
    const Real second_ratio = exp(-curvature);
    Real value = exp(-Real(first_) * first_ * curvature / 2) * h / (s * sqrt(2 * pi<Real>()));
    Real ratio = exp(-(2 * Real(first_) + 1) * curvature / 2);
    for (std::int64_t i = first_; i <= last; ++i) {
      gaussian_.push_back(value);
      value *= ratio;
      ratio *= second_ratio;
    }
    log_curvature_ = curvature.convert_to<double>() / 2;
  }

  InnerValues at(std::int64_t y_index) const override {
    const std::int64_t y = y_index * finer_;
    InnerValues out;
    if (y < 0) {
      out.log_phi0 = log1m(moments(kOneMinus, y, 0)[0]);
    } else {
      out.log_phi0 = log(moments(kExp, y, 0)[0]);
    }
    const Real y_real = Real(y) / steps_;
    out.reduced = y_real < -s_ * s_;
    out.moment[1] = moments(out.reduced ? kReduced : kPower1, y, kOrder[1]);
    if (out.reduced) {
      for (Real& m : out.moment[1]) m = -m;
    }
    for (std::size_t k = 2; k <= 5; ++k) out.moment[k] = moments(kReduced + k, y, kOrder[k]);
    return out;
  }

 private:
  /// Σ w(y + u) G(u) (u/s − s)^m, m = 0..order.
  PowerSums moments(std::size_t kind, std::int64_t y, int order) const {
    const std::vector<double>& log_w = tables_.log[kind];
    const std::int64_t shift = y + tables_.origin;  // from u's index to X's position
    const auto term = [&](std::int64_t i) {
      const auto u = static_cast<double>(i);
      return log_w[static_cast<std::size_t>(i + shift)] - log_curvature_ * u * u;
    };
    // The logarithm of the term is concave in u: bisect for its peak, then for where it has fallen by cut_.
    const std::int64_t low = std::max(first_, -shift);
    const std::int64_t high =
        std::min(first_ + std::ssize(gaussian_.exponent), std::ssize(log_w) - shift) - 1;
    const std::int64_t peak = bisect(low, high, [&](std::int64_t i) { return term(i + 1) > term(i); });
    const double floor = term(peak) - cut_;
    if (term(low) > floor || term(high) > floor) throw std::logic_error("WideSums: tables too short");
    const std::int64_t left = bisect(low, peak, [&](std::int64_t i) { return term(i) < floor; });
    const std::int64_t right = bisect(peak, high, [&](std::int64_t i) { return term(i) > floor; });
    // The Gaussian's table starts at u = first_.
    const PowerSums M = power_sums(tables_.table[kind], gaussian_, shift + first_, left - first_,
                                   right - first_, peak - first_, order);
    return recentre(M, Real(peak) / (steps_ * s_) - s_, 1 / (steps_ * s_), order);
  }

  /// The first index in [low, high] where `before` fails (high if nowhere).
  template <class Predicate>
  static std::int64_t bisect(std::int64_t low, std::int64_t high, const Predicate& before) {
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (before(middle)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /// Σ t_d (a + δ d)^m from Σ t_d d^j.
  static PowerSums recentre(const PowerSums& M, const Real& a, const Real& delta, int order) {
    static constexpr int kBinomial[5][5] = {
        {1, 0, 0, 0, 0}, {1, 1, 0, 0, 0}, {1, 2, 1, 0, 0}, {1, 3, 3, 1, 0}, {1, 4, 6, 4, 1}};
    PowerSums out;
    for (int m = 0; m <= order; ++m) {
      Real sum = 0;
      Real power_of_delta = 1;
      for (int j = 0; j <= m; ++j) {
        sum += kBinomial[m][j] * power_of_delta * pow(a, m - j) * M[static_cast<std::size_t>(j)];
        power_of_delta *= delta;
      }
      out[static_cast<std::size_t>(m)] = sum;
    }
    return out;
  }

  Real s_;
  int finer_;  ///< points of u between two of y
  int steps_;  ///< points of u per unit
  double cut_;
  const ScoreTables& tables_;
  FixedTable gaussian_;
  std::int64_t first_ = 0;
  double log_curvature_ = 0;
};

class NarrowSums : public InnerSums {
 public:
  NarrowSums(const Real& s, int refine) : s_(s), steps_(kStepsPerUnit * refine) {
    // In g the strip is π/(2s) wide: for s < 1/4 a step of 1/4 has an error below 1e-58.
    const Real step = Real(0.25) / refine;
    for (Real g = -16; g <= 18; g += step) {
      const Real weight = exp(-g * g / 2) * step / sqrt(2 * pi<Real>());
      factor_.push_back(exp(s * g));
      auto& moments = weighted_.emplace_back();
      moments[0] = weight;
      for (std::size_t m = 1; m < 5; ++m) moments[m] = moments[m - 1] * (g - s);
    }
  }

  InnerValues at(std::int64_t y) const override {
    InnerValues out;
    const Real t = exp(Real(y) / steps_);
    out.reduced = Real(y) / steps_ < -s_ * s_;
    Real phi0 = 0;
    Real one_minus_phi0 = 0;
    for (std::size_t i = 0; i < factor_.size(); ++i) {
      const Real T = t * factor_[i];
      const Real one_minus = one_minus_exp(T);
      const Real decay = T < 1 ? Real(1 - one_minus) : exp(-T);
      one_minus_phi0 += weighted_[i][0] * one_minus;
      phi0 += weighted_[i][0] * decay;
      Real w = T * (out.reduced ? Real(-one_minus) : decay);
      for (std::size_t k = 1; k <= 5; ++k) {
        for (std::size_t m = 0; m <= static_cast<std::size_t>(kOrder[k]); ++m) {
          out.moment[k][m] += weighted_[i][m] * w;
        }
        w = k == 1 ? T * T * decay : w * T;
      }
    }
    out.log_phi0 = one_minus_phi0 < 0.5 ? log1m(one_minus_phi0) : log(phi0);
    return out;
  }

 private:
  Real s_;
  int steps_;
  std::vector<Real> factor_;                   ///< e^{s g}
  std::vector<std::array<Real, 5>> weighted_;  ///< (g − s)^m times the weight of g
};

}  // namespace

Real log1m(const Real& v) {
  Real out;
  mpfr_neg(out.backend().data(), v.backend().data(), MPFR_RNDN);
  mpfr_log1p(out.backend().data(), out.backend().data(), MPFR_RNDN);
  return out;
}

Real one_minus_exp(const Real& v) {
  if (v > 0.0625) return 1 - exp(-v);
  // 1 − v/2 (1 − v/3 (1 − …)), with as many terms as 75 digits need.
  const double log_v = static_cast<double>(mpfr_get_exp(v.backend().data())) * 0.693;
  int terms = 2;
  for (double log_term = 0; log_term > -175; ++terms) log_term += log_v - std::log(terms);
  Real sum = 1;
  for (int n = terms; n >= 2; --n) sum = 1 - v * sum / n;
  return v * sum;
}

std::unique_ptr<InnerSums> make_wide_sums(const Real& s, int refine) {
  return std::make_unique<WideSums>(s, refine);
}

std::unique_ptr<InnerSums> make_narrow_sums(const Real& s, int refine) {
  return std::make_unique<NarrowSums>(s, refine);
}

}  // namespace largo::oracle
