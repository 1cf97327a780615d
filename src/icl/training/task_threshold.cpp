#include "largo/icl/training/task_threshold.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "icl/training/flow_runs.hpp"
#include "icl/training/plan_parts.hpp"
#include "largo/runtime/check.hpp"
#include "runtime/parallel.hpp"

namespace largo {
namespace {

constexpr const char* kTaskThreshold = "threshold";
constexpr double kStudent = 3.182;    // 97.5 % of Student's t with kThresholdSets - 1 degrees of freedom
constexpr double kResolution = 1.02;  // ratio of neighbouring lengths at which the search stops
constexpr double kFirstGuess = 32;
constexpr double kWiden = 1.25;  // factor between lengths that look for the ends of the interval
constexpr int kMostWidenings = 12;
static_assert(kThresholdSets == 4);

class TaskSearch {
 public:
  TaskSearch(const TrainingPlan& plan, AttentionKind attention, double epsilon,
             const std::function<void(const TrainedExcess& tried)>& trained, const Execution& execution)
      : attention_(attention), epsilon_(epsilon), trained_(trained), execution_(execution) {
    for (std::int64_t k = 0; k < kThresholdSets; ++k) plans_.push_back(plan_of_seed(plan, k));
    limits_ = risks_at(icl::kInfinity);
    found_.epsilon = epsilon;
    found_.limit = mean_of(limits_);
  }

  TaskThreshold operator()() {
    double high = 1, low = 0;
    if (at(1).excess.value > epsilon_) bracket(low, high);
    while (high - low > 1 && high > kResolution * low) {
      if (high < kWiden * low && is_hidden(at(high)) && is_hidden(at(low))) break;
      const double next = between(low, high);
      (at(next).excess.value <= epsilon_ ? high : low) = next;
    }
    found_.L = high;
    found_.risk = at(high).risk;
    find_interval(high);
    std::sort(found_.tried.begin(), found_.tried.end(),
              [](const TrainedExcess& a, const TrainedExcess& b) { return a.L < b.L; });
    return found_;
  }

 private:
  using Risks = std::vector<double>;

  static Estimate mean_of(const Risks& values) {
    const auto n = static_cast<double>(values.size());
    double mean = 0, squares = 0;
    for (const double x : values) mean += x / n;
    for (const double x : values) squares += (x - mean) * (x - mean);
    return {mean, std::sqrt(squares / (n - 1) / n)};
  }

  // The trained risk on each set of draws.
  Risks risks_at(double L) {
    Risks risks(plans_.size());
    std::vector<PromptAverage> averages(plans_.size());
    Execution inner = execution_;
    inner.threads = 1;
    inner.ranks = nullptr;
    runtime::parallel_for(std::ssize(plans_), execution_, [&](std::ptrdiff_t k) {
      const auto i = static_cast<std::size_t>(k);
      const TrainingRun run = icl::flow_over_draws(plans_[i], attention_, L, {}, inner);
      risks[i] = run.final_risk.value;
      averages[i] = *run.average;
    });
    if (std::isfinite(L)) found_.average = averages.front();
    return risks;
  }

  TrainedExcess at(double L) {
    const auto known = std::find_if(found_.tried.begin(), found_.tried.end(),
                                    [&](const TrainedExcess& one) { return one.L == L; });
    if (known != found_.tried.end()) return *known;
    const Risks risks = risks_at(L);
    Risks excess(risks.size());
    for (std::size_t k = 0; k < risks.size(); ++k) excess[k] = risks[k] - limits_[k];
    found_.tried.push_back({L, mean_of(risks), mean_of(excess)});
    if (trained_) trained_(found_.tried.back());
    return found_.tried.back();
  }

  double longest() const {
    if (found_.average != PromptAverage::sampled) return kLongestExactTry;
    const auto d = static_cast<double>(token_dimension(plans_.front()));
    return std::min(kLongestSampledTry, std::floor(kLargestPrompt / d));
  }

  // The excess falls about like 1/L: jump to where it should be ε, and a factor of two beyond.
  void bracket(double& low, double& high) {
    low = 1;
    high = std::min(kFirstGuess, longest());
    for (double above = at(high).excess.value; above > epsilon_; above = at(high).excess.value) {
      if (high >= longest()) {
        fail(kTaskThreshold, "epsilon", epsilon_,
             fmt::format("reached by a prompt of at most {:g} tokens: at that length the excess is {:.3g}",
                         high, above));
      }
      low = high;
      high = std::ceil(std::min(high * std::clamp(2 * above / epsilon_, 2.0, 32.0), longest()));
    }
  }

  double between(double low, double high) {
    const double middle = std::round(std::sqrt(low * high));
    return std::clamp(middle, low + 1, high - 1);
  }

  bool is_hidden(const TrainedExcess& one) const {
    return std::abs(one.excess.value - epsilon_) < one.excess.error;
  }
  bool is_below(const TrainedExcess& one) const {
    return one.excess.value + kStudent * one.excess.error <= epsilon_;
  }
  bool is_above(const TrainedExcess& one) const {
    return one.excess.value - kStudent * one.excess.error > epsilon_;
  }

  // Walks away from L on both sides until the excess is clearly below or above ε.
  void find_interval(double L) {
    double length = L;
    for (int k = 0; k < kMostWidenings && !is_below(at(length)); ++k) {
      length = std::min(std::ceil(kWiden * length), longest());
    }
    if (!is_below(at(length))) {
      fail(kTaskThreshold,
           fmt::format("the noise hides whether {:g} tokens are enough for epsilon = {:g}: take more prompts",
                       length, epsilon_));
    }
    found_.upper = length;
    for (const TrainedExcess& one : found_.tried) {
      if (one.L < found_.upper && is_below(one)) found_.upper = std::max(one.L, L);
    }
    length = L - 1;
    for (int k = 0; k < kMostWidenings && length >= 1; ++k) {
      if (is_above(at(length))) break;
      length = std::min(length - 1, std::floor(length / kWiden));
    }
    found_.lower = length >= 1 && is_above(at(length)) ? length : 0;
    for (const TrainedExcess& one : found_.tried) {
      if (one.L < L && is_above(one)) found_.lower = std::max(found_.lower, one.L);
    }
  }

  std::vector<TrainingPlan> plans_;
  AttentionKind attention_;
  double epsilon_;
  const std::function<void(const TrainedExcess& tried)>& trained_;
  Execution execution_;
  Risks limits_;
  TaskThreshold found_;
};

}  // namespace

TaskThreshold task_threshold(const TrainingPlan& plan, AttentionKind attention, double epsilon,
                             const std::function<void(const TrainedExcess& tried)>& trained,
                             const Execution& execution) {
  check_positive(kTaskThreshold, "epsilon", epsilon);
  if (!plan.other) fail(kTaskThreshold, "task_threshold needs a problem other than Gaussian regression");
  check_size(kTaskThreshold, "start", plan.start.size(), icl::map_of(plan)->size());
  return TaskSearch(plan, attention, epsilon, trained, execution)();
}

}  // namespace largo
