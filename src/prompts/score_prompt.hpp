// A prompt known only by its scores, for any law with a score law.
#pragma once

#include <cstdint>
#include <vector>

#include "largo/measures/score_law.hpp"
#include "largo/runtime/execution.hpp"
#include "prompts/score_sums.hpp"

namespace largo::prompts {

class ScorePrompt {
 public:
  /// `limit` is mean(ν_a). InputError for scores that cannot be drawn (score_sums.hpp).
  ScorePrompt(ScoreLaw law, const Matrix& V, const Vector& limit);

  /// Expectations over the tokens, given the scores of the prompt.
  struct Errors {
    double output = 0;  ///< E ‖V (mean - limit)‖²
    double mean = 0;    ///< E ‖mean - limit‖²
    double p2 = 0;
    double log_partition = 0;
    Vector bias;  ///< V (mean - limit)
  };
  Errors attend(std::uint64_t seed, std::uint64_t prompt, std::int64_t L, const Execution& execution);

 private:
  struct Component {
    Vector mean, slope;      // E[z - limit | v] = mean + slope v
    Vector V_mean, V_slope;  // the same for V (z - limit)
    double trace = 0, V_trace = 0;
    double shift = 0;
    ScoreSums sums;
  };

  ScoreLaw law_;
  std::vector<Component> components_;
  std::vector<double> cumulative_;
};

}  // namespace largo::prompts
