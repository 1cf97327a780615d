// largo icl train: training at many lengths, by gradient flow on exact risks and by stochastic descent.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <thread>

#include <fmt/core.h>

#include "arguments.hpp"
#include "icl_options.hpp"
#include "icl_start.hpp"
#include "icl_train_report.hpp"
#include "largo/icl/parameter_maps.hpp"
#include "largo/icl/published_experiment.hpp"
#include "largo/numerics/check.hpp"
#include "largo/numerics/parse_numbers.hpp"
#include "output_files.hpp"
#include "progress.hpp"

namespace largo {
namespace {

constexpr const char* kName = "icl train";
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kRecords = 100;
constexpr double kGeneralTolerance = 1e-4;  // of flows over nodes, whose own error is larger
constexpr std::int64_t kMostSeeds = 4096;
constexpr double kLeastTolerance = 1e-13, kLargestTolerance = 1e-2;

struct TrainOptions : ProblemOptions {
  std::string L, method = "flow", attention;
  StartOptions start;
  std::string parameters;
  std::optional<double> time;
  double tolerance = 1e-9;
  std::optional<std::int64_t> steps;
  std::optional<double> step_size;
  std::int64_t seeds = 1;
  std::int64_t batch = kPublishedBatch, nodes = TrainingPlan().nodes.count;
  std::string optimizer = "plain", schedule = "constant", kernel = "collapsed";
  std::string csv, plot, checkpoints;
  bool quick = false, dry_run = false;
};

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
      fail(kName, option, fmt::format("'{}'", name), fmt::format("of {}", names));
    }
    if (std::find(values.begin(), values.end(), found->second) == values.end())
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

bool has(const TrainingPlan& plan, TrainingMethod method) {
  return std::find(plan.methods.begin(), plan.methods.end(), method) != plan.methods.end();
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
  plan.descent.record_every = std::max<std::int64_t>(1, steps / kRecords);
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
  if (!(options.tolerance >= kLeastTolerance && options.tolerance <= kLargestTolerance)) {
    fail(kName, "--tolerance", options.tolerance, "between 1e-13 and 0.01");
  }
  read_descent(options, plan);
  const bool invariant = plan.parameters == Parametrisation::invariant;
  if (!invariant && std::isinf(plan.flow.end)) {
    plan.flow.end = 1000;
    warnings.push_back("flows off the invariant set end at t = 1000 (--time)");
  }
  plan.flow.relative_tolerance =
      invariant ? options.tolerance : std::max(options.tolerance, kGeneralTolerance);
  plan.flow.absolute_tolerance = 1e-3 * plan.flow.relative_tolerance;
  plan.nodes = {options.nodes, options.seed};
  plan.checkpoints = options.checkpoints;
  return plan;
}

void describe(const TrainOptions& options, const TrainingPlan& plan) {
  std::int64_t flows = 0, descents = 0;
  double seconds = 0;
  const bool invariant = plan.parameters == Parametrisation::invariant;
  const double size =
      std::max(1.0, static_cast<double>(plan.problem.dimension()) / 13);  // matrices count then
  for (const double L : plan.lengths) {
    const std::int64_t kinds = std::ssize(plan.attention);
    if (has(plan, TrainingMethod::flow)) {
      const std::int64_t here = kinds * (invariant ? 1 : plan.seeds);
      flows += here;
      seconds += 0.3 * size * size * size * static_cast<double>(here);
    }
    if (has(plan, TrainingMethod::descent) && std::isfinite(L)) {
      descents += kinds * plan.seeds;
      for (const AttentionKind kind : plan.attention) {
        const double tokens = kind == AttentionKind::softmax ? L : 0;
        seconds += static_cast<double>(plan.seeds) * static_cast<double>(plan.descent.steps) *
                   static_cast<double>(plan.batches.prompts) * (0.6e-6 + 3e-9 * tokens);
      }
    }
  }
  // Risks at ends average over 32 times the nodes, up to 2^20, of three vectors each; every thread has its
  // own.
  const double nodes = invariant ? 0 : std::min(32.0 * static_cast<double>(plan.nodes.count), 0x1p20);
  const double width = 8.0 * (3 * static_cast<double>(plan.problem.dimension()) + 6);
  const int asked = options.execution().threads;
  const double threads = asked > 0 ? asked : std::thread::hardware_concurrency();
  // A record of a descent is kept with its parameters, and twice more with its derivatives, in a path.
  const double records = 8.0 * 3 * static_cast<double>(kRecords * plan.start.size());
  const auto memory = static_cast<std::int64_t>(
      100 + 1e-6 * (nodes * width * threads + records * static_cast<double>(descents)));
  const Json json{{"flows", flows}, {"descents", descents}, {"core_seconds", seconds}, {"memory_MB", memory}};
  if (options.json) return print_json(json);
  fmt::print("{} flows and {} descents, some {:.2g} s on one core, less than {} MB\n", flows, descents,
             seconds, memory);
}

// Heavy and adaptive steps have a clock of their own: beside a flow at the same time they say nothing.
void drop_comparisons(TrainReport& report) {
  for (TrainingRun& run : report.runs) {
    run.to_flow.reset();
    run.noise.reset();
    run.predicted_noise.reset();
  }
  report.warnings.emplace_back(
      "momentum and adam have a clock of their own: their paths are not compared with the flow at their "
      "length");
}

void run_train(const TrainOptions& options) {
  TrainReport report;
  report.plan = read_plan(options, report.warnings);
  if (options.device != "cpu" && !has(report.plan, TrainingMethod::descent)) {
    fail(kName, "--device", options.device, "cpu for flows; a GPU draws prompts (--method sgd)");
  }
  check_precision(options, report.plan);
  if (options.dry_run) return describe(options, report.plan);
  check_output_files(kName, options.csv, options.plot);
  report.null_risk = report.plan.problem.null_risk();
  {
    ProgressLine line("icl train");
    report.plan.progress = [&](double share) { line.show(share); };
    report.runs = train(report.plan, options.execution());
    if (!first_process()) return;
    if (options.optimizer != "plain" && has(report.plan, TrainingMethod::descent)) drop_comparisons(report);
  }
  const Json json = to_json(report);
  check_numbers(json);
  const std::string csv = options.csv.empty() ? "" : to_csv(report),
                    svg = options.plot.empty() ? "" : to_svg(report);  // both are made before one is written
  if (!options.csv.empty()) write_text(kName, options.csv, csv);
  if (!options.plot.empty()) write_figure(kName, options.plot, svg);
  if (options.json) return print_json(json);
  print_report(report);
  if (!options.csv.empty()) fmt::print("paths in {}\n", options.csv);
  if (!options.plot.empty()) fmt::print("figure in {}\n", options.plot);
}

}  // namespace

