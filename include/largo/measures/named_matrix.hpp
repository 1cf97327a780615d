// Matrices by name, as in options and study files:
//
//   identity          ones on the diagonal
//   zeros
//   toeplitz:0.5      entries ρ^|i-j|
//   diag:1,2,3        these on the diagonal
//   1,0.5;0.5,2       rows of numbers
//   random:SEED       independent normal entries of variance 1/columns, the same for the same seed
//   FILE.npy  FILE.csv  FILE.safetensors  FILE.safetensors:NAME
//
// Each may have a factor: 0.3*identity.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "largo/runtime/matrix.hpp"

namespace largo {

/// Makes a matrix from its name. A size that is not given is taken from the text (a file, a diagonal), or
/// else from the other size. Throws InputError if the text is none of the above or its size is not the one
/// asked for.
Matrix named_matrix(std::string_view argument, std::string_view text,
                    std::optional<std::ptrdiff_t> rows = std::nullopt,
                    std::optional<std::ptrdiff_t> columns = std::nullopt);

/// Whether the text has a size of its own: a diagonal, rows of numbers or a file (or anything that
/// named_matrix() does not know).
bool has_own_size(std::string_view text);

/// Queries, one per row: "1,0,-1", several of these separated by semicolons, or a matrix as above. `function`
/// is named in messages.
RowMatrix named_queries(std::string_view function, std::string_view argument, const std::string& text,
                        std::ptrdiff_t dimension);

}  // namespace largo
