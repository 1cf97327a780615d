// Exact statistics of softmax attention over L Gaussian tokens.
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "calls.hpp"
#include "docs.hpp"
#include "largo/exact/heaviest_tokens.hpp"
#include "largo/exact/moment_fields.hpp"
#include "largo/exact/needle_weight.hpp"
#include "largo/exact/power_sums.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/exact/softmax_table.hpp"
#include "largo/exact/token_classes.hpp"
#include "largo/version.hpp"
#include "module.hpp"
#include "records.hpp"
#include "scalars.hpp"

namespace largo::python {
namespace {

using Moments = Records<SoftmaxMoments>;
using Statistics = Records<SoftmaxStatistics>;

// The value or the error of one estimate, at all points.
py::object part(const py::object& self, Estimate SoftmaxMoments::*estimate, double Estimate::*which) {
  const auto& moments = py::cast<const Moments&>(self);
  if (moments.shape.empty()) return py::float_((moments.points[0].*estimate).*which);
  return strided(self, moments, moments.points.empty() ? nullptr : &((moments.points[0].*estimate).*which));
}

py::dict errors_of(const py::object& self) {
  py::dict errors;
  for (const MomentField& one : kMomentFields) errors[one.name] = part(self, one.estimate, &Estimate::error);
  return errors;
}

// Points are independent: threads take them in any order, and the results are bit-identical.
template <typename Compute>
void for_every_point(std::size_t count, Call& call, const Compute& compute) {
  const Execution execution = call.execution();
  std::atomic<std::size_t> done = 0;
  const auto one = [&](std::size_t i) {
    call.check();
    compute(i);
    call.show(static_cast<double>(++done) / static_cast<double>(count));
  };
  // The arena is kept by the thread, which is kept itself: oneTBB does not free all the memory of an arena.
  thread_local std::map<int, tbb::task_arena> arenas;
  const int threads = execution.threads > 0 ? execution.threads : tbb::task_arena::automatic;
  arenas.try_emplace(threads, threads).first->second.execute([&] {
    tbb::parallel_for(std::size_t{0}, count, one);
  });
}

Moments moments(const py::object& s, const py::object& L, Threads threads, const py::object& progress) {
  if (is_number(s) && is_number(L)) {
    const double spread = read_real("s", s), length = read_real("L", L);
    return {{unlocked([&] { return softmax_moments(spread, length); })}, {}};
  }
  const Broadcast points = broadcast("moments", {{"s", s}, {"L", L}});
  Moments result{std::vector<SoftmaxMoments>(static_cast<std::size_t>(points.count())), points.shape};
  watch(progress, threads.value, [&](Call& call) {
    for_every_point(result.points.size(), call,
                    [&](std::size_t i) { result.points[i] = softmax_moments(points[0][i], points[1][i]); });
  });
  return result;
}

// The i-th set of classes, from rows of (count, shift, spread).
std::vector<TokenClass> classes_of(const Eigen::Map<const RowMatrix>& rows, std::ptrdiff_t i,
                                   std::ptrdiff_t each) {
  std::vector<TokenClass> classes;
  for (std::ptrdiff_t c = 0; c < each; ++c) {
    const auto row = rows.row(i * each + c);
    classes.push_back({row[0], row[1], row[2]});
  }
  return classes;
}

// Classes in rows of (count, shift, spread), one set of classes after the other. Returns values and errors, a
// row for each set: seven numbers, and then the weights of the classes.
py::tuple class_moments_at(const py::array_t<double, py::array::c_style>& given, std::ptrdiff_t each,
                           Threads threads, const py::object& progress) {
  const Eigen::Map<const RowMatrix> classes(given.data(), given.shape(0), 3);
  const std::ptrdiff_t count = classes.rows() / each, width = 7 + each;
  RowMatrix values(count, width), errors(count, width);
  watch(progress, threads.value, [&](Call& call) {
    for_every_point(static_cast<std::size_t>(count), call, [&](std::size_t at) {
      const auto i = static_cast<std::ptrdiff_t>(at);
      const std::vector<TokenClass> prompt = classes_of(classes, i, each);
      const ClassMoments found = class_moments(prompt);
      std::vector<Estimate> all = {found.P2,
                                   found.P3,
                                   found.P2P2,
                                   found.entropy,
                                   found.mean_score,
                                   found.log_partition,
                                   mean_largest_weight(prompt)};
      all.insert(all.end(), found.weights.begin(), found.weights.end());
      for (std::ptrdiff_t k = 0; k < width; ++k) {
        values(i, k) = all[static_cast<std::size_t>(k)].value;
        errors(i, k) = all[static_cast<std::size_t>(k)].error;
      }
    });
  });
  return py::make_tuple(to_numpy(std::move(values)), to_numpy(std::move(errors)));
}

// The same classes; values and errors of the mass of the `count` heaviest tokens, one for each set.
py::tuple heaviest_mass_at(const py::array_t<double, py::array::c_style>& given, std::ptrdiff_t each,
                           Whole<"count"> count, Threads threads, const py::object& progress) {
  const Eigen::Map<const RowMatrix> classes(given.data(), given.shape(0), 3);
  constexpr std::int64_t kMost = 1000;  // beyond what is known, but within an int
  const auto tokens = static_cast<int>(std::clamp(count.value, -kMost, kMost));
  Vector values(classes.rows() / each), errors(values.size());
  watch(progress, threads.value, [&](Call& call) {
    for_every_point(static_cast<std::size_t>(values.size()), call, [&](std::size_t at) {
      const auto i = static_cast<std::ptrdiff_t>(at);
      const std::vector<TokenClass> prompt = classes_of(classes, i, each);
      const Estimate found = heaviest_mass(prompt, tokens);
      values[i] = found.value;
      errors[i] = found.error;
    });
  });
  return py::make_tuple(to_numpy(std::move(values)), to_numpy(std::move(errors)));
}

// The same classes, and a score and a number for each set. Of P(W <= x) and P(W > x) at the number x, or of
// the x with P(W <= x) = the number: values and errors.
py::tuple needle_weight_at(const py::array_t<double, py::array::c_style>& given, std::ptrdiff_t each,
                           const py::array_t<double, py::array::c_style>& scores,
                           const py::array_t<double, py::array::c_style>& numbers, bool quantile,
                           Threads threads, const py::object& progress) {
  const Eigen::Map<const RowMatrix> classes(given.data(), given.shape(0), 3);
  const double *score = scores.data(), *number = numbers.data();
  const std::ptrdiff_t count = classes.rows() / each, width = quantile ? 1 : 2;
  RowMatrix values(count, width), errors(count, width);
  watch(progress, threads.value, [&](Call& call) {
    for_every_point(static_cast<std::size_t>(count), call, [&](std::size_t at) {
      const auto i = static_cast<std::ptrdiff_t>(at);
      const NeedleWeight needle(classes_of(classes, i, each), score[i]);
      std::vector<Estimate> found;
      if (quantile) {
        found = {needle.quantile(number[i])};
      } else {
        const NeedleWeight::Chances chances = needle.at(number[i]);
        found = {chances.below, chances.above};
      }
      for (std::ptrdiff_t k = 0; k < width; ++k) {
        values(i, k) = found[static_cast<std::size_t>(k)].value;
        errors(i, k) = found[static_cast<std::size_t>(k)].error;
      }
    });
  });
  return py::make_tuple(to_numpy(std::move(values)), to_numpy(std::move(errors)));
}

Statistics look_up(const SoftmaxTable& table, const py::object& s) {
  if (is_number(s)) {
    const double spread = read_real("s", s);
    return {{unlocked([&] { return table(spread); })}, {}};
  }
  const Broadcast points = broadcast("SoftmaxTable", {{"s", s}});
  Statistics result{std::vector<SoftmaxStatistics>(static_cast<std::size_t>(points.count())), points.shape};
  watch(py::none(), 0, [&](const Call& call) {
    for (std::size_t i = 0; i < result.points.size(); ++i) {
      if (i % 1024 == 0) call.check();
      result.points[i] = table(points[0][i]);
    }
  });
  return result;
}

py::object power_sums(const std::vector<std::int64_t>& given, const py::object& s, const py::object& L) {
  std::vector<int> parts;
  for (const std::int64_t k : given) {
    constexpr std::int64_t kMost = 1000;  // beyond what is known, but within an int
    parts.push_back(static_cast<int>(std::clamp(k, -kMost, kMost)));
  }
  const Broadcast points = broadcast("power_sum_moment", {{"s", s}, {"L", L}});
  Vector values(points.count()), errors(points.count());
  watch(py::none(), 1, [&](const Call& call) {
    for (std::ptrdiff_t i = 0; i < values.size(); ++i) {
      call.check();
      const Estimate one = power_sum_moment(parts, points[0][i], points[1][i]);
      values[i] = one.value;
      errors[i] = one.error;
    }
  });
  return py::make_tuple(shaped(std::move(values), points.shape), shaped(std::move(errors), points.shape));
}

// The values of f(points, i) at all points.
template <typename Function>
py::object at_every_point(const Broadcast& points, const Function& f) {
  Vector values(points.count());
  unlocked([&] {
    for (std::ptrdiff_t i = 0; i < values.size(); ++i) values[i] = f(points, i);
  });
  return shaped(std::move(values), points.shape);
}

void bind_asymptotics(py::module_& module) {
  module.def("condensation_line", [](const py::object& L) {
    return at_every_point(broadcast("condensation_line", {{"L", L}}),
                          [](const Broadcast& at, auto i) { return condensation_line(at[0][i]); });
  });
  module.def("concentration_exponent", [](const py::object& s, const py::object& L) {
    return at_every_point(
        broadcast("concentration_exponent", {{"s", s}, {"L", L}}),
        [](const Broadcast& at, auto i) { return concentration_exponent(at[0][i], at[1][i]); });
  });
  module.def("averaged_exponent", [](const py::object& sigma) {
    return at_every_point(broadcast("averaged_exponent", {{"sigma", sigma}}),
                          [](const Broadcast& at, auto i) { return averaged_exponent(at[0][i]); });
  });
}

// Pickles the records as they are in memory, for the same version of largo only.
template <typename Record>
auto pickled() {
  using All = Records<Record>;
  return py::pickle(
      [](const All& self) {
        const auto* bytes = reinterpret_cast<const char*>(self.points.data());
        return py::make_tuple(kVersion, self.shape, py::bytes(bytes, self.points.size() * sizeof(Record)));
      },
      [](const py::tuple& state) {
        const auto bytes = py::cast<std::string>(state[2]);
        const auto shape = py::cast<std::vector<py::ssize_t>>(state[1]);
        const auto count = std::accumulate(shape.begin(), shape.end(), py::ssize_t{1}, std::multiplies<>());
        if (py::cast<std::string>(state[0]) != kVersion ||
            bytes.size() != static_cast<std::size_t>(count) * sizeof(Record)) {
          throw py::value_error("pickled by another version of largo");
        }
        All self{std::vector<Record>(static_cast<std::size_t>(count)), shape};
        std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(self.points.data()));
        return self;
      });
}

void bind_results(py::module_& module) {
  py::class_<Moments> moments(
      module, "Moments",
      "Moments(*args, **kwargs)\n--\n\nWhat moments() returns: fields are numbers, or arrays of one shape.");
  moments.def_property_readonly("s", [](const py::object& self) {
    return field(self, py::cast<const Moments&>(self), &SoftmaxMoments::s);
  });
  moments.def_property_readonly("L", [](const py::object& self) {
    return field(self, py::cast<const Moments&>(self), &SoftmaxMoments::L);
  });
  moments.def_property_readonly("self_check", [](const py::object& self) {
    return field(self, py::cast<const Moments&>(self), &SoftmaxMoments::self_check);
  });
  for (const MomentField& one : kMomentFields) {
    moments.def_property_readonly(
        one.name, [one](const py::object& self) { return part(self, one.estimate, &Estimate::value); });
  }
  moments.def(pickled<SoftmaxMoments>());
  moments.def_property_readonly("errors", &errors_of);
  moments.def_property_readonly("effective_tokens", [](const py::object& self) {
    const auto& records = py::cast<const Moments&>(self);
    if (records.shape.empty()) return py::object(py::float_(1 / records.points[0].P2.value));
    Vector tokens(std::ssize(records.points));
    std::transform(records.points.begin(), records.points.end(), tokens.begin(),
                   [](const SoftmaxMoments& one) { return 1 / one.P2.value; });
    return shaped(std::move(tokens), records.shape);
  });
  moments.def_property_readonly("shape", [](const Moments& self) { return py::tuple(py::cast(self.shape)); });
  moments.def("__repr__", [](const Moments& self) {
    if (!self.shape.empty()) return fmt::format("<largo.Moments at {} points>", self.points.size());
    const SoftmaxMoments& m = self.points[0];
    return fmt::format("<largo.Moments s={:g} L={:g} P2={:.6g} bias={:.6g} mse={:.6g}>", m.s, m.L, m.P2.value,
                       m.bias.value, m.mse.value);
  });

  py::class_<Statistics> statistics(module, "Statistics",
                                    "Statistics(*args, **kwargs)\n--\n\nWhat a SoftmaxTable returns: fields "
                                    "are numbers, or arrays of one shape.");
  const auto add_statistic = [&statistics](const char* name, double SoftmaxStatistics::*value) {
    statistics.def_property_readonly(name, [value](const py::object& self) {
      return field(self, py::cast<const Statistics&>(self), value);
    });
  };
  for (const MomentField& one : kMomentFields) add_statistic(one.name, one.value);
  add_statistic("relative_error", &SoftmaxStatistics::relative_error);
  statistics.def(pickled<SoftmaxStatistics>());
  statistics.def("__repr__", [](const Statistics& self) {
    return fmt::format("<largo.Statistics at {} points>", self.points.size());
  });
}

}  // namespace

