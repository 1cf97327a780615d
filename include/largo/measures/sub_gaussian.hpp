// What Measure::sub_gaussian_constant() of a law is.
#pragma once

#include <cstdint>

#include "largo/measures/measure.hpp"

namespace largo {

enum class SubGaussianKind : std::uint8_t {
  smallest,  ///< the σ of the law
  at_most,   ///< proved, and maybe larger than need be
  at_least,  ///< found by a search of Λ: no bound can be proved from a function that is known at points alone
};

/// By the laws that this is made of: laws of one's own are searched (at_least, also where they provide a
/// constant, of which nothing is known), as is what contains one; mixtures, prompts, elliptical laws and
/// images have upper bounds; the others the smallest.
SubGaussianKind sub_gaussian_kind(const Measure& law);

/// "smallest", "at most", "at least"
const char* name_of(SubGaussianKind kind);

}  // namespace largo
