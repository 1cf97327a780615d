// The files that a command reads, which it must not replace with its results.
#pragma once

#include <string>
#include <vector>

namespace largo {

/// Laws, and matrices or queries, as the options name them. Some of the names refer to files.
struct InputNames {
  std::vector<std::string> laws = {}, matrices = {};
};

/// Call it before the work. InputError if `file`, the value of `option`, is one of the files that the names
/// refer to, even under another name. An empty `file` means that none was asked for.
void check_not_read(const char* command, const char* option, const std::string& file,
                    const InputNames& inputs);

}  // namespace largo
