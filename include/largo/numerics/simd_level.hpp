// Which SIMD instruction set the kernels use. Every kernel is compiled once per level and chosen at run
// time: the best level of this CPU, unless the environment variable LARGO_SIMD names another
// (LARGO_SIMD=avx2|sse4|ssse3|scalar|..., in any case) or force_simd_level() is called.
// Results described as "the same at every level" do not change with it; only the speed does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace largo {

/// The level in use, for example "AVX2". The first use of any kernel, or of this function, reads LARGO_SIMD
/// and throws InputError, with the list of levels, when it names one that is not available.
std::string simd_level();

/// The levels that are compiled in and that this CPU supports, best first; the last one is "SCALAR".
std::vector<std::string> simd_levels();

/// Uses the named level from now on, in every kernel and thread; LARGO_SIMD is no longer read.
/// Throws InputError, with the list, for a name that is not in simd_levels().
void force_simd_level(std::string_view level);

/// Called at the entry of every kernel, before its dispatch; costs one atomic load once a level is chosen.
void ensure_simd_level();

}  // namespace largo
