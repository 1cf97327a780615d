// Tests whether bits obey linear relations over GF(2), as those of shift registers and Mersenne twisters do.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "random/battery/word_test.hpp"

namespace largo::battery {
namespace {

// The rank of `rows` rows of `width` words, which are destroyed.
std::size_t rank_of(std::uint64_t* matrix, std::size_t rows, std::size_t width) {
  std::size_t rank = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::uint64_t* row = matrix + r * width;
    std::size_t first = 0;
    while (first < width && row[first] == 0) ++first;
    if (first == width) continue;
    ++rank;
    const int bit = std::countr_zero(row[first]);
    for (std::size_t s = r + 1; s < rows; ++s) {
      std::uint64_t* other = matrix + s * width;
      const std::uint64_t mask = -(other[first] >> bit & 1);
      for (std::size_t k = first; k < width; ++k) other[k] ^= row[k] & mask;
    }
  }
  return rank;
}

class Rank : public WordTest {
 public:
  Rank(std::size_t size, std::size_t every) : size_(size), every_(every) {}

  void add(const Block& block) override {
    if (block.index % every_ != 0) return;
    const std::size_t width = std::max<std::size_t>(size_ / 64, 1);
    for (std::size_t i = 0; i + size_ * width <= block.count; i += size_ * width) {
      const std::uint64_t* words = block.words + i;
      if (size_ == 32) {
        for (const int shift : {0, 32}) {
          matrix_.resize(32);
          for (std::size_t k = 0; k < 32; ++k) matrix_[k] = words[k] >> shift & 0xffffffff;
          count(rank_of(matrix_.data(), 32, 1));
        }
      } else {
        matrix_.assign(words, words + size_ * width);
        count(rank_of(matrix_.data(), size_, width));
      }
    }
  }

  void report(std::vector<Result>& results) const override {
    if (n_ == 0) return;
    std::vector<double> probabilities;
    for (std::size_t missing = 0; missing < counts_.size(); ++missing) {
      probabilities.push_back(missing + 1 < counts_.size() ? probability(missing) : at_least(missing));
    }
    const std::string name = fmt::format("rank of {0} x {0}", size_);
    if (n_ >= 40) results.push_back(counts_result(name, counts_, probabilities));
    results.push_back(rarest_result(fmt::format("{}, lowest", name), static_cast<double>(size_ - worst_),
                                    at_least(worst_), static_cast<double>(n_)));
  }

 private:
  void count(std::size_t rank) {
    const std::size_t missing = size_ - rank;
    ++counts_[std::min(missing, counts_.size() - 1)];
    worst_ = std::max(worst_, missing);
    ++n_;
  }

  // P(rank = size - missing) = 2^{r(2n - r) - n²} Π_{i<r} (1 - 2^{i-n})² / (1 - 2^{i-r}).
  double probability(std::size_t missing) const {
    if (missing > size_) return 0;
    const auto n = static_cast<int>(size_), r = static_cast<int>(size_ - missing);
    double p = std::exp2(-static_cast<double>(missing * missing));
    for (int i = 0; i < r; ++i) {
      const double a = 1 - std::ldexp(1.0, i - n), b = 1 - std::ldexp(1.0, i - r);
      p *= a * a / b;
    }
    return p;
  }
  double at_least(std::size_t missing) const {
    if (missing == 0) return 1;
    double sum = 0;
    for (std::size_t k = missing; k < missing + 8; ++k) sum += probability(k);
    return sum;
  }

  std::size_t size_, every_;
  std::vector<std::uint64_t> matrix_;
  std::array<std::uint64_t, 4> counts_{};
  std::size_t worst_ = 0, n_ = 0;
};

// Berlekamp and Massey's algorithm on bits in words: the length of the shortest shift register that gives the
// sequence. `recent` holds the sequence backwards from the present, `old` the older polynomial shifted up.
class Register {
 public:
  std::size_t length(const std::vector<std::uint8_t>& bits) {
    const std::size_t words = bits.size() / 64 + 2;
    recent_.assign(words, 0);
    current_.assign(words, 0);
    old_.assign(words, 0);
    current_[0] = old_[0] = 1;
    std::size_t length = 0;
    for (std::size_t n = 0; n < bits.size(); ++n) {
      const std::size_t used = std::min(n, std::max(length, n + 1 - length)) / 64 + 2;
      shift_up(recent_, std::min(used, words), bits[n]);
      shift_up(old_, std::min(used, words), 0);
      std::uint64_t parity = 0;
      for (std::size_t k = 0; k <= length / 64; ++k) parity ^= recent_[k] & current_[k];
      if (std::popcount(parity) % 2 == 0) continue;
      if (2 * length <= n) {
        for (std::size_t k = 0; k < std::min(used, words); ++k) {
          const std::uint64_t before = current_[k];
          current_[k] ^= old_[k];
          old_[k] = before;
        }
        length = n + 1 - length;
      } else {
        for (std::size_t k = 0; k < std::min(used, words); ++k) current_[k] ^= old_[k];
      }
    }
    return length;
  }

