// Expansion of a study into units, and their names.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "largo/runtime/check.hpp"
#include "runtime/sha256.hpp"
#include "studies/studies.hpp"

namespace largo::test::study_test {
namespace {

std::vector<std::string> inputs_of(const Study& study) {
  std::vector<std::string> all;
  for (std::int64_t i = 0; i < study.size(); ++i) all.push_back(study.inputs_json(i));
  return all;
}

std::string hex(const UnitId& id) { return runtime::to_hex(id.bytes.data(), id.bytes.size()); }

TEST_F(StudyTest, TheLastAxisOfTheFileIsFastest) {
  const auto expected = [](const char* s, const char* L) {
    return std::string("{\"s\":") + s + ",\"L\":" + L + ",\"method\":\"exact\",\"seed\":1}";
  };
  EXPECT_EQ(
      inputs_of(study(kMoments)),
      (std::vector<std::string>{expected("0.5", "10"), expected("0.5", "100"), expected("0.5", "\"inf\""),
                                expected("1", "10"), expected("1", "100"), expected("1", "\"inf\"")}));
  // L comes before s: the order is that of the file, not of the alphabet or of the quantity.
  EXPECT_EQ(inputs_of(study("quantity = 'moments'\n[grid]\nL = [10, 100]\ns = [2, 1]\n")),
            (std::vector<std::string>{expected("2", "10"), expected("1", "10"), expected("2", "100"),
                                      expected("1", "100")}));
}

TEST_F(StudyTest, PointsFollowTheGridAndRepeatNothing) {
  const Study one =
      study(kMoments + "[[points]]\ns = 3\nL = 7\n[[points]]\ns = 1\nL = 100\n[[points]]\ns = 3\nL = 7.0\n");
  ASSERT_EQ(one.size(), 7);
  EXPECT_EQ(one.inputs_json(6), "{\"s\":3,\"L\":7,\"method\":\"exact\",\"seed\":1}");
  EXPECT_EQ(one.inputs(6)[0], StudyValue(3.0));
  EXPECT_EQ(study("quantity = 'moments'\n[grid]\ns = [1, 1, 1.0]\nL = [10, 10]\n").size(), 1);
}

TEST_F(StudyTest, TheNameOfAUnitIsTheHashOfItsText) {
  const Study one = study(kMoments);
  runtime::Sha256 hash;
  hash.add("largo unit 1\nmoments\n{\"s\":0.5,\"L\":100,\"method\":\"exact\",\"seed\":1}");
  const auto digest = hash.finish();
  EXPECT_EQ(hex(one.id(1)), runtime::to_hex(digest.data(), 16));
}

// A store is of use only as long as names stay the same.
TEST_F(StudyTest, NamesDoNotChange) {
  EXPECT_EQ(hex(study(kMoments).id(0)), "bc54c8c0acb87ba47b18f205eacb7578");
  const Study risk = study("quantity = 'icl-risk'\n[settings]\nd = 3\n[grid]\nL = [10]\n");
  EXPECT_EQ(risk.inputs_json(0),
            "{\"preset\":\"paper\",\"d\":3,\"L\":10,\"method\":\"exact\",\"prompts\":20000,\"seed\":1}");
}

TEST_F(StudyTest, NamesDependOnWhatDecidesTheResultsAlone) {
  const Study one = study(kMoments);
  const Study other = study(
      "title = 'other'\nquantity = 'moments'\nseed = 1\nmethod = 'exact'\n[grid]\nL = [100]\ns = [1]\n");
  EXPECT_EQ(one.id(4), other.id(0));
  std::set<UnitId> names;
  for (std::int64_t i = 0; i < one.size(); ++i) names.insert(one.id(i));
  const Study seeded = study("seed = 2\n" + kMoments), precise = study("tolerance = 1e-6\n" + kMoments);
  for (std::int64_t i = 0; i < one.size(); ++i) names.insert({seeded.id(i), precise.id(i)});
  EXPECT_EQ(names.size(), 18U);
}

TEST_F(StudyTest, WhatAFileHoldsIsPartOfTheName) {
  const std::string file = path("U.csv").string();
  const std::string text =
      "quantity = 'concentration'\n[settings]\nlaw = 'gaussian'\nd = 2\nquery = '1,0'\nU = '2*" + file +
      "'\n[grid]\nL = [10]\n";
  write("U.csv", "1,0\n0,1\n");
  const UnitId before = study(text).id(0);
  EXPECT_EQ(study(text).id(0), before);
  write("U.csv", "1,0\n0,2\n");
  EXPECT_NE(study(text).id(0), before);
}

TEST_F(StudyTest, WhatTheFilesOfAMixtureHoldIsPartOfTheName) {
  const auto component = [&](const std::string& law) {
    return "[[component]]\nweight = 1\nlaw = '" + law + "'\n";
  };
  const std::string tokens = write("tokens.csv", "1,0\n0,1\n"), cov = write("cov.csv", "1,0\n0,1\n");
  const std::string inner = write("inner.toml", component("tokens:" + tokens));
  const std::string outer =
      write("a=b.toml", component("gaussian:cov=" + cov) + component("mixture:" + inner));
  const auto name_now = [&] {
    return study(
               "quantity = 'concentration'\n[settings]\nd = 2\nquery = '1,0'\n[grid]\nL = [10]\nlaw = "
               "['mixture:" +
               outer + "']\n")
        .id(0);
  };
  std::set<UnitId> names = {name_now()};
  EXPECT_EQ(name_now(), *names.begin());
  write("tokens.csv", "1,0\n0,2\n");
  names.insert(name_now());
  write("cov.csv", "1,0\n0,2\n");
  names.insert(name_now());
  write("inner.toml", component("tokens:" + tokens) + component("sphere"));
  names.insert(name_now());
  write("a=b.toml", component("gaussian:cov=" + cov));
  names.insert(name_now());
  EXPECT_EQ(names.size(), 5U);
}

TEST_F(StudyTest, RangesAreThoseOfTheCommandLine) {
  const auto values = [&](const std::string& axis) {
    return study("quantity = 'moments'\n[grid]\n" + axis + "\n").plan().axes[0].values;
  };
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(values("s = '0:6:4'\nL = 10"), (std::vector<StudyValue>{0.0, 2.0, 4.0, 6.0}));
  EXPECT_EQ(values("L = '1:1000:4'\ns = 1"), (std::vector<StudyValue>{1.0, 10.0, 100.0, 1000.0}));
  EXPECT_EQ(values("L = '10,100,inf'\ns = 1"), (std::vector<StudyValue>{10.0, 100.0, inf}));
  EXPECT_EQ(values("L = '1:4:4:even'\ns = 1"), (std::vector<StudyValue>{1.0, 2.0, 3.0, 4.0}));
  const auto log = values("s = '0.01:1:3:log'\nL = 10");
  ASSERT_EQ(log.size(), 3U);
  EXPECT_NEAR(std::get<double>(log[1]), 0.1, 1e-15);
}

TEST_F(StudyTest, ChangesReplaceValues) {
  EXPECT_EQ(study(kMoments, {{"L", "10"}}).size(), 2);
  EXPECT_EQ(study(kMoments, {{"L", "1e1:1e3:7"}, {"s", "[1,2,3]"}}).size(), 21);
  EXPECT_EQ(study(kMoments, {{"seed", "5"}}).inputs_json(0),
            "{\"s\":0.5,\"L\":10,\"method\":\"exact\",\"seed\":5}");
  EXPECT_EQ(study(kMoments, {{"seed", "1,2,3"}}).size(), 18);
  EXPECT_THROW(study(kMoments, {{"sigma", "5"}}), InputError);
  EXPECT_THROW(study(kMoments, {{"L", "many"}}), InputError);
  EXPECT_THROW(study(kMoments, {{"s", "1"}, {"s", "1"}}), InputError);  // it is not clear which one is meant
  EXPECT_THROW(study(kMoments, {{"title", "a"}, {"title", "b"}}), InputError);
  EXPECT_THROW(study(kMoments, {{"s", std::string(40'000, '[')}}), InputError);
  EXPECT_THROW(study(kMoments, {{"s", "[1]\nL = 3"}}), InputError);
  EXPECT_THROW(study(kMoments, {{"seed", "9007199254740993"}}),
               InputError);  // not a double, and must not become another seed
}

// A change to one value reaches the points too, or it would have no effect on some units.
TEST_F(StudyTest, ChangesReachThePoints) {
  const std::string points = "quantity = 'moments'\n[[points]]\ns = 1\nL = 10\n[[points]]\ns = 2\nL = 20\n";
  const Study one = study(points, {{"L", "50"}});
  ASSERT_EQ(one.size(), 2);
  EXPECT_EQ(one.inputs(0)[1], StudyValue(50.0));
  EXPECT_EQ(one.inputs(1)[1], StudyValue(50.0));
  EXPECT_THROW(study(points, {{"L", "50,60"}}), InputError);  // there is no grid for two values
  const Study both = study(kMoments + "[[points]]\ns = 3\nL = 7\n", {{"L", "50"}});
  ASSERT_EQ(both.size(), 3);
  EXPECT_EQ(both.inputs(2)[1], StudyValue(50.0));
  EXPECT_EQ(study(kMoments + "[[points]]\ns = 3\nL = 7\n", {{"L", "50,60"}}).inputs(4)[1], StudyValue(7.0));
}

TEST_F(StudyTest, LargeWholeNumbersAreNumbers) {
  const Study one =
      study("quantity = 'moments'\n[grid]\ns = [9007199254740993]\nL = [9223372036854775807]\n");
  EXPECT_EQ(one.inputs(0)[0], StudyValue(0x1p53));
  EXPECT_EQ(one.inputs(0)[1], StudyValue(0x1p63));
}

TEST_F(StudyTest, MinusZeroIsZero) {
  const Study one = study("quantity = 'moments'\n[grid]\ns = [-0.0]\nL = [10]\n");
  EXPECT_FALSE(std::signbit(std::get<double>(one.inputs(0)[0])));
}

TEST_F(StudyTest, TextsAreUtf8) {
  const std::string text =
      "quantity = 'concentration'\n[settings]\nlaw = 'gaussian'\nd = 2\n[grid]\nL = [10]\n";
  EXPECT_EQ(study(text, {{"query", "größe.npy"}}).size(), 1);
  EXPECT_THROW(study(text, {{"query",
                             "gr\xf6\xdf"
                             "e.npy"}}),
               InputError);
}

}  // namespace
}  // namespace largo::test::study_test
