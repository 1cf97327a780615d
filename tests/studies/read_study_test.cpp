// A mistake in a study file gives one line, with the line of the file and what was probably meant.
#include <limits>

#include "largo/runtime/check.hpp"
#include "runtime/closest_name.hpp"
#include "studies/studies.hpp"

namespace largo::test::read_study_test {
namespace {

std::string many(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

struct Mistake {
  std::string text;
  int line;
  std::string says;
};

TEST_F(StudyTest, MistakesAreSaidWithTheirLine) {
  const std::string head = "quantity = 'concentration'\n",
                    settings = "[settings]\nlaw = 'gaussian'\nd = 2\nquery = '1,0'\n";
  const std::vector<Mistake> mistakes = {
      {"quantity = 'moments'\n[grid]\ns = [1]\nl = [10]\n", 4, "did you mean 'L'?"},
      {head + settings + "sgima = 2\n[grid]\nL = [10]\n", 6, "did you mean 'sigma'?"},
      {head + settings + "[grid]\nquery_law = ['gaussian']\nL = [10]\n", 7, "did you mean 'query-law'?"},
      {head + settings + "[gird]\nL = [10]\n", 6, "did you mean 'grid'?"},
      {"quantity = 'momnets'\n[grid]\nL = [10]\n", 1, "did you mean 'moments'?"},
      {"quantity = 'zzzzzzzzzzz'\n[grid]\nL = [10]\n", 1, "known: moments, concentration"},
      {"\n\n[grid]\nL = [10]\n", 1, "there is no quantity"},
      {"quantity = 7\n", 1, "must be a text"},
      {"\n[a" + many(".a", 40'000) + "]\n", 2, "nested more than 16 deep"},
      {"quantity = 'moments'\n\"two\\nlines\" = 1\n", 2, "unknown key 'two\\nlines'"},
      {head + "[settings]\nlaw = \"two\\nlines\"\n[grid]\nL = [10]\n", 3, "must be one line"},
      {"quantity = 'moments'\nL = 10\n[grid]\ns = [1]\n", 2, "belongs in [settings]"},
      {"quantity = 'moments'\n[grid]\ns = [1]\nL = ['many']\n", 4, "'L' is the text 'many'"},
      {"quantity = 'moments'\n[grid]\ns = [1,\n  true]\nL = [10]\n", 4, "'s' is true, must be a number"},
      {"quantity = 'moments'\n[grid]\ns = [1]\nL = []\n", 4, "empty"},
      {"quantity = 'moments'\n[grid]\n", 2, "the grid is empty"},
      {"quantity = 'moments'\n", 1, "nothing to run"},
      {"quantity = 'moments'\n[grid]\nL = [10]\ns = [nan]\n", 4, "'s' is nan"},
      {"quantity = 'moments'\n[grid]\nL = [10]\ns = [inf]\n", 4, "'s' is inf"},
      {"quantity = 'moments'\n[grid]\ns = [1]\nL = [0.5]\n", 4, "at least 1"},
      {"quantity = 'moments'\n[grid]\ns = [1]\nL = [10]\ns = [2]\n", 5, "'s'"},
      {"quantity = 'moments'\n[settings]\ns = 1\n[grid]\nL = [10]\ns = [2]\n", 6, "given in line 3 already"},
      {"quantity = 'moments'\n[settings]\ns = [1, 2]\n[grid]\nL = [10]\n", 3, "lists belong in [grid]"},
      {"quantity = 'moments'\n[grid]\nL = [10]\n", 2, "needs 's'"},
      {"quantity = 'moments'\n[grid]\ns = [1]\nL = [10]\n[[points]]\ns = 3\n", 5, "needs 'L'"},
      {"quantity = 'moments'\n[grid]\nL = '1:1e6:1e6'\ns = '1:2:1000'\n", 2, "1000000000 units"},
      {"quantity = 'moments'\n[grid]\nL = '1:1e9:1000000000'\ns = [1]\n", 3, "1000000000 values"},
      {"quantity = 'moments'\nmethod = 'exac'\n[grid]\nL = [10]\ns = [1]\n", 2, "did you mean 'exact'?"},
      {"quantity = 'moments'\nseed = -1\n[grid]\nL = [10]\ns = [1]\n", 2, "whole number"},
      {"quantity = 'moments'\nseed = 1.5\n[grid]\nL = [10]\ns = [1]\n", 2, "whole number"},
      {"quantity = 'moments'\nseed = 9007199254740992\n[grid]\nL = [10]\ns = [1]\n", 2, "to 2^53 - 1"},
      {"quantity = 'moments'\nseed = 9007199254740993\n[grid]\nL = [10]\ns = [1]\n", 2, "to 2^53 - 1"},
      {"quantity = 'moments'\ntolerance = 0\n[grid]\nL = [10]\ns = [1]\n", 2, "above 0"},
      {"quantity = 'icl-threshold'\n[grid]\nepsilon = [0.1, -0.1]\n", 3, "above 0"},
      {"quantity = 'moments'\n[grid]\nL = [10]\ns = {a = 1}\n", 4, "'s' is a table"},
      {"quantity = 'moments'\n[grid]\nL = [10]\ns = 2020-01-01\n", 4, "a date or time"},
      {"quantity = 'moments'\n[grid]\nL = [10]\n\"σ\" = [1]\n", 4, "no parameter 'σ'"},
      {"quantity = 'moments'\n[grid]\nL = [10\ns = [1]\n", 4, ""},
      {"quantity = 'moments'\ngrid = 3\n", 2, "must be a table"},
      {"quantity = 'moments'\npoints = 3\n", 2, "array of tables"},
  };
  for (const Mistake& one : mistakes) {
    try {
      study(one.text);
      ADD_FAILURE() << one.text;
    } catch (const InputError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.rfind(path("study.toml").string() + ":" + std::to_string(one.line) + ": ", 0), 0U)
          << message << "\n"
          << one.text;
      EXPECT_NE(message.find(one.says), std::string::npos) << message << "\n" << one.text;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
  }
}

TEST_F(StudyTest, FilesThatAreNone) {
  EXPECT_THROW(read_study(path("missing.toml")), InputError);
  EXPECT_THROW(read_study(path(".")), InputError);
  EXPECT_THROW(study(std::string("\0\xff\xfe", 3)), InputError);
}

TEST(ClosestName, EditDistance) {
  EXPECT_EQ(runtime::edit_distance("", "abc"), 3U);
  EXPECT_EQ(runtime::edit_distance("sigma", "sigma"), 0U);
  EXPECT_EQ(runtime::edit_distance("sgima", "sigma"), 1U);     // two neighbours swapped
  EXPECT_EQ(runtime::edit_distance("kitten", "sitting"), 3U);  // the textbook example
  EXPECT_EQ(runtime::suggestion("L", {"sigma", "query"}), " (known: sigma, query)");
}

}  // namespace
}  // namespace largo::test::read_study_test
