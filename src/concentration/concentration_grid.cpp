#include "largo/concentration/concentration_grid.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <span>

#include "concentration/log_slope.hpp"
#include "concentration/rows.hpp"
#include "largo/concentration/exact_errors.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/runtime/check.hpp"
#include "runtime/distribute.hpp"

namespace largo {
namespace {

constexpr const char* kConcentrationGrid = "concentration_grid";
constexpr double kMostPoints = 1e6;

// Five lengths, equally spaced in ln L, and the weights of the logarithms of their errors in the derivative
// at one of them: the middle one, or an outer one if the others would be shorter than one token or too long.
constexpr double kStep = 0.03;
constexpr std::size_t kStencil = 5;
using Weights = std::array<double, kStencil>;
constexpr Weights kCentral = {1, -8, 0, 8, -1}, kForward = {-25, 48, -36, 16, -3},
                  kBackward = {3, -16, 36, -48, 25};
// Weights of second order, for the error estimate.
constexpr Weights kLowCentral = {0, -6, 0, 6, 0}, kLowForward = {-18, 24, -6, 0, 0},
                  kLowBackward = {0, 0, 6, -24, 18};
constexpr double kDenominator = 12 * kStep;

class Stencil {
 public:
  explicit Stencil(double L) {
    const double farthest = std::exp(2 * kStep);
    here_ = L < farthest ? 0 : L * farthest > kLargestL ? 4 : 2;
    for (std::size_t i = 0; i < kStencil; ++i) {
      const double offset = static_cast<double>(i) - static_cast<double>(here_);
      lengths_[i] = offset == 0 ? L : L * std::exp(offset * kStep);
    }
  }
  std::span<const double> lengths() const { return lengths_; }

  std::optional<Estimate> exponent(std::span<const Estimate> errors) const {
    const Weights& weights = here_ == 2 ? kCentral : here_ == 0 ? kForward : kBackward;
    const Weights& low_weights = here_ == 2 ? kLowCentral : here_ == 0 ? kLowForward : kLowBackward;
    double slope = 0, low = 0, noise = 0;
    for (std::size_t i = 0; i < kStencil; ++i) {
      if (!(errors[i].value > 0)) return std::nullopt;
      const double logarithm = std::log(errors[i].value);
      slope += weights[i] * logarithm;
      low += low_weights[i] * logarithm;
      noise += std::abs(weights[i]) * (errors[i].error / errors[i].value + 0x1p-52 * std::abs(logarithm));
    }
    // The two orders differ by h² times a third derivative; the remaining error is h⁴ times a fifth.
    const double remaining = kStep * kStep * std::abs(slope - low);
    return Estimate{-slope / kDenominator, (noise + remaining) / kDenominator};
  }

 private:
  std::size_t here_;
  std::array<double, kStencil> lengths_{};
};

// Progress in tokens: those that are drawn and, for an exact length, the number that takes the same time.
class Progress {
 public:
  static constexpr double kExactLength = 1e7;

  Progress(const ConcentrationPlan& plan, double total) : plan_(plan), total_(total) {}
  void add(double tokens) {
    if (!plan_.progress) return;
    const std::lock_guard lock(mutex_);
    done_ += tokens;
    plan_.progress(std::min(1.0, done_ / total_));
  }

