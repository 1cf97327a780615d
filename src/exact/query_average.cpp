#include "largo/exact/query_average.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "exact/attention_forms.hpp"
#include "exact/domain.hpp"
#include "exact/query_law.hpp"
#include "largo/exact/softmax_table.hpp"
#include "largo/numerics/check.hpp"
#include "largo/numerics/factor.hpp"

namespace largo {
namespace {

constexpr const char* kName = "averaged_attention_error";

// The rule in t, √(Q/λ) = ρ = ln(1 + e^t), analytic for |Im t| < π: its step is halved until
// what remains is estimated to be less than kEnough, relatively.
constexpr double kFirstStep = 0.4;
constexpr double kEnough = 1e-11;
constexpr double kSafety = 10;
constexpr double kRounding = 1e-14;
constexpr int kHalvings = 7;
constexpr double kFarthest = 1e4;
constexpr double kLinearFrom = 40;  // ρ = t there, and for larger t
// What is below e^-kDepth of the integral is left out.
constexpr double kDepth = 42;

enum : std::size_t { kOutput, kSquaredBias, kGradientV, kGradientU, kCheck, kAverages };
using Averages = std::array<double, kAverages>;

struct Sums {
  Averages value{};
  Averages uncertainty{};  ///< from the densities and the table

  void add(double factor, const Sums& other) {
    for (std::size_t i = 0; i < kAverages; ++i) {
      value[i] += factor * other.value[i];
      uncertainty[i] += factor * other.uncertainty[i];
    }
  }
};

// The errors at all queries with scores of variance `square`, from the densities of forms there; and the
// sizes of their terms.
std::pair<Averages, Averages> errors_at(const AttentionForms& forms, const SoftmaxStatistics& m,
                                        const FormProducts& f, double square) {
  const double inverse = 1 / square;
  const DirectionValues at{f[kOne], f[kW] * inverse, f[kG] * inverse, 0, 0};
  const DirectionValues times_Z{f[kZ], f[kZW] * inverse, f[kZG] * inverse, f[kZH] * inverse,
                                f[kZWG] * inverse * inverse};
  const MomentCombination output = output_combination(forms, at);
  const MomentCombination gradient_V = value_gradient_combination(forms, at);
  const MomentCombination gradient_U = covariance_combination(forms, times_Z);
  const double bias = m.P2 * m.P2 * f[kW];
  return {{output.of(m), bias, gradient_V.of(m), gradient_U.of(m), f[kOne]},
          {output.size_of(m), 2 * bias, gradient_V.size_of(m), gradient_U.size_of(m), 0}};
}

class SpreadIntegral {
 public:
  SpreadIntegral(const AttentionForms& forms, const QueryLaw& law, const SoftmaxTable& table)
      : forms_(forms), law_(law), table_(table) {
    // The errors grow from some 1/L at s = 0 to 1, the squared bias from 1/L²; the law ends like a Gaussian,
    // and begins like ρ^rank below the smallest of the λ_j.
    last_ = law.highest() + std::sqrt(2 * (kDepth + 2 * std::log(table.L())));
    first_ = -kDepth / law.rank() - 1 + 0.5 * std::log(law.smallest_ratio());
    const double nearest = law.lowest() - std::sqrt(2 * kDepth);
    if (nearest > kLinearFrom) first_ = nearest;
    // Exponents of the order lowest² are to keep some digits.
    if (law.lowest() > kFarthest) {
      fail(kName, "distance of the query mean from zero scores, in deviations", law.lowest(),
           "at most 1e4 (or take the error at the mean)");
    }
    const double largest = std::sqrt(law.smallest_square() + law.largest() * last_ * last_);
    if (!(largest <= kLargestScoreSpread))
      fail(kName, "spread of the scores", largest, "at most 1e6 for all queries");
  }

  /// The values, and estimates of their errors.
  std::pair<Averages, Averages> operator()() const {
    double step = kFirstStep;
    Sums sums = trapezoidal(first_, step);
    Averages last_change{};
    for (int halving = 1;; ++halving) {
      Sums finer;
      finer.add(0.5, sums);
      finer.add(0.5, trapezoidal(first_ + 0.5 * step, step));
      step *= 0.5;
      Averages error{};
      double worst = 0;
      const double check = std::abs(finer.value[kCheck] - 1);
      for (std::size_t i = 0; i < kAverages; ++i) {
        const double size = std::abs(finer.value[i]);
        const double change = size > 0 ? std::abs(finer.value[i] - sums.value[i]) / size : 0;
        // The next change, if they fell in proportion; usually they fall much faster.
        const double ratio = halving > 1 ? std::min(1.0, kSafety * change / last_change[i]) : 1;
        const double remaining = change * ratio;
        last_change[i] = std::max(change, std::numeric_limits<double>::epsilon());
        // Interpolation in the table has small jumps between panels: no step resolves those.
        if (size * remaining > finer.uncertainty[i]) worst = std::max(worst, remaining);
        error[i] = finer.uncertainty[i] + size * (remaining + kRounding + check);
      }
      if (worst < kEnough || halving == kHalvings) return {finer.value, error};
      sums = finer;
    }
  }

