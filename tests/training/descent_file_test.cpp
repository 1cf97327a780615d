// Runs that are saved, taken up again, and files that are none.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>

#include "quadratic.hpp"

namespace largo {
namespace {

using testing::options_of;
using testing::Quadratic;
using testing::start;

std::filesystem::path scratch(const std::string& name) {
  return std::filesystem::path(::testing::TempDir()) / ("largo-descent-" + name);
}

void expect_same(const DescentState& a, const DescentState& b) {
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.parameters, b.parameters);
  EXPECT_EQ(a.momentum, b.momentum);
  EXPECT_EQ(a.squares, b.squares);
  EXPECT_EQ(a.loss_sum, b.loss_sum);
  ASSERT_EQ(a.records.size(), b.records.size());
  for (std::size_t i = 0; i < a.records.size(); ++i) {
    EXPECT_EQ(a.records[i].step, b.records[i].step);
    EXPECT_EQ(a.records[i].time, b.records[i].time);
    EXPECT_EQ(a.records[i].loss, b.records[i].loss);
    EXPECT_EQ(a.records[i].parameters, b.records[i].parameters);
  }
}

TEST(DescentFile, TakenUpAgainIsTheSameRun) {
  const std::filesystem::path path = scratch("resume");
  for (const Optimiser optimiser : {Optimiser::plain, Optimiser::momentum, Optimiser::adam}) {
    DescentOptions options = options_of(optimiser, 0.01, 100);
    options.record_every = 7;
    const DescentState whole = descend(Quadratic(5), start(5), options);

    options.checkpoint = path;
    options.checkpoint_every = 30;
    // Ended by an error at step 75: the checkpoint is that of step 60.
    EXPECT_THROW(descend(Quadratic(5, Quadratic::Failure::value, 75), start(5), options), Diverged);
    DescentState saved = load_descent(path);
    EXPECT_EQ(saved.step, 60);
    expect_same(descend(Quadratic(5), saved, options), whole);
    expect_same(load_descent(path), whole);  // saved at the end

    // Stopped within a batch: that of step 42, the same step.
    EXPECT_THROW(descend(Quadratic(5, Quadratic::Failure::stop, 42), start(5), options), Stopped);
    saved = load_descent(path);
    EXPECT_EQ(saved.step, 42);
    expect_same(descend(Quadratic(5), saved, options), whole);
  }
  std::filesystem::remove(path);
}

TEST(DescentFile, RefusesWhatIsNotACheckpoint) {
  const std::filesystem::path path = scratch("bad");
  std::filesystem::remove(path);
  EXPECT_THROW(load_descent(path), InputError);
  DescentOptions options = options_of(Optimiser::adam, 0.01, 5);
  options.checkpoint = path;
  descend(Quadratic(3), start(3), options);
  EXPECT_NO_THROW(load_descent(path));
  const auto size = std::filesystem::file_size(path);
  for (const std::uintmax_t left : {size - 1, size / 2, std::uintmax_t{9}, std::uintmax_t{0}}) {
    std::filesystem::resize_file(path, left);
    EXPECT_THROW(load_descent(path), InputError) << left;
    descend(Quadratic(3), start(3), options);
  }
  const auto refused = [&](auto change) {
    DescentState state = load_descent(path);
    change(state);
    save_descent(path, state);
    try {
      load_descent(path);
      FAIL();
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
    descend(Quadratic(3), start(3), options);
  };
  refused([](DescentState& state) { state.step = -1; });
  refused([](DescentState& state) { state.time = std::nan(""); });
  refused([](DescentState& state) { state.momentum = Vector::Zero(7); });
  refused([](DescentState& state) { state.parameters[1] = INFINITY; });
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace largo
