#include "largo/io/safetensors.hpp"

#include <cmath>

#include "support/fixtures.hpp"

namespace largo::test::safetensors_test {
namespace {

std::string file_of(const std::string& header, const std::string& data) {
  return raw(static_cast<std::uint64_t>(header.size())) + header + data;
}

std::string tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

SafetensorsFile read(const std::string& header, const std::string& data) {
  return SafetensorsFile::from_bytes(bytes_of(file_of(header, data)), "m.safetensors");
}

std::string refusal_of_bytes(const std::string& file) {
  const std::string message = message_of([&] { parse_safetensors_header(bytes_of(file), "m.safetensors"); });
  expect_contains(message, {"read_safetensors: m.safetensors: "});
  return message;
}

std::string refusal(const std::string& header, const std::string& data = "") {
  return refusal_of_bytes(file_of(header, data));
}

const std::string kFourFloats = raw(1.0F, 2.0F, 3.0F, 4.0F);

TEST(Safetensors, ReadsEveryFloatingDtype) {
  const std::string header =
      "{\"f64\":" + tensor("F64", "[1,2]", "[0,16]") + ",\"f32\":" + tensor("F32", "[2,1]", "[16,24]") +
      ",\"f16\":" + tensor("F16", "[2]", "[24,28]") + ",\"bf16\":" + tensor("BF16", "[]", "[28,30]") + "}";
  const SafetensorsFile file =
      read(header, raw(1.5, -2.5) + raw(0.5F, 0.25F) + raw<std::uint16_t>(0x3c00, 0xc000) +
                       raw<std::uint16_t>(0x3fc0));
  EXPECT_EQ(file.names(), (std::vector<std::string>{"f64", "f32", "f16", "bf16"}));
  EXPECT_EQ(file.matrix("f64"), (Matrix(1, 2) << 1.5, -2.5).finished());
  EXPECT_EQ(file.matrix("f32"), (Matrix(2, 1) << 0.5, 0.25).finished());
  EXPECT_EQ(file.matrix("f16"), (Matrix(1, 2) << 1, -2).finished());
  EXPECT_EQ(file.matrix("bf16"), (Matrix(1, 1) << 1.5).finished());
}

TEST(Safetensors, ReadsRowsInOrderWhateverTheOrderOfTheKeys) {
  const std::string header = R"({"b":{"data_offsets":[8,24],"shape":[2,2],"dtype":"F32"},"a":)" +
                             tensor("F64", "[1]", "[0,8]") + "}   ";
  const SafetensorsFile file = read(header, raw(7.0) + kFourFloats);
  EXPECT_EQ(file.names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(file.matrix("b"), (Matrix(2, 2) << 1, 2, 3, 4).finished());
  EXPECT_TRUE(file.contains("a"));
  EXPECT_FALSE(file.contains("c"));
}

TEST(Safetensors, AcceptsMetadataAndEmptyTensors) {
  const std::string header = R"({"__metadata__":{"format":"pt","":"x"},"none":)" +
                             tensor("F32", "[0,5]", "[16,16]") + ",\"a\":" + tensor("F32", "[4]", "[0,16]") +
                             ",\"first\":" + tensor("F16", "[0]", "[0,0]") + "}";
  const SafetensorsFile file = read(header, kFourFloats);
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"format", "pt"}, {"", "x"}}));
  EXPECT_EQ(file.matrix("none").cols(), 5);
  EXPECT_EQ(file.matrix("a").cols(), 4);
  EXPECT_TRUE(read("{}", "").names().empty());
}

TEST(Safetensors, DoesNotWalkThroughAHugeEmptyShape) {
  for (const char* const shape : {"[0,1000000000000000]", "[1000000000000000,0]"}) {
    EXPECT_EQ(read("{\"a\":" + tensor("F32", shape, "[0,0]") + "}", "").matrix("a").size(), 0);
  }
}

