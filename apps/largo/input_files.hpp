// The files that a command reads, which it must not replace with its results.
#pragma once

#include <string>
#include <vector>

namespace largo {

/// Laws, and matrices or queries, as options name them; some of the names lead to files.
struct InputNames {
  std::vector<std::string> laws = {}, matrices = {};
};

/// Before the work. InputError where `file`, the value of `option`, is one of the files that the names lead
/// to, under whatever name. Empty: not asked for.
void check_not_read(const char* command, const char* option, const std::string& file,
                    const InputNames& inputs);

}  // namespace largo
