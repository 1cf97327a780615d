// Few points in a large space: coincidences of spacings and of places are nearly Poisson.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "random/battery/word_test.hpp"

namespace largo::battery {
namespace {

// Sorts by 11 bits at a time.
void radix_sort(std::vector<std::uint64_t>& values, std::vector<std::uint64_t>& spare, int bits) {
  spare.resize(values.size());
  for (int shift = 0; shift < bits; shift += 11) {
    std::array<std::uint32_t, 2048> start{};
    for (const std::uint64_t v : values) ++start[v >> shift & 2047];
    std::uint32_t sum = 0;
    for (std::uint32_t& s : start) sum += std::exchange(s, sum);
    for (const std::uint64_t v : values) spare[start[v >> shift & 2047]++] = v;
    values.swap(spare);
  }
}

// m uniform points in n days leave m - 1 spacings. Two given spacings are equal with probability m/(2n), and
// three with m(m - 1)/(3n²), so that the expected number of repeated values is
//   m(m - 1)(m - 2)/(4n) - C(m - 1, 3) m(m - 1)/(3n²),  up to a relative O((m³/n)²/m²) + O(m/n).
class Birthday : public WordTest {
 public:
  Birthday(std::size_t birthdays, int bits, int shift, std::size_t every)
      : m_(birthdays), bits_(bits), shift_(shift), every_(every) {
    days_.reserve(m_);
  }

  void add(const Block& block) override {
    if (block.index % every_ != 0) return;
    const std::uint64_t mask = (std::uint64_t{1} << bits_) - 1;
    for (std::size_t i = 0; i < block.count; ++i) {
      days_.push_back(block.words[i] >> shift_ & mask);
      if (days_.size() == m_) finish();
    }
  }

  void report(std::vector<Result>& results) const override {
    if (sets_ == 0) return;
    const auto m = static_cast<double>(m_);
    const double n = std::ldexp(1.0, bits_);
    const double pairs = m * (m - 1) * (m - 2) / (4 * n);
    const double triples = (m - 1) * (m - 2) * (m - 3) / 6 * m * (m - 1) / (3 * n * n);
    results.push_back(
        poisson_result(fmt::format("birthday spacings of bits {}..{}", shift_, shift_ + bits_ - 1),
                       static_cast<double>(repeats_), static_cast<double>(sets_) * (pairs - triples)));
  }

 private:
  void finish() {
    radix_sort(days_, spare_, bits_);
    std::uint64_t largest = 0;
    for (std::size_t i = 0; i + 1 < m_; ++i) {
      days_[i] = days_[i + 1] - days_[i];
      largest = std::max(largest, days_[i]);
    }
    days_.pop_back();
    radix_sort(days_, spare_, static_cast<int>(std::bit_width(largest)));
    for (std::size_t i = 1; i < days_.size(); ++i) repeats_ += days_[i] == days_[i - 1];
    ++sets_;
    days_.clear();
  }

  std::size_t m_;
  int bits_, shift_;
  std::size_t every_;
  std::vector<std::uint64_t> days_, spare_;
  std::uint64_t repeats_ = 0, sets_ = 0;
};

class Urns {
 public:
  void add(std::uint64_t urn) {
    std::uint64_t& word = occupied_[urn / 64];
    const std::uint64_t bit = std::uint64_t{1} << urn % 64;
    collisions_ += (word & bit) != 0;
    word |= bit;
    if (++balls_ < kBalls) return;
    balls_ = 0;
    ++rounds_;
    counted_ = collisions_;
    std::fill(occupied_.begin(), occupied_.end(), 0);
  }

  // With q = (1 - 1/k)^n, the expected number of occupied urns is k(1 - q), and its variance is
  // k(k - 1)(1 - 2/k)^n + kq - k²q².
  void report(const char* name, std::vector<Result>& results) const {
    if (rounds_ == 0) return;
    const long double k = kUrns, n = kBalls;
    const long double empty = std::exp(n * std::log1p(-1 / k));
    const long double two_empty = std::exp(n * std::log1p(-2 / k));
    const long double mean = n - k * (1 - empty);
    const long double variance = k * (k - 1) * two_empty + k * empty - k * k * empty * empty;
    const auto rounds = static_cast<long double>(rounds_);
    const auto excess = static_cast<long double>(counted_) - rounds * mean;
    results.push_back(normal_result(name, static_cast<double>(excess / std::sqrt(rounds * variance))));
  }

 private:
  static constexpr std::size_t kUrns = std::size_t{1} << 20;
  static constexpr std::size_t kBalls = std::size_t{1} << 16;
  std::vector<std::uint64_t> occupied_ = std::vector<std::uint64_t>(kUrns / 64);
  std::uint64_t collisions_ = 0, counted_ = 0;
  std::size_t balls_ = 0, rounds_ = 0;
};

class Collision : public WordTest {
 public:
  void add(const Block& block) override {
    for (std::size_t i = 0; i < block.count; ++i) low_.add(block.words[i] & 0xfffff);
    for (std::size_t i = 0; i + 1 < block.count; i += 2) {
      two_.add((block.words[i] & 0x3ff) << 10 | (block.words[i + 1] & 0x3ff));
    }
  }
  void report(std::vector<Result>& results) const override {
    low_.report("collisions of 20 lowest bits", results);
    two_.report("collisions of 10 + 10 lowest bits", results);
  }

 private:
  Urns low_, two_;
};

}  // namespace

std::unique_ptr<WordTest> birthday_test(std::size_t birthdays, int bits, int shift, std::size_t every) {
  return std::make_unique<Birthday>(birthdays, bits, shift, every);
}
std::unique_ptr<WordTest> collision_test() { return std::make_unique<Collision>(); }

}  // namespace largo::battery
