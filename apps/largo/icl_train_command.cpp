// largo icl train: training at many lengths, by gradient flow without sampled prompts and by stochastic
// gradient descent.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "arguments.hpp"
#include "exact/named_lengths.hpp"
#include "icl_options.hpp"
#include "icl_train_report.hpp"
#include "largo/icl/training/make_training_plan.hpp"
#include "largo/icl/training/training_plan.hpp"
#include "largo/runtime/check.hpp"
#include "output_files.hpp"
#include "progress.hpp"

namespace largo {
namespace {

struct TrainOptions : ProblemOptions {
  std::string L, evaluate, method = "flow", attention;
  StartOptions start;
  std::string parameters;
  std::optional<double> time, tolerance, step_size;
  std::optional<std::int64_t> steps, batch;
  std::optional<std::string> optimizer, schedule, kernel;
  std::optional<std::int64_t> prompts;
  bool common_draws = false;
  std::int64_t seeds = 1, nodes = TrainingPlan().nodes.count;
  std::string checkpoints;
  OutputFiles outputs;
  bool quick = false, dry_run = false;
};

constexpr const char* kIclTrainCommand = "icl train";

template <typename Value>
using Names = std::initializer_list<std::pair<const char*, Value>>;

// Reads a list "a,b" of known names, each at most once.
template <typename Value>
std::vector<Value> read_list(const char* option, const std::string& text, Names<Value> known) {
  std::vector<Value> values;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    const std::string name = text.substr(from, to - from);
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const auto& one) { return name == one.first; });
    if (found == known.end()) {
      std::string names;
      for (const auto& one : known) names += fmt::format("{}{}", names.empty() ? "" : ", ", one.first);
      fail(kIclTrainCommand, option, fmt::format("'{}'", name),
           fmt::format("one or more of {}, separated by commas", names));
    }
    if (std::find(values.begin(), values.end(), found->second) != values.end()) {
      fail(kIclTrainCommand, option, fmt::format("'{}'", text),
           fmt::format("a list that has each name once: {} is there twice", name));
    }
    values.push_back(found->second);
    from = to + 1;
  }
  return values;
}

// The value of the name, which CLI11 has checked.
template <typename Value>
std::optional<Value> chosen(const std::optional<std::string>& text, Names<Value> known) {
  for (const auto& [name, value] : known) {
    if (text == name) return value;
  }
  return std::nullopt;
}

// Descents draw tokens in float32; sums beyond a chunk of tokens, gradients and parameters are float64. Flows
// have no tokens and use float64.
void check_precision(const TrainOptions& options, const TrainingPlan& plan) {
  const bool draws = has(plan, TrainingMethod::descent);
  if (options.precision == "float64" && draws) {
    fail(kIclTrainCommand, "--precision", "float64",
         "auto or float32 for sgd, which draws its tokens in float32 on every device; parameters and "
         "gradients are float64");
  }
  if (options.precision == "float32" && !draws) {
    fail(kIclTrainCommand, "--precision", "float32", "auto or float64 for flows, which draw no tokens");
  }
}

TrainingRequest request_of(const TrainOptions& options) {
  TrainingRequest request;
  request.function = kIclTrainCommand;
  request.prefix = "--";
  request.other = options.other();
  if (!request.other) request.problem = options.problem();
  request.prompts = options.prompts;
  if (options.common_draws) {
    request.sampling = PromptSampling::always;
    if (!request.other) request.other = with_laws(request.problem, {}, "--");
  }
  request.published = options.published();
  request.methods = read_list<TrainingMethod>(
      "--method", options.method, {{"flow", TrainingMethod::flow}, {"sgd", TrainingMethod::descent}});
  if (!options.attention.empty()) {
    request.attention =
        read_list<AttentionKind>("--attention", options.attention,
                                 {{"softmax", AttentionKind::softmax}, {"linear", AttentionKind::linear}});
  }
  if (!options.L.empty()) {
    const bool drawn = options.method.find("sgd") != std::string::npos;
    request.lengths =
        exact::parse_length_laws("--L", options.L, drawn ? io::LengthKind::kWhole : io::LengthKind::kReal);
  }
  if (!options.evaluate.empty()) {
    request.evaluate = exact::parse_length_laws("--evaluate", options.evaluate, io::LengthKind::kReal);
  }
  request.parameters = chosen<Parametrisation>(options.parameters, {{"invariant", Parametrisation::invariant},
                                                                    {"merged", Parametrisation::merged},
                                                                    {"factored", Parametrisation::factored}});
  if (options.start.given()) {
    request.start = options.start.read(request.other ? moments_of(*request.other) : request.problem);
  }
  if (!options.start.U.empty() || !options.start.V.empty()) request.head = options.start.read_head();
  request.time = options.time;
  request.tolerance = options.tolerance;
  request.nodes = options.nodes;
  request.seed = options.seed;
  request.steps = options.steps;
  request.step_size = options.step_size;
  request.batch = options.batch;
  request.optimizer = chosen<Optimizer>(
      options.optimizer,
      {{"plain", Optimizer::plain}, {"momentum", Optimizer::momentum}, {"adam", Optimizer::adam}});
  request.schedule = chosen<Schedule>(options.schedule, {{"constant", Schedule::constant},
                                                         {"inverse-time", Schedule::inverse_time},
                                                         {"cosine", Schedule::cosine}});
  request.kernel = chosen<PromptKernel>(
      options.kernel, {{"collapsed", PromptKernel::collapsed}, {"full", PromptKernel::full}});
  request.seeds = options.seeds;
  request.checkpoints = options.checkpoints;
  request.quick = options.quick;
  return request;
}

