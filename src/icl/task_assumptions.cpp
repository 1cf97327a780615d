#include "largo/icl/task_assumptions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "concentration/assumption_rows.hpp"
#include "concentration/law_pieces.hpp"
#include "icl/assumed_regression.hpp"
#include "largo/icl/law_regression.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"

namespace largo {
namespace {

constexpr const char* kTaskAssumptions = "task_assumptions";
constexpr double kBeyond = std::numeric_limits<double>::infinity();
constexpr const char* kTheorem = "Thm 4.3";
constexpr const char* kUnproved =
    "this needs a proved sub-Gaussian constant of covariates, noise, tasks and queries, and one of them has "
    "none";

Assumption sigma_given_task(const icl::AssumedRegression& ask) {
  Assumption row{
      .name = "sub_gaussian_given_task",
      .statement = "given the task, tokens are σ-sub-Gaussian, and σ² has an average over the tasks",
      .kind = ValueKind::at_most,
      .needed_by = kTheorem};
  const auto sigma = ask.base_sigma();
  const auto map = ask.map_norm(1);
  if (!sigma || !map) {
    row.note = kUnproved;
    return row;
  }
  row.value = *sigma * *sigma * *map * *map;
  row.holds = Holds::yes;
  if (ask.gaussian) {  // the trace of Γ_w
    const RegressionProblem& problem = *ask.gaussian;
    const double labels = (problem.covariance * problem.prior_covariance).trace() + problem.noise_variance;
    row.value = std::min(*row.value, problem.covariance.trace() + labels);
  }
  return row;
}

Assumption one_sigma(const icl::AssumedRegression& ask) {
  Assumption row{.name = "one_sigma_for_all_tasks",
                 .statement = "one σ serves for all tasks",
                 .kind = ValueKind::at_most,
                 .needed_by = "Prop. 3.1, Prop. 3.4 with the same constants for every task"};
  if (ask.labels_grow()) {
    row.value = kBeyond;
    row.kind = ValueKind::exact;
    row.holds = Holds::no;
    row.where = "tasks are not bounded, and the variance of a label grows with the square of the task";
    return row;
  }
  const auto sigma = ask.base_sigma(), map = ask.largest_map();
  if (sigma && map) {
    row.value = *sigma * *map;
    row.holds = Holds::yes;
  } else {
    row.note =
        "tasks or the scale of the noise are not known to be bounded, or covariates or noise have no proved "
        "σ";
  }
  return row;
}

Assumption task_moment(const icl::AssumedRegression& ask) {
  Assumption row{
      .name = "task_moment_16",
      .statement =
          "the tasks have a moment of order 16, since the covariance of the tokens is quadratic in the task",
      .kind = ValueKind::at_most,
      .needed_by = kTheorem};
  if (const auto norm = ask.task_norm(8)) {
    row.value = std::pow(*norm, 16);
    row.holds = Holds::yes;
    if (ask.prior.all_gaussian() && ask.prior.mean.size() == ask.laws.outputs * ask.d())
      row.kind = ValueKind::exact;
  } else {
    row.note = kUnproved;
  }
  return row;
}

Assumption task_tilted_moment(const icl::AssumedRegression& ask, int p) {
  constexpr Eigen::Index kMostTaskDimensions = 5;
  Assumption row{.name = fmt::format("tilted_moment_{}", 2 * p),
                 .statement = fmt::format(
                     "the moment of order {} of the tilted law has an average over tasks and queries", 2 * p),
                 .kind = ValueKind::at_most,
                 .needed_by = kTheorem};
  if (ask.gaussian) {
    const Matrix root =
        numerics::covariance_root(kTaskAssumptions, "prior", ask.gaussian->prior_covariance).root;
    if (root.cols() <= kMostTaskDimensions) {
      row.value = icl::gaussian_task_moment(ask, root, p);
      row.kind = ValueKind::exact;
      row.holds = Holds::yes;
      return row;
    }
  }
  // Norms in L^{2p} over tasks and queries, which are independent.
  const auto sigma = ask.base_sigma();
  const auto map = ask.map_norm(p), map_square = ask.map_norm(2 * p);
  const Matrix scores = ask.query_scores();
  const auto query =
      norm_moment(ask.queries, scores, Vector::Zero(ask.size()), Matrix::Zero(ask.size(), ask.size()), p);
  if (!sigma || !map || !map_square || !query) {
    row.note = kUnproved;
    return row;
  }
  const double constant = concentration::sub_gaussian_norm(*sigma, ask.size(), p, 0) * *map * *map;
  const double growing = 4 * std::pow(*sigma * *map_square, 4) * std::pow(query->value, 1.0 / p);
  row.value = concentration::bound_of_power(*map * ask.base_mean() + std::sqrt(constant + growing), p).value;
  row.holds = Holds::yes;
  return row;
}

// ‖U21 x‖ is as large as one likes with positive probability, and then e^{s²} has no average over Gaussian
// tasks.
bool rho_diverges(const icl::AssumedRegression& ask) {
  return ask.gaussian && ask.sees_labels() && ask.labels_grow();
}

Assumption task_rho(const icl::AssumedRegression& ask) {
  Assumption row{.name = "finite_rho",
                 .statement = "ρ has an average over tasks and queries; the value is its logarithm",
                 .needed_by = "certified bounds, averaged over tasks (docs/bounds.md)"};
  if (ask.sees_labels() && (ask.labels_grow() || !ask.gaussian)) {
    row.where = "U21 is not zero: scores depend on labels, and s² grows like |w|²|x|²";
    if (rho_diverges(ask)) {
      row.value = kBeyond;
      row.holds = Holds::no;
      row.note = "no power ρ^θ with θ > 0 has an average either, so bounds of this kind give no rate";
    } else {
      row.note = "decided for Gaussian tasks, covariates and queries only";
    }
    return row;
  }
  const concentration::MeanRho mean = icl::mean_rho_of_any_task(ask);
  const std::string growth = mean.comparison("Σ_q");
  row.kind = mean.exact ? ValueKind::exact : ValueKind::at_most;
  row.value = mean.log_value;
  if (mean.log_value || mean.converges) {
    row.holds = Holds::yes;
    if (mean.norm > 0) row.where = growth;
    if (!mean.log_value) row.note = "finite, but no bound on it is known that float64 can hold";
  } else if (mean.diverges) {
    row.value = kBeyond;
    row.kind = ValueKind::exact;
    row.holds = Holds::no;
    row.where = growth;
    row.note = fmt::format("ρ^θ has an average for every θ < {}", mean.largest_power("Σ_q"));
  } else {
    row.where = growth;
    row.note = "not decided by the bounds that are known";
  }
  return row;
}

std::vector<Assumption> rows_about(const icl::AssumedRegression& ask) {
  return {sigma_given_task(ask),
          one_sigma(ask),
          concentration::sub_gaussian_queries(ask.laws.queries),
          task_moment(ask),
          task_tilted_moment(ask, 2),
          task_tilted_moment(ask, 4),
          task_rho(ask)};
}

}  // namespace

std::vector<Assumption> task_assumptions(const RegressionProblem& problem, const Matrix& U) {
  check(problem);
  refuse_sink(problem);
  const auto gaussian = [](const Matrix& covariance) {
    return std::make_shared<GaussianMeasure>(Vector::Zero(covariance.rows()), covariance);
  };
  RegressionLaws laws;
  laws.covariates = gaussian(problem.covariance);
  laws.queries = gaussian(problem.query_covariance);
  laws.prior = gaussian(problem.prior_covariance);
  if (problem.noise_variance > 0) laws.noise = gaussian(Matrix::Constant(1, 1, problem.noise_variance));
  return rows_about(icl::assumed_regression(laws, U, problem.score_scale, problem));
}

std::vector<Assumption> task_assumptions(const InContextProblem& problem, const Matrix& U) {
  const auto* task = dynamic_cast<const LawRegression*>(problem.task.get());
  if (task == nullptr) {
    fail(kTaskAssumptions, "task", "another task",
         "a regression, whose tokens are linear in the task; for others give assumptions() the law of the "
         "tokens of one task");
  }
  if (const auto gaussian = task->gaussian_problem()) {
    RegressionProblem scaled = *gaussian;
    scaled.score_scale = problem.score_scale;
    return task_assumptions(scaled, U);
  }
  return rows_about(icl::assumed_regression(task->laws(), U, problem.score_scale, std::nullopt));
}

}  // namespace largo
