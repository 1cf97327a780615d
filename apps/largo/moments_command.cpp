// largo moments: exact statistics of softmax attention over L Gaussian tokens, at one (s, L) or on a grid.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "arguments.hpp"
#include "command.hpp"
#include "io/csv.hpp"
#include "io/files.hpp"
#include "io/parse_numbers.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/runtime/check.hpp"
#include "output.hpp"

namespace largo {
namespace {

constexpr double kMostPoints = 1e6;

struct MomentsOptions : CommonOptions {
  std::string s;
  std::string L;
  std::string csv;
};

struct Field {
  const char* name;
  Estimate SoftmaxMoments::*estimate;
  const char* meaning;
};

constexpr std::array kFields = {
    Field{"P2", &SoftmaxMoments::P2, "E[P_2], P_k = sum of p_i^k"},
    Field{"P3", &SoftmaxMoments::P3, "E[P_3]"},
    Field{"P2P2", &SoftmaxMoments::P2P2, "E[P_2^2]"},
    Field{"mean", &SoftmaxMoments::mean, "E[A], A = sum of p_i g_i; s if L = inf"},
    Field{"bias", &SoftmaxMoments::bias, "E[A] - s"},
    Field{"mse", &SoftmaxMoments::mse, "E[(A - s)^2]"},
    Field{"variance", &SoftmaxMoments::variance, "E[B], B = sum of p_i (g_i - A)^2; 1 if L = inf"},
    Field{"variance_mse", &SoftmaxMoments::variance_mse, "E[(B - 1)^2]"},
    Field{"variance_P2", &SoftmaxMoments::variance_P2, "E[(B - 1) P_2]"},
    Field{"squared_spread", &SoftmaxMoments::squared_spread, "E[D], D = sum of p_i^2 (g_i - A)^2"},
    Field{"P2_slope", &SoftmaxMoments::P2_slope, "d E[P_2] / ds"},
    Field{"P3_slope", &SoftmaxMoments::P3_slope, "d E[P_3] / ds"},
    Field{"P2P2_slope", &SoftmaxMoments::P2P2_slope, "d E[P_2^2] / ds"},
};

// The relative error, or the absolute error of a number that is zero to within its error, like E[A] at L = 1.
double relative_error(const Estimate& estimate) {
  const double size = std::abs(estimate.value);
  return size > estimate.error ? estimate.error / size : estimate.error;
}

// The largest error among the reported numbers.
double error_estimate(const SoftmaxMoments& moments) {
  double largest = 0;
  for (const Field& field : kFields) largest = std::max(largest, relative_error(moments.*field.estimate));
  return largest;
}

double effective_tokens(const SoftmaxMoments& moments) { return 1 / moments.P2.value; }

// Here a length need not be a whole number, unlike elsewhere: the formulas hold for any length.
std::vector<double> read_lengths(const std::string& text) {
  return io::parse_lengths("--L", text, io::LengthKind::kReal);
}

std::vector<SoftmaxMoments> compute(const MomentsOptions& options) {
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

  return softmax_moments(spreads, lengths, options.execution());
}

io::Json to_json(const SoftmaxMoments& moments) {
  io::Json json;
  json["s"] = moments.s;
  json["L"] = io::number_json(moments.L);
  io::Json errors;
  for (const Field& field : kFields) {
    json[field.name] = (moments.*field.estimate).value;
    errors[field.name] = (moments.*field.estimate).error;
    if (field.estimate == &SoftmaxMoments::mse) {
      json["effective_tokens"] = io::number_json(effective_tokens(moments));
      json["error_estimate"] = error_estimate(moments);
    }
  }
  json["self_check"] = moments.self_check;
  json["condensation_s"] = io::number_json(condensation_line(moments.L));
  json["errors"] = std::move(errors);
  return json;
}

void write_table(const std::string& file, const std::vector<SoftmaxMoments>& grid) {
  std::vector<std::string> header = {"s", "L"};
  for (const Field& field : kFields) header.push_back(field.name);
  for (const char* name : {"effective_tokens", "error_estimate", "self_check", "condensation_s"}) {
    header.push_back(name);
  }
  RowMatrix table(std::ssize(grid), std::ssize(header));
  for (std::ptrdiff_t i = 0; i < table.rows(); ++i) {
    const SoftmaxMoments& moments = grid[static_cast<std::size_t>(i)];
    std::ptrdiff_t column = 0;
    const auto add = [&](double value) { table(i, column++) = value; };
    add(moments.s);
    add(moments.L);
    for (const Field& field : kFields) add((moments.*field.estimate).value);
    add(effective_tokens(moments));
    add(error_estimate(moments));
    add(moments.self_check);
    add(condensation_line(moments.L));
  }
  io::write_csv(file, header, table);
}

void print_point(const SoftmaxMoments& moments) {
  fmt::print("s = {}, L = {}: weights p_i ∝ exp(s g_i), g_i standard normal\n", moments.s, moments.L);
  fmt::print("{:<16}  {:>17}  {:>14}  meaning\n", "", "value", "relative error");
  for (const Field& field : kFields) {
    const Estimate& estimate = moments.*field.estimate;
    fmt::print("{:<16}  {:>17.10e}  {:>14.0e}  {}\n", field.name, estimate.value, relative_error(estimate),
               field.meaning);
  }
  fmt::print("{:<16}  {:>17.10e}  {:>14.0e}  1 / P2\n", "effective_tokens", effective_tokens(moments),
             relative_error(moments.P2));
  fmt::print("{:<16}  {:>17.10e}  {:>14}  sqrt(2 ln L): for larger s, a few tokens carry the weight\n",
             "condensation_s", condensation_line(moments.L), "");
}

void print_grid(const std::vector<SoftmaxMoments>& grid) {
  fmt::print("{:>9}  {:>9}  {:>11}  {:>11}  {:>11}  {:>11}  {:>12}  {:>11}  {:>7}\n", "s", "L", "P2", "bias",
             "mse", "variance", "variance_mse", "eff. tokens", "error");
  for (const SoftmaxMoments& moments : grid) {
    fmt::print(
        "{:>9.4g}  {:>9.4g}  {:>11.4e}  {:>11.4e}  {:>11.4e}  {:>11.4e}  {:>12.4e}  {:>11.4e}  {:>7.0e}\n",
        moments.s, moments.L, moments.P2.value, moments.bias.value, moments.mse.value, moments.variance.value,
        moments.variance_mse.value, effective_tokens(moments), error_estimate(moments));
  }
}

// Prints row by row: a large grid as one object would take gigabytes.
void print_rows(const std::vector<SoftmaxMoments>& grid) {
  fmt::print("{{\"rows\":[");
  for (std::size_t i = 0; i < grid.size(); ++i)
    fmt::print("{}{}", i > 0 ? "," : "", io::to_text(to_json(grid[i])));
  fmt::print("]}}\n");
}

void run_moments(const MomentsOptions& options) {
  const bool writes = !options.csv.empty() && first_process();
  if (writes) io::AtomicFile("moments", options.csv);  // checks before the work that it can be written
  const std::vector<SoftmaxMoments> grid = compute(options);
  for (const SoftmaxMoments& moments : grid) io::check_numbers(to_json(moments));
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
  auto options = std::make_shared<MomentsOptions>();
  CLI::App* command =
      app.add_subcommand("moments", "Exact statistics of softmax attention over L Gaussian tokens");
  command
      ->add_option("--s", options->s,
                   "Standard deviation of the scores: 2, a list 0.5,1,2, or 0:6:13 (evenly spaced)")
      ->required();
  command
      ->add_option("--L", options->L,
                   "Prompt length, 1 to 1e300 or inf: 1e4, a list 10,100,inf, or 1e2:1e8:7 (log-spaced)")
      ->required();
  command
      ->add_option("--csv", options->csv,
                   "Write all numbers to this CSV file, one row per point; L varies fastest")
      ->check(check_given, "");
  add_common_options(*command, *options, {"--seed", "--precision"});
  command->footer(
      "Nothing is sampled. Each number comes with an estimate of its error. error_estimate is the largest\n"
      "relative error among the numbers (the absolute error for a number that is zero to within its error).\n"
      "With --json, one s and one L give one object; several give {\"rows\":[...]}.\n\n"
      "Examples:\n"
      "  largo moments --s 2 --L 1e4\n"
      "  largo moments --s 0:6:13 --L 1e2:1e8:7 --csv moments.csv");
  command->callback([options] { run_moments(*options); });
}

}  // namespace largo