// Throws InputError for options that contradict each other.
PlannedTraining read_plan(const TrainOptions& options) {
  PlannedTraining planned = make_training_plan(request_of(options));
  check_precision(options, planned.plan);
  if (options.device != "cpu" && !has(planned.plan, TrainingMethod::descent)) {
    fail(kIclTrainCommand, "--device", options.device,
         "cpu for flows; cuda needs --method sgd, which draws prompts");
  }
  for (const LengthLaw& L : planned.plan.lengths) {
    if (options.device != "cpu" && !L.is_one_length()) {
      fail(kIclTrainCommand, "--device", options.device,
           fmt::format("cpu for prompts of random length, L = {}", L.name()));
    }
  }
  return planned;
}

void describe(const TrainOptions& options, const TrainingPlan& plan) {
  const int asked = options.execution().threads;
  const TrainingCost cost =
      estimate_cost(plan, asked > 0 ? asked : static_cast<int>(std::thread::hardware_concurrency()));
  const auto memory = static_cast<std::int64_t>(cost.megabytes);
  const io::Json json{{"flows", cost.flows},
                      {"descents", cost.descents},
                      {"core_seconds", cost.seconds},
                      {"memory_MB", memory}};
  if (options.json) return print_json(json);
  fmt::print("{} flows and {} descents, about {:.2g} s on one core, about {} MB\n", cost.flows, cost.descents,
             cost.seconds, memory);
}

std::vector<TrainingRun> train_or_stop(const TrainOptions& options, const TrainingPlan& plan) {
  try {
    return train(plan, options.execution());
  } catch (const Stopped&) {
    if (options.checkpoints.empty() || !has(plan, TrainingMethod::descent)) throw;
    throw StoppedCommand(fmt::format("stopped; run the same command again to resume from the states in '{}'",
                                     options.checkpoints));
  }
}

// Called before the work.
void check_files(const TrainOptions& options) {
  InputNames inputs{.matrices = {options.covariance, options.query_covariance, options.prior,
                                 options.start.theta, options.start.U, options.start.V}};
  inputs.laws = {options.laws.covariates, options.laws.queries, options.laws.prior, options.laws.noise};
  for (const std::string& file : options.files()) inputs.matrices.push_back(file);
  options.outputs.check(kIclTrainCommand, inputs);
}

void run_train(const TrainOptions& options) {
  TrainReport report;
  PlannedTraining planned = read_plan(options);
  report.plan = std::move(planned.plan);
  report.warnings = std::move(planned.warnings);
  check_files(options);
  if (options.dry_run) return describe(options, report.plan);
  report.null_risk = null_risk(report.plan, options.execution());
  {
    ProgressLine line("icl train");
    report.plan.progress = [&](double share) { line.show(share); };
    report.runs = train_or_stop(options, report.plan);
    if (!first_process()) return;
  }
  show_report(kIclTrainCommand, report, options);
}

}  // namespace

