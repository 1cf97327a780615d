// largo icl single-location: one needle holds the answer. Risks, the best head, training, and how long a
// prompt or how weak a signal may be.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "arguments.hpp"
#include "command.hpp"
#include "icl_options.hpp"
#include "io/formula.hpp"
#include "io/parse_numbers.hpp"
#include "largo/icl/single_location_training.hpp"
#include "largo/report/figure.hpp"
#include "largo/runtime/check.hpp"
#include "output.hpp"
#include "output_files.hpp"
#include "progress.hpp"
#include "runtime/distribute.hpp"
#include "runtime/parallel.hpp"

namespace largo {
namespace {

constexpr const char* kSingleLocation = "icl single-location";
constexpr double kMostLocations = 1e5;
constexpr const char *kDefaultLengths = "10:1e6:6", *kDefaultSignal = "4";

struct SingleLocationOptions : CommonOptions {
  std::string L, signal, u, v, start = "0.1,0.1";  // L, signal: empty means the default
  OutputFiles outputs;
  double needle_spread = 1, noise = 0;
  std::optional<double> a, b, epsilon;
  bool train = false;
};

struct LocationRow {
  SingleLocation problem;
  SingleLocationBest head;  ///< the best one, or the one given
  Estimate risk;            ///< of the head
  bool planar = true;       ///< u along k*, v along v*
  std::optional<SingleLocationFlow> flow = {};
};

double critical_signal(double L) { return std::sqrt(2 * std::log(L)); }

std::vector<SingleLocation> read_problems(const SingleLocationOptions& options) {
  const std::vector<double> lengths =
      io::parse_lengths("--L", options.L.empty() ? kDefaultLengths : options.L, io::LengthKind::kReal);
  if (static_cast<double>(lengths.size()) > kMostLocations)
    fail(kSingleLocation, "number of lengths of --L", static_cast<double>(lengths.size()), "at most 1e5");
  const io::Formula signal("--signal", options.signal.empty() ? kDefaultSignal : options.signal, "L");
  std::vector<SingleLocation> problems;
  for (const double L : lengths) {
    const double m = signal(L);
    if (!(m >= 0 && m <= kLargestNeedleSignal))
      fail(kSingleLocation, fmt::format("--signal at L = {:g}", L), m, "between 0 and 50");
    problems.push_back({L, m, options.needle_spread, options.noise});
    check(problems.back());
  }
  return problems;
}

Vector read_direction(const char* option, const std::string& text) {
  const std::vector<double> numbers = io::parse_numbers(option, text);
  return Eigen::Map<const Vector>(numbers.data(), std::ssize(numbers));
}

// The row of a head that is given.
LocationRow given_row(const SingleLocation& problem, const SingleLocationOptions& options) {
  LocationRow row{.problem = problem, .head = {}, .risk = {}};
  RiskPoint point;
  if (options.a) {
    row.head = {*options.a, *options.b, {}, {}};
    point = planar_single_location_risk(problem)->at(Eigen::Vector2d(*options.a, *options.b));
    if (std::isfinite(problem.L))
      row.head.needle_weight = best_value_scale(problem, *options.a).needle_weight;
  } else {
    const Vector u = read_direction("--u", options.u), v = read_direction("--v", options.v);
    check_size(kSingleLocation, "--v", v.size(), u.size());
    Vector both(2 * u.size());
    both << u, v;
    point = single_location_risk(problem, u.size())->at(both);
    row.planar = false;
  }
  row.risk = {point.value, point.error};
  row.head.excess = {point.value - problem.noise_variance / 2, point.error};
  return row;
}

LocationRow best_row(const SingleLocation& problem) {
  const SingleLocationBest best = best_single_location(problem);
  return {.problem = problem,
          .head = best,
          .risk = {best.excess.value + problem.noise_variance / 2, best.excess.error}};
}

// The longest prompt at this signal, as one row.
std::vector<LocationRow> longest_rows(const SingleLocationOptions& options) {
  const double m = io::parse_number("--signal", options.signal);
  const SingleLocation problem{2, m, options.needle_spread, options.noise};
  const SingleLocationThreshold found = longest_prompt(problem, *options.epsilon);
  return {best_row(found.problem)};
}

std::vector<LocationRow> compute(const SingleLocationOptions& options) {
  if (options.epsilon && !options.signal.empty()) return longest_rows(options);
  const std::vector<SingleLocation> problems = read_problems(options);
  const std::vector<double> start = io::parse_numbers("--start", options.start);
  check_size(kSingleLocation, "--start", std::ssize(start), 2);
  std::vector<LocationRow> rows(problems.size());
  ProgressLine line(kSingleLocation);
  const Execution execution = options.execution();
  runtime::parallel_for(std::ssize(rows), execution, [&](std::ptrdiff_t i) {
    runtime::check_stop(execution);
    const SingleLocation& problem = problems[static_cast<std::size_t>(i)];
    LocationRow& row = rows[static_cast<std::size_t>(i)];
    if (options.epsilon) {
      row = best_row(weakest_signal(problem, *options.epsilon).problem);
    } else {
      row = options.a || !options.u.empty() ? given_row(problem, options) : best_row(problem);
      if (options.train)
        row.flow = single_location_flow(problem, start[0], start[1], single_location_plan(), execution);
    }
  });
  return rows;
}

io::Json to_json(const LocationRow& row) {
  io::Json json;
  json["L"] = io::number_json(row.problem.L);
  json["signal"] = row.problem.signal;
  json["critical_signal"] = io::number_json(critical_signal(row.problem.L));
  json["risk"] = {{"value", row.risk.value}, {"error", row.risk.error}};
  json["excess"] = {{"value", row.head.excess.value}, {"error", row.head.excess.error}};
  json["null_risk"] = row.problem.null_risk();
  if (row.planar) {
    json["a"] = row.head.a;
    json["b"] = row.head.b;
    json["needle_weight"] = row.head.needle_weight.value;
  }
  if (row.flow) {
    const FlowResult& flow = row.flow->flow;
    json["trained"] = {{"a", row.flow->last.a},
                       {"b", row.flow->last.b},
                       {"risk", flow.last.value},
                       {"excess", row.flow->last.excess.value},
                       {"needle_weight", row.flow->last.needle_weight.value},
                       {"time", flow.trajectory.end()},
                       {"stationary", flow.stationary}};
  }
  return json;
}

std::string to_csv(const std::vector<LocationRow>& rows) {
  std::string text =
      "L,signal,critical_signal,a,b,risk,excess,error,needle_weight,trained_a,trained_b,trained_risk\n";
  for (const LocationRow& row : rows) {
    const auto in_plane = [&](double value) { return row.planar ? fmt::format("{}", value) : ""; };
    text += fmt::format("{},{},{},{},{},{},{},{},{},", row.problem.L, row.problem.signal,
                        critical_signal(row.problem.L), in_plane(row.head.a), in_plane(row.head.b),
                        row.risk.value, row.head.excess.value, row.head.excess.error,
                        in_plane(row.head.needle_weight.value));
    text += row.flow
                ? fmt::format("{},{},{}\n", row.flow->last.a, row.flow->last.b, row.flow->flow.last.value)
                : ",,\n";
  }
  return text;
}

Figure figure_of(const std::vector<LocationRow>& rows) {
  Panel risk{.title = "excess risk", .x_label = "tokens L", .y_label = "R − ½τ²"},
      other{.title = "weight of the needle", .x_label = "tokens L", .y_label = "mean weight"},
      signal{.title = "signal", .x_label = "tokens L", .y_label = "m", .log_y = false};
  Curve head{.label = rows.front().planar ? "head" : "head (u, v)"},
      null{.label = "predicting zero", .style = Curve::Style::dashed, .color = 7},
      trained{.label = "trained", .style = Curve::Style::points, .color = 1}, weight{.label = ""},
      given{.label = ""}, critical{.label = "√(2 ln L)", .style = Curve::Style::dotted, .color = 2};
  for (const LocationRow& row : rows) {
    head.add(row.problem.L, row.head.excess.value);
    null.add(row.problem.L, row.problem.null_risk() - row.problem.noise_variance / 2);
    weight.add(row.problem.L, row.head.needle_weight.value);
    given.add(row.problem.L, row.problem.signal);
    critical.add(row.problem.L, critical_signal(row.problem.L));
    if (row.flow) {
      trained.add(row.problem.L, row.flow->last.excess.value);
    }
  }
  risk.curves = {head, null};
  if (!trained.x.empty()) risk.curves.push_back(trained);
  signal.curves = {given, critical};
  Figure figure{{risk},
                "Single-location regression: the needle is found while its signal m is above √(2 ln L)."};
  if (rows.front().planar) {
    other.curves = {weight};
    figure.panels.push_back(other);
  }
  figure.panels.push_back(signal);
  return figure;
}

void print_table(const std::vector<LocationRow>& rows) {
  const bool planar = rows.front().planar, trained = rows.front().flow.has_value();
  fmt::print("{:>10}  {:>9}  {:>11}  {:>14}  {:>7}", "L", "signal", "sqrt(2lnL)", "excess risk", "error");
  if (planar) fmt::print("  {:>9}  {:>9}  {:>11}", "a", "b", "needle");
  if (trained) fmt::print("  {:>14}  {:>9}  {:>9}", "trained", "a", "b");
  fmt::print("\n");
  for (const LocationRow& row : rows) {
    fmt::print("{:>10.4g}  {:>9.6g}  {:>11.5g}  {:>14.8g}  {:>7.0e}", row.problem.L, row.problem.signal,
               critical_signal(row.problem.L), row.head.excess.value, row.head.excess.error);
    if (planar)
      fmt::print("  {:>9.5g}  {:>9.5g}  {:>11.5g}", row.head.a, row.head.b, row.head.needle_weight.value);
    if (trained)
      fmt::print("  {:>14.8g}  {:>9.5g}  {:>9.5g}", row.flow->last.excess.value, row.flow->last.a,
                 row.flow->last.b);
    fmt::print("\n");
  }
  const SingleLocation& one = rows.front().problem;
  fmt::print("excess risk: above that of the noise, {:g}; predicting zero has {:g}\n", one.noise_variance / 2,
             one.needle_spread * one.needle_spread / 2);
}

void check_modes(const SingleLocationOptions& options) {
  if (options.a.has_value() != options.b.has_value()) fail(kSingleLocation, "--a and --b go together");
  if (options.u.empty() != options.v.empty()) fail(kSingleLocation, "--u and --v go together");
  if (options.a && !options.u.empty()) fail(kSingleLocation, "give either --a and --b, or --u and --v");
  const bool given = options.a || !options.u.empty();
  if (options.epsilon && (given || options.train))
    fail(kSingleLocation, "--epsilon is about the best head: leave out --a, --u and --train");
  if (options.epsilon && options.L.empty() == options.signal.empty()) {
    fail(kSingleLocation,
         "--epsilon needs either --L, to find the weakest signal, or --signal, to find the longest prompt");
  }
}

void print_text(const std::vector<LocationRow>& rows, const SingleLocationOptions& options) {
  print_table(rows);
  if (!options.epsilon) return;
  fmt::print("{} an excess risk of at most {:g}\n",
             options.signal.empty() ? "signal: the weakest with" : "L: the longest prompt with",
             *options.epsilon);
}

void run_single_location(const SingleLocationOptions& options) {
  check_modes(options);
  options.outputs.check(kSingleLocation);
  const std::vector<LocationRow> rows = compute(options);
  io::Json json;
  json["needle_spread"] = options.needle_spread;
  json["noise"] = options.noise;
  if (options.epsilon) json["epsilon"] = *options.epsilon;
  for (const LocationRow& row : rows) json["rows"].push_back(to_json(row));
  const Results results{.json = std::move(json),
                        .to_csv = [&] { return to_csv(rows); },
                        .to_svg = [&] { return to_svg(figure_of(rows)); },
                        .print = [&] { print_text(rows, options); }};
  show_results(kSingleLocation, results, options.outputs, options.json);
}

}  // namespace

void add_icl_single_location_command(CLI::App& icl) {
  const auto [command, options] =
      add_subcommand(icl, "single-location", run_single_location,
                     "One token of the prompt holds the answer: risks, the best head, training");
  add_text_option(*command, "--L", options->L,
                  fmt::format("Numbers of tokens, 2 to 1e300 or inf: 10,100 or 1e1:1e6:6 (log-spaced)\n"
                              "(default: {})",
                              kDefaultLengths));
  add_text_option(*command, "--signal", options->signal,
                  fmt::format("Mean m of the needle along k*, from 0 to 50: a number, or a formula in L such "
                              "as \"1.2*sqrt(2*ln(L))\" (default: {})",
                              kDefaultSignal));
  command
      ->add_option("--needle-spread", options->needle_spread,
                   "Standard deviation of the needle's coordinates")
      ->transform(finite_number(Sign::positive))
      ->capture_default_str();
  command->add_option("--noise", options->noise, "Variance of the noise of the target")
      ->transform(finite_number(Sign::non_negative))
      ->capture_default_str();
  command->add_option("--a", options->a, "Risk of u = a k*, v = b v* instead of the best head; with --b")
      ->transform(finite_number());
  command->add_option("--b", options->b, "See --a")->transform(finite_number());
  add_text_option(*command, "--u", options->u,
                  "Risk of any score vector u, such as 2,0,0.5: along k*, along v*, then the rest; with --v");
  add_text_option(*command, "--v", options->v, "Value vector, in the same coordinates");
  command->add_flag("--train", options->train, "Follow the gradient flow of (a, b) to its end");
  command->add_option("--start", options->start, "Where the flow starts, a,b")->capture_default_str();
  command
      ->add_option("--epsilon", options->epsilon,
                   "With --L, find the weakest signal at which the best excess risk is at most this; "
                   "with --signal, the longest prompt")
      ->transform(finite_number(Sign::positive));
  options->outputs.add_csv_and_plot_options(*command, "all rows");
  add_common_options(*command, *options, {"--seed", "--precision"});
  command->footer(
      "The needle is N(m k*, spread^2 I), the other tokens are N(0, I), and the target is the needle's\n"
      "coordinate along v*, with noise. Scores are <u, token> and values <v, token>; risks are half the "
      "mean\n"
      "squared error. Nothing is sampled. With the spread 1 the best head, a = m and b = 1, is the Bayes\n"
      "predictor. Below a signal of sqrt(2 ln L) the needle is lost in long prompts, above it is found.\n\n"
      "Examples:\n"
      "  largo icl single-location --L 10:1e6:6 --signal 5\n"
      "  largo icl single-location --L 1e2:1e300:4 --signal \"1.2*sqrt(2*ln(L))\"\n"
      "  largo icl single-location --L 10,1e4 --signal 5 --train --noise 0.1\n"
      "  largo icl single-location --L 1e2:1e12:6 --epsilon 0.05 --plot single_location.svg\n"
      "  largo icl single-location --signal 5 --epsilon 0.05\n"
      "  largo icl single-location --L 50 --u 2,0.3,0.5 --v 0.1,0.8,-0.2");
}

}  // namespace largo
