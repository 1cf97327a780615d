// Laws of temperature, by which models keep attention from dispersing over long prompts, and their inverse:
// the β(L) that keeps a statistic of the weights at a target.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "largo/exact/crowded_prompt.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

/// A factor β(L) on all scores of a prompt of L tokens.
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

  const std::string& name() const { return name_; }  ///< the text it was read from
  /// InputError unless β(L) is finite and not negative.
  double operator()(double L) const;

 private:
  std::string name_;
  std::function<double(double)> beta_;
};

/// Names above, for help and messages.
std::string_view temperature_names();

enum class WeightStatistic { effective_tokens, entropy, needle_weight };

std::string_view to_string(WeightStatistic statistic);
Estimate value_of(WeightStatistic statistic, const CrowdWeights& weights);

struct Temperature {
  double beta = 0;
  CrowdWeights weights;  ///< at this β
};

/// The smallest β >= 0 at which the statistic is `target`, to 1e-10, relative, and where the statistic can be
/// computed so well usually to 1e-13. Effective tokens and entropy fall as β grows, for every prompt (the
/// derivatives are covariances of opposite signs), so theirs is the only one. The weight of a needle may rise
/// and fall again; steps of 10 % in β are followed, and what happens within a step is not seen. InputError if
/// no β reaches the target; it says what can be reached. Cost: some 30 to 100 calls of crowd_weights().
Temperature temperature_for(const CrowdedPrompt& prompt, double L, WeightStatistic statistic, double target);

struct TemperatureRow {
  double L = 0;
  std::string law;
  Temperature at;
  std::optional<Estimate> output_error;
};

/// Rows for all lengths under each law, in the order of the laws. The output error is that of the crowd
/// alone, for values V: it is empty if anything is planted or β = 0.
std::vector<TemperatureRow> temperature_rows(const CrowdedPrompt& prompt, const ConstMatrixRef& value_map,
                                             const std::vector<double>& lengths,
                                             const std::vector<TemperatureLaw>& laws,
                                             const Execution& execution = {});

/// The rows of the β(L) that keep the statistic at target(L), under the law "target".
std::vector<TemperatureRow> target_rows(const CrowdedPrompt& prompt, const ConstMatrixRef& value_map,
                                        const std::vector<double>& lengths, WeightStatistic statistic,
                                        const std::function<double(double)>& target,
                                        const Execution& execution = {});

/// How β grows between two rows: d ln β / d ln ln L, so that β ~ (ln L)^exponent there; ½ is the scale at
/// which the weights of Gaussian scores condense. Read off, no theorem. Empty if a length is at most e, if
/// both are the same, or if a β is zero.
std::optional<double> growth_exponent(const TemperatureRow& from, const TemperatureRow& to);

}  // namespace largo
