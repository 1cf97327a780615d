// largo concentration: how far attention over L tokens is from its limit, against L.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "arguments.hpp"
#include "command.hpp"
#include "concentration_report.hpp"
#include "io/parse_numbers.hpp"
#include "largo/concentration/exact_errors.hpp"
#include "largo/concentration/factored_gradients.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/named_law.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/runtime/check.hpp"
#include "output_files.hpp"
#include "progress.hpp"

namespace largo {
namespace {

constexpr const char* kConcentrationCommand = "concentration";
constexpr std::int64_t kPrompts = 10000;
constexpr std::int64_t kQuickPrompts = 1000;

struct ConcentrationOptions : CommonOptions {
  std::string law;
  std::optional<std::ptrdiff_t> dimension;
  std::string U, K, Q;  // without any of them, U is the identity
  std::string V = "identity";
  std::string query, query_law, plant;
  std::vector<std::string> sinks;
  std::string sigma = "1", L;
  std::string method = "auto";
  std::optional<std::int64_t> prompts;
  double relative_error = 0;
  std::optional<double> c1, c2, tolerance, within;
  OutputFiles outputs;
  bool fit = false, quick = false, dry_run = false;
};

std::string check_method(const std::string& text) {
  for (const char* known : {"auto", "exact", "sampled", "exact,sampled", "sampled,exact"}) {
    if (text == known) return "";
  }
  return fmt::format("'{}' is not auto, exact, sampled or exact,sampled", text);
}

// Keeps the order of first appearance.
std::vector<double> without_repeats(const std::vector<double>& values) {
  std::vector<double> once;
  for (const double value : values) {
    if (std::find(once.begin(), once.end(), value) == once.end()) once.push_back(value);
  }
  return once;
}

Queries read_queries_of(const ConcentrationOptions& options, std::ptrdiff_t size) {
  if (options.query.empty() == options.query_law.empty()) {
    fail(kConcentrationCommand, "give either --query or --query-law (for example --query-law gaussian)");
  }
  if (!options.query_law.empty()) return named_law(options.query_law, size);
  const RowMatrix rows = read_queries(kConcentrationCommand, options.query, size);
  if (rows.rows() == 1) return Vector(rows.row(0).transpose());
  return std::make_shared<const EmpiricalMeasure>(rows);
}

// K and Q, if they are given.
std::optional<FactoredWeights> read_factors(const ConcentrationOptions& options, std::ptrdiff_t d) {
  if (options.K.empty() != options.Q.empty())
    fail(kConcentrationCommand, "--K and --Q must be given together");
  if (options.K.empty()) return std::nullopt;
  if (!options.U.empty()) fail(kConcentrationCommand, "give either --U, or --K and --Q");
  Matrix K = named_matrix("--K", options.K, std::nullopt, d);
  Matrix Q = named_matrix("--Q", options.Q, K.rows());
  return FactoredWeights(std::move(K), std::move(Q), named_matrix("--V", options.V, std::nullopt, d));
}

// The tokens beside the crowd. A sink has no value.
std::vector<PlantedToken> read_planted(const ConcentrationOptions& options, std::ptrdiff_t d) {
  std::vector<PlantedToken> planted;
  if (!options.plant.empty()) {
    const RowMatrix rows = named_queries(kConcentrationCommand, "--plant", options.plant, d);
    for (Eigen::Index i = 0; i < rows.rows(); ++i) planted.push_back({rows.row(i).transpose()});
  }
  for (const std::string& text : options.sinks) {
    const double score = io::parse_number("--sink", text);
    if (!std::isfinite(score)) fail(kConcentrationCommand, "--sink", score, "a finite score");
    planted.push_back({Vector::Zero(d), score});
  }
  if (!planted.empty() && !options.K.empty()) {
    fail(kConcentrationCommand,
         "the gradients in K and Q are not known beside planted tokens: give --U in place of --K and --Q");
  }
  if (!planted.empty() && options.tolerance) {
    fail(kConcentrationCommand, "--tolerance compares with linear attention: leave out --plant and --sink");
  }
  if (!planted.empty() && (options.fit || options.c1 || options.c2)) {
    fail(kConcentrationCommand,
         "the paper's bounds are for prompts of independent tokens: leave out --fit, --c1 and --c2, or "
         "--plant "
         "and --sink");
  }
  return planted;
}

// The planted tokens in words, as given.
std::string beside_of(const ConcentrationOptions& options) {
  std::vector<std::string> parts;
  if (!options.plant.empty()) parts.push_back("planted tokens " + options.plant);
  if (!options.sinks.empty()) {
    parts.push_back(fmt::format("{} {}", options.sinks.size() == 1 ? "a sink of score" : "sinks of scores",
                                fmt::join(options.sinks, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, " and "));
}

AttentionLayer read_layer(const ConcentrationOptions& options, std::optional<FactoredWeights>& factors) {
  AttentionLayer layer;
  layer.tokens = named_law(options.law, options.dimension, options.arithmetic());
  const std::ptrdiff_t d = layer.tokens->dimension();
  factors = read_factors(options, d);
  layer.U =
      factors ? factors->merged().U : named_matrix("--U", options.U.empty() ? "identity" : options.U, d);
  layer.V = named_matrix("--V", options.V, std::nullopt, d);
  layer.queries = read_queries_of(options, layer.U.cols());
  layer.planted = read_planted(options, d);
  return layer;
}

// Chooses the methods, and adds a note if the exact one is not available.
void choose_methods(const ConcentrationOptions& options, const AttentionLayer& layer, ConcentrationPlan& plan,
                    std::vector<std::string>& notes) {
  std::optional<std::string> missing;
  for (const double sigma : plan.sigmas) {
    if (!missing) missing = missing_formula(layer, sigma);
  }
  if (options.method == "auto") {
    plan.exact = !missing;
    plan.sampled = missing.has_value();
    if (missing) notes.push_back(fmt::format("sampled: {}", *missing));
  } else {
    plan.exact = options.method != "sampled";
    plan.sampled = options.method != "exact";
    if (plan.exact && missing) fail(kConcentrationCommand, fmt::format("{}; use --method sampled", *missing));
  }
}

ConcentrationPlan read_plan(const ConcentrationOptions& options, const AttentionLayer& layer,
                            std::vector<std::string>& notes) {
  ConcentrationPlan plan;
  plan.sigmas = without_repeats(read_values(kConcentrationCommand, "--sigma", options.sigma));
  for (const double sigma : plan.sigmas) check_positive(kConcentrationCommand, "--sigma", sigma);
  choose_methods(options, layer, plan, notes);
  const io::LengthKind kind = plan.sampled ? io::LengthKind::kWhole : io::LengthKind::kReal;
  plan.lengths = without_repeats(io::parse_lengths("--L", options.L, kind));
  plan.seed = options.seed;
  if (!plan.sampled) {
    const auto refuse = [](const char* option) {
      fail(kConcentrationCommand,
           fmt::format("{} is for sampled errors, but these are exact: add --method sampled", option));
    };
    if (options.prompts) refuse("--prompts");
    if (options.relative_error > 0) refuse("--relative-error");
  }
  plan.sampling.samples = options.prompts.value_or(options.quick ? kQuickPrompts : kPrompts);
  plan.sampling.relative_error = options.relative_error;
  if (options.precision == "float64") plan.precision = TokenPrecision::float64;
  return plan;
}

std::optional<BoundConstants> read_constants(const ConcentrationOptions& options) {
  if (options.c1.has_value() != options.c2.has_value())
    fail(kConcentrationCommand, "--c1 and --c2 must be given together");
  if (!options.c1) return std::nullopt;
  check_positive(kConcentrationCommand, "--c1", *options.c1);
  check_nonnegative(kConcentrationCommand, "--c2", *options.c2);
  return BoundConstants{*options.c1, *options.c2};
}

void describe(const ConcentrationPlan& plan, bool as_json) {
  constexpr double kNanoseconds = 4;  // per token, to an order of magnitude
  double tokens = 0, lengths = 0;
  for (const double L : plan.lengths) {
    if (std::isinf(L)) continue;
    tokens += L * static_cast<double>(plan.sampling.samples);
    ++lengths;
  }
  tokens *= static_cast<double>(plan.sigmas.size());
  const std::size_t points = plan.sigmas.size() * plan.lengths.size();
  io::Json json;
  if (plan.exact) json["exact"] = {{"points", points}, {"seconds", 0.05 * 5 * lengths}};  // with exponents
  if (plan.sampled) {
    json["sampled"] = {{"points", points}, {"tokens", tokens}, {"seconds", tokens * kNanoseconds * 1e-9}};
  }
  json["memory_MB"] = 50;
  if (as_json) return print_json(json);
  for (const char* method : {"exact", "sampled"}) {
    if (!json.contains(method)) continue;
    fmt::print("{} {} points, about {:.2g} s on one core", points, method,
               json[method]["seconds"].get<double>());
    if (json[method].contains("tokens")) fmt::print(" for {:.3g} tokens", tokens);
    fmt::print("\n");
  }
  fmt::print("less than {} MB of memory\n", json["memory_MB"].get<int>());
}

// Called before the work.
void check_files(const ConcentrationOptions& options, const ConcentrationPlan& plan) {
  if (!options.outputs.plot.empty()) {
    if (std::all_of(plan.lengths.begin(), plan.lengths.end(), [](double L) { return std::isinf(L); })) {
      fail(kConcentrationCommand,
           "--plot needs a finite length in --L: the errors of the infinite prompt are zero");
    }
  }
  const InputNames inputs{
      .laws = {options.law, options.query_law},
      .matrices = {options.U, options.K, options.Q, options.V, options.query, options.plant}};
  options.outputs.check(kConcentrationCommand, inputs);
}

void run_concentration(const ConcentrationOptions& options) {
  std::optional<FactoredWeights> factors;
  const AttentionLayer layer = read_layer(options, factors);
  ConcentrationReport report;
  ConcentrationPlan plan = read_plan(options, layer, report.notes);
  const auto constants = read_constants(options);
  if (options.tolerance) check_tolerance(layer, *options.tolerance);
  if (options.within) check_within(layer, *options.within);
  if (options.device != "cpu" && !plan.sampled) {
    fail(kConcentrationCommand, "--device", options.device,
         "cpu for exact errors; cuda needs --method sampled, which draws prompts");
  }
  check_files(options, plan);
  if (options.dry_run) return describe(plan, options.json);
  {
    ProgressLine line("concentration");
    plan.progress = [&](double share) { line.show(share); };
    report.rows = concentration_grid(layer, plan, options.execution());
  }
  if (factors && plan.exact) {
    add_factored_gradients(report.rows, {layer.tokens, *factors, layer.queries}, options.execution());
    if (!report.rows.front().gradient_K || !report.rows.front().gradient_Q)
      report.notes.push_back("the gradient in K or Q has no exact formula for these laws");
  } else if (factors) {
    report.notes.push_back("the errors of the gradients in K and Q are known only in exact rows");
  }
  if (factors && report.rows.front().certified) {
    add_factored_bounds(report.rows, {layer.tokens, *factors, layer.queries}, options.execution());
  }
  report.law = options.law;
  report.planted = layer.planted.size();
  report.beside = beside_of(options);
  report.dimension = layer.tokens->dimension();
  report.queries = options.query_law.empty() ? options.query : options.query_law;
  report.summary = summarise(layer, report.rows, constants);
  report.show_fit = options.fit || constants.has_value();
  if (const auto missing = missing_bound(layer))
    report.notes.push_back(fmt::format("no certified bounds: {}", *missing));
  if (plan.exact && !report.rows.front().gradient_U) {
    report.notes.push_back(fmt::format(
        "the gradient in U has no exact formula here: {}; to sample it, use --method exact,sampled",
        layer.planted.empty() ? "the law of a token given its score is not known to fourth order, "
                                "or it has too many values"
                              : "it is not known beside planted tokens"));
  }
  if (options.tolerance) {
    report.tolerance = *options.tolerance;
    const auto lengths = lengths_for_tolerance(layer, *options.tolerance, plan.sigmas, options.execution());
    for (std::size_t i = 0; i < lengths.size(); ++i) report.tolerated.push_back({plan.sigmas[i], lengths[i]});
  }
  if (options.within) {
    report.within = *options.within;
    for (const double sigma : plan.sigmas) {
      report.lengths_within.push_back(
          {sigma, lengths_within(layer, factors, *options.within, sigma, options.execution())});
    }
  }
  show_report(kConcentrationCommand, report, options);
}

}  // namespace

void add_concentration_command(CLI::App& app) {
  const auto [command, options] = add_subcommand(
      app, "concentration", run_concentration,
      "Measure how far attention over L tokens is from its limit, beside bounds that are theorems");
  command->add_option("--law", options->law, "Token law, as in largo attention")->required();
  add_dimension_option(*command, options->dimension);
  add_text_option(*command, "--U", options->U, "Score matrix, d x e (default: identity)");
  add_text_option(*command, "--K", options->K,
                  "Key matrix, r x d; use --K and --Q instead of --U, to add the errors of their gradients");
  add_text_option(*command, "--Q", options->Q, "Query matrix, r x e");
  add_text_option(*command, "--V", options->V, "Value matrix, o x d")->capture_default_str();
  add_text_option(
      *command, "--query", options->query,
      "One query (1,0,-1), or several to average over (1,0,-1;0,1,2 or a file with one query per row)");
  add_text_option(
      *command, "--query-law", options->query_law,
      "Law of the queries to average over: gaussian, gaussian:cov=diag:1,2, sphere, tokens:FILE, …");
  add_text_option(*command, "--plant", options->plant,
                  "Tokens that every prompt holds beside the L of the law: 1,0,-1 or 1,0,-1;0,1,2, or a file "
                  "with one per row");
  command
      ->add_option("--sink", options->sinks,
                   "Score of a token without a value beside the L of the law (0 is softmax plus one); may be "
                   "repeated")
      ->take_all();
  command
      ->add_option("--L", options->L,
                   "Prompt lengths, 1 to 1e300 or inf: 16,64,256 or 1e1:1e6:11 (log-spaced)")
      ->required();
  add_text_option(*command, "--sigma", options->sigma,
                  "Scales of the tokens: 1, a list, or 0.2:2:10 (evenly spaced)")
      ->capture_default_str();
  command
      ->add_option("--method", options->method,
                   "How to compute the errors: exact, sampled, exact,sampled (both), or auto (exact if a "
                   "formula is known)")
      ->check(check_method, "")
      ->capture_default_str();
  command
      ->add_option("--prompts", options->prompts,
                   "Largest number of prompts to sample at each point (default: 10000)")
      ->transform(whole_number(2, std::uint64_t{1} << 40));
  command
      ->add_option("--relative-error", options->relative_error,
                   "Stop sampling a point at this relative standard error; 0 means never")
      ->transform(number_between(0, 1))
      ->capture_default_str();
  command
      ->add_option("--c1", options->c1,
                   "Constant c1 of the paper's bounds, to check them at all points; needs --c2")
      ->transform(finite_number(Sign::positive));
  command
      ->add_option("--c2", options->c2,
                   "Constant c2 of the paper's bounds, to check them at all points; needs --c1")
      ->transform(finite_number(Sign::non_negative));
  command
      ->add_option(
          "--tolerance", options->tolerance,
          "Find the length from which E|softmax - linear|^2 over the same prompt is below this value; for "
          "centred Gaussian tokens, since over others the two have different limits")
      ->transform(finite_number(Sign::positive));
  command
      ->add_option("--within", options->within,
                   "Find the lengths from which the output and each gradient are within this share of the "
                   "limit, in root mean square (0.01: one percent)")
      ->transform(finite_number(Sign::positive));
  options->outputs.add_csv_and_plot_options(*command, "all rows");
  command->add_flag(
      "--fit", options->fit,
      "Fit the constants of the paper's bounds to the errors: the least bounds above all points");
  add_device_option(*command, options->device);
  command->add_flag("--quick", options->quick, "Sample 1000 prompts at each point");
  command->add_flag("--dry-run", options->dry_run, "Print what would be computed, and stop");
  add_common_options(*command, *options);
  command->footer(
      "The error is the mean over prompts (and queries) of |T[prompt] - T[law]|^2. The errors of the\n"
      "gradients in V and U are defined in the same way. In the table, exponent is\n"
      "-d ln(output error) / d ln L, and to linear is E|T[prompt] - T_lin[prompt]|^2. Certified bounds are\n"
      "theorems with all their constants (docs/bounds.md); a fit of the paper's form (--fit) is not.\n"
      "With --plant and --sink the limit stays T[law]: a given number of tokens has no weight in an\n"
      "infinite prompt. --sigma scales planted tokens too, but not the scores of sinks.\n\n"
      "Examples:\n"
      "  largo concentration --law gaussian --d 4 --U 0.5*identity --query 1,0,-1,0 --L 16:1024:7\n"
      "  largo concentration --law gaussian --d 8 --query-law gaussian --sigma 0.5,1,2 --L 2:1e12:13 --plot "
      "c.svg\n"
      "  largo concentration --law sphere --d 16 --U 4*identity --query-law sphere --L 10:1e4:4 --json\n"
      "  largo concentration --law gaussian --d 4 --query 1,0,0,0 --L 1e1:1e6:6 --tolerance 0.01\n"
      "  largo concentration --law sphere --d 4 --query 2,0,0,0 --L 1e1:1e6:6 --sink 4 --plant 3,0,0,0\n"
      "  largo concentration --law sphere --d 4 --K K.npy --Q Q.npy --query 1,0,0,0 --L 1e1:1e6:6 "
      "--within 0.01");
}

}  // namespace largo
