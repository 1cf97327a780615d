#include "io/read_matrix.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "io/csv.hpp"
#include "io/text.hpp"
#include "largo/io/npy.hpp"
#include "largo/io/safetensors.hpp"
#include "largo/runtime/check.hpp"

namespace largo::io {
namespace {

constexpr std::string_view kSafetensors = ".safetensors";
constexpr std::size_t kNamesShown = 5;

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

Matrix read_only_tensor(std::string_view path) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  const std::vector<std::string> names = file.names();
  if (names.size() == 1) return file.matrix(names.front());
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) {
    list += (i == 0 ? " (" : ", ") + in_quotes(names[i]);
  }
  if (!list.empty()) list += names.size() > kNamesShown ? ", ...)" : ")";
  fail("read_matrix", fmt::format("{}: has {} tensors{}, choose one as FILE.safetensors:NAME", one_line(path),
                                  names.size(), list));
}

Matrix read_any(std::string_view file) {
  if (file.empty()) fail("read_matrix", "the name of a file is missing");
  // This comes first because a tensor may have any name, even "a.npy".
  const std::string_view path = file_part(file);
  if (path.size() < file.size()) return SafetensorsFile::open(path).matrix(file.substr(path.size() + 1));
  const std::string lowered = lower(file);
  if (lowered.ends_with(".npy")) return NpyArray::open(file).matrix();
  if (lowered.ends_with(".csv")) return read_csv(file);
  if (lowered.ends_with(kSafetensors)) return read_only_tensor(file);
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    fail("read_matrix", fmt::format("{}: is a directory, must be a file", one_line(file)));
  }
  fail("read_matrix", fmt::format("{}: unknown kind of file, must be .npy, .csv, .safetensors or "
                                  ".safetensors:NAME",
                                  one_line(file)));
}

}  // namespace

std::string_view file_part(std::string_view file) {
  const std::size_t colon = lower(file).find(std::string(kSafetensors) + ':');
  return file.substr(0, colon == std::string::npos ? file.size() : colon + kSafetensors.size());
}

Matrix read_matrix(std::string_view file) {
  Matrix result = read_any(file);
  if (result.size() == 0) {
    fail("read_matrix", fmt::format("{}: is {} x {}, must have at least one entry", one_line(file),
                                    result.rows(), result.cols()));
  }
  check_finite("read_matrix", one_line(file), ConstMatrixRef(result));
  return result;
}

}  // namespace largo::io
