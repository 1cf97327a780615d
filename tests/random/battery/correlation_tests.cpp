// Numbers of ones, and equal bits, in words that are close to each other or at the distances of a layout.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "random/battery/word_test.hpp"

namespace largo::battery {
namespace {

constexpr std::size_t kClasses = 4;
constexpr std::size_t kLetters = 6;
constexpr std::size_t kWords = 4096;  // kClasses^kLetters

// Words become letters by their number of ones, and overlapping six-letter words are counted. The statistic
// is the chi-square of six letters minus that of five, with 4^6 - 4^5 degrees (Good 1953; Marsaglia's count
// the ones).
class Letters {
 public:
  Letters(int bits, std::array<int, kClasses - 1> last_of_class) : counts_(kWords), class_(bits + 1) {
    double chance = std::pow(0.5, bits);
    for (int ones = 0; ones <= bits; ++ones) {
      std::size_t k = 0;
      while (k < kClasses - 1 && ones > last_of_class[k]) ++k;
      class_[ones] = static_cast<std::uint8_t>(k);
      probability_[k] += chance;
      chance *= static_cast<double>(bits - ones) / (ones + 1);
    }
  }

  void add(int ones) {
    word_ = (word_ * kClasses + class_[ones]) % kWords;
    ++counts_[word_];
  }

  Result result(std::string name) const {
    double n = 0;
    for (const std::uint64_t count : counts_) n += static_cast<double>(count);
    const double rarest = *std::min_element(probability_.begin(), probability_.end());
    if (n * std::pow(rarest, kLetters) < 5) return {std::move(name), 0, 1, 1, false};  // too few to say
    std::vector<std::uint64_t> five(1024);
    for (std::size_t word = 0; word < counts_.size(); ++word) five[word % 1024] += counts_[word];
    return chi_square_result(std::move(name),
                             chi_square(counts_, kLetters, n) - chi_square(five, kLetters - 1, n),
                             kWords - kWords / kClasses);
  }

 private:
  double chi_square(const std::vector<std::uint64_t>& counts, std::size_t letters, double n) const {
    double sum = 0;
    for (std::size_t word = 0; word < counts.size(); ++word) {
      double expected = n;
      std::size_t rest = word;
      for (std::size_t k = 0; k < letters; ++k, rest /= kClasses) expected *= probability_[rest % kClasses];
      const double difference = static_cast<double>(counts[word]) - expected;
      sum += difference * difference / expected;
    }
    return sum;
  }

  std::vector<std::uint64_t> counts_;
  std::vector<std::uint8_t> class_;
  std::array<double, kClasses> probability_{};
  std::size_t word_ = 0;
};

class WeightClasses : public WordTest {
 public:
  void add(const Block& block) override {
    for (std::size_t i = 0; i < block.count; ++i) {
      const std::uint64_t pieces = ones_in_pieces(block.words[i]);
      words_.add(static_cast<int>(pieces * 0x0001000100010001 >> 48));
      for (int shift = 0; shift < 64; shift += 16) pieces_.add(static_cast<int>(pieces >> shift & 0xff));
    }
  }
  void report(std::vector<Result>& results) const override {
    results.push_back(words_.result("ones in 6 words"));
    results.push_back(pieces_.result("ones in 6 pieces of 16 bits"));
  }

 private:
  Letters words_{64, {29, 32, 34}};
  Letters pieces_{16, {6, 8, 9}};
};

// Lags 1 to 64, 256 and that of the layout, with the largest last.
std::vector<std::ptrdiff_t> lags_for(std::size_t stride) {
  std::vector<std::ptrdiff_t> lags;
  for (std::ptrdiff_t lag = 1; lag <= 64; ++lag) lags.push_back(lag);
  lags.push_back(256);
  if (stride > 64 && stride != 256) lags.push_back(static_cast<std::ptrdiff_t>(stride));
  std::ranges::sort(lags);
  return lags;
}

void report_scores(const std::string& name, const std::vector<double>& z, std::vector<Result>& results) {
  double sum = 0;
  for (const double value : z) sum += value * value;
  results.push_back(chi_square_result(fmt::format("{}, all lags", name), sum, static_cast<double>(z.size())));
  results.push_back(worst_result(fmt::format("{}, worst lag", name), z));
}

class WeightCorrelation : public WordTest {
 public:
  explicit WeightCorrelation(std::size_t stride) : lags_(lags_for(stride)), sums_(lags_.size()) {}

