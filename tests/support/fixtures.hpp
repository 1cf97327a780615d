// Files made byte by byte, so that the readers are tested against the formats and not against our writers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "largo/runtime/check.hpp"

namespace largo::test {

/// A directory that lives as long as the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "largo-io-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator());
  }

 private:
  std::filesystem::path path_;
};

inline std::filesystem::path put(const std::filesystem::path& path, std::string_view content) {
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Runs the script with `directory` as its working directory; false when it fails.
inline bool run_python(const TemporaryDirectory& directory, const std::string& script) {
  put(directory / "script.py", script);
  const std::string command =
      "cd '" + (directory / "").string() + "' && " LARGO_PYTHON " script.py >/dev/null";
  return std::system(command.c_str()) == 0;
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// The bytes of an arithmetic value, little-endian like the machine.
template <class T>
std::string raw(T value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

template <class T, class... Rest>
std::string raw(T first, T second, Rest... rest) {
  return raw(first) + raw(second, rest...);
}

/// The message of the InputError that `action` throws; if it throws none, the test fails and this is empty.
template <class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << "more than one line: " << message;
    return message;
  }
  ADD_FAILURE() << "no InputError";
  return {};
}

/// Expects that the message contains every part, as gmock's EXPECT_THAT would.
inline void expect_contains(const std::string& message, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "no \"" << part << "\" in: " << message;
  }
}

/// A wrong input, and what the message that refuses it says.
struct WrongInput {
  std::string input;
  std::string_view says;
};

/// Expects of every input that `refusal` of it, a message, says what stands beside it.
template <class Refusal>
void expect_refusals(Refusal refusal, std::initializer_list<WrongInput> inputs) {
  for (const WrongInput& wrong : inputs) expect_contains(refusal(wrong.input), {wrong.says});
}

}  // namespace largo::test
