#include "largo/icl/training/make_training_plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "icl/training/plan_parts.hpp"
#include "largo/icl/named_problem.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

constexpr Eigen::Index kMostDense = 60;     // parameters of a flow with a Jacobian from differences
constexpr std::int64_t kMostSteps = 5000;   // of a flow over draws: some problems have no minimum to end at
constexpr std::int64_t kMomentDraws = 256;  // draws of a task that its default start depends on

bool has_finite(const std::vector<LengthLaw>& lengths) {
  return std::any_of(lengths.begin(), lengths.end(), [](const LengthLaw& L) { return !L.is_infinite(); });
}

// The time of one run as measured, within about a factor of two.
double seconds_of_descent(const TrainingPlan& plan, AttentionKind kind, const LengthLaw& L) {
  const double tokens = kind == AttentionKind::softmax ? L.mean() : 0;
  const auto d = static_cast<double>(token_dimension(plan) - 1);
  if (plan.other) {
    return static_cast<double>(plan.descent.steps) * static_cast<double>(plan.batches.prompts) *
           (1.5e-6 + 2.5e-9 * (d + 1) * tokens);
  }
  double seconds = static_cast<double>(plan.descent.steps) * static_cast<double>(plan.batches.prompts) *
                   (0.6e-6 + 3e-9 * tokens);
  seconds += 0.6e-3 * (1 + d * d / 30);  // the risk at its end, and its path
  if (has(plan, TrainingMethod::flow)) seconds += 17e-3 * (1 + d * d / 30);  // its noise and its prediction
  return seconds;
}

class PlanMaker {
 public:
  explicit PlanMaker(const TrainingRequest& request) : request_(request) {}

  PlannedTraining make() {
    set_problem();
    plan().methods = request_.methods;
    plan().nodes = {request_.nodes, request_.seed};
    plan().checkpoints = request_.checkpoints;
    set_attention_and_lengths();
    set_start();
    if (!descends()) refuse_options_of_descents();
    set_descent();
    set_flow();
    if (plan().other) check_lengths_of_draws();
    if (descends() && !is_plain()) {
      warn(
          "momentum and adam have a clock of their own: their paths are not compared with the flow at their "
          "length");
    }
    return std::move(made_);
  }

 private:
  TrainingPlan& plan() { return made_.plan; }
  void warn(std::string_view text) { made_.warnings.emplace_back(text); }
  bool descends() const { return has(made_.plan, TrainingMethod::descent); }
  bool is_plain() const { return request_.optimizer.value_or(Optimizer::plain) == Optimizer::plain; }

  /// The caller's name for an option: "--step-size" or "step_size".
  std::string name(std::string option) const {
    if (request_.prefix.empty()) std::replace(option.begin(), option.end(), '-', '_');
    return request_.prefix + option;
  }
  [[noreturn]] void refuse(const char* option, double value, const std::string& requirement) const {
    fail(request_.function, name(option), value, requirement);
  }

  void set_problem() {
    plan().problem = request_.problem;
    if (!request_.other) {
      if (request_.prompts || request_.sampling == PromptSampling::always) {
        fail(request_.function,
             fmt::format("{} and {} are for problems whose risks are averages over draws: this one is exact",
                         name("prompts"), name("common-draws")));
      }
      return;
    }
    const std::optional<RegressionProblem> exact = request_.other->exact_regression();
    if (exact && request_.sampling == PromptSampling::where_needed) {
      if (request_.prompts) {
        refuse("prompts", static_cast<double>(*request_.prompts),
               "left out: this problem has exact risks, for which nothing is drawn");
      }
      plan().problem = *exact;
      return;
    }
    plan().other = request_.other;
    plan().prompts = request_.prompts.value_or(plan().prompts);
    plan().sampling = request_.sampling;
    if (plan().prompts < 2) refuse("prompts", static_cast<double>(plan().prompts), "at least 2");
    if (request_.kernel) {
      fail(request_.function, fmt::format("{} is for Gaussian regression: leave it out", name("kernel")));
    }
    if (!request_.other->loss->is_smooth() && includes(request_.methods, TrainingMethod::flow)) {
      fail(request_.function,
           fmt::format("{}: its slope jumps, and flows need a smooth loss; take huber with a small delta, or "
                       "sgd alone ({})",
                       name("loss"), name("method")));
    }
  }

  static bool includes(const std::vector<TrainingMethod>& methods, TrainingMethod method) {
    return std::find(methods.begin(), methods.end(), method) != methods.end();
  }

  // Lengths that cannot be drawn are refused now, not after hours of training.
  void check_lengths_of_draws() {
    for (const auto* lengths : {&plan().lengths, &plan().evaluate}) {
      for (const LengthLaw& L : *lengths) {
        for (const AttentionKind attention : plan().attention) {
          const PromptSetting setting = icl::setting_of(plan(), attention, L, icl::DrawsOf::flow);
          PromptRisk(setting, 2, {.threads = 1}, 0);
        }
      }
    }
  }

