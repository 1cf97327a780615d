#include "icl_train_plan.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "largo/icl/parametrisation.hpp"
#include "largo/io/parse_numbers.hpp"
#include "largo/runtime/check.hpp"

namespace largo {

bool has(const TrainingPlan& plan, TrainingMethod method) {
  return std::find(plan.methods.begin(), plan.methods.end(), method) != plan.methods.end();
}

namespace {

constexpr const char* kName = "icl train";
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLeastTolerance = 1e-13, kLargestTolerance = 1e-2;

// "a,b" of the names known, each once.
template <typename Value>
std::vector<Value> read_list(const char* option, const std::string& text,
                             std::initializer_list<std::pair<const char*, Value>> known) {
  std::vector<Value> values;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    const std::string name = text.substr(from, to - from);
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const auto& one) { return name == one.first; });
    if (found == known.end()) {
      std::string names;
      for (const auto& one : known) names += fmt::format("{}{}", names.empty() ? "" : ", ", one.first);
      fail(kName, option, fmt::format("'{}'", name), fmt::format("a list of some of {}", names));
    }
    if (std::find(values.begin(), values.end(), found->second) != values.end()) {
      fail(kName, option, fmt::format("'{}'", text),
           fmt::format("each name once: {} stands there twice", name));
    }
    values.push_back(found->second);
    from = to + 1;
  }
  return values;
}

StepSchedule schedule_of(const TrainOptions& options, double size, std::int64_t steps) {
  if (options.schedule == "inverse-time") return inverse_time_steps(size, static_cast<double>(steps) / 10);
  if (options.schedule == "cosine") return cosine_steps(size, steps);
  return constant_steps(size);
}

void check_seeds(const TrainOptions& options, const TrainingPlan& plan) {
  if (options.seeds == 1) return;
  if (!has(plan, TrainingMethod::descent)) {
    fail(kName, "--seeds", static_cast<double>(options.seeds),
         "1 for flows, which draw no prompts; or add --method flow,sgd");
  }
  const std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  if (options.seed > last - static_cast<std::uint64_t>(options.seeds - 1)) {
    fail(kName, "--seed", fmt::format("{}", options.seed),
         fmt::format("at most 2^64 - {} with --seeds {}", options.seeds, options.seeds));
  }
}

void read_descent(const TrainOptions& options, TrainingPlan& plan) {
  check_seeds(options, plan);
  const std::int64_t whole = options.published() ? kPublishedSteps : 20000;
  const std::int64_t steps = options.steps.value_or(options.quick ? whole / 100 : whole);
  const double size = options.step_size.value_or(options.published() ? kPublishedStepSize : 0.01);
  check_positive(kName, "--step-size", size);
  plan.descent.steps = steps;
  plan.descent.step_size = schedule_of(options, size, steps);
  plan.descent.record_every = std::max<std::int64_t>(1, steps / kTrainRecords);
  if (options.optimizer == "momentum") plan.descent.optimiser = Optimiser::momentum;
  if (options.optimizer == "adam") plan.descent.optimiser = Optimiser::adam;
  plan.batches.prompts = options.batch;
  plan.batches.seed = options.seed;
  plan.seeds = options.seeds;
  plan.batches.loss_factor = options.published() ? 1 : 0.5;  // the publication has no ½
  if (options.kernel == "full") plan.batches.kernel = PromptKernel::full;
  // A flow to compare with goes as far; adaptive and heavy steps have another clock.
  const bool compared = has(plan, TrainingMethod::descent) || options.published();
  if (!options.time && compared && options.optimizer == "plain") {
    plan.flow.end = 2 * plan.batches.loss_factor * duration_of(plan.descent.step_size, steps);
  }
}

// The tokens of descents are float32 (sums beyond a chunk of them, gradients and parameters are not); flows
// have no tokens, and are in float64.
void check_precision(const TrainOptions& options, const TrainingPlan& plan) {
  const bool draws = has(plan, TrainingMethod::descent);
  if (options.precision == "float64" && draws) {
    fail(kName, "--precision", "float64",
         "auto or float32 for sgd, whose tokens are drawn in float32 on every device; parameters and "
         "gradients "
         "are float64");
  }
  if (options.precision == "float32" && !draws) {
    fail(kName, "--precision", "float32", "auto or float64 for flows, which draw no tokens");
  }
}