void bind_moments(py::module_& module) {
  bind_results(module);
  module.def("moments", &moments);
  py::class_<SoftmaxTable>(module, "SoftmaxTable", docs::kTable)
      .def(py::init([](Real<"L"> L) { return std::make_unique<SoftmaxTable>(L.value); }),
           "__init__(self, L)\n--\n\n", py::arg("L"))
      .def_property_readonly(
          "L", [](const SoftmaxTable& self) { return self.lengths().longest(); }, "The length of the prompt.")
      .def("__reduce__",
           [](const py::object& self) {
             return py::make_tuple(py::type::of(self), py::make_tuple(self.attr("L")));
           })
      .def("__call__", &look_up, py::arg("s"))
      .def(
          "fill",
          [](const SoftmaxTable& self, Real<"s_max"> s_max, Threads threads) {
            watch(py::none(), threads.value,
                  [&](const Call& call) { self.fill(s_max.value, call.execution()); });
          },
          "fill(self, s_max, *, threads=0)\n--\n\nPrepares all s up to s_max now, in parallel.",
          py::arg("s_max"), py::kw_only(), py::arg("threads") = 0)
      .def("__repr__", [](const SoftmaxTable& self) {
        return fmt::format("<largo.SoftmaxTable L={:g}>", self.lengths().longest());
      });
  module.def("power_sum_moment", &power_sums);
  module.def("class_moments", &class_moments_at);
  module.def("heaviest_mass", &heaviest_mass_at);
  module.def("needle_weight", &needle_weight_at);
  // From C++ alone, for benchmarks/compare_python.py: the time of `repeats` calls, in seconds.
  module.def("_time_moments", [](double s, double L, int repeats) {
    double sum = 0;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i) sum += softmax_moments(s, L).mse.value;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    return std::isfinite(sum) ? taken.count() : 0;
  });
  bind_asymptotics(module);
}

}  // namespace largo::python