  // Tokens (x, y) with one label, and queries (x_q, 0): the parameters of regression make sense.
  bool has_one_label() const {
    if (!made_.plan.other) return true;
    const PromptTask& task = *made_.plan.other->task;
    return task.token_dimension() == task.query_dimension() && task.output_dimension() == 1 &&
           task.token_dimension() > 1;
  }

  void set_attention_and_lengths() {
    plan().attention = request_.attention;
    if (plan().attention.empty()) {
      plan().attention = {AttentionKind::softmax};
      if (request_.published) plan().attention.push_back(AttentionKind::linear);
    }
    std::vector<LengthLaw> lengths = request_.lengths;
    if (lengths.empty()) {
      const auto usual =
          request_.published ? published_lengths() : std::vector<double>{10, 100, 1000, icl::kInfinity};
      lengths.assign(usual.begin(), usual.end());
    }
    for (const LengthLaw& L : lengths) {
      if (std::find(plan().lengths.begin(), plan().lengths.end(), L) == plan().lengths.end()) {
        plan().lengths.push_back(L);
      }
    }
    for (const LengthLaw& L : request_.evaluate) {
      if (std::find(plan().evaluate.begin(), plan().evaluate.end(), L) == plan().evaluate.end()) {
        plan().evaluate.push_back(L);
      }
    }
    if (!descends()) return;
    if (!has_finite(lengths) && !has(plan(), TrainingMethod::flow)) {
      fail(request_.function, name("L"), "inf",
           "finite for sgd, which draws prompts; train inf with the method flow");
    }
    for (const LengthLaw& law : plan().lengths) {
      if (law.is_infinite()) {
        warn("sgd draws prompts: L = inf is trained by flow alone");
        continue;
      }
      for (const double L : law.lengths()) {
        if (L == std::floor(L) && L < kLongestDescent) continue;
        refuse("L", L,
               fmt::format("whole and below 1e{:g} for sgd, which draws the tokens",
                           std::log10(kLongestDescent)));
      }
    }
  }

  void set_start() {
    const Eigen::Index d = token_dimension(plan()) - 1;
    plan().parameters =
        request_.parameters.value_or(request_.published                  ? Parametrisation::factored
                                     : request_.head || !has_one_label() ? Parametrisation::merged
                                                                         : Parametrisation::invariant);
    if (plan().parameters != Parametrisation::merged && !has_one_label()) {
      fail(request_.function, name("parameters"), "not merged",
           "merged for this task: it has several outputs, or tokens and queries of different size");
    }
    if (request_.head) return set_head();
    if (plan().parameters == Parametrisation::factored) {
      if (request_.start) {
        fail(request_.function,
             fmt::format("{} and {} start the invariant set; factored parameters start at random ({})",
                         name("alpha"), name("theta"), name("seed")));
      }
      plan().random_start = [d](std::uint64_t seed) { return random_factored_start(d, seed); };
      plan().start = plan().random_start(request_.seed);
      return;
    }
    if (plan().other && !has_one_label()) return set_merged_start();
    const RegressionProblem problem = plan().other ? moments_of(*plan().other) : plan().problem;
    const InvariantPoint start =
        request_.start ? *request_.start : named_start(problem, {}, "identity", request_.prefix);
    if (!plan().other) {
      for (std::string& text : start_warnings(problem, start)) warn(std::move(text));
    }
    Vector values(d * d + 1);
    values << start.A.reshaped(), start.b;
    plan().start = plan().parameters == Parametrisation::merged ? invariant_map(d)->map(values) : values;
  }

  // U and v as they are given.
  void set_head() {
    if (plan().parameters != Parametrisation::merged) {
      fail(request_.function, name("start"), "U and v",
           "A and b for invariant parameters, and nothing for factored ones");
    }
    const Eigen::Index d = token_dimension(plan());
    const Eigen::Index e = plan().other ? plan().other->task->query_dimension() : d;
    const Eigen::Index m = plan().other ? plan().other->task->output_dimension() : 1;
    check_shape(request_.function, "U of the start", request_.head->U.rows(), request_.head->U.cols(), d, e);
    check_size(request_.function, "V of the start", request_.head->v.size(), m * d);
    Vector values(request_.head->U.size() + request_.head->v.size());
    values << request_.head->U.reshaped(), request_.head->v;
    check_finite(request_.function, "start", values);
    plan().start = values;
  }

