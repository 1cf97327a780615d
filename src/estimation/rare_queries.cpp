#include "estimation/rare_queries.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "estimation/query_limit.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"

namespace largo::estimation {

namespace {

// A rare query that adds less than this to the error may stay unseen.
constexpr double kNegligible = 0.05;
// Tilts of a law of queries, from a quarter of a deviation on. Queries below the first entropy are among
// those that are examined one by one; those beyond the second never occur.
constexpr int kTilts = 90;
constexpr double kFirstTilt = 0.25, kTiltRatio = 1.2;
constexpr double kLeastEntropy = 3, kMostEntropy = 100;
constexpr double kSettled = 1e-6;  // relative change: a bounded law has reached its end
constexpr double kParallel = 1 - 1e-6;

// A component is examined along the axes on which its variance is this many times that of the law.
constexpr double kWider = 2;

// Unit directions, without repetitions.
class Directions {
 public:
  void add(const Vector& along) {
    const double norm = along.norm();
    if (!(norm > 0) || !std::isfinite(norm)) return;
    const Vector unit = along / norm;
    for (const Vector& other : all_) {
      if (std::abs(unit.dot(other)) > kParallel) return;
    }
    all_.push_back(unit);
  }
  const std::vector<Vector>& all() const { return all_; }

 private:
  std::vector<Vector> all_;
};

// In a Gaussian mixture, what is rare lies towards the means of components, or where one is wider than most.
void add_components(const SampledLayer& layer, const std::vector<TokenLeaf>& leaves, const Matrix& covariance,
                    Directions& directions) {
  const Vector mean = layer.tokens.mean();
  for (const TokenLeaf& leaf : leaves) {
    const Vector offset = leaf.offset.size() > 0 ? Vector(leaf.offset - mean) : Vector(-mean);
    directions.add(layer.U.transpose() * offset);
    const Eigen::Index d = mean.size();
    const Matrix map = leaf.scale * (leaf.map.rows() > 0 ? leaf.map : Matrix(Matrix::Identity(d, d)));
    const numerics::SymmetricEigenvalues own = numerics::symmetric_eigenvalues(map * map.transpose());
    for (Eigen::Index k = 0; k < d; ++k) {
      const Vector axis = own.vectors.col(k);
      if (own.values[k] > kWider * axis.dot(covariance * axis)) directions.add(layer.U.transpose() * axis);
    }
  }
}

// Of the queries with a given score <x, Uz>, those along Uᵀx are the most frequent.
std::vector<Vector> directions_of(const SampledLayer& layer, const Matrix& covariance,
                                  const QueryProposal& proposal) {
  const std::vector<TokenLeaf> leaves = layer.tokens.token_leaves();
  Directions directions;
  if (leaves.size() > 1) add_components(layer, leaves, covariance, directions);
  if (proposal.importance() && all_normal(leaves)) return directions.all();
  const numerics::SymmetricEigenvalues scores =
      numerics::symmetric_eigenvalues(layer.U.transpose() * covariance * layer.U);
  for (Eigen::Index k = scores.values.size(); k-- > 0;) directions.add(scores.vectors.col(k));
  for (Eigen::Index i = 0; i < layer.U.rows(); ++i) directions.add(layer.U.row(i).transpose());
  if (proposal.importance()) return directions.all();
  for (Eigen::Index i = 0; i < layer.U.cols(); ++i) directions.add(Vector::Unit(layer.U.cols(), i));
  return directions.all();
}

class Search {
 public:
  Search(const SampledLayer& layer, double spread, const Measure& queries, const QueryProposal& proposal,
         const ErrorProxy& log_means)
      : layer_(layer), spread_(spread), queries_(queries), proposal_(proposal), log_means_(log_means) {}

  void along(const Vector& axis, double first) {
    double last = 0;
    for (int i = 0; i < kTilts; ++i) {
      const Vector tilted = first * std::pow(kTiltRatio, i) * axis;
      try {
        const Tilt tilt = queries_.tilt(tilted, TiltOrder::mean);
        const double entropy = tilted.dot(tilt.mean) - tilt.log_partition;
        if (!(entropy <= kMostEntropy)) return;
        if (entropy > kLeastEntropy) look(tilt.mean, entropy, entropy + proposal_.log_weight(tilted));
        if (entropy > kLeastEntropy / 2 && entropy - last < kSettled * entropy) return;
        last = entropy;
      } catch (const InputError&) {
        return;  // the laws cannot be tilted further
      }
    }
  }
  double rarest() const { return rarest_; }

 private:
  // `entropy` is relative to the law, `drawn` to the proposal.
  void look(const Vector& query, double entropy, double drawn) {
    const auto L = static_cast<double>(layer_.length);
    const ErrorProxy error = error_proxy(layer_.tokens, layer_.U, query, L, spread_);
    const double few = entropy + std::log(kNegligible);
    const bool carries = error.output > log_means_.output + few ||
                         (layer_.gradient_U && error.gradient_U > log_means_.gradient_U + few);
    if (!carries) return;
    const QueryLimit limit(layer_.tokens, layer_.U, query, TiltOrder::mean);
    // If prompts are too short for the limit, the error is that its tokens are missing.
    const bool condensed = limit.entropy > std::log(L);
    const double log_weight = limit.tilt.log_partition + std::log(L);
    const double missing = condensed ? 0 : rare_token_entropy(layer_.tokens, limit, log_weight) - std::log(L);
    rarest_ = std::max(rarest_, drawn + std::max(0.0, missing));
  }

  const SampledLayer& layer_;
  double spread_;  // trace of the covariance of the tokens
  const Measure& queries_;
  const QueryProposal& proposal_;
  ErrorProxy log_means_;
  double rarest_ = 0;
};

}  // namespace

double rare_query_entropy(const SampledLayer& layer, const Measure& queries, const QueryProposal& proposal,
                          const ErrorProxy& log_means) {
  const Matrix covariance = layer.tokens.covariance();
  const Matrix of_queries = queries.covariance();
  Search search(layer, covariance.trace(), queries, proposal, log_means);
  for (const Vector& axis : directions_of(layer, covariance, proposal)) {
    const double deviation = std::sqrt(axis.dot(of_queries * axis));
    if (!(deviation > 0)) continue;
    search.along(axis, kFirstTilt / deviation);
    search.along(-axis, kFirstTilt / deviation);
  }
  return search.rarest();
}

}  // namespace largo::estimation
