// Means of random quantities by sampling, with intervals that keep their level where the quantities are
// skewed.
//
// Samples are numbered, and a sample is a function of its number; they are summed in blocks of a fixed size,
// the blocks in order. So the result depends on the experiment and the plan alone: the same bits for any
// number of threads and ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "largo/runtime/execution.hpp"

namespace largo {

/// Draws samples. One for each thread, so it may keep scratch memory.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// Sample number `index`: a value for each quantity, and kControls controls for each, quantity by quantity:
  /// numbers of mean zero that are likely to go with the value. Zeros where there is none. Both spans come
  /// zeroed.
  virtual void sample(std::uint64_t index, std::span<double> values, std::span<double> controls) = 0;
};

class Experiment {
 public:
  static constexpr std::size_t kControls = 2;

  virtual ~Experiment() = default;
  virtual std::size_t quantities() const = 0;
  /// The first so many decide when to stop; the others may have means near zero.
  virtual std::size_t deciding() const { return quantities(); }
  /// How many samples make a unit of work: a function of the experiment alone.
  virtual std::int64_t samples_per_block() const { return 64; }
  virtual std::unique_ptr<Sampler> sampler() const = 0;
  /// Called on one thread before samplers draw the samples first, ..., first + count - 1 (of this process),
  /// for what is better done for many at once.
  virtual void prepare(std::uint64_t first, std::int64_t count) const {
    (void)first;
    (void)count;
  }
  /// How many numbers it holds for each of them.
  virtual std::size_t prepared_numbers() const { return 0; }
};

/// The mean of n samples, n >= 2.
struct SampledMean {
  double value = 0;
  double standard_error = 0;
  /// 95 % confidence interval: Student's, after a cubic transformation that removes the skewness of the mean
  /// (P. Hall, On the removal of skewness by transformation, J. R. Stat. Soc. B 54, 1992), which moves the
  /// end on the side of the long tail outwards; the other end moves inwards by half as much as it says.
  double low = 0, high = 0;
  std::int64_t samples = 0;
  double variance = 0;            ///< of one sample, controls taken off
  double skewness = 0;            ///< of one sample
  double effective_samples = 0;   ///< n / kurtosis: how many equal deviations would make up the variance
  double variance_reduction = 1;  ///< by the controls, as seen in the pilot samples
};

/// Below this many effective samples one or two samples make up the variance: take more. A larger bound would
/// single out the runs that happened to see a rare sample, and leave those that are too low for want of one.
inline constexpr double kFewEffectiveSamples = 2;
inline constexpr double kConfidence = 0.95;

struct SamplingPlan {
  std::int64_t samples = 10000;  ///< as many; or, with a standard error asked for, at most
  /// Stop when every deciding quantity has this standard error, relative to its mean; 0: do not. Looked at
  /// after 1024 samples and whenever their number has doubled, never at a clock.
  double relative_error = 0;
  std::uint64_t first = 0;  ///< number of the first sample
  bool use_controls = true;
  /// For a display of progress: called after each block with the number of samples in it, from the thread
  /// that drew it, perhaps by several at once. Only for samples of this process, and not for pilots.
  std::function<void(std::int64_t samples)> drawn = {};
};

/// How many pilot samples choose the coefficients of the controls: one for eight, at most 512; none below 256
/// samples.
std::int64_t pilot_samples(const SamplingPlan& plan);

/// Throws InputError for a plan that makes no sense or a sample that is not finite, Stopped when stopped.
/// Memory does not grow with the number of samples. With controls, pilot samples (one for eight, at most 512,
/// numbered from 2^62) choose their coefficients and are then dropped, so that no bias is left.
/// Intervals cover the noise of the samples drawn. They cannot know of an event that none of these saw: a
/// value of probability far below 1/n that carries the mean is missing from value and interval alike. Whoever
/// knows the law of the samples has to say so (SampledErrors::warnings).
std::vector<SampledMean> sample_means(const Experiment& experiment, const SamplingPlan& plan,
                                      const Execution& execution = {});

}  // namespace largo
