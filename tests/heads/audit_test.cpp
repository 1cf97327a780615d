// Same numbers however the work is split and stored. Values against NumPy are in tests/python/test_heads.py.
#include "largo/heads/audit.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "capture_files.hpp"
#include "largo/numerics/simd_level.hpp"

namespace largo::test::audit_test {
namespace {

// Every number of an audit, for comparisons to the bit.
std::vector<double> numbers_of(const std::vector<HeadAudit>& audits) {
  std::vector<double> numbers;
  const auto add = [&](const ReplacementErrors& errors) {
    numbers.insert(numbers.end(), {errors.uniform, errors.affine, errors.sinks_affine, errors.mixture});
  };
  for (const HeadAudit& one : audits) {
    for (const HeadField& field : head_fields()) numbers.push_back(field.value(one));
    add(one.errors);
    if (one.held_out_errors) add(*one.held_out_errors);
    for (const SampledLength& length : one.lengths)
      numbers.insert(numbers.end(), {length.L, length.measured, length.predicted, length.certified});
    numbers.insert(numbers.end(), one.scores.shares.begin(), one.scores.shares.end());
    numbers.insert(numbers.end(), one.sinks.begin(), one.sinks.end());
  }
  return numbers;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

const std::vector<std::int64_t> kShape = {2, 600, 6};

TEST(Audit, ThreadsAndBlocksDoNotMatter) {
  const Capture capture = capture_of(kShape, {1, 600, 6}, {1, 600, 7});
  for (const Visibility visibility : {Visibility::all, Visibility::causal}) {
    AuditOptions options{.visibility = visibility, .recent = 3, .queries = 37};
    options.sinks.positions = {{0, 299}};
    const std::vector<double> expected = numbers_of(audit(capture, options, {.threads = 1}));
    for (const std::int64_t block : {0, 1, 2, 5, 1000}) {
      options.block = block;
      for (const int threads : {1, 2, 3}) {
        EXPECT_TRUE(
            same_bits(numbers_of(audit(capture, options, {.threads = threads, .chunk = 2})), expected))
            << block << " " << threads;
      }
    }
  }
}

TEST(Audit, SimdLevelsDoNotMatter) {
  for (const std::string dtype : {"F32", "F64"}) {
    const Capture capture = capture_of({1, 300, 9}, {1, 300, 9}, {1, 300, 33}, dtype);
    std::vector<std::vector<double>> found;
    for (const std::string& level : simd_levels()) {
      force_simd_level(level);
      found.push_back(numbers_of(audit(capture, {.queries = 20})));
    }
    force_simd_level(simd_levels().front());
    for (const std::vector<double>& one : found) EXPECT_TRUE(same_bits(one, found.front())) << dtype;
  }
}

TEST(Audit, FormatsOfStorageDoNotMatter) {
  const std::vector<double> expected =
      numbers_of(audit(capture_of(kShape, kShape, kShape, "F32"), {.queries = 20}));
  for (const std::string dtype : {"F16", "BF16"})
    EXPECT_TRUE(
        same_bits(numbers_of(audit(capture_of(kShape, kShape, kShape, dtype), {.queries = 20})), expected))
        << dtype;
  // Products of doubles may be rounded before they are added, but these are exact.
  EXPECT_TRUE(
      same_bits(numbers_of(audit(capture_of(kShape, kShape, kShape, "F64"), {.queries = 20})), expected));
}

// A prompt with a token of a large score for every query, at position 5.
Capture with_sink(bool twice) {
  FileTensor q = tensor_of("layers.0.q", {1, 400, 4}, 1), k = tensor_of("layers.0.k", {1, 400, 4}, 2),
             v = tensor_of("layers.0.v", {1, 400, 4}, 3);
  std::vector<double> queries = eighths(1600, 1), keys = eighths(1600, 2);
  for (std::size_t i = 0; i < 400; ++i) queries[4 * i] = 4;
  for (std::size_t j = 0; j < 400; ++j) keys[4 * j] = j == 5 || (twice && j == 6) ? 6 : 0;
  q.data = tensor_data("F32", queries);
  k.data = tensor_data("F32", keys);
  return Capture::from_bytes(bytes_of(safetensors_file({q, k, v})), "m.safetensors");
}

TEST(Audit, FindsSinks) {
  for (const Visibility visibility : {Visibility::all, Visibility::causal}) {
    const HeadAudit one = audit(with_sink(false), {.visibility = visibility})[0];
    EXPECT_EQ(one.sinks, (std::vector<std::int64_t>{5}));
    EXPECT_EQ(one.kind, HeadKind::sink);
    EXPECT_GT(one.sink_mass, 0.9);
    EXPECT_LT(one.errors.sinks_affine, one.errors.affine);
  }
  EXPECT_EQ(audit(with_sink(true))[0].sinks, (std::vector<std::int64_t>{5, 6}));
  EXPECT_TRUE(audit(capture_of({1, 400, 4}, {1, 400, 4}, {1, 400, 4}))[0].sinks.empty());
  const HeadAudit none = audit(with_sink(false), {.sinks = {std::vector<std::int64_t>{}}})[0];
  EXPECT_TRUE(none.sinks.empty());
  EXPECT_EQ(none.kind, HeadKind::retrieval);
}

// Keys of two far groups with values of their own: one Gaussian does not do, two do.
TEST(Audit, AMixtureOfTwoGroups) {
  std::vector<double> q = eighths(600 * 4, 1), k = eighths(600 * 4, 2), v = eighths(600 * 4, 3);
  for (std::size_t j = 0; j < 600; ++j) {
    const double side = j % 2 == 0 ? 1 : -1;
    for (std::size_t c = 0; c < 4; ++c) {
      k[4 * j + c] = side * (c == 0 ? 4 : 1) + k[4 * j + c] / 8;
      v[4 * j + c] = side * 2 + v[4 * j + c] / 8;
    }
  }
  const std::vector<std::int64_t> shape = {1, 600, 4};
  const std::string file = safetensors_file({{"layers.0.q", "F32", shape, tensor_data("F32", q)},
                                             {"layers.0.k", "F32", shape, tensor_data("F32", k)},
                                             {"layers.0.v", "F32", shape, tensor_data("F32", v)}});
  const HeadAudit one = audit(Capture::from_bytes(bytes_of(file), "m.safetensors"),
                              {.sinks = {std::vector<std::int64_t>{}}})[0];
  EXPECT_GE(one.components, 2);
  EXPECT_GT(one.errors.affine, 0.1);
  EXPECT_LT(one.errors.mixture, 1e-3);
}

// One of 400 keys is 20 standard deviations above the others, whose scores all agree.
TEST(Audit, CountsTheScoresOfAllQueries) {
  const std::vector<std::int64_t> shape = {1, 400, 1};
  std::vector<double> keys(400, 0.0);
  keys[5] = 1;
  const std::string file =
      safetensors_file({{"layers.0.q", "F64", shape, tensor_data("F64", std::vector<double>(400, 1.0))},
                        {"layers.0.k", "F64", shape, tensor_data("F64", keys)},
                        tensor_of("layers.0.v", shape, 3, "F64")});
  const Capture one_key = Capture::from_bytes(bytes_of(file), "m.safetensors");
  for (const std::int64_t queries : {1, 7, 0}) {
    const ScoreHistogram scores = audit(one_key, {.queries = queries})[0].scores;
    EXPECT_DOUBLE_EQ(scores.above, 1.0 / 400);
    EXPECT_EQ(scores.below, 0);
    EXPECT_DOUBLE_EQ(scores.shares[kScoreBins / 2 - 1], 399.0 / 400) << "just below the mean";
  }
  // The first query of a causal head sees one key, which has no spread, and the second one two, at -1 and 1.
  const Capture capture = capture_of({1, 2, 4}, {1, 2, 4}, {1, 2, 4});
  const ScoreHistogram two = audit(capture, {.visibility = Visibility::causal})[0].scores;
  EXPECT_EQ(two.shares[16] + two.shares[15], 0.5);
  EXPECT_EQ(two.shares[24] + two.shares[23], 0.5);
}

TEST(Audit, RefusesWhatItCannotDo) {
  const Capture capture = capture_of({1, 30, 4}, {1, 30, 4}, {1, 30, 4});
  const auto message = [&](const AuditOptions& options) {
    return message_of([&] { audit(capture, options); });
  };
  expect_contains(message({.sinks = {std::vector<std::int64_t>{30}}}), {"sink 30", "30 tokens"});
  expect_contains(message({.sinks = {std::vector<std::int64_t>{-31}}}), {"sink -31"});
  expect_contains(message({.sinks = {std::vector<std::int64_t>(33, 0)}}), {"33 positions", "at most 32"});
  expect_contains(message({.scale = 1e9}), {"apart", "--scale"});
  expect_contains(message({.scale = -1.0}), {"scale", "positive"});
  expect_contains(message({.scale = std::numeric_limits<double>::infinity()}), {"scale"});
  expect_contains(message({.recent = -1}), {"recent"});
  expect_contains(message({.queries = -1}), {"queries"});
  expect_contains(message({.tolerance = 0}), {"tolerance"});
  const std::atomic<bool> stop = true;
  EXPECT_THROW(audit(capture, {}, {.stop = &stop}), Stopped);
}

TEST(Audit, ProgressEndsAtOne) {
  double last = 0;
  audit(capture_of(kShape, kShape, kShape), {.queries = 9, .progress = [&](double share) {
                                               EXPECT_GE(share, last);
                                               last = share;
                                             }});
  EXPECT_NEAR(last, 1, 1e-12);
}

}  // namespace
}  // namespace largo::test::audit_test