  // The paper's start, for m outputs: U = [[A, 0], [0, 0]] and V = (0, b I).
  void set_merged_start() {
    const PromptTask& task = *plan().other->task;
    const Eigen::Index d = task.token_dimension(), m = task.output_dimension();
    if (d != task.query_dimension() || d <= m) {
      fail(request_.function,
           fmt::format("give a start (U and V): tokens of {} and queries of {} numbers have no usual one", d,
                       task.query_dimension()));
    }
    if (request_.start) {
      fail(request_.function,
           fmt::format("{} and {} are for one output: give U and V", name("alpha"), name("theta")));
    }
    const InvariantPoint start = named_start(moments_of(*plan().other), {}, "identity", request_.prefix);
    Matrix U = Matrix::Zero(d, d);
    RowMatrix V = RowMatrix::Zero(m, d);
    U.topLeftCorner(d - m, d - m) = start.A;
    V.rightCols(m).diagonal().setConstant(start.b);
    plan().start.resize(d * d + m * d);
    plan().start << U.reshaped(), V.reshaped<Eigen::RowMajor>();
  }

  void refuse_options_of_descents() const {
    // The published flows go as far as the published descents.
    const bool paced = !request_.published;
    const std::pair<const char*, bool> given[] = {
        {"batch", request_.batch.has_value()},
        {"optimizer", request_.optimizer.has_value()},
        {"kernel", request_.kernel.has_value()},
        {"checkpoints", !request_.checkpoints.empty()},
        {"steps", paced && request_.steps.has_value()},
        {"step-size", paced && request_.step_size.has_value()},
        {"schedule", paced && request_.schedule.has_value()},
        {"quick", paced && request_.quick},
    };
    for (const auto& [option, is_given] : given) {
      if (!is_given) continue;
      fail(request_.function, fmt::format("{} is for sgd: add sgd to {}", name(option), name("method")));
    }
    if (request_.seeds != 1) {
      refuse("seeds", static_cast<double>(request_.seeds),
             fmt::format("1 for flows, which draw no prompts; or add sgd to {}", name("method")));
    }
  }

  void set_descent() {
    const std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
    if (request_.seeds > 1 && request_.seed > last - static_cast<std::uint64_t>(request_.seeds - 1)) {
      fail(request_.function, name("seed"), fmt::format("{}", request_.seed),
           fmt::format("at most 2^64 - {} with {} {}", request_.seeds, name("seeds"), request_.seeds));
    }
    const std::int64_t usual = request_.published ? kPublishedSteps : kDefaultSteps;
    const std::int64_t steps = request_.steps.value_or(request_.quick ? usual / 100 : usual);
    const double size =
        request_.step_size.value_or(request_.published ? kPublishedStepSize : kDefaultStepSize);
    if (steps < 1) refuse("steps", static_cast<double>(steps), "at least 1");
    check_positive(request_.function, name("step-size"), size);
    plan().descent.steps = steps;
    plan().descent.step_size = make_schedule(request_.schedule.value_or(Schedule::constant), size, steps);
    plan().descent.record_every = std::max<std::int64_t>(1, steps / kDescentRecords);
    plan().descent.optimizer = request_.optimizer.value_or(Optimizer::plain);
    plan().batches.prompts = request_.batch.value_or(kDefaultBatch);
    plan().batches.seed = request_.seed;
    plan().batches.kernel = request_.kernel.value_or(PromptKernel::collapsed);
    // The publication has no ½; the losses of other problems are what they are.
    plan().batches.loss_factor = request_.published && !plan().other ? 1 : 0.5;
    plan().seeds = request_.seeds;
  }

  void set_flow() {
    FlowPlan& flow = plan().flow;
    if (request_.time) {
      flow.end = *request_.time;
      if (!(flow.end > 0)) refuse("time", flow.end, "positive");
    } else if ((descends() || request_.published) && is_plain()) {
      // A flow to compare with goes as far as the descents; adaptive and heavy steps have another clock.
      flow.end = 2 * plan().batches.loss_factor * duration_of(plan().descent.step_size, plan().descent.steps);
    }
    if (plan().parameters != Parametrisation::invariant && std::isinf(flow.end)) {
      flow.end = kDefaultTime;
      warn(fmt::format("flows off the invariant set end at t = {:g} ({})", kDefaultTime, name("time")));
    }
    if (plan().other) {
      // Averages over some thousand draws are not worth more digits.
      flow.relative_tolerance = flow.stationary_tolerance = 1e-6;
      flow.absolute_tolerance = 1e-9;
      flow.method = plan().start.size() <= kMostDense ? FlowMethod::dense : FlowMethod::krylov;
      flow.most_steps = kMostSteps;
    }
    if (!request_.tolerance) return;
    const double tolerance = *request_.tolerance;
    if (!(tolerance >= kLeastTolerance && tolerance <= kLargestTolerance)) {
      refuse("tolerance", tolerance,
             fmt::format("between {:g} and {:g}", kLeastTolerance, kLargestTolerance));
    }
    flow.relative_tolerance = plan().node_tolerance = tolerance;
    flow.absolute_tolerance = 1e-3 * tolerance;
  }

