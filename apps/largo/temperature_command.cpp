// largo temperature: laws of temperature side by side as prompts grow, or the factor that keeps a target.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "arguments.hpp"
#include "command.hpp"
#include "exact/named_class.hpp"
#include "io/formula.hpp"
#include "io/parse_numbers.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/exact/temperature.hpp"
#include "largo/measures/named_law.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/runtime/check.hpp"
#include "output_files.hpp"
#include "temperature_report.hpp"

namespace largo {
namespace {

constexpr const char* kTemperatureCommand = "temperature";
constexpr double kMostRows = 1e5;

struct TemperatureOptions : CommonOptions {
  std::string s, law, U = "identity", V = "identity", query, L, needle, target;
  OutputFiles outputs;
  std::optional<std::ptrdiff_t> dimension;
  std::vector<std::string> sinks, classes, betas;
};

struct Target {
  WeightStatistic statistic;
  io::Formula value;
};

struct TemperaturePlan {
  CrowdedPrompt prompt;
  Matrix V;
  std::vector<double> lengths;
  std::vector<TemperatureLaw> laws;
  std::optional<Target> target;  // in place of laws
};

// The crowd of scores: normal ones of spread s, or those of a law at a query.
void read_crowd(const TemperatureOptions& options, TemperaturePlan& plan) {
  if (options.s.empty() == options.law.empty())
    fail(kTemperatureCommand, "give either --s, or --law and --query (for example --s 1)");
  if (!options.s.empty()) {
    if (!options.query.empty() || options.dimension || options.U != "identity" || options.V != "identity")
      fail(kTemperatureCommand, "--query, --d, --U and --V go with --law, not with --s");
    const double s = io::parse_number("--s", options.s);
    if (!(s > 0 && s <= kLargestScoreSpread))
      fail(kTemperatureCommand, "--s", s, fmt::format("above 0 and at most {:g}", kLargestScoreSpread));
    plan.prompt = normal_crowd(s);
    plan.V = Matrix::Identity(1, 1);
    return;
  }
  if (options.query.empty()) fail(kTemperatureCommand, "--query is missing: scores are <U query, token>");
  plan.prompt.crowd = named_law(options.law, options.dimension);
  const std::ptrdiff_t d = plan.prompt.crowd->dimension();
  const Matrix U = named_matrix("--U", options.U, d);
  const RowMatrix queries = read_queries(kTemperatureCommand, options.query, U.cols());
  if (queries.rows() != 1)
    fail(kTemperatureCommand, "number of queries", static_cast<double>(queries.rows()), "1");
  plan.prompt.direction = U * queries.row(0).transpose();
  plan.V = named_matrix("--V", options.V, std::nullopt, d);
}

TokenClass read_token(const char* option, const std::string& text) {
  const double score = io::parse_number(option, text);
  if (!(std::abs(score) <= kLargestShift)) fail(kTemperatureCommand, option, score, "between -1e6 and 1e6");
  return {1, score, 0};
}

// Names and formulas, separated by commas that are not within parentheses.
std::vector<TemperatureLaw> read_laws(const std::vector<std::string>& texts) {
  std::vector<TemperatureLaw> laws;
  for (const std::string& text : texts) {
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      if (i < text.size() && text[i] == '(') ++depth;
      if (i < text.size() && text[i] == ')') --depth;
      if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
      TemperatureLaw law("--beta", std::string_view(text).substr(begin, i - begin));
      const auto same = [&](const TemperatureLaw& other) { return other.name() == law.name(); };
      if (std::any_of(laws.begin(), laws.end(), same))
        fail(kTemperatureCommand, fmt::format("--beta has '{}' twice", law.name()));
      laws.push_back(std::move(law));
      begin = i + 1;
    }
  }
  return laws;
}

Target read_target(const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign == std::string::npos) {
    fail(kTemperatureCommand, "--target", fmt::format("'{}'", text),
         "effective_tokens=VALUE, entropy=VALUE or needle_weight=VALUE, where VALUE may be a formula in L");
  }
  return {weight_statistic("--target", text.substr(0, sign)),
          io::Formula("--target", std::string_view(text).substr(sign + 1), "L")};
}

TemperaturePlan read_plan(const TemperatureOptions& options) {
  TemperaturePlan plan;
  read_crowd(options, plan);
  if (!options.needle.empty()) plan.prompt.needle = read_token("--needle", options.needle);
  for (const std::string& text : options.sinks) plan.prompt.planted.push_back(read_token("--sink", text));
  for (const std::string& text : options.classes)
    plan.prompt.planted.push_back(exact::named_class(kTemperatureCommand, "--class", text));
  if (plan.prompt.planted.size() + 2 > kMostClasses)
    fail(kTemperatureCommand, "number of sinks and classes", static_cast<double>(plan.prompt.planted.size()),
         fmt::format("at most {}", kMostClasses - 2));
  plan.lengths = io::parse_lengths("--L", options.L, io::LengthKind::kReal);
  std::sort(plan.lengths.begin(), plan.lengths.end());
  plan.lengths.erase(std::unique(plan.lengths.begin(), plan.lengths.end()), plan.lengths.end());
  for (const double L : plan.lengths) {
    if (!(L <= kLargestL))
      fail(kTemperatureCommand, "--L", L, "at most 1e300: the weights of an infinite crowd are all zero");
  }
  if (!options.target.empty() && !options.betas.empty())
    fail(kTemperatureCommand, "give either --beta or --target");
  if (!options.target.empty())
    plan.target = read_target(options.target);
  else
    plan.laws = options.betas.empty() ? default_temperature_laws() : read_laws(options.betas);
  const double rows =
      static_cast<double>(plan.lengths.size()) * static_cast<double>(plan.target ? 1 : plan.laws.size());
  if (rows > kMostRows) fail(kTemperatureCommand, "number of rows", rows, "at most 1e5");
  return plan;
}

