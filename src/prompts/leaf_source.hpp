// The source of tokens of a leaf of a law (largo/measures/token_leaf.hpp).
#pragma once

#include <cstdint>
#include <memory>

#include "largo/measures/token_leaf.hpp"
#include "prompts/token_source.hpp"

namespace largo {

/// How many lanes the source of this leaf reads.
std::uint64_t lanes_of(const TokenLeaf& leaf);

/// The tokens r x of a leaf (its scale, map and offset are left to the caller), from lanes first_lane on. In
/// float32, normals and words come from float_draws.hpp; in float64, and for laws that only sample
/// themselves, from the streams of streams.hpp.
template <typename T>
std::unique_ptr<TokenSource<T>> make_token_source(const TokenLeaf& leaf, std::uint64_t first_lane);

}  // namespace largo