TEST(Safetensors, ViewsAlignedDataInPlace) {
  const TemporaryDirectory directory;
  std::string header = "{\"a\":" + tensor("F32", "[2,2]", "[0,16]") + "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const SafetensorsFile file = SafetensorsFile::open(put(directory / "a", file_of(header, kFourFloats)));
  const ArrayView view = file.view("a");
  EXPECT_EQ(view.scalar, Scalar::float32);
  EXPECT_EQ(view.rows, 2);
  EXPECT_EQ(view(1, 0), 3);

  header += ' ';
  const SafetensorsFile shifted = SafetensorsFile::open(put(directory / "b", file_of(header, kFourFloats)));
  expect_contains(message_of([&] { shifted.view("a"); }), {"tensor 'a': is not aligned"});
  EXPECT_EQ(shifted.matrix("a"), file.matrix("a"));
}

TEST(Safetensors, RefusesTensorsItCannotRead) {
  const std::string header = "{\"i\":" + tensor("I32", "[1]", "[0,4]") +
                             ",\"cube\":" + tensor("F32", "[1,1,1]", "[4,8]") +
                             ",\"h\":" + tensor("F16", "[4]", "[8,16]") + "}";
  const SafetensorsFile file = read(header, kFourFloats);
  expect_contains(message_of([&] { file.matrix("i"); }),
                  {"m.safetensors: tensor 'i': dtype is I32, must be F64, F32, F16 or BF16"});
  expect_contains(message_of([&] { file.matrix("cube"); }), {"tensor 'cube': has 3 dimensions"});
  expect_contains(message_of([&] { file.matrix("no"); }), {"tensor 'no': is not in the file"});
  expect_contains(message_of([&] { file.view("h"); }), {"dtype is F16, must be F64 or F32"});
}

TEST(Safetensors, RefusesTruncatedFiles) {
  const std::string whole = file_of("{\"a\":" + tensor("F32", "[4]", "[0,16]") + "}", kFourFloats);
  for (std::size_t size = 0; size < whole.size(); ++size) refusal_of_bytes(whole.substr(0, size));
  expect_contains(refusal_of_bytes(whole.substr(0, 5)), {"truncated header: 5 bytes"});
  expect_contains(refusal_of_bytes(whole.substr(0, 20)), {"longer than the 12 bytes left in the file"});
}

TEST(Safetensors, RefusesHeaderLengthsBeyondTheFileOrTheLimit) {
  expect_contains(refusal_of_bytes(raw<std::uint64_t>(100) + "{}"),
                  {"header is 100 bytes long, longer than"});
  expect_contains(refusal_of_bytes(raw<std::uint64_t>(100'000'001) + "{}"), {"must be at most 100000000"});
  expect_contains(refusal_of_bytes(raw(~std::uint64_t{0}) + "{}"), {"must be at most 100000000"});
}

TEST(Safetensors, RefusesOffsetsOutOfRange) {
  expect_contains(refusal("{\"a\":" + tensor("F32", "[4]", "[0,16]") + "}", "123"),
                  {"tensor 'a': data_offsets [0, 16] are out of range, the file has 3 bytes"});
  expect_contains(refusal("{\"a\":" + tensor("F32", "[4]", "[16,0]") + "}", kFourFloats),
                  {"data_offsets [16, 0] are out of range"});
  expect_contains(
      refusal("{\"a\":" + tensor("F32", "[4]", "[9223372036854775807,9223372036854775807]") + "}"),
      {"out of range"});
  expect_contains(refusal("{\"a\":" + tensor("F32", "[4]", "[0,18446744073709551615]") + "}"),
                  {"data_offsets contains 18446744073709551615, must be an integer below 2^63"});
  expect_contains(refusal("{\"a\":" + tensor("F32", "[4]", "[0,99999999999999999999]") + "}"),
                  {"data_offsets contains '99999999999999999999', must be an integer below 2^63"});
  expect_contains(refusal("{\"a\":" + tensor("F32", "[4]", "[-1,16]") + "}"),
                  {"data_offsets contains -1, must be a non-negative integer"});
  expect_contains(refusal("{\"a\":" + tensor("F32", "[4]", "[0]") + "}"), {"has 1 numbers, must have 2"});
  expect_contains(refusal("{\"a\":" + tensor("F32", "[4]", "[0,1,2]") + "}"), {"has 3 numbers, must have 2"});
}

