#include "largo/heads/capture.hpp"

#include "capture_files.hpp"
#include "heads/stored_rows.hpp"
#include "io/bytes.hpp"

namespace largo::test::capture_test {
namespace {

std::string refusal(const std::vector<FileTensor>& tensors) {
  const std::string file = safetensors_file(tensors);
  const std::string message = message_of([&] { Capture::from_bytes(bytes_of(file), "m.safetensors"); });
  EXPECT_EQ(message.find('\n'), std::string::npos);
  expect_contains(message, {"heads: m.safetensors: "});
  return message;
}

std::string refusal_of_shapes(const std::vector<std::int64_t>& q, const std::vector<std::int64_t>& k,
                              const std::vector<std::int64_t>& v) {
  return refusal(
      {tensor_of("layers.0.q", q, 1), tensor_of("layers.0.k", k, 2), tensor_of("layers.0.v", v, 3)});
}

double number_of(const StoredRows& rows, std::int64_t i, std::int64_t j) {
  std::vector<double> row(static_cast<std::size_t>(rows.columns));
  heads::widen_rows(rows, i, 1, row.data(), rows.columns);
  return row[static_cast<std::size_t>(j)];
}

TEST(Capture, HeadsAreInOrder) {
  const Capture capture = Capture::from_bytes(
      bytes_of(
          safetensors_file({tensor_of("layers.10.q", {2, 3, 4}, 1), tensor_of("layers.10.k", {2, 3, 4}, 2),
                            tensor_of("layers.10.v", {2, 3, 4}, 3), tensor_of("other", {7}, 4),
                            tensor_of("layers.2.v", {2, 3, 5}, 5), tensor_of("layers.2.q", {2, 3, 4}, 6),
                            tensor_of("layers.2.k", {2, 3, 4}, 7)})),
      "m.safetensors");
  ASSERT_EQ(capture.heads().size(), 4U);
  EXPECT_EQ(capture.heads()[0].layer, 2);
  EXPECT_EQ(capture.heads()[1].head, 1);
  EXPECT_EQ(capture.heads()[2].layer, 10);
  EXPECT_EQ(capture.heads()[0].values.columns, 5);
  const std::vector<double> v = eighths(30, 5);
  EXPECT_EQ(number_of(capture.heads()[1].values, 2, 3), v[15 + 2 * 5 + 3]);
}

TEST(Capture, GroupedHeadsAndBatches) {
  const Capture capture = capture_of({2, 4, 3, 2}, {2, 2, 5, 2}, {2, 2, 5, 2});
  EXPECT_EQ(capture.sequences(), 2);
  ASSERT_EQ(capture.heads().size(), 8U);
  const std::vector<double> k = eighths(40, 2), q = eighths(48, 1);
  const CapturedHead& head = capture.heads()[7];  // sequence 1, head 3, which reads key head 1
  EXPECT_EQ(head.sequence, 1);
  EXPECT_EQ(head.head, 3);
  EXPECT_EQ(number_of(head.keys, 4, 1), k[39]);
  EXPECT_EQ(number_of(head.queries, 0, 0), q[42]);
  EXPECT_EQ(capture.heads()[4].keys.data, capture.heads()[5].keys.data);
}

TEST(Capture, SelectsHeads) {
  const Capture capture = capture_of({4, 3, 2}, {4, 3, 2}, {4, 3, 2});
  const std::vector<std::int64_t> none, some = {1, 3}, missing = {4};
  ASSERT_EQ(capture.selected(none, some).heads().size(), 2U);
  EXPECT_EQ(capture.selected(none, some).heads()[1].head, 3);
  EXPECT_EQ(capture.selected(none, none).heads().size(), 4U);
  expect_contains(message_of([&] { capture.selected(none, missing); }), {"no head 4"});
  expect_contains(message_of([&] { capture.selected(missing, none); }), {"no layer 4"});
}

TEST(Capture, SaysWhatIsWrong) {
  const std::vector<std::int64_t> fine = {2, 3, 4};
  expect_contains(refusal({tensor_of("layers.0.q", fine, 1), tensor_of("layers.0.v", fine, 1)}),
                  {"layers.0.k is missing"});
  expect_contains(refusal_of_shapes(fine, {2, 3, 5}, fine), {"(2, 3, 4)", "(2, 3, 5)", "same head_dim"});
  expect_contains(refusal_of_shapes(fine, fine, {2, 4, 4}), {"(2, 4, 4)", "same heads and tokens"});
  expect_contains(refusal_of_shapes({3, 3, 4}, fine, fine), {"divide"});
  expect_contains(refusal_of_shapes({2, 4, 4}, fine, fine), {"more queries than tokens"});
  expect_contains(refusal_of_shapes({2, 3, 0}, {2, 3, 0}, fine), {"head_dim must be at least 1"});
  expect_contains(refusal_of_shapes({2, 0, 4}, fine, fine), {"tokens must be at least 1"});
  expect_contains(refusal_of_shapes({3, 4}, fine, fine), {"(heads, tokens, head_dim)"});
  expect_contains(refusal_of_shapes({2, 2, 3, 4}, fine, fine), {"sequences"});
  FileTensor whole = tensor_of("layers.0.q", {1, 2, 2}, 1);
  whole.dtype = "I32";
  expect_contains(
      refusal({whole, tensor_of("layers.0.k", {1, 2, 2}, 1), tensor_of("layers.0.v", {1, 2, 2}, 1)}),
      {"layers.0.q has dtype I32", "F16, BF16, F32 or F64"});
}

TEST(Capture, WeightsOfAModelAreNoCapture) {
  expect_contains(refusal({tensor_of("model.layers.0.self_attn.q_proj.weight", {4, 4}, 1)}),
                  {"weights of a model", "largo.heads.capture"});
  expect_contains(refusal({tensor_of("x", {4, 4}, 1)}), {"'x'", "layers.N.q"});
  expect_contains(refusal({}), {"no tensor"});
  for (const char* name : {"layers.01.q", "layers.-1.q", "layers.1.qq", "layers..q", "layers.1q", "layers.q"})
    expect_contains(refusal({tensor_of(name, {1, 2, 2}, 1)}), {"layers.N.q"});
}

TEST(Capture, NamesANumberThatIsNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const std::string dtype : {"F64", "F32", "F16", "BF16"}) {
    for (const double bad : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
      std::vector<double> values = eighths(2 * 5000 * 2, 3);
      std::string data = tensor_data(dtype, values);
      const std::size_t at = 10000 + 4321 * 2 + 1, size = data.size() / values.size();
      const std::string wrong = dtype == "F16" ? raw<std::uint16_t>(std::isnan(bad) ? 0x7c01
                                                                    : bad > 0       ? 0x7c00
                                                                                    : 0xfc00)
                                               : tensor_data(dtype, {bad});
      data.replace(at * size, size, wrong);
      const std::string file = safetensors_file({tensor_of("layers.3.q", {2, 5000, 2}, 1, dtype),
                                                 tensor_of("layers.3.k", {2, 5000, 2}, 2, dtype),
                                                 {"layers.3.v", dtype, {2, 5000, 2}, data}});
      const Capture capture = Capture::from_bytes(bytes_of(file), "m.safetensors");
      check_finite(capture.heads()[0]);
      expect_contains(message_of([&] { check_finite(capture.heads()[1]); }),
                      {"layers.3.v", "head 1", "row 4321, coordinate 1"});
    }
  }
}

// All halves that are finite, subnormal ones too, against the reader of matrices.
TEST(StoredRows, WidensEveryHalf) {
  std::string bytes;
  std::vector<double> expected;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    if ((bits & 0x7c00) == 0x7c00) continue;
    bytes += raw(static_cast<std::uint16_t>(bits));
    expected.push_back(io::from_float16(static_cast<std::uint16_t>(bits)));
  }
  const auto count = static_cast<std::int64_t>(expected.size());
  std::vector<double> found(expected.size());
  heads::widen_rows({bytes_of(bytes).data(), Storage::float16, count, 1}, 0, count, found.data(), 1);
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace largo::test::capture_test