 private:
  const ConcentrationPlan& plan_;
  double total_, done_ = 0;
  std::mutex mutex_;
};

void check(const AttentionLayer& layer, const ConcentrationPlan& plan) {
  check_layer(kConcentrationGrid, layer);
  if (plan.lengths.empty() || plan.sigmas.empty())
    fail(kConcentrationGrid, "no lengths or no values of sigma are given");
  if (!plan.exact && !plan.sampled) fail(kConcentrationGrid, "ask for exact errors, sampled ones, or both");
  const double points = static_cast<double>(plan.lengths.size()) * static_cast<double>(plan.sigmas.size());
  if (points > kMostPoints) fail(kConcentrationGrid, "number of points", points, "at most 1e6");
  for (const double sigma : plan.sigmas) check_positive(kConcentrationGrid, "sigma", sigma);
  for (const double L : plan.lengths) {
    if (std::isnan(L) || L < 1) fail(kConcentrationGrid, "length", L, "at least 1");
    if (plan.sampled) concentration::check_sampled_length(kConcentrationGrid, L);
  }
}

// The lengths of the plan and their neighbours, each once.
std::vector<double> exact_lengths(const ConcentrationPlan& plan) {
  std::vector<double> lengths;
  for (const double L : plan.lengths) {
    if (plan.exponents && !std::isinf(L)) {
      const Stencil stencil(L);
      lengths.insert(lengths.end(), stencil.lengths().begin(), stencil.lengths().end());
    } else {
      lengths.push_back(L);
    }
  }
  // The longest lengths take most time and come first, so that no thread is left with one at the end.
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

// Exact errors for every sigma at each length. A unit of work is a length: its table serves every sigma.
std::vector<ConcentrationRow> exact_rows(const AttentionLayer& layer, const ConcentrationPlan& plan,
                                         const std::vector<double>& lengths, const Execution& execution,
                                         Progress& progress) {
  const ExactErrors errors(layer);
  const std::size_t width = plan.sigmas.size() * concentration::kErrorNumbers;
  const runtime::AlignedVector<double> table = runtime::distribute_rows(
      std::ssize(lengths), width, execution, [&](std::ptrdiff_t i, std::span<double> row) {
        const double L = lengths[static_cast<std::size_t>(i)];
        for (std::size_t k = 0; k < plan.sigmas.size(); ++k) {
          runtime::check_stop(execution);
          concentration::pack_errors(errors(L, plan.sigmas[k], execution),
                                     row.data() + k * concentration::kErrorNumbers);
        }
        progress.add(Progress::kExactLength);
      });
  const auto at = [&](double L, std::size_t index) {
    const auto i = std::lower_bound(lengths.begin(), lengths.end(), L, std::greater<>()) - lengths.begin();
    return concentration::unpack_errors(table.data() + static_cast<std::size_t>(i) * width +
                                        index * concentration::kErrorNumbers);
  };

  std::vector<ConcentrationRow> rows;
  for (std::size_t k = 0; k < plan.sigmas.size(); ++k) {
    for (const double L : plan.lengths) {
      const LayerErrors here = at(L, k);
      ConcentrationRow& row = rows.emplace_back(concentration::exact_row(layer, here, L, plan.sigmas[k]));
      if (!plan.exponents || std::isinf(L)) continue;
      const Stencil stencil(L);
      std::array<Estimate, kStencil> output, gradient_V, gradient_U;
      for (std::size_t i = 0; i < kStencil; ++i) {
        const LayerErrors near = at(stencil.lengths()[i], k);
        output[i] = near.output;
        gradient_V[i] = near.gradient_V;
        gradient_U[i] = near.gradient_U.value_or(Estimate{});
      }
      row.exponents = {stencil.exponent(output), stencil.exponent(gradient_V), stencil.exponent(gradient_U)};
    }
  }
  return rows;
}

// Adds the bounds to all rows. A unit of work is a point: its rows share them.
void add_bounds(const AttentionLayer& layer, const ConcentrationPlan& plan, const Execution& execution,
                std::vector<ConcentrationRow>& rows) {
  if (!plan.certified || missing_bound(layer)) return;
  const CertifiedBounds bounds(layer);
  const std::size_t methods = plan.exact && plan.sampled ? 2 : 1, points = rows.size() / methods;
  constexpr std::size_t kNumbers = 3;
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const runtime::AlignedVector<double> table = runtime::distribute_rows(
      static_cast<std::ptrdiff_t>(points), kNumbers, execution, [&](std::ptrdiff_t i, std::span<double> to) {
        const ConcentrationRow& row = rows[static_cast<std::size_t>(i) * methods];
        CertifiedErrors found{kNone, kNone, kNone};
        try {
          found = bounds(row.L, row.sigma, execution);
        } catch (const InputError&) {
          // Scores too large for the average over queries: no reason to lose the errors.
        }
        to[0] = found.output;
        to[1] = found.gradient_V;
        to[2] = found.gradient_U;
      });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double* const from = table.data() + i / methods * kNumbers;
    rows[i].certified = CertifiedErrors{from[0], from[1], from[2]};
  }
}

}  // namespace

std::vector<ConcentrationRow> concentration_grid(const AttentionLayer& layer, const ConcentrationPlan& plan,
                                                 const Execution& execution) {
  check(layer, plan);
  const std::vector<double> lengths = plan.exact ? exact_lengths(plan) : std::vector<double>();
  const std::size_t points = plan.sigmas.size() * plan.lengths.size();
  double total =
      Progress::kExactLength * static_cast<double>(runtime::share_of(std::ssize(lengths), execution).count);
  for (const double L : plan.lengths) {
    if (!plan.sampled || std::isinf(L)) continue;
    const int processes = execution.ranks != nullptr ? execution.ranks->size() : 1;
    total +=
        L * static_cast<double>(plan.sampling.samples) * static_cast<double>(plan.sigmas.size()) / processes;
  }
  Progress progress(plan, total);
  std::vector<ConcentrationRow> exact;
  if (plan.exact) exact = exact_rows(layer, plan, lengths, execution, progress);
  std::vector<ConcentrationRow> rows;
  for (std::size_t point = 0; point < points; ++point) {
    if (plan.exact) rows.push_back(exact[point]);
    if (!plan.sampled) continue;
    const double sigma = plan.sigmas[point / plan.lengths.size()];
    const double L = plan.lengths[point % plan.lengths.size()];
    ConcentrationPlan here = plan;
    here.sampling.drawn = [&](std::int64_t prompts) { progress.add(L * static_cast<double>(prompts)); };
    rows.push_back(concentration::sampled_row(layer, here, L, sigma, point, execution));
  }
  add_bounds(layer, plan, execution, rows);
  return rows;
}

namespace {

using Rows = std::span<const ConcentrationRow>;

// One of the three errors of a row.
using Which = std::optional<ErrorBar> (*)(const ConcentrationRow& row);
std::optional<ErrorBar> output_of(const ConcentrationRow& row) { return row.output; }
std::optional<ErrorBar> gradient_V_of(const ConcentrationRow& row) { return row.gradient_V; }
std::optional<ErrorBar> gradient_U_of(const ConcentrationRow& row) { return row.gradient_U; }

std::optional<Estimate> slope(Rows rows, const SigmaSummary& curve, Which which) {
  std::vector<concentration::CurvePoint> points;
  for (const ConcentrationRow& row : rows) {
    const auto error = which(row);
    if (row.sigma != curve.sigma || row.method != curve.method || !error) continue;
    points.push_back({row.L, error->value, error->error});
  }
  return concentration::log_slope(points);
}

// With a larger c2, a bound would fall faster than the errors of long prompts.
double largest_c2(const ConcentrationSummary& summary) {
  double largest = std::numeric_limits<double>::infinity();
  for (const SigmaSummary& curve : summary.sigmas) {
    if (!curve.asymptotic) continue;
    const double sigma = summary.sub_gaussian * curve.sigma;
    largest = std::min(largest, sigma * sigma * curve.asymptotic->value);
  }
  return largest;
}

std::optional<BoundReport> bound(const ConcentrationSummary& summary, Rows rows, const BoundShape& shape,
                                 Which which, const std::optional<BoundConstants>& given) {
  std::vector<BoundPoint> points;
  for (const ConcentrationRow& row : rows) {
    const auto error = which(row);
    if (row.method != summary.method || !error) continue;
    points.push_back({summary.sub_gaussian * row.sigma, row.L, error->value, error->value - error->low});
  }
  const auto constants = given ? given : fit_bound(shape, points, largest_c2(summary));
  if (!constants || points.empty()) return std::nullopt;
  return BoundReport{*constants, !given, check_bound(shape, *constants, points)};
}

}  // namespace

ConcentrationSummary summarise(const AttentionLayer& layer, Rows rows,
                               const std::optional<BoundConstants>& given) {
  check_layer("summarise", layer);
  ConcentrationSummary summary;
  summary.sub_gaussian = layer.tokens->sub_gaussian_constant();
  summary.sub_gaussian_kind = layer.tokens->sub_gaussian_kind();
  const bool any_exact = std::any_of(
      rows.begin(), rows.end(), [](const ConcentrationRow& row) { return row.method == ErrorMethod::exact; });
  summary.method = any_exact ? ErrorMethod::exact : ErrorMethod::sampled;
  for (const ConcentrationRow& row : rows) {
    const auto same = [&](const SigmaSummary& s) { return s.sigma == row.sigma && s.method == row.method; };
    if (std::any_of(summary.sigmas.begin(), summary.sigmas.end(), same)) continue;
    SigmaSummary& curve = summary.sigmas.emplace_back();
    curve.sigma = row.sigma;
    curve.method = row.method;
    curve.output = slope(rows, curve, output_of);
    curve.gradient_V = slope(rows, curve, gradient_V_of);
    curve.gradient_U = slope(rows, curve, gradient_U_of);
    curve.asymptotic = asymptotic_exponent(layer, row.sigma);
  }
  if (!layer.planted.empty()) return summary;  // the bounds are for independent tokens
  summary.output = bound(summary, rows, kOutputBound, output_of, given);
  summary.gradient_V = bound(summary, rows, kGradientVBound, gradient_V_of, given);
  summary.gradient_U = bound(summary, rows, kGradientUBound, gradient_U_of, given);
  return summary;
}

}  // namespace largo
