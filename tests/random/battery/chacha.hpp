// ChaCha20 (Bernstein 2008), a good generator that is independent: a cipher shares nothing with Philox.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace largo::battery {

class ChaCha {
 public:
  explicit ChaCha(std::uint32_t key) {
    state_ = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, key, ~key, key * 3, 4, 5, 6, 7, 8, 0, 0, 0, 0};
  }

  /// The next 16 words of 32 bits.
  std::array<std::uint32_t, 16> block() {
    std::array<std::uint32_t, 16> x = state_;
    for (int round = 0; round < 10; ++round) {
      for (std::size_t k = 0; k < 4; ++k) quarter(x[k], x[4 + k], x[8 + k], x[12 + k]);
      for (std::size_t k = 0; k < 4; ++k) {
        quarter(x[k], x[4 + (k + 1) % 4], x[8 + (k + 2) % 4], x[12 + (k + 3) % 4]);
      }
    }
    for (std::size_t k = 0; k < 16; ++k) x[k] += state_[k];
    if (++state_[12] == 0) ++state_[13];
    return x;
  }

  /// The size must be a multiple of 8.
  void operator()(std::span<std::uint64_t> words) {
    for (std::size_t i = 0; i < words.size(); i += 8) {
      const std::array<std::uint32_t, 16> x = block();
      for (std::size_t k = 0; k < 8; ++k) words[i + k] = std::uint64_t{x[2 * k + 1]} << 32 | x[2 * k];
    }
  }

  std::array<std::uint32_t, 16>& state() { return state_; }

 private:
  static void quarter(std::uint32_t& a, std::uint32_t& b, std::uint32_t& c, std::uint32_t& d) {
    a += b, d = std::rotl(d ^ a, 16);
    c += d, b = std::rotl(b ^ c, 12);
    a += b, d = std::rotl(d ^ a, 8);
    c += d, b = std::rotl(b ^ c, 7);
  }
  std::array<std::uint32_t, 16> state_;
};

}  // namespace largo::battery
