#include "estimation/query_proposal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "estimation/query_limit.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"
#include "numerics/portable_math.hpp"

namespace largo::estimation {
namespace {

// Substream of a query's stream; the draws of the law itself use the stream and substreams of low numbers.
constexpr std::uint64_t kChoice = std::uint64_t{1} << 41;
constexpr double kOwnShare = 0.5;
constexpr std::size_t kMostComponents = 24;
constexpr double kScanStep = 0.25, kScanEnd = 16;
// Components reach to where the carrying law has fallen by e^{-3}: each to 1.5 deviations beyond its bulk.
constexpr double kFallen = 3, kSeen = 1.5;

// The leaf of Gaussian queries: offset + map g.
std::optional<TokenLeaf> normal_leaf(const Measure& queries) {
  std::vector<TokenLeaf> leaves = queries.token_leaves();
  if (leaves.size() != 1 || !all_normal(leaves)) return std::nullopt;
  if (leaves.front().base_dimension() == 0) return std::nullopt;
  return leaves.front();
}

ErrorProxy proxy_from(const Measure& tokens, const ConstVectorRef& query, double L, const Tilt& once,
                      const Tilt& twice) {
  const double log_p2 = std::min(0.0, twice.log_partition - 2 * once.log_partition - std::log(L));
  double shift = (twice.mean - once.mean).squaredNorm();
  if (log_p2 == 0) shift = std::max(shift, (once.mean - tokens.mean()).squaredNorm());
  const double log_square = std::log(twice.covariance.trace() + shift + 1e-300);
  return {log_p2 + log_square, log_p2 + 2 * log_square + std::log(query.squaredNorm() + 1e-300)};
}

}  // namespace

ErrorProxy error_proxy(const Measure& tokens, const ConstMatrixRef& U, const ConstVectorRef& query,
                       double L) {
  const Vector a = U * query;
  return proxy_from(tokens, query, L, tokens.tilt(a, TiltOrder::mean),
                    tokens.tilt(2 * a, TiltOrder::covariance));
}

ErrorProxy error_proxy(const Measure& tokens, const ConstMatrixRef& U, const ConstVectorRef& query, double L,
                       double spread) {
  const Vector a = U * query;
  Tilt twice = tokens.tilt(2 * a, TiltOrder::mean);
  twice.covariance = Matrix::Constant(1, 1, spread);
  return proxy_from(tokens, query, L, tokens.tilt(a, TiltOrder::mean), twice);
}

QueryProposal::QueryProposal(const Measure& queries, const Measure& tokens, const ConstMatrixRef& U, double L)
    : queries_(queries) {
  const std::optional<TokenLeaf> leaf = normal_leaf(queries);
  if (!leaf) return;
  const std::ptrdiff_t k = leaf->base_dimension();
  map_ = leaf->scale * (leaf->map.rows() > 0 ? leaf->map : Matrix(Matrix::Identity(k, k)));
  offset_ = leaf->offset.size() > 0 ? leaf->offset : Vector(Vector::Zero(queries.dimension()));
  add_components(tokens, U, L);
}

void QueryProposal::add_components(const Measure& tokens, const ConstMatrixRef& U, double L) {
  // These products have a fixed order; that of Eigen's blocked ones depends on the caches of the machine.
  const Matrix covariance = tokens.covariance();
  const Matrix scores = U.lazyProduct(map_);
  const Matrix weighted = covariance.lazyProduct(scores);
  const numerics::SymmetricEigenvalues forms =
      numerics::symmetric_eigenvalues(scores.transpose().lazyProduct(weighted));
  const Vector variances = forms.values.reverse().cwiseMax(0);
  const Matrix vectors = forms.vectors.rowwise().reverse();
  map_ = Matrix(map_.lazyProduct(vectors));
  const Eigen::Index k = variances.size();
  components_.push_back({Vector::Zero(k), Vector::Ones(k), 0});
  if (!(variances[0] > 0)) return;
  const Vector slopes =
      vectors.transpose().lazyProduct(Vector(weighted.transpose().lazyProduct(U * offset_)));

  // The scan is along the first coordinate, away from zero scores. Equally wide directions share its radius.
  const double multiplicity = variances.sum() / variances[0];
  const double sign = slopes[0] < 0 ? -1 : 1;
  const auto carried = [&](double r) -> ErrorProxy {
    try {
      const double density = (multiplicity - 1) * std::log(r) - r * r / 2;
      const ErrorProxy proxy = error_proxy(tokens, U, offset_ + sign * r * map_.col(0), L);
      return {proxy.output + density, proxy.gradient_U + density};
    } catch (const InputError&) {
      constexpr double kNone = -std::numeric_limits<double>::infinity();
      return {kNone, kNone};
    }
  };
  const double end = kScanEnd + 2 * std::sqrt(multiplicity);
  std::vector<ErrorProxy> scan;
  for (double r = kScanStep; r <= end; r += kScanStep) scan.push_back(carried(r));
  double reach = 0;
  for (const auto quantity : {&ErrorProxy::output, &ErrorProxy::gradient_U}) {
    double top = -std::numeric_limits<double>::infinity();
    for (const ErrorProxy& at : scan) top = std::max(top, at.*quantity);
    for (std::size_t i = 0; i < scan.size(); ++i) {
      if (scan[i].*quantity >= top - kFallen) reach = std::max(reach, static_cast<double>(i + 1) * kScanStep);
    }
  }
  const double seen = std::sqrt(multiplicity) + kSeen;
  const double ratio = 1 + 1 / std::sqrt(multiplicity);
  for (double widest = ratio; components_.size() < kMostComponents; widest *= ratio) {
    const Component& last = components_.back();
    if (sign * last.mean[0] + last.deviation[0] * seen >= reach) break;
    components_.push_back(component(widest, variances, slopes));
  }
}

// The law ∝ ν e^{θ s²}, with θ such that the first coordinate has variance `widest`: its precision is I − 2θ
// diag(variances), its slope 2θ slopes.
QueryProposal::Component QueryProposal::component(double widest, const Vector& variances,
                                                  const Vector& slopes) const {
  const double theta2 = (1 - 1 / widest) / variances[0];
  Component made;
  const Vector variance = (1 - theta2 * variances.array()).inverse();
  made.mean = theta2 * slopes.cwiseProduct(variance);
  made.deviation = variance.cwiseSqrt();
  for (const double x : made.deviation) made.log_scale += numerics::portable_log(x);
  return made;
}

// The share of the law's own draws keeps the weight below 2.
double QueryProposal::weight_at(const Vector& h) const {
  // Densities relative to that of N(0, I).
  const double own = h.squaredNorm() / 2;
  const auto others = static_cast<double>(components_.size() - 1);
  double sum = kOwnShare;
  for (std::size_t c = 1; c < components_.size(); ++c) {
    const Component& at = components_[c];
    const double far = (h - at.mean).cwiseQuotient(at.deviation).squaredNorm() / 2;
    sum += (1 - kOwnShare) / others * numerics::portable_exp(std::min(700.0, own - far - at.log_scale));
  }
  return 1 / sum;
}

// Queries are offset + map h with h ~ N(0, I). Under the law tilted along b, h has mean mapᵀb.
double QueryProposal::log_weight(const ConstVectorRef& direction) const {
  return weighted() ? std::log(weight_at(map_.transpose() * direction)) : 0;
}

WeightedQuery QueryProposal::draw(const Stream& stream) const {
  if (!weighted()) {
    RowMatrix drawn(1, queries_.dimension());
    queries_.sample(stream, 0, drawn);
    return {drawn.row(0).transpose(), 1};
  }
  double choice = 0;
  stream.substream(kChoice).uniforms(0, {&choice, 1});
  const auto others = static_cast<double>(components_.size() - 1);
  const std::size_t k =
      choice < kOwnShare
          ? 0
          : 1 + std::min(components_.size() - 2,
                         static_cast<std::size_t>((choice - kOwnShare) / (1 - kOwnShare) * others));
  Vector h(map_.cols());
  stream.normals(0, {h.data(), static_cast<std::size_t>(h.size())});
  h = components_[k].mean + components_[k].deviation.cwiseProduct(h);
  return {offset_ + map_ * h, weight_at(h)};
}

}  // namespace largo::estimation
