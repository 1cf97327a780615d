#include "class_report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "largo/exact/heaviest_tokens.hpp"
#include "largo/exact/needle_weight.hpp"
#include "output.hpp"

namespace largo {
namespace {

constexpr double kQuantiles[] = {0.05, 0.25, 0.5, 0.75, 0.95};

struct NeedleQuantile {
  double probability;
  Estimate weight;
};

struct NeedleChances {
  double weight;
  NeedleWeight::Chances chances;
};

struct ClassAnswer {
  ClassMoments moments;
  WeightMoments weights;
  Estimate heaviest = {};
  std::vector<NeedleQuantile> quantiles = {};
  std::vector<NeedleChances> below = {};
  double error = 0;  // the largest relative error of a number but those of the needle's law
};

// The needle is the last of the classes.
ClassAnswer answer(const ClassQuestion& question, const std::vector<TokenClass>& classes) {
  ClassAnswer found{class_moments(classes), {}};
  const ClassMoments& m = found.moments;
  found.weights = {m.entropy, m.log_partition, mean_largest_weight(classes)};
  found.error = std::max({error_estimate(found.weights), relative_error(m.P2), relative_error(m.P3),
                          relative_error(m.P2P2), relative_error(m.mean_score)});
  for (const Estimate& weight : m.weights) found.error = std::max(found.error, relative_error(weight));
  if (question.heaviest) {
    found.heaviest = heaviest_mass(classes, *question.heaviest);
    found.error = std::max(found.error, relative_error(found.heaviest));
  }
  if (question.needle) {
    const NeedleWeight needle(question.classes, *question.needle);
    for (const double probability : kQuantiles)
      found.quantiles.push_back({probability, needle.quantile(probability)});
    for (const double x : question.below) found.below.push_back({x, needle.at(x)});
  }
  return found;
}

io::Json needle_json(double score, const ClassAnswer& answer) {
  io::Json json;
  json["score"] = score;
  json["weight"] = answer.moments.weights.back().value;
  json["quantiles"] = io::Json::array();
  for (const auto& [probability, weight] : answer.quantiles) {
    json["quantiles"].push_back(
        {{"probability", probability}, {"weight", weight.value}, {"error", weight.error}});
  }
  json["below"] = io::Json::array();
  for (const auto& [weight, chances] : answer.below) {
    json["below"].push_back({{"weight", weight},
                             {"probability", chances.below.value},
                             {"error", chances.below.error},
                             {"above", chances.above.value},
                             {"above_error", chances.above.error}});
  }
  return json;
}

void print_classes(const ClassQuestion& question, const std::vector<TokenClass>& classes,
                   const ClassAnswer& answer) {
  const ClassMoments& m = answer.moments;
  fmt::print("{} of tokens: weights p_i ∝ exp(score)\n", classes.size() == 1 ? "one class" : "classes");
  fmt::print("{:>9}  {:>9}  {:>9}  {:>17}  {:>14}\n", "count", "shift", "spread", "weight", "relative error");
  for (std::size_t c = 0; c < classes.size(); ++c) {
    fmt::print("{:>9.4g}  {:>9.4g}  {:>9.4g}  {:>17.10e}  {:>14.0e}\n", classes[c].count, classes[c].shift,
               classes[c].spread, m.weights[c].value, relative_error(m.weights[c]));
  }
  fmt::print("\n{:<16}  {:>17}  {:>14}  meaning\n", "", "value", "relative error");
  print_number("P2", m.P2, "E[P_2], P_k = sum of p_i^k");
  print_number("effective_tokens", {1 / m.P2.value, m.P2.error / m.P2.value / m.P2.value}, "1 / P2");
  print_number("P3", m.P3, "E[P_3]");
  print_number("P2P2", m.P2P2, "E[P_2^2]");
  print_number("mean_score", m.mean_score, "E[sum of p_i times the score of i]");
  for (const WeightField& field : kWeightFields)
    print_number(field.name, answer.weights.*field.estimate, field.meaning);
  if (question.heaviest)
    print_number("heaviest_mass", answer.heaviest,
                 fmt::format("E[sum of the {} largest p_i]", *question.heaviest));
  if (!question.needle) return;
  fmt::print("\nquantiles of the weight W of the needle, of score {}\n", *question.needle);
  fmt::print("{:>11}  {:>17}  {:>8}\n", "probability", "x", "error");
  for (const auto& [probability, weight] : answer.quantiles)
    fmt::print("{:>11}  {:>17.10e}  {:>8.0e}\n", probability, weight.value, weight.error);
  if (answer.below.empty()) return;
  fmt::print("\nchances of at most and of more than the weight x\n");
  fmt::print("{:>11}  {:>17}  {:>8}  {:>17}  {:>8}\n", "x", "P(W <= x)", "error", "P(W > x)", "error");
  for (const auto& [weight, chances] : answer.below) {
    fmt::print("{:>11}  {:>17.10e}  {:>8.0e}  {:>17.10e}  {:>8.0e}\n", weight, chances.below.value,
               chances.below.error, chances.above.value, chances.above.error);
  }
}

}  // namespace

double relative_error(const Estimate& estimate) {
  const double size = std::abs(estimate.value);
  return size > estimate.error ? estimate.error / size : estimate.error;
}

double error_estimate(const WeightMoments& weights) {
  double largest = 0;
  for (const WeightField& field : kWeightFields)
    largest = std::max(largest, relative_error(weights.*field.estimate));
  return largest;
}

void print_number(const char* name, const Estimate& estimate, const std::string& meaning) {
  fmt::print("{:<16}  {:>17.10e}  {:>14.0e}  {}\n", name, estimate.value, relative_error(estimate), meaning);
}

void answer_classes(const ClassQuestion& question, bool json) {
  std::vector<TokenClass> classes = question.classes;
  if (question.needle) classes.push_back({1, *question.needle, 0});
  const ClassAnswer found = answer(question, classes);
  if (!json) return print_classes(question, classes, found);

  io::Json all, errors;
  all["classes"] = io::Json::array();
  for (std::size_t c = 0; c < classes.size(); ++c) {
    all["classes"].push_back({{"count", classes[c].count},
                              {"shift", classes[c].shift},
                              {"spread", classes[c].spread},
                              {"weight", found.moments.weights[c].value},
                              {"weight_error", found.moments.weights[c].error}});
  }
  const auto add = [&](const char* name, const Estimate& estimate) {
    all[name] = estimate.value;
    errors[name] = estimate.error;
  };
  add("P2", found.moments.P2);
  all["effective_tokens"] = 1 / found.moments.P2.value;
  for (const WeightField& field : kWeightFields) add(field.name, found.weights.*field.estimate);
  if (question.heaviest) {
    all["heaviest"] = *question.heaviest;
    add("heaviest_mass", found.heaviest);
  }
  if (question.needle) all["needle"] = needle_json(*question.needle, found);
  all["error_estimate"] = found.error;
  add("P3", found.moments.P3);
  add("P2P2", found.moments.P2P2);
  add("mean_score", found.moments.mean_score);
  all["self_check"] = found.moments.self_check;
  all["errors"] = std::move(errors);
  print_json(all);
}

}  // namespace largo
