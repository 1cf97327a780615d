// Queries drawn where the error of attention is large, with the weights that correct for this.
//
// Averaged over queries, the error comes from rare ones: at a Gaussian query the error grows like e^{s²},
// where s² is the variance of the scores, until a prompt of L tokens is too short for its limit, s² ~ 2 ln L.
// Plain draws see too few of these queries and cannot tell. So Gaussian queries are drawn from a mixture of
// the law itself and of the laws ∝ ν e^{θ s²} (also Gaussian, and wider where scores are), and a query is
// weighted with the ratio of the densities. Half of the draws are from the law itself: no weight exceeds 2.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "largo/measures/measure.hpp"
#include "largo/measures/token_leaf.hpp"

namespace largo::estimation {

struct WeightedQuery {
  Vector query;
  double weight = 1;  ///< has mean one
};

/// Logarithm of the leading order of the error at a query, min(ρ/L, 1) E_{ν_2a}‖x‖^{2k}, up to a constant. It
/// tells which queries carry the error, no more. Where ρ > L a prompt may contain nothing of the limit and
/// miss all of mean(ν_a) − mean(μ).
struct ErrorProxy {
  double output = 0;      ///< k = 1
  double gradient_U = 0;  ///< k = 2, times ‖z‖²
};
ErrorProxy error_proxy(const Measure& tokens, const ConstMatrixRef& U, const ConstVectorRef& query, double L);
/// The same without a covariance along 2a, for many queries: `spread` replaces its trace.
ErrorProxy error_proxy(const Measure& tokens, const ConstMatrixRef& U, const ConstVectorRef& query, double L,
                       double spread);

class QueryProposal {
 public:
  /// The width of the widest law is found along the direction in which scores vary most: it reaches to where
  /// ν(z) error_proxy(z) has fallen to e^{-3} of its largest value. All arguments must outlive the proposal.
  /// Queries of a law that is not Gaussian are drawn as they are, with weights one.
  QueryProposal(const Measure& queries, const Measure& tokens, const ConstMatrixRef& U, double L);

  /// Draws a query as a function of the stream.
  WeightedQuery draw(const Stream& stream) const;
  /// log of the weight of the query at the mean of the law tilted along `direction`; zero if queries are
  /// drawn as they are. It is at most log 2, and low where the proposal draws more than the law does.
  double log_weight(const ConstVectorRef& direction) const;
  bool weighted() const { return components_.size() > 1; }
  /// Whether the proposal accounts for rare queries: it does so for a Gaussian law.
  bool importance() const { return !components_.empty(); }

 private:
  struct Component {
    Vector mean, deviation;  // of each coordinate
    double log_scale = 0;    // Σ log deviation
  };
  void add_components(const Measure& tokens, const ConstMatrixRef& U, double L);
  double weight_at(const Vector& h) const;
  Component component(double widest, const Vector& variances, const Vector& slopes) const;

  const Measure& queries_;
  Vector offset_;
  Matrix map_;  // query = offset + map h with h ~ N(0, I); columns in order of decreasing score variance
  std::vector<Component> components_;  // the first is N(0, I)
};

}  // namespace largo::estimation
