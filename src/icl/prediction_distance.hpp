// The distance between the predictions of two sets of parameters.
#pragma once

#include "largo/icl/regression_problem.hpp"

namespace largo::icl {

/// √ E |<w-predictor of one - that of two, x_q>|² for infinite prompts, over tasks and queries; exact.
class PredictionDistance {
 public:
  explicit PredictionDistance(const RegressionProblem& problem);
  double operator()(const RegressionParameters& one, const RegressionParameters& two) const;

 private:
  RegressionProblem problem_;
  Matrix prior_root_;
};

}  // namespace largo::icl
