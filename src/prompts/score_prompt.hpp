// A prompt known by its scores alone, for any law with a score law.
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

  /// Given the scores of the prompt: expectations over the tokens.
  struct Errors {
    double output = 0;  ///< of ‖V (mean - limit)‖²
    double mean = 0;    ///< of ‖mean - limit‖²
    double p2 = 0;
    double log_partition = 0;
    Vector bias;  ///< V (mean - limit)
  };
  Errors attend(std::uint64_t seed, std::uint64_t prompt, std::int64_t L, const Execution& execution);

 private:
  struct Component {
    Vector mean, slope;      // of z - limit given v
    Vector V_mean, V_slope;  // of V (z - limit)
    double trace = 0, V_trace = 0;
    double shift = 0;
    ScoreSums sums;
  };

  ScoreLaw law_;
  std::vector<Component> components_;
  std::vector<double> cumulative_;
};

}  // namespace largo::prompts
