// largo temperature: laws of temperature side by side as prompts grow, or the factor that keeps a target.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "arguments.hpp"
#include "command.hpp"
#include "io/csv.hpp"
#include "io/formula.hpp"
#include "io/parse_numbers.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/exact/temperature.hpp"
#include "largo/measures/named_law.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/report/figure.hpp"
#include "largo/runtime/check.hpp"
#include "output.hpp"
#include "output_files.hpp"

namespace largo {
namespace {

constexpr const char* kTemperatureCommand = "temperature";
constexpr double kMostRows = 1e5;

struct TemperatureOptions : CommonOptions {
  std::string s, law, U = "identity", V = "identity", query, L, needle, target, csv, plot;
  std::optional<std::ptrdiff_t> dimension;
  std::vector<std::string> sinks, classes, betas;
};

struct TemperaturePlan {
  CrowdedPrompt prompt;
  Matrix V;
  std::vector<double> lengths;
  std::vector<TemperatureLaw> laws;
};

struct Target {
  WeightStatistic statistic;
  io::Formula value;
};

// The crowd of scores: normal ones of spread s, or those of a law at a query.
void read_crowd(const TemperatureOptions& options, TemperaturePlan& plan) {
  if (options.s.empty() == options.law.empty())
    fail(kTemperatureCommand, "give either --s, or --law and --query (for example --s 1)");
  if (!options.s.empty()) {
    if (!options.query.empty() || options.dimension)
      fail(kTemperatureCommand, "--query and --d go with --law, not with --s");
    const double s = io::parse_number("--s", options.s);
    if (!(s > 0 && s <= 1e6)) fail(kTemperatureCommand, "--s", s, "above 0 and at most 1e6");
    plan.prompt.crowd = named_law("gaussian", 1)->score_law(Vector::Constant(1, s));
    plan.V = Matrix::Identity(1, 1);
    return;
  }
  if (options.query.empty()) fail(kTemperatureCommand, "--query is missing: scores are <U query, token>");
  const MeasurePtr law = named_law(options.law, options.dimension);
  const std::ptrdiff_t d = law->dimension();
  const Matrix U = named_matrix("--U", options.U, d);
  const RowMatrix queries = read_queries(kTemperatureCommand, options.query, U.cols());
  if (queries.rows() != 1)
    fail(kTemperatureCommand, "number of queries", static_cast<double>(queries.rows()), "1");
  plan.prompt.crowd = law->score_law(U * queries.row(0).transpose());
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
  const std::string name = text.substr(0, sign);
  for (const WeightStatistic one :
       {WeightStatistic::effective_tokens, WeightStatistic::entropy, WeightStatistic::needle_weight}) {
    if (name == to_string(one) && sign != std::string::npos)
      return {one, io::Formula("--target", std::string_view(text).substr(sign + 1), "L")};
  }
  fail(kTemperatureCommand, "--target", fmt::format("'{}'", text),
       "effective_tokens=VALUE, entropy=VALUE or needle_weight=VALUE, where VALUE may be a formula in L");
}

TemperaturePlan read_plan(const TemperatureOptions& options) {
  TemperaturePlan plan;
  read_crowd(options, plan);
  if (!options.needle.empty()) plan.prompt.needle = read_token("--needle", options.needle);
  for (const std::string& text : options.sinks) plan.prompt.sinks.push_back(read_token("--sink", text));
  for (const std::string& text : options.classes)
    plan.prompt.sinks.push_back(read_class(kTemperatureCommand, text));
  if (plan.prompt.sinks.size() + 2 > kMostClasses)
    fail(kTemperatureCommand, "number of sinks and classes", static_cast<double>(plan.prompt.sinks.size()),
         "at most 62");
  plan.lengths = io::parse_lengths("--L", options.L, io::LengthKind::kReal);
  std::sort(plan.lengths.begin(), plan.lengths.end());
  plan.lengths.erase(std::unique(plan.lengths.begin(), plan.lengths.end()), plan.lengths.end());
  for (const double L : plan.lengths) {
    if (!(L <= kLargestL))
      fail(kTemperatureCommand, "--L", L, "at most 1e300: the weights of an infinite crowd are all zero");
  }
  if (options.target.empty())
    plan.laws =
        read_laws(options.betas.empty() ? std::vector<std::string>{"constant,sqrt-log,log,log-squared"}
                                        : options.betas);
  else if (!options.betas.empty())
    fail(kTemperatureCommand, "give either --beta or --target");
  const double rows = static_cast<double>(plan.lengths.size()) * static_cast<double>(plan.laws.size());
  if (rows > kMostRows) fail(kTemperatureCommand, "number of rows", rows, "at most 1e5");
  return plan;
}

io::Json to_json(const TemperatureRow& row, bool has_needle) {
  const CrowdWeights& weights = row.at.weights;
  io::Json json, errors;
  const auto add = [&](const char* name, const std::optional<Estimate>& estimate) {
    json[name] = estimate ? io::Json(estimate->value) : io::Json(nullptr);
    if (estimate) errors[name] = estimate->error;
  };
  json["L"] = row.L;
  json["law"] = row.law;
  json["beta"] = row.at.beta;
  add("effective_tokens", weights.effective_tokens);
  add("entropy", weights.entropy);
  add("needle_weight", has_needle ? std::optional(weights.needle) : std::nullopt);
  add("crowd_weight", weights.crowd);
  json["planted_weights"] = io::Json::array();
  for (const Estimate& one : weights.sinks) json["planted_weights"].push_back(one.value);
  add("log_partition", weights.log_partition);
  add("output_error", row.output_error);
  json["errors"] = std::move(errors);
  return json;
}

// How β grows between the last two lengths, in the rows of a target.
void add_growth(io::Json& json, const std::vector<TemperatureRow>& rows) {
  if (rows.size() < 2) return;
  const TemperatureRow &from = rows[rows.size() - 2], &to = rows.back();
  const auto exponent = growth_exponent(from, to);
  if (exponent) json["growth"] = {{"exponent", *exponent}, {"from", from.L}, {"to", to.L}};
}

std::string to_csv(const std::vector<TemperatureRow>& rows, bool has_needle) {
  std::string text = "L,law,beta,effective_tokens,entropy,needle_weight,crowd_weight,output_error\n";
  const auto number = [](double value) { return fmt::format("{}", value); };
  for (const TemperatureRow& row : rows) {
    const CrowdWeights& weights = row.at.weights;
    // A name may have a comma within parentheses.
    text += fmt::format("{},\"{}\",{},{},{},{},{},{}\n", number(row.L), row.law, number(row.at.beta),
                        number(weights.effective_tokens.value), number(weights.entropy.value),
                        has_needle ? number(weights.needle.value) : "", number(weights.crowd.value),
                        row.output_error ? number(row.output_error->value) : "");
  }
  return text;
}

Figure figure_of(const std::vector<TemperatureRow>& rows, const TemperatureOptions& options) {
  Panel beta{.title = "factor on the scores", .x_label = "tokens L", .y_label = "β(L)"},
      tokens{.title = "effective tokens", .x_label = "tokens L", .y_label = "1 / E[P₂]"},
      third{.title = "entropy", .x_label = "tokens L", .y_label = "E[H]", .log_y = false};
  const bool needle = !options.needle.empty();
  if (needle) third = {.title = "weight of the needle", .x_label = "tokens L", .y_label = "mean weight"};
  std::map<std::string, int> colors;
  for (std::size_t i = 0; i < rows.size();) {
    const std::string& law = rows[i].law;
    Curve one{.label = law, .color = colors.emplace(law, static_cast<int>(colors.size())).first->second};
    Curve two = one, three = one;
    for (; i < rows.size() && rows[i].law == law; ++i) {
      for (Curve* curve : {&one, &two, &three}) curve->x.push_back(rows[i].L);
      const CrowdWeights& weights = rows[i].at.weights;
      one.y.push_back(rows[i].at.beta);
      two.y.push_back(weights.effective_tokens.value);
      three.y.push_back(needle ? weights.needle.value : weights.entropy.value);
    }
    beta.curves.push_back(std::move(one));
    tokens.curves.push_back(std::move(two));
    third.curves.push_back(std::move(three));
  }
  const std::string crowd = options.s.empty() ? fmt::format("{} at query {}", options.law, options.query)
                                              : fmt::format("normal scores of spread {}", options.s);
  std::string caption = fmt::format("Softmax weights over a crowd of L tokens, {}", crowd);
  if (needle) caption += fmt::format(", and a needle of score {}", options.needle);
  if (!options.sinks.empty() || !options.classes.empty()) caption += ", beside sinks";
  return {{beta, tokens, third}, caption + ". Exact, at the marked lengths."};
}

void print_table(const std::vector<TemperatureRow>& rows, const TemperatureOptions& options) {
  const bool needle = !options.needle.empty(), alone = rows.front().output_error.has_value();
  std::size_t width = 6;
  for (const TemperatureRow& row : rows) width = std::max(width, row.law.size());
  fmt::print("{:>10}  {:<{}}  {:>10}  {:>12}  {:>10}", "L", "law", width, "beta", "eff. tokens", "entropy");
  if (needle) fmt::print("  {:>12}", "needle");
  fmt::print("  {:>12}\n", alone ? "output error" : "crowd");
  for (const TemperatureRow& row : rows) {
    const CrowdWeights& weights = row.at.weights;
    fmt::print("{:>10.4g}  {:<{}}  {:>10.6g}  {:>12.6g}  {:>10.6g}", row.L, row.law, width, row.at.beta,
               weights.effective_tokens.value, weights.entropy.value);
    if (needle) fmt::print("  {:>12.6g}", weights.needle.value);
    if (!alone)
      fmt::print("  {:>12.6g}\n", weights.crowd.value);
    else
      fmt::print("  {:>12}\n", row.output_error ? fmt::format("{:.6g}", row.output_error->value) : "");
  }
}

void run_temperature(const TemperatureOptions& options) {
  const TemperaturePlan plan = read_plan(options);
  const InputNames inputs{.laws = {options.law}, .matrices = {options.U, options.V, options.query}};
  check_not_read(kTemperatureCommand, "--csv", options.csv, inputs);
  check_not_read(kTemperatureCommand, "--plot", options.plot, inputs);
  for (const TemperatureLaw& law : plan.laws) {
    if (!options.csv.empty() && same_file(law.name(), options.csv))
      fail(kTemperatureCommand, "--csv", options.csv, "another file than that of --beta");
  }
  check_output_files(kTemperatureCommand, options.csv, options.plot);
  std::vector<TemperatureRow> rows;
  if (options.target.empty()) {
    rows = temperature_rows(plan.prompt, plan.V, plan.lengths, plan.laws, options.execution());
  } else {
    const Target target = read_target(options.target);
    rows =
        target_rows(plan.prompt, plan.V, plan.lengths, target.statistic, target.value, options.execution());
  }
  const bool needle = plan.prompt.needle.has_value();
  io::Json json;
  for (const TemperatureRow& row : rows) json["rows"].push_back(to_json(row, needle));
  if (!options.target.empty()) add_growth(json, rows);
  io::check_numbers(json);
  const std::string svg = options.plot.empty() ? "" : to_svg(figure_of(rows, options));
  if (first_process() && !options.csv.empty())
    write_text(kTemperatureCommand, options.csv, to_csv(rows, needle));
  if (first_process() && !options.plot.empty()) write_figure(kTemperatureCommand, options.plot, svg);
  if (options.json) return print_json(json);
  print_table(rows, options);
  if (json.contains("growth")) {
    fmt::print("between the last two lengths beta grows like (ln L)^{:.3f}: read off, not proved\n",
               json["growth"]["exponent"].get<double>());
  }
  if (!options.csv.empty()) fmt::print("rows written to {}\n", options.csv);
  if (!options.plot.empty()) fmt::print("figure written to {}\n", options.plot);
}

}  // namespace

void add_temperature_command(CLI::App& app) {
  auto options = std::make_shared<TemperatureOptions>();
  CLI::App* command = app.add_subcommand(
      "temperature",
      "Compare factors beta(L) on the scores as prompts grow, or find the one that keeps a target");
  command->add_option("--s", options->s, "Standard deviation of the scores of the crowd, which are normal")
      ->check(check_given, "");
  command->add_option("--law", options->law, "Token law of the crowd, as in largo attention; needs --query")
      ->check(check_given, "");
  command->add_option("--d", options->dimension, "Dimension, if the law does not set it")
      ->transform(whole_number(1, kLargestDimension));
  command->add_option("--U", options->U, "Score matrix, d x e: scores are <U query, token>")
      ->check(check_given, "")
      ->capture_default_str();
  command->add_option("--V", options->V, "Value matrix, o x d, for the output error")
      ->check(check_given, "")
      ->capture_default_str();
  command->add_option("--query", options->query, "The query, such as 1,0,-1")->check(check_given, "");
  command
      ->add_option("--L", options->L,
                   "Numbers of tokens in the crowd, 1 to 1e300: 16,64,256 or 1e1:1e6:11 (log-spaced)")
      ->required();
  command->add_option("--needle", options->needle, "Score of a token that is to be found")
      ->check(check_given, "");
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
  command
      ->add_option(
          "--target", options->target,
          "Find beta for effective_tokens=VALUE, entropy=VALUE or needle_weight=VALUE; VALUE may be a "
          "formula in L")
      ->check(check_given, "");
  command->add_option("--csv", options->csv, "Write all rows to this CSV file")->check(check_given, "");
  command->add_option("--plot", options->plot, "Write a figure to this .svg or .pdf file")
      ->check(check_given, "");
  add_common_options(*command, *options, {"--seed", "--precision"});
  command->footer(
      "All scores are multiplied by beta(L), those of the needle and of sinks too. The needle and the sinks\n"
      "are beside the L tokens of the crowd. Nothing is sampled. The output error is that of the crowd\n"
      "alone, |T[prompt] - T[law]|^2 on average; with --s, tokens and values are standard normal numbers.\n"
      "YaRN multiplies queries and keys by 0.1 ln(L/N) + 1, so yarn:N multiplies scores by its square; N is\n"
      "the length in training. A table FILE.csv has columns L and beta.\n\n"
      "Examples:\n"
      "  largo temperature --s 1 --L 1e2:1e6:5 --needle 8\n"
      "  largo temperature --s 1 --L 4096:4e6:4 --beta "
      "\"constant,yarn:4096,longrope:4096,1+0.1*ln(L/4096)\"\n"
      "  largo temperature --s 1 --L 1e2:1e12:6 --target effective_tokens=10\n"
      "  largo temperature --law sphere --d 8 --query 3,0,0,0,0,0,0,0 --L 1e2:1e6:5 --plot temperature.svg");
  command->callback([options] { run_temperature(*options); });
}

}  // namespace largo
