#include "largo/exact/temperature.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <boost/math/tools/minima.hpp>
#include <boost/math/tools/toms748_solve.hpp>

#include "largo/exact/score_law_error.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/runtime/check.hpp"
#include "runtime/distribute.hpp"
#include "runtime/parallel.hpp"

namespace largo {
namespace {

constexpr auto kFunction = "temperature_for";
constexpr double kStep = 1.1;       // from one β to the next, on the way to the target
constexpr double kFirst = 1e-3;     // the first β, in units of the scores
constexpr int kFallsToTheEnd = 30;  // steps without a new extreme, after which none is expected

// The largest |score| that matters, at β = 1.
double size_of_scores(const CrowdedPrompt& prompt) {
  double size = 0;
  for (const ScoreComponent& one : prompt.crowd.components)
    size = std::max({size, std::abs(one.centre), one.scale});
  const auto add = [&](const TokenClass& one) { size = std::max({size, std::abs(one.shift), one.spread}); };
  if (prompt.needle) add(*prompt.needle);
  for (const TokenClass& one : prompt.sinks) add(one);
  return size;
}

// Whether crowd_weights() takes the prompt at this β.
bool within_limits(const CrowdedPrompt& prompt, double beta) {
  const double size = beta * size_of_scores(prompt);
  if (prompt.crowd.components.size() == 1 && prompt.crowd.components[0].shape != ScoreShape::bounded)
    return size <= std::min(kLargestShift, kLargestScoreSpread);
  return size <= kLargestScoreRange / 2 && !beyond_limits(scaled_scores(prompt.crowd, beta));
}

class Search {
 public:
  Search(const CrowdedPrompt& prompt, double L, WeightStatistic statistic, double target)
      : prompt_(prompt), L_(L), statistic_(statistic), target_(target) {}

  Temperature find() {
    const double at_zero = value(0);
    // Uniform weights to rounding are those of β = 0.
    if (std::abs(at_zero / target_ - 1) <= 4 * std::numeric_limits<double>::epsilon()) return at(0);
    const double size = size_of_scores(prompt_);
    if (size == 0) refuse("all scores are equal, so the temperature changes nothing", 0, at_zero);
    const bool from_above = at_zero > target_;
    const auto beyond = [&](double found) { return from_above ? found <= target_ : found >= target_; };
    double before = 0, best = at_zero, best_beta = 0;
    int without_news = 0;
    for (double beta = kFirst / size;; beta *= kStep) {
      if (!within_limits(prompt_, beta)) refuse("no larger score can be computed", best_beta, best);
      const double here = value(beta);
      if (beyond(here)) return solve(before, beta);
      const bool news = from_above ? here < best : here > best;
      if (news) {
        best = here;
        best_beta = beta;
        without_news = 0;
      } else if (statistic_ == WeightStatistic::needle_weight && ++without_news >= kFallsToTheEnd) {
        return from_extreme(best_beta, from_above);
      }
      before = beta;
    }
  }

 private:
  double value(double beta) const { return value_of(statistic_, crowd_weights(prompt_, L_, beta)).value; }
  Temperature at(double beta) const { return {beta, crowd_weights(prompt_, L_, beta)}; }

  // The extreme lies within a step of this β: does it reach the target?
  Temperature from_extreme(double near, bool from_above) const {
    const double sign = from_above ? 1 : -1;
    const auto [beta, found] =
        boost::math::tools::brent_find_minima([&](double b) { return sign * value(b); }, near / kStep,
                                              near * kStep, std::numeric_limits<double>::digits / 2);
    const double extreme = sign * found;
    if (from_above ? extreme > target_ : extreme < target_) {
      refuse(from_above ? "a larger or smaller factor only raises it"
                        : "a larger or smaller factor only lowers it",
             beta, extreme);
    }
    return solve(near / kStep, beta);
  }

  Temperature solve(double low, double high) const {
    const auto distance = [&](double beta) { return std::log(value(beta) / target_); };
    const double at_low = distance(low), at_high = distance(high);
    if (at_low == 0) return at(low);
    if (at_high == 0) return at(high);
    std::uintmax_t steps = 200;
    const auto [below, above] = boost::math::tools::toms748_solve(
        distance, low, high, at_low, at_high, boost::math::tools::eps_tolerance<double>(52), steps);
    // The better of the two ends.
    Temperature one = at(below), other = at(above);
    const auto residual = [&](const Temperature& found) {
      return std::abs(value_of(statistic_, found.weights).value / target_ - 1);
    };
    return residual(one) <= residual(other) ? one : other;
  }