TEST(Safetensors, RefusesOverlapsAndHoles) {
  const auto two = [](const std::string& a, const std::string& b) {
    return "{\"a\":" + tensor("F32", "[2]", a) + ",\"b\":" + tensor("F32", "[2]", b) + "}";
  };
  expect_contains(refusal(two("[0,8]", "[4,12]"), std::string(12, 'x')), {"tensors 'a' and 'b' overlap"});
  expect_contains(refusal(two("[0,8]", "[0,8]"), std::string(8, 'x')), {"tensors 'a' and 'b' overlap"});
  expect_contains(refusal(two("[0,8]", "[12,20]"), std::string(20, 'x')),
                  {"bytes 8 to 12 of the data belong to no tensor"});
  expect_contains(refusal(two("[4,12]", "[12,20]"), std::string(20, 'x')), {"bytes 0 to 4"});
  expect_contains(refusal(two("[0,8]", "[8,16]"), std::string(20, 'x')), {"bytes 16 to 20"});
  expect_contains(refusal("{}", "x"), {"bytes 0 to 1"});
}

TEST(Safetensors, RefusesSizesThatDoNotMatch) {
  expect_contains(refusal("{\"a\":" + tensor("F32", "[3]", "[0,16]") + "}", kFourFloats),
                  {"tensor 'a': shape and dtype need 12 bytes, data_offsets [0, 16] give 16"});
  expect_contains(refusal("{\"a\":" + tensor("F32", "[4294967296,4294967296]", "[0,0]") + "}"),
                  {"tensor 'a': shape is too large"});
  expect_contains(refusal("{\"a\":" + tensor("F64", "[2305843009213693952]", "[0,0]") + "}"),
                  {"shape is too large"});
  expect_contains(refusal("{\"a\":" + tensor("F32", "[-4]", "[0,16]") + "}", kFourFloats),
                  {"shape contains -4, must be a non-negative integer"});
  expect_contains(refusal("{\"a\":" + tensor("F32", "[4.0]", "[0,16]") + "}", kFourFloats),
                  {"shape contains '4.0', must be an integer"});
  expect_contains(refusal("{\"a\":" + tensor("Q4", "[4]", "[0,16]") + "}", kFourFloats),
                  {"unknown dtype 'Q4'"});
}

TEST(Safetensors, RefusesDuplicates) {
  const std::string a = "\"a\":" + tensor("F32", "[0]", "[0,0]");
  expect_contains(refusal("{" + a + "," + a + "}"), {"duplicate tensor name 'a'"});
  expect_contains(refusal("{" + a + ",\"\\u0061\":{}}"), {"duplicate tensor name 'a'"});
  expect_contains(refusal(R"({"__metadata__":{},"__metadata__":{}})"),
                  {"duplicate tensor name '__metadata__'"});
  expect_contains(refusal(R"({"__metadata__":{"k":"1","k":"2"}})"), {"duplicate metadata key 'k'"});
  expect_contains(refusal(R"({"a":{"dtype":"F32","dtype":"F32"}})"), {"tensor 'a': duplicate key 'dtype'"});
}

