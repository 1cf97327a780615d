// A regression with its laws in pieces, as the assumptions about it need them.
#pragma once

#include <optional>

#include "concentration/law_pieces.hpp"
#include "concentration/mean_rho.hpp"
#include "largo/icl/law_regression.hpp"

namespace largo::icl {

/// A regression, its laws in pieces, and the score matrix with the scale of the scores.
struct AssumedRegression {
  RegressionLaws laws;  ///< keeps the pieces alive
  Matrix U;
  std::optional<RegressionProblem> gaussian;  ///< if all laws are centred Gaussian
  concentration::LawPieces covariates, queries, prior;
  std::optional<concentration::LawPieces> noise, scale;

  Eigen::Index d() const { return laws.covariates->dimension(); }
  Eigen::Index size() const { return d() + laws.outputs; }
  /// The columns of U that queries (x, 0) see.
  Matrix query_scores() const { return U.leftCols(d()); }
  /// A bound on (E‖W‖^{2p})^{1/2p}. If all rows have one law, their squares add up.
  std::optional<double> task_norm(int p) const;
  /// A bound on (E‖M‖^{2p})^{1/2p}, M = [[I, 0], [W, s I]]: ‖M‖ <= 1 + ‖W‖ + |s|.
  std::optional<double> map_norm(int p) const;
  /// A bound on ‖M‖ over all tasks and scales; none if they are not known to be bounded.
  std::optional<double> largest_map() const;
  /// The constant of (x, ε), if it is proved, and the norm of its mean.
  std::optional<double> base_sigma() const;
  double base_mean() const;
  /// Whether scores depend on labels at a possible query.
  bool sees_labels() const;
  /// Whether labels have unbounded variances: a normal piece of the prior that covariates see.
  bool labels_grow() const;
};

/// InputError unless the laws fit together, and U has their size and is finite.
AssumedRegression assumed_regression(const RegressionLaws& laws, const Matrix& U, double score_scale,
                                     std::optional<RegressionProblem> gaussian);

/// E‖z'‖^{2p} of Gaussian regression, p <= 4, for a root of the prior covariance with few columns. Given w,
/// the token is N(0, Γ_w + Γ_w U S Uᵀ Γ_w), S the covariance of the query, so its moment of order 8 is a
/// polynomial of degree 16 in w. Cost: 9^columns products of matrices.
double gaussian_task_moment(const AssumedRegression& ask, const Matrix& prior_root, int p);

/// The average of ρ where the law of the scores does not depend on the task: where scores do not see labels,
/// or the regression is Gaussian and labels do not grow.
concentration::MeanRho mean_rho_of_any_task(const AssumedRegression& ask);

}  // namespace largo::icl