  [[noreturn]] void refuse(std::string_view why, double beta, double reached) const {
    fail(kFunction,
         fmt::format("{} = {:.6g} is out of reach at L = {:.6g}: it comes to {:.6g} at beta = {:.6g}, and {}",
                     to_string(statistic_), target_, L_, reached, beta, why));
  }

  const CrowdedPrompt& prompt_;
  double L_;
  WeightStatistic statistic_;
  double target_;
};

double tokens_in_all(const CrowdedPrompt& prompt, double L) {
  double sum = L + (prompt.needle ? prompt.needle->count : 0);
  for (const TokenClass& one : prompt.sinks) sum += one.count;
  return sum;
}

void check_target(const CrowdedPrompt& prompt, double L, WeightStatistic statistic, double target) {
  const std::string argument = fmt::format("target of {}", to_string(statistic));
  const double all = tokens_in_all(prompt, L);
  switch (statistic) {
    case WeightStatistic::effective_tokens:
      if (!(target >= 1 && target <= all))
        fail(kFunction, argument, target, fmt::format("between 1 and {:.10g}, the number of tokens", all));
      return;
    case WeightStatistic::entropy:
      if (!(target > 0 && target <= std::log(all))) {
        fail(
            kFunction, argument, target,
            fmt::format("above 0 and at most {:.10g}, the logarithm of the number of tokens", std::log(all)));
      }
      return;
    case WeightStatistic::needle_weight:
      if (!prompt.needle) fail(kFunction, "a target of needle_weight needs a needle");
      if (!(target > 0 && target < 1)) fail(kFunction, argument, target, "between 0 and 1");
      return;
  }
}

// Rows are independent: threads take them in any order, with the same bits.
template <typename Compute>
std::vector<TemperatureRow> all_rows(std::size_t count, const Execution& execution, const Compute& compute) {
  std::vector<TemperatureRow> rows(count);
  runtime::parallel_for(std::ssize(rows), execution, [&](std::ptrdiff_t i) {
    runtime::check_stop(execution);
    rows[static_cast<std::size_t>(i)] = compute(static_cast<std::size_t>(i));
  });
  return rows;
}

std::optional<Estimate> output_error_of(const CrowdedPrompt& prompt, const ConstMatrixRef& value_map,
                                        double L, double beta) {
  if (prompt.needle || !prompt.sinks.empty() || beta == 0) return std::nullopt;
  return crowd_output_error(prompt.crowd, value_map, L, beta);
}

}  // namespace

std::string_view to_string(WeightStatistic statistic) {
  switch (statistic) {
    case WeightStatistic::effective_tokens:
      return "effective_tokens";
    case WeightStatistic::entropy:
      return "entropy";
    case WeightStatistic::needle_weight:
      return "needle_weight";
  }
  return "";
}

Estimate value_of(WeightStatistic statistic, const CrowdWeights& weights) {
  switch (statistic) {
    case WeightStatistic::effective_tokens:
      return weights.effective_tokens;
    case WeightStatistic::entropy:
      return weights.entropy;
    case WeightStatistic::needle_weight:
      return weights.needle;
  }
  return {};
}

Temperature temperature_for(const CrowdedPrompt& prompt, double L, WeightStatistic statistic, double target) {
  check_target(prompt, L, statistic, target);
  return Search(prompt, L, statistic, target).find();
}

std::vector<TemperatureRow> temperature_rows(const CrowdedPrompt& prompt, const ConstMatrixRef& value_map,
                                             const std::vector<double>& lengths,
                                             const std::vector<TemperatureLaw>& laws,
                                             const Execution& execution) {
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
                                        const std::function<double(double)>& target,
                                        const Execution& execution) {
  for (const double L : lengths) check_target(prompt, L, statistic, target(L));
  return all_rows(lengths.size(), execution, [&](std::size_t i) {
    const double L = lengths[i];
    Temperature found = temperature_for(prompt, L, statistic, target(L));
    const auto error = output_error_of(prompt, value_map, L, found.beta);
    return TemperatureRow{L, "target", std::move(found), error};
  });
}

std::optional<double> growth_exponent(const TemperatureRow& from, const TemperatureRow& to) {
  const double e = std::exp(1.0);
  if (!(from.L > e && to.L > e) || from.L == to.L || !(from.at.beta > 0 && to.at.beta > 0))
    return std::nullopt;
  return std::log(to.at.beta / from.at.beta) / std::log(std::log(to.L) / std::log(from.L));
}

}  // namespace largo
