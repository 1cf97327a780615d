// The SIMD instruction set that the kernels use. Every kernel is compiled once per level, and the level is
// chosen at run time. It is the best level of this CPU, unless the environment variable LARGO_SIMD names
// another (LARGO_SIMD=avx2|sse4|ssse3|scalar|..., in any case) or force_simd_level() is called. Results
// described as "the same at every level" do not change with the level; only the speed does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace largo {

/// The level in use, for example "AVX2". The first use of any kernel, or of this function, reads LARGO_SIMD.
/// If it names a level that is not available, InputError is thrown with the list of levels.
std::string simd_level();

/// The levels that are compiled in and that this CPU supports, best first; the last one is "SCALAR".
std::vector<std::string> simd_levels();

/// Uses the named level from now on, in every kernel and thread; LARGO_SIMD is no longer read.
/// Throws InputError, with the list of levels, for a name that is not in simd_levels().
void force_simd_level(std::string_view level);

/// Every kernel calls this first, before its dispatch; it costs one atomic load once a level is chosen.
void ensure_simd_level();

}  // namespace largo
