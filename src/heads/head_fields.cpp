#include <array>

#include "largo/heads/head_audit.hpp"

namespace largo {

std::span<const HeadField> head_fields() {
  static constexpr std::array kFields = {
      HeadField{"tokens", "tokens of the prompt",
                [](const HeadAudit& a) { return static_cast<double>(a.tokens); }},
      HeadField{"score_std", "standard deviation of the scores",
                [](const HeadAudit& a) { return a.score_std; }},
      HeadField{"score_skewness", "skewness of the scores",
                [](const HeadAudit& a) { return a.score_skewness; }},
      HeadField{"score_kurtosis", "excess kurtosis of the scores",
                [](const HeadAudit& a) { return a.score_kurtosis; }},
      HeadField{"scores_below", "scores more than 5 standard deviations below the mean, as a share",
                [](const HeadAudit& a) { return a.scores.below; }},
      HeadField{"scores_above", "scores at least 5 standard deviations above the mean, as a share",
                [](const HeadAudit& a) { return a.scores.above; }},
      HeadField{"P2", "sum of squared weights", [](const HeadAudit& a) { return a.P2; }},
      HeadField{"P2_predicted", "sum of squared weights from the exact engine",
                [](const HeadAudit& a) { return a.P2_predicted; }},
      HeadField{"effective_tokens", "effective tokens, 1 / P2",
                [](const HeadAudit& a) { return a.effective_tokens; }},
      HeadField{"entropy", "entropy of the weights", [](const HeadAudit& a) { return a.entropy; }},
      HeadField{"max_weight", "largest weight", [](const HeadAudit& a) { return a.max_weight; }},
      HeadField{"sink_mass", "weight of the sinks", [](const HeadAudit& a) { return a.sink_mass; }},
      HeadField{"recent_mass", "weight of the recent keys", [](const HeadAudit& a) { return a.recent_mass; }},
      HeadField{"local_mass", "weight of the keys less than 8 tokens away",
                [](const HeadAudit& a) { return a.local_mass; }},
      HeadField{"error_uniform", "error of the mean value",
                [](const HeadAudit& a) { return a.errors.uniform; }},
      HeadField{"error_affine", "error of the affine limit",
                [](const HeadAudit& a) { return a.errors.affine; }},
      HeadField{"error_sinks_affine", "error of sinks and recent keys beside the affine limit of the others",
                [](const HeadAudit& a) { return a.errors.sinks_affine; }},
      HeadField{"error_mixture", "error of sinks and recent keys beside a Gaussian mixture of the others",
                [](const HeadAudit& a) { return a.errors.mixture; }},
      HeadField{"length_measured", "tokens from which on the tolerance holds, measured",
                [](const HeadAudit& a) { return a.length_measured; }},
      HeadField{"length_predicted", "tokens from which on the tolerance holds, predicted",
                [](const HeadAudit& a) { return a.length_predicted; }},
      HeadField{"components", "components of the mixture",
                [](const HeadAudit& a) { return static_cast<double>(a.components); }},
      HeadField{"queries", "queries audited",
                [](const HeadAudit& a) { return static_cast<double>(a.queries); }},
      HeadField{"head_dim", "numbers in a key",
                [](const HeadAudit& a) { return static_cast<double>(a.head_dim); }},
  };
  return kFields;
}

}  // namespace largo
