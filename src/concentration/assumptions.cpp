#include "largo/concentration/assumptions.hpp"

#include "concentration/assumption_rows.hpp"

namespace largo {

std::vector<Assumption> assumptions(const AttentionLayer& layer, const Execution& execution) {
  check_law_alone("assumptions", layer);
  const concentration::Question ask = concentration::question_about(layer);
  const std::vector<concentration::AtOneQuery> at = concentration::at_all_queries(ask, execution);
  std::optional<concentration::TiltedNorms> mean;
  if (ask.spread) mean = concentration::mean_tilted_norms(ask.tokens, *ask.spread, ask.U);
  const Assumption tokens = concentration::sub_gaussian_tokens(ask);
  return {tokens,
          concentration::large_sigma(tokens),
          concentration::sub_gaussian_queries(layer.queries),
          centred_tokens(ask),
          gaussian_tokens(ask),
          bounded_tokens(ask),
          finite_log_partition(ask, at),
          tilted_moment(ask, at, mean, &concentration::TiltedNorms::fourth, 4),
          tilted_moment(ask, at, mean, &concentration::TiltedNorms::eighth, 8),
          finite_rho(ask, at)};
}

}  // namespace largo
