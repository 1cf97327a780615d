// The formulas are those of class_moments.cpp, with the entropy in positive terms, on the lattice that goes
// with the nodes: the law may have rare tokens of large scores, so that integrands may have gaps.
#include "exact/crowd_lattice.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>

#include "exact/class_node.hpp"
#include "exact/log_remainder.hpp"
#include "exact/score_law_table.hpp"
#include "numerics/log_sum_exp.hpp"

namespace largo::exact {
namespace {

// e^x does not matter below. Not as low as e^x goes: R has a factor 1/φ, which must not overflow.
constexpr double kNothing = -690;
constexpr double kFoldsAtLeft = 45;  // integrands fall like t there
constexpr double kDepth = 38;        // to which the integrals of planted classes are computed

// The crowd under the integral at one y.
class CrowdIntegrals {
 public:
  CrowdIntegrals(const ScoreLaw& law, double reference, double L, int coarsening)
      : L_(L),
        table_(make_node_table(law, reference, L, {.log_length = std::log(L)}, coarsening, 1,
                               std::numeric_limits<std::ptrdiff_t>::max(),
                               [](const ScoreNode&, Eigen::Ref<Vector>) {})),
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
      sum += table_.expected[i] * log_remainder(table_.score[i] + y);
    return sum * std::exp(-log_phi_);
  }

 private:
  double L_;
  NodeTable table_;
  NodesAtT nodes_;
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
        step_(coarsening * kStepInLogT),
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
    for (ClassIntegrals& one : planted_) {
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
      const ClassIntegrals& one = planted_[c];
      one_class(c, one.count(), one.R(1), one.R(2), one.remainder(y));
    }
    one_class(planted_.size(), L_, crowd_.R(1), crowd_.R(2), crowd_.remainder(y));
    sums.log_partition -= weight * y * ones;
    sums.P2 += weight * squares;
    sums.entropy += weight * pairs;
    return largest;
  }

  std::vector<ClassIntegrals> planted_;
  CrowdIntegrals crowd_;
  double L_, step_;
  std::int64_t first_;
};

}  // namespace

double reference_score(const ScoreLaw& law) {
  const auto mass = [](const ScoreComponent& one) { return std::log(one.weight) + one.log_partition(); };
  return std::max_element(law.components.begin(), law.components.end(),
                          [&](const auto& one, const auto& other) { return mass(one) < mass(other); })
      ->centre;
}

AllWeights crowd_by_nodes(const ScoreLaw& law, std::vector<TokenClass> planted, double L) {
  std::vector<double> logs;
  for (const ScoreComponent& one : law.components) logs.push_back(std::log(one.weight) + one.log_partition());
  const double crowd_mass = std::log(L) + numerics::log_sum_exp(logs);
  const double reference = reference_score(law);
  logs = {crowd_mass - reference};
  for (TokenClass& one : planted) {
    one.shift -= reference;
    logs.push_back(std::log(one.count) + one.shift + one.spread * one.spread / 2);
  }
  const double log_mass = numerics::log_sum_exp(logs);
  const auto sums_at = [&](int coarsening) {
    return LatticeRule(law, planted, L, reference, log_mass, coarsening).sums();
  };
  const LatticeSums fine = sums_at(1), coarse = sums_at(2);
  const auto estimate = [&](double value, double other) {
    return Estimate{value, error_of_sum(law, {value, value, fine.peak}, other)};
  };
  AllWeights found;
  for (std::size_t c = 0; c < fine.weights.size(); ++c)
    found.weights.push_back(estimate(fine.weights[c], coarse.weights[c]));
  found.P2 = estimate(fine.P2, coarse.P2);
  found.entropy = estimate(fine.entropy, coarse.entropy);
  const double size = 1 + std::abs(fine.log_partition);
  found.log_partition = {fine.log_partition + reference,
                         error_of_sum(law, {fine.log_partition, size, fine.peak}, coarse.log_partition) +
                             2 * std::numeric_limits<double>::epsilon() * std::abs(reference)};
  return found;
}

}  // namespace largo::exact
