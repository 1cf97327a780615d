// Single-location regression: risks, the best head, training, thresholds.
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/stl.h>

#include "arrays.hpp"
#include "calls.hpp"
#include "largo/icl/single_location_training.hpp"
#include "largo/runtime/check.hpp"
#include "module.hpp"
#include "records.hpp"
#include "scalars.hpp"

namespace largo::python {
namespace {

using namespace py::literals;

// compute(values at one point) fills kCount numbers; a tuple of kCount arrays over all points.
template <std::size_t kCount, typename Compute>
py::tuple over_points(const Broadcast& points, const Compute& compute) {
  std::array<Vector, kCount> results;
  for (Vector& one : results) one.resize(points.count());
  watch(py::none(), 1, [&](const Call& call) {
    for (std::ptrdiff_t i = 0; i < points.count(); ++i) {
      call.check();
      const std::array<double, kCount> found = compute(i);
      for (std::size_t k = 0; k < kCount; ++k) results[k][i] = found[k];
    }
  });
  py::tuple all(kCount);
  for (std::size_t k = 0; k < kCount; ++k) all[k] = shaped(std::move(results[k]), points.shape);
  return all;
}

SingleLocation problem_at(const Broadcast& points, std::ptrdiff_t i, double spread, double noise) {
  return {points[0][i], points[1][i], spread, noise};
}

py::tuple planar_risk(const py::object& L, const py::object& signal, const py::object& a, const py::object& b,
                      Real<"needle_spread"> spread, Real<"noise"> noise) {
  const Broadcast points =
      broadcast("single_location_risk", {{"L", L}, {"signal", signal}, {"a", a}, {"b", b}});
  return over_points<4>(points, [&](std::ptrdiff_t i) -> std::array<double, 4> {
    const auto risk = planar_single_location_risk(problem_at(points, i, spread.value, noise.value));
    const RiskPoint point = risk->at(Eigen::Vector2d(points[2][i], points[3][i]));
    return {point.value, point.error, point.gradient[0], point.gradient[1]};
  });
}

py::tuple head_risk(Real<"L"> L, Real<"signal"> signal, const py::object& u, const py::object& v,
                    Real<"needle_spread"> spread, Real<"noise"> noise) {
  constexpr auto kFunction = "single_location_risk";
  const Vector to = to_vector({kFunction, "u"}, u), from = to_vector({kFunction, "v"}, v);
  check_size(kFunction, "v", from.size(), to.size());
  Vector both(2 * to.size());
  both << to, from;
  const RiskPoint point = unlocked([&] {
    return single_location_risk({L.value, signal.value, spread.value, noise.value}, to.size())->at(both);
  });
  return py::make_tuple(point.value, point.error, to_numpy(Vector(point.gradient.head(to.size()))),
                        to_numpy(Vector(point.gradient.tail(to.size()))));
}

py::tuple best(const py::object& L, const py::object& signal, Real<"needle_spread"> spread,
               Real<"noise"> noise) {
  const Broadcast points = broadcast("single_location_best", {{"L", L}, {"signal", signal}});
  return over_points<6>(points, [&](std::ptrdiff_t i) -> std::array<double, 6> {
    const SingleLocationBest found = best_single_location(problem_at(points, i, spread.value, noise.value));
    return {found.a,
            found.b,
            found.excess.value + noise.value / 2,
            found.excess.value,
            found.excess.error,
            found.needle_weight.value};
  });
}

py::dict flow(Real<"L"> L, Real<"signal"> signal, Real<"a"> a, Real<"b"> b, Real<"needle_spread"> spread,
              Real<"noise"> noise, const py::object& time) {
  FlowPlan plan = single_location_plan();
  if (!time.is_none()) plan.end = read_real("time", time);
  SingleLocationFlow found;
  watch(py::none(), 1, [&](const Call& call) {
    found = single_location_flow({L.value, signal.value, spread.value, noise.value}, a.value, b.value, plan,
                                 call.execution());
  });
  const auto& points = found.flow.trajectory.points();
  Vector times(std::ssize(points)), risks(times.size());
  RowMatrix parameters(times.size(), 2);
  for (std::ptrdiff_t i = 0; i < times.size(); ++i) {
    const TrajectoryPoint& point = points[static_cast<std::size_t>(i)];
    times[i] = point.time;
    risks[i] = point.risk;
    parameters.row(i) = point.parameters.transpose();
  }
  return py::dict("a"_a = found.last.a, "b"_a = found.last.b, "risk"_a = found.flow.last.value,
                  "excess"_a = found.last.excess.value, "needle_weight"_a = found.last.needle_weight.value,
                  "stationary"_a = found.flow.stationary, "times"_a = to_numpy(std::move(times)),
                  "risks"_a = to_numpy(std::move(risks)), "parameters"_a = to_numpy(std::move(parameters)));
}

py::object longest(const py::object& signal, const py::object& epsilon, Real<"needle_spread"> spread) {
  const Broadcast points = broadcast("single_location_length", {{"signal", signal}, {"epsilon", epsilon}});
  return over_points<1>(points, [&](std::ptrdiff_t i) -> std::array<double, 1> {
    return {longest_prompt({2, points[0][i], spread.value, 0}, points[1][i]).problem.L};
  })[0];
}

py::object weakest(const py::object& L, const py::object& epsilon, Real<"needle_spread"> spread) {
  const Broadcast points = broadcast("single_location_signal", {{"L", L}, {"epsilon", epsilon}});
  return over_points<1>(points, [&](std::ptrdiff_t i) -> std::array<double, 1> {
    return {weakest_signal({points[0][i], 0, spread.value, 0}, points[1][i]).problem.signal};
  })[0];
}

}  // namespace

void bind_single_location(py::module_& module) {
  module.def("single_location_risk", &planar_risk);
  module.def("single_location_head_risk", &head_risk);
  module.def("single_location_best", &best);
  module.def("single_location_flow", &flow);
  module.def("single_location_length", &longest);
  module.def("single_location_signal", &weakest);
}

}  // namespace largo::python
