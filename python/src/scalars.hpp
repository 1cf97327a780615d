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

template <Name kName>
struct Whole {
  std::int64_t value = 0;
};
template <Name kName>
struct Real {
  double value = 0;
};
template <Name kName>
struct Text {
  std::string value;
};
/// 0 to 4096, where 0 means all cores.
struct Threads {
  int value = 0;
};
/// 0 to 2^64 - 1.
struct Seed {
  std::uint64_t value = 0;
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

}  // namespace largo::python

namespace pybind11::detail {

template <largo::python::Name kName>
struct type_caster<largo::python::Whole<kName>> {
  PYBIND11_TYPE_CASTER(largo::python::Whole<kName>, const_name("int"));
  bool load(handle source, bool) {
    value.value = largo::python::read_whole(kName.text, source);
    return true;
  }
};

template <largo::python::Name kName>
struct type_caster<largo::python::Real<kName>> {
  PYBIND11_TYPE_CASTER(largo::python::Real<kName>, const_name("float"));
  bool load(handle source, bool) {
    value.value = largo::python::read_real(kName.text, source);
    return true;
  }
};

template <largo::python::Name kName>
struct type_caster<largo::python::Text<kName>> {
  PYBIND11_TYPE_CASTER(largo::python::Text<kName>, const_name("str"));
  bool load(handle source, bool) {
    value.value = largo::python::read_text(kName.text, source);
    return true;
  }
};

template <>
struct type_caster<largo::python::Threads> {
  PYBIND11_TYPE_CASTER(largo::python::Threads, const_name("int"));
  bool load(handle source, bool) {
    value.value = largo::python::read_threads(source);
    return true;
  }
};

template <>
struct type_caster<largo::python::Seed> {
  PYBIND11_TYPE_CASTER(largo::python::Seed, const_name("int"));
  bool load(handle source, bool) {
    value.value = largo::python::read_seed(source);
    return true;
  }
};

}  // namespace pybind11::detail
