// Attention on laws and prompts, and its gradients.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "arrays.hpp"
#include "calls.hpp"
#include "largo/attention/attention.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/runtime/check.hpp"
#include "module.hpp"
#include "scalars.hpp"

namespace largo::python {
namespace {

using Weights = std::variant<MergedWeights, FactoredWeights>;

double score_scale_of(py::handle scale, std::ptrdiff_t keys) {
  if (!py::isinstance<py::str>(scale)) return read_real("score_scale", scale);
  const auto text = py::cast<std::string>(scale);
  if (text != "auto") {
    fail("attention", "score_scale", fmt::format("'{}'", text), "a number or 'auto' (1/√(key dimension))");
  }
  return 1 / std::sqrt(static_cast<double>(keys));
}

// U and V, or K, Q and V; a matrix that is not given is the identity.
Weights weights_of(std::ptrdiff_t d, const py::object& U, const py::object& V, const py::object& K,
                   const py::object& Q, const py::object& scale) {
  const py::str identity("identity");
  Matrix values = to_matrix({"attention", "V"}, V.is_none() ? identity : V, std::nullopt, d);
  if (K.is_none() != Q.is_none()) fail("attention", "K and Q go together");
  if (K.is_none()) {
    Matrix scores = to_matrix({"attention", "U"}, U.is_none() ? identity : U, d);
    return MergedWeights{std::move(scores), std::move(values), score_scale_of(scale, d)};
  }
  if (!U.is_none()) fail("attention", "give either U, or K and Q");
  Matrix keys = to_matrix({"attention", "K"}, K, std::nullopt, d);
  const std::ptrdiff_t rank = keys.rows();
  Matrix queries = to_matrix({"attention", "Q"}, Q, rank);
  return FactoredWeights{std::move(keys), std::move(queries), std::move(values), score_scale_of(scale, rank)};
}

// What all calls share: a prompt, queries, weights.
struct Layer {
  MeasurePtr prompt;
  Rows queries;
  Weights weights;
  AttentionKind kind;

  Layer(const py::object& prompt_, const py::object& queries_, const py::object& U, const py::object& V,
        const py::object& K, const py::object& Q, const std::string& attention, const py::object& scale)
      : prompt(to_law({"attention", "prompt"}, prompt_)),
        queries(to_rows({"attention", "queries"}, queries_)),
        weights(weights_of(prompt->dimension(), U, V, K, Q, scale)),
        kind(kind_of("attention", attention)) {}

  // The cost of all queries, in multiply-adds. A law may be defined in Python, or have parts that are, so
  // that a query takes a millisecond.
  double cost() const {
    constexpr double kOfLaw = 1e6;
    const auto* tokens = dynamic_cast<const EmpiricalMeasure*>(prompt.get());
    const double of_query =
        tokens != nullptr ? static_cast<double>(tokens->length() * prompt->dimension()) : kOfLaw;
    return of_query * static_cast<double>(queries.count());
  }