  const TrainingRequest& request_;
  PlannedTraining made_;
};

}  // namespace

PlannedTraining make_training_plan(const TrainingRequest& request) { return PlanMaker(request).make(); }

TrainingCost estimate_cost(const TrainingPlan& plan, int threads) {
  TrainingCost cost;
  const bool invariant = plan.parameters == Parametrisation::invariant;
  const auto seeds = static_cast<double>(plan.seeds);
  for (const LengthLaw& L : plan.lengths) {
    const std::int64_t kinds = std::ssize(plan.attention);
    if (has(plan, TrainingMethod::flow)) cost.flows += kinds * (invariant ? 1 : plan.seeds);
    if (!has(plan, TrainingMethod::descent) || L.is_infinite()) continue;
    cost.descents += kinds * plan.seeds;
    for (const AttentionKind kind : plan.attention) cost.seconds += seeds * seconds_of_descent(plan, kind, L);
  }
  if (plan.other && has(plan, TrainingMethod::flow)) {
    // A flow takes some thousand averages over its draws, which it holds.
    for (const LengthLaw& L : plan.lengths) {
      const PromptRisk some(icl::setting_of(plan, plan.attention.front(), L, icl::DrawsOf::flow), 2,
                            {.threads = 1}, 0);
      const double tokens = some.average() == PromptAverage::sampled ? L.mean() : 0;
      cost.seconds += 3000 * seeds * static_cast<double>(plan.prompts * std::ssize(plan.attention)) *
                      (1e-6 + 6e-9 * tokens);
      const double bytes =
          8 * static_cast<double>(plan.prompts) * (500 + tokens * static_cast<double>(token_dimension(plan)));
      cost.megabytes += 1e-6 * std::min(bytes, static_cast<double>(kHeldBytes));
    }
  }
  const auto dimension = static_cast<double>(token_dimension(plan) - 1);
  const double size = std::max(1.0, dimension / 13);  // matrices dominate beyond
  const double limits = invariant ? 1 : seeds;        // flows with which runs are compared
  cost.seconds += 0.3 * size * size * size * (static_cast<double>(cost.flows) + limits);
  // Risks at ends average over 32 times the nodes, up to 2^20, of three vectors each, for every thread.
  const double nodes =
      invariant || plan.other ? 0 : std::min(32.0 * static_cast<double>(plan.nodes.count), 0x1p20);
  const double width = 8.0 * (3 * dimension + 6);
  // A record of a descent is kept with its parameters, again in a path, and twice more with its derivatives
  // there; vectors have headers, and room to grow. A flow of about 500 steps has up to six derivatives.
  const auto parameters = static_cast<double>(plan.start.size());
  const auto records = static_cast<double>(plan.descent.steps / plan.descent.record_every + 2);
  const double bytes = nodes * width * static_cast<double>(threads) +
                       static_cast<double>(cost.descents) * records * (8.0 * 4 * parameters + 220) +
                       (static_cast<double>(cost.flows) + limits) * 500 * (8.0 * 7 * parameters + 220);
  cost.megabytes += 30 + 1e-6 * bytes;
  return cost;
}

RegressionProblem moments_of(const InContextProblem& problem) {
  const PromptTask& task = *problem.task;
  const Eigen::Index d = task.token_dimension() - task.output_dimension();
  if (task.token_dimension() != task.query_dimension() || d < 1) {
    fail("icl", "tokens and queries of this task differ in size: give a start of your own");
  }
  const double infinity = std::numeric_limits<double>::infinity();
  const PromptSetting setting{problem.task, problem.loss, infinity};
  Matrix moment = Matrix::Zero(d, d);
  for (std::int64_t i = 0; i < kMomentDraws; ++i) {
    const MeasurePtr tokens = draw_prompt(setting, i).tokens;
    const Vector mean = tokens->mean().head(d);
    moment += (tokens->covariance().topLeftCorner(d, d) + mean * mean.transpose()) /
              static_cast<double>(kMomentDraws);
  }
  RegressionProblem regression = paper_problem((moment + moment.transpose()) / 2);
  regression.score_scale = problem.score_scale;
  return regression;
}

std::vector<std::string> start_warnings(const RegressionProblem& problem, const InvariantPoint& start) {
  std::vector<std::string> warnings;
  const double largest = largest_admissible_alpha(problem);
  if (start.b >= largest) {
    warnings.push_back(fmt::format(
        "alpha = {:g} is not below {:.6g}: the theorem about the limit of training does not apply", start.b,
        largest));
  }
  if (problem.score_scale < 0) {
    warnings.emplace_back(
        "the score scale is negative: the start is on the far side of zero, and the theorem does not apply");
  }
  return warnings;
}

}  // namespace largo
