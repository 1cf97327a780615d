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
constexpr std::size_t kMostNodes = 60;
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

  std::vector<LengthNode> nodes() const {
    const auto n = static_cast<Eigen::Index>(diagonal_.size());
    Eigen::SelfAdjointEigenSolver<Matrix> solver;
    solver.computeFromTridiagonal(Eigen::Map<const Vector>(diagonal_.data(), n),
                                  Eigen::Map<const Vector>(norms_.data(), n - 1));
    std::vector<LengthNode> nodes;
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
double average_power(const std::vector<LengthNode>& nodes, double power) {
  double sum = 0;
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node)
    sum += node->weight * std::pow(node->L, power);
  return sum;
}

}  // namespace

LengthLaw::LengthLaw(double L) {
  check_prompt_length(kLengthLaw, L);
  data_ = std::make_shared<const Data>(Data{{L}, {1}, {}, {{L, 1}}, L, fmt::format("{}", L)});
}

LengthLaw::LengthLaw(std::vector<double> lengths, std::vector<double> probabilities) {
  if (lengths.empty()) fail(kLengthLaw, "there are no lengths");
  check_size(kLengthLaw, "probabilities", static_cast<std::ptrdiff_t>(probabilities.size()),
             static_cast<std::ptrdiff_t>(lengths.size()));
  double sum = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    check_prompt_length(kLengthLaw, lengths[i]);
    if (lengths.size() > 1 && (lengths[i] != std::floor(lengths[i]) || std::isinf(lengths[i]))) {
      fail(kLengthLaw, "length in a law", lengths[i], "whole and finite");
    }
    if (!(probabilities[i] > 0)) {
      fail(kLengthLaw, fmt::format("probability of L = {:g}", lengths[i]), probabilities[i], "positive");
    }
    sum += probabilities[i];
  }
  if (!(std::abs(sum - 1) <= kSumTolerance)) fail(kLengthLaw, "sum of the probabilities", sum, "1");
  if (lengths.size() == 1) {
    *this = LengthLaw(lengths[0]);
    return;
  }
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return lengths[i] < lengths[j]; });
  Data data;
  std::vector<std::string> parts;
  for (const std::size_t i : order) {
    if (!data.lengths.empty() && data.lengths.back() == lengths[i]) {
      fail(kLengthLaw, fmt::format("the length {:g} is given twice", lengths[i]));
    }
    data.lengths.push_back(lengths[i]);
    data.probabilities.push_back(probabilities[i] / sum);
    parts.push_back(fmt::format("{}={}", lengths[i], data.probabilities.back()));
  }
  data.name = fmt::format("{}", fmt::join(parts, ","));
  *this = LengthLaw(std::move(data));
}

LengthLaw LengthLaw::uniform(std::int64_t first, std::int64_t last) {
  if (first < 1) fail(kLengthLaw, "first length", static_cast<double>(first), "at least 1");
  if (last < first) {
    fail(kLengthLaw, "last length", static_cast<double>(last), "at least the first one");
  }
  const std::int64_t count = last - first + 1;
  if (count > kMostLengths) {
    fail(kLengthLaw, "number of lengths", static_cast<double>(count), "at most 1e7");
  }
  if (count == 1) return static_cast<double>(first);
  Data data;
  data.lengths.resize(static_cast<std::size_t>(count));
  std::iota(data.lengths.begin(), data.lengths.end(), static_cast<double>(first));
  data.probabilities.assign(data.lengths.size(), 1 / static_cast<double>(count));
  data.name = fmt::format("uniform:{}:{}", first, last);
  return LengthLaw(std::move(data));
}

LengthLaw LengthLaw::geometric(double mean) {
  if (!(mean > 1 && mean <= kLargestMean)) fail(kLengthLaw, "mean", mean, "above 1 and at most 1e4");
  const double log_q = std::log1p(-1 / mean);
  const auto count = static_cast<std::size_t>(std::max(2.0, std::ceil(std::log(1e-16) / log_q)));
  Data data;
  long double sum = 0;
  for (std::size_t k = 1; k <= count; ++k) {
    data.lengths.push_back(static_cast<double>(k));
    data.probabilities.push_back(std::exp(log_q * static_cast<double>(k - 1)) / mean);
    sum += data.probabilities.back();
  }
  for (double& p : data.probabilities) p = static_cast<double>(p / sum);
  data.name = fmt::format("geometric:{}", mean);
  return LengthLaw(std::move(data));
}

double LengthLaw::quantile(double u) const {
  const std::vector<double>& sums = data_->cumulative;
  const auto at = std::upper_bound(sums.begin(), sums.end(), u) - sums.begin();
  // Sums are rounded: the last one may be below u.
  return data_->lengths[std::min(static_cast<std::size_t>(at), data_->lengths.size() - 1)];
}

double LengthLaw::mean() const {
  return std::inner_product(lengths().begin(), lengths().end(), probabilities().begin(), 0.0);
}

LengthLaw::LengthLaw(Data data) {
  std::vector<LengthNode> own;
  for (std::size_t i = 0; i < data.lengths.size(); ++i)
    own.push_back({data.lengths[i], data.probabilities[i]});
  const double inverse = average_power(own, -1), inverse_square = average_power(own, -2);
  data.harmonic_mean = 1 / inverse;
  double sum = 0;
  for (const double p : data.probabilities) data.cumulative.push_back(sum += p);
  const std::size_t count = own.size();
  const auto is_good = [&](const std::vector<LengthNode>& rule) {
    return std::abs(average_power(rule, -1) / inverse - 1) <= kRuleTolerance &&
           std::abs(average_power(rule, -2) / inverse_square - 1) <= kRuleTolerance;
  };
  if (count > kFewLengths) {
    const auto size = static_cast<Eigen::Index>(count);
    const Vector logs = Eigen::Map<const Vector>(data.lengths.data(), size).array().log();
    GaussRule gauss(logs, Eigen::Map<const Vector>(data.probabilities.data(), size));
    for (std::size_t n = 1; n <= kMostNodes && n < count && !is_good(data.rule); ++n) {
      gauss.extend();
      if (n >= kFewLengths) data.rule = gauss.nodes();
    }
  }
  if (!is_good(data.rule)) {
    if (count > kMostNodes) {
      fail(kLengthLaw,
           fmt::format("no rule of {} nodes averages over these {} lengths, from {:g} to {:g}: take "
                       "fewer, or closer ones",
                       kMostNodes, count, data.lengths.front(), data.lengths.back()));
    }
    data.rule = std::move(own);
  }
  data_ = std::make_shared<const Data>(std::move(data));
}

}  // namespace largo
