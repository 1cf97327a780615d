#include "largo/estimation/sample_means.hpp"

#include <algorithm>
#include <cmath>

#include <boost/math/distributions/students_t.hpp>

#include "estimation/central_moments.hpp"
#include "largo/runtime/check.hpp"
#include "largo/runtime/matrix.hpp"
#include "numerics/factor.hpp"
#include "runtime/distribute.hpp"

namespace largo {
namespace {

constexpr const char* kSampleMeans = "sample_means";
constexpr std::size_t kControls = Experiment::kControls;
constexpr std::int64_t kFirstLook = 1024;
constexpr std::int64_t kBlocksAtOnce = 1024;  // blocks whose sums are held in memory
// Number of samples for which a device prepares, and of numbers that it stores for all of them: 512 MB.
constexpr std::int64_t kSamplesAtOnce = std::int64_t{1} << 15, kPreparedNumbers = std::int64_t{1} << 26;
constexpr std::uint64_t kPilot = std::uint64_t{1} << 62;
constexpr std::int64_t kMostPilots = 512;
constexpr std::int64_t kFewestPilots = 32;
// A control must remove this share of the variance to be worth its noise.
constexpr double kWorthwhile = 0.05;

// Share of the variance below which only rounding errors are left.
constexpr double kRounding = 1e-12;

// The coefficients with which the controls of each quantity are subtracted from it.
struct Coefficients {
  std::vector<double> beta;       // kControls for each quantity
  std::vector<double> reduction;  // factor by which the variance falls
};

class Draws {
 public:
  explicit Draws(const Experiment& experiment)
      : sampler_(experiment.sampler()),
        values_(experiment.quantities()),
        controls_(experiment.quantities() * kControls) {}

  void draw(std::uint64_t index) {
    std::fill(values_.begin(), values_.end(), 0.0);
    std::fill(controls_.begin(), controls_.end(), 0.0);
    sampler_->sample(index, values_, controls_);
    for (const double x : values_) check_finite(kSampleMeans, "a sampled quantity", x);
    for (const double x : controls_) check_finite(kSampleMeans, "a control of a sampled quantity", x);
  }
  std::span<const double> values() const { return values_; }
  std::span<const double> controls() const { return controls_; }

