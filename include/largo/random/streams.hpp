// Random numbers as a function: draw i of stream k under seed s is a pure function of (s, k, i). So any
// thread, rank or restart that asks for it gets the same bits, in any order and in blocks of any size.
//
// The function is Philox4x32-10 (Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3,
// SC 2011). Its key is the seed, its 128-bit counter is (i / 2, k), low word first, and its 128 bits of
// output are the draws 2 floor(i/2) and the one after. All three numbers are 64 bits wide. The same bits come
// out at every SIMD level.
//
// How the rest of the code uses it: there is one stream per independent object (a prompt, a repetition of an
// experiment, a random matrix), numbered by substream(). Within a stream, coordinate j of token t in
// dimension d is draw t d + j. Nothing is stored, and no generator is passed around.
#pragma once

#include <cstdint>
#include <span>

namespace largo {

class Stream {
 public:
  Stream(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  std::uint64_t seed() const { return seed_; }
  std::uint64_t id() const { return stream_; }

  /// A stream for part k of the object that this stream belongs to. Its number is 64 bits of Philox at
  /// counter (k, id()), under a key that no draw of this seed uses. For n different (id, k) the chance that
  /// any two numbers coincide is below n^2 / 2^65, which is 3e-8 for a million of them.
  Stream substream(std::uint64_t k) const;

  /// Draws first, first + 1, ... as 64 random bits each. Indices are modulo 2^64. Cost: about 2 ns each.
  void bits(std::uint64_t first, std::span<std::uint64_t> draws) const;

  /// The same draws as numbers in the open interval (0, 1): (m + 1/2) 2^-52, where m is the upper 52 bits.
  /// Every value is exact, and u and 1 - u are equally likely. Cost: about 2 ns each.
  void uniforms(std::uint64_t first, std::span<double> draws) const;

  /// Standard normal draws by the method of Box and Muller. With u, v the uniforms 2c and 2c + 1, draw 2c is
  /// sqrt(-2 log u) cos(2 pi v) and draw 2c + 1 is the same with sin. |draw| <= 8.58; a normal variable
  /// exceeds that once in 10^17. Cost: about 6 ns each.
  void normals(std::uint64_t first, std::span<double> draws) const;

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
};

/// Philox4x32-10 itself, for consecutive counters: blocks[2 j] and blocks[2 j + 1] are its output words (0,
/// 1) and (2, 3), low word first, at counter (first_counter + j modulo 2^64, counter_high). The size must be
/// even.
void philox_blocks(std::uint64_t key, std::uint64_t counter_high, std::uint64_t first_counter,
                   std::span<std::uint64_t> blocks);

}  // namespace largo
