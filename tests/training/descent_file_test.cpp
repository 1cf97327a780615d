// Runs that are saved and resumed, and files that are not checkpoints.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "largo/io/safetensors.hpp"
#include "quadratic.hpp"

namespace largo::descent_file_test {
namespace {

using test::options_of;
using test::Quadratic;
using test::start;

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
  for (const Optimizer optimizer : {Optimizer::plain, Optimizer::momentum, Optimizer::adam}) {
    DescentOptions options = options_of(optimizer, 0.01, 100);
    options.record_every = 7;
    const DescentState whole = descend(Quadratic(5), start(5), options);

    options.checkpoint = path;
    options.checkpoint_every = 30;
    // An error ends the run at step 75, and the checkpoint is that of step 60.
    EXPECT_THROW(descend(Quadratic(5, Quadratic::Failure::value, 75), start(5), options), Diverged);
    DescentState saved = load_descent(path);
    EXPECT_EQ(saved.step, 60);
    expect_same(descend(Quadratic(5), saved, options), whole);
    expect_same(load_descent(path), whole);  // saved at the end

    // A stop within a batch, at step 42: the checkpoint is that of the same step.
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
  DescentOptions options = options_of(Optimizer::adam, 0.01, 5);
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

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void put(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string refusal_of(const std::filesystem::path& path) {
  try {
    load_descent(path, "mine");
    return "";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    EXPECT_NE(std::string(error.what()).find(path.native()), std::string::npos) << error.what();
    return error.what();
  }
}

class DamagedDescent : public ::testing::Test {
 protected:
  // Each test has a file of its own, because tests run at the same time.
  DamagedDescent() : path(scratch(::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    DescentState state = descend(Quadratic(3), start(3), options_of(Optimizer::adam, 0.01, 5));
    state.run = "mine";
    save_descent(path, state);
    whole = bytes_of(path);
  }
  ~DamagedDescent() override { std::filesystem::remove(path); }

  std::filesystem::path path;
  std::string whole;
};

TEST_F(DamagedDescent, EveryByteCounts) {
  EXPECT_EQ(refusal_of(path), "");
  for (std::size_t i = 0; i < whole.size(); ++i) {
    // Changes the lowest bit, all bits, or those that turn a space into a tab, which is the same to JSON.
    for (const int change : {0x01, 0xff, 0x29}) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ change);
      put(path, bytes);
      EXPECT_NE(refusal_of(path), "") << "byte " << i << ", bits " << change;
    }
  }
}

TEST_F(DamagedDescent, MoreOrFewerBytes) {
  for (std::size_t left = 0; left < whole.size(); left += 7) {
    put(path, whole.substr(0, left));
    EXPECT_NE(refusal_of(path), "") << left;
  }
  for (const std::string& more : {std::string(1, '\0'), std::string("x"), whole}) {
    put(path, whole + more);
    EXPECT_NE(refusal_of(path), "");
  }
}

TEST_F(DamagedDescent, AnotherRunIsSaidToBeOne) {
  EXPECT_EQ(load_descent(path).run, "mine");
  try {
    load_descent(path, "another");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("of another run"), std::string::npos) << error.what();
  }
}

TEST_F(DamagedDescent, FilesOfTheFirstFormatAreSaidToBeOld) {
  write_safetensors(path, {{"state", Matrix::Ones(1, 7)}, {"parameters", Matrix::Ones(1, 3)}});
  EXPECT_NE(refusal_of(path).find("an earlier version"), std::string::npos);
  write_safetensors(path, {{"weights", Matrix::Ones(1, 7)}});
  EXPECT_NE(refusal_of(path).find("format"), std::string::npos);
}

TEST(DescentName, KnowsStartAndOptions) {
  const Vector from = Vector::LinSpaced(3, 1, 2);
  const DescentOptions options = options_of(Optimizer::momentum, 0.01, 100);
  std::set<std::string> names = {descent_name(from, options)};
  EXPECT_EQ(*names.begin(), descent_name(from, options));
  names.insert(descent_name(2 * from, options));
  const auto changed = [&](auto change) {
    DescentOptions other = options;
    change(other);
    names.insert(descent_name(from, other));
  };
  changed([](DescentOptions& o) { o.optimizer = Optimizer::adam; });
  changed([](DescentOptions& o) { o.steps = 101; });
  changed([](DescentOptions& o) { o.record_every = 3; });
  changed([](DescentOptions& o) { o.momentum = 0.8; });
  changed([](DescentOptions& o) { o.step_size = constant_steps(0.02); });
  EXPECT_EQ(names.size(), 7U);
  DescentOptions same = options;
  same.checkpoint = "elsewhere";
  EXPECT_EQ(names.count(descent_name(from, same)), 1U);
}

}  // namespace
}  // namespace largo::descent_file_test
