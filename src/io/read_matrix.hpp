// One call for every file a matrix can be read from.
#pragma once

#include <string_view>

#include "largo/runtime/matrix.hpp"

namespace largo::io {

/// Reads FILE.npy, FILE.csv, FILE.safetensors (of a single tensor) or FILE.safetensors:NAME, by the extension
/// in any case. A one-dimensional array is one row. Refuses a matrix with no entries, or with an entry that
/// is not finite (the message names it).
Matrix read_matrix(std::string_view file);

/// The name of the file alone: what stands before the colon in FILE.safetensors:NAME, else all of it.
std::string_view file_part(std::string_view file);

}  // namespace largo::io
