// One function for every kind of file that a matrix can be read from.
#pragma once

#include <string_view>

#include "largo/runtime/matrix.hpp"

namespace largo::io {

/// Reads FILE.npy, FILE.csv, FILE.safetensors (with a single tensor) or FILE.safetensors:NAME, according to
/// the extension in upper or lower case. A one-dimensional array is one row. Throws InputError for a matrix
/// with no entries, or with an entry that is not finite (the message names it).
Matrix read_matrix(std::string_view file);

/// The name of the file alone: the part before the colon in FILE.safetensors:NAME, otherwise all of it.
std::string_view file_part(std::string_view file);

}  // namespace largo::io
