// largo icl assumptions: the hypotheses about in-context regression, averaged over its tasks.
#include <string>

#include <fmt/core.h>

#include "arguments.hpp"
#include "assumptions_report.hpp"
#include "icl_options.hpp"
#include "largo/icl/law_regression.hpp"
#include "largo/icl/regression_flow.hpp"
#include "largo/icl/task_assumptions.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/runtime/check.hpp"
#include "output_files.hpp"

namespace largo {
namespace {

constexpr const char* kIclAssumptions = "icl assumptions";

struct TaskAssumptionsOptions : ProblemOptions {
  std::string A, U;
  OutputFiles outputs;
};

// U, or A in its corner; without either, the A that training on infinite prompts ends with.
Matrix read_task_scores(const TaskAssumptionsOptions& options, Eigen::Index d, Eigen::Index size) {
  if (!options.A.empty() && !options.U.empty()) fail(kIclAssumptions, "give either --A or --U");
  if (!options.U.empty()) return named_matrix("--U", options.U, size, size);
  Matrix U = Matrix::Zero(size, size);
  if (!options.A.empty()) {
    U.topLeftCorner(d, d) = named_matrix("--A", options.A, d, d);
  } else {
    if (!options.task.empty() || !options.laws.empty())
      fail(kIclAssumptions, "give --A or --U: only Gaussian regression has a limit to take them from");
    U.topLeftCorner(d, d) = infinite_limit(options.problem()).A;
  }
  return U;
}

void run_task_assumptions(const TaskAssumptionsOptions& options) {
  const InputNames inputs{
      .laws = {options.laws.covariates, options.laws.queries, options.laws.prior, options.laws.noise},
      .matrices = {options.covariance, options.query_covariance, options.prior, options.A, options.U,
                   options.task}};
  options.outputs.check(kIclAssumptions, inputs);
  AssumptionsReport report;
  Eigen::Index d = 0;
  if (const auto other = options.other()) {
    const auto* regression = dynamic_cast<const LawRegression*>(other->task.get());
    if (regression == nullptr)
      fail(kIclAssumptions, "--task", fmt::format("'{}'", options.task),
           "a regression, whose tokens are linear in the task; for others give the law of the tokens of one "
           "task to largo assumptions --law");
    d = regression->laws().covariates->dimension();
    report.assumptions =
        task_assumptions(*other, read_task_scores(options, d, regression->token_dimension()));
  } else {
    const RegressionProblem problem = options.problem();
    d = problem.dimension();
    report.assumptions = task_assumptions(problem, read_task_scores(options, d, d + 1));
  }
  const std::string scores = !options.U.empty()   ? fmt::format("U = {}", options.U)
                             : !options.A.empty() ? fmt::format("A = {}", options.A)
                                                  : "A from the limit of infinite-prompt training";
  report.heading = fmt::format("in-context regression, d = {}, {}", d, scores);
  report.subject = {{"d", d}, {"scores", scores}};
  print_assumptions(kIclAssumptions, report, options.json, options.outputs);
}

}  // namespace

void add_icl_assumptions_command(CLI::App& icl) {
  const auto [command, options] =
      add_subcommand(icl, "assumptions", run_task_assumptions,
                     "Check the hypotheses about a regression: what has an average over tasks and queries");
  add_problem_options(*command, *options, {"--seed", "--threads", "--precision"});
  command->remove_option(command->get_option("--sink"));  // the hypotheses are about tokens and tasks
  add_text_option(*command, "--A", options->A,
                  "Score matrix on the invariant set, d x d (default: the limit's)");
  add_text_option(*command, "--U", options->U, "Any score matrix, (d + outputs) x (d + outputs)");
  options->outputs.add_csv_option(*command, "the table");
  command->footer(
      "Each assumption has its value (exact, or a bound), whether it holds, and what needs it\n"
      "(docs/assumptions.md).\n\n"
      "Examples:\n"
      "  largo icl assumptions --d 5 --A 0.3*identity\n"
      "  largo icl assumptions --d 2 --noise 0.1 --U random:3 --json");
}

}  // namespace largo
