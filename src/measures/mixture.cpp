#include "largo/measures/mixture.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "largo/measures/token_leaf.hpp"
#include "largo/runtime/check.hpp"
#include "measures/nesting.hpp"
#include "measures/sampling.hpp"
#include "numerics/log_sum_exp.hpp"

namespace largo {
namespace {

std::ptrdiff_t common_dimension(const std::vector<MeasurePtr>& components) {
  if (components.empty()) fail("MixtureMeasure", "number of components", "0", "at least 1");
  for (const MeasurePtr& component : components) {
    if (!component) fail("MixtureMeasure", "a component is null");
  }
  return components.front()->dimension();
}

}  // namespace

MixtureMeasure::MixtureMeasure(const Vector& weights, std::vector<MeasurePtr> components)
    : Measure(common_dimension(components)), components_(std::move(components)) {
  check_size("MixtureMeasure", "weights", weights.size(), std::ssize(components_));
  check_weights("MixtureMeasure", "weights", weights);
  nesting_ = measures::nesting_around("MixtureMeasure", components_);
  for (std::size_t k = 0; k < components_.size(); ++k) {
    check_size("MixtureMeasure", fmt::format("component {}", k), components_[k]->dimension(), dimension());
  }
  weights_ = weights / weights.sum();
  cumulative_ = measures::cumulative_sum(weights_);
}

double MixtureMeasure::log_partition(const ConstVectorRef& direction) const {
  numerics::LogSumExp sum;
  for (std::size_t k = 0; k < components_.size(); ++k) {
    sum.add(std::log(weights_[static_cast<std::ptrdiff_t>(k)]) + components_[k]->log_partition(direction));
  }
  return sum.value();
}

Tilt MixtureMeasure::tilt(const ConstVectorRef& direction, TiltOrder order) const {
  check_direction(direction);
  std::vector<Tilt> parts;
  for (const MeasurePtr& component : components_) parts.push_back(component->tilt(direction, order));
  return combine(parts, order);
}

// All directions of a component at once: a prompt among the components is then read once for many of them.
std::vector<Tilt> MixtureMeasure::tilts(const ConstMatrixRef& directions, TiltOrder order,
                                        const Execution& execution) const {
  check_size("tilts", "each direction", directions.rows(), dimension());
  std::vector<std::vector<Tilt>> by_component;
  for (const MeasurePtr& component : components_) {
    by_component.push_back(component->tilts(directions, order, execution));
  }
  std::vector<Tilt> results;
  for (std::size_t q = 0; q < static_cast<std::size_t>(directions.cols()); ++q) {
    std::vector<Tilt> parts;
    for (std::vector<Tilt>& tilts : by_component) parts.push_back(std::move(tilts[q]));
    results.push_back(combine(parts, order));
  }
  return results;
}

Tilt MixtureMeasure::combine(const std::vector<Tilt>& parts, TiltOrder order) const {
  std::vector<double> scores;
  numerics::LogSumExp sum;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    scores.push_back(std::log(weights_[static_cast<std::ptrdiff_t>(k)]) + parts[k].log_partition);
    sum.add(scores.back());
  }
  Tilt result;
  result.log_partition = sum.value();
  if (order == TiltOrder::log_partition) return result;

  const Vector responsibility = numerics::softmax(scores);
  result.mean = Vector::Zero(dimension());
  for (std::size_t k = 0; k < parts.size(); ++k) {
    result.mean += responsibility[static_cast<std::ptrdiff_t>(k)] * parts[k].mean;
  }
  if (order == TiltOrder::mean) return result;

  result.covariance = Matrix::Zero(dimension(), dimension());
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const Vector offset = parts[k].mean - result.mean;
    result.covariance +=
        responsibility[static_cast<std::ptrdiff_t>(k)] * (parts[k].covariance + offset * offset.transpose());
  }
  return result;
}

double MixtureMeasure::sub_gaussian_constant() const {
  // Λ(a) - <a,m> ≤ max_k σ_k²‖a‖²/2 + log Σ π_k e^{<a, m_k - m>}; the second term by Hoeffding, as the
  // means lie within r of m.
  const Vector centre = mean();
  double proxy = 0;
  double radius = 0;
  for (const MeasurePtr& component : components_) {
    const double sigma = component->sub_gaussian_constant();
    proxy = std::max(proxy, sigma * sigma);
    radius = std::max(radius, (component->mean() - centre).norm());
  }
  return std::sqrt(proxy + radius * radius);
}

SubGaussianKind MixtureMeasure::sub_gaussian_kind() const {
  SubGaussianKind kind = SubGaussianKind::at_most;
  for (const MeasurePtr& component : components_) kind = std::max(kind, component->sub_gaussian_kind());
  return kind;
}

void MixtureMeasure::sample(const Stream& stream, std::uint64_t first_token,
                            Eigen::Ref<RowMatrix> tokens) const {
  check_size("sample", "each token", tokens.cols(), dimension());
  const std::vector<double> uniforms = measures::side_uniforms(stream, first_token, tokens.rows());
  // Token l of component k is token l of that component's own stream; neighbours are drawn together.
  std::ptrdiff_t begin = 0;
  while (begin < tokens.rows()) {
    const std::ptrdiff_t k = measures::pick(cumulative_, uniforms[static_cast<std::size_t>(begin)]);
    std::ptrdiff_t end = begin + 1;
    while (end < tokens.rows() && measures::pick(cumulative_, uniforms[static_cast<std::size_t>(end)]) == k)
      ++end;
    components_[static_cast<std::size_t>(k)]->sample(stream.substream(2 + static_cast<std::uint64_t>(k)),
                                                     first_token + static_cast<std::uint64_t>(begin),
                                                     tokens.middleRows(begin, end - begin));
    begin = end;
  }
}

ScoreLaw MixtureMeasure::score_law(const ConstVectorRef& direction) const {
  check_direction(direction);
  ScoreLaw law;
  for (std::size_t k = 0; k < components_.size(); ++k) {
    const double weight = weights_[static_cast<std::ptrdiff_t>(k)];
    if (weight == 0) continue;  // takes no part, whatever its law
    ScoreLaw part = components_[k]->score_law(direction);
    law.relative_error = std::max(law.relative_error, part.relative_error);
    const std::ptrdiff_t shift = std::ssize(law.covariances);
    for (ScoreComponent& component : part.components) {
      component.weight *= weight;
      if (component.covariance >= 0) component.covariance += shift;
      law.components.push_back(std::move(component));
    }
    for (Matrix& covariance : part.covariances) law.covariances.push_back(std::move(covariance));
  }
  return law;
}

std::vector<TokenLeaf> MixtureMeasure::token_leaves() const {
  std::vector<TokenLeaf> leaves;
  for (std::size_t k = 0; k < components_.size(); ++k) {
    const double weight = weights_[static_cast<std::ptrdiff_t>(k)];
    if (weight == 0) continue;  // takes no part, whatever its law
    for (TokenLeaf& leaf : components_[k]->token_leaves()) {
      leaf.probability *= weight;
      leaves.push_back(std::move(leaf));
    }
  }
  return leaves;
}

}  // namespace largo
