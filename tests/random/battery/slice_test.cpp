// A generator may hide weak low bits among good ones; on their own they show.
#include <fmt/format.h>

#include "random/battery/word_test.hpp"

namespace largo::battery {
namespace {

constexpr std::size_t kSliceHistory = 256;
constexpr std::size_t kSliceBlock = 1024;

WordTests slice_tests() {
  WordTests tests;
  tests.push_back(frequency_test());
  tests.push_back(combined_test(Combine::exclusive_or, 1));
  tests.push_back(serial_test(1, 1));
  tests.push_back(runs_test());
  tests.push_back(weight_classes_test());
  tests.push_back(weight_correlation_test(256));
  tests.push_back(bit_correlation_test(256, 4));
  tests.push_back(rank_test(64, 4));
  tests.push_back(rank_test(256, 8));
  return tests;
}

class Slice : public WordTest {
 public:
  Slice(int shift, int width)
      : shift_(shift), width_(width), runner_(slice_tests(), kSliceHistory, kSliceBlock) {}

  void add(const Block& block) override {
    const std::uint64_t mask = (std::uint64_t{1} << width_) - 1;
    const auto per_word = static_cast<std::size_t>(64 / width_);
    packed_.clear();
    for (std::size_t i = 0; i + per_word <= block.count; i += per_word) {
      std::uint64_t word = 0;
      for (std::size_t k = 0; k < per_word; ++k) {
        word |= (block.words[i + k] >> shift_ & mask) << (static_cast<int>(k) * width_);
      }
      packed_.push_back(word);
    }
    runner_.add(packed_);
  }

  void report(std::vector<Result>& results) const override {
    std::vector<Result> own;
    runner_.report(own);
    for (Result& result : own) {
      result.name = fmt::format("{} of bits {}..{} alone", result.name, shift_, shift_ + width_ - 1);
      results.push_back(std::move(result));
    }
  }

 private:
  int shift_, width_;
  Runner runner_;
  std::vector<std::uint64_t> packed_;
};

}  // namespace

std::unique_ptr<WordTest> slice_test(int shift, int width) { return std::make_unique<Slice>(shift, width); }

}  // namespace largo::battery
