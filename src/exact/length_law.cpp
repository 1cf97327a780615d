#include "largo/exact/length_law.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <Eigen/Eigenvalues>

#include "largo/runtime/check.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo {
namespace {

constexpr const char* kLengthLaw = "LengthLaw";
constexpr double kSumTolerance = 1e-9;
constexpr std::size_t kFewLengths = 8;  // a Gauss rule has at least as many nodes
constexpr int kMostNodes = 60;
constexpr double kRuleTolerance = 1e-12;  // sums over a million lengths have rounding errors of 1e-13

// The Gauss rule of a discrete measure: Lanczos' recurrence on its points, then the eigenvalues of the
// tridiagonal matrix. The recurrence is not orthogonalised again: what that costs are copies of nodes that
// share their weight, not accuracy.
class GaussRule {
 public:
  GaussRule(const Vector& points, const Vector& weights) : points_(points) {
    long double sum = 0;  // of up to ten million weights: a sum in double would lose three digits
    for (const double weight : weights) sum += weight;
    total_ = static_cast<double>(sum);
    vector_ = (weights / total_).cwiseSqrt();
    before_ = Vector::Zero(points.size());
  }

  void extend() {
    Vector next = points_.cwiseProduct(vector_) - last_norm_ * before_;
    const double a = next.dot(vector_);
    next -= a * vector_;
    diagonal_.push_back(a);
    last_norm_ = next.norm();
    norms_.push_back(last_norm_);
    before_ = std::move(vector_);
    vector_ = next / last_norm_;
  }

  std::vector<LengthLaw::Node> nodes() const {
    const auto n = static_cast<Eigen::Index>(diagonal_.size());
    Eigen::SelfAdjointEigenSolver<Matrix> solver;
    solver.computeFromTridiagonal(Eigen::Map<const Vector>(diagonal_.data(), n),
                                  Eigen::Map<const Vector>(norms_.data(), n - 1));
    std::vector<LengthLaw::Node> nodes;
    for (Eigen::Index i = 0; i < n; ++i) {
      const double share = solver.eigenvectors()(0, i);
      nodes.push_back({std::max(1.0, std::exp(solver.eigenvalues()[i])), total_ * share * share});
    }
    return nodes;
  }

 private:
  const Vector& points_;
  double total_;
  Vector vector_, before_;
  double last_norm_ = 0;
  std::vector<double> diagonal_, norms_;
};

// For negative powers: the smallest terms come first, so that a million of them lose no digits.
double average_power(const std::vector<LengthLaw::Node>& nodes, double power) {
  double sum = 0;
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node)
    sum += node->weight * std::pow(node->L, power);
  return sum;
}

}  // namespace

LengthLaw::LengthLaw(double L) : LengthLaw(std::vector<double>{L}, {1}) {}

LengthLaw::LengthLaw(std::vector<double> lengths, std::vector<double> probabilities) {
  if (lengths.empty()) fail(kLengthLaw, "there are no lengths");
  check_size(kLengthLaw, "probabilities", static_cast<std::ptrdiff_t>(probabilities.size()),
             static_cast<std::ptrdiff_t>(lengths.size()));
  double sum = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    check_prompt_length(kLengthLaw, lengths[i]);
    if (!(probabilities[i] > 0)) {
      fail(kLengthLaw, fmt::format("probability of L = {:g}", lengths[i]), probabilities[i], "positive");
    }
    sum += probabilities[i];
  }
  if (!(std::abs(sum - 1) <= kSumTolerance)) fail(kLengthLaw, "sum of the probabilities", sum, "1");
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return lengths[i] < lengths[j]; });
  for (const std::size_t i : order) {
    if (!lengths_.empty() && lengths_.back() == lengths[i]) {
      fail(kLengthLaw, fmt::format("the length {:g} is given twice", lengths[i]));
    }
    lengths_.push_back(lengths[i]);
    probabilities_.push_back(lengths.size() == 1 ? 1 : probabilities[i] / sum);
  }
  if (is_one_length()) {
    name_ = fmt::format("{:.17g}", lengths_[0]);
  } else {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < lengths_.size(); ++i) {
      parts.push_back(fmt::format("{}={}", lengths_[i], probabilities_[i]));
    }
    name_ = fmt::format("{}", fmt::join(parts, ","));
  }
  make_rule();
}

