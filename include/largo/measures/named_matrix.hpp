// Matrices by name, as given to options and in study files:
//
//   identity          ones on the diagonal
//   zeros
//   toeplitz:0.5      entries ρ^|i-j|
//   diag:1,2,3        these on the diagonal
//   random:SEED       independent normal entries of variance 1/columns, the same for the same seed
//   FILE.npy  FILE.csv  FILE.safetensors  FILE.safetensors:NAME
//
// each with an optional factor: 0.3*identity.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "largo/runtime/matrix.hpp"

namespace largo {

/// A size that is not given is taken from the text (a file, a diagonal) or else from the other one.
/// Throws InputError when the text is none of the above or its size is not the one asked for.
Matrix named_matrix(std::string_view argument, std::string_view text,
                    std::optional<std::ptrdiff_t> rows = std::nullopt,
                    std::optional<std::ptrdiff_t> columns = std::nullopt);

/// Whether the text says its own size: a diagonal or a file (or nothing that named_matrix() knows).
bool has_own_size(std::string_view text);

/// Queries, one a row: "1,0,-1", several separated by semicolons, or a matrix as above. `function` stands in
/// the message.
RowMatrix named_queries(std::string_view function, std::string_view argument, const std::string& text,
                        std::ptrdiff_t dimension);

}  // namespace largo
