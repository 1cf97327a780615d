// The hypotheses of the propositions, for a law or for a regression. Results are lists of dicts with the keys
// of the command line's JSON.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pybind11/stl.h>

#include "arrays.hpp"
#include "calls.hpp"
#include "largo/concentration/assumptions.hpp"
#include "largo/icl/law_regression.hpp"
#include "largo/icl/task_assumptions.hpp"
#include "largo/runtime/check.hpp"
#include "law_arguments.hpp"
#include "module.hpp"
#include "scalars.hpp"

namespace largo::python {
namespace {

using namespace py::literals;
constexpr const char *kAssumptions = "assumptions", *kTaskAssumptions = "icl.assumptions";

py::dict to_dict(const Assumption& row) {
  const auto number = [](const std::optional<double>& value) {
    return value ? py::object(py::float_(*value)) : py::none();
  };
  py::dict dict("name"_a = row.name, "value"_a = number(row.value), "holds"_a = py::none(),
                "needed_by"_a = row.needed_by, "kind"_a = py::none(), "statement"_a = row.statement,
                "where"_a = row.where, "note"_a = row.note, "at_queries"_a = py::cast(row.at_queries));
  if (row.holds != Holds::unknown) dict["holds"] = py::bool_(row.holds == Holds::yes);
  if (row.value) dict["kind"] = name_of(row.kind);
  return dict;
}

py::list to_list(const std::vector<Assumption>& rows) {
  py::list list;
  for (const Assumption& row : rows) list.append(to_dict(row));
  return list;
}

Matrix scores_of(const py::object& U, const py::object& K, const py::object& Q, std::ptrdiff_t d) {
  if (K.is_none() != Q.is_none()) fail(kAssumptions, "K and Q go together");
  if (!K.is_none() && !U.is_none()) fail(kAssumptions, "give either U, or K and Q");
  if (K.is_none()) return to_matrix({kAssumptions, "U"}, U.is_none() ? py::str("identity") : U, d);
  const Matrix key = to_matrix({kAssumptions, "K"}, K, std::nullopt, d);
  return key.transpose() * to_matrix({kAssumptions, "Q"}, Q, key.rows());
}

py::list law_assumptions(const py::object& law, const py::object& U, const py::object& K, const py::object& Q,
                         const py::object& queries, Threads threads) {
  AttentionLayer layer;
  layer.tokens = to_law({kAssumptions, "law"}, law);
  const std::ptrdiff_t d = layer.tokens->dimension();
  layer.U = scores_of(U, K, Q, d);
  layer.V = Matrix::Zero(1, d);  // plays no part
  layer.queries = to_queries({kAssumptions, "queries"}, queries);
  std::vector<Assumption> rows;
  watch(py::none(), threads.value, [&](const Call& call) { rows = assumptions(layer, call.execution()); });
  return to_list(rows);
}

// U, or A in its corner.
Matrix task_scores(const py::object& A, const py::object& U, Eigen::Index d, Eigen::Index size) {
  if (A.is_none() == U.is_none()) fail(kTaskAssumptions, "give either A or U");
  if (A.is_none()) return to_matrix({kTaskAssumptions, "U"}, U, size, size);
  Matrix scores = Matrix::Zero(size, size);
  scores.topLeftCorner(d, d) = to_matrix({kTaskAssumptions, "A"}, A, d, d);
  return scores;
}

py::list problem_assumptions(const RegressionProblem& problem, const py::object& A, const py::object& U) {
  const Eigen::Index d = problem.dimension();
  const Matrix scores = task_scores(A, U, d, d + 1);
  std::vector<Assumption> rows;
  unlocked([&] { rows = task_assumptions(problem, scores); });
  return to_list(rows);
}

py::list regression_assumptions(const std::shared_ptr<LawRegression>& task, const py::object& A,
                                const py::object& U, Real<"score_scale"> score_scale) {
  check_finite(kTaskAssumptions, "score_scale", score_scale.value);
  const Matrix scores = task_scores(A, U, task->laws().covariates->dimension(), task->token_dimension());
  std::vector<Assumption> rows;
  unlocked([&] { rows = task_assumptions({task, squared_loss(), score_scale.value}, scores); });
  return to_list(rows);
}

}  // namespace

void bind_assumptions(py::module_& module) {
  module.def("assumptions", &law_assumptions);
  module.def("problem_assumptions", &problem_assumptions);
  module.def("regression_assumptions", &regression_assumptions);
}

}  // namespace largo::python
