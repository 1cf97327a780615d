#include "exact/query_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "exact/sphere_law.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"

namespace largo::exact {
namespace {

// Contributions below e^-kDepth of the integral are left out.
constexpr double kDepth = 42;
constexpr double kLinearFrom = 40;  // ρ = t from here on
constexpr double kFarthest = 1e4;
// The number of nodes on the sphere is proportional to the spread: some seconds at this limit.
constexpr double kLargestSphereSpread = 300;

// s = 0: the scores do not tell directions apart, and the first axis serves as e.
FormProducts without_direction(double one, double Z, const AttentionForms& forms) {
  const double W = forms.W(0, 0), G = forms.G(0, 0);
  return {one, one * W, one * G, Z, Z * W, Z * G, Z * forms.WG(0, 0), Z * W * G};
}

}  // namespace

FormProducts by_direction(const FormProducts& products, double square) {
  const double inverse = 1 / square;
  FormProducts f = products;
  for (const std::size_t k : {kW, kG, kZW, kZG, kZH}) f[k] *= inverse;
  f[kZWG] *= inverse * inverse;
  return f;
}

std::vector<DirectionNode> nodes_of_rows(const ConstMatrixRef& queries, const ConstVectorRef& weights,
                                         const Matrix& scores, const AttentionForms& forms) {
  std::vector<DirectionNode> nodes;
  for (Eigen::Index i = 0; i < queries.rows(); ++i) {
    const double one = weights[i];
    const Vector z = queries.row(i).transpose();
    const Vector a = scores * z;
    const double square = a.squaredNorm();
    const double Z = one * z.squaredNorm();
    DirectionNode& node = nodes.emplace_back();
    if (square > kNoSpread) {
      const Vector e = a / std::sqrt(square);
      const double W = e.dot(forms.W * e), G = e.dot(forms.G * e);
      node.square = square;
      node.fine = {one, one * W, one * G, Z, Z * W, Z * G, Z * e.dot(forms.WG * e), Z * W * G};
    } else {
      node.fine = without_direction(one, Z, forms);
    }
    node.coarse = node.fine;
  }
  return nodes;
}

DirectionNode node_of_constant_spread(const QueryLaw& law, const AttentionForms& forms) {
  const double square = law.smallest_square();
  const FormProducts averages = law.averages();
  DirectionNode node;
  if (square > kNoSpread) {
    node.square = square;
    node.fine = by_direction(averages, square);
  } else {
    node.fine = without_direction(averages[kOne], averages[kZ], forms);
  }
  node.coarse = node.fine;
  return node;
}

SphereNodes::SphereNodes(double radius, const Matrix& scores, const AttentionForms& forms)
    : radius_(radius), scores_(scores), forms_(forms) {
  largest_spread_ = radius * numerics::operator_norm(scores);
}

const std::vector<DirectionNode>& SphereNodes::at(double scale, const Execution& execution) const {
  if (!(scale * largest_spread_ <= kLargestSphereSpread)) {
    fail("averaged_attention_error", "largest spread of the scores over the sphere", scale * largest_spread_,
         "at most 300 (or sample the queries)");
  }
  const std::lock_guard lock(mutex_);
  const auto found = scales_.find(scale);
  if (found != scales_.end()) return found->second;
  std::vector<DirectionNode> nodes;
  for (const QueryNode& node :
       sphere_query_nodes(radius_, scale * scores_, forms_.W, forms_.G, forms_.WG, execution)) {
    DirectionNode& here = nodes.emplace_back();
    if (node.square > kNoSpread) {
      here = {node.square / (scale * scale), by_direction(node.fine, node.square),
              by_direction(node.coarse, node.square)};
    } else {
      here.fine = here.coarse = without_direction(node.fine[kOne], node.fine[kZ], forms_);
    }
  }
  return scales_.emplace(scale, std::move(nodes)).first->second;
}

GaussianNodes::GaussianNodes(QueryLaw law) : law_(std::move(law)) {
  // The law begins like ρ^rank below the smallest of the λ_j.
  first_ = -kDepth / law_.rank() - 1 + 0.5 * std::log(law_.smallest_ratio());
  const double nearest = law_.lowest() - std::sqrt(2 * kDepth);
  if (nearest > kLinearFrom) first_ = nearest;
  // Exponents of the order lowest² must keep some digits.
  if (law_.lowest() > kFarthest) {
    fail("averaged_attention_error", "distance of the query mean from zero scores, in deviations",
         law_.lowest(), "at most 1e4 (or take the error at the mean)");
  }
}

// The errors grow from some 1/L at s = 0 to 1, the squared bias from 1/L²; the law ends like a Gaussian.
double GaussianNodes::last(double L) const {
  return law_.highest() + std::sqrt(2 * (kDepth + 2 * std::log(L)));
}

double GaussianNodes::largest_square(double L) const {
  return law_.smallest_square() + law_.largest() * last(L) * last(L);
}

double GaussianNodes::place(int level, std::size_t i) const {
  if (level == 0) return first_ + static_cast<double>(i) * kFirstStep;
  return first_ + (static_cast<double>(i) + 0.5) * std::ldexp(kFirstStep, 1 - level);
}

std::size_t GaussianNodes::count(int level, double L) const {
  const double step = std::ldexp(kFirstStep, std::min(0, 1 - level));
  return static_cast<std::size_t>((last(L) - place(level, 0)) / step) + 1;
}

const DirectionNode& GaussianNodes::at(int level, std::size_t i, const Execution& execution) const {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<std::size_t>(level);
  if (index >= levels_.size()) levels_.resize(index + 1);
  std::deque<DirectionNode>& nodes = levels_[index];
  while (nodes.size() <= i) nodes.push_back(compute(place(level, nodes.size()), execution));
  return nodes[i];
}

DirectionNode GaussianNodes::compute(double t, const Execution& execution) const {
  const double rho = t < kLinearFrom ? std::log1p(std::exp(t)) : t;
  const double q = law_.largest() * rho * rho;
  // dq = 2λρ dρ, dρ = dt/(1 + e^-t)
  const double weight = 2 * law_.largest() * rho / (1 + std::exp(-t));
  const QueryLaw::Densities densities = law_.densities(q, execution);
  DirectionNode node;
  node.square = law_.smallest_square() + q;
  node.fine = by_direction(densities.fine, node.square);
  node.coarse = by_direction(densities.coarse, node.square);
  for (double& x : node.fine) x *= weight;
  for (double& x : node.coarse) x *= weight;
  return node;
}

}  // namespace largo::exact
