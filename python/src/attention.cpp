// Attention on laws and prompts, and its gradients.
#include <algorithm>
#include <chrono>
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

  // Of a query, in multiply-adds. A law may be one of Python's, or have parts that are: a query is a
  // millisecond.
  double cost() const {
    constexpr double kOfLaw = 1e6;
    const auto* tokens = dynamic_cast<const EmpiricalMeasure*>(prompt.get());
    return tokens != nullptr ? static_cast<double>(tokens->length() * prompt->dimension()) : kOfLaw;
  }

  // Calls work(weights, first query, queries, execution) for pieces of the queries, a second of work at most
  // where there are many: between them Ctrl-C is heard. Pieces are whole passes of the kernel, and depend on
  // shapes alone.
  template <typename Work>
  void run(int threads, const Work& work) const {
    constexpr double kSmall = 1e6, kPiece = 3e8;
    constexpr std::ptrdiff_t kPass = 64;
    const auto rows = queries.view();
    const std::ptrdiff_t n = rows.rows();
    const auto piece = [&](std::ptrdiff_t first, std::ptrdiff_t count, const Execution& execution) {
      std::visit([&](const auto& w) { work(w, first, rows.middleRows(first, count), execution); }, weights);
    };
    if (cost() * static_cast<double>(n) <= kSmall) {  // not worth a thread
      unlocked([&] { piece(0, n, {.threads = threads}); });
      return;
    }
    const auto passes = static_cast<std::ptrdiff_t>(kPiece / (cost() * kPass));
    const std::ptrdiff_t most = kPass * std::max<std::ptrdiff_t>(1, passes);
    watch(py::none(), threads, [&](const Call& call) {
      std::ptrdiff_t first = 0;
      do {
        call.check();
        piece(first, std::min(most, n - first), call.execution());
        first += most;
      } while (first < n);
    });
  }
};

py::array attend_(const Layer& layer, int threads) {
  RowMatrix outputs;
  layer.run(threads,
            [&](const auto& weights, std::ptrdiff_t first, const auto& queries, const Execution& execution) {
              RowMatrix piece = attend(layer.kind, *layer.prompt, weights, queries, execution);
              if (queries.rows() == layer.queries.count()) {
                outputs = std::move(piece);
                return;
              }
              if (first == 0) outputs.resize(layer.queries.count(), piece.cols());
              outputs.middleRows(first, piece.rows()) = piece;
            });
  if (!layer.queries.single) return to_numpy(std::move(outputs));
  return to_numpy(Vector(outputs.row(0).transpose()));
}

void add(MergedGradient& sum, const MergedGradient& piece) {
  sum.U += piece.U;
  sum.V += piece.V;
}

void add(FactoredGradient& sum, const FactoredGradient& piece) {
  sum.K += piece.K;
  sum.Q += piece.Q;
  sum.V += piece.V;
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
  std::variant<MergedGradient, FactoredGradient> gradient;
  layer.run(threads,
            [&](const auto& weights, std::ptrdiff_t first, const auto& queries, const Execution& execution) {
              auto piece = attention_vjp(layer.kind, *layer.prompt, weights, queries,
                                         view.middleRows(first, queries.rows()), execution);
              if (first == 0) {
                gradient = std::move(piece);
              } else {
                add(std::get<decltype(piece)>(gradient), piece);
              }
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
  std::variant<std::vector<MergedJacobian>, std::vector<FactoredJacobian>> jacobians;
  layer.run(threads,
            [&](const auto& weights, std::ptrdiff_t first, const auto& queries, const Execution& execution) {
              auto piece = attention_jacobian(layer.kind, *layer.prompt, weights, queries, execution);
              if (first == 0) {
                jacobians = std::move(piece);
              } else {
                auto& all = std::get<decltype(piece)>(jacobians);
                std::move(piece.begin(), piece.end(), std::back_inserter(all));
              }
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

// The same from C++ alone, for benchmarks/compare_python.py: the fewest seconds of `repeats` calls.
double time_attend(const Layer& layer, int threads, int repeats) {
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
  module.def("attend", [](Object prompt, Object queries, Object U, Object V, Object K, Object Q,
                          const std::string& kind, double scale, int threads) {
    return attend_({prompt, queries, U, V, K, Q, kind, scale}, threads);
  });
  module.def("attend_vjp", [](Object prompt, Object queries, Object cotangents, Object U, Object V, Object K,
                              Object Q, const std::string& kind, double scale, int threads) {
    return vjp({prompt, queries, U, V, K, Q, kind, scale}, cotangents, threads);
  });
  module.def("_time_attend", [](Object prompt, Object queries, Object U, Object V, int threads, int repeats) {
    return time_attend({prompt, queries, U, V, py::none(), py::none(), "softmax", 1}, threads, repeats);
  });
  module.def("attend_jacobian", [](Object prompt, Object queries, Object U, Object V, Object K, Object Q,
                                   const std::string& kind, double scale, int threads) {
    return jacobian({prompt, queries, U, V, K, Q, kind, scale}, threads);
  });
}

}  // namespace largo::python