void add_icl_train_command(CLI::App& icl) {
  const auto [command, options] = add_subcommand(
      icl, "train", run_train,
      "Train at every prompt length, by gradient flow without sampled prompts and by stochastic descent");
  add_problem_options(*command, *options);
  command->get_option("--precision")
      ->description("Arithmetic over the tokens: float32 for sgd; flows have no tokens and use float64");
  add_text_option(*command, "--L", options->L,
                  "Prompt lengths (default: 10,100,1000,inf; with a published preset, the published "
                  "lengths), or laws of random lengths: uniform:1:100, geometric:50, 10=0.5,100=0.5");
  add_text_option(*command, "--evaluate", options->evaluate,
                  "Other lengths, or laws of them, at which to compute the risk of what was trained");
  add_text_option(*command, "--method", options->method,
                  "Training method: flow (gradient flow), sgd (stochastic gradient descent), or flow,sgd")
      ->capture_default_str();
  add_text_option(*command, "--attention", options->attention,
                  "Kind of attention: softmax, linear, or softmax,linear");
  command
      ->add_option("--parameters", options->parameters,
                   "Parameters to train: invariant (A and b), merged (U and v, from the same start) or "
                   "factored (K, Q, V and the output row, from a random start)")
      ->check(one_of({"invariant", "merged", "factored"}));
  add_start_options(*command, options->start);
  add_text_option(*command, "--start-U", options->start.U,
                  "Start at any score matrix, a file; needs --start-V and merged parameters");
  add_text_option(*command, "--start-V", options->start.V,
                  "Value matrix of that start, one row for each output");
  command
      ->add_option("--time", options->time,
                   "End time of the flow (default: until stationary; 1000 for merged and factored "
                   "parameters; the time of sgd, if both are run)")
      ->transform(positive_or_inf());
  command
      ->add_option("--tolerance", options->tolerance,
                   "Relative tolerance of a step of the flow (default: 1e-9; 1e-4 for softmax attention over "
                   "merged and factored parameters; 1e-6 where risks are averages over draws)")
      ->transform(finite_number());
  command
      ->add_option(
          "--nodes", options->nodes,
          "Number of tasks that flows of merged and factored parameters average over; rounded up to a "
          "power of two, at least 512; twice as many below 16 tokens, four times as many in the second half "
          "of the time")
      ->transform(whole_number(1, std::uint64_t{1} << 20))
      ->capture_default_str();
  command
      ->add_option(
          "--prompts", options->prompts,
          "Number of draws that flows average over, where laws or the loss are not those of Gaussian "
          "regression (default: 4096); risks at ends are averages over four times as many fresh ones")
      ->transform(whole_number(2, kMostDraws));
  command->add_flag(
      "--common-draws", options->common_draws,
      "Train flows on a fixed set of drawn prompts, even where averages over prompts are exact");
  command
      ->add_option("--steps", options->steps, fmt::format("Number of sgd steps (default: {})", kDefaultSteps))
      ->transform(whole_number(1, std::uint64_t{1} << 40));
  command
      ->add_option("--step-size", options->step_size,
                   fmt::format("Step size of sgd (default: {:g})", kDefaultStepSize))
      ->transform(finite_number(Sign::positive));
  command
      ->add_option("--seeds", options->seeds,
                   "Number of seeds per descent: sgd runs with SEED (--seed), SEED + 1, and so on")
      ->transform(whole_number(1, kMostSeeds))
      ->capture_default_str();
  command
      ->add_option("--batch", options->batch,
                   fmt::format("Number of prompts per sgd step (default: {})", kDefaultBatch))
      ->transform(whole_number(1, std::uint64_t{1} << 30));
  command
      ->add_option("--optimizer", options->optimizer, "Optimizer of sgd: plain (default), momentum or adam")
      ->check(one_of({"plain", "momentum", "adam"}));
  command
      ->add_option("--schedule", options->schedule,
                   "Schedule of the step size: constant (default), inverse-time or cosine")
      ->check(one_of({"constant", "inverse-time", "cosine"}));
  command
      ->add_option("--kernel", options->kernel,
                   "How sgd draws prompts: collapsed (default) or full; both draw from the same law")
      ->check(one_of({"collapsed", "full"}));
  add_text_option(*command, "--checkpoints", options->checkpoints,
                  "Folder where sgd saves its state, to resume after a stop");
  options->outputs.add_csv_and_plot_options(*command, "all paths");
  add_device_option(*command, options->device);
  command->add_flag("--quick", options->quick, "Run a hundredth of the sgd steps");
  command->add_flag("--dry-run", options->dry_run, "Print what would be computed, and stop");
  command->footer(
      "Time is that of gradient flow on half the mean squared error. sgd covers the same time in steps.\n\n"
      "Examples:\n"
      "  largo icl train --d 5 --L 10,100,inf --method flow --plot train.svg\n"
      "  largo icl train --d 3 --L 20 --method flow,sgd --steps 2000 --step-size 0.05\n"
      "  largo icl train --d 3 --L 10,100 --method flow,sgd --steps 2000 --seeds 8\n"
      "  largo icl train --preset published --method flow,sgd --plot published.svg\n"
      "  largo icl train --d 3 --covariates sphere --loss huber:1 --L 20,100,inf\n"
      "  largo icl train --task examples/tasks/robust_regression.toml --L 20,inf --prompts 1000");
}

}  // namespace largo
