// The words of largo's streams in the orders in which the program uses them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "random/battery/word_test.hpp"

namespace largo::battery {

/// The words of tokens 8 group, 8 group + 1, ... of a stream, as float_draws.hpp lays them out from counter
/// `first` on, with the first word in the lower half. The size is a multiple of 8. Only this function and
/// normal_words() know the layout; layouts_test.cpp compares them with the library.
void token_words(std::uint64_t seed, std::uint64_t stream, std::uint64_t first, std::uint64_t group,
                 std::span<std::uint64_t> words);

/// The words from which the normals of a stream's tokens are made: 12 counters, or 24 words, for every 32
/// tokens. The size is a multiple of 24.
void normal_words(std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                  std::span<std::uint64_t> words);

struct Layout {
  std::string name;
  std::string description;
  std::size_t stride;  ///< words from one stream, or token, to the same place in the next
  WordSource source;   ///< starts at the beginning; a copy continues where the original is
};

/// All layouts. Each has a seed of its own, from `first_seed` on, so that no two share words.
std::vector<Layout> layouts(std::uint64_t first_seed);

/// Finds a layout by its name; throws InputError for an unknown one.
Layout find_layout(const std::string& name, std::uint64_t first_seed);

}  // namespace largo::battery
