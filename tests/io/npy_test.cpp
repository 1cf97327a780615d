#include "largo/io/npy.hpp"

#include <cmath>
#include <limits>

#include "support/fixtures.hpp"

namespace largo::test::npy_test {
namespace {

// A file of the given version with the dictionary as written, without padding.
std::string npy(int version, const std::string& dictionary, const std::string& data) {
  const std::string length = version == 1 ? raw(static_cast<std::uint16_t>(dictionary.size()))
                                          : raw(static_cast<std::uint32_t>(dictionary.size()));
  return "\x93NUMPY" + std::string{static_cast<char>(version), '\0'} + length + dictionary + data;
}

std::string dictionary(const std::string& shape, const std::string& descr = "'<f8'",
                       const std::string& fortran = "False") {
  return "{'descr': " + descr + ", 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

std::string refusal(const std::string& file) {
  const std::string message = message_of([&] { parse_npy_header(bytes_of(file), "t.npy"); });
  expect_contains(message, {"read_npy: t.npy: "});
  return message;
}

std::string refusal_of(const std::string& dictionary) { return refusal(npy(1, dictionary, {})); }

const std::string kSixDoubles = raw(1.0, 2.0, 3.0, 4.0, 5.0, 6.0);

TEST(Npy, ReadsEveryVersion) {
  for (const int version : {1, 2, 3}) {
    const NpyArray array =
        NpyArray::from_bytes(bytes_of(npy(version, dictionary("(2, 3)"), kSixDoubles)), "t");
    EXPECT_EQ(array.dimensions(), 2);
    EXPECT_EQ(array.matrix(), (Matrix(2, 3) << 1, 2, 3, 4, 5, 6).finished()) << version;
  }
}

TEST(Npy, ReadsFortranOrder) {
  const std::string file = npy(1, dictionary("(2, 3)", "'<f8'", "True"), kSixDoubles);
  const NpyArray array = NpyArray::from_bytes(bytes_of(file), "t");
  EXPECT_EQ(array.matrix(), (Matrix(2, 3) << 1, 3, 5, 2, 4, 6).finished());
  EXPECT_EQ(array.view().row_stride, 1);
  EXPECT_EQ(array.view().column_stride, 2);
}

TEST(Npy, ReadsFloat32) {
  const std::string file = npy(1, dictionary("(3, 1)", "'<f4'"), raw(1.5F, -2.25F, 0x1p-149F));
  const NpyArray array = NpyArray::from_bytes(bytes_of(file), "t");
  EXPECT_EQ(array.view().scalar, Scalar::float32);
  EXPECT_EQ(array.matrix(), (Matrix(3, 1) << 1.5, -2.25, 0x1p-149).finished());
}

TEST(Npy, ReadsOneDimensionAsOneRow) {
  const NpyArray array = NpyArray::from_bytes(bytes_of(npy(1, dictionary("(6,)"), kSixDoubles)), "t");
  EXPECT_EQ(array.dimensions(), 1);
  EXPECT_EQ(array.matrix(), (Matrix(1, 6) << 1, 2, 3, 4, 5, 6).finished());
}

TEST(Npy, ReadsNoTokens) {
  const NpyArray array = NpyArray::from_bytes(bytes_of(npy(1, dictionary("(0, 3)"), "")), "t");
  EXPECT_EQ(array.view().rows, 0);
  EXPECT_EQ(array.view().columns, 3);
}

TEST(Npy, DoesNotWalkThroughAHugeEmptyShape) {
  for (const char* const shape : {"(0, 1000000000000000)", "(1000000000000000, 0)"}) {
    EXPECT_EQ(NpyArray::from_bytes(bytes_of(npy(1, dictionary(shape), "")), "t").matrix().size(), 0);
  }
}

TEST(Npy, KeepsNanInfinityAndSignedZero) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const NpyArray array =
      NpyArray::from_bytes(bytes_of(npy(1, dictionary("(3,)"), raw(nan, -HUGE_VAL, -0.0))), "t");
  EXPECT_TRUE(std::isnan(array.view()(0, 0)));
  EXPECT_EQ(array.view()(0, 1), -INFINITY);
  EXPECT_TRUE(std::signbit(array.view()(0, 2)));
}

TEST(Npy, AcceptsEveryWayToWriteTheDictionary) {
  for (const char* const text : {
           "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f8'}",
           "{\"descr\": \"<f8\", \"fortran_order\": False, \"shape\": (2, 3)}",
           "{'descr':'<f8','fortran_order':False,'shape':(2,3,),}",
           " { 'descr' : '<f8' ,\n 'fortran_order' : False ,\t'shape' : ( 2 , 3 , ) , } \r\n  ",
           "{'descr': '<f8', 'fortran_order': False, 'shape': (2L, 3L), }",
       }) {
    const NpyHeader header = parse_npy_header(bytes_of(npy(1, text, kSixDoubles)), "t");
    EXPECT_EQ(header.rows, 2) << text;
    EXPECT_EQ(header.columns, 3) << text;
    EXPECT_EQ(header.order, StorageOrder::row_major);
  }
}

TEST(Npy, MapsAlignedDataInPlaceAndCopiesOther) {
  const TemporaryDirectory directory;
  // The dictionary starts at byte 10: padding makes the data begin at 128, then at 129 to 135.
  for (std::size_t extra = 0; extra < 8; ++extra) {
    std::string text = dictionary("(2, 3)");
    text.resize(118 + extra, ' ');
    const NpyArray array = NpyArray::open(put(directory / "a.npy", npy(1, text, kSixDoubles)));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.view().data) % alignof(double), 0u);
    EXPECT_EQ(array.matrix(), (Matrix(2, 3) << 1, 2, 3, 4, 5, 6).finished()) << extra;
  }
}

