// The parts-integration algebra, and the check of the Lemma.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pybind11/operators.h>
#include <pybind11/stl.h>

#include "arrays.hpp"
#include "calls.hpp"
#include "docs.hpp"
#include "largo/attention/lemma.hpp"
#include "largo/exact/parts_algebra.hpp"
#include "largo/exact/power_sums.hpp"
#include "largo/runtime/check.hpp"
#include "module.hpp"
#include "records.hpp"
#include "scalars.hpp"

namespace largo::python {
namespace {

using namespace py::literals;
using Expression = SoftmaxExpression;

Expression power(const Expression& base, std::int64_t exponent) {
  constexpr std::int64_t kMost = 1000;  // coefficients exceed 64 bits long before
  if (exponent < 0 || exponent > kMost) {
    fail("parts.Expression", "exponent", static_cast<double>(exponent), "between 0 and 1000");
  }
  Expression result = 1;
  for (std::int64_t i = 0; i < exponent; ++i) result = result * base;
  return result;
}

// The terms as {((k, m), …): (c0, c1, …)}.
py::dict terms_of(const Expression& expression) {
  py::dict terms;
  for (const auto& [factors, coefficient] : expression.terms()) {
    py::list product;
    for (const SoftmaxSum& one : factors) product.append(py::make_tuple(one.k, one.m));
    terms[py::tuple(product)] = py::tuple(py::cast(coefficient));
  }
  return terms;
}

Expression from_terms(const py::dict& terms) {
  Expression expression;
  for (const auto& [product, coefficient] : terms) {
    SoftmaxProduct factors;
    for (const auto& [k, m] : py::cast<std::vector<std::pair<int, int>>>(product)) factors.push_back({k, m});
    expression.add(std::move(factors), py::cast<SpreadPolynomial>(coefficient));
  }
  return expression;
}

py::tuple expectations(const Expression& expression, const py::object& s, const py::object& L) {
  const Broadcast points = broadcast("parts.expectation", {{"s", s}, {"L", L}});
  Vector values(points.count()), errors(points.count());
  watch(py::none(), 1, [&](const Call& call) {
    const Expression reduced = reduce_by_parts(expression);
    for (std::ptrdiff_t i = 0; i < values.size(); ++i) {
      const double spread = points[0][i], length = points[1][i];
      const Estimate one = expectation(reduced, spread, [&](const std::vector<int>& parts) {
        call.check();
        return power_sum_moment(parts, spread, length);
      });
      values[i] = one.value;
      errors[i] = one.error;
    }
  });
  return py::make_tuple(shaped(std::move(values), points.shape), shaped(std::move(errors), points.shape));
}

py::dict lemma(Whole<"cases"> cases, const std::vector<std::int64_t>& lengths, Whole<"prompts"> prompts,
               Seed seed, Threads threads) {
  constexpr std::int64_t kMost = 1'000'000;
  for (const auto& [name, value] : {std::pair("cases", cases.value), std::pair("prompts", prompts.value)}) {
    if (value > kMost) fail("check_lemma", name, static_cast<double>(value), "at most 1e6");
  }
  LemmaReport report;
  watch(py::none(), threads.value, [&](const Call& call) {
    report =
        check_lemma({seed.value, static_cast<int>(cases.value), lengths, static_cast<int>(prompts.value)},
                    call.execution());
  });
  py::list distances;
  for (const LemmaReport::AtLength& one : report.distances) {
    distances.append(py::make_tuple(one.length, one.mean_squared_distance, one.standard_error));
  }
  return py::dict("cases"_a = report.cases, "singular_cases"_a = report.singular_cases,
                  "worst_error"_a = report.worst_error, "distances"_a = distances, "slope"_a = report.slope,
                  "slope_error"_a = report.slope_error);
}

}  // namespace

void bind_parts(py::module_& module) {
  py::class_<Expression>(module, "Expression", docs::kExpression)
      .def(py::init([](Whole<"constant"> constant) { return Expression(constant.value); }),
           "__init__(self, constant=0)\n--\n\n", py::arg("constant") = 0)
      .def(py::self + py::self)
      .def(py::self - py::self)
      .def(py::self * py::self)
      .def(-py::self)
      .def(
          "__add__", [](const Expression& left, std::int64_t right) { return left + Expression(right); },
          py::is_operator())
      .def(
          "__radd__", [](const Expression& right, std::int64_t left) { return Expression(left) + right; },
          py::is_operator())
      .def(
          "__sub__", [](const Expression& left, std::int64_t right) { return left - Expression(right); },
          py::is_operator())
      .def(
          "__rsub__", [](const Expression& right, std::int64_t left) { return Expression(left) - right; },
          py::is_operator())
      .def(
          "__mul__", [](const Expression& left, std::int64_t right) { return left * Expression(right); },
          py::is_operator())
      .def(
          "__rmul__", [](const Expression& right, std::int64_t left) { return Expression(left) * right; },
          py::is_operator())
      .def("__pow__", &power, py::is_operator())
      .def(
          "__eq__", [](const Expression& left, const Expression& right) { return left == right; },
          py::is_operator())
      .def("__hash__", [](const Expression& self) { return py::hash(py::str(to_string(self))); })
      .def("__str__", [](const Expression& self) { return to_string(self); })
      .def("__repr__",
           [](const Expression& self) { return fmt::format("<largo.parts.Expression {}>", to_string(self)); })
      .def(py::pickle(&terms_of, &from_terms))
      .def_property_readonly("terms", &terms_of, docs::kExpressionTerms)
      .def(
          "reduce", [](const Expression& self) { return unlocked([&] { return reduce_by_parts(self); }); },
          docs::kExpressionReduce)
      .def("derivative", &derivative_in_s, docs::kExpressionDerivative);
  module.def("parts_sum", [](Whole<"k"> k, Whole<"m"> m) {
    constexpr std::int64_t kMost = kLargestSumIndex + 1;  // all indices beyond it are equally wrong
    return softmax_sum(static_cast<int>(std::clamp(k.value, std::int64_t{0}, kMost)),
                       static_cast<int>(std::clamp(m.value, std::int64_t{-1}, kMost)));
  });
  module.def("parts_spread", [] { return spread_power(1); });
  module.def("parts_expectation", &expectations);
  module.def("check_lemma", &lemma);
}

}  // namespace largo::python
