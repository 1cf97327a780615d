// largo icl threshold: the smallest prompt length whose trained risk is within epsilon of the limit.
#include <memory>

#include <fmt/core.h>

#include "arguments.hpp"
#include "icl_options.hpp"
#include "largo/icl/threshold.hpp"
#include "largo/icl/training/make_training_plan.hpp"
#include "largo/runtime/check.hpp"
#include "progress.hpp"

namespace largo {
namespace {

struct ThresholdOptions : ProblemOptions {
  double epsilon = 0;
  StartOptions start;
  std::string attention = "softmax";
};

void run_threshold(const ThresholdOptions& options) {
  check_positive("icl threshold", "--epsilon", options.epsilon);
  const RegressionProblem problem = options.problem();
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
  auto options = std::make_shared<ThresholdOptions>();
  CLI::App* command = icl.add_subcommand(
      "threshold", "Find the smallest prompt length L whose trained risk is within epsilon of the limit");
  add_problem_options(*command, *options, {"--seed", "--precision"});
  command->add_option("--epsilon", options->epsilon, "Largest excess risk to accept, above 0")
      ->required()
      ->transform(finite_number(Sign::positive));
  command->add_option("--attention", options->attention, "Kind of attention: softmax or linear")
      ->check(one_of({"softmax", "linear"}))
      ->capture_default_str();
  add_start_options(*command, options->start);
  constexpr const char* kFooter =
      "Training is gradient flow on the exact risk, until it ends. Both L and L - 1 are trained. An epsilon\n"
      "that needs more than {:g} tokens is refused, because training is then too slow to follow.\n\n"
      "Examples:\n"
      "  largo icl threshold --d 5 --epsilon 0.01\n"
      "  largo icl threshold --d 5 --epsilon 0.01 --attention linear --json";
  command->footer(fmt::format(kFooter, kLongestThreshold));
  command->callback([options] { run_threshold(*options); });
}

}  // namespace largo
