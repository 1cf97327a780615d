// Laws by name, as in options and study files: NAME or NAME:key=value,key=value. Matrices are named as in
// named_matrix.hpp; the value of a key may be a list (cov=diag:1,2,3).
//
//   gaussian          cov=MATRIX (identity), mean=LIST (0)
//   rademacher        scale=1
//   uniform           half-width=1: on [-half-width, half-width]
//   three-point       scale=1, mass=0.5: ±scale with probability mass/2 each, else 0
//   bernoulli         probability=0.5: centred
//   laplace           scale=1, bound=3: truncated
//   sphere, ball      radius=1
//   elliptical        base=gaussian|sphere, cov=MATRIX, and the law of W: low=0,high=1 (uniform)
//                     or values=LIST,weights=LIST
//   mixture:FILE.toml an array of tables [[component]] with weight, law, and optionally shift = [...]; files
//                     it names are relative to the current folder
//   tokens:FILE       a prompt, one token per row: .npy (mapped, not read), .csv, .safetensors[:NAME];
//                     weights=FILE for unequal weights
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "largo/measures/empirical.hpp"
#include "largo/measures/measure.hpp"

namespace largo {

/// Makes a law from its name. `dimension` may be left out for laws that know theirs (tokens, mixture, a
/// covariance from a file). `arithmetic` is used for prompts. An unknown law or key throws InputError with
/// the list of known ones.
MeasurePtr named_law(std::string_view text, std::optional<std::ptrdiff_t> dimension = std::nullopt,
                     Arithmetic arithmetic = Arithmetic::of_tokens);

}  // namespace largo
