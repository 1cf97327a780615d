// Numbers and texts as arguments of bound functions: Whole<"prompts">, Real<"tolerance">, Text<"method">. Any
// other value raises a one-line TypeError that names the argument ("prompts is 1.5, must be a whole number").
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <pybind11/pybind11.h>

#include "largo/attention/attention_kind.hpp"

namespace largo::python {

/// A text as a template argument.
template <std::size_t N>
struct Name {
  constexpr Name(const char (&letters)[N]) { std::copy_n(letters, N, text); }  // NOLINT: implicit
  char text[N];
};

std::int64_t read_whole(const char* name, pybind11::handle value);
std::optional<std::int64_t> read_optional(const char* name,
                                          pybind11::handle value);  ///< a whole number, or None
double read_real(const char* name, pybind11::handle value);
std::string read_text(const char* name, pybind11::handle value);
/// The argument `attention` of the function, "softmax" or "linear".
AttentionKind kind_of(const char* function, const std::string& attention);
int read_threads(pybind11::handle value);
std::uint64_t read_seed(pybind11::handle value);

template <Name kName>
struct Whole {
  std::int64_t value = 0;
  static constexpr auto kPythonType = pybind11::detail::const_name("int");
  static std::int64_t read(pybind11::handle source) { return read_whole(kName.text, source); }
};
template <Name kName>
struct Real {
  double value = 0;
  static constexpr auto kPythonType = pybind11::detail::const_name("float");
  static double read(pybind11::handle source) { return read_real(kName.text, source); }
};
template <Name kName>
struct Text {
  std::string value;
  static constexpr auto kPythonType = pybind11::detail::const_name("str");
  static std::string read(pybind11::handle source) { return read_text(kName.text, source); }
};
/// 0 to 4096, where 0 means all cores.
struct Threads {
  int value = 0;
  static constexpr auto kPythonType = pybind11::detail::const_name("int");
  static int read(pybind11::handle source) { return read_threads(source); }
};
/// 0 to 2^64 - 1.
struct Seed {
  std::uint64_t value = 0;
  static constexpr auto kPythonType = pybind11::detail::const_name("int");
  static std::uint64_t read(pybind11::handle source) { return read_seed(source); }
};

/// An argument that reads its own value, and throws if it cannot.
template <typename T>
concept ReadArgument = requires(T argument, pybind11::handle source) {
  argument.value = T::read(source);
};

}  // namespace largo::python

namespace pybind11::detail {

template <largo::python::ReadArgument Argument>
struct type_caster<Argument> {
  PYBIND11_TYPE_CASTER(Argument, Argument::kPythonType);
  bool load(handle source, bool) {
    value.value = Argument::read(source);
    return true;
  }
};

}  // namespace pybind11::detail
