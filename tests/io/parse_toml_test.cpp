// The bound on nesting: deeper values are refused before the parser recurses, and nothing else is.
#include "io/parse_toml.hpp"

#include <gtest/gtest.h>

#include <string>

namespace largo::parse_toml_test {
namespace {

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// The line of the error, or 0 without one; every error must be about the nesting.
std::size_t refused_at(const std::string& text) {
  try {
    io::parse_toml(text, "test.toml");
    return 0;
  } catch (const io::TomlError& error) {
    EXPECT_EQ(std::string(error.what()), "values are nested more than 16 deep");
    return error.line();
  }
}

TEST(ParseToml, RefusesDeepNestingBeforeItRecurses) {
  for (const int depth : {17, 40'000}) {
    const std::string key = "a" + repeated(".a", depth), quoted = "a" + repeated(" . \"a\"", depth);
    EXPECT_EQ(refused_at(key + " = 1\n"), 1U);
    EXPECT_EQ(refused_at("x = 1\n" + quoted + " = 1\n"), 2U);
    EXPECT_EQ(refused_at("x = \"\"\"\n\n\"\"\"\n[" + key + "]\n"), 4U);
    EXPECT_EQ(refused_at("[[" + key + "]]\n"), 1U);
    EXPECT_EQ(refused_at("x = " + repeated("[", depth) + repeated("]", depth)), 1U);
    EXPECT_EQ(refused_at("x = " + repeated("{a=", depth) + "1" + repeated("}", depth)), 1U);
    EXPECT_EQ(refused_at("x = {" + key + " = 1}\n"), 1U);
  }
}

TEST(ParseToml, TakesDotsAndBracketsThatDoNotNest) {
  for (const std::string& text :
       {"x = [" + repeated("0.5, ", 100) + "1]\n", "x = [\n" + repeated("0.5,\n", 100) + "]\n",
        "x = '" + repeated("[.", 100) + "'\n", "x = \"\\\"" + repeated("[.", 100) + "\"\n",
        "x = \"\"\"\\\"\"\"" + repeated("[.\n", 100) + "\"\"\"\"\ny.z = 1\n",
        "x = '''" + repeated("'[.\n", 100) + "'''\n", "# " + repeated("[.", 100) + "\nx = 1\n",
        repeated("[[points]]\nx = [1.5]\n", 100), "x = 1 # it's [\n" + repeated("[[y]]\n", 50)}) {
    EXPECT_NO_THROW(io::parse_toml(text, "test.toml")) << text;
  }
}

TEST(ParseToml, MistakesHaveTheirLine) {
  for (const char* text : {"x = 1\ny = \n", "x = 1\ny = \"a\n[[[[", "x = 1\ny = 'a\n", "x = 1\ny = [1\n"}) {
    try {
      io::parse_toml(text, "test.toml");
      ADD_FAILURE() << text;
    } catch (const io::TomlError& error) {
      EXPECT_GE(error.line(), 2U) << text;
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace largo::parse_toml_test
