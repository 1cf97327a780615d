// Shared by the targets, which read every element, so that a wrong size or offset becomes a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "largo/runtime/array_view.hpp"
#include "largo/runtime/check.hpp"

namespace largo::fuzz {

/// Aborts if the reader breaks a promise, as opposed to refusing an input.
inline void require(bool condition) {
  if (!condition) std::abort();
}

inline void touch(const ArrayView& view, const Matrix& copy) {
  require(view.rows >= 0 && view.columns >= 0);
  require(copy.rows() == view.rows && copy.cols() == view.columns);
  // Without elements the other extent may be huge, and there is nothing to read.
  if (view.rows == 0 || view.columns == 0) return;
  for (std::int64_t i = 0; i < view.rows; ++i) {
    for (std::int64_t j = 0; j < view.columns; ++j) {
      const double a = view(i, j);
      const double b = copy(i, j);
      require(a == b || (a != a && b != b));
    }
  }
}

/// Runs `read` and swallows the refusal, which must be one line; every other exception is a finding.
template <class Read>
void attempt(Read read) {
  try {
    read();
  } catch (const InputError& error) {
    require(std::strchr(error.what(), '\n') == nullptr);
  }
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

struct Split {
  std::string_view header;
  std::string_view data;
};

/// Header and data are the text before and after the first NUL. The targets put a correct length before the
/// header, so that mutations get past the length check.
inline Split split(std::string_view text) {
  const std::size_t at = text.find('\0');
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

template <class Length>
std::string with_length(std::string_view before, Split parts) {
  const auto length = static_cast<Length>(parts.header.size());
  std::string out(before);
  out.append(reinterpret_cast<const char*>(&length), sizeof length);
  out.append(parts.header).append(parts.data);
  return out;
}

/// Reads the input as it is, and once more with a correct length in 64 bits before its header.
template <class Read>
void read_with_and_without_length(const std::uint8_t* data, std::size_t size, Read read) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read(text);
  read(with_length<std::uint64_t>({}, split(text)));
}

}  // namespace largo::fuzz