  void add(const Block& block) override {
    const std::ptrdiff_t before = lags_.back();
    const auto count = static_cast<std::ptrdiff_t>(block.count);
    weights_.resize(block.count + static_cast<std::size_t>(before));
    std::int16_t* w = weights_.data() + before;
    for (std::ptrdiff_t i = -before; i < count; ++i) {
      w[i] = static_cast<std::int16_t>(ones(block.words[i]) - 32);
    }
    for (std::size_t k = 0; k < lags_.size(); ++k) {
      std::int32_t sum = 0;  // at most 2^14 32² = 2^24
      for (std::ptrdiff_t i = 0; i < count; ++i) sum += std::int32_t{w[i]} * std::int32_t{w[i - lags_[k]]};
      sums_[k] += sum;
    }
    n_ += static_cast<double>(count);
  }

  void report(std::vector<Result>& results) const override {
    if (n_ == 0) return;
    std::vector<double> z;
    for (const std::int64_t sum : sums_) z.push_back(static_cast<double>(sum) / (16 * std::sqrt(n_)));
    report_scores("correlation of ones", z, results);
  }

 private:
  std::vector<std::ptrdiff_t> lags_;
  std::vector<std::int64_t> sums_;
  std::vector<std::int16_t> weights_;
  double n_ = 0;
};

// The number of ones in a xor b; the count is a multiple of 128. Bytes are summed, so that compilers
// vectorise it.
std::uint64_t different_bits(const std::uint64_t* a, const std::uint64_t* b, std::size_t count) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < count; i += 128) {
    std::uint64_t bytes[8] = {};  // each at most 16 x 8
    for (std::size_t j = 0; j < 128; j += 8) {
      for (std::size_t k = 0; k < 8; ++k) {
        std::uint64_t x = a[i + j + k] ^ b[i + j + k];
        x -= x >> 1 & 0x5555555555555555;
        x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
        bytes[k] += (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
      }
    }
    for (const std::uint64_t x : bytes) {
      total += ((x & 0x00ff00ff00ff00ff) + (x >> 8 & 0x00ff00ff00ff00ff)) * 0x0001000100010001 >> 48;
    }
  }
  return total;
}

class BitCorrelation : public WordTest {
 public:
  BitCorrelation(std::size_t stride, std::size_t every)
      : lags_(lags_for(stride)), sums_(lags_.size()), every_(every) {}

  void add(const Block& block) override {
    if (block.index % every_ != 0) return;
    for (std::size_t k = 0; k < lags_.size(); ++k) {
      sums_[k] += different_bits(block.words, block.words - lags_[k], block.count);
    }
    n_ += 64 * static_cast<double>(block.count);
  }

  void report(std::vector<Result>& results) const override {
    if (n_ == 0) return;
    std::vector<double> z;
    for (const std::uint64_t sum : sums_) {
      z.push_back((static_cast<double>(sum) - n_ / 2) / std::sqrt(n_ / 4));
    }
    report_scores("different bits", z, results);
  }

 private:
  std::vector<std::ptrdiff_t> lags_;
  std::vector<std::uint64_t> sums_;
  std::size_t every_;
  double n_ = 0;
};

}  // namespace

std::unique_ptr<WordTest> weight_classes_test() { return std::make_unique<WeightClasses>(); }
std::unique_ptr<WordTest> weight_correlation_test(std::size_t stride) {
  return std::make_unique<WeightCorrelation>(stride);
}
std::unique_ptr<WordTest> bit_correlation_test(std::size_t stride, std::size_t every) {
  return std::make_unique<BitCorrelation>(stride, every);
}

}  // namespace largo::battery
