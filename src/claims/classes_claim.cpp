// The claim that the weights of prompts of several classes of tokens are known exactly.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "claims/chance.hpp"
#include "claims/claims.hpp"
#include "claims/plain_mean.hpp"
#include "largo/exact/needle_weight.hpp"
#include "largo/exact/token_classes.hpp"
#include "largo/random/streams.hpp"

namespace largo::claims {
namespace {

struct ClassPrompt {
  const char* name;
  std::vector<TokenClass> classes;  // the one named first is followed
};

std::vector<ClassPrompt> class_prompts(bool little) {
  std::vector<ClassPrompt> prompts = {{"needle in a crowd", {{1, 6, 0}, {200, 0, 1.5}}},
                                      {"sink, window, crowd", {{1, 5, 0}, {30, 1, 0.5}, {300, 0, 1}}}};
  if (little) return prompts;
  prompts.push_back({"wide token, crowd", {{1, 0, 4}, {500, 0, 1}}});
  prompts.push_back({"two crowds and a sink", {{1, 7, 0}, {400, -1, 2}, {100, 2, 0.5}}});
  return prompts;
}

constexpr std::array kNumbers = {"weight of the first class",
                                 "sum of squared weights",
                                 "log-partition",
                                 "entropy",
                                 "largest weight",
                                 "chance that the first token has at most its mean weight"};

// The last number is for a first class of one token with a given score.
std::size_t numbers_of(const ClassPrompt& prompt) {
  const TokenClass& first = prompt.classes.front();
  return first.count == 1 && first.spread == 0 ? kNumbers.size() : kNumbers.size() - 1;
}

std::array<double, kNumbers.size()> drawn_numbers(const std::vector<TokenClass>& classes, double mean_weight,
                                                  const Stream& stream) {
  double count = 0;
  for (const TokenClass& one : classes) count += one.count;
  std::vector<double> x(static_cast<std::size_t>(count));
  stream.normals(0, x);
  std::size_t i = 0;
  for (const TokenClass& one : classes) {
    for (double k = 0; k < one.count; ++k, ++i) x[i] = one.shift + one.spread * x[i];
  }
  const double top = *std::max_element(x.begin(), x.end());
  double S = 0, squares = 0, scores = 0, first = 0;
  for (i = 0; i < x.size(); ++i) {
    const double w = std::exp(x[i] - top);
    S += w;
    squares += w * w;
    scores += w * x[i];
    if (static_cast<double>(i) < classes.front().count) first += w;
  }
  const double log_S = top + std::log(S);
  return {
      first / S, squares / (S * S), log_S, log_S - scores / S, 1 / S, first / S <= mean_weight ? 1.0 : 0.0};
}

// The negative control: all tokens in one crowd with the mean and variance of their scores.
TokenClass one_crowd(const std::vector<TokenClass>& classes) {
  double n = 0, mean = 0, square = 0;
  for (const TokenClass& one : classes) {
    n += one.count;
    mean += one.count * one.shift;
    square += one.count * (one.shift * one.shift + one.spread * one.spread);
  }
  mean /= n;
  return {n, mean, std::sqrt(square / n - mean * mean)};
}

std::vector<double> exact_numbers(const ClassPrompt& prompt, double mean_weight, bool as_one_crowd) {
  std::vector<TokenClass> classes = prompt.classes;
  std::vector<TokenClass> others(classes.begin() + 1, classes.end());
  if (as_one_crowd) {
    classes = {one_crowd(classes)};
    others = {one_crowd(others)};
  }
  const ClassMoments m = class_moments(classes);
  std::vector<double> numbers = {m.weights[0].value, m.P2.value, m.log_partition.value, m.entropy.value,
                                 mean_largest_weight(classes).value};
  if (numbers_of(prompt) > numbers.size()) {
    const NeedleWeight first(others, prompt.classes.front().shift);
    numbers.push_back(first.at(mean_weight).below.value);
  }
  return numbers;
}

// The weight of a needle among L tokens, the chance that it is the larger half, and the effective number of
// tokens.
std::vector<Panel> needle_panels() {
  Panel weight{.title = "weight of the needle", .x_label = "tokens in the crowd", .y_label = "mean weight"},
      half{.title = "chance of over half the weight",
           .x_label = "tokens in the crowd",
           .y_label = "probability",
           .log_y = false},
      tokens{.title = "effective tokens", .x_label = "tokens in the crowd", .y_label = "1 / E[P₂]"};
  int color = 0;
  for (const double score : {4.0, 8.0, 16.0}) {
    Curve of_weight{.label = fmt::format("score {:g}", score), .color = color++}, of_tokens = of_weight,
                                                                                  of_half = of_weight;
    for (const double L : log_spaced_lengths(10, 1e12, 23)) {
      const ClassMoments m = class_moments(std::vector<TokenClass>{{1, score, 0}, {L, 0, 1.5}});
      of_weight.add(L, m.weights[0].value);
      of_tokens.add(L, 1 / m.P2.value);
    }
    // It falls from one to zero within a decade or two.
    for (const double L : log_spaced_lengths(10, 1e12, 67))
      of_half.add(L, NeedleWeight({{L, 0, 1.5}}, score).at(0.5).above.value);
    weight.curves.push_back(std::move(of_weight));
    half.curves.push_back(std::move(of_half));
    tokens.curves.push_back(std::move(of_tokens));
  }
  return {weight, half, tokens};
}

}  // namespace

report::ReportSection classes_claim(const ClaimOptions& options) {
  const bool little = options.quick || options.control;
  const int drawn = options.full ? 100000 : little ? 5000 : 20000;
  const std::vector<ClassPrompt> prompts = class_prompts(little);
  report::ReportTable table{"Means over prompts, exact and simulated.",
                            {"prompt", "number", "exact", "simulated", "standard error"}};
  double worst = 0;
  std::uint64_t seed = options.seed;
  for (const ClassPrompt& prompt : prompts) {
    const double mean_weight = class_moments(prompt.classes).weights[0].value;
    const std::vector<double> exact = exact_numbers(prompt, mean_weight, options.control != 0);
    std::vector<std::array<double, kNumbers.size()>> samples(static_cast<std::size_t>(drawn));
    for (std::size_t k = 0; k < samples.size(); ++k)
      samples[k] = drawn_numbers(prompt.classes, mean_weight, Stream(seed, k));
    ++seed;
    for (std::size_t n = 0; n < exact.size(); ++n) {
      const PlainMean found = mean_of(samples, [&](const auto& sample) { return sample[n]; });
      table.rows.push_back({prompt.name, kNumbers[n], exact[n], found.value, found.error});
      worst = larger(worst, found.z_score(exact[n]));
    }
  }
  report::ReportSection claim{
      .computed = fmt::format(
          "{} prompts with sinks, needles, windows and crowds of 200 to 500 tokens: five or six numbers "
          "of each, exactly and as averages over {} simulated prompts. The figure is exact: a needle of "
          "given score in a crowd of spread 1.5.{}",
          prompts.size() == 2 ? "Two" : "Four", drawn, chance_text(table.rows.size()))};
  claim.numbers = {largest_distance("simulated and exact number", worst, table.rows.size())};
  claim.tables = {table};
  claim.figures = {{"classes",
                    {needle_panels(),
                     "A needle in a growing crowd, exactly: where it no longer holds the weight, the "
                     "crowd's tokens share it, and attention disperses."}}};
  return decided(std::move(claim));
}

}  // namespace largo::claims
