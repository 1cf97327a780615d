// largo icl threshold: the smallest prompt length whose trained risk is within epsilon of the limit.
#include <fmt/core.h>

#include "arguments.hpp"
#include "icl_options.hpp"
#include "largo/icl/threshold.hpp"
#include "largo/icl/training/make_training_plan.hpp"
#include "largo/icl/training/task_threshold.hpp"
#include "largo/runtime/check.hpp"
#include "progress.hpp"

namespace largo {
namespace {

struct ThresholdOptions : ProblemOptions {
  double epsilon = 0;
  StartOptions start;
  std::string attention = "softmax";
  std::optional<std::int64_t> prompts;
};

// L(epsilon) of a problem whose risks are averages over draws, with a confidence interval.
void run_task_threshold(const ThresholdOptions& options, const InContextProblem& problem) {
  TrainingRequest request;
  request.function = "icl threshold";
  request.prefix = "--";
  request.other = problem;
  request.prompts = options.prompts;
  request.seed = options.seed;
  if (options.start.given()) request.start = options.start.read(moments_of(problem));
  const PlannedTraining planned = make_training_plan(request);
  const AttentionKind attention =
      options.attention == "linear" ? AttentionKind::linear : AttentionKind::softmax;
  TaskThreshold found;
  {
    ProgressLine line("icl threshold");
    int tried = 0;
    const auto show = [&](const TrainedExcess&) { line.show(std::min(0.95, ++tried / 15.0)); };
    found = task_threshold(planned.plan, attention, options.epsilon, show, options.execution());
  }
  const auto estimate = [](const Estimate& one) {
    return io::Json{{"value", one.value}, {"error", one.error}};
  };
  io::Json json{{"epsilon", options.epsilon}, {"L", io::number_json(found.L)}, {"risk", found.risk.value}};
  json["risk_error"] = found.risk.error;
  json["interval"] = {io::number_json(found.lower), io::number_json(found.upper)};
  json["limit"] = found.limit.value;
  json["limit_error"] = found.limit.error;
  json["attention"] = options.attention;
  json["average"] = name_of(found.average);
  json["prompts"] = planned.plan.prompts;
  json["tried"] = io::Json::array();
  for (const TrainedExcess& one : found.tried) {
    json["tried"].push_back(
        {{"L", io::number_json(one.L)}, {"risk", estimate(one.risk)}, {"excess", estimate(one.excess)}});
  }
  if (!planned.warnings.empty()) json["warnings"] = planned.warnings;
  if (options.json) return print_json(json);
  io::check_numbers(json);
  const double null = null_risk(planned.plan, options.execution());
  fmt::print("L = {:.15g}: trained risk {:.6g} ± {:.1g}, within {:g} of the limit {:.6g} ± {:.1g}\n", found.L,
             found.risk.value, found.risk.error, options.epsilon, shown_risk(found.limit.value, null),
             shown_risk(found.limit.error, null));
  fmt::print("with 95 % confidence between {:.15g} and {:.15g} tokens ({} sets of {} draws, {} prompts)\n",
             found.lower, found.upper, kThresholdSets, planned.plan.prompts, name_of(found.average));
  fmt::print("few draws train worse at short lengths, which makes L too long: compare with more --prompts\n");
  for (const std::string& warning : planned.warnings) fmt::print("warning: {}\n", warning);
}

void run_threshold(const ThresholdOptions& options) {
  check_positive("icl threshold", "--epsilon", options.epsilon);
  const std::optional<InContextProblem> other = options.other();
  const std::optional<RegressionProblem> same = other ? other->exact_regression() : std::nullopt;
  if (other && !same) return run_task_threshold(options, *other);
  if (options.prompts) {
    fail("icl threshold", "--prompts", fmt::format("{}", *options.prompts),
         "left out: this problem has exact risks, for which no prompts are drawn");
  }
  const RegressionProblem problem = same ? *same : options.problem();
  const InvariantPoint start = options.start.read(problem);
  const std::vector<std::string> notes = start_warnings(problem, start);
  ThresholdPlan plan;
  plan.attention = options.attention == "linear" ? AttentionKind::linear : AttentionKind::softmax;
  Threshold found;
  {
    ProgressLine line("icl threshold");
    int tried = 0;
    plan.trained = [&](double, double) { line.show(std::min(0.95, ++tried / 12.0)); };
    found = threshold(problem, options.epsilon, start, plan, options.execution());
  }
  io::Json json{{"epsilon", options.epsilon}, {"L", io::number_json(found.L)}, {"risk", found.risk}};
  json["limit"] = found.limit;
  json["attention"] = options.attention;
  if (found.before.L > 0)
    json["before"] = {{"L", io::number_json(found.before.L)}, {"risk", found.before.risk}};
  json["tried"] = io::Json::array();
  for (const TrainedRisk& one : found.tried) {
    json["tried"].push_back({{"L", io::number_json(one.L)}, {"risk", one.risk}});
  }
  if (!notes.empty()) json["warnings"] = notes;
  if (options.json) return print_json(json);
  io::check_numbers(json);
  fmt::print("L = {:.15g}: trained risk {:.10g}, within {:g} of the limit {:.10g}\n", found.L, found.risk,
             options.epsilon, shown_risk(found.limit, problem.null_risk()));
  if (found.before.L > 0)
    fmt::print("L = {:.15g}: trained risk {:.10g}\n", found.before.L, found.before.risk);
  for (const std::string& note : notes) fmt::print("warning: {}\n", note);
}

}  // namespace

void add_icl_threshold_command(CLI::App& icl) {
  const auto [command, options] =
      add_subcommand(icl, "threshold", run_threshold,
                     "Find the smallest prompt length L whose trained risk is within epsilon of the limit");
  add_problem_options(*command, *options, {"--precision"});
  command->add_option("--epsilon", options->epsilon, "Largest excess risk to accept, above 0")
      ->required()
      ->transform(finite_number(Sign::positive));
  command->add_option("--attention", options->attention, "Kind of attention: softmax or linear")
      ->check(one_of({"softmax", "linear"}))
      ->capture_default_str();
  command
      ->add_option(
          "--prompts", options->prompts,
          "Number of draws in each set to train on, where laws or the loss are not those of Gaussian "
          "regression (default: 4096)")
      ->transform(whole_number(2, kMostDraws));
  add_start_options(*command, options->start);
  constexpr const char* kFooter =
      "For Gaussian regression, training is gradient flow on the exact risk, until it ends. Both L and L - 1 "
      "are trained. An epsilon\n"
      "that needs more than {:g} tokens is refused, because training is then too slow to follow.\n\n"
      "For other laws and losses risks are averages over draws: L comes with an interval of 95 % "
      "confidence.\n\n"
      "Examples:\n"
      "  largo icl threshold --d 5 --epsilon 0.01\n"
      "  largo icl threshold --d 5 --epsilon 0.01 --attention linear --json\n"
      "  largo icl threshold --d 3 --prior-law laplace --epsilon 0.05";
  command->footer(fmt::format(kFooter, kLongestThreshold));
}

}  // namespace largo