TEST(Npy, CopiesKeepTheMappingAlive) {
  const TemporaryDirectory directory;
  const auto copy = [&] {
    const NpyArray array = NpyArray::open(put(directory / "a.npy", npy(1, dictionary("(6,)"), kSixDoubles)));
    return array;
  }();
  std::filesystem::remove(directory / "a.npy");
  EXPECT_EQ(copy.view()(0, 5), 6);
}

TEST(Npy, RefusesWhatIsNotNpy) {
  expect_contains(refusal("hello, this is text"), {"is not a .npy file"});
  expect_contains(refusal("PK\x03\x04 and so on"), {".npz archive"});
}

TEST(Npy, RefusesTruncatedHeaders) {
  const std::string whole = npy(1, dictionary("(2, 3)"), kSixDoubles);
  for (std::size_t size = 0; size < whole.size(); ++size) refusal(whole.substr(0, size));
  expect_contains(refusal(whole.substr(0, 4)), {"truncated header: 4 bytes"});
  expect_contains(refusal(whole.substr(0, 9)), {"truncated header: 9 bytes"});
}

TEST(Npy, RefusesHeaderLongerThanTheFile) {
  expect_contains(refusal(npy(1, dictionary("(2, 3)"), "").substr(0, 40)),
                  {"header is 60 bytes long, longer than the 30 bytes left in the file"});
  expect_contains(refusal(npy(1, dictionary("(2, 3)"), "").substr(0, 69)),
                  {"header is 60 bytes long, longer than the 59 bytes left in the file"});
  const std::string huge = std::string("\x93NUMPY\x02\x00", 8) + "\xff\xff\xff\xff" + "{}";
  expect_contains(refusal(huge), {"header is 4294967295 bytes long, longer than the 2 bytes"});
}

TEST(Npy, RefusesOtherVersions) {
  expect_contains(refusal(std::string("\x93NUMPY\x04\x00\x02\x00{}", 12)), {"version is 4.0"});
  expect_contains(refusal(std::string("\x93NUMPY\x01\x01\x02\x00{}", 12)), {"version is 1.1"});
  expect_contains(refusal(std::string("\x93NUMPY\x00\x00\x02\x00{}", 12)), {"version is 0.0"});
}

TEST(Npy, RefusesTruncatedDataAndTrailingBytes) {
  expect_contains(refusal(npy(1, dictionary("(2, 3)"), kSixDoubles.substr(1))),
                  {"truncated data: shape 2 x 3 needs 48 bytes, the file has 47"});
  expect_contains(refusal(npy(1, dictionary("(2, 3)"), kSixDoubles + "x")),
                  {"trailing bytes after the data: shape 2 x 3 needs 48 bytes, the file has 49"});
}

TEST(Npy, RefusesDtypesByName) {
  expect_contains(refusal_of(dictionary("(1,)", "'|O'")), {"object dtype '|O'"});
  expect_contains(refusal_of(dictionary("(1,)", "'O'")), {"object dtype 'O'"});
  expect_contains(refusal_of(dictionary("(1,)", "'<i8'")), {"dtype '<i8', must be <f4 or <f8"});
  expect_contains(refusal_of(dictionary("(1,)", "'<c16'")), {"dtype '<c16'"});
  expect_contains(refusal_of(dictionary("(1,)", "'<f2'")), {"dtype '<f2'", "array.astype('<f8')"});
  expect_contains(refusal_of(dictionary("(1,)", "'=f8'")), {"dtype '=f8'"});
  expect_contains(refusal_of(dictionary("(1,)", "[('x', '<f8'), ('y', '<f8')]")), {"structured dtype"});
}

TEST(Npy, RefusesBigEndianWithARemedy) {
  expect_contains(refusal_of(dictionary("(1,)", "'>f8'")), {"big-endian dtype '>f8'", "array.astype('<f8')"});
  expect_contains(refusal_of(dictionary("(1,)", "'>f4'")), {"big-endian dtype '>f4'", "array.astype('<f4')"});
}

