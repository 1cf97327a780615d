#include <algorithm>

#include "random/battery/word_test.hpp"

namespace largo::battery {

Runner::Runner(WordTests tests, std::size_t history, std::size_t block)
    : tests_(std::move(tests)), history_(history), block_(block), buffer_(history + block) {}

void Runner::finish_block() {
  for (const auto& test : tests_) test->add({buffer_.data() + history_, block_, index_});
  ++index_;
  std::copy(buffer_.end() - static_cast<std::ptrdiff_t>(history_), buffer_.end(), buffer_.begin());
  filled_ = history_;
}

void Runner::add(std::span<const std::uint64_t> words) {
  while (!words.empty()) {
    const std::size_t count = std::min(words.size(), buffer_.size() - filled_);
    std::copy_n(words.begin(), count, buffer_.begin() + static_cast<std::ptrdiff_t>(filled_));
    filled_ += count;
    words = words.subspan(count);
    if (filled_ == buffer_.size()) finish_block();
  }
}

void Runner::run(const WordSource& source, std::size_t blocks) {
  for (std::size_t i = 0; i < blocks; ++i) {
    source(std::span(buffer_).subspan(filled_));
    finish_block();
  }
}

void Runner::report(std::vector<Result>& results) const {
  for (const auto& test : tests_) test->report(results);
}

WordTests all_word_tests(std::size_t stride) {
  WordTests tests;
  const std::size_t far = stride > 1 ? stride : 2;
  tests.push_back(frequency_test());
  for (const std::size_t lag : {std::size_t{1}, far}) {
    tests.push_back(combined_test(Combine::exclusive_or, lag));
    tests.push_back(combined_test(Combine::difference, lag));
  }
  std::vector<std::size_t> lags = {1, 4, 8, 256, far};
  std::sort(lags.begin(), lags.end());
  lags.erase(std::unique(lags.begin(), lags.end()), lags.end());
  for (const std::size_t lag : lags) tests.push_back(serial_test(lag, lag == 1 ? 1 : 4));
  tests.push_back(runs_test());
  tests.push_back(order_test());
  tests.push_back(weight_classes_test());
  tests.push_back(weight_correlation_test(far));
  tests.push_back(bit_correlation_test(far, 8));
  tests.push_back(rank_test(32, 8));
  tests.push_back(rank_test(64, 16));
  tests.push_back(rank_test(256, 32));
  tests.push_back(rank_test(1024, 64));
  tests.push_back(complexity_test());
  tests.push_back(birthday_test(std::size_t{1} << 12, 32, 0, 8));
  tests.push_back(birthday_test(std::size_t{1} << 12, 32, 32, 8));
  tests.push_back(birthday_test(std::size_t{1} << 18, 52, 12, 2));
  tests.push_back(collision_test());
  for (const int shift : {0, 32, 63}) tests.push_back(slice_test(shift, 1));
  for (const int shift : {0, 56}) tests.push_back(slice_test(shift, 8));
  return tests;
}

}  // namespace largo::battery