 private:
  std::unique_ptr<Sampler> sampler_;
  std::vector<double> values_, controls_;
};

// Fits one quantity to its controls by least squares; coefficients stay zero if they explain too little.
void fit(const Matrix& values, const Matrix& controls, Eigen::Index q, Coefficients& fitted) {
  const auto C = controls.middleCols(q * static_cast<Eigen::Index>(kControls), kControls);
  const Vector y = values.col(q).array() - values.col(q).mean();
  const Matrix X = C.rowwise() - C.colwise().mean();
  const Vector slope = numerics::least_squares(X, y);
  const double before = y.squaredNorm();
  const double after = (y - X * slope).squaredNorm();
  if (!(after < (1 - kWorthwhile) * before)) return;
  for (std::size_t c = 0; c < kControls; ++c) {
    fitted.beta[static_cast<std::size_t>(q) * kControls + c] = slope[static_cast<Eigen::Index>(c)];
  }
  fitted.reduction[static_cast<std::size_t>(q)] = before / std::max(after, kRounding * before);
}

// Prepares this process's share of the blocks, which have `samples` samples from `first` on.
void prepare_share(const Experiment& experiment, std::uint64_t first, std::int64_t blocks,
                   std::int64_t samples, const Execution& execution) {
  const std::int64_t per_block = experiment.samples_per_block();
  const runtime::Share share = runtime::share_of(blocks, execution);
  const std::int64_t begin = share.first * per_block;
  const std::int64_t end = std::min(samples, (share.first + share.count) * per_block);
  if (begin >= end) return;
  try {
    experiment.prepare(first + static_cast<std::uint64_t>(begin), end - begin);
  } catch (...) {
    runtime::gather_rows({}, true, execution);  // the other processes wait for this one's rows
    throw;
  }
}

Coefficients choose_coefficients(const Experiment& experiment, const SamplingPlan& plan,
                                 const Execution& execution) {
  const std::size_t quantities = experiment.quantities();
  Coefficients chosen{std::vector<double>(quantities * kControls, 0.0), std::vector<double>(quantities, 1.0)};
  const std::int64_t pilots = pilot_samples(plan);
  if (!plan.use_controls || pilots == 0) return chosen;
  const std::int64_t per_block = experiment.samples_per_block();
  const std::int64_t blocks = (pilots + per_block - 1) / per_block;
  const std::size_t width = quantities * (1 + kControls);
  prepare_share(experiment, kPilot + plan.first, blocks, pilots, execution);
  // Raw samples, with a block of them in each row.
  const runtime::AlignedVector<double> rows =
      runtime::distribute_rows(blocks, static_cast<std::size_t>(per_block) * width, execution,
                               [&](std::ptrdiff_t block, std::span<double> row) {
                                 Draws draws(experiment);
                                 for (std::int64_t i = 0; i < per_block; ++i) {
                                   const std::int64_t index = block * per_block + i;
                                   if (index >= pilots) break;
                                   draws.draw(kPilot + plan.first + static_cast<std::uint64_t>(index));
                                   auto at = row.begin() + static_cast<std::ptrdiff_t>(width) * i;
                                   at = std::copy(draws.values().begin(), draws.values().end(), at);
                                   std::copy(draws.controls().begin(), draws.controls().end(), at);
                                 }
                               });
  const Eigen::Map<const RowMatrix> all(rows.data(), blocks * per_block, static_cast<Eigen::Index>(width));
  const Matrix values = all.topLeftCorner(pilots, static_cast<Eigen::Index>(quantities));
  const Matrix controls = all.topRightCorner(pilots, static_cast<Eigen::Index>(quantities * kControls));
  for (std::size_t q = 0; q < quantities; ++q) fit(values, controls, static_cast<Eigen::Index>(q), chosen);
  return chosen;
}

// Merges samples plan.first + [begin, end) into `moments`; begin is a multiple of the block size.
void add_samples(const Experiment& experiment, const SamplingPlan& plan, const Coefficients& chosen,
                 std::int64_t begin, std::int64_t end, const Execution& execution,
                 std::vector<estimation::CentralMoments>& moments) {
  constexpr std::size_t kNumbers = 5;
  const std::size_t quantities = moments.size();
  const std::int64_t per_block = experiment.samples_per_block();
  const std::int64_t blocks = (end - begin + per_block - 1) / per_block;
  const auto numbers = static_cast<std::int64_t>(std::max<std::size_t>(1, experiment.prepared_numbers()));
  const std::int64_t samples = std::min(kSamplesAtOnce, kPreparedNumbers / numbers);
  const std::int64_t at_once = execution.device == nullptr
                                   ? kBlocksAtOnce
                                   : std::clamp<std::int64_t>(samples / per_block, 1, kBlocksAtOnce);
  for (std::int64_t first = 0; first < blocks; first += at_once) {
    const std::int64_t count = std::min(at_once, blocks - first);
    const std::int64_t start = begin + first * per_block;
    prepare_share(experiment, plan.first + static_cast<std::uint64_t>(start), count, end - start, execution);
    const runtime::AlignedVector<double> rows = runtime::distribute_rows(
        count, quantities * kNumbers, execution, [&](std::ptrdiff_t block, std::span<double> row) {
          Draws draws(experiment);
          std::vector<estimation::CentralMoments> sums(quantities);
          const std::int64_t from = begin + (first + block) * per_block;
          const std::int64_t to = std::min(end, from + per_block);
          for (std::int64_t i = from; i < to; ++i) {
            draws.draw(plan.first + static_cast<std::uint64_t>(i));
            for (std::size_t q = 0; q < quantities; ++q) {
              double x = draws.values()[q];
              for (std::size_t c = 0; c < kControls; ++c) {
                x -= chosen.beta[q * kControls + c] * draws.controls()[q * kControls + c];
              }
              sums[q].add(x);
            }
          }
          auto at = row.begin();
          for (const estimation::CentralMoments& sum : sums) {
            for (const double x : {sum.n, sum.mean, sum.m2, sum.m3, sum.m4}) *at++ = x;
          }
          if (plan.drawn) plan.drawn(to - from);
        });
    const double* at = rows.data();
    for (std::int64_t block = 0; block < count; ++block) {
      for (estimation::CentralMoments& total : moments) {
        total.merge({at[0], at[1], at[2], at[3], at[4]});
        at += kNumbers;
      }
    }
  }
}

// Solves g(x) = y for Hall's g(x) = x + γx²/3 + γ²x³/27 + γ/(6n), which is monotone.
double inverse_transformation(double y, double skewness, double n) {
  const double shifted = y - skewness / (6 * n);
  if (std::abs(skewness * shifted) < 1e-6) return shifted - skewness * shifted * shifted / 3;
  return 3 / skewness * (std::cbrt(1 + skewness * shifted) - 1);
}

// Fourth powers must neither overflow nor vanish.
void check_range(const estimation::CentralMoments& moments) {
  constexpr double kLargest = 1e75;
  const double size = std::max(std::abs(moments.mean), std::sqrt(moments.variance()));
  if (size == 0 || (size >= 1 / kLargest && size <= kLargest)) return;
  fail(kSampleMeans, "size of a quantity", size,
       "0 or between 1e-75 and 1e75: scale it (V, for errors of attention)");
}

SampledMean to_mean(const estimation::CentralMoments& moments, double reduction) {
  check_range(moments);
  SampledMean mean;
  const double n = moments.n;
  mean.value = moments.mean;
  mean.samples = static_cast<std::int64_t>(n);
  mean.variance = moments.variance();
  mean.skewness = moments.skewness();
  mean.standard_error = std::sqrt(mean.variance / n);
  mean.effective_samples = n / std::max(1.0, moments.kurtosis());
  mean.variance_reduction = reduction;
  const double t =
      boost::math::quantile(boost::math::students_t(n - 1), (1 + kConfidence) / 2) / std::sqrt(n);
  const double deviation = std::sqrt(mean.variance);
  // Hall's interval reaches farther than Student's on the side of the long tail and less far on the other.
  // There the average of both is taken: the tail may have been seen too rarely for the skewness to be known.
  const auto reach = [&](double hall) { return deviation * (hall > t ? hall : (hall + t) / 2); };
  mean.low = mean.value - reach(inverse_transformation(t, mean.skewness, n));
  mean.high = mean.value + reach(-inverse_transformation(-t, mean.skewness, n));
  return mean;
}

bool precise(std::span<const SampledMean> means, double relative_error) {
  return std::all_of(means.begin(), means.end(), [&](const SampledMean& mean) {
    return mean.standard_error <= relative_error * std::abs(mean.value);
  });
}

void check(const Experiment& experiment, const SamplingPlan& plan) {
  if (plan.samples < 2) fail(kSampleMeans, "samples", static_cast<double>(plan.samples), "at least 2");
  check_nonnegative(kSampleMeans, "relative_error", plan.relative_error);
  if (plan.first >= kPilot || plan.first + static_cast<std::uint64_t>(plan.samples) > kPilot) {
    fail(kSampleMeans, "number of a sample", static_cast<double>(plan.first), "below 2^62");
  }
  if (experiment.quantities() == 0) fail(kSampleMeans, "the experiment has no quantities");
  if (experiment.deciding() > experiment.quantities())
    fail(kSampleMeans, "more quantities decide than there are");
  if (experiment.samples_per_block() < 1) {
    fail(kSampleMeans, "samples_per_block", static_cast<double>(experiment.samples_per_block()),
         "at least 1");
  }
}

}  // namespace

std::int64_t pilot_samples(const SamplingPlan& plan) {
  const std::int64_t pilots = std::min(kMostPilots, plan.samples / 8);
  return pilots < kFewestPilots ? 0 : pilots;
}

std::vector<SampledMean> sample_means(const Experiment& experiment, const SamplingPlan& plan,
                                      const Execution& execution) {
  check(experiment, plan);
  const Coefficients chosen = choose_coefficients(experiment, plan, execution);
  std::vector<estimation::CentralMoments> moments(experiment.quantities());
  std::vector<SampledMean> means(moments.size());
  const auto look = [&] {
    for (std::size_t q = 0; q < means.size(); ++q) means[q] = to_mean(moments[q], chosen.reduction[q]);
  };
  if (plan.relative_error == 0) {
    add_samples(experiment, plan, chosen, 0, plan.samples, execution, moments);
    look();
    return means;
  }
  std::int64_t done = 0;
  for (std::int64_t next = kFirstLook; done < plan.samples; next = 2 * done) {
    const std::int64_t until = std::min(next, plan.samples);
    add_samples(experiment, plan, chosen, done, until, execution, moments);
    done = until;
    look();
    if (precise(std::span(means).first(experiment.deciding()), plan.relative_error)) break;
  }
  return means;
}

}  // namespace largo
