#include "icl/descent_fingerprint.hpp"

#include <bit>

namespace largo {

std::uint64_t descent_fingerprint(const TrainingPlan& plan, AttentionKind attention, double L) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  const auto add = [&](double value) {
    for (std::uint64_t bits = std::bit_cast<std::uint64_t>(value), i = 0; i < 8; ++i, bits >>= 8U) {
      hash = (hash ^ (bits & 0xffU)) * 0x100000001b3U;
    }
  };
  const auto add_all = [&](const Matrix& values) {
    for (const double x : values.reshaped()) add(x);
  };
  const RegressionProblem& problem = plan.problem;
  for (const Matrix* matrix : {&problem.covariance, &problem.query_covariance, &problem.prior_covariance}) {
    add_all(*matrix);
  }
  add_all(plan.start);
  const DescentOptions& descent = plan.descent;
  for (const double x :
       {problem.noise, problem.score_scale, L, attention == AttentionKind::softmax ? 1.0 : 0.0,
        static_cast<double>(plan.parameters), static_cast<double>(descent.optimiser), descent.momentum,
        descent.squares, descent.epsilon, static_cast<double>(descent.steps),
        static_cast<double>(descent.record_every), static_cast<double>(plan.batches.prompts),
        static_cast<double>(plan.batches.kernel), plan.batches.loss_factor}) {
    add(x);
  }
  add(std::bit_cast<double>(plan.batches.seed));
  for (std::int64_t k = 0; k < 16; ++k) add(descent.step_size(k * descent.steps / 16));
  return hash;
}

}  // namespace largo