TEST(Safetensors, RefusesMalformedHeaders) {
  expect_refusals([](const std::string& header) { return refusal(header); },
                  {
                      {"", "must begin with '{'"},
                      {" {}", "must begin with '{'"},
                      {"[]", "must begin with '{'"},
                      {"{", "not valid JSON"},
                      {"{} x", "not valid JSON"},
                      {"{\"a\xff\":1}", "not valid JSON"},
                      {std::string("{}\0 hidden", 10), "NUL byte"},
                      {R"({"a":1})", "unexpected a number under 'a'"},
                      {R"({"a":null})", "unexpected null"},
                      {R"({"a":[]})", "unexpected an array"},
                      {R"({"a":{"dtype":{}}})", "unexpected an object under 'dtype'"},
                      {R"({"a":{"shape":[[1]]}})", "unexpected an array under 'shape'"},
                      {R"({"a":{"shape":["1"]}})", "unexpected a string"},
                      {R"({"a":{"shape":3}})", "unexpected a number"},
                      {R"({"a":{"dtype":true}})", "unexpected a boolean"},
                      {R"({"a":{"colour":"red"}})", "tensor 'a': unknown key 'colour'"},
                      {R"({"a":{"shape":[1],"data_offsets":[0,4]}})", "tensor 'a': dtype is missing"},
                      {R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", "tensor 'a': shape is missing"},
                      {R"({"a":{"dtype":"F32","shape":[1]}})", "tensor 'a': data_offsets is missing"},
                      {R"({"__metadata__":{"k":1}})", "unexpected a number under 'k'"},
                      {R"({"__metadata__":[]})", "unexpected an array"},
                  });
}

TEST(Safetensors, RefusesDeepNestingWithoutFollowingIt) {
  expect_contains(refusal("{\"a\":{\"shape\":" + std::string(1'000'000, '[')), {"unexpected an array"});
}

TEST(Safetensors, MessageStaysOnOneLineAndShort) {
  const std::string message = refusal("{\"a\\n" + std::string(5000, 'x') + "\":1}");
  expect_contains(message, {"'a\\nxxx"});
  EXPECT_LT(message.size(), 200u);
}

TEST(SafetensorsWriter, RoundTrips) {
  const TemporaryDirectory directory;
  const Matrix a = Matrix::Random(3, 4);
  const Matrix b = Matrix::Random(1, 5);
  write_safetensors(directory / "m.safetensors", {{"b \"quoted\"", b}, {"a", a}, {"none", Matrix(0, 2)}});
  const SafetensorsFile file = SafetensorsFile::open(directory / "m.safetensors");
  EXPECT_EQ(file.names(), (std::vector<std::string>{"b \"quoted\"", "a", "none"}));
  EXPECT_EQ(file.matrix("a"), a);
  EXPECT_EQ(file.matrix("b \"quoted\""), b);
  EXPECT_EQ(file.view("a")(2, 3), a(2, 3));

  write_safetensors(directory / "s.safetensors", {{"a", a}, {"b", b}}, Scalar::float32);
  const SafetensorsFile narrow = SafetensorsFile::open(directory / "s.safetensors");
  EXPECT_EQ(narrow.matrix("a"), a.cast<float>().cast<double>());
  EXPECT_EQ(narrow.view("b").scalar, Scalar::float32);
  EXPECT_EQ(directory.files(), 2);
}

TEST(SafetensorsWriter, WritesTheFormat) {
  const TemporaryDirectory directory;
  write_safetensors(directory / "m", {{"a", Matrix::Constant(1, 1, 1.5)}});
  const std::string header = R"({"a":{"dtype":"F64","shape":[1,1],"data_offsets":[0,8]}})";
  EXPECT_EQ(contents(directory / "m"), raw<std::uint64_t>(56) + header + raw(1.5));
}

TEST(SafetensorsWriter, RefusesAndLeavesNoFile) {
  const TemporaryDirectory directory;
  const Matrix one = Matrix::Ones(1, 1);
  const auto refused = [&](const std::vector<NamedMatrix>& tensors, Scalar scalar = Scalar::float64) {
    return message_of([&] { write_safetensors(directory / "m", tensors, scalar); });
  };
  expect_contains(refused({{"a", one}, {"a", one}}), {"duplicate tensor name 'a'"});
  expect_contains(refused({{"__metadata__", one}}), {"reserved"});
  expect_contains(refused({{"\xff", one}}), {"not valid UTF-8"});
  expect_contains(refused({{"a", -1e300 * one}}, Scalar::float32), {"entry (0,0) is -1e+300"});
  EXPECT_EQ(directory.files(), 0);
}

}  // namespace
}  // namespace largo::test::safetensors_test