LengthLaw LengthLaw::uniform(std::int64_t first, std::int64_t last) {
  if (first < 1) fail(kLengthLaw, "first length", static_cast<double>(first), "at least 1");
  if (last < first) {
    fail(kLengthLaw, "last length", static_cast<double>(last), "at least the first one");
  }
  const std::int64_t count = last - first + 1;
  if (count > kMostLengths) {
    fail(kLengthLaw, "number of lengths", static_cast<double>(count), fmt::format("at most {:g}", 1e7));
  }
  LengthLaw law;
  law.lengths_.resize(static_cast<std::size_t>(count));
  std::iota(law.lengths_.begin(), law.lengths_.end(), static_cast<double>(first));
  law.probabilities_.assign(law.lengths_.size(), 1 / static_cast<double>(count));
  law.name_ = count == 1 ? fmt::format("{}", first) : fmt::format("uniform:{}:{}", first, last);
  law.make_rule();
  return law;
}

LengthLaw LengthLaw::geometric(double mean) {
  if (!(mean > 1 && mean <= 1e5)) fail(kLengthLaw, "mean", mean, "above 1 and at most 1e5");
  const double log_q = std::log1p(-1 / mean);
  const auto count = static_cast<std::size_t>(std::ceil(std::log(1e-16) / log_q));
  LengthLaw law;
  double sum = 0;
  for (std::size_t k = 1; k <= count; ++k) {
    law.lengths_.push_back(static_cast<double>(k));
    law.probabilities_.push_back(std::exp(log_q * static_cast<double>(k - 1)) / mean);
    sum += law.probabilities_.back();
  }
  for (double& p : law.probabilities_) p /= sum;
  law.name_ = fmt::format("geometric:{}", mean);
  law.make_rule();
  return law;
}

double LengthLaw::mean() const {
  return std::inner_product(lengths_.begin(), lengths_.end(), probabilities_.begin(), 0.0);
}

void LengthLaw::make_rule() {
  double inverse_mean = 0;
  for (std::size_t i = 0; i < lengths_.size(); ++i) inverse_mean += probabilities_[i] / lengths_[i];
  harmonic_mean_ = is_one_length() ? longest() : 1 / inverse_mean;
  // The infinite prompt has no place on the axis of ln L, and stays a node of its own.
  const std::size_t finite = lengths_.size() - (has_finite_tail() ? 0 : 1);
  std::vector<Node> own;
  for (std::size_t i = 0; i < lengths_.size(); ++i) own.push_back({lengths_[i], probabilities_[i]});
  if (finite <= kFewLengths) {
    rule_ = std::move(own);
    return;
  }
  const auto count = static_cast<Eigen::Index>(finite);
  const Vector logs = Eigen::Map<const Vector>(lengths_.data(), count).array().log();
  const std::vector<Node> exact(own.begin(), own.begin() + count);
  const double inverse = average_power(exact, -1), inverse_square = average_power(exact, -2);
  GaussRule gauss(logs, Eigen::Map<const Vector>(probabilities_.data(), count));
  for (int n = 1; n <= kMostNodes && static_cast<std::size_t>(n) < finite; ++n) {
    gauss.extend();
    if (static_cast<std::size_t>(n) < kFewLengths) continue;
    rule_ = gauss.nodes();
    if (std::abs(average_power(rule_, -1) / inverse - 1) <= kRuleTolerance &&
        std::abs(average_power(rule_, -2) / inverse_square - 1) <= kRuleTolerance) {
      rule_.insert(rule_.end(), own.begin() + count, own.end());
      return;
    }
  }
  if (finite > kMostNodes) {
    fail(kLengthLaw, fmt::format("{} lengths from {:g} to {:g} are too many, too far apart, for a rule of {} "
                                 "nodes: give fewer",
                                 finite, shortest(), lengths_[finite - 1], kMostNodes));
  }
  rule_ = std::move(own);
}

}  // namespace largo