 private:
  static void shift_up(std::vector<std::uint64_t>& x, std::size_t words, std::uint64_t low) {
    for (std::size_t k = words - 1; k > 0; --k) x[k] = x[k] << 1 | x[k - 1] >> 63;
    x[0] = x[0] << 1 | low;
  }
  std::vector<std::uint64_t> recent_, current_, old_;
};

// Of the 2^n sequences, 2^min(2n - 2L, 2L - 1) have linear complexity L > 0. For n even and L = n/2 + k that
// is a probability of 2^{-2k} for k > 0, 1/2 for k = 0, and 2^{2k - 1} for k < 0; |k| >= d > 0 has 2 · 4^-d.
class Complexity : public WordTest {
 public:
  void add(const Block& block) override {
    const std::size_t phase = block.index % kLongEvery;
    if (phase < kLongBlocks && block.count == kBlock) {
      if (phase == 0) long_.clear();
      take(block, 0, block.count, bit_of(block.index / kLongEvery), long_);
      if (phase + 1 == kLongBlocks) finish_long();
    }
    if (block.index % kShortEvery != 0) return;
    for (std::size_t i = 0; i + kShort <= block.count; i += kShort) {
      std::vector<std::uint8_t> bits;
      take(block, i, kShort, bit_of(block.index / kShortEvery), bits);
      const auto k = deviation(bits);
      short_worst_ = std::max(short_worst_, std::abs(k));
      ++counts_[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(k, -kTails, kTails) + kTails)];
      ++short_n_;
    }
  }

  void report(std::vector<Result>& results) const override {
    if (short_n_ == 0) return;
    std::vector<double> probabilities;
    for (std::ptrdiff_t k = -kTails; k <= kTails; ++k) {
      const double p =
          k > 0 ? std::exp2(-2.0 * static_cast<double>(k)) : std::exp2(2.0 * static_cast<double>(k) - 1);
      probabilities.push_back(std::abs(k) == kTails ? p * 4 / 3 : p);
    }
    results.push_back(counts_result("linear complexity of 2048 bits", counts_, probabilities));
    const auto worst = [&](const char* name, std::ptrdiff_t k, double n) {
      const double p = k == 0 ? 1 : 2 * std::exp2(-2.0 * static_cast<double>(k));
      results.push_back(rarest_result(name, static_cast<double>(k), p, n));
    };
    worst("linear complexity of 2048 bits, worst", short_worst_, static_cast<double>(short_n_));
    if (long_n_ > 0) {
      worst("linear complexity of 49152 bits, worst", long_worst_, static_cast<double>(long_n_));
    }
  }

 private:
  static constexpr std::size_t kShort = 2048, kShortEvery = 16, kLongBlocks = 3, kLongEvery = 256;
  static constexpr std::ptrdiff_t kTails = 4;

  static int bit_of(std::size_t turn) {  // 0, 63, 1, 62, ...
    const int half = static_cast<int>(turn / 2 % 64);
    return turn % 2 == 0 ? half : 63 - half;
  }
  void finish_long() {
    long_worst_ = std::max(long_worst_, std::abs(deviation(long_)));
    ++long_n_;
  }
  static void take(const Block& block, std::size_t first, std::size_t count, int bit,
                   std::vector<std::uint8_t>& bits) {
    for (std::size_t i = first; i < first + count; ++i) bits.push_back(block.words[i] >> bit & 1);
  }
  std::ptrdiff_t deviation(const std::vector<std::uint8_t>& bits) {
    return static_cast<std::ptrdiff_t>(register_.length(bits)) - static_cast<std::ptrdiff_t>(bits.size() / 2);
  }

  Register register_;
  std::vector<std::uint8_t> long_;
  std::array<std::uint64_t, 2 * kTails + 1> counts_{};
  std::ptrdiff_t short_worst_ = 0, long_worst_ = 0;
  std::size_t short_n_ = 0, long_n_ = 0;
};

}  // namespace

std::unique_ptr<WordTest> rank_test(std::size_t size, std::size_t every) {
  return std::make_unique<Rank>(size, every);
}
std::unique_ptr<WordTest> complexity_test() { return std::make_unique<Complexity>(); }

}  // namespace largo::battery