 private:
  Sums trapezoidal(double first, double step) const {
    Sums sums;
    const auto nodes = static_cast<std::int64_t>((last_ - first) / step);
    for (std::int64_t node = 0; node <= nodes; ++node) {
      const double t = first + static_cast<double>(node) * step;
      const double rho = t < kLinearFrom ? std::log1p(std::exp(t)) : t;
      const double q = law_.largest() * rho * rho;
      // dq = 2λρ dρ, dρ = dt/(1 + e^-t)
      const double weight = step * 2 * law_.largest() * rho / (1 + std::exp(-t));
      const double square = law_.smallest_square() + q;
      const SoftmaxStatistics m = table_(std::sqrt(square));
      const QueryLaw::Densities densities = law_.densities(q);
      const auto [value, size] = errors_at(forms_, m, densities.fine, square);
      const Averages coarse = errors_at(forms_, m, densities.coarse, square).first;
      for (std::size_t i = 0; i < kAverages; ++i) {
        sums.value[i] += weight * value[i];
        sums.uncertainty[i] += weight * (size[i] * m.relative_error + std::abs(value[i] - coarse[i]));
      }
    }
    return sums;
  }

  const AttentionForms& forms_;
  const QueryLaw& law_;
  const SoftmaxTable& table_;
  double first_ = 0, last_ = 0;
};

// All queries give scores of the same spread: at s = 0 of the same distribution, whatever the direction e is.
std::pair<Averages, Averages> constant_spread(const AttentionForms& forms, const QueryLaw& law,
                                              const SoftmaxTable& table) {
  const double square = law.smallest_square() > kNoSpread ? law.smallest_square() : 0;
  const SoftmaxStatistics m = table(std::sqrt(square));
  FormProducts f = law.averages();
  if (square == 0) {
    const double W = forms.W(0, 0), G = forms.G(0, 0);
    f = {f[kOne], W, G, f[kZ], f[kZ] * W, f[kZ] * G, f[kZ] * forms.WG(0, 0), f[kZ] * W * G};
  }
  auto [value, size] = errors_at(forms, m, f, square > 0 ? square : 1);
  if (square == 0) value[kSquaredBias] = 0;
  for (double& x : size) x *= m.relative_error + 1e-15;
  return {value, size};
}

}  // namespace

AveragedAttentionError averaged_attention_error(const ConstMatrixRef& token_covariance,
                                                const ConstMatrixRef& U, const ConstMatrixRef& V,
                                                const ConstVectorRef& query_mean,
                                                const ConstMatrixRef& query_covariance, double L) {
  check_prompt_length(kName, L);
  const Matrix R = covariance_root(kName, "token_covariance", token_covariance).root;
  const Matrix S = covariance_root(kName, "query_covariance", query_covariance).root;
  check_size(kName, "query_mean", query_mean.size(), query_covariance.rows());
  check_shape(kName, "U", U.rows(), U.cols(), R.rows(), query_mean.size());
  check_size(kName, "columns of V", V.cols(), R.rows());
  check_finite(kName, "U", U);
  check_finite(kName, "V", V);
  check_finite(kName, "query_mean", query_mean);
  AveragedAttentionError result;
  if (R.cols() == 0 || L == kInfinitePrompt) return result;

  const auto table = SoftmaxTable::shared(L);
  const AttentionForms forms(R, V);
  const QueryLaw law(query_mean, S, R.transpose() * U, forms.W, forms.G, forms.WG);
  const auto [value, error] =
      law.rank() > 0 ? SpreadIntegral(forms, law, *table)() : constant_spread(forms, law, *table);
  for (const double x : value) check_finite(kName, "averaged error", x);
  result.output = {value[kOutput], error[kOutput]};
  result.squared_bias = {value[kSquaredBias], error[kSquaredBias]};
  result.gradient_V = {value[kGradientV], error[kGradientV]};
  result.gradient_U = {value[kGradientU], error[kGradientU]};
  result.self_check = value[kCheck] - 1;
  return result;
}

}  // namespace largo
