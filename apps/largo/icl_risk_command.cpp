// largo icl risk: the risks of given parameters, against L.
#include <cmath>
#include <memory>
#include <optional>

#include <fmt/core.h>

#include "arguments.hpp"
#include "exact/named_lengths.hpp"
#include "icl_options.hpp"
#include "largo/icl/prompt_risk.hpp"
#include "largo/icl/regression_flow.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/icl/regression_risk.hpp"
#include "largo/icl/regression_task_sampler.hpp"
#include "largo/icl/ridge_floor.hpp"
#include "largo/measures/named_law.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/runtime/check.hpp"
#include "progress.hpp"

namespace largo {
namespace {

constexpr const char* kIclRiskCommand = "icl risk";

struct RiskOptions : ProblemOptions {
  std::string L = "10,100,1000,1e6,inf";
  std::string A, U, V;
  std::optional<double> b;
  std::string covariates;
  std::int64_t nodes = 65536, prompts = 2000;
};

// Reads the parameters. If none are given, `note` says which ones are used.
RegressionParameters read_parameters(const RiskOptions& options, const RegressionProblem& problem,
                                     std::string& note) {
  const Eigen::Index d = problem.dimension();
  const bool merged = !options.U.empty() || !options.V.empty();
  const bool invariant = !options.A.empty() || options.b.has_value();
  if (merged && invariant) fail(kIclRiskCommand, "give either --A and --b, or --U and --V");
  if (merged) {
    if (options.U.empty() || options.V.empty()) fail(kIclRiskCommand, "--U and --V must be given together");
    const Matrix V = named_matrix("--V", options.V, std::nullopt, d + 1);
    return {named_matrix("--U", options.U, d + 1, d + 1), V.row(V.rows() - 1).transpose()};
  }
  InvariantPoint point;
  if (invariant) {
    if (options.A.empty() || !options.b) fail(kIclRiskCommand, "--A and --b must be given together");
    check_finite(kIclRiskCommand, "--b", *options.b);
    point = {named_matrix("--A", options.A, d, d), *options.b};
  } else {
    point = infinite_limit(problem);
    note = fmt::format(
        "parameters: the limit of infinite-prompt training{} (to choose others, "
        "give --A and --b, or --U and --V)",
        options.covariates.empty() ? "" : " for standard Gaussian covariates");
  }
  RegressionParameters parameters{Matrix::Zero(d + 1, d + 1), Vector::Zero(d + 1)};
  parameters.U.topLeftCorner(d, d) = point.A;
  parameters.v[d] = point.b;
  return parameters;
}

// The task with covariates and queries drawn from another law, which has its own covariance.
PromptTaskPtr task_with(const RiskOptions& options, const RegressionProblem& problem) {
  if (!problem.covariance.isIdentity(0) || !problem.query_covariance.isIdentity(0)) {
    fail(kIclRiskCommand, "--covariates sets the covariance itself: remove --cov, --query-cov and --preset");
  }
  return with_covariates(problem, named_law(options.covariates, problem.dimension(), options.arithmetic()));
}

io::Json to_json(const Estimate& estimate) { return {{"value", estimate.value}, {"error", estimate.error}}; }

// The Bayes risk, averaged over a law of lengths; none for lengths that are not whole, or for a law of too
// many.
std::optional<Estimate> average_floor(const RiskOptions& options, const RegressionProblem& problem,
                                      const LengthLaw& law) {
  constexpr std::size_t kMostFloors = 256;
  Estimate sum;
  if (law.lengths().size() > kMostFloors) return std::nullopt;
  for (std::size_t i = 0; i < law.lengths().size(); ++i) {
    const double L = law.lengths()[i], p = law.probabilities()[i];
    if (!std::isinf(L) && L != std::floor(L)) return std::nullopt;
    const RidgeFloor ridge = ridge_floor(problem, L, {.samples = 20000}, options.seed, options.execution());
    sum.value += p * ridge.value;
    sum.error +=
        p * ridge.standard_error;  // all lengths share their draws, so their errors are not independent
  }
  return sum;
}

// The row for Gaussian covariates. The risk is exact, except above 32 dimensions off the invariant set: there
// it is a quasi-Monte-Carlo average.
io::Json exact_row(const RiskOptions& options, const RegressionProblem& problem,
                   const RegressionParameters& parameters, const LengthLaw& L) {
  const TaskNodes nodes{options.nodes, options.seed};
  const auto risk = [&](AttentionKind kind) {
    return regression_risk(problem, kind, L, parameters, nodes, options.execution());
  };
  io::Json row{{"L", length_json(L)}};
  row["softmax"] = to_json(risk(AttentionKind::softmax));
  row["linear"] = {{"value", risk(AttentionKind::linear).value}};
  if (const auto ridge = average_floor(options, problem, L)) row["ridge"] = to_json(*ridge);
  return row;
}

io::Json sampled_row(const RiskOptions& options, const PromptTaskPtr& task, const RegressionProblem& problem,
                     const Vector& parameters, double L) {
  io::Json row{{"L", io::number_json(L)}};
  for (const AttentionKind kind : {AttentionKind::softmax, AttentionKind::linear}) {
    const PromptSetting setting{task, squared_loss(), L, kind, problem.score_scale, options.seed};
    const RiskPoint point = PromptRisk(setting, options.prompts, options.execution()).at(parameters);
    row[kind == AttentionKind::softmax ? "softmax" : "linear"] = {{"value", point.value},
                                                                  {"error", point.error}};
  }
  return row;
}

void print_rows(const io::Json& json) {
  std::size_t width = 10;  // laws of lengths have long names
  for (const io::Json& row : json["rows"]) {
    if (row["L"].is_string()) width = std::max(width, row["L"].get<std::string>().size());
  }
  fmt::print("{:>{}} {:>16} {:>9} {:>16} {:>16} {:>9}\n", "L", width, "softmax", "error", "linear", "ridge",
             "error");
  for (const io::Json& row : json["rows"]) {
    const auto number = [&](const char* who, const char* what, const char* format) {
      if (!row.contains(who) || !row[who].contains(what)) return std::string();
      return fmt::format(fmt::runtime(format), row[who][what].get<double>());
    };
    const std::string L =
        row["L"].is_string() ? row["L"].get<std::string>() : fmt::format("{:g}", row["L"].get<double>());
    fmt::print("{:>{}} {:>16} {:>9} {:>16} {:>16} {:>9}\n", L, width, number("softmax", "value", "{:.8g}"),
               number("softmax", "error", "{:.0e}"), number("linear", "value", "{:.8g}"),
               number("ridge", "value", "{:.8g}"), number("ridge", "error", "{:.0e}"));
  }
  fmt::print("risk of the infinite prompt {:.8g}, risk of predicting zero {:.8g}\n",
             json["limit"]["value"].get<double>(), json["null"]["value"].get<double>());
  if (json.contains("note")) fmt::print("{}\n", json["note"].get<std::string>());
}

void run_risk(const RiskOptions& options) {
  const RegressionProblem problem = options.problem();
  std::string note;
  const RegressionParameters parameters = read_parameters(options, problem, note);
  const bool other = !options.covariates.empty();
  const std::vector<LengthLaw> lengths =
      exact::parse_length_laws("--L", options.L, other ? io::LengthKind::kWhole : io::LengthKind::kReal);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  io::Json json;
  json["rows"] = io::Json::array();
  auto line = std::make_optional<ProgressLine>("icl risk");
  const auto add_row = [&](io::Json row) {
    json["rows"].push_back(std::move(row));
    line->show(static_cast<double>(json["rows"].size()) / static_cast<double>(lengths.size()));
  };
  if (other) {
    const PromptTaskPtr task = task_with(options, problem);
    const Vector values = to_vector(parameters);
    for (const LengthLaw& L : lengths) {
      if (!L.is_one_length())
        fail(kIclRiskCommand, "--L", L.name(), "one length, or a list, with --covariates");
      add_row(sampled_row(options, task, problem, values, L.longest()));
    }
    json["limit"] = sampled_row(options, task, problem, values, kInfinity)["softmax"];
    // ½ E <w, x_q>² with the law's own second moment
    const MeasurePtr law = named_law(options.covariates, problem.dimension(), options.arithmetic());
    const Matrix moment = law->covariance() + law->mean() * law->mean().transpose();
    json["null"] = {{"value", (problem.prior_covariance * moment).trace() / 2}};
    json["covariates"] = options.covariates;
    json["prompts"] = options.prompts;
  } else {
    for (const LengthLaw& L : lengths) add_row(exact_row(options, problem, parameters, L));
    json["limit"] = to_json(regression_risk(problem, AttentionKind::softmax, kInfinity, parameters));
    json["null"] = {{"value", problem.null_risk()}};
  }
  line.reset();
  if (!note.empty()) json["note"] = note;
  if (options.json) return print_json(json);
  io::check_numbers(json);
  print_rows(json);
}

}  // namespace

void add_icl_risk_command(CLI::App& icl) {
  auto options = std::make_shared<RiskOptions>();
  CLI::App* command = icl.add_subcommand(
      "risk", "Exact risks of softmax and linear attention at every prompt length L, next to the Bayes risk");
  add_problem_options(*command, *options);
  command
      ->add_option("--L", options->L,
                   "Prompt lengths, 1 to 1e300 or inf, which need not be whole; or laws of lengths: "
                   "uniform:1:100, geometric:50, 10=0.5,100=0.5")
      ->check(check_given, "")
      ->capture_default_str();
  command->add_option("--A", options->A, "Score matrix on the invariant set, d x d; needs --b")
      ->check(check_given, "");
  command->add_option("--b", options->b, "Value weight on the invariant set; needs --A")
      ->transform(finite_number());
  command->add_option("--U", options->U, "Any score matrix, (d+1) x (d+1); needs --V")
      ->check(check_given, "");
  command->add_option("--V", options->V, "Value matrix, of which only the last row matters; needs --U")
      ->check(check_given, "");
  command
      ->add_option(
          "--covariates", options->covariates,
          "Another law of the covariates and queries (rademacher, uniform, sphere, …); risks are sampled")
      ->check(check_given, "");
  command->add_option("--prompts", options->prompts, "Number of prompts to sample with --covariates")
      ->transform(whole_number(2, std::uint64_t{1} << 30))
      ->capture_default_str();
  command
      ->add_option("--nodes", options->nodes,
                   "Number of tasks to average over, with --U and --V, if d is above 32; rounded up to a "
                   "power of two, at least 512")
      ->transform(whole_number(8, std::uint64_t{1} << 24))
      ->capture_default_str();
  command->get_option("--prompts")->needs("--covariates");
  command->get_option("--nodes")->needs("--U");
  command->footer(
      "The risk is half the mean squared error. The column ridge is the Bayes risk: no predictor does\n"
      "better. If it has no closed form, it is sampled, and its error is a standard error.\n\n"
      "Examples:\n"
      "  largo icl risk --d 5 --L 10,100,1e6,inf --A 0.43*identity --b 2\n"
      "  largo icl risk --preset published --L 1e1:1e6:6\n"
      "  largo icl risk --d 3 --covariates rademacher --A identity --b 1 --L 10,100,1000");
  command->callback([options] { run_risk(*options); });
}

}  // namespace largo
