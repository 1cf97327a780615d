// Audits of captured heads.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "arrays.hpp"
#include "calls.hpp"
#include "largo/heads/audit.hpp"
#include "module.hpp"
#include "scalars.hpp"

namespace largo::python {
namespace {

// An array of numbers as stored, and the name of their format: NumPy has none for bfloat16.
using StoredArray = std::pair<py::array, std::string>;

StoredTensor tensor_of(const StoredArray& given) {
  const auto& [array, format] = given;
  StoredTensor tensor{.data = static_cast<const std::byte*>(array.data()),
                      .storage = format == "float16"    ? Storage::float16
                                 : format == "bfloat16" ? Storage::bfloat16
                                 : format == "float32"  ? Storage::float32
                                                        : Storage::float64,
                      .shape = {}};
  for (py::ssize_t axis = 0; axis < array.ndim(); ++axis) tensor.shape.push_back(array.shape(axis));
  return tensor;
}

// With explicit strides: see arrays.cpp.
template <typename Number>
py::array_t<Number> new_column(std::size_t size) {
  return py::array_t<Number>({static_cast<py::ssize_t>(size)}, {sizeof(Number)});
}

py::array_t<double> column(const std::vector<HeadAudit>& audits, double (*value)(const HeadAudit&)) {
  auto result = new_column<double>(audits.size());
  for (std::size_t i = 0; i < audits.size(); ++i) result.mutable_data()[i] = value(audits[i]);
  return result;
}

py::array_t<std::int64_t> numbers(const std::vector<HeadAudit>& audits, std::int64_t HeadAudit::*field) {
  auto result = new_column<std::int64_t>(audits.size());
  for (std::size_t i = 0; i < audits.size(); ++i) result.mutable_data()[i] = audits[i].*field;
  return result;
}

py::array_t<double> held_out(const std::vector<HeadAudit>& audits, double ReplacementErrors::*field) {
  auto result = new_column<double>(audits.size());
  for (std::size_t i = 0; i < audits.size(); ++i)
    result.mutable_data()[i] = audits[i].held_out_errors ? (*audits[i].held_out_errors).*field : std::nan("");
  return result;
}

py::array curve(const std::vector<HeadAudit>& audits, double SampledLength::*field) {
  RowMatrix rows(std::ssize(audits), std::ssize(audits.front().lengths));
  for (std::ptrdiff_t i = 0; i < rows.rows(); ++i) {
    for (std::ptrdiff_t j = 0; j < rows.cols(); ++j)
      rows(i, j) = audits[static_cast<std::size_t>(i)].lengths[static_cast<std::size_t>(j)].*field;
  }
  return to_numpy(std::move(rows));
}

py::array score_edges() {
  Vector edges(static_cast<std::ptrdiff_t>(kScoreBins) + 1);
  for (std::ptrdiff_t b = 0; b < edges.size(); ++b)
    edges[b] = -kScoreRange + kScoreBinWidth * static_cast<double>(b);
  return to_numpy(std::move(edges));
}

py::array score_shares(const std::vector<HeadAudit>& audits) {
  RowMatrix rows(std::ssize(audits), static_cast<std::ptrdiff_t>(kScoreBins));
  for (std::ptrdiff_t i = 0; i < rows.rows(); ++i) {
    const auto& shares = audits[static_cast<std::size_t>(i)].scores.shares;
    std::copy(shares.begin(), shares.end(), rows.row(i).data());
  }
  return to_numpy(std::move(rows));
}

py::dict to_columns(const std::vector<HeadAudit>& audits) {
  py::dict columns;
  columns["layer"] = numbers(audits, &HeadAudit::layer);
  columns["head"] = numbers(audits, &HeadAudit::head);
  columns["sequence"] = numbers(audits, &HeadAudit::sequence);
  for (const HeadField& field : head_fields()) columns[field.name] = column(audits, field.value);
  columns["held_out_uniform"] = held_out(audits, &ReplacementErrors::uniform);
  columns["held_out_affine"] = held_out(audits, &ReplacementErrors::affine);
  columns["held_out_sinks_affine"] = held_out(audits, &ReplacementErrors::sinks_affine);
  columns["held_out_mixture"] = held_out(audits, &ReplacementErrors::mixture);
  py::list kinds, sinks;
  for (const HeadAudit& audit : audits) {
    kinds.append(std::string(name_of(audit.kind)));
    sinks.append(py::tuple(py::cast(audit.sinks)));
  }
  columns["kind"] = kinds;
  columns["sinks"] = sinks;
  columns["score_edges"] = score_edges();
  columns["score_shares"] = score_shares(audits);
  columns["lengths"] = curve(audits, &SampledLength::L)[py::int_(0)];
  columns["error_measured"] = curve(audits, &SampledLength::measured);
  columns["error_predicted"] = curve(audits, &SampledLength::predicted);
  columns["error_certified"] = curve(audits, &SampledLength::certified);
  return columns;
}

// `source`: the name of a file, or a list of (layer, q, k, v). The arrays are contiguous.
py::dict audit_heads(const py::object& source, bool causal, std::optional<double> scale,
                     std::optional<std::vector<std::int64_t>> sinks, std::int64_t recent,
                     std::int64_t queries, double tolerance, Threads threads, const py::object& progress) {
  using Layer = std::tuple<std::int64_t, StoredArray, StoredArray, StoredArray>;
  std::optional<std::string> file;
  std::vector<Layer> layers;  // keep the arrays
  if (py::isinstance<py::str>(source)) {
    file = source.cast<std::string>();
  } else {
    layers = source.cast<std::vector<Layer>>();
  }
  std::vector<StoredLayer> stored;
  for (const auto& [number, q, k, v] : layers)
    stored.push_back({number, tensor_of(q), tensor_of(k), tensor_of(v)});
  std::vector<HeadAudit> audits;
  watch(progress, threads.value, [&](Call& call) {
    const AuditOptions options{.visibility = causal ? Visibility::causal : Visibility::all,
                               .scale = scale,
                               .sinks = {std::move(sinks)},
                               .recent = recent,
                               .queries = queries,
                               .tolerance = tolerance,
                               .progress = [&call](double share) { call.show(share); }};
    audits = audit(file ? Capture::open(*file) : Capture::of_layers(stored), options, call.execution());
  });
  return to_columns(audits);
}

}  // namespace

void bind_heads(py::module_& module) { module.def("audit_heads", &audit_heads); }

}  // namespace largo::python
