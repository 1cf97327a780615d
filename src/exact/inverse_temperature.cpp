// The β at which a statistic of the weights is at a target: a bracket by growing steps from β = 0, and a
// root.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <boost/math/tools/minima.hpp>
#include <boost/math/tools/toms748_solve.hpp>

#include "largo/exact/softmax_moments.hpp"
#include "largo/exact/temperature.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

constexpr auto kFunction = "temperature_for";
constexpr double kFirst = 1e-3;      // the first β, in units of the scores
constexpr double kStep = 2;          // from one β to the next, on the way to the target
constexpr double kNeedleFrom = 0.1;  // from here on, in these units, the weight of a needle may turn, and
constexpr double kNeedleStep = 1.1;  // steps are smaller
constexpr double kResidual = 1e-10;  // what is promised
constexpr int kBisections = 40;      // of the largest β, to 1e-12

class Search {
 public:
  Search(const CrowdedPrompt& prompt, double L, WeightStatistic statistic, double target)
      : prompt_(prompt),
        L_(L),
        statistic_(statistic),
        target_(target),
        at_zero_(value(0)),
        from_above_(at_zero_ > target) {}

  Temperature find() {
    // Uniform weights to rounding are those of β = 0.
    if (std::abs(at_zero_ / target_ - 1) <= 4 * std::numeric_limits<double>::epsilon()) return at(0);
    const double size = prompt_.score_size();
    if (size == 0) refuse("all scores are equal, so that no factor changes the weights");
    const bool turns = statistic_ == WeightStatistic::needle_weight;
    std::vector<double> tried = {0};
    double best = at_zero_;
    std::size_t best_at = 0;
    for (double beta = kFirst / size;; beta *= turns && beta * size >= kNeedleFrom ? kNeedleStep : kStep) {
      const bool last = beyond_limits(prompt_, beta).has_value();
      if (last) beta = largest_beta(tried.back(), beta);
      const double here = value(beta);
      if (reached(here)) return solve(tried.back(), beta);
      tried.push_back(beta);
      if (from_above_ ? here < best : here > best) {
        best = here;
        best_at = tried.size() - 1;
      }
      if (last) break;
    }
    if (!turns || best_at == 0 || best_at + 1 == tried.size()) refuse_beyond(tried.back(), best);
    // The extreme lies around here: does it reach the target?
    const double sign = from_above_ ? 1 : -1, before = tried[best_at - 1];
    const auto [beta, found] =
        boost::math::tools::brent_find_minima([&](double b) { return sign * value(b); }, before,
                                              tried[best_at + 1], std::numeric_limits<double>::digits / 2);
    if (!reached(sign * found)) refuse_beyond(tried.back(), sign * found);
    return solve(before, beta);
  }

 private:
  double value(double beta) const { return value_of(statistic_, crowd_weights(prompt_, L_, beta)).value; }
  Temperature at(double beta) const { return {beta, crowd_weights(prompt_, L_, beta)}; }
  bool reached(double found) const { return from_above_ ? found <= target_ : found >= target_; }

  // The last β within the limits, which lie between these two.
  double largest_beta(double within, double beyond) const {
    for (int i = 0; i < kBisections; ++i) {
      const double middle = within + (beyond - within) / 2;
      (beyond_limits(prompt_, middle) ? beyond : within) = middle;
    }
    return within;
  }

  Temperature solve(double low, double high) const {
    const auto distance = [&](double beta) { return std::log(value(beta) / target_); };
    const double at_low = distance(low), at_high = distance(high);
    if (at_low == 0) return at(low);
    if (at_high == 0) return at(high);
    std::uintmax_t steps = 200;
    const auto [below, above] = boost::math::tools::toms748_solve(
        distance, low, high, at_low, at_high, boost::math::tools::eps_tolerance<double>(52), steps);
    const auto residual = [&](const Temperature& found) {
      return std::abs(value_of(statistic_, found.weights).value / target_ - 1);
    };
    // The better of the two ends.
    Temperature one = at(below), other = at(above);
    Temperature& found = residual(one) <= residual(other) ? one : other;
    if (!(residual(found) <= kResidual)) {
      fail(kFunction, fmt::format("{} = {:.6g} at L = {:.6g} is met to {:.1g} only, relative: it cannot be "
                                  "computed more accurately at beta = {:.6g}",
                                  to_string(statistic_), target_, L_, residual(found), found.beta));
    }
    return found;
  }

  [[noreturn]] void refuse_beyond(double last, double best) const {
    // Between β = 0 and the last one nothing beyond `best` was found.
    refuse(
        fmt::format("for factors up to {:.4g}, beyond which scores are too large to be computed, it is at "
                    "{} {:.6g}{}",
                    last, from_above_ ? "least" : "most", best, hint()));
  }

  // A needle that is no larger than the largest score of the crowd is lost among them.
  std::string hint() const {
    if (statistic_ != WeightStatistic::needle_weight || from_above_) return "";
    const ScoreLaw law = prompt_.crowd->score_law(prompt_.direction);
    if (law.components.size() > 1 || law.components[0].shape != ScoreShape::gaussian) return "";
    const double largest = law.components[0].centre + law.components[0].scale * condensation_line(L_);
    return fmt::format(" (the needle's score is {:.4g}, the largest one in the crowd about {:.4g})",
                       prompt_.needle->shift, largest);
  }

  [[noreturn]] void refuse(std::string_view why) const {
    fail(kFunction, fmt::format("{} = {:.6g} is out of reach at L = {:.6g}: {}", to_string(statistic_),
                                target_, L_, why));
  }

  const CrowdedPrompt& prompt_;
  double L_;
  WeightStatistic statistic_;
  double target_, at_zero_;
  bool from_above_;
};

void check_target(const CrowdedPrompt& prompt, double L, WeightStatistic statistic, double target) {
  double all = L + (prompt.needle ? prompt.needle->count : 0);
  for (const TokenClass& one : prompt.planted) all += one.count;
  const auto refuse = [&](const std::string& requirement) {
    fail(kFunction, fmt::format("target of {} at L = {:.6g}", to_string(statistic), L), target, requirement);
  };
  switch (statistic) {
    case WeightStatistic::effective_tokens:
      if (!(target >= 1 && target <= all))
        refuse(fmt::format("between 1 and {:.10g}, the number of tokens", all));
      return;
    case WeightStatistic::entropy:
      if (all == 1) refuse("0, as there is one token alone, and any factor keeps it");
      if (!(target > 0 && target <= std::log(all)))
        refuse(
            fmt::format("above 0 and at most {:.10g}, the logarithm of the number of tokens", std::log(all)));
      return;
    case WeightStatistic::needle_weight:
      if (!prompt.needle) fail(kFunction, "a target of needle_weight needs a needle");
      if (!(target > 0 && target < 1)) refuse("between 0 and 1");
      return;
  }
}

}  // namespace

Temperature temperature_for(const CrowdedPrompt& prompt, double L, WeightStatistic statistic, double target) {
  check_target(prompt, L, statistic, target);
  return Search(prompt, L, statistic, target).find();
}

}  // namespace largo
