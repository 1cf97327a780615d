#include "io/formula.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "largo/runtime/check.hpp"

namespace largo::formula_test {
namespace {

double at(const std::string& text, double L) { return io::Formula("--beta", text, "L")(L); }

std::string refusal(const std::string& text) {
  try {
    const io::Formula formula("--beta", text, "L");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

struct Value {
  std::string text;
  double L, expected;
};

void expect_values(const std::vector<Value>& values) {
  for (const auto& [text, L, expected] : values) EXPECT_EQ(at(text, L), expected) << text;
}

TEST(Formula, Numbers) {
  expect_values(
      {{"2", 7, 2}, {" .5 ", 7, 0.5}, {"1e3", 7, 1000}, {"1E-2", 7, 0.01}, {"1.5e+2", 7, 150}, {"L", 7, 7}});
}

TEST(Formula, Operations) {
  expect_values({{"1+2*3", 0, 7},
                 {"(1+2)*3", 0, 9},
                 {"7-2-1", 0, 4},
                 {"8/4/2", 0, 1},
                 {"2^3^2", 0, 512},
                 {"-2^2", 0, -4},
                 {"2^-2", 0, 0.25},
                 {"--2", 0, 2},
                 {"+2-+-3", 0, 5},
                 {"-L*-L", 3, 9},
                 {"2*-L", 3, -6}});
}

TEST(Formula, Functions) {
  expect_values({{"ln(L)", 10, std::log(10.0)},
                 {"log (L)", 10, std::log(10.0)},
                 {"sqrt(2*ln(L))", 1e6, std::sqrt(2 * std::log(1e6))},
                 {"exp(1)", 0, std::exp(1.0)},
                 {"floor(L/8192)", 20000, 2},
                 {"min(L, 3)", 5, 3},
                 {"max(L, 3)", 5, 5},
                 {"max(1, 1+0.1*ln(L/4096))", 100, 1},
                 {"min(max(1, 2), max(3, 4))", 0, 2}});
}

// Values that are no numbers are for the caller to refuse, who knows what is meant.
TEST(Formula, MayBeInfiniteOrNan) {
  EXPECT_TRUE(std::isinf(at("1/(L-1)", 1)));
  EXPECT_TRUE(std::isnan(at("ln(-L)", 1)));
  EXPECT_TRUE(std::isinf(at("10^L", 1e3)));
}

TEST(Formula, Malformed) {
  for (const char* text :
       {"",           " ",      "+",        "1+",     "*2",     "(1",  "1)",   "()",   "1 2",     "2L",
        "L L",        "1..2",   "1e999",    "1e-999", ".",      "ln",  "ln()", "ln 2", "ln(1,2)", "min(1)",
        "max(1,2,3)", "l",      "x",        "L2",     "sin(1)", "1,2", "2**3", "1^",   "^2",      "2^^3",
        "nan",        "inf",    "0x10",     "1_000",  "L;",     "$",   "\"",   "1e",   "e5",      "1,5",
        "ln(L",       "ln(L))", "min(1 2)", "(1,2)",  "L'",     "1=1", "{1}",  "[1]"}) {
    const std::string message = refusal(text);
    EXPECT_NE(message.find("--beta"), std::string::npos) << "'" << text << "': " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << text;
  }
  for (const std::string& text : {std::string("1\n2"), std::string("1\0", 2), std::string("L\0+", 3),
                                  std::string("π"), std::string("1\t+2"), std::string("\x7f")}) {
    const std::string message = refusal(text);
    EXPECT_NE(message.find("characters"), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

TEST(Formula, DepthAndLengthAreBounded) {
  const auto repeated = [](const char* part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += part;
    return text;
  };
  EXPECT_EQ(at(repeated("(", 40) + "L" + repeated(")", 40), 3), 3);
  EXPECT_NE(refusal(repeated("(", 60) + "L" + repeated(")", 60)).find("deeply"), std::string::npos);
  EXPECT_NE(refusal(repeated("-", 60) + "L").find("deeply"), std::string::npos);
  EXPECT_NE(refusal(repeated("1^", 60) + "L").find("deeply"), std::string::npos);
  EXPECT_NE(refusal(repeated("ln(", 200)).find("deeply"), std::string::npos);
  EXPECT_EQ(at(repeated("1+", 499) + "1", 0), 500);
  EXPECT_NE(refusal(repeated("1+", 500) + "1").find("1000 bytes"), std::string::npos);
}

// Random formulas, written out beside their values.
struct Written {
  std::string text;
  double value;
};

Written random_formula(std::mt19937_64& random, int depth, double L) {
  if (depth == 0) {
    if (random() % 3 == 0) return {"L", L};
    const double number = static_cast<double>(random() % 1000) / 8;
    return {std::to_string(number), number};
  }
  const Written a = random_formula(random, depth - 1, L), b = random_formula(random, depth - 1, L);
  const std::string both = "(" + a.text + "%" + b.text + ")";
  const auto with = [&](char sign, double value) {
    std::string text = both;
    text[1 + a.text.size()] = sign;
    return Written{text, value};
  };
  switch (random() % 9) {
    case 0: return with('+', a.value + b.value);
    case 1: return with('-', a.value - b.value);
    case 2: return with('*', a.value * b.value);
    case 3: return with('/', a.value / b.value);
    case 4: return with('^', std::pow(a.value, b.value));
    case 5: return {"(-" + a.text + ")", -a.value};
    case 6: return {"min(" + a.text + ", " + b.text + ")", std::min(a.value, b.value)};
    case 7: return {"sqrt( " + a.text + " )", std::sqrt(a.value)};
    default: return {"floor(" + a.text + ")", std::floor(a.value)};
  }
}

TEST(Formula, RandomFormulas) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const double L = static_cast<double>(1 + random() % 100);
    const Written one = random_formula(random, static_cast<int>(random() % 4), L);
    const double found = at(one.text, L);
    if (std::isnan(one.value)) {
      EXPECT_TRUE(std::isnan(found)) << one.text;
    } else {
      EXPECT_EQ(found, one.value) << one.text << " at " << L;
    }
  }
}

}  // namespace
}  // namespace largo::formula_test
