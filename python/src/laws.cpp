// Law and its kinds.
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include "arrays.hpp"
#include "calls.hpp"
#include "docs.hpp"
#include "largo/measures/affine.hpp"
#include "largo/measures/elliptical.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/independent_pair.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/named_law.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "largo/runtime/check.hpp"
#include "law_arguments.hpp"
#include "module.hpp"
#include "python_law.hpp"
#include "recipes.hpp"
#include "scalars.hpp"

namespace largo::python {
namespace {

// The directions as columns, whose size is checked before any work.
Matrix columns_of(const Measure& law, const Rows& rows) {
  if (rows.dimension() != law.dimension()) {
    check_size("Law", "size of a", rows.dimension(), law.dimension());
  }
  return rows.view().transpose();
}

std::vector<Tilt> tilts_of(const Measure& law, const Rows& rows, TiltOrder order, int threads) {
  const Matrix directions = columns_of(law, rows);
  std::vector<Tilt> tilts;
  if (directions.cols() == 0) return tilts;
  watch(py::none(), threads,
        [&](const Call& call) { tilts = law.tilts(directions, order, call.execution()); });
  return tilts;
}

py::object log_partition(const Measure& law, const py::object& a, Threads threads) {
  const Rows rows = to_rows({"Law.log_partition", "a"}, a);
  if (rows.single)
    return py::float_(unlocked([&] { return law.log_partition(columns_of(law, rows).col(0)); }));
  Vector values(rows.count());
  const std::vector<Tilt> tilts = tilts_of(law, rows, TiltOrder::log_partition, threads.value);
  for (std::ptrdiff_t i = 0; i < values.size(); ++i)
    values[i] = tilts[static_cast<std::size_t>(i)].log_partition;
  return to_numpy(std::move(values));
}

py::object tilt(const Measure& law, const py::object& a, Threads threads) {
  const Rows rows = to_rows({"Law.tilt", "a"}, a);
  const py::object result = py::module_::import("largo._results").attr("Tilt");
  if (rows.single) {
    Tilt one = unlocked([&] { return law.tilt(columns_of(law, rows).col(0), TiltOrder::covariance); });
    return result(one.log_partition, to_numpy(std::move(one.mean)), to_numpy(one.covariance));
  }
  const std::vector<Tilt> tilts = tilts_of(law, rows, TiltOrder::covariance, threads.value);
  const std::ptrdiff_t n = rows.count(), d = law.dimension();
  Vector values(n);
  RowMatrix means(n, d), covariances(n * d, d);
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const Tilt& one = tilts[static_cast<std::size_t>(i)];
    values[i] = one.log_partition;
    means.row(i) = one.mean.transpose();
    covariances.middleRows(i * d, d) = one.covariance;
  }
  return result(to_numpy(std::move(values)), to_numpy(std::move(means)),
                to_numpy(std::move(covariances)).attr("reshape")(n, d, d));
}

py::array sample(const Measure& law, Whole<"L"> length, Seed seed, Threads threads) {
  constexpr double kMostEntries = 1e12;
  if (length.value < 1 ||
      static_cast<double>(length.value) * static_cast<double>(law.dimension()) > kMostEntries) {
    fail("Law.sample", "L", static_cast<double>(length.value), "at least 1, and L d at most 1e12");
  }
  RowMatrix tokens;
  watch(py::none(), threads.value, [&](const Call& call) {
    tokens = sample_prompt(law, Stream(seed.value, 0), length.value, call.execution());
  });
  return to_numpy(std::move(tokens));
}

// The mean or covariance of the law itself; for a prompt, by a pass over its tokens.
Tilt untilted(const Measure& law, TiltOrder order) {
  if (dynamic_cast<const EmpiricalMeasure*>(&law) == nullptr) {
    return unlocked([&] {
      Tilt tilt;
      if (order == TiltOrder::mean) tilt.mean = law.mean();
      if (order == TiltOrder::covariance) tilt.covariance = law.covariance();
      return tilt;
    });
  }
  Tilt tilt;
  watch(py::none(), 0, [&](const Call& call) {
    tilt = law.tilts(Matrix::Zero(law.dimension(), 1), order, call.execution()).front();
  });
  return tilt;
}

Arithmetic arithmetic_of(const std::string& precision) {
  if (precision == "auto") return Arithmetic::of_tokens;
  if (precision == "float32") return Arithmetic::float32;
  if (precision == "float64") return Arithmetic::float64;
  fail("Prompt", "precision", fmt::format("'{}'", precision), "auto, float32 or float64");
}

std::shared_ptr<EmpiricalMeasure> make_prompt(const py::object& tokens, const py::object& weights,
                                              const Text<"precision">& precision) {
  Tokens held = to_tokens({"Prompt", "tokens"}, tokens);
  std::optional<Vector> given;
  if (!weights.is_none()) given = to_vector({"Prompt", "weights"}, weights);
  const Arithmetic arithmetic = arithmetic_of(precision.value);
  const ArrayView view = held.view;
  const auto owner = kept_alive(std::move(held.array));
  return unlocked([&] { return std::make_shared<EmpiricalMeasure>(view, owner, given, arithmetic); });
}

// A view of the very memory that the prompt reads and keeps alive.
py::array tokens_of(const py::object& self) {
  const auto& prompt = py::cast<const EmpiricalMeasure&>(self);
  const ArrayView& view = prompt.tokens();
  const std::int64_t size = size_of(view.scalar);
  const py::dtype type = view.scalar == Scalar::float32 ? py::dtype::of<float>() : py::dtype::of<double>();
  py::array array(type, {view.rows, view.columns}, {view.row_stride * size, view.column_stride * size},
                  view.data, self);
  array.attr("setflags")(py::arg("write") = false);
  return array;
}

// In C++ measures are const; pybind11's holders are not.
std::shared_ptr<Measure> mutable_of(const MeasurePtr& law) { return std::const_pointer_cast<Measure>(law); }

void bind_law(py::module_& module) {
  py::class_<Measure, PythonLaw, std::shared_ptr<Measure>>(module, "Law", docs::kLaw, py::dynamic_attr())
      .def(py::init([](Whole<"dimension"> dimension) { return new PythonLaw(dimension.value); }),
           "__init__(self, dimension)\n--\n\n", py::arg("dimension"))
      .def_property_readonly("dimension", &Measure::dimension, "d, of a token.")
      .def("log_partition", &log_partition, docs::kLogPartition, py::arg("a"), py::kw_only(),
           py::arg("threads") = 0)
      .def("tilt", &tilt, docs::kTilt, py::arg("a"), py::kw_only(), py::arg("threads") = 0)
      .def(
          "mean", [](const Measure& law) { return to_numpy(untilted(law, TiltOrder::mean).mean); },
          "mean(self)\n--\n\nThe mean, (d,).")
      .def(
          "covariance",
          [](const Measure& law) { return to_numpy(untilted(law, TiltOrder::covariance).covariance); },
          "covariance(self)\n--\n\nThe covariance, (d, d).")
      .def(
          "sub_gaussian_constant",
          [](const Measure& law) { return unlocked([&] { return law.sub_gaussian_constant(); }); },
          "sub_gaussian_constant(self)\n--\n\nA σ with Λ(a) - <a, mean> <= σ²‖a‖²/2 for every a: the "
          "smallest one, or an upper bound "
          "(mixtures,\n"
          "prompts, elliptical laws, images). Of a law of one's own, and of what contains one, it is what a\n"
          "search of many directions finds, an estimate from below; sub_gaussian_kind() says which.")
      .def(
          "sub_gaussian_kind", [](const Measure& law) { return name_of(law.sub_gaussian_kind()); },
          "sub_gaussian_kind(self)\n--\n\nWhat sub_gaussian_constant() is: \"smallest\", \"at most\" (an "
          "upper bound) or \"at least\" (a "
          "search).")
      .def("sample", &sample, docs::kSample, py::arg("L"), py::kw_only(), py::arg("seed") = 1,
           py::arg("threads") = 0)
      .def("__reduce__",
           [](const py::object& self) {
             const py::module_ compiled = py::module_::import("largo._largo");
             return reduce(self, compiled.attr("Law"),
                           py::make_tuple(py::cast<const Measure&>(self).dimension()));
           })
      .def("__repr__", [](const py::object& self) {
        return fmt::format("<largo.{} on R^{}>", std::string(py::str(py::type::of(self).attr("__name__"))),
                           py::cast<const Measure&>(self).dimension());
      });
}

}  // namespace

