// Frequencies of parts of words, of pairs, of gaps and of orders: chi-square tests against equal chances.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "random/battery/word_test.hpp"

namespace largo::battery {
namespace {

using Counts = std::vector<std::uint32_t>;

double bits_chi_square(const Counts& bytes, double n) {
  double sum = 0;
  for (std::size_t bit = 0; bit < 8; ++bit) {
    double ones = 0;
    for (std::size_t value = 0; value < 256; ++value) ones += value >> bit & 1 ? bytes[value] : 0;
    sum += (ones - n / 2) * (ones - n / 2) / (n / 4);
  }
  return sum;
}

void report_bytes(const std::string& of, const std::array<Counts, 8>& bytes, double n,
                  std::vector<Result>& results) {
  double bits = 0, values = 0;
  for (const Counts& counts : bytes) {
    bits += bits_chi_square(counts, n);
    values += equal_chi_square(counts);
  }
  results.push_back(chi_square_result(fmt::format("bits ({})", of), bits, 64));
  results.push_back(chi_square_result(fmt::format("bytes ({})", of), values, 8 * 255));
}

std::array<Counts, 8> eight_counts() {
  std::array<Counts, 8> counts;
  counts.fill(Counts(256));
  return counts;
}

class Frequency : public WordTest {
 public:
  void add(const Block& block) override {
    std::uint32_t* c[] = {counts_[0].data(), counts_[1].data(), counts_[2].data(), counts_[3].data()};
    for (std::size_t i = 0; i < block.count; ++i) {
      const std::uint64_t w = block.words[i];
      ++c[0][w & 0xffff];
      ++c[1][w >> 16 & 0xffff];
      ++c[2][w >> 32 & 0xffff];
      ++c[3][w >> 48];
    }
    n_ += static_cast<double>(block.count);
  }

  void report(std::vector<Result>& results) const override {
    if (n_ == 0) return;
    std::array<Counts, 8> bytes = eight_counts();
    double pieces = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      pieces += equal_chi_square(counts_[k]);
      for (std::size_t value = 0; value < 65536; ++value) {
        bytes[2 * k][value % 256] += counts_[k][value];
        bytes[2 * k + 1][value / 256] += counts_[k][value];
      }
    }
    report_bytes("words", bytes, n_, results);
    results.push_back(chi_square_result("16-bit pieces", pieces, 4 * 65535));
    double below = 0, distance = 0;
    for (std::size_t value = 0; value < 65536; ++value) {
      below += counts_[3][value];
      distance = std::max(distance, std::abs(below / n_ - static_cast<double>(value + 1) / 65536));
    }
    results.push_back(kolmogorov_result("Kolmogorov-Smirnov, upper 16 bits", distance, n_));
  }

 private:
  std::vector<Counts> counts_ = std::vector<Counts>(4, Counts(65536));
  double n_ = 0;
};

class Combined : public WordTest {
 public:
  Combined(Combine combine, std::size_t lag) : combine_(combine), lag_(static_cast<std::ptrdiff_t>(lag)) {}

  void add(const Block& block) override {
    const std::uint64_t* w = block.words;
    if (combine_ == Combine::exclusive_or) {
      count(block, [w, lag = lag_](std::ptrdiff_t i) { return w[i] ^ w[i - lag]; });
    } else {
      count(block, [w, lag = lag_](std::ptrdiff_t i) { return w[i] - w[i - lag]; });
    }
  }

  void report(std::vector<Result>& results) const override {
    if (n_ == 0) return;
    const char* name = combine_ == Combine::exclusive_or ? "xor" : "difference";
    report_bytes(fmt::format("{}, lag {}", name, lag_), counts_, n_, results);
  }

 private:
  template <class Word>
  void count(const Block& block, const Word& word) {
    for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(block.count); ++i) {
      const std::uint64_t w = word(i);
      for (std::size_t k = 0; k < 8; ++k) ++counts_[k][w >> 8 * k & 255];
    }
    n_ += static_cast<double>(block.count);
  }

  Combine combine_;
  std::ptrdiff_t lag_;
  std::array<Counts, 8> counts_ = eight_counts();
  double n_ = 0;
};

// Overlapping pairs are not independent, but the difference of the chi-squares of pairs and of single bytes
// is chi-square with 2^16 - 2^8 degrees (Good 1953), whatever the lag.
class Serial : public WordTest {
 public:
  Serial(std::size_t lag, std::size_t every)
      : lag_(static_cast<std::ptrdiff_t>(lag)), every_(every), low_(65536), high_(65536) {}

