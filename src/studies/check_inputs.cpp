#include "studies/parameter_values.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"
#include "studies/quantity.hpp"

namespace largo::studies {
namespace {

constexpr std::int64_t kMostTried = 1000;

// What is wrong with the first of `count` units; nothing if one of the units tried can be set up.
std::optional<std::string> mistake(const Study& study, std::int64_t count,
                                   const std::function<std::int64_t(std::int64_t)>& unit_of) {
  std::optional<std::string> first;
  const std::int64_t tries = std::min(count, kMostTried);
  for (std::int64_t i = 0; i < tries; ++i) {
    const std::int64_t which = tries == 1 ? 0 : i * (count - 1) / (tries - 1);
    const std::vector<StudyValue> values = study.inputs(unit_of(which));
    try {
      study.quantity().check(UnitInputs(study.quantity(), values));
      return std::nullopt;
    } catch (const InputError& error) {
      if (!first) first = error.what();
    } catch (const std::bad_alloc&) {  // the unit will report it, and the others go on
      return std::nullopt;
    }
  }
  return first;
}

void refuse(const Study& study, std::size_t parameter, const StudyValue& value, const std::string& reason) {
  fail("run_study",
       fmt::format("no unit with {} = '{}' can be run: {}", study.quantity().parameters()[parameter].name,
                   std::get<std::string>(value), reason));
}

void check_grid(const Study& study) {
  std::int64_t stride = 1, all = 1;  // units in a row with the same value on the axis; units of the grid
  for (const StudyAxis& axis : study.plan().axes) all *= std::ssize(axis.values);
  for (std::size_t k = study.plan().axes.size(); k-- > 0;) {
    const StudyAxis& axis = study.plan().axes[k];
    const std::int64_t size = std::ssize(axis.values);
    for (std::int64_t j = 0; j < size && size > 1; ++j) {
      const StudyValue& value = axis.values[static_cast<std::size_t>(j)];
      if (!std::holds_alternative<std::string>(value)) break;
      const auto reason = mistake(
          study, all / size, [&](std::int64_t i) { return (i / stride * size + j) * stride + i % stride; });
      if (reason) refuse(study, axis.parameter, value, *reason);
    }
    stride *= size;
  }
}

void check_points(const Study& study) {
  std::map<std::pair<std::size_t, StudyValue>, std::vector<std::int64_t>> units;  // by the texts they have
  std::int64_t grid = study.plan().axes.empty() ? 0 : 1;
  for (const StudyAxis& axis : study.plan().axes) grid *= std::ssize(axis.values);
  for (std::int64_t unit = grid; unit < study.size(); ++unit) {
    const std::vector<StudyValue> values = study.inputs(unit);
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (!std::holds_alternative<std::string>(values[k]) || values[k] == study.plan().settings[k]) continue;
      units[{k, values[k]}].push_back(unit);
    }
  }
  for (const auto& [text, which] : units) {
    const auto unit_of = [&list = which](std::int64_t i) { return list[static_cast<std::size_t>(i)]; };
    if (const auto reason = mistake(study, std::ssize(which), unit_of)) {
      refuse(study, text.first, text.second, *reason);
    }
  }
}

}  // namespace

void check_inputs(const Study& study) {
  if (const auto reason = mistake(study, study.size(), [](std::int64_t i) { return i; })) {
    fail("run_study", fmt::format("no unit can be run: {}", *reason));
  }
  check_grid(study);
  check_points(study);
}

}  // namespace largo::studies
