// largo moments: exact statistics of softmax attention over L Gaussian tokens, at one (s, L) or on a grid,
// and over tokens of several classes.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "arguments.hpp"
#include "class_report.hpp"
#include "command.hpp"
#include "exact/named_class.hpp"
#include "io/csv.hpp"
#include "io/files.hpp"
#include "io/parse_numbers.hpp"
#include "largo/exact/heaviest_tokens.hpp"
#include "largo/exact/moment_fields.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/exact/token_classes.hpp"
#include "largo/runtime/check.hpp"
#include "output.hpp"
#include "runtime/distribute.hpp"
#include "runtime/parallel.hpp"

namespace largo {
namespace {

constexpr double kMostPoints = 1e6;

struct MomentsOptions : CommonOptions {
  std::string s;
  std::string L;
  std::string csv;
  std::vector<std::string> classes;
  std::optional<int> heaviest;
  std::optional<double> needle;
  std::string below;
};

struct Point {
  SoftmaxMoments moments;
  WeightMoments weights;
};

double error_estimate(const Point& point) {
  double largest = error_estimate(point.weights);
  for (const MomentField& field : kMomentFields)
    largest = std::max(largest, relative_error(point.moments.*field.estimate));
  return largest;
}

double effective_tokens(const SoftmaxMoments& moments) { return 1 / moments.P2.value; }

WeightMoments weights_of(double s, double L) {
  if (std::isinf(L)) return {{L, 0}, {L, 0}, {0, 0}};
  if (L == 1) return {{0, 0}, {0, 0}, {1, 0}};
  const TokenClass crowd{L, 0, s};
  const ClassMoments found = class_moments({&crowd, 1});
  return {found.entropy, found.log_partition, mean_largest_weight({&crowd, 1})};
}

// Here a length need not be a whole number, unlike elsewhere: the formulas hold for any length.
std::vector<double> read_lengths(const std::string& text) {
  return io::parse_lengths("--L", text, io::LengthKind::kReal);
}

std::vector<Point> compute(const MomentsOptions& options) {
  const std::vector<double> spreads = read_values("moments", "--s", options.s);
  const std::vector<double> lengths = read_lengths(options.L);
  // Checked before the work, so that messages name the options.
  for (const double s : spreads) {
    if (!(s >= 0 && s <= kLargestScoreSpread)) {
      fail("moments", "--s", s, fmt::format("between 0 and {:.0e}", kLargestScoreSpread));
    }
  }
  for (const double L : lengths) {
    if (L > kLargestL && !std::isinf(L)) {
      fail("moments", "--L", L, fmt::format("between 1 and {:.0e}, or inf", kLargestL));
    }
  }
  const double points = static_cast<double>(spreads.size()) * static_cast<double>(lengths.size());
  if (points > kMostPoints) fail("moments", "number of points of --s and --L", points, "at most 1e6");

  const std::vector<SoftmaxMoments> grid = softmax_moments(spreads, lengths, options.execution());
  std::vector<Point> found(grid.size());
  runtime::parallel_for(std::ssize(grid), options.execution(), [&](std::ptrdiff_t i) {
    runtime::check_stop(options.execution());
    const SoftmaxMoments& one = grid[static_cast<std::size_t>(i)];
    found[static_cast<std::size_t>(i)] = {one, weights_of(one.s, one.L)};
  });
  return found;
}

io::Json to_json(const Point& point) {
  const SoftmaxMoments& moments = point.moments;
  io::Json json;
  json["s"] = moments.s;
  json["L"] = io::number_json(moments.L);
  io::Json errors;
  for (const MomentField& field : kMomentFields) {
    json[field.name] = (moments.*field.estimate).value;
    errors[field.name] = (moments.*field.estimate).error;
    if (field.estimate == &SoftmaxMoments::mse) {
      json["effective_tokens"] = io::number_json(effective_tokens(moments));
      json["error_estimate"] = error_estimate(point);
    }
  }
  for (const WeightField& field : kWeightFields) {
    json[field.name] = io::number_json((point.weights.*field.estimate).value);
    errors[field.name] = (point.weights.*field.estimate).error;
  }
  json["self_check"] = moments.self_check;
  json["condensation_s"] = io::number_json(condensation_line(moments.L));
  json["errors"] = std::move(errors);
  return json;
}

void write_table(const std::string& file, const std::vector<Point>& grid) {
  std::vector<std::string> header = {"s", "L"};
  for (const MomentField& field : kMomentFields) header.push_back(field.name);
  for (const WeightField& field : kWeightFields) header.push_back(field.name);
  for (const char* name : {"effective_tokens", "error_estimate", "self_check", "condensation_s"}) {
    header.push_back(name);
  }
  RowMatrix table(std::ssize(grid), std::ssize(header));
  for (std::ptrdiff_t i = 0; i < table.rows(); ++i) {
    const Point& point = grid[static_cast<std::size_t>(i)];
    const SoftmaxMoments& moments = point.moments;
    std::ptrdiff_t column = 0;
    const auto add = [&](double value) { table(i, column++) = value; };
    add(moments.s);
    add(moments.L);
    for (const MomentField& field : kMomentFields) add((moments.*field.estimate).value);
    for (const WeightField& field : kWeightFields) add((point.weights.*field.estimate).value);
    add(effective_tokens(moments));
    add(error_estimate(point));
    add(moments.self_check);
    add(condensation_line(moments.L));
  }
  io::write_csv(file, header, table);
}

void print_point(const Point& point) {
  const SoftmaxMoments& moments = point.moments;
  fmt::print("s = {}, L = {}: weights p_i ∝ exp(s g_i), g_i standard normal\n", moments.s, moments.L);
  fmt::print("{:<16}  {:>17}  {:>14}  meaning\n", "", "value", "relative error");
  for (const MomentField& field : kMomentFields)
    print_number(field.name, moments.*field.estimate, field.meaning);
  for (const WeightField& field : kWeightFields)
    print_number(field.name, point.weights.*field.estimate, field.meaning);
  fmt::print("{:<16}  {:>17.10e}  {:>14.0e}  1 / P2\n", "effective_tokens", effective_tokens(moments),
             relative_error(moments.P2));
  fmt::print("{:<16}  {:>17.10e}  {:>14}  sqrt(2 ln L): for larger s, a few tokens carry the weight\n",
             "condensation_s", condensation_line(moments.L), "");
}

void print_grid(const std::vector<Point>& grid) {
  fmt::print("{:>9}  {:>9}  {:>11}  {:>11}  {:>11}  {:>11}  {:>12}  {:>11}  {:>7}\n", "s", "L", "P2", "bias",
             "mse", "variance", "variance_mse", "eff. tokens", "error");
  for (const Point& point : grid) {
    const SoftmaxMoments& moments = point.moments;
    fmt::print(
        "{:>9.4g}  {:>9.4g}  {:>11.4e}  {:>11.4e}  {:>11.4e}  {:>11.4e}  {:>12.4e}  {:>11.4e}  {:>7.0e}\n",
        moments.s, moments.L, moments.P2.value, moments.bias.value, moments.mse.value, moments.variance.value,
        moments.variance_mse.value, effective_tokens(moments), error_estimate(point));
  }
}

// Prints row by row: a large grid as one object would take gigabytes.
void print_rows(const std::vector<Point>& grid) {
  fmt::print("{{\"rows\":[");
  for (std::size_t i = 0; i < grid.size(); ++i)
    fmt::print("{}{}", i > 0 ? "," : "", io::to_text(to_json(grid[i])));
  fmt::print("]}}\n");
}

void run_classes(const MomentsOptions& options) {
  if (!options.s.empty() || !options.L.empty()) fail("moments", "give either --class, or --s and --L");
  if (!options.csv.empty()) fail("moments", "--csv is for --s and --L");
  ClassQuestion question;
  for (const std::string& text : options.classes)
    question.classes.push_back(exact::named_class("moments", "--class", text));
  question.heaviest = options.heaviest;
  if (options.needle && !(std::abs(*options.needle) <= kLargestShift))
    fail("moments", "--needle", *options.needle, "between -1e6 and 1e6");
  question.needle = options.needle;
  if (!options.below.empty()) question.below = read_values("moments", "--below", options.below);
  for (const double x : question.below) {
    if (!(x > 0 && x < 1)) fail("moments", "--below", x, "above 0 and below 1: it is a share of the weight");
  }
  answer_classes(question, options.json);
}

void run_moments(const MomentsOptions& options) {
  if (options.heaviest && options.classes.empty()) fail("moments", "--heaviest goes with --class");
  if (options.needle && options.classes.empty()) fail("moments", "--needle goes with --class");
  if (!options.below.empty() && !options.needle) fail("moments", "--below goes with --needle");
  if (!options.classes.empty()) return run_classes(options);
  if (options.s.empty() || options.L.empty())
    fail("moments", options.s.empty() ? "--s is required (or --class)" : "--L is required");
  const bool writes = !options.csv.empty() && first_process();
  if (writes) io::AtomicFile("moments", options.csv);  // checks before the work that it can be written
  const std::vector<Point> grid = compute(options);
  for (const Point& point : grid) io::check_numbers(to_json(point));
  if (writes) write_table(options.csv, grid);
  const bool one = grid.size() == 1;
  if (options.json) {
    one ? print_json(to_json(grid[0])) : print_rows(grid);
  } else if (!options.csv.empty()) {
    fmt::print("{} {} written to {}\n", grid.size(), one ? "row" : "rows", options.csv);
  } else {
    one ? print_point(grid[0]) : print_grid(grid);
  }
}

}  // namespace

void add_moments_command(CLI::App& app) {
  const auto [command, options] =
      add_subcommand(app, "moments", run_moments,
                     "Exact statistics of softmax weights over L Gaussian tokens, or over classes of tokens");
  command->add_option("--s", options->s,
                      "Standard deviation of the scores: 2, a list 0.5,1,2, or 0:6:13 (evenly spaced)");
  command->add_option("--L", options->L,
                      "Prompt length, 1 to 1e300 or inf: 1e4, a list 10,100,inf, or 1e2:1e8:7 (log-spaced)");
  command
      ->add_option(
          "--class", options->classes,
          "COUNT:SHIFT:SPREAD, tokens whose scores are normal with this mean and standard deviation; "
          "give it once for each class, in place of --s and --L")
      ->take_all();
  command
      ->add_option("--heaviest", options->heaviest,
                   fmt::format("With --class: mean mass of so many tokens of the largest weights, 1 to {}",
                               kMostHeaviest))
      ->transform(whole_number(1, kMostHeaviest));
  command
      ->add_option("--needle", options->needle,
                   "With --class: one more token, of this score, and how its weight is distributed")
      ->transform(finite_number());
  add_text_option(*command, "--below", options->below,
                  "With --needle: the probability that its weight is at most this: 0.1, a list 0.01,0.1");
  add_text_option(*command, "--csv", options->csv,
                  "Write all numbers to this CSV file, one row per point; L varies fastest");
  add_common_options(*command, *options, {"--seed", "--precision"});
  command->footer(
      "Nothing is sampled. Each number comes with an estimate of its error. error_estimate is the largest\n"
      "relative error among the numbers (the absolute error for a number that is zero to within its error);\n"
      "those of --needle have errors of their own.\n"
      "With --json, one s and one L give one object; several give {\"rows\":[...]}.\n\n"
      "Examples:\n"
      "  largo moments --s 2 --L 1e4\n"
      "  largo moments --class 1e5:0:1.5 --class 1:8:0\n"
      "  largo moments --class 1e5:0:3 --needle 15 --below 0.01,0.1\n"
      "  largo moments --s 0:6:13 --L 1e2:1e8:7 --csv moments.csv");
}

}  // namespace largo
