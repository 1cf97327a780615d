// The words of largo's streams in the orders in which the program uses them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "random/battery/word_test.hpp"

namespace largo::battery {

/// Words of the tokens 8 group, 8 group + 1, ... of a stream, as float_draws.hpp lays them out from counter
/// `first` on, the first in the lower half. The size is a multiple of 8. With normal_words() the one place
/// that knows the layout; layouts_test.cpp holds them against the library.
void token_words(std::uint64_t seed, std::uint64_t stream, std::uint64_t first, std::uint64_t group,
                 std::span<std::uint64_t> words);

/// What the normals of the tokens of a stream are made of: for every 32 of them 12 counters, 24 words. The
/// size is a multiple of 24.
void normal_words(std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                  std::span<std::uint64_t> words);

struct Layout {
  std::string name;
  std::string description;
  std::size_t stride;  ///< words from one stream, or token, to the same place in the next
  WordSource source;   ///< starts at the beginning; a copy starts where the original is
};

/// Every layout, each under a seed of its own from `first_seed` on, so that no two share words.
std::vector<Layout> layouts(std::uint64_t first_seed);

/// By name; throws InputError for an unknown one.
Layout find_layout(const std::string& name, std::uint64_t first_seed);

}  // namespace largo::battery
