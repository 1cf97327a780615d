// Means of random quantities by sampling, with intervals that keep their level for skewed quantities.
//
// Samples are numbered, and a sample is a function of its number. They are summed in blocks of a fixed size,
// and the blocks in order. So the result depends only on the experiment and the plan: it is bit-identical for
// any number of threads and ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "largo/runtime/execution.hpp"

namespace largo {

/// Draws samples. Each thread has its own, so it may keep scratch memory.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// Draws sample number `index`: a value for each quantity and, quantity by quantity, kControls controls.
  /// Controls are numbers of mean zero that are likely to be correlated with the value; zero if there is
  /// none. Both spans come zeroed.
  virtual void sample(std::uint64_t index, std::span<double> values, std::span<double> controls) = 0;
};

class Experiment {
 public:
  static constexpr std::size_t kControls = 2;

  virtual ~Experiment() = default;
  virtual std::size_t quantities() const = 0;
  /// The number of quantities, counted from the first, that decide when to stop; the others may have means
  /// near zero.
  virtual std::size_t deciding() const { return quantities(); }
  /// The number of samples in a unit of work: a function of the experiment alone.
  virtual std::int64_t samples_per_block() const { return 64; }
  virtual std::unique_ptr<Sampler> sampler() const = 0;
  /// Called on one thread before samplers draw the samples first, ..., first + count - 1 (of this process),
  /// for work that is better done for many samples at once.
  virtual void prepare(std::uint64_t first, std::int64_t count) const {
    (void)first;
    (void)count;
  }
  /// The number of values that prepare() stores for each sample.
  virtual std::size_t prepared_numbers() const { return 0; }
};

/// The mean of n samples, n >= 2.
struct SampledMean {
  double value = 0;
  double standard_error = 0;
  /// The 95 % confidence interval: Student's, after a cubic transformation that removes the skewness of the
  /// mean (P. Hall, On the removal of skewness by transformation, J. R. Stat. Soc. B 54, 1992). The
  /// transformation moves the end on the side of the long tail outwards; the other end moves inwards by only
  /// half of what it gives.
  double low = 0, high = 0;
  std::int64_t samples = 0;
  double variance = 0;            ///< variance of one sample, after the controls
  double skewness = 0;            ///< skewness of one sample
  double effective_samples = 0;   ///< n / kurtosis: how many equal deviations would give the variance
  double variance_reduction = 1;  ///< factor gained by the controls, measured on the pilot samples
};

/// With fewer effective samples than this, one or two samples make up the variance: take more. A larger bound
/// would single out the runs that happened to see a rare sample, and not those that are too low because they
/// missed it.
inline constexpr double kFewEffectiveSamples = 2;
inline constexpr double kConfidence = 0.95;

struct SamplingPlan {
  std::int64_t samples = 10000;  ///< number of samples; with relative_error, the largest number
  /// Stop when the standard error of every deciding quantity, relative to its mean, is at most this; 0: do
  /// not stop early. This is checked after 1024 samples and whenever their number has doubled, never by a
  /// clock.
  double relative_error = 0;
  std::uint64_t first = 0;  ///< number of the first sample
  bool use_controls = true;
  /// For a display of progress: called after each block with the number of samples in it. It is called from
  /// the thread that drew the block, perhaps by several at once, and only for samples of this process, not
  /// for pilots.
  std::function<void(std::int64_t samples)> drawn = {};
};

/// The number of pilot samples that choose the coefficients of the controls: one for every eight samples, at
/// most 512; none below 256 samples.
std::int64_t pilot_samples(const SamplingPlan& plan);

/// Samples the means. Throws InputError for a plan that makes no sense or a sample that is not finite,
/// Stopped when stopped. Memory does not grow with the number of samples. With controls, pilot samples (one
/// for every eight, at most 512, numbered from 2^62) choose their coefficients and are then dropped, so that
/// no bias is left. Intervals cover the noise of the samples drawn. They cannot include an event that no
/// sample saw: if a value of probability far below 1/n carries the mean, both value and interval miss it. A
/// warning can only come from a caller that knows the law of the samples (SampledErrors::warnings).
std::vector<SampledMean> sample_means(const Experiment& experiment, const SamplingPlan& plan,
                                      const Execution& execution = {});

}  // namespace largo
