#include "studies/quantity.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"

namespace largo::studies {

Quantity::Quantity(std::string name, std::vector<Parameter> parameters, std::vector<std::string> results)
    : name_(std::move(name)), parameters_(std::move(parameters)), results_(std::move(results)) {
  parameters_.push_back({"seed", ParameterKind::whole, 1.0});
  parameters_.push_back({"tolerance", ParameterKind::positive});
}

std::optional<std::size_t> Quantity::find(std::string_view parameter) const {
  const auto at = std::find_if(parameters_.begin(), parameters_.end(),
                               [&](const Parameter& one) { return one.name == parameter; });
  if (at == parameters_.end()) return std::nullopt;
  return static_cast<std::size_t>(at - parameters_.begin());
}

std::vector<UnitResult> Quantity::evaluate(const UnitInputs& inputs, const Execution& execution) const {
  const std::optional<double> tolerance = inputs.tolerance();
  if (tolerance) check_positive(name_, "tolerance", *tolerance);
  std::vector<UnitResult> all = compute(inputs, execution);
  assert(all.size() == results_.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [value, error, given, sampled, warning] = all[i];
    if (given && std::isnan(value)) fail(name_, results_[i], value, "a number");
    if (!tolerance || !bounds_errors(inputs) || sampled || std::isnan(error)) continue;
    // The error is relative, but absolute for a value that is zero to within its error.
    const double relative = std::abs(value) > error ? error / std::abs(value) : error;
    if (relative > *tolerance) {
      fail(name_, fmt::format("error of {}", results_[i]), relative,
           fmt::format("at most the tolerance {}", *tolerance));
    }
  }
  return all;
}

const StudyValue& UnitInputs::at(std::string_view name) const {
  const auto place = quantity_.find(name);
  assert(place);
  return values_[*place];
}

std::optional<double> UnitInputs::given_number(std::string_view name) const {
  const double* value = std::get_if<double>(&at(name));
  return value == nullptr ? std::nullopt : std::optional(*value);
}

double UnitInputs::number(std::string_view name) const {
  const auto value = given_number(name);
  if (!value) fail(quantity_.name(), fmt::format("{} is not given", name));
  return *value;
}

std::optional<std::ptrdiff_t> UnitInputs::given_size(std::string_view name) const {
  const auto value = given_number(name);
  return value ? std::optional(static_cast<std::ptrdiff_t>(*value)) : std::nullopt;
}

std::string UnitInputs::text(std::string_view name) const {
  const std::string* value = std::get_if<std::string>(&at(name));
  return value == nullptr ? "" : *value;
}

std::span<const Quantity* const> all_quantities() {
  static const std::array<const Quantity*, 7> all = {
      &moments_quantity(),  &concentration_quantity(), &class_moments_quantity(), &temperature_quantity(),
      &icl_risk_quantity(), &icl_flow_quantity(),      &icl_threshold_quantity()};
  return all;
}

const Quantity* find_quantity(std::string_view name) {
  for (const Quantity* one : all_quantities()) {
    if (one->name() == name) return one;
  }
  return nullptr;
}

}  // namespace largo::studies