void remove_repeated(std::vector<double>& lengths) {
  std::vector<double> once;
  for (const double L : lengths) {
    if (std::find(once.begin(), once.end(), L) == once.end()) once.push_back(L);
  }
  lengths = std::move(once);
}

}  // namespace

TrainingPlan read_plan(const TrainOptions& options, std::vector<std::string>& warnings) {
  TrainingPlan plan;
  plan.problem = options.problem();
  const Eigen::Index d = plan.problem.dimension();
  plan.methods = read_list<TrainingMethod>(
      "--method", options.method, {{"flow", TrainingMethod::flow}, {"sgd", TrainingMethod::descent}});
  const std::string kinds = !options.attention.empty() ? options.attention
                            : options.published()      ? "softmax,linear"
                                                       : "softmax";
  plan.attention = read_list<AttentionKind>(
      "--attention", kinds, {{"softmax", AttentionKind::softmax}, {"linear", AttentionKind::linear}});
  const std::string parameters = !options.parameters.empty() ? options.parameters
                                 : options.published()       ? "factored"
                                                             : "invariant";
  if (options.L.empty()) {
    plan.lengths = options.published() ? published_lengths() : std::vector<double>{10, 100, 1000, kInfinity};
  } else {
    const bool whole = has(plan, TrainingMethod::descent);
    plan.lengths = parse_lengths("--L", options.L, whole ? LengthKind::kWhole : LengthKind::kReal);
  }
  remove_repeated(plan.lengths);
  if (has(plan, TrainingMethod::descent)) {
    const bool drawn =
        std::any_of(plan.lengths.begin(), plan.lengths.end(), [](double L) { return std::isfinite(L); });
    if (!drawn && !has(plan, TrainingMethod::flow))
      fail(kName, "--L", "inf", "finite for sgd, which draws prompts; train inf with --method flow");
    for (const double L : plan.lengths) {
      if (std::isinf(L)) warnings.push_back("sgd draws prompts: L = inf is trained by flow alone");
      if (std::isfinite(L) && L >= 1e12) fail(kName, "--L", L, "below 1e12 for sgd, which draws the tokens");
    }
  }
  if (parameters == "factored") {
    if (options.start.alpha || options.start.theta != "identity") {
      fail(kName,
           "--alpha and --theta start the invariant set; factored parameters start at random (--seed)");
    }
    plan.parameters = Parametrisation::factored;
    plan.random_start = [d](std::uint64_t seed) { return random_factored_start(d, seed); };
    plan.start = plan.random_start(options.seed);
  } else {
    const InvariantPoint start = options.start.read(plan.problem, warnings);
    Vector values(d * d + 1);
    values << start.A.reshaped(), start.b;
    plan.parameters = parameters == "merged" ? Parametrisation::merged : Parametrisation::invariant;
    plan.start = parameters == "merged" ? invariant_map(d)->map(values) : values;
  }
  if (options.time) plan.flow.end = *options.time;
  if (!(plan.flow.end > 0)) fail(kName, "--time", plan.flow.end, "positive");
  if (options.tolerance) {
    const double tolerance = *options.tolerance;
    if (!(tolerance >= kLeastTolerance && tolerance <= kLargestTolerance)) {
      fail(kName, "--tolerance", tolerance, "between 1e-13 and 0.01");
    }
    plan.flow.relative_tolerance = plan.node_tolerance = tolerance;
    plan.flow.absolute_tolerance = 1e-3 * tolerance;
  }
  read_descent(options, plan);
  const bool invariant = plan.parameters == Parametrisation::invariant;
  if (!invariant && std::isinf(plan.flow.end)) {
    plan.flow.end = 1000;
    warnings.push_back("flows off the invariant set end at t = 1000 (--time)");
  }
  plan.nodes = {options.nodes, options.seed};
  plan.checkpoints = options.checkpoints;
  check_precision(options, plan);
  if (options.device != "cpu" && !has(plan, TrainingMethod::descent)) {
    fail(kName, "--device", options.device, "cpu for flows; a GPU draws prompts (--method sgd)");
  }
  return plan;
}

}  // namespace largo
