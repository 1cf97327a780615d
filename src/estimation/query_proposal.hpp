// Queries drawn where the error of attention is, with the weights that this takes.
//
// Averaged over queries, the error is carried by rare ones: at a Gaussian query the error grows like e^{s²},
// s² the variance of the scores, until a prompt of L tokens is too short for its limit, s² ~ 2 ln L. Plain
// draws see too few of them and do not know it. So Gaussian queries come from a mixture of the law itself and
// of the laws ∝ ν e^{θ s²} (Gaussian as well, wider where scores are), and a query counts with the ratio of
// the densities. The law itself has half of the draws, so that no weight exceeds 2.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "largo/measures/measure.hpp"
#include "largo/measures/token_leaf.hpp"

namespace largo::estimation {

struct WeightedQuery {
  Vector query;
  double weight = 1;  ///< of mean one
};

/// log of the error at a query as its leading order has it, min(ρ/L, 1) E_{ν_2a}‖x‖^{2k}, up to a constant:
/// good for saying which queries carry the error, no more. Where ρ > L a prompt may have nothing of the limit
/// and miss all of mean(ν_a) − mean(μ).
struct ErrorProxy {
  double output = 0;      ///< k = 1
  double gradient_U = 0;  ///< k = 2, times ‖z‖²
};
ErrorProxy error_proxy(const Measure& tokens, const ConstMatrixRef& U, const ConstVectorRef& query, double L);
/// The same without a covariance along 2a, for many queries: `spread` stands for its trace.
ErrorProxy error_proxy(const Measure& tokens, const ConstMatrixRef& U, const ConstVectorRef& query, double L,
                       double spread);

class QueryProposal {
 public:
  /// How wide the widest law must be is found along the direction in which scores vary most, where
  /// ν(z) error_proxy(z) has fallen to e^{-3} of its largest value. All must outlive the proposal. Other
  /// laws of queries than a Gaussian are drawn as they are, with weights one.
  QueryProposal(const Measure& queries, const Measure& tokens, const ConstMatrixRef& U, double L);

  /// A function of the stream.
  WeightedQuery draw(const Stream& stream) const;
  /// log of the weight of the query at the mean of the law tilted along `direction`; zero where queries are
  /// drawn as they are. At most log 2; low where the proposal draws more than the law does.
  double log_weight(const ConstVectorRef& direction) const;
  bool weighted() const { return components_.size() > 1; }
  /// Whether it knows of rare queries: those of a Gaussian law.
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
  Matrix map_;  // query = offset + map h, h ~ N(0, I); its columns in the order of falling scores
  std::vector<Component> components_;  // the first is N(0, I)
};

}  // namespace largo::estimation