TEST(Npy, RefusesBadShapes) {
  expect_refusals([](const std::string& shape) { return refusal_of(dictionary(shape)); },
                  {
                      {"(-1, 3)", "negative extent -1"},
                      {"(-0, 3)", "negative extent"},
                      {"(2.0, 3)", "extent '2.0', must be an integer"},
                      {"(2e3, 3)", "extent '2e3', must be an integer"},
                      {"(0x10, 3)", "extent '0x10', must be an integer"},
                      {"(True, 3)", "expected an integer in the shape at 'True"},
                      {"()", "0 dimensions, must have 1 or 2"},
                      {"(1, 2, 3)", "3 dimensions, must have 1 or 2"},
                      {"(3)", "(3,)"},
                      {"3", "expected a tuple as the shape"},
                      {"[3, 4]", "expected a tuple as the shape"},
                      {"(,)", "expected an integer"},
                      {"(3, 4", "expected"},
                  });
}

TEST(Npy, RefusesShapesThatOverflow) {
  expect_refusals([](const std::string& shape) { return refusal_of(dictionary(shape)); },
                  {
                      {"(9223372036854775808,)", "exceeds 2^63-1"},
                      {"(99999999999999999999999, 1)", "exceeds 2^63-1"},
                      {"(4294967296, 4294967296)", "overflows"},  // product wraps to 0
                      {"(2305843009213693952,)", "overflows"},    // only the byte size wraps
                      {"(4611686018427387904, 4, 0)", "dimensions"},
                      {"(0, 9223372036854775807)", "overflows"},
                  });
}

TEST(Npy, RefusesMalformedDictionaries) {
  expect_refusals(refusal_of, {
                                  {"", "expected '{' at the end"},
                                  {"[]", "expected '{' at '[]'"},
                                  {"{}", "key 'descr' is missing"},
                                  {"{'descr': '<f8', 'shape': (1,)}", "key 'fortran_order' is missing"},
                                  {"{'descr': '<f8', 'fortran_order': False}", "key 'shape' is missing"},
                                  {"{'descr': '<f8', 'descr': '<f8', }", "key 'descr' occurs twice"},
                                  {"{'shape': (1,), 'shape': (2,), }", "key 'shape' occurs twice"},
                                  {"{'colour': 'red'}", "unknown key 'colour'"},
                                  {"{'descr': '<f8", "expected a closed string"},
                                  {"{'descr' '<f8'}", "expected ':'"},
                                  {"{descr: '<f8'}", "expected a string"},
                                  {"{'descr': '<f8' 'shape': (1,)}", "expected '}'"},
                                  {"{'descr': '\\x3cf8'}", "without escapes"},
                                  {"{,}", "expected a string"},
                                  {dictionary("(1,)", "'<f8'", "0"), "expected True or False"},
                                  {dictionary("(1,)") + "x", "only spaces after the dictionary at 'x'"},
                                  {dictionary("(1,)") + '\0', "only spaces after the dictionary at '\\x00'"},
                              });
}

TEST(NpyWriter, RoundTripsFloat64) {
  const TemporaryDirectory directory;
  Matrix values = Matrix::Random(7, 5);
  values(0, 0) = -0.0;
  values(1, 1) = 5e-324;
  values(2, 2) = -INFINITY;
  write_npy(directory / "a.npy", values);
  const NpyArray array = NpyArray::open(directory / "a.npy");
  EXPECT_EQ(array.view().scalar, Scalar::float64);
  EXPECT_EQ(array.matrix(), values);
  EXPECT_TRUE(std::signbit(array.view()(0, 0)));
  EXPECT_EQ(directory.files(), 1);
}

TEST(NpyWriter, RoundTripsFloat32) {
  const TemporaryDirectory directory;
  const Matrix values = Matrix::Random(4, 9);
  write_npy(directory / "a.npy", values, Scalar::float32);
  const NpyArray array = NpyArray::open(directory / "a.npy");
  EXPECT_EQ(array.view().scalar, Scalar::float32);
  EXPECT_EQ(array.matrix(), values.cast<float>().cast<double>());
}

TEST(NpyWriter, WritesStridedRowsAndNoRows) {
  const TemporaryDirectory directory;
  const RowMatrix whole = RowMatrix::Random(6, 8);
  write_npy(directory / "a.npy", whole.block(1, 2, 3, 4));
  EXPECT_EQ(NpyArray::open(directory / "a.npy").matrix(), Matrix(whole.block(1, 2, 3, 4)));
  write_npy(directory / "b.npy", RowMatrix(0, 3));
  EXPECT_EQ(NpyArray::open(directory / "b.npy").view().columns, 3);
}

TEST(NpyWriter, PadsLikeNumpy) {
  const TemporaryDirectory directory;
  write_npy(directory / "a.npy", RowMatrix::Ones(1, 1));
  const std::string file = contents(directory / "a.npy");
  ASSERT_EQ(file.size(), 128 + 8u);
  EXPECT_EQ(file.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(file[127], '\n');
}

TEST(NpyWriter, RefusesWhatFloat32CannotHoldAndLeavesNoFile) {
  const TemporaryDirectory directory;
  RowMatrix values = RowMatrix::Zero(2, 2);
  values(1, 0) = 1e39;
  expect_contains(message_of([&] { write_npy(directory / "a.npy", values, Scalar::float32); }),
                  {"write_npy: entry (1,0) is 1e+39, must be within the range of float32"});
  EXPECT_EQ(directory.files(), 0);
}

}  // namespace
}  // namespace largo::test::npy_test
