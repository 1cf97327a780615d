// A Gaussian crowd is one more class of tokens. Any other law has its nodes (score_law_table.hpp), by which
// its integrals at one y = ln t are sums. The formulas are those of class_moments.cpp, with the entropy in
// positive terms, on the lattice that goes with the nodes: the law may have rare tokens of large scores, so
// that integrands may have gaps.
#include "largo/exact/crowded_prompt.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "exact/class_node.hpp"
#include "exact/log_remainder.hpp"
#include "exact/score_law_table.hpp"
#include "largo/exact/score_law_error.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/log_sum_exp.hpp"

namespace largo {
namespace {

constexpr auto kFunction = "crowd_weights";
constexpr double kNothing = -745;    // e^x is zero below
constexpr double kFoldsAtLeft = 45;  // integrands fall like t there
constexpr double kDepth = 38;        // to which the integrals of planted classes are computed

// The crowd under the integral at one y.
class CrowdIntegrals {
 public:
  CrowdIntegrals(const ScoreLaw& law, double reference, double L, int coarsening)
      : L_(L),
        table_(exact::make_node_table(law, reference, L, coarsening, 1,
                                      std::numeric_limits<std::ptrdiff_t>::max(),
                                      [](const exact::ScoreNode&, Eigen::Ref<Vector>) {})),
        nodes_(table_.score, table_.expected, L) {}

  double log_power(double y) {
    log_phi_ = -nodes_.exponent(y);
    return L_ * log_phi_;
  }

  // Sums over the nodes, at the y of the last call of log_power(): L E[u^k e^-u]/φ, and L E[h(u)]/φ.
  double R(int k) const {
    const Eigen::ArrayXd& z = nodes_.z();
    const auto once = table_.expected * z * nodes_.exponential();
    return (k == 1 ? once.sum() : (once * z).sum()) * std::exp(-log_phi_);
  }
  double remainder(double y) const {
    double sum = 0;
    for (std::ptrdiff_t i = 0; i < table_.score.size(); ++i)
      sum += table_.expected[i] * exact::log_remainder(table_.score[i] + y);
    return sum * std::exp(-log_phi_);
  }

 private:
  double L_;
  exact::NodeTable table_;
  exact::NodesAtT nodes_;
  double log_phi_ = 0;
};

// The sums over y for nodes of one coarsening. Weights are in the order of the planted classes, then the
// crowd's.
struct LatticeSums {
  std::vector<double> weights;
  double P2 = 0, entropy = 0, log_partition = 0, peak = 0;
};

class LatticeRule {
 public:
  LatticeRule(const ScoreLaw& law, std::span<const TokenClass> planted, double L, double reference,
              double log_mass, int coarsening)
      : planted_(planted.begin(), planted.end()),
        crowd_(law, reference, L, coarsening),
        L_(L),
        step_(coarsening * exact::kStepInLogT),
        first_(static_cast<std::int64_t>(std::floor((-log_mass - kFoldsAtLeft) / step_))) {}

  LatticeSums sums() {
    const std::int64_t last = last_alive();
    LatticeSums sums;
    sums.weights.assign(planted_.size() + 1, 0);
    double largest = 0;
    for (std::int64_t k = first_; k <= last; ++k) {
      const double y = static_cast<double>(k) * step_;
      const double term = add(y, step_ * std::exp(log_phi_at(y)), sums);
      if (term > largest) {
        largest = term;
        sums.peak = y;
      }
    }
    sums.log_partition -= std::numbers::egamma;
    return sums;
  }

 private:
  double log_phi_at(double y) {
    double sum = crowd_.log_power(y);
    for (exact::ClassIntegrals& one : planted_) {
      one.at(y, kDepth);
      sum += one.log_power;
    }
    return sum;
  }

  // The last k at which Φ, which falls from one to zero, is not zero yet.
  std::int64_t last_alive() {
    std::int64_t alive = first_, beyond = first_ + 64;
    while (log_phi_at(static_cast<double>(beyond) * step_) > kNothing) beyond += 2 * (beyond - first_);
    while (beyond - alive > 1) {
      const std::int64_t middle = alive + (beyond - alive) / 2;
      (log_phi_at(static_cast<double>(middle) * step_) > kNothing ? alive : beyond) = middle;
    }
    return alive;
  }

  // Adds the integrands at y, where log_phi_at() was called last, and returns the largest weight's.
  double add(double y, double weight, LatticeSums& sums) {
    double squares = 0, pairs = 0, ones = 0, remainders = 0, largest = 0;
    const auto one_class = [&](std::size_t c, double n, double R1, double R2, double H) {
      sums.weights[c] += weight * R1;
      largest = std::max(largest, weight * R1);
      squares += R2;
      pairs += H * ((n - 1) / n * R1 + ones) + R1 * remainders;
      ones += R1;
      remainders += H;
    };
    for (std::size_t c = 0; c < planted_.size(); ++c) {
      const exact::ClassIntegrals& one = planted_[c];
      one_class(c, one.count(), one.R(1), one.R(2), one.remainder(y));
    }
    one_class(planted_.size(), L_, crowd_.R(1), crowd_.R(2), crowd_.remainder(y));
    sums.log_partition -= weight * y * ones;
    sums.P2 += weight * squares;
    sums.entropy += weight * pairs;
    return largest;
  }

