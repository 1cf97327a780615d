// largo icl train: training at many lengths, by gradient flow without sampled prompts and by stochastic
// descent.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <thread>

#include <fmt/core.h>

#include "arguments.hpp"
#include "icl_train_plan.hpp"
#include "icl_train_report.hpp"
#include "input_files.hpp"
#include "largo/icl/training/train.hpp"
#include "largo/runtime/check.hpp"
#include "output_files.hpp"
#include "progress.hpp"

namespace largo {
namespace {

constexpr const char* kName = "icl train";

struct Cost {
  std::int64_t flows = 0, descents = 0;
  double seconds = 0;    // on one core
  double megabytes = 0;  // of one process
};

// Of one run, as measured: some factor of two from the truth.
double seconds_of_descent(const TrainingPlan& plan, AttentionKind kind, double L) {
  const double tokens = kind == AttentionKind::softmax ? L : 0;
  const auto d = static_cast<double>(plan.problem.dimension());
  double seconds = static_cast<double>(plan.descent.steps) * static_cast<double>(plan.batches.prompts) *
                   (0.6e-6 + 3e-9 * tokens);
  seconds += 0.6e-3 * (1 + d * d / 30);  // the risk at its end, and its path
  if (has(plan, TrainingMethod::flow)) seconds += 17e-3 * (1 + d * d / 30);  // its noise, and that predicted
  return seconds;
}

Cost cost_of(const TrainingPlan& plan, double threads) {
  Cost cost;
  const bool invariant = plan.parameters == Parametrisation::invariant;
  const auto seeds = static_cast<double>(plan.seeds);
  for (const double L : plan.lengths) {
    const std::int64_t kinds = std::ssize(plan.attention);
    if (has(plan, TrainingMethod::flow)) cost.flows += kinds * (invariant ? 1 : plan.seeds);
    if (!has(plan, TrainingMethod::descent) || std::isinf(L)) continue;
    cost.descents += kinds * plan.seeds;
    for (const AttentionKind kind : plan.attention) cost.seconds += seeds * seconds_of_descent(plan, kind, L);
  }
  const double size =
      std::max(1.0, static_cast<double>(plan.problem.dimension()) / 13);  // matrices count then
  const double limits = invariant ? 1 : seeds;                            // flows that runs are compared with
  cost.seconds += 0.3 * size * size * size * (static_cast<double>(cost.flows) + limits);
  // Risks at ends average over 32 times the nodes, up to 2^20, of three vectors each; every thread has its
  // own.
  const double nodes = invariant ? 0 : std::min(32.0 * static_cast<double>(plan.nodes.count), 0x1p20);
  const double width = 8.0 * (3 * static_cast<double>(plan.problem.dimension()) + 6);
  // A record of a descent is kept with its parameters, again in a path, and twice more with its derivatives
  // there; vectors have heads, and room to grow. A flow of some 500 steps has up to six derivatives.
  const auto parameters = static_cast<double>(plan.start.size());
  const auto records = static_cast<double>(plan.descent.steps / plan.descent.record_every + 2);
  const double bytes = nodes * width * threads +
                       static_cast<double>(cost.descents) * records * (8.0 * 4 * parameters + 220) +
                       (static_cast<double>(cost.flows) + limits) * 500 * (8.0 * 7 * parameters + 220);
  cost.megabytes = 30 + 1e-6 * bytes;
  return cost;
}

void describe(const TrainOptions& options, const TrainingPlan& plan) {
  const int asked = options.execution().threads;
  const Cost cost = cost_of(plan, asked > 0 ? asked : std::thread::hardware_concurrency());
  const auto memory = static_cast<std::int64_t>(cost.megabytes);
  const Json json{{"flows", cost.flows},
                  {"descents", cost.descents},
                  {"core_seconds", cost.seconds},
                  {"memory_MB", memory}};
  if (options.json) return print_json(json);
  fmt::print("{} flows and {} descents, some {:.2g} s on one core, some {} MB\n", cost.flows, cost.descents,
             cost.seconds, memory);
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

std::vector<TrainingRun> train_or_stop(const TrainOptions& options, const TrainingPlan& plan) {
  try {
    return train(plan, options.execution());
  } catch (const Stopped&) {
    if (options.checkpoints.empty() || !has(plan, TrainingMethod::descent)) throw;
    throw StoppedCommand(
        fmt::format("stopped; the same command goes on from the states in '{}'", options.checkpoints));
  }
}

// Options of sgd that a flow would ignore. The published experiment goes as far as its descents do.
void check_for_sgd(const CLI::App& command, const TrainOptions& options) {
  if (options.method.find("sgd") != std::string::npos) return;
  const auto check = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (command.count(name) > 0) fail(kName, fmt::format("{} is for sgd: add --method sgd", name));
    }
  };
  check({"--batch", "--optimizer", "--kernel", "--checkpoints"});
  if (!options.published()) check({"--steps", "--step-size", "--schedule", "--quick"});
}

// Before the work.
void check_files(const TrainOptions& options) {
  const InputNames inputs{
      .matrices = {options.covariance, options.query_covariance, options.prior, options.start.theta}};
  check_not_read(kName, "--csv", options.csv, inputs);
  check_not_read(kName, "--plot", options.plot, inputs);
  check_output_files(kName, options.csv, options.plot);
}

void run_train(const TrainOptions& options) {
  TrainReport report;
  report.plan = read_plan(options, report.warnings);
  check_files(options);
  if (options.dry_run) return describe(options, report.plan);
  report.null_risk = report.plan.problem.null_risk();
  {
    ProgressLine line("icl train");
    report.plan.progress = [&](double share) { line.show(share); };
    report.runs = train_or_stop(options, report.plan);
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
      "train",
      "Training at every prompt length: gradient flow without sampled prompts, and stochastic descent");
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
                   "invariant: A and b; merged: U and v, from the same start; factored: K, Q, V and the "
                   "output row, from a random one")
      ->check(one_of({"invariant", "merged", "factored"}));
  add_start_options(*command, options->start);
  command
      ->add_option(
          "--time", options->time,
          "end of the flow (until stationary; 1000 for merged and factored; as far as sgd goes beside it)")
      ->transform(positive_or_inf());
  command
      ->add_option("--tolerance", options->tolerance,
                   "relative, of a step of the flow (1e-9; 1e-4 for softmax attention over merged and "
                   "factored parameters)")
      ->transform(finite_number());
  command
      ->add_option(
          "--nodes", options->nodes,
          "tasks that flows of merged and factored parameters average over, rounded up to a power of two, at "
          "least 512; twice as many below 16 tokens, four times as many in the second half of the time")
      ->transform(whole_number(1, std::uint64_t{1} << 20))
      ->capture_default_str();
  command->add_option("--steps", options->steps, "of sgd (20000)")
      ->transform(whole_number(1, std::uint64_t{1} << 40));
  command->add_option("--step-size", options->step_size, "of sgd (0.01)")
      ->transform(finite_number(Sign::positive));
  command
      ->add_option("--seeds", options->seeds,
                   "of sgd: every run is made with so many, SEED (--seed), SEED + 1, and so on")
      ->transform(whole_number(1, kMostSeeds))
      ->capture_default_str();
  command->add_option("--batch", options->batch, "prompts in a step of sgd")
      ->transform(whole_number(1, std::uint64_t{1} << 30))
      ->capture_default_str();
  command->add_option("--optimizer", options->optimizer, "plain, momentum or adam")
      ->check(one_of({"plain", "momentum", "adam"}))
      ->capture_default_str();
  command->add_option("--schedule", options->schedule, "of the step size: constant, inverse-time or cosine")
      ->check(one_of({"constant", "inverse-time", "cosine"}))
      ->capture_default_str();
  command->add_option("--kernel", options->kernel, "how sgd draws prompts: collapsed or full; the same law")
      ->check(one_of({"collapsed", "full"}))
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
  command->callback([command, options] {
    check_for_sgd(*command, *options);
    run_train(*options);
  });
}

}  // namespace largo
