// Rows of a comparison of temperatures, and what they are read for.
#include "largo/exact/temperature.hpp"

#include <array>
#include <cmath>
#include <exception>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "largo/exact/softmax_moments.hpp"
#include "largo/runtime/check.hpp"
#include "runtime/distribute.hpp"
#include "runtime/parallel.hpp"

namespace largo {
namespace {

struct NamedStatistic {
  WeightStatistic statistic;
  std::string_view name;
  Estimate CrowdWeights::*estimate;
};

constexpr std::array kStatistics = {
    NamedStatistic{WeightStatistic::effective_tokens, "effective_tokens", &CrowdWeights::effective_tokens},
    NamedStatistic{WeightStatistic::entropy, "entropy", &CrowdWeights::entropy},
    NamedStatistic{WeightStatistic::needle_weight, "needle_weight", &CrowdWeights::needle},
};

const NamedStatistic& entry(WeightStatistic statistic) {
  return kStatistics[static_cast<std::size_t>(statistic)];
}

// Rows are independent: threads take them in any order, with the same bits. Of several refusals the first is
// reported, for any number of threads.
template <typename Compute>
std::vector<TemperatureRow> all_rows(std::size_t count, const Execution& execution, const Compute& compute) {
  std::vector<TemperatureRow> rows(count);
  std::vector<std::exception_ptr> refusals(count);
  runtime::parallel_for(std::ssize(rows), execution, [&](std::ptrdiff_t at) {
    runtime::check_stop(execution);
    const auto i = static_cast<std::size_t>(at);
    try {
      rows[i] = compute(i);
    } catch (const InputError&) {
      refusals[i] = std::current_exception();
    }
  });
  for (const std::exception_ptr& one : refusals) {
    if (one) std::rethrow_exception(one);
  }
  return rows;
}

void check_lengths(const std::vector<double>& lengths) {
  for (const double L : lengths) {
    if (!(L >= 1 && L <= kLargestL)) fail("temperature", "L", L, "between 1 and 1e300");
  }
}

std::optional<Estimate> output_error_of(const CrowdedPrompt& prompt, const ConstMatrixRef& value_map,
                                        double L, double beta) {
  if (prompt.needle || !prompt.planted.empty()) return std::nullopt;
  return crowd_output_error(prompt, value_map, L, beta);
}

}  // namespace

std::string_view to_string(WeightStatistic statistic) { return entry(statistic).name; }

Estimate value_of(WeightStatistic statistic, const CrowdWeights& weights) {
  return weights.*entry(statistic).estimate;
}

WeightStatistic weight_statistic(std::string_view argument, std::string_view name) {
  for (const NamedStatistic& one : kStatistics) {
    if (one.name == name) return one.statistic;
  }
  fail("temperature", argument, fmt::format("'{}'", name), "effective_tokens, entropy or needle_weight");
}

std::vector<TemperatureRow> temperature_rows(const CrowdedPrompt& prompt, const ConstMatrixRef& value_map,
                                             const std::vector<double>& lengths,
                                             const std::vector<TemperatureLaw>& laws,
                                             const Execution& execution) {
  check_lengths(lengths);
  // All β first: a law that does not hold at some length is refused before the work.
  std::vector<double> betas;
  for (const TemperatureLaw& law : laws)
    for (const double L : lengths) betas.push_back(law(L));
  return all_rows(betas.size(), execution, [&](std::size_t i) {
    const double L = lengths[i % lengths.size()], beta = betas[i];
    return TemperatureRow{L,
                          laws[i / lengths.size()].name(),
                          {beta, crowd_weights(prompt, L, beta)},
                          output_error_of(prompt, value_map, L, beta)};
  });
}

std::vector<TemperatureRow> target_rows(const CrowdedPrompt& prompt, const ConstMatrixRef& value_map,
                                        const std::vector<double>& lengths, WeightStatistic statistic,
                                        const std::vector<double>& targets, const Execution& execution) {
  check_lengths(lengths);
  check_size("target_rows", "targets", std::ssize(targets), std::ssize(lengths));
  return all_rows(lengths.size(), execution, [&](std::size_t i) {
    Temperature found = temperature_for(prompt, lengths[i], statistic, targets[i]);
    const auto error = output_error_of(prompt, value_map, lengths[i], found.beta);
    return TemperatureRow{lengths[i], "target", std::move(found), error};
  });
}

std::optional<TemperatureGrowth> temperature_growth(const TemperatureRow& from, const TemperatureRow& to) {
  constexpr double e = std::numbers::e;
  if (!(from.L > e && to.L > e) || from.L == to.L || !(from.at.beta > 0 && to.at.beta > 0))
    return std::nullopt;
  const double change = std::log(to.at.beta / from.at.beta);
  return TemperatureGrowth{from.L, to.L, change / std::log(to.L / from.L),
                           change / std::log(std::log(to.L) / std::log(from.L))};
}

}  // namespace largo
