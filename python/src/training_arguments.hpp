// What the bindings of training share: choices by name.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"
#include "largo/training/stochastic_descent.hpp"

namespace largo::python {

/// The value of this name. Throws InputError with the list of names if it is not one of them.
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

inline Optimizer optimizer_of(const char* function, const std::string& name) {
  return choose<Optimizer>(
      function, "optimizer", name,
      {{"plain", Optimizer::plain}, {"momentum", Optimizer::momentum}, {"adam", Optimizer::adam}});
}

inline Schedule schedule_of(const char* function, const std::string& name) {
  return choose<Schedule>(function, "schedule", name,
                          {{"constant", Schedule::constant},
                           {"inverse-time", Schedule::inverse_time},
                           {"cosine", Schedule::cosine}});
}

}  // namespace largo::python