  std::vector<exact::ClassIntegrals> planted_;
  CrowdIntegrals crowd_;
  double L_, step_;
  std::int64_t first_;
};

// Estimates in the order in which the classes are given, with the crowd last.
struct AnyWeights {
  std::vector<Estimate> weights;
  Estimate P2, entropy, log_partition;
};

AnyWeights by_nodes(const ScoreLaw& law, std::vector<TokenClass> planted, double L) {
  if (const auto beyond = beyond_limits(law)) fail(kFunction, *beyond);
  std::vector<double> logs;
  for (const ScoreComponent& one : law.components) logs.push_back(std::log(one.weight) + one.log_partition());
  const auto top = static_cast<std::size_t>(std::max_element(logs.begin(), logs.end()) - logs.begin());
  const double reference = law.components[top].centre;
  const double crowd_mass = std::log(L) + numerics::log_sum_exp(logs) - reference;
  logs = {crowd_mass};
  for (TokenClass& one : planted) {
    one.shift -= reference;
    if (!(std::abs(one.shift) <= kLargestScoreRange)) {
      fail(kFunction, "distance between the scores of the crowd and of a planted token", one.shift,
           "at most 1e4 for crowds that are not Gaussian");
    }
    logs.push_back(std::log(one.count) + one.shift + one.spread * one.spread / 2);
  }
  const double log_mass = numerics::log_sum_exp(logs);
  const auto sums_at = [&](int coarsening) {
    return LatticeRule(law, planted, L, reference, log_mass, coarsening).sums();
  };
  const LatticeSums fine = sums_at(1), coarse = sums_at(2);
  const auto estimate = [&](double value, double other) {
    return Estimate{value, exact::error_of_sum(law, {value, value, fine.peak}, other)};
  };
  AnyWeights found;
  for (std::size_t c = 0; c < fine.weights.size(); ++c)
    found.weights.push_back(estimate(fine.weights[c], coarse.weights[c]));
  found.P2 = estimate(fine.P2, coarse.P2);
  found.entropy = estimate(fine.entropy, coarse.entropy);
  const double size = 1 + std::abs(fine.log_partition);
  found.log_partition = {
      fine.log_partition + reference,
      exact::error_of_sum(law, {fine.log_partition, size, fine.peak}, coarse.log_partition) +
          2 * std::numeric_limits<double>::epsilon() * std::abs(reference)};
  return found;
}

AnyWeights by_classes(std::vector<TokenClass> classes) {
  const ClassMoments found = class_moments(classes);
  return {found.weights, found.P2, found.entropy, found.log_partition};
}

bool is_one_class(const ScoreLaw& law) {
  return law.components.size() == 1 && law.components[0].shape != ScoreShape::bounded;
}

void check_prompt(const CrowdedPrompt& prompt, double L, double beta) {
  if (prompt.crowd.components.empty())
    fail(kFunction, "number of components of the score law", "0", "at least 1");
  if (!(L >= 1 && L <= kLargestL)) fail(kFunction, "L", L, "between 1 and 1e300");
  if (!(beta >= 0 && std::isfinite(beta))) fail(kFunction, "beta", beta, "finite and not negative");
}

}  // namespace

ScoreLaw scaled_scores(ScoreLaw law, double beta) {
  for (ScoreComponent& one : law.components) {
    one.centre *= beta;
    one.scale *= beta;
  }
  return law;
}

CrowdWeights crowd_weights(const CrowdedPrompt& prompt, double L, double beta) {
  check_prompt(prompt, L, beta);
  std::vector<TokenClass> classes = prompt.sinks;
  if (prompt.needle) classes.push_back(*prompt.needle);
  for (TokenClass& one : classes) {
    one.shift *= beta;
    one.spread *= beta;
  }
  if (!classes.empty()) exact::check_classes(kFunction, classes);
  AnyWeights found;
  if (beta == 0 || is_one_class(prompt.crowd)) {
    const ScoreComponent& crowd = prompt.crowd.components[0];
    classes.push_back(beta == 0 ? TokenClass{L, 0, 0}
                                : TokenClass{L, beta * crowd.centre, beta * crowd.scale});
    found = by_classes(std::move(classes));
  } else {
    found = by_nodes(scaled_scores(prompt.crowd, beta), std::move(classes), L);
  }
  CrowdWeights weights;
  weights.crowd = found.weights.back();
  found.weights.pop_back();
  if (prompt.needle) {
    weights.needle = found.weights.back();
    found.weights.pop_back();
  }
  weights.sinks = std::move(found.weights);
  weights.P2 = found.P2;
  weights.effective_tokens = {1 / found.P2.value, found.P2.error / (found.P2.value * found.P2.value)};
  weights.entropy = found.entropy;
  weights.log_partition = found.log_partition;
  return weights;
}

Estimate crowd_output_error(const ScoreLaw& crowd, const ConstMatrixRef& value_map, double L, double beta) {
  check_prompt({crowd}, L, beta);
  const ScoreLaw law = scaled_scores(crowd, beta);
  const ScoreComponent& one = law.components[0];
  if (law.components.size() > 1 || one.shape != ScoreShape::gaussian) {
    const OutputError found = score_law_error(law, value_map, L);
    return {found.mse, found.error};
  }
  check_size("crowd_output_error", "columns of the value map", value_map.cols(), one.mean.size());
  const SoftmaxMoments m = softmax_moments(one.scale, L);
  const double along = (value_map * one.slope).squaredNorm();
  double across = 0;
  if (one.covariance >= 0) {
    const Matrix& C = law.covariances[static_cast<std::size_t>(one.covariance)];
    across = one.constant_part * (value_map * C).cwiseProduct(value_map).sum();
  }
  return {along * m.mse.value + across * m.P2.value, along * m.mse.error + across * m.P2.error};
}

}  // namespace largo