  // Runs work(weights, queries, execution), watched unless it is too short to be worth a thread.
  template <typename Work>
  auto run(int threads, const Work& work) const {
    constexpr double kSmall = 1e6;
    const auto all = [&](const Execution& execution) {
      using Result = decltype(work(MergedWeights(), queries.view(), execution));
      return std::visit([&](const auto& w) -> Result { return work(w, queries.view(), execution); }, weights);
    };
    if (cost() <= kSmall) return unlocked([&] { return all({.threads = threads}); });
    decltype(all(Execution())) result;
    watch(py::none(), threads, [&](const Call& call) { result = all(call.execution()); });
    return result;
  }
};

py::array attend_(const Layer& layer, int threads) {
  RowMatrix outputs =
      layer.run(threads, [&](const auto& weights, const auto& queries, const Execution& execution) {
        return attend(layer.kind, *layer.prompt, weights, queries, execution);
      });
  if (!layer.queries.single) return to_numpy(std::move(outputs));
  return to_numpy(Vector(outputs.row(0).transpose()));
}

py::dict named(const MergedGradient& gradient) {
  py::dict result;
  result["U"] = to_numpy(gradient.U);
  result["V"] = to_numpy(gradient.V);
  return result;
}

py::dict named(const FactoredGradient& gradient) {
  py::dict result;
  result["K"] = to_numpy(gradient.K);
  result["Q"] = to_numpy(gradient.Q);
  result["V"] = to_numpy(gradient.V);
  return result;
}

py::dict vjp(const Layer& layer, const py::object& cotangents, int threads) {
  const Rows rows = to_rows({"attention_vjp", "cotangents"}, cotangents);
  if (rows.single != layer.queries.single) {
    fail("attention_vjp", "cotangents and queries are to be vectors both, or both matrices");
  }
  const auto view = rows.view();
  check_size("attention_vjp", "number of cotangents", rows.count(), layer.queries.count());
  using Gradient = std::variant<MergedGradient, FactoredGradient>;
  const Gradient gradient = layer.run(
      threads, [&](const auto& weights, const auto& queries, const Execution& execution) -> Gradient {
        return attention_vjp(layer.kind, *layer.prompt, weights, queries, view, execution);
      });
  return std::visit([](const auto& one) { return named(one); }, gradient);
}

// An array of shape n x o x (shape of the parameter), without n for a single query.
template <typename Jacobian>
py::object stack(const std::vector<Jacobian>& jacobians, Matrix Jacobian::*part, const Matrix& parameter,
                 bool single) {
  const auto n = std::ssize(jacobians);
  const std::ptrdiff_t outputs = n > 0 ? (jacobians[0].*part).rows() : 0;
  RowMatrix all(n * outputs, parameter.size());
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    all.middleRows(i * outputs, outputs) = jacobians[static_cast<std::size_t>(i)].*part;
  }
  const py::array flat = to_numpy(std::move(all));
  if (single) return flat.attr("reshape")(outputs, parameter.rows(), parameter.cols());
  return flat.attr("reshape")(n, outputs, parameter.rows(), parameter.cols());
}

py::dict jacobian(const Layer& layer, int threads) {
  using Jacobians = std::variant<std::vector<MergedJacobian>, std::vector<FactoredJacobian>>;
  const Jacobians jacobians = layer.run(
      threads, [&](const auto& weights, const auto& queries, const Execution& execution) -> Jacobians {
        return attention_jacobian(layer.kind, *layer.prompt, weights, queries, execution);
      });
  const bool single = layer.queries.single;
  py::dict result;
  if (const auto* merged = std::get_if<std::vector<MergedJacobian>>(&jacobians)) {
    const auto& weights = std::get<MergedWeights>(layer.weights);
    result["U"] = stack(*merged, &MergedJacobian::U, weights.U, single);
    result["V"] = stack(*merged, &MergedJacobian::V, weights.V, single);
  } else {
    const auto& factored = std::get<std::vector<FactoredJacobian>>(jacobians);
    const auto& weights = std::get<FactoredWeights>(layer.weights);
    result["K"] = stack(factored, &FactoredJacobian::K, weights.K, single);
    result["Q"] = stack(factored, &FactoredJacobian::Q, weights.Q, single);
    result["V"] = stack(factored, &FactoredJacobian::V, weights.V, single);
  }
  return result;
}

// The same from C++ alone, for benchmarks/compare_python.py: the shortest of `repeats` calls, in seconds.
double time_attention(const Layer& layer, int threads, int repeats) {
  const auto queries = layer.queries.view();
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const RowMatrix outputs = attend(layer.kind, *layer.prompt, std::get<MergedWeights>(layer.weights),
                                     queries, {.threads = threads});
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (outputs.allFinite()) least = std::min(least, taken.count());
  }
  return least;
}

}  // namespace

void bind_attention(py::module_& module) {
  using Object = const py::object&;
  using KindName = const Text<"attention">&;
  module.def("attention", [](Object prompt, Object queries, Object U, Object V, Object K, Object Q,
                             KindName attention, Object score_scale, Threads threads) {
    return attend_({prompt, queries, U, V, K, Q, attention.value, score_scale}, threads.value);
  });
  module.def(
      "attention_vjp", [](Object prompt, Object queries, Object cotangents, Object U, Object V, Object K,
                          Object Q, KindName attention, Object score_scale, Threads threads) {
        return vjp({prompt, queries, U, V, K, Q, attention.value, score_scale}, cotangents, threads.value);
      });
  module.def("attention_jacobian", [](Object prompt, Object queries, Object U, Object V, Object K, Object Q,
                                      KindName attention, Object score_scale, Threads threads) {
    return jacobian({prompt, queries, U, V, K, Q, attention.value, score_scale}, threads.value);
  });
  module.def("_time_attention", [](Object prompt, Object queries, Threads threads, int repeats) {
    const py::none identity;
    return time_attention(
        {prompt, queries, identity, identity, identity, identity, "softmax", py::float_(1.0)}, threads.value,
        repeats);
  });
}

}  // namespace largo::python
