// Attention on laws and prompts, and its gradients.
#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "arrays.hpp"
#include "calls.hpp"
#include "largo/attention/attention.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/numerics/check.hpp"
#include "module.hpp"

namespace largo::python {
namespace {

using Weights = std::variant<MergedWeights, FactoredWeights>;

AttentionKind kind_of(const std::string& kind) {
  if (kind == "softmax") return AttentionKind::softmax;
  if (kind == "linear") return AttentionKind::linear;
  fail("attention", "kind", fmt::format("'{}'", kind), "softmax or linear");
}

// What all calls share: a prompt, queries, weights. U or K and Q, as the package has seen to it.
struct Layer {
  MeasurePtr prompt;
  Rows queries;
  Weights weights;
  AttentionKind kind;

  Layer(const py::object& prompt_, const py::object& queries_, const py::object& U, const py::object& V,
        const py::object& K, const py::object& Q, const std::string& kind_, double scale)
      : prompt(to_law({"attention", "prompt"}, prompt_)),
        queries(to_rows({"attention", "queries"}, queries_)),
        kind(kind_of(kind_)) {
    Matrix values = to_matrix({"attention", "V"}, V);
    if (U.is_none()) {
      weights = FactoredWeights{to_matrix({"attention", "K"}, K), to_matrix({"attention", "Q"}, Q),
                                std::move(values), scale};
    } else {
      weights = MergedWeights{to_matrix({"attention", "U"}, U), std::move(values), scale};
    }
  }

  // Small work is not worth a thread.
  bool small() const {
    constexpr double kSmall = 1e5;
    const auto* tokens = dynamic_cast<const EmpiricalMeasure*>(prompt.get());
    const double length = tokens != nullptr ? static_cast<double>(tokens->length()) : 1000;
    const auto d = static_cast<double>(prompt->dimension());
    return length * d * static_cast<double>(queries.count()) <= kSmall;
  }

  // The result of work(weights, queries, execution), watched where it may take long.
  template <typename Work>
  auto run(int threads, const Work& work) const {
    const auto rows = queries.view();
    const auto all = [&](const Execution& execution) {
      return std::visit([&](const auto& w) { return work(w, rows, execution); }, weights);
    };
    using Result = decltype(all(Execution{}));
    Result result{};
    if (small()) {
      unlocked([&] { result = all({.threads = threads}); });
    } else {
      watch(py::none(), threads, [&](const Call& call) { result = all(call.execution()); });
    }
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
  using Gradient = std::variant<MergedGradient, FactoredGradient>;
  const Gradient gradient = layer.run(
      threads, [&](const auto& weights, const auto& queries, const Execution& execution) -> Gradient {
        return attention_vjp(layer.kind, *layer.prompt, weights, queries, view, execution);
      });
  return std::visit([](const auto& one) { return named(one); }, gradient);
}

// n x o x (shape of the parameter), or without n for one query.
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

}  // namespace

void bind_attention(py::module_& module) {
  using Object = const py::object&;
  module.def("attend", [](Object prompt, Object queries, Object U, Object V, Object K, Object Q,
                          const std::string& kind, double scale, int threads) {
    return attend_({prompt, queries, U, V, K, Q, kind, scale}, threads);
  });
  module.def("attend_vjp", [](Object prompt, Object queries, Object cotangents, Object U, Object V, Object K,
                              Object Q, const std::string& kind, double scale, int threads) {
    return vjp({prompt, queries, U, V, K, Q, kind, scale}, cotangents, threads);
  });
  module.def("attend_jacobian", [](Object prompt, Object queries, Object U, Object V, Object K, Object Q,
                                   const std::string& kind, double scale, int threads) {
    return jacobian({prompt, queries, U, V, K, Q, kind, scale}, threads);
  });
}

}  // namespace largo::python
