#include "largo/icl/regression_batches.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "largo/random/streams.hpp"
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
    if (!batches.random_length) return;
    double sum = 0;
    for (std::size_t i = 0; i < batches.random_length->lengths().size(); ++i) {
      const double L = batches.random_length->lengths()[i];
      if (L != std::floor(L) || L >= 0x1p53)
        fail(kRegressionBatches, "length", L, "a whole number below 2^53");
      cumulative_.push_back(sum += batches.random_length->probabilities()[i]);
    }
  }

  Eigen::Index size() const override { return (dimension() + 1) * (dimension() + 2); }

  RiskPoint batch(const ConstVectorRef& parameters, std::int64_t step) const override {
    if (step < 0 || step > std::numeric_limits<std::int64_t>::max() / batches_.prompts - 1) {
      fail(kRegressionBatches, "step", static_cast<double>(step),
           "at least 0, with fewer than 2^63 prompts in all");
    }
    const RegressionParameters head = to_parameters(parameters, dimension());
    if (batches_.random_length) return random_lengths(head, step);
    const RegressionGradient mean = regression_gradient(task_, head, at(step), batches_.execution);
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

  // Each prompt of the batch draws a length. Prompts of one law are exchangeable, so the lengths may be
  // sorted: prompts of equal length are then neighbours, and the kernel takes them together.
  RiskPoint random_lengths(const RegressionParameters& head, std::int64_t step) const {
    std::vector<double> draws(static_cast<std::size_t>(batches_.prompts));
    RegressionBatch part = at(step);
    Stream(batches_.seed, 0).substream(kLengths).uniforms(static_cast<std::uint64_t>(part.first), draws);
    std::sort(draws.begin(), draws.end());
    RiskPoint point{0, 0, Vector::Zero(size())};
    for (auto begin = draws.begin(); begin != draws.end();) {
      const auto place =
          std::min(std::upper_bound(cumulative_.begin(), cumulative_.end(), *begin), cumulative_.end() - 1);
      const auto end =
          place + 1 == cumulative_.end() ? draws.end() : std::lower_bound(begin, draws.end(), *place);
      part.prompts = end - begin;
      part.length = static_cast<std::int64_t>(
          batches_.random_length->lengths()[static_cast<std::size_t>(place - cumulative_.begin())]);
      const RegressionGradient mean = regression_gradient(task_, head, part, batches_.execution);
      const double share =
          batches_.loss_factor * static_cast<double>(part.prompts) / static_cast<double>(batches_.prompts);
      point.value += share * mean.loss;
      point.gradient += share * to_vector({mean.U, mean.v});
      part.first += part.prompts;
      begin = end;
    }
    return point;
  }

  // The part of the seed that draws lengths; tokens have parts below 2^20.
  static constexpr std::uint64_t kLengths = std::uint64_t{1} << 40;

  RegressionTask task_;
  RegressionBatches batches_;
  std::vector<double> cumulative_;  // probabilities of random lengths, summed
};

}  // namespace

double cost_of(const RegressionBatches& batches) {
  constexpr double kAlgebra = 80;  // cost of a prompt's algebra, in tokens
  const double tokens =
      batches.random_length ? batches.random_length->mean() : static_cast<double>(batches.length);
  return kAlgebra + (batches.attention == AttentionKind::softmax ? tokens : 0.0);
}

std::shared_ptr<const StochasticRisk> regression_batches(const RegressionProblem& problem,
                                                         const RegressionBatches& batches) {
  return std::make_shared<Batches>(problem, batches);
}

}  // namespace largo
