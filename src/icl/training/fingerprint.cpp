#include "icl/training/fingerprint.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "icl/training/plan_parts.hpp"
#include "largo/icl/law_regression.hpp"
#include "prompts/prompt_layout.hpp"

namespace largo::icl {

namespace {

// FNV-1a over the bytes of numbers.
class Hash {
 public:
  void add(std::uint64_t bits) {
    for (int i = 0; i < 8; ++i, bits >>= 8U) value_ = (value_ ^ (bits & 0xffU)) * 0x100000001b3U;
  }
  void add(double number) { add(std::bit_cast<std::uint64_t>(number)); }
  void add(const Matrix& values) {
    for (const double x : values.reshaped()) add(x);
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

// One length adds itself alone.
void add_lengths(Hash& hash, const LengthLaw& L) {
  if (!L.is_one_length()) {
    for (const double p : L.probabilities()) hash.add(p);
  }
  for (const double length : L.lengths()) hash.add(length);
}

// A law is known by its log-partition, near and far along some directions: rare and far parts of it show
// there.
void add_law(Hash& hash, const Measure& law) {
  Vector direction(law.dimension());
  for (const double size : {0.1, 1.0, 4.0, 15.0}) {
    for (Eigen::Index shift = 0; shift < 2; ++shift) {
      for (Eigen::Index j = 0; j < direction.size(); ++j) {
        direction[j] = size * ((j + shift) % 2 == 0 ? 1.0 : -0.7) / static_cast<double>(1 + j % 7);
      }
      hash.add(law.log_partition(direction));
    }
  }
}

// Another problem is known by what it draws, by its laws and by its losses.
void add_draws(Hash& hash, const TrainingPlan& plan) {
  constexpr std::int64_t kDraws = 64, kLaws = 8;
  constexpr std::array kOutputs = {0.0, -1e-3, 0.03, -0.3, 1.0, -3.0, 10.0, -1e2, 1e3, -1e5};
  const PromptSetting setting = setting_of(plan, AttentionKind::softmax, kInfinity, DrawsOf::flow);
  for (std::int64_t i = 0; i < kDraws; ++i) {
    const PromptDraw draw = draw_prompt(setting, i);
    hash.add(Matrix(draw.query));
    hash.add(Matrix(draw.target));
    if (i >= kLaws) continue;
    add_law(hash, *draw.tokens);
    // Losses that agree near their targets, such as Huber's, differ farther out.
    const RowMatrix targets = draw.target.transpose().replicate(std::ssize(kOutputs), 1);
    RowMatrix outputs = targets;
    for (std::size_t k = 0; k < kOutputs.size(); ++k) {
      outputs.row(static_cast<Eigen::Index>(k)).array() += kOutputs[k];
    }
    const LossRows losses = setting.loss->rows(outputs, targets);
    hash.add(Matrix(losses.values));
    hash.add(Matrix(losses.slopes));
  }
  if (const auto* regression = dynamic_cast<const LawRegression*>(plan.other->task.get())) {
    const RegressionLaws& laws = regression->laws();
    for (const MeasurePtr& law : {laws.covariates, laws.queries, laws.prior, laws.noise, laws.noise_scale}) {
      if (law) add_law(hash, *law);
    }
  }
  hash.add(static_cast<double>(prompts::kTaskLayout));
  hash.add(plan.start);
  hash.add(setting.score_scale);
  hash.add(static_cast<double>(plan.prompts));
  hash.add(static_cast<double>(plan.sampling));
}

void add_setting(Hash& hash, const TrainingPlan& plan) {
  if (plan.other) return add_draws(hash, plan);
  const RegressionProblem& problem = plan.problem;
  for (const Matrix* matrix : {&problem.covariance, &problem.query_covariance, &problem.prior_covariance}) {
    hash.add(*matrix);
  }
  hash.add(plan.start);
  hash.add(problem.noise_variance);
  hash.add(problem.score_scale);
  if (problem.has_sink()) hash.add(problem.sink);
}

void add_descent(Hash& hash, const TrainingPlan& plan) {
  const DescentOptions& descent = plan.descent;
  for (const double x :
       {static_cast<double>(plan.parameters), static_cast<double>(descent.optimizer), descent.momentum,
        descent.squares, descent.epsilon, static_cast<double>(descent.steps),
        static_cast<double>(descent.record_every), static_cast<double>(plan.batches.prompts),
        static_cast<double>(plan.batches.kernel), plan.batches.loss_factor}) {
    hash.add(x);
  }
  hash.add(plan.batches.seed);
  for (std::int64_t k = 0; k < 16; ++k) hash.add(descent.step_size(k * descent.steps / 16));
}

// The size is added too, so that different lists never add the same numbers.
template <typename Value>
void add_list(Hash& hash, const std::vector<Value>& values) {
  hash.add(std::uint64_t{values.size()});
  for (const Value value : values) hash.add(static_cast<double>(value));
}

}  // namespace

std::uint64_t descent_fingerprint(const TrainingPlan& plan, AttentionKind attention, const LengthLaw& L) {
  Hash hash;
  add_setting(hash, plan);
  add_lengths(hash, L);
  hash.add(attention == AttentionKind::softmax ? 1.0 : 0.0);
  add_descent(hash, plan);
  return hash.value();
}

std::uint64_t plan_fingerprint(const TrainingPlan& plan) {
  Hash hash;
  hash.add(static_cast<double>(token_dimension(plan) - 1));
  add_setting(hash, plan);
  add_list(hash, plan.methods);
  add_list(hash, plan.attention);
  hash.add(std::uint64_t{plan.lengths.size()});
  for (const LengthLaw& L : plan.lengths) add_lengths(hash, L);
  hash.add(std::uint64_t{plan.evaluate.size()});
  for (const LengthLaw& L : plan.evaluate) add_lengths(hash, L);
  const FlowPlan& flow = plan.flow;
  for (const double x :
       {static_cast<double>(plan.parameters), static_cast<double>(flow.method), flow.end,
        flow.relative_tolerance, flow.absolute_tolerance, flow.stationary_tolerance, flow.risk_scale,
        plan.node_tolerance, static_cast<double>(flow.most_steps), static_cast<double>(plan.nodes.count),
        static_cast<double>(plan.seeds), plan.descent.divergence_factor}) {
    hash.add(x);
  }
  hash.add(plan.nodes.seed);
  hash.add(plan.batches.seed);
  if (plan.seeds > 1 && plan.random_start) {
    hash.add(plan.random_start(plan.batches.seed + static_cast<std::uint64_t>(plan.seeds - 1)));
  }
  if (has(plan, TrainingMethod::descent)) add_descent(hash, plan);
  return hash.value();
}

}  // namespace largo::icl
