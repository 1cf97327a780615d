#include "random/battery/layouts.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "largo/random/streams.hpp"
#include "largo/runtime/check.hpp"

namespace largo::battery {
namespace {

constexpr std::size_t kPairs = 8;                                // pairs of coordinates in full prompts
constexpr std::uint64_t kPairCounters = std::uint64_t{1} << 40;  // from one pair to the next
constexpr std::uint64_t kPromptDraws = std::uint64_t{1} << 63;   // where a prompt's own draws begin
constexpr std::size_t kPromptWords = 22;                         // 4 d + 2 words at d = 5
constexpr std::size_t kLength = 1000;                            // tokens in a long prompt
constexpr std::size_t kTogether = 2048;                          // streams that are interleaved
constexpr std::uint64_t kOtherSeeds = std::uint64_t{0x5eed}
                                      << 20;  // far from the seeds above, and so are those that follow it

/// Words in units of a fixed size, where `make(u, words)` makes unit u.
template <class Make>
WordSource in_units(std::size_t size, Make make) {
  return [make, unit = std::uint64_t{0}, buffer = std::vector<std::uint64_t>(size),
          used = size](std::span<std::uint64_t> words) mutable {
    while (!words.empty()) {
      if (used == buffer.size()) {
        make(unit++, std::span<std::uint64_t>(buffer));
        used = 0;
      }
      const std::size_t count = std::min(words.size(), buffer.size() - used);
      std::copy_n(buffer.begin() + static_cast<std::ptrdiff_t>(used), count, words.begin());
      used += count;
      words = words.subspan(count);
    }
  };
}

/// The first 8 words of 2048 consecutive objects, interleaved: word 0 of all, word 1 of all, ...
template <class Eight>
WordSource side_by_side(Eight eight) {
  return in_units(8 * kTogether, [eight](std::uint64_t unit, std::span<std::uint64_t> words) {
    std::array<std::uint64_t, 8> own;
    for (std::size_t k = 0; k < kTogether; ++k) {
      eight(unit * kTogether + k, std::span<std::uint64_t>(own));
      for (std::size_t t = 0; t < 8; ++t) words[t * kTogether + k] = own[t];
    }
  });
}

}  // namespace

void token_words(std::uint64_t seed, std::uint64_t stream, std::uint64_t first, std::uint64_t group,
                 std::span<std::uint64_t> words) {
  // Token t reads counter first + ⌊t/2⌋: words 0 and 1 if t is even, else 2 and 3. This is the order of
  // philox_blocks.
  philox_blocks(seed, stream, first + 4 * group, words);
}

void normal_words(std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                  std::span<std::uint64_t> words) {
  for (std::uint64_t block = 0; !words.empty(); ++block) {
    philox_blocks(seed, stream, first + 16 * block, words.first(24));
    words = words.subspan(24);
  }
}

std::vector<Layout> layouts(std::uint64_t first_seed) {
  using Words = std::span<std::uint64_t>;
  std::vector<Layout> all;
  std::uint64_t seed = first_seed;
  all.push_back(
      {"long_stream", "draws 0, 1, 2, ... of one stream", 256,
       in_units(kBlock, [seed](std::uint64_t u, Words w) { Stream(seed, 0).bits(u * kBlock, w); })});
  ++seed;
  all.push_back({"prompts", "prompts 0, 1, ... of 1000 tokens", kLength,
                 in_units(kLength, [seed](std::uint64_t n, Words w) { token_words(seed, n, 0, 0, w); })});
  ++seed;
  all.push_back({"short_prompts", "prompts 0, 1, ... of 8 tokens", 8,
                 in_units(8, [seed](std::uint64_t n, Words w) { token_words(seed, n, 0, 0, w); })});
  ++seed;
  all.push_back({"across_prompts", "token 0 of 2048 prompts, token 1 of them, ..., the next 2048 prompts",
                 kTogether,
                 side_by_side([seed](std::uint64_t n, Words w) { token_words(seed, n, 0, 0, w); })});
  ++seed;
  all.push_back({"coordinates",
                 "pairs 0 to 7 of the coordinates of token 0, of token 1, ...; 256 tokens a prompt", kPairs,
                 in_units(kPairs * 256, [seed](std::uint64_t n, Words w) {
                   std::array<std::uint64_t, 256> one;
                   for (std::size_t j = 0; j < kPairs; ++j) {
                     token_words(seed, n, kPairCounters * j, 0, one);
                     for (std::size_t t = 0; t < one.size(); ++t) w[t * kPairs + j] = one[t];
                   }
                 })});
  ++seed;
  all.push_back(
      {"prompt_draws", "draws 2^63, ..., 2^63 + 21 of streams 0, 1, ...", kPromptWords,
       in_units(kPromptWords, [seed](std::uint64_t n, Words w) { Stream(seed, n).bits(kPromptDraws, w); })});
  ++seed;
  all.push_back({"seeds", "8 tokens of prompt 0 under consecutive seeds", 8,
                 in_units(8, [seed](std::uint64_t n, Words w) {
                   token_words(kOtherSeeds + (seed << 32) + n, 0, 0, 0, w);
                 })});
  ++seed;
  all.push_back({"across_seeds", "token 0 under 2048 consecutive seeds, token 1 under them, ...", kTogether,
                 side_by_side([seed](std::uint64_t n, Words w) {
                   token_words(kOtherSeeds + (seed << 32) + n, 0, 0, 0, w);
                 })});
  ++seed;
  all.push_back({"substreams", "draws 0 to 7 of substreams 0, 1, ... of one stream", 8,
                 in_units(8, [seed](std::uint64_t k, Words w) { Stream(seed, 7).substream(k).bits(0, w); })});
  ++seed;
  all.push_back({"substream_ids", "numbers of substreams 0 to 15 of streams 0, 1, ...", 16,
                 in_units(16, [seed](std::uint64_t n, Words w) {
                   for (std::size_t k = 0; k < w.size(); ++k) w[k] = Stream(seed, n).substream(k).id();
                 })});
  ++seed;
  all.push_back({"normals", "what the normals of 96 tokens of prompts 0, 1, ... are made of", 72,
                 in_units(72, [seed](std::uint64_t n, Words w) { normal_words(seed, n, 0, w); })});
  return all;
}

Layout find_layout(const std::string& name, std::uint64_t seed) {
  std::string known;
  for (Layout& layout : layouts(seed)) {
    if (layout.name == name) return layout;
    known += known.empty() ? layout.name : fmt::format(", {}", layout.name);
  }
  throw InputError(fmt::format("stream_battery: layout '{}' is none of {}", name, known));
}

}  // namespace largo::battery
