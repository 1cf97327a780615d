#include "largo/icl/regression_batches.hpp"

#include <limits>

#include "largo/runtime/check.hpp"

namespace largo {
namespace {

constexpr const char* kRegressionBatches = "regression_batches";

class Batches final : public StochasticRisk {
 public:
  Batches(const RegressionProblem& problem, const RegressionBatches& batches)
      : task_(problem.task()), batches_(batches) {
    check_finite(kRegressionBatches, "loss_factor", batches.loss_factor);
    check_positive(kRegressionBatches, "loss_factor", batches.loss_factor);
    if (batches.prompts < 1)
      fail(kRegressionBatches, "prompts", static_cast<double>(batches.prompts), "at least 1");
    if (batches.length < 1)
      fail(kRegressionBatches, "length", static_cast<double>(batches.length), "at least 1");
  }

  Eigen::Index size() const override { return (dimension() + 1) * (dimension() + 2); }

  RiskPoint batch(const ConstVectorRef& parameters, std::int64_t step) const override {
    if (step < 0 || step > std::numeric_limits<std::int64_t>::max() / batches_.prompts - 1) {
      fail(kRegressionBatches, "step", static_cast<double>(step),
           "at least 0, with fewer than 2^63 prompts in all");
    }
    const RegressionGradient mean =
        regression_gradient(task_, to_parameters(parameters, dimension()), at(step), batches_.execution);
    RiskPoint point{batches_.loss_factor * mean.loss, 0, to_vector({mean.U, mean.v})};
    point.gradient *= batches_.loss_factor;
    return point;
  }

 private:
  Eigen::Index dimension() const { return task_.token_root.rows(); }
  RegressionBatch at(std::int64_t step) const {
    return {step * batches_.prompts, batches_.prompts, batches_.length,
            batches_.seed,           batches_.kernel,  batches_.attention};
  }

  RegressionTask task_;
  RegressionBatches batches_;
};

}  // namespace

double cost_of(const RegressionBatches& batches) {
  constexpr double kAlgebra = 80;  // cost of a prompt's algebra, in tokens
  return kAlgebra + (batches.attention == AttentionKind::softmax ? static_cast<double>(batches.length) : 0.0);
}

std::shared_ptr<const StochasticRisk> regression_batches(const RegressionProblem& problem,
                                                         const RegressionBatches& batches) {
  return std::make_shared<Batches>(problem, batches);
}

}  // namespace largo