void bind_laws(py::module_& module) {
  bind_law(module);
  py::class_<GaussianMeasure, Measure, std::shared_ptr<GaussianMeasure>>(module, "Gaussian", docs::kGaussian,
                                                                         py::is_final())
      .def(py::init([](const py::object& mean, const py::object& covariance) {
             if (covariance.is_none()) {
               fail("Gaussian",
                    "the covariance is missing: give the mean and it, Gaussian(mean, covariance)");
             }
             return std::make_shared<GaussianMeasure>(to_vector({"Gaussian", "mean"}, mean),
                                                      to_matrix({"Gaussian", "covariance"}, covariance));
           }),
           "__init__(self, mean, covariance)\n--\n\n", py::arg("mean"), py::arg("covariance") = py::none());
  py::class_<SphereMeasure, Measure, std::shared_ptr<SphereMeasure>>(module, "Sphere", docs::kSphere,
                                                                     py::is_final())
      .def(py::init([](Whole<"dimension"> dimension, Real<"radius"> radius) {
             return std::make_shared<SphereMeasure>(dimension.value, radius.value);
           }),
           "__init__(self, dimension, radius=1.0)\n--\n\n", py::arg("dimension"), py::arg("radius") = 1.0);
  py::class_<BallMeasure, Measure, std::shared_ptr<BallMeasure>>(module, "Ball", docs::kBall, py::is_final())
      .def(py::init([](Whole<"dimension"> dimension, Real<"radius"> radius) {
             return std::make_shared<BallMeasure>(dimension.value, radius.value);
           }),
           "__init__(self, dimension, radius=1.0)\n--\n\n", py::arg("dimension"), py::arg("radius") = 1.0);
  py::class_<CoordinateLaw, std::shared_ptr<CoordinateLaw>> one_coordinate(module, "Coordinate",
                                                                           py::dynamic_attr());
  one_coordinate.def("__reduce__",
                     [](const py::object& self) { return reduce(self, py::none(), py::tuple()); });
  module.def("coordinate", [](const std::string& name, const py::dict& numbers) {
    return std::const_pointer_cast<CoordinateLaw>(coordinate(name, numbers));
  });
  py::class_<ProductMeasure, Measure, std::shared_ptr<ProductMeasure>>(module, "Product", docs::kProduct,
                                                                       py::is_final())
      .def(py::init([](const py::object& coordinates) {
             return std::make_shared<ProductMeasure>(coordinates_of(coordinates));
           }),
           "__init__(self, coordinates)\n--\n\n", py::arg("coordinates"));
  py::class_<MixtureMeasure, Measure, std::shared_ptr<MixtureMeasure>>(module, "Mixture", docs::kMixture,
                                                                       py::is_final())
      .def(py::init([](const py::object& weights, const py::object& components) {
             if (py::isinstance<py::sequence>(weights) && py::len(weights) > 0 &&
                 py::isinstance<Measure>(weights[py::int_(0)])) {
               fail("Mixture",
                    "weights are laws, must be numbers: they come first, Mixture(weights, components)");
             }
             return std::make_shared<MixtureMeasure>(to_vector({"Mixture", "weights"}, weights),
                                                     laws_of({"Mixture", "components"}, components));
           }),
           "__init__(self, weights, components)\n--\n\n", py::arg("weights"), py::arg("components"));
  py::class_<AffineMeasure, Measure, std::shared_ptr<AffineMeasure>>(module, "Affine", docs::kAffine,
                                                                     py::is_final())
      .def(py::init([](const py::object& map, const py::object& offset, const py::object& base) {
             return std::make_shared<AffineMeasure>(to_matrix({"Affine", "map"}, map),
                                                    to_vector({"Affine", "offset"}, offset),
                                                    to_law({"Affine", "base"}, base));
           }),
           "__init__(self, map, offset, base)\n--\n\n", py::arg("map"), py::arg("offset"), py::arg("base"));
  py::class_<IndependentPair, Measure, std::shared_ptr<IndependentPair>>(module, "Pair", docs::kPair,
                                                                         py::is_final())
      .def(py::init([](const py::object& first, const py::object& second) {
             return std::make_shared<IndependentPair>(to_law({"Pair", "first"}, first),
                                                      to_law({"Pair", "second"}, second));
           }),
           "__init__(self, first, second)\n--\n\n", py::arg("first"), py::arg("second"));
  py::class_<EllipticalMeasure, Measure, std::shared_ptr<EllipticalMeasure>>(
      module, "Elliptical", docs::kElliptical, py::is_final())
      .def(py::init([](const py::object& shape, const Text<"base">& base, const py::object& values,
                       const py::object& weights) {
             if (base.value != "gaussian" && base.value != "sphere") {
               fail("Elliptical", "base", fmt::format("'{}'", base.value), "gaussian or sphere");
             }
             const Vector radii = to_vector({"Elliptical", "values"}, values);
             if (weights.is_none() && radii.size() != 2) {
               fail("Elliptical", "values without weights are the two ends of an interval");
             }
             return std::make_shared<EllipticalMeasure>(
                 to_matrix({"Elliptical", "shape"}, shape),
                 base.value == "sphere" ? EllipticalBase::sphere : EllipticalBase::gaussian,
                 weights.is_none()
                     ? RadialLaw::uniform(radii[0], radii[1])
                     : RadialLaw::discrete(radii, to_vector({"Elliptical", "weights"}, weights)));
           }),
           "__init__(self, shape, base='gaussian', values=[0.0, 1.0], weights=None)\n--\n\n",
           py::arg("shape"), py::arg("base") = "gaussian", py::arg("values") = std::vector<double>{0, 1},
           py::arg("weights") = py::none());
  py::class_<EmpiricalMeasure, Measure, std::shared_ptr<EmpiricalMeasure>>(module, "Prompt", docs::kPrompt,
                                                                           py::is_final())
      .def(py::init(&make_prompt), "__init__(self, tokens, weights=None, *, precision='auto')\n--\n\n",
           py::arg("tokens"), py::arg("weights") = py::none(), py::kw_only(), py::arg("precision") = "auto")
      .def("__len__", &EmpiricalMeasure::length)
      .def_property_readonly("tokens", &tokens_of,
                             "The tokens, (L, d), read-only: the memory that the prompt reads.")
      .def(
          "softmax_weights",
          [](const EmpiricalMeasure& prompt, const py::object& a) {
            const Vector direction = to_vector({"Prompt.softmax_weights", "a"}, a);
            return to_numpy(unlocked([&] { return prompt.softmax_weights(direction); }));
          },
          "softmax_weights(self, a)\n--\n\nThe softmax weights p_l e^<a,z_l> of the tokens, (L,); they sum "
          "to one.",
          py::arg("a"));
  for (const char* name :
       {"Gaussian", "Sphere", "Ball", "Product", "Mixture", "Affine", "Pair", "Elliptical"}) {
    remember_construction(module.attr(name));
  }
  remember_construction(module.attr("Prompt"), "tokens");
  module.def("whole", [](const std::string& name, const py::object& value) {
    return read_whole(name.c_str(), value);
  });
  module.def("numbers", [](const std::string& name, const py::object& value) {
    return double_array({"largo", name.c_str()}, value);
  });
  module.def("law", [](const Text<"name">& name, const py::object& d) {
    const auto dimension = read_optional("d", d);
    return mutable_of(unlocked([&] { return named_law(name.value, dimension); }));
  });
  module.def("matrix", [](const Text<"name">& name, const py::object& rows, const py::object& columns) {
    return to_numpy(
        named_matrix("matrix", name.value, extent_of("rows", rows), extent_of("columns", columns)));
  });
}

}  // namespace largo::python
