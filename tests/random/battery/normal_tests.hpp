// Tests of the float32 normals that the prompt kernels draw.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "random/battery/result.hpp"

namespace largo::battery {

/// Moments up to the eighth, the distribution, the tails, and correlations within pairs, between tokens and
/// between prompts, all in standard errors or chi-squares of exactly normal and independent draws.
class NormalTests {
 public:
  /// Adds the tokens of a prompt, by both normals of each. The number of tokens is a multiple of 16, and the
  /// same in every call.
  void add(std::span<const float> first, std::span<const float> second);
  void report(std::vector<Result>& results) const;
  double tokens() const { return tokens_; }

 private:
  static constexpr std::size_t kBinsPerUnit = 256;
  static constexpr std::size_t kRange = 8;  // bins from -8 to 8
  static constexpr std::size_t kBins = 2 * kRange * kBinsPerUnit;
  static constexpr std::array<std::size_t, 4> kLags = {1, 2, 4, 8};

  struct One {
    std::array<double, 8> powers{};  // sums of x, x², ..., x⁸
    std::vector<std::uint64_t> bins = std::vector<std::uint64_t>(kBins);
    std::array<std::uint64_t, 3> beyond{};  // |x| > 4, 5, 6
  };
  static void add_one(One& one, std::span<const float> x);
  void report_one(const char* which, const One& one, std::vector<Result>& results) const;

  std::array<One, 2> one_;
  double pair_ = 0, pair_squares_ = 0;
  std::array<double, kLags.size()> lagged_{}, lagged_squares_{}, lagged_cross_{};
  double lagged_count_[kLags.size()] = {};
  double prompts_ = 0, prompts_squares_ = 0, prompts_cross_ = 0, prompts_count_ = 0;
  std::vector<float> last_first_;
  double tokens_ = 0;
};

}  // namespace largo::battery
