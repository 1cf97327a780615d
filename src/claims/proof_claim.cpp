// The idea of the proof of the concentration of attention, in numbers: numerator and denominator, whose terms
// have heavy tails, and prompts with and without a weight beyond a bound M.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "claims/chance.hpp"
#include "claims/claims.hpp"
#include "claims/plain_mean.hpp"
#include "claims/proof_prompts.hpp"
#include "exact/truncated_error.hpp"
#include "largo/exact/softmax_moments.hpp"

namespace largo::claims {
namespace {

constexpr std::int64_t kTailLength = 1000;
// Thresholds of the verdict.
constexpr double kTameSpread = 0.5;  // the variance of heavier weights cannot be sampled
constexpr double kFewest = 30;       // prompts in a regime, for a standard error to mean something
constexpr double kShareLimit = 0.01, kShareSpread = 2, kShareLength = 1e20;
constexpr double kTooSteep = 10;         // a power of the bound: the second negative control
constexpr double kTailErrors = 4;        // standard errors that a sampled tail may be above its bound
constexpr double kSmallestTail = 1e-6;   // of the bounds that are shown
constexpr double kSmallestShown = 1e-9;  // below that, the exact share is rounding

// P(max > M), E‖T[μ̂_L] − T[μ]‖², and the share of it from such prompts.
struct Regimes {
  double beyond = 0, total = 0, share = 0;
};

Regimes exact_regimes(double s, double L, double M) {
  const exact::TruncatedError first = exact::truncated_error(s, L, M, kProofDimension - 1);
  const SoftmaxMoments moments = softmax_moments(s, L);
  const double total = moments.mse.value + (kProofDimension - 1) * moments.P2.value;
  return {first.beyond, total, std::max(0.0, 1 - first.error / total)};
}

// The tail of a mean of L independent terms between 0 and M, by Bernstein's inequality
double bernstein(double L, double variance, double M, double distance) {
  return std::min(1.0, 2 * std::exp(-L * distance * distance / (2 * variance + 2 * M * distance / 3)));
}

Curve points_for(std::size_t spread) {
  return {.style = Curve::Style::points, .color = static_cast<int>(spread)};
}
Curve line_for(std::size_t spread) {
  return {.label = fmt::format("s = {:g}", kProofSpreads[spread]), .color = static_cast<int>(spread)};
}

class ProofCheck {
 public:
  explicit ProofCheck(const ClaimOptions& options) : control_(options.control) {}

  void add_prompts(std::size_t spread, std::int64_t length, const Prompts& prompts) {
    const double s = kProofSpreads[spread];
    const auto L = static_cast<double>(length), M = largest_allowed(L);
    const Regimes exact = exact_regimes(s, L, control_ == 1 ? 2 * M : M);
    const PlainMean beyond = mean_of(prompts, [](const PromptRow& p) { return 1 - p[kFirstRegime]; });
    const auto error_where = [&](double regime) {
      return mean_of(prompts,
                     [&](const PromptRow& p) { return p[kFirstRegime] == regime ? p[kSquaredError] : 0; });
    };
    const PlainMean below_M = error_where(1), beyond_M = error_where(0);
    const auto n = static_cast<double>(prompts.size());
    if (std::min(beyond.value, 1 - beyond.value) * n >= kFewest) {
      compare(beyond, exact.beyond);
      compare(below_M, exact.total * (1 - exact.share));
      compare(beyond_M, exact.total * exact.share);
      add_point(counted_[spread], L, beyond);
      add_point(carried_[spread], L, beyond_M, exact.total);
    }
    const auto [plain, truncated] = variances(s, L, M, prompts);
    outside_ += mean_of(prompts, [](const PromptRow& p) { return p[kOutside]; }).value * n;
    table_.rows.push_back(
        {s, length, exact.beyond, beyond.value, exact.share, beyond_M.value / exact.total, plain, truncated});
    if (length == kTailLength) add_tail(spread, L, M, prompts);
  }

  void add_lines(int count) {
    for (std::size_t i = 0; i < kProofSpreads.size(); ++i) {
      Curve probability = line_for(i), share = line_for(i);
      for (const double L : log_spaced_lengths(10, kShareLength, count)) {
        const Regimes exact = exact_regimes(kProofSpreads[i], L, largest_allowed(L));
        probability.add(L, exact.beyond > kSmallestShown ? exact.beyond : 0);
        share.add(L, exact.share > kSmallestShown ? exact.share : 0);
        if (L == kShareLength && (kProofSpreads[i] <= kShareSpread || control_ == 2))
          last_share_ = larger(last_share_, exact.share);
      }
      probability_.curves.insert(probability_.curves.end(), {probability, counted_[i]});
      share_.curves.insert(share_.curves.end(), {share, carried_[i]});
    }
  }

  report::ReportSection section(const std::string& computed) {
    report::ReportSection claim{.computed = computed + chance_text(compared_)};
    claim.numbers = {
        largest_distance("sampled and exact numbers", worst_, compared_),
        {"largest sampled tail over Bernstein's bound, less four standard errors", above_bernstein_, 1},
        {"prompts whose output along the query is larger than the largest of their tokens there, none by "
         "convexity",
         outside_},
        {fmt::format("share of the prompts beyond M in the error, s ≤ {:g}, L = {}", kShareSpread,
                     report::shown(kShareLength)),
         last_share_, kShareLimit},
        {"smallest sampled over exact variance of the denominator", lightest_}};
    claim.tables = {table_};
    claim.figures = {
        {"proof",
         {{probability_, share_, tail_},
          "Left and middle: how likely a weight beyond M = √L is in a prompt, and the share of such prompts "
          "in the squared error; lines through exact values, filled marks sampled, bars two standard errors. "
          "Right: the tail of the truncated denominator, sampled, and Bernstein's bound (dashed)."}}};
    return decided(std::move(claim));
  }