void run_temperature(const TemperatureOptions& options) {
  const TemperaturePlan plan = read_plan(options);
  InputNames inputs{.laws = {options.law}, .matrices = {options.U, options.V, options.query}};
  for (const TemperatureLaw& law : plan.laws) {
    if (!law.file().empty()) inputs.files.push_back(law.file());
  }
  options.outputs.check(kTemperatureCommand, inputs);

  TemperatureReport report{.crowd = options.s.empty()
                                        ? fmt::format("{} at query {}", options.law, options.query)
                                        : fmt::format("normal scores of spread {}", options.s),
                           .needle = options.needle,
                           .has_planted = !plan.prompt.planted.empty()};
  if (!plan.target) {
    report.rows = temperature_rows(plan.prompt, plan.V, plan.lengths, plan.laws, options.execution());
  } else {
    std::vector<double> targets;
    for (const double L : plan.lengths) targets.push_back(plan.target->value(L));
    report.rows =
        target_rows(plan.prompt, plan.V, plan.lengths, plan.target->statistic, targets, options.execution());
    const std::size_t count = report.rows.size();
    if (count > 1) report.growth = temperature_growth(report.rows[count - 2], report.rows[count - 1]);
  }
  show_report(kTemperatureCommand, report, options);
}

}  // namespace

void add_temperature_command(CLI::App& app) {
  const auto [command, options] = add_subcommand(
      app, "temperature", run_temperature,
      "Compare factors beta(L) on the scores as prompts grow, or find the one that keeps a target");
  add_text_option(*command, "--s", options->s,
                  "Standard deviation of the scores of the crowd, which are normal");
  add_text_option(*command, "--law", options->law,
                  "Token law of the crowd, as in largo attention; needs --query");
  add_dimension_option(*command, options->dimension);
  add_text_option(*command, "--U", options->U, "Score matrix, d x e: scores are <U query, token>")
      ->capture_default_str();
  add_text_option(*command, "--V", options->V, "Value matrix, o x d, for the output error")
      ->capture_default_str();
  add_text_option(*command, "--query", options->query, "The query, such as 1,0,-1");
  command
      ->add_option("--L", options->L,
                   "Numbers of tokens in the crowd, 1 to 1e300: 16,64,256 or 1e1:1e6:11 (log-spaced)")
      ->required();
  add_text_option(*command, "--needle", options->needle, "Score of a token that is to be found");
  command->add_option("--sink", options->sinks, "Score of a token beside the crowd; may be repeated")
      ->take_all();
  command
      ->add_option("--class", options->classes,
                   "COUNT:SHIFT:SPREAD, tokens beside the crowd whose scores are normal; may be repeated")
      ->take_all();
  command
      ->add_option("--beta", options->betas,
                   fmt::format("Factors to compare, separated by commas: {}, each with a factor if you like "
                               "(0.5*log)\n(default: constant,sqrt-log,log,log-squared)",
                               temperature_names()))
      ->take_all();
  add_text_option(
      *command, "--target", options->target,
      "Find beta for effective_tokens=VALUE, entropy=VALUE or needle_weight=VALUE; VALUE may be a "
      "formula in L");
  options->outputs.add_csv_and_plot_options(*command, "all rows");
  add_common_options(*command, *options, {"--seed", "--precision"});
  command->footer(
      "All scores are multiplied by beta(L), those of the needle and of sinks too. The needle and the sinks\n"
      "are beside the L tokens of the crowd. Nothing is sampled. The output error is that of the crowd\n"
      "alone, |T[prompt] - T[law]|^2 on average; with --s, tokens and values are standard normal numbers.\n"
      "YaRN multiplies queries and keys by 0.1 ln(L/N) + 1, so yarn:N multiplies scores by its square; N is\n"
      "the length in training. LongRoPE multiplies both by sqrt(1 + ln(L/N)/ln(N)). A table FILE.csv has\n"
      "columns L and beta. Formulas have + - * / ^, ln, sqrt, exp, floor, min and max.\n\n"
      "Examples:\n"
      "  largo temperature --s 1 --L 1e2:1e6:5 --needle 8\n"
      "  largo temperature --s 1 --L 4096:4e6:4 --beta "
      "\"constant,yarn:4096,longrope:4096,1+0.1*ln(L/4096)\"\n"
      "  largo temperature --s 1 --L 1e2:1e12:6 --target effective_tokens=10\n"
      "  largo temperature --law sphere --d 8 --query 3,0,0,0,0,0,0,0 --L 1e2:1e6:5 "
      "--beta constant,sqrt-log,log");
}

}  // namespace largo
