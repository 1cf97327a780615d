#include "largo/icl/regression_problem.hpp"

#include <cmath>

#include "exact/sink_table.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"

namespace largo {
namespace {

constexpr const char* kRegressionProblem = "RegressionProblem";

// A d x d root, also if the covariance is singular.
Matrix square_root(const char* argument, const Matrix& covariance) {
  const numerics::CovarianceRoot root = numerics::covariance_root(kRegressionProblem, argument, covariance);
  Matrix square = Matrix::Zero(covariance.rows(), covariance.rows());
  square.leftCols(root.root.cols()) = root.root;
  return square;
}

}  // namespace

double RegressionProblem::null_risk() const { return (prior_covariance * query_covariance).trace() / 2; }

RegressionTask RegressionProblem::task() const {
  check(*this);
  refuse_sink(*this);
  return {square_root("covariance", covariance), square_root("query_covariance", query_covariance),
          square_root("prior_covariance", prior_covariance), std::sqrt(noise_variance), score_scale};
}

RegressionProblem paper_problem(const ConstMatrixRef& covariance) {
  return {.covariance = covariance,
          .query_covariance = covariance,
          .prior_covariance = Matrix::Identity(covariance.rows(), covariance.rows())};
}

void check(const RegressionProblem& problem) {
  const Eigen::Index d = problem.dimension();
  if (d < 1) fail(kRegressionProblem, "dimension", static_cast<double>(d), "at least 1");
  const auto check_covariance = [&](const char* name, const Matrix& matrix) {
    check_shape(kRegressionProblem, name, matrix.rows(), matrix.cols(), d, d);
    numerics::covariance_root(kRegressionProblem, name, matrix);
  };
  check_covariance("covariance", problem.covariance);
  check_covariance("query_covariance", problem.query_covariance);
  check_covariance("prior_covariance", problem.prior_covariance);
  check_finite(kRegressionProblem, "noise", problem.noise_variance);
  check_nonnegative(kRegressionProblem, "noise", problem.noise_variance);
  check_finite(kRegressionProblem, "score_scale", problem.score_scale);
  if (std::isnan(problem.sink) || (problem.has_sink() && !(std::abs(problem.sink) <= exact::kLargestSink)))
    fail("icl", "sink", problem.sink,
         "between -300 and 300 (of several, the logarithm of the sum of exp(score))");
}

void refuse_sink(const RegressionProblem& problem) {
  if (!problem.has_sink()) return;
  fail("icl",
       "a sink is known to exact risks and flows on the invariant set alone: leave it out, or choose "
       "invariant "
       "parameters, flows and Gaussian laws (no descents, no drawn prompts, no start off the set)");
}

Vector to_vector(const RegressionParameters& parameters) {
  Vector values(parameters.U.size() + parameters.v.size());
  values << parameters.U.reshaped(), parameters.v;
  return values;
}

RegressionParameters to_parameters(const ConstVectorRef& values, Eigen::Index d) {
  const Eigen::Index n = d + 1;
  check_size("to_parameters", "parameters", values.size(), n * n + n);
  return {values.head(n * n).reshaped(n, n), values.tail(n)};
}

}  // namespace largo
