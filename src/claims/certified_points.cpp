#include "claims/certified_points.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "largo/concentration/certified_bound.hpp"
#include "largo/concentration/exact_errors.hpp"
#include "largo/estimation/attention_errors.hpp"
#include "runtime/distribute.hpp"

namespace largo::claims {
namespace {

constexpr double kCertifiedNorm = 0.7;                   // of U
constexpr double kMuchSmaller = 1e-6, kMuchLarger = 10;  // factors of the bounds in negative controls
// Under Gaussian queries a bound for bounded tokens takes a second: each of these laws in one dimension, and
// none in a quick run.
struct SlowSetting {
  std::ptrdiff_t d;
  std::size_t law;
};
constexpr SlowSetting kSlowSettings[] = {{4, 3}, {4, 1}, {1, 5}, {2, 4}, {8, 2}};

bool is_left_out(const CertifiedSetting& setting, bool quick) {
  const bool is_turn =
      !quick && std::any_of(std::begin(kSlowSettings), std::end(kSlowSettings),
                            [&](const SlowSetting& s) { return s.d == setting.d && s.law == setting.law; });
  const bool is_bounded = setting.law > 0 && setting.law + 1 < kTokenLaws.size();
  if (quick && setting.queries == QueryKind::sphere && is_bounded && setting.law > 1) return true;
  return setting.queries == QueryKind::gaussian && is_bounded && !is_turn;
}

std::vector<double> lengths_of(const CertifiedSetting& setting, bool quick) {
  std::vector<double> lengths = quick ? std::vector<double>{2, 1000} : std::vector<double>{2, 30, 1000};
  if (setting.queries == QueryKind::one) {
    lengths = log_spaced_lengths(2, 1e6, quick ? 5 : 9);
    lengths[lengths.size() / 2] = 1000;
  } else if (!setting.is_sampled() || (setting.d == kCertifiedShown && !quick)) {
    lengths.push_back(1e6);
  }
  if (!setting.is_sampled()) lengths.push_back(1e300);
  return lengths;
}

constexpr std::size_t kPointNumbers = 1 + 3 * 3;

// The bound without its δ and without rare prompts, which is none: a negative control
double first_term(const AttentionLayer& layer, double L) {
  const Vector a = layer.U * std::get<Vector>(layer.queries);
  const Tilt once = layer.tokens->tilt(a), twice = layer.tokens->tilt(2 * a);
  const double second = (layer.V * twice.covariance * layer.V.transpose()).trace() +
                        (layer.V * (twice.mean - once.mean)).squaredNorm();
  return std::exp(twice.log_partition - 2 * once.log_partition) / L * second;
}

// The errors at all lengths of a setting.
std::vector<CertifiedPoint> errors_of(const CertifiedSetting& setting, const AttentionLayer& layer,
                                      const ClaimOptions& options, const Execution& alone) {
  std::vector<CertifiedPoint> points;
  std::optional<ExactErrors> exact;
  if (!setting.is_sampled()) exact.emplace(layer);
  for (const double L : lengths_of(setting, options.quick)) {
    CertifiedPoint point{.L = L};
    if (exact) {
      const LayerErrors e = (*exact)(L, 1, alone);
      point.error = {e.output.value, e.gradient_V.value, e.gradient_U ? e.gradient_U->value : kNoFormula};
    } else {
      ErrorSampling sampling;
      sampling.length = static_cast<std::int64_t>(L);
      sampling.seed = options.seed;
      sampling.plan.samples = L > 1000 ? 8 : 200;
      sampling.gradient_U = true;
      const SampledErrors e = sample_attention_errors(*layer.tokens, layer.U, layer.V,
                                                      *std::get<MeasurePtr>(layer.queries), sampling, alone);
      point.error = {e.output.value, e.gradient_V.value, e.gradient_U.value};
      point.allowance = {kAllowedErrors * e.output.standard_error,
                         kAllowedErrors * e.gradient_V.standard_error,
                         kAllowedErrors * e.gradient_U.standard_error};
    }
    points.push_back(point);
  }
  return points;
}

// Errors and bounds at all lengths; nothing where there is no bound.
std::vector<CertifiedPoint> points_of(const CertifiedSetting& setting, const ClaimOptions& options,
                                      const Execution& alone) {
  AttentionLayer layer = setting.layer(), counted = layer;
  if (setting.queries == QueryKind::signs && setting.d <= kMostSigns)
    counted.queries = sign_queries(kTokenLaws[setting.law], setting.d);
  if (missing_bound(layer)) layer = counted;
  if (missing_bound(layer)) return {};
  const CertifiedBounds bounds(layer);
  std::vector<CertifiedPoint> points = errors_of(setting, counted, options, alone);
  for (CertifiedPoint& point : points) {
    const CertifiedErrors bound = bounds(point.L, 1, alone);
    point.bound = {bound.output, bound.gradient_V, bound.gradient_U};
    if (options.control == 1) point.bound[0] = first_term(layer, point.L);
    for (double& one : point.bound) {
      if (options.control == 2) one *= kMuchSmaller;
      if (options.control == 3) one *= kMuchLarger;
    }
  }
  return points;
}

}  // namespace

AttentionLayer CertifiedSetting::layer() const {
  return random_layer(kTokenLaws[law], d, queries, draw, kCertifiedNorm);
}

bool CertifiedSetting::is_sampled() const {
  if (queries == QueryKind::one) return false;
  if (queries == QueryKind::signs) return d > kMostSigns;
  return law > 0;  // averages over Gaussian queries and spheres are exact for Gaussian tokens
}

std::vector<CertifiedSetting> certified_settings(const ClaimOptions& options) {
  std::vector<CertifiedSetting> settings;
  int draw = 300;
  for (const std::ptrdiff_t d : {8, 4, 2, 1}) {
    if (options.quick && d != 1 && d != kCertifiedShown) continue;
    for (std::size_t law = 0; law < kTokenLaws.size(); ++law, ++draw) {
      for (const QueryKind kind : kQueryKinds) {
        const CertifiedSetting setting{law, d, kind, draw};
        if (is_left_out(setting, options.quick)) continue;
        const bool is_quick_sample = law == 1 && kind == QueryKind::sphere && d == kCertifiedShown;
        if (options.control && kind != QueryKind::one && !(options.control == 2 && is_quick_sample)) continue;
        settings.push_back(setting);
      }
    }
  }
  return settings;
}

std::vector<std::vector<CertifiedPoint>> certified_points(const std::vector<CertifiedSetting>& settings,
                                                          const ClaimOptions& options) {
  // Every setting on a thread of its own: most of the time goes into rules for averages over queries.
  constexpr std::size_t kMostLengths = 10, kWidth = 1 + kMostLengths * kPointNumbers;
  const Execution alone{.threads = 1, .stop = options.execution.stop};
  const auto rows = runtime::distribute_rows(
      std::ssize(settings), kWidth, options.execution, [&](std::ptrdiff_t i, std::span<double> row) {
        const auto points = points_of(settings[static_cast<std::size_t>(i)], options, alone);
        row[0] = static_cast<double>(points.size());
        double* next = row.data() + 1;
        for (const CertifiedPoint& p : points) {
          *next++ = p.L;
          for (const auto* numbers : {&p.error, &p.allowance, &p.bound})
            next = std::copy(numbers->begin(), numbers->end(), next);
        }
      });
  std::vector<std::vector<CertifiedPoint>> points(settings.size());
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const double* next = rows.data() + i * kWidth;
    for (auto left = static_cast<std::size_t>(*next++); left > 0; --left) {
      CertifiedPoint& p = points[i].emplace_back();
      p.L = *next++;
      for (auto* numbers : {&p.error, &p.allowance, &p.bound}) {
        std::copy_n(next, numbers->size(), numbers->begin());
        next += numbers->size();
      }
    }
  }
  return points;
}

}  // namespace largo::claims