void add_icl_train_command(CLI::App& icl) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* command = icl.add_subcommand(
      "train", "Training at every prompt length: gradient flow on exact risks, and stochastic descent");
  add_problem_options(*command, *options);
  command->get_option("--precision")
      ->description(
          "arithmetic over the tokens of sgd, which is float32; flows have none, and are in float64");
  command->add_option("--L", options->L, "lengths (10,100,1000,inf; the published ones with --preset)")
      ->check(check_given, "");
  command->add_option("--method", options->method, "flow, sgd, or flow,sgd")
      ->check(check_given, "")
      ->capture_default_str();
  command->add_option("--attention", options->attention, "softmax, linear, or softmax,linear")
      ->check(check_given, "");
  command
      ->add_option("--parameters", options->parameters,
                   "invariant: A and b; merged: U and v; factored: K, Q, V and the output row")
      ->check(CLI::IsMember({"invariant", "merged", "factored"}));
  add_start_options(*command, options->start);
  command->add_option("--time", options->time, "end of the flow (until stationary, or as far as sgd goes)");
  command->add_option("--tolerance", options->tolerance, "relative, of a step of the flow")
      ->capture_default_str();
  command
      ->add_option("--nodes", options->nodes,
                   "tasks that flows of merged and factored parameters average over; twice as many below 16 "
                   "tokens, four times as many in the second half of the time")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->capture_default_str();
  command->add_option("--steps", options->steps, "of sgd (20000)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command->add_option("--step-size", options->step_size, "of sgd (0.01)");
  command
      ->add_option("--seeds", options->seeds,
                   "of sgd: every run is made with so many, SEED (--seed), SEED + 1, and so on")
      ->check(CLI::Range(std::int64_t{1}, kMostSeeds))
      ->capture_default_str();
  command->add_option("--batch", options->batch, "prompts in a step of sgd")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str();
  command->add_option("--optimizer", options->optimizer, "plain, momentum or adam")
      ->check(CLI::IsMember({"plain", "momentum", "adam"}))
      ->capture_default_str();
  command->add_option("--schedule", options->schedule, "of the step size: constant, inverse-time or cosine")
      ->check(CLI::IsMember({"constant", "inverse-time", "cosine"}))
      ->capture_default_str();
  command->add_option("--kernel", options->kernel, "how sgd draws prompts: collapsed or full; the same law")
      ->check(CLI::IsMember({"collapsed", "full"}))
      ->capture_default_str();
  command
      ->add_option("--checkpoints", options->checkpoints,
                   "folder where sgd saves its state, and goes on from after a stop")
      ->check(check_given, "");
  command->add_option("--csv", options->csv, "write all paths to this file")->check(check_given, "");
  command->add_option("--plot", options->plot, "write a figure to this .svg or .pdf file")
      ->check(check_given, "");
  add_device_option(*command, options->device);
  command->add_flag("--quick", options->quick, "a hundredth of the steps of sgd");
  command->add_flag("--dry-run", options->dry_run, "say what would be computed, and stop");
  command->footer(
      "Time is that of the flow on half the mean squared error. sgd runs as long, in steps.\n\n"
      "Examples:\n"
      "  largo icl train --d 5 --L 10,100,inf --method flow --plot train.svg\n"
      "  largo icl train --d 3 --L 20 --method flow,sgd --steps 2000 --step-size 0.05\n"
      "  largo icl train --d 3 --L 10,100 --method flow,sgd --steps 2000 --seeds 8\n"
      "  largo icl train --preset published --method flow,sgd --plot published.svg");
  command->callback([options] { run_train(*options); });
}

}  // namespace largo
