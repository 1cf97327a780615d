// largo icl risk: the risks of given parameters, against L.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include <fmt/core.h>

#include "arguments.hpp"
#include "exact/named_lengths.hpp"
#include "icl_options.hpp"
#include "largo/icl/bayes_risk.hpp"
#include "largo/icl/prompt_risk.hpp"
#include "largo/icl/regression_flow.hpp"
#include "largo/icl/regression_risk.hpp"
#include "largo/icl/ridge_floor.hpp"
#include "largo/icl/training/make_training_plan.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/runtime/check.hpp"
#include "progress.hpp"

namespace largo {
namespace {

constexpr const char* kIclRiskCommand = "icl risk";
constexpr std::int64_t kRiskDraws = 2000;

struct RiskOptions : ProblemOptions {
  std::string L = "10,100,1000,1e6,inf";
  std::string A, U, V;
  std::optional<double> b;
  std::int64_t nodes = 65536;
  std::optional<std::int64_t> prompts;
};

// Matrices as the options give them: U and V, or A and b. If none are given, those that the regression with
// the same second moments ends with on infinite prompts, and `note` says so.
struct HeadText {
  Matrix U, V;
};
HeadText read_head(const RiskOptions& options, const RegressionProblem& problem, Eigen::Index outputs,
                   std::string& note) {
  const Eigen::Index d = problem.dimension(), size = d + outputs;
  const bool merged = !options.U.empty() || !options.V.empty();
  const bool invariant = !options.A.empty() || options.b.has_value();
  if (merged && invariant) fail(kIclRiskCommand, "give either --A and --b, or --U and --V");
  if (merged) {
    if (options.U.empty() || options.V.empty()) fail(kIclRiskCommand, "--U and --V must be given together");
    const Matrix V = named_matrix("--V", options.V, std::nullopt, size);
    if (V.rows() < outputs) {
      fail(kIclRiskCommand, "--V", fmt::format("a matrix of {} rows", V.rows()),
           fmt::format("one of at least {} rows", outputs));
    }
    return {named_matrix("--U", options.U, size, size), V.bottomRows(outputs)};
  }
  InvariantPoint point;
  if (invariant) {
    if (options.A.empty() || !options.b) fail(kIclRiskCommand, "--A and --b must be given together");
    check_finite(kIclRiskCommand, "--b", *options.b);
    point = {named_matrix("--A", options.A, d, d), *options.b};
  } else {
    point = infinite_limit(problem);
    const bool other = !options.task.empty() || !options.laws.empty();
    note = fmt::format(
        "parameters: the limit of infinite-prompt training{} (to choose others, "
        "give --A and --b, or --U and --V)",
        other ? " of the Gaussian regression with the same covariance of the covariates" : "");
  }
  HeadText head{Matrix::Zero(size, size), Matrix::Zero(outputs, size)};
  head.U.topLeftCorner(d, d) = point.A;
  head.V.rightCols(outputs).diagonal().setConstant(point.b);
  return head;
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

// The number of prompts to draw for a learner, which sees all tokens of each, so many at most; none for
// lengths that are not whole, or too long.
constexpr double kMomentTokens = 2e7, kPosteriorTokens = 2e5;
std::int64_t learner_draws(const LengthLaw& L, std::int64_t prompts, double most_tokens) {
  constexpr double kFewestPrompts = 100;
  if (L.is_infinite()) return prompts;
  if (L.is_one_length() && L.longest() != std::floor(L.longest())) return 0;
  const double most = most_tokens / L.mean();
  return most < kFewestPrompts ? 0 : std::min(prompts, static_cast<std::int64_t>(most));
}

// The rows for any other problem: averages over draws.
io::Json drawn_row(const RiskOptions& options, const InContextProblem& problem, const Vector& parameters,
                   const LengthLaw& L) {
  const std::int64_t prompts = options.prompts.value_or(kRiskDraws);
  io::Json row{{"L", length_json(L)}};
  PromptSetting setting{problem.task,           problem.loss,        L,
                        AttentionKind::softmax, problem.score_scale, options.seed};
  for (const AttentionKind kind : {AttentionKind::softmax, AttentionKind::linear}) {
    setting.attention = kind;
    const PromptRisk risk(setting, prompts, options.execution(), 0);
    const RiskPoint point = risk.at(parameters);
    row[name_of(kind)] = {
        {"value", point.value}, {"error", point.error}, {"average", name_of(risk.average())}};
  }
  const std::int64_t draws = learner_draws(L, prompts, kMomentTokens);
  if (draws == 0) return row;
  if (const auto learner = learner_risk(setting, draws, options.execution())) {
    row[problem.task->learner()] = to_json(*learner);
  }
  const std::int64_t posteriors = learner_draws(L, prompts, kPosteriorTokens);
  if (posteriors == 0) return row;
  if (const auto bayes = bayes_risk(setting, posteriors, options.execution())) {
    row["bayes"] = {{"value", bayes->value},   {"error", bayes->error}, {"sampled", bayes->is_sampled},
                    {"excess", bayes->excess}, {"poor", bayes->poor},   {"prompts", bayes->prompts}};
  }
  return row;
}

// How the numbers in the column bayes were made, and what they do not say.
void print_bayes(const io::Json& rows) {
  double excess = 0, poor = 0;
  bool is_sampled = false;
  for (const io::Json& row : rows) {
    if (!row.contains("bayes")) continue;
    const io::Json& bayes = row["bayes"];
    is_sampled = is_sampled || bayes["sampled"].get<bool>();
    const double value = bayes["value"].get<double>(), error = bayes["error"].get<double>();
    if (value > 0) excess = std::max(excess, bayes["excess"].get<double>() / value);
    poor = std::max(poor, bayes["poor"].get<double>());
    const double ridge = row["ridge"]["value"].get<double>(), spread = row["ridge"]["error"].get<double>();
    if (value > ridge + 2 * std::hypot(error, spread)) {
      fmt::print(
          "L = {}: the Bayes risk is at most that of ridge; the samples of the posterior miss part of it\n",
          row["L"].is_string() ? row["L"].get<std::string>() : fmt::format("{:g}", row["L"].get<double>()));
    }
  }
  if (!is_sampled) {
    fmt::print("bayes: the Bayes predictor, with sums over all tasks\n");
  } else if (excess < 1e-4) {
    fmt::print(
        "bayes: the Bayes predictor, with a sampled posterior; the noise of the samples adds little\n");
  } else {
    fmt::print(
        "bayes: the Bayes predictor, with a sampled posterior, whose noise adds about {:.1g} % at most\n",
        100 * excess);
  }
  if (poor > 0) {
    fmt::print(
        "for up to {:.1f} % of the prompts the posterior is sampled poorly, and the Bayes risk may be "
        "lower\n",
        100 * poor);
  }
}

void print_rows(const io::Json& json) {
  std::size_t width = 10;  // laws of lengths have long names
  for (const io::Json& row : json["rows"]) {
    if (row["L"].is_string()) width = std::max(width, row["L"].get<std::string>().size());
  }
  const std::string learner = json.value("learner", "ridge");
  const bool has_bayes =
      learner != "bayes" && std::any_of(json["rows"].begin(), json["rows"].end(),
                                        [](const io::Json& row) { return row.contains("bayes"); });
  fmt::print("{:>{}} {:>16} {:>9} {:>16} {:>16} {:>9}", "L", width, "softmax", "error", "linear", learner,
             "error");
  fmt::print("{}\n", has_bayes ? fmt::format(" {:>16} {:>9}", "bayes", "error") : "");
  for (const io::Json& row : json["rows"]) {
    const auto number = [&](const char* who, const char* what, const char* format) {
      if (!row.contains(who) || !row[who].contains(what)) return std::string();
      return fmt::format(fmt::runtime(format), row[who][what].get<double>());
    };
    const std::string L =
        row["L"].is_string() ? row["L"].get<std::string>() : fmt::format("{:g}", row["L"].get<double>());
    fmt::print("{:>{}} {:>16} {:>9} {:>16} {:>16} {:>9}", L, width, number("softmax", "value", "{:.8g}"),
               number("softmax", "error", "{:.0e}"), number("linear", "value", "{:.8g}"),
               number(learner.c_str(), "value", "{:.8g}"), number(learner.c_str(), "error", "{:.0e}"));
    fmt::print("{}\n", row.contains("bayes") && has_bayes
                           ? fmt::format(" {:>16} {:>9}", number("bayes", "value", "{:.8g}"),
                                         number("bayes", "error", "{:.0e}"))
                           : "");
  }
  fmt::print("risk of the infinite prompt {:.8g}, risk of predicting zero {:.8g}\n",
             json["limit"]["value"].get<double>(), json["null"]["value"].get<double>());
  if (has_bayes) print_bayes(json["rows"]);
  if (json.contains("note")) fmt::print("{}\n", json["note"].get<std::string>());
}

// What every row shares: fills json["limit"], json["null"] and others, and returns a function for the rows.
using RowOf = std::function<io::Json(const LengthLaw& L)>;

RowOf exact_rows(const RiskOptions& options, const RegressionProblem& problem, std::string& note,
                 io::Json& json) {
  const HeadText head = read_head(options, problem, 1, note);
  const RegressionParameters parameters{head.U, head.V.row(0).transpose()};
  json["limit"] = to_json(regression_risk(problem, AttentionKind::softmax, kInfinitePrompt, parameters));
  json["null"] = {{"value", problem.null_risk()}};
  return [&options, problem, parameters](const LengthLaw& L) {
    return exact_row(options, problem, parameters, L);
  };
}

RowOf drawn_rows(const RiskOptions& options, const InContextProblem& problem, std::string& note,
                 io::Json& json) {
  const HeadText head = read_head(options, moments_of(problem), problem.task->output_dimension(), note);
  Vector parameters(head.U.size() + head.V.size());
  parameters << head.U.reshaped(), head.V.reshaped<Eigen::RowMajor>();
  const PromptSetting setting{problem.task,           problem.loss,        kInfinitePrompt,
                              AttentionKind::softmax, problem.score_scale, options.seed};
  const std::int64_t prompts = options.prompts.value_or(kRiskDraws);
  json["limit"] = drawn_row(options, problem, parameters, kInfinitePrompt)["softmax"];
  json["null"] = to_json(null_risk(setting, prompts, options.execution()));
  if (!options.laws.covariates.empty()) json["covariates"] = options.laws.covariates;
  json["prompts"] = prompts;
  if (!problem.task->learner().empty()) json["learner"] = problem.task->learner();
  return [&options, problem, parameters](const LengthLaw& L) {
    return drawn_row(options, problem, parameters, L);
  };
}

void run_risk(const RiskOptions& options) {
  std::string note;
  const std::optional<InContextProblem> other = options.other();
  const std::optional<RegressionProblem> exact = other ? other->exact_regression() : options.problem();
  if (exact && options.prompts) {
    fail(kIclRiskCommand, "--prompts", fmt::format("{}", *options.prompts),
         "left out: this problem has exact risks, for which no prompts are drawn");
  }
  const std::vector<LengthLaw> lengths = exact::parse_length_laws("--L", options.L, io::LengthKind::kReal);
  io::Json json;
  const RowOf row = exact ? exact_rows(options, *exact, note, json) : drawn_rows(options, *other, note, json);
  json["rows"] = io::Json::array();
  {
    ProgressLine line("icl risk");
    for (const LengthLaw& L : lengths) {
      json["rows"].push_back(row(L));
      line.show(static_cast<double>(json["rows"].size()) / static_cast<double>(lengths.size()));
    }
  }
  if (!note.empty()) json["note"] = note;
  if (options.json) return print_json(json);
  io::check_numbers(json);
  print_rows(json);
}

}  // namespace

void add_icl_risk_command(CLI::App& icl) {
  const auto [command, options] = add_subcommand(
      icl, "risk", run_risk,
      "Risks of softmax and linear attention at every prompt length L, next to the best known learner: exact "
      "for Gaussian regression, averages over draws for other problems");
  add_problem_options(*command, *options);
  add_text_option(*command, "--L", options->L,
                  "Prompt lengths, 1 to 1e300 or inf, which need not be whole; or laws of lengths: "
                  "uniform:1:100, geometric:50, 10=0.5,100=0.5")
      ->capture_default_str();
  add_text_option(*command, "--A", options->A, "Score matrix on the invariant set, d x d; needs --b");
  command->add_option("--b", options->b, "Value weight on the invariant set; needs --A")
      ->transform(finite_number());
  add_text_option(*command, "--U", options->U, "Any score matrix, (d+1) x (d+1); needs --V");
  add_text_option(
      *command, "--V", options->V,
      "Value matrix, of which only the last row (with m outputs, the last m rows) matters; needs --U");
  command
      ->add_option("--prompts", options->prompts,
                   fmt::format("Number of draws to average over, where laws or the loss are not those of "
                               "Gaussian regression (default: {})",
                               kRiskDraws))
      ->transform(whole_number(2, kMostDraws));
  command
      ->add_option("--nodes", options->nodes,
                   "Number of tasks to average over, with --U and --V, if d is above 32; rounded up to a "
                   "power of two, at least 512")
      ->transform(whole_number(8, std::uint64_t{1} << 24))
      ->capture_default_str();
  command->get_option("--nodes")->needs("--U");
  command->footer(
      "For Gaussian regression the risk is half the mean squared error, and the column ridge is the Bayes\n"
      "risk: no predictor does better. If it has no closed form, it is sampled, and its error is a standard\n"
      "error. For other laws and losses all risks are averages over draws with standard errors. Then ridge "
      "is\n"
      "a learner to compare with, and bayes the Bayes predictor where it is known or its posterior can be\n"
      "sampled: one output, and densities of prior and noise. Its risk is at least the Bayes risk; with "
      "--json\n"
      "excess estimates by how much.\n\n"
      "Examples:\n"
      "  largo icl risk --d 5 --L 10,100,1e6,inf --A 0.43*identity --b 2\n"
      "  largo icl risk --preset published --L 1e1:1e6:6\n"
      "  largo icl risk --d 3 --covariates rademacher --A identity --b 1 --L 10,100,1000\n"
      "  largo icl risk --d 5 --prior-law laplace --noise 0.1 --L 10,100,1e6,inf\n"
      "  largo icl risk --task examples/tasks/logistic_classification.toml --L 10,100,inf");
}

}  // namespace largo
