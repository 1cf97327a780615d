#include "input_files.hpp"

#include <utility>

#include <fmt/core.h>

#include "largo/runtime/check.hpp"
#include "measures/mixture_file.hpp"
#include "output_files.hpp"

namespace largo {
namespace {

std::vector<std::string> files_of(const InputNames& inputs) {
  std::vector<std::string> files;
  for (const std::string& law : inputs.laws) {
    for (std::string& file : files_of_law(law)) files.push_back(std::move(file));
  }
  for (const std::string& matrix : inputs.matrices) {
    if (auto file = file_of_matrix(matrix)) files.push_back(std::move(*file));
  }
  return files;
}

}  // namespace

void check_not_read(const char* command, const char* option, const std::string& file,
                    const InputNames& inputs) {
  if (file.empty()) return;
  for (const std::string& input : files_of(inputs)) {
    if (!same_file(file, input)) continue;
    fail(command, option, fmt::format("'{}'", file),
         fmt::format("a different file from '{}', which the command reads", input));
  }
}

}  // namespace largo
