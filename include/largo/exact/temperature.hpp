// Laws of temperature, by which models keep attention from dispersing over long prompts, and their inverse:
// the β(L) that keeps a statistic of the weights at a target. docs/temperature.md says which law serves what.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "largo/exact/crowded_prompt.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

/// A factor β(L) on all scores of a prompt with L tokens in its crowd.
class TemperatureLaw {
 public:
  /// Reads a name, a formula in L, or a table:
  ///   constant      1
  ///   sqrt-log      √(ln L)
  ///   log           ln L
  ///   log-squared   (ln L)²
  ///   yarn:N        (0.1 ln(L/N) + 1)², from N tokens on, 1 below: YaRN multiplies queries and keys by
  ///                 0.1 ln(L/N) + 1, and so the scores by its square. N is the length in training.
  ///   longrope:N    1 + ln(L/N)/ln N, from N tokens on, 1 below: LongRoPE multiplies both by its root
  ///   FILE.csv      columns L and beta, with L increasing; linear in ln L between rows, refused beyond them
  /// Any of them may have a factor, as in 0.43*log. Everything else is a formula, as in 1 + 0.1*ln(L/4096).
  /// InputError for what is none of these; it names `argument`.
  TemperatureLaw(std::string_view argument, std::string_view text);
  /// Any function, under a name of your own.
  TemperatureLaw(std::string name, std::function<double(double)> beta);

  const std::string& name() const { return name_; }  ///< the text it was read from
  const std::string& file() const { return file_; }  ///< the table it was read from, or empty
  /// InputError unless β(L) is finite and not negative.
  double operator()(double L) const;

 private:
  std::string name_, file_;
  std::function<double(double)> beta_;
};

/// The laws that are compared where none is named: constant, √(ln L), ln L, (ln L)².
std::vector<TemperatureLaw> default_temperature_laws();
/// Names above, for help and messages.
std::string_view temperature_names();

enum class WeightStatistic { effective_tokens, entropy, needle_weight };

std::string_view to_string(WeightStatistic statistic);
/// InputError for a text that is no name; it names `argument`.
WeightStatistic weight_statistic(std::string_view argument, std::string_view name);
Estimate value_of(WeightStatistic statistic, const CrowdWeights& weights);

struct Temperature {
  double beta = 0;
  CrowdWeights weights;  ///< at this β
};

/// The smallest β >= 0 at which the statistic is `target`, to 1e-10, relative, and usually to 1e-13.
/// Effective tokens and entropy fall as β grows, for every prompt (dP_2/dβ = 2 Cov(p, x) >= 0 and
/// dH/dβ = -β Var(x) under the weights p), so theirs is the only one. The weight of a needle may rise and
/// fall again: steps of 10 % in β are followed, and within a step nothing but the largest extreme is seen.
/// InputError if no β reaches the target; it says what can be reached. Cost: some 30 calls of
/// crowd_weights(), 30 to 180 for a needle.
Temperature temperature_for(const CrowdedPrompt& prompt, double L, WeightStatistic statistic, double target);

struct TemperatureRow {
  double L = 0;
  std::string law;
  Temperature at;
  std::optional<Estimate> output_error;
};

/// Rows for all lengths under each law, in the order of the laws. The output error is that of the crowd
/// alone, for values V: it is empty if anything is planted.
std::vector<TemperatureRow> temperature_rows(const CrowdedPrompt& prompt, const ConstMatrixRef& value_map,
                                             const std::vector<double>& lengths,
                                             const std::vector<TemperatureLaw>& laws,
                                             const Execution& execution = {});

/// The rows of the β that bring the statistic to targets[i] at lengths[i], under the law "target".
std::vector<TemperatureRow> target_rows(const CrowdedPrompt& prompt, const ConstMatrixRef& value_map,
                                        const std::vector<double>& lengths, WeightStatistic statistic,
                                        const std::vector<double>& targets, const Execution& execution = {});

/// How β grows between two lengths, read off two values of β: nothing is proved by it.
struct TemperatureGrowth {
  double from = 0, to = 0;  ///< the lengths
  double power = 0;         ///< d ln β / d ln L: β ~ L^power
  double power_of_log = 0;  ///< d ln β / d ln ln L: β ~ (ln L)^power_of_log
};

/// Between two rows. Empty if a length is at most e, if both are the same, or if a β is zero.
std::optional<TemperatureGrowth> temperature_growth(const TemperatureRow& from, const TemperatureRow& to);

}  // namespace largo