  void add(const Block& block) override {
    if (block.index % every_ != 0) return;
    const std::uint64_t* w = block.words;
    for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(block.count); ++i) {
      ++low_[(w[i] & 255) << 8 | (w[i - lag_] & 255)];
      ++high_[w[i] >> 56 << 8 | w[i - lag_] >> 56];
    }
    any_ = true;
  }

  void report(std::vector<Result>& results) const override {
    if (!any_) return;
    for (const Counts* pairs : {&low_, &high_}) {
      Counts single(256);
      for (std::size_t pair = 0; pair < pairs->size(); ++pair) single[pair >> 8] += (*pairs)[pair];
      results.push_back(chi_square_result(
          fmt::format("pairs of {} bytes, lag {}", pairs == &low_ ? "lowest" : "highest", lag_),
          equal_chi_square(*pairs) - equal_chi_square(single), 65536 - 256));
    }
  }

 private:
  std::ptrdiff_t lag_;
  std::size_t every_;
  Counts low_, high_;
  bool any_ = false;
};

class Runs : public WordTest {
 public:
  void add(const Block& block) override {
    for (std::size_t i = 0; i < block.count; ++i) {
      const std::uint64_t w = block.words[i];
      if ((w & 255) == 0) low_.end();
      if (w >> 56 == 0) high_.end();
      ++low_.gap;
      ++high_.gap;
      changes_ += static_cast<std::uint64_t>(ones(w ^ (w << 1 | last_)));
      last_ = w >> 63;
    }
    n_ += static_cast<double>(block.count) * 64;
  }

  void report(std::vector<Result>& results) const override {
    if (n_ == 0) return;
    results.push_back(normal_result("changes from bit to bit",
                                    (static_cast<double>(changes_) - n_ / 2) / std::sqrt(n_ / 4)));
    std::vector<double> probabilities(kClasses);
    const double stay = 255.0 / 256;
    for (std::size_t k = 0; k < kClasses; ++k) {
      probabilities[k] = std::pow(stay, kWidth * static_cast<double>(k)) -
                         (k + 1 < kClasses ? std::pow(stay, kWidth * static_cast<double>(k + 1)) : 0);
    }
    results.push_back(counts_result("gaps between zero lowest bytes", low_.counts, probabilities));
    results.push_back(counts_result("gaps between zero highest bytes", high_.counts, probabilities));
  }

 private:
  static constexpr std::size_t kClasses = 128;
  static constexpr std::size_t kWidth = 16;
  struct Gaps {
    void end() {
      ++counts[std::min(gap / kWidth, kClasses - 1)];
      gap = static_cast<std::size_t>(-1);  // the word itself does not count for the next gap
    }
    std::size_t gap = 0;
    std::array<std::uint64_t, kClasses> counts{};
  };
  Gaps low_, high_;
  std::uint64_t changes_ = 0, last_ = 0;
  double n_ = 0;
};

class Order : public WordTest {
 public:
  void add(const Block& block) override {
    for (std::size_t i = 0; i + 8 <= block.count; i += 8) {
      const std::uint64_t* w = block.words + i;
      const double u = static_cast<double>(*std::max_element(w, w + 8)) * 0x1p-64;
      const double u2 = u * u, u4 = u2 * u2;
      ++largest_[std::min<std::size_t>(static_cast<std::size_t>(u4 * u4 * 256), 255)];
      ++orders_[order(w)];
      ++orders_[order(w + 4)];
      any_ = true;
    }
  }

  void report(std::vector<Result>& results) const override {
    if (!any_) return;
    results.push_back(chi_square_result("largest of 8", equal_chi_square(largest_), 255));
    Counts counts;
    std::array<std::uint64_t, 4> four = {0, 1, 2, 3};
    do counts.push_back(orders_[order(four.data())]);
    while (std::next_permutation(four.begin(), four.end()));
    results.push_back(chi_square_result("order of 4", equal_chi_square(counts), 23));
  }

 private:
  static std::size_t order(const std::uint64_t* w) {
    const auto less = [w](int i, int j) { return static_cast<std::size_t>(w[i] < w[j]); };
    return less(0, 1) | less(0, 2) << 1 | less(0, 3) << 2 | less(1, 2) << 3 | less(1, 3) << 4 |
           less(2, 3) << 5;
  }
  std::array<std::uint32_t, 256> largest_{};
  std::array<std::uint32_t, 64> orders_{};
  bool any_ = false;
};

}  // namespace

std::unique_ptr<WordTest> frequency_test() { return std::make_unique<Frequency>(); }
std::unique_ptr<WordTest> combined_test(Combine combine, std::size_t lag) {
  return std::make_unique<Combined>(combine, lag);
}
std::unique_ptr<WordTest> serial_test(std::size_t lag, std::size_t every) {
  return std::make_unique<Serial>(lag, every);
}
std::unique_ptr<WordTest> runs_test() { return std::make_unique<Runs>(); }
std::unique_ptr<WordTest> order_test() { return std::make_unique<Order>(); }

}  // namespace largo::battery
