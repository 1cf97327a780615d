#include "io/csv.hpp"

#include <clocale>
#include <random>

#include "support/fixtures.hpp"

namespace largo::test::csv_test {
namespace {

Matrix parse(const std::string& text) { return io::parse_csv(text, "t.csv"); }

std::string refusal(const std::string& text) {
  const std::string message = message_of([&] { parse(text); });
  expect_contains(message, {"read_csv: t.csv: "});
  return message;
}

const Matrix kTwoByTwo = (Matrix(2, 2) << 1, 2, 3, 4).finished();

TEST(Csv, ReadsNumbers) {
  EXPECT_EQ(parse("1,2\n3,4\n"), kTwoByTwo);
  EXPECT_EQ(parse("1,2\n3,4"), kTwoByTwo);
  EXPECT_EQ(parse(" 1 ,\t2\n+3,4e0"), kTwoByTwo);
  EXPECT_EQ(parse("-0.1,.5,5.,1e-310,1.7976931348623157e308"),
            (Matrix(1, 5) << -0.1, 0.5, 5, 1e-310, 1.7976931348623157e308).finished());
  EXPECT_EQ(parse("7"), Matrix::Constant(1, 1, 7));
}

TEST(Csv, ReadsNumbersInQuotes) {
  EXPECT_EQ(parse("\"1\",\"2\"\n\"3\",\"4\"\n"), kTwoByTwo);
  EXPECT_EQ(parse("\"1\",\"2\"\n3,4\n"), kTwoByTwo);
  EXPECT_EQ(parse("1;2\n\" 3 \";\"+4\"\n"), kTwoByTwo);
  EXPECT_EQ(parse("\"x\",\"y\"\n\"1\",\"2\"\n3,4\n"), kTwoByTwo);
}

TEST(Csv, FindsTheSeparator) {
  EXPECT_EQ(parse("1;2\n3;4"), kTwoByTwo);
  EXPECT_EQ(parse("1\t2\n3\t4"), kTwoByTwo);
  EXPECT_EQ(parse("a;b\n1;2\n3;4"), kTwoByTwo);
  EXPECT_EQ(parse("1\t\n2\t\n"), (Matrix(2, 1) << 1, 2).finished());
}

TEST(Csv, SkipsHeaderCommentsMarkAndBlankEnds) {
  EXPECT_EQ(parse("\xef\xbb\xbfx,y\r\n1,2\r\n3,4\r\n\r\n"), kTwoByTwo);
  EXPECT_EQ(parse("# made by hand, 2024\n\n  # x;y\nx,y\n1,2\n#between\n3,4\n\n \n#end"), kTwoByTwo);
  EXPECT_EQ(parse("\"a,b\",\"c\"\"d,\"\n1,2\n3,4"), kTwoByTwo);
  EXPECT_EQ(parse(",y\n1,2\n3,4"), kTwoByTwo);
  EXPECT_EQ(parse("\"\",\"y\"\n1,2\n3,4"), kTwoByTwo);
}

TEST(Csv, ReadsLongLines) {
  std::string line = "0";
  for (int j = 1; j < 300'000; ++j) {
    line += ',';
    line += std::to_string(j);
  }
  const Matrix values = parse(line + "\n" + line);
  ASSERT_EQ(values.cols(), 300'000);
  EXPECT_EQ(values(1, 299'999), 299'999);
}

TEST(Csv, IgnoresTheLocale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* const name : {"de_DE.UTF-8", "fr_FR.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) != nullptr) break;
  }
  EXPECT_EQ(parse("0.5,1.5")(0, 1), 1.5);
  std::setlocale(LC_ALL, before.c_str());
}

TEST(Csv, RefusesRaggedRows) {
  expect_refusals(refusal, {
                               {"1,2\n3\n", "line 2 has 1 fields, must have 2 as line 1 has"},
                               {"# c\nx,y\n1,2\n1,2,3\n", "line 4 has 3 fields, must have 2 as line 2 has"},
                               {"x,y,z\n1,2\n", "line 2 has 2 fields, must have 3 as line 1 has"},
                           });
}

TEST(Csv, RefusesNanAndInfinityWithTheirPlace) {
  expect_refusals(refusal,
                  {
                      {"1,2\n3,nan\n", "line 2, column 2 is 'nan', must be finite"},
                      {"nan,inf\n", "line 1, column 1 is 'nan', must be finite"},
                      {"1\n-Inf\n", "line 2, column 1 is '-Inf', must be finite"},
                      {"1\ninfinity\n", "is 'infinity', must be finite"},
                      {"1,1e999", "line 1, column 2 is '1e999', must be within the range of float64"},
                      {"1,1e-999", "must be within the range of float64"},
                  });
}

TEST(Csv, RefusesWhatIsNotANumber) {
  expect_refusals(refusal, {
                               {"1,2\n3,x", "line 2, column 2 is 'x', must be a number"},
                               {"1,x\n3,4", "line 1, column 2 is 'x', must be a number"},
                               {"1,2\n3,", "line 2, column 2 is empty, must be a number"},
                               {"1,,3", "line 1, column 2 is empty"},
                               {"1,2\nx,y", "line 2, column 1 is 'x'"},
                               {"a,b\nc,d\n1,2", "line 2, column 1 is 'c'"},
                               {"0x10,1", "'0x10', must be a number"},
                               {"1.0 2.0\n", "line 1, column 1 is '1.0 2.0'"},
                               {"1,5;2,5\n", "line 1, column 1 is '1,5'"},
                               {"+-1", "'+-1', must be a number"},
                               {"++1", "'++1', must be a number"},
                               {"+", "'+', must be a number"},
                               {"1\n\"2", "'\"2', must be a number"},
                               {"1\n\"2 3\"", "'2 3', must be a number"},
                               {std::string("1,2\0\n", 5), "'2\\x00', must be a number"},
                               {"1\r2", "'1\\r2', must be a number"},
                           });
}

// The first row is data unless it has names.
TEST(Csv, LosesNoFirstRow) {
  expect_refusals(refusal, {
                               {",\n1,2\n", "line 1, column 1 is empty, must be a number"},
                               {"\"\",\" \"\n1,2\n", "line 1, column 1 is empty, must be a number"},
                               {"# c\n\n;;\n1;2;3\n", "line 3, column 1 is empty"},
                               {"\"1\",x\n1,2\n", "line 1, column 2 is 'x', must be a number"},
                               {"\"1,5\",\"2,5\"\n1,2\n", "line 1, column 1 is '1,5', must be a number"},
                               {"\"nan\",\"inf\"\n1,2\n", "line 1, column 1 is 'nan', must be finite"},
                           });
}

TEST(Csv, RefusesNothingToRead) {
  for (const char* const text : {"", "\n\n", "# only a comment\n", "a,b\n", "\xef\xbb\xbf"}) {
    expect_contains(refusal(text), {"has no numbers"});
  }
}

TEST(Csv, RefusesBlankLinesBetweenRows) {
  expect_contains(refusal("1,2\n\n\n3,4"), {"line 2 is blank, between rows"});
}

TEST(Csv, RefusesUtf16) {
  expect_contains(refusal("\xff\xfe"
                          "1"),
                  {"is UTF-16"});
}

TEST(Csv, ReadsFilesAndRefusesMissingOnes) {
  const TemporaryDirectory directory;
  EXPECT_EQ(io::read_csv(put(directory / "a.csv", "1,2\n3,4")), kTwoByTwo);
  expect_contains(message_of([&] { io::read_csv(put(directory / "b.csv", "")); }), {"b.csv: is empty"});
  expect_contains(message_of([&] { io::read_csv(directory / ""); }), {"is a directory"});
}

TEST(CsvWriter, RoundTripsEveryBit) {
  const TemporaryDirectory directory;
  std::mt19937_64 generator(7);
  Matrix values(50, 20);
  for (double& value : values.reshaped()) {
    do {
      const std::uint64_t bits = generator();
      std::memcpy(&value, &bits, sizeof value);
    } while (!std::isfinite(value));
  }
  values(0, 0) = -0.0;
  values(0, 1) = 5e-324;
  io::write_csv(directory / "a.csv", {}, values);
  const Matrix back = io::read_csv(directory / "a.csv");
  ASSERT_EQ(back, values);
  EXPECT_TRUE(std::signbit(back(0, 0)));
  EXPECT_EQ(directory.files(), 1);
}

TEST(CsvWriter, WritesShortestNumbersAndTheHeader) {
  const TemporaryDirectory directory;
  io::write_csv(directory / "a.csv", {"L", "error; mean, \"x\""},
                (Matrix(2, 2) << 10, 0.1, 1e22, -2.5).finished());
  EXPECT_EQ(contents(directory / "a.csv"), "L,\"error; mean, \"\"x\"\"\"\n10,0.1\n1e+22,-2.5\n");
  EXPECT_EQ(io::read_csv(directory / "a.csv")(1, 0), 1e22);
}

TEST(CsvWriter, WritesInfiniteLengths) {
  const TemporaryDirectory directory;
  io::write_csv(directory / "a.csv", {}, (Matrix(1, 2) << 10, INFINITY).finished());
  EXPECT_EQ(contents(directory / "a.csv"), "10,inf\n");
}

TEST(CsvWriter, RefusesAndLeavesNoFile) {
  const TemporaryDirectory directory;
  RowMatrix values = RowMatrix::Ones(2, 2);
  const auto refused = [&](const std::vector<std::string>& header) {
    return message_of([&] { io::write_csv(directory / "a.csv", header, values); });
  };
  expect_contains(refused({"a"}), {"size of header is 1, must be 2"});
  expect_contains(refused({"a", "b\nc"}), {"column name is 'b\\nc', must be a single line"});
  expect_contains(refused({"a", "12"}), {"column name is '12'"});
  values(1, 0) = NAN;
  expect_contains(refused({}), {"entry (1,0) is nan, must be finite"});
  values(1, 0) = -INFINITY;
  expect_contains(refused({}), {"entry (1,0) is -inf, must be finite"});
  EXPECT_EQ(directory.files(), 0);
}

}  // namespace
}  // namespace largo::test::csv_test