 private:
  void compare(const PlainMean& sampled, double exact) {
    worst_ = larger(worst_, sampled.z_score(exact));
    ++compared_;
  }

  // Sampled over exact, for the denominator and for its part up to M.
  std::pair<double, double> variances(double s, double L, double M, const Prompts& prompts) {
    const auto around = [&](PromptNumber number, double mean) {
      return mean_of(prompts, [=](const PromptRow& p) { return std::pow(p[number] - mean, 2); });
    };
    const double rho = std::exp(s * s), exact = (rho - 1) / L;
    const exact::TruncatedWeight weight = exact::truncated_weight(s, M);
    const PlainMean plain = around(kDenominator, 1), truncated = around(kTruncated, weight.mean);
    compare(truncated, weight.variance / L);
    if (s <= kTameSpread) {
      compare(plain, exact);
      compare(around(kNumerator, s), (rho * (1 + 4 * s * s) - s * s) / L);
    }
    lightest_ = std::min(lightest_, plain.value / exact);
    return {plain.value / exact, truncated.value * L / weight.variance};
  }

  void add_tail(std::size_t spread, double L, double M, const Prompts& prompts) {
    const exact::TruncatedWeight weight = exact::truncated_weight(kProofSpreads[spread], M);
    Curve seen = points_for(spread), line = line_for(spread);
    line.style = Curve::Style::dashed;
    line.label.clear();
    for (int i = 1; i <= 20; ++i) {
      const double u = i / 50.0, distance = u * weight.mean;
      const double known = bernstein(L, weight.variance, M, distance);
      const double bound = control_ == 2 ? std::pow(known, kTooSteep) : known;
      const PlainMean frequency = mean_of(prompts, [&](const PromptRow& p) {
        return std::abs(p[kTruncated] - weight.mean) > distance ? 1.0 : 0.0;
      });
      line.add(u, bound > kSmallestTail ? bound : 0);
      above_bernstein_ = larger(above_bernstein_, (frequency.value - kTailErrors * frequency.error) / bound);
      if (frequency.value * static_cast<double>(prompts.size()) >= kFewest) add_point(seen, u, frequency);
    }
    tail_.curves.insert(tail_.curves.end(), {seen, line});
  }

  int control_;
  double worst_ = 0, outside_ = 0, last_share_ = 0, above_bernstein_ = 0, lightest_ = 1;
  std::size_t compared_ = 0;
  std::array<Curve, kProofSpreads.size()> counted_ = {points_for(0), points_for(1), points_for(2),
                                                      points_for(3)},
                                          carried_ = counted_;
  Panel probability_{.title = "P(max > M)", .x_label = "prompt length L", .y_label = "probability"},
      share_{.title = "their share of the error", .x_label = "prompt length L", .y_label = "share"},
      tail_{.title = fmt::format("denominator, L = {}", kTailLength),
            .x_label = "relative distance from the mean",
            .y_label = "probability of a larger one",
            .log_x = false};
  report::ReportTable table_{
      "Prompts with a weight beyond M = √L: how many there are, and their share of the exact squared error "
      "(the sampled one is their sampled squared error over the exact error of all prompts; exact shares "
      "below about 10⁻⁹ are rounding). The last columns are sampled over exact variances of the denominator, "
      "first with all "
      "its terms (exact variance (ρ − 1)/L), then with those up to M.",
      {"s", "L", "P(max > M)", "sampled P", "share", "sampled share", "variance", "truncated variance"}};
};

}  // namespace

report::ReportSection proof_claim(const ClaimOptions& options) {
  struct Size {
    std::int64_t length;
    std::ptrdiff_t prompts;
  };
  const std::vector<Size> sizes =
      options.quick ? std::vector<Size>{{10, 10000}, {100, 10000}, {1000, 2000}}
                    : std::vector<Size>{{10, 40000}, {100, 40000}, {1000, 10000}, {10000, 1000}};
  ProofCheck check(options);
  for (const auto& [length, count] : sizes) {
    const auto prompts = draw_proof_prompts(length, count, options);
    for (std::size_t i = 0; i < kProofSpreads.size(); ++i) check.add_prompts(i, length, prompts[i]);
  }
  check.add_lines(20);
  return check.section(fmt::format(
      "Standard Gaussian tokens in d = {:g}, V = I, at queries whose scores have the standard deviations s = "
      "0.5, 1, 2 and 3; M = √L. {} to {} prompts at each of {} lengths: the frequency of weights beyond M "
      "against 1 − Φ(ln M / s)^{{L}}; the squared error of prompts on either side of M, each against an "
      "integral that restricts the tokens to weights up to M; the variance of the denominator truncated at "
      "M, exactly known; and its tail against Bernstein's inequality. Without a truncation the variances are "
      "(ρ − 1)/L for the denominator, ρ = exp(s²), and as simple for the numerator. They are compared at s = "
      "0.5 only: for larger s the tails are so heavy that a sample may miss much of the variance. Regimes "
      "with fewer than {:g} prompts are not compared. The share of the prompts beyond M is also computed "
      "exactly up "
      "to L = 10²⁰, where s = 3 is left out: there it falls only once ln L > 72.",
      kProofDimension, sizes.back().prompts, sizes.front().prompts, sizes.size(), kFewest));
}

}  // namespace largo::claims
