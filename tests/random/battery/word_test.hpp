// A statistical test that reads 64-bit words block by block, and does not keep them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "random/battery/result.hpp"

namespace largo::battery {

/// Consecutive words; words[-1], words[-2], ... down to words[-history] are those before them.
struct Block {
  const std::uint64_t* words;
  std::size_t count;
  std::size_t index;  ///< number of this block
};

/// The number of ones in each 16-bit part of a word, stored in the same part of the result. (std::popcount is
/// a call on baseline x86-64.)
inline std::uint64_t ones_in_pieces(std::uint64_t x) {
  x -= x >> 1 & 0x5555555555555555;
  x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return (x + (x >> 8)) & 0x00ff00ff00ff00ff;
}

inline int ones(std::uint64_t x) { return static_cast<int>(ones_in_pieces(x) * 0x0001000100010001 >> 48); }

class WordTest {
 public:
  virtual ~WordTest() = default;
  virtual void add(const Block& block) = 0;
  virtual void report(std::vector<Result>& results) const = 0;
};

using WordTests = std::vector<std::unique_ptr<WordTest>>;

inline constexpr std::size_t kHistory = 4096;
inline constexpr std::size_t kBlock = 16384;  ///< a 1024 x 1024 matrix of bits, or 128 KiB

/// Fills the span with the next words.
using WordSource = std::function<void(std::span<std::uint64_t>)>;

/// Cuts words into blocks with history, and runs tests on each block. The first `history` words are history
/// only.
class Runner {
 public:
  Runner(WordTests tests, std::size_t history, std::size_t block);
  /// Adds words in pieces of any size.
  void add(std::span<const std::uint64_t> words);
  /// Takes `blocks` blocks straight from a source.
  void run(const WordSource& source, std::size_t blocks);
  void report(std::vector<Result>& results) const;

 private:
  void finish_block();

  WordTests tests_;
  std::size_t history_, block_;
  std::vector<std::uint64_t> buffer_;
  std::size_t filled_ = 0;
  std::size_t index_ = 0;
};

/// All tests, for a layout in which the words of neighbouring streams, or tokens, are `stride` apart.
WordTests all_word_tests(std::size_t stride);

// The tests, by file. Lags are at most the history; with `every` = k, only every k-th block is tested.

// frequency_tests.cpp
/// Bits, bytes and 16-bit parts of words.
std::unique_ptr<WordTest> frequency_test();
enum class Combine { exclusive_or, difference };
/// Bits and bytes of w_i xor w_{i-lag} or w_i - w_{i-lag}: uniform and independent if the w_i are.
std::unique_ptr<WordTest> combined_test(Combine combine, std::size_t lag);
/// Pairs (lowest byte of w_i, lowest byte of w_{i-lag}), and pairs of highest bytes: Good's serial test on
/// overlapping pairs.
std::unique_ptr<WordTest> serial_test(std::size_t lag, std::size_t every);
/// Distances between words whose lowest (or highest) byte is zero; transitions between neighbouring bits.
std::unique_ptr<WordTest> runs_test();
/// The largest of 8 words, and the order of 4 words.
std::unique_ptr<WordTest> order_test();

// correlation_tests.cpp
/// Classes of the number of ones in 6 consecutive words and in 6 consecutive 16-bit parts, overlapping.
std::unique_ptr<WordTest> weight_classes_test();
/// Correlation of the numbers of ones in words up to 64 apart, 256 apart and `stride` apart.
std::unique_ptr<WordTest> weight_correlation_test(std::size_t stride);
/// The number of equal bits in words at the same distances.
std::unique_ptr<WordTest> bit_correlation_test(std::size_t stride, std::size_t every);

// linear_tests.cpp
/// Rank over GF(2) of size x size matrices with rows from consecutive words; size is 32 or a multiple of 64.
std::unique_ptr<WordTest> rank_test(std::size_t size, std::size_t every);
/// Linear complexity of one bit of consecutive words, each bit in turn, in sequences of 2048 and of 49152.
std::unique_ptr<WordTest> complexity_test();

// sparse_tests.cpp
/// Marsaglia's birthday spacings: `birthdays` in 2^bits days, days = (w >> shift) mod 2^bits.
std::unique_ptr<WordTest> birthday_test(std::size_t birthdays, int bits, int shift, std::size_t every);
/// Collisions of 2^16 balls in 2^20 urns: the lowest 20 bits of a word, and 10 bits from each of two.
std::unique_ptr<WordTest> collision_test();

// slice_test.cpp
/// Bits [shift, shift + width) of every word on their own, packed into words and tested as such.
std::unique_ptr<WordTest> slice_test(int shift, int width);

}  // namespace largo::battery
