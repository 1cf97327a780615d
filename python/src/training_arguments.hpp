// What the bindings of training share: choices by name.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"
#include "largo/training/step_schedules.hpp"
#include "largo/training/stochastic_descent.hpp"

namespace largo::python {

/// The value of this name; InputError with the list of names for another.
template <typename Value>
Value choose(const char* function, const char* argument, const std::string& name,
             std::initializer_list<std::pair<const char*, Value>> known) {
  std::string names;
  for (const auto& [known_name, value] : known) {
    if (name == known_name) return value;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known_name);
  }
  fail(function, argument, fmt::format("'{}'", name), fmt::format("one of {}", names));
}

inline Optimiser optimiser_of(const char* function, const std::string& name) {
  return choose<Optimiser>(
      function, "optimizer", name,
      {{"plain", Optimiser::plain}, {"momentum", Optimiser::momentum}, {"adam", Optimiser::adam}});
}

/// Of `steps` steps, the first of this size.
inline StepSchedule schedule_of(const char* function, const std::string& name, double size,
                                std::int64_t steps) {
  check_positive(function, "step_size", size);
  if (steps < 1) fail(function, "steps", static_cast<double>(steps), "at least 1");
  const int kind =
      choose<int>(function, "schedule", name, {{"constant", 0}, {"inverse-time", 1}, {"cosine", 2}});
  if (kind == 1) return inverse_time_steps(size, static_cast<double>(steps) / 10);
  return kind == 2 ? cosine_steps(size, steps) : constant_steps(size);
}

}  // namespace largo::python
