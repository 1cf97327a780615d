// Mistakes in texts are found before a store is made, wherever they are in the study.
#include "studies/parameter_values.hpp"

#include "largo/runtime/check.hpp"
#include "largo/studies/run_study.hpp"
#include "largo/studies/study_table.hpp"
#include "studies/studies.hpp"

namespace largo::test::check_inputs_test {
namespace {

class CheckInputs : public StudyTest {
 protected:
  // Expects an InputError with these words from the run and the estimate, and neither a store nor a lock.
  void refuse(const std::string& text, const std::string& says) {
    const Study one = study(text);
    const auto expect = [&](auto call) {
      try {
        call();
        ADD_FAILURE() << text;
      } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
      }
    };
    expect([&] { run_study(one, path("s.sqlite")); });
    expect([&] { estimate_study(one, path("s.sqlite")); });
    EXPECT_FALSE(std::filesystem::exists(path("s.sqlite")));
    EXPECT_FALSE(std::filesystem::exists(path("s.sqlite.lock")));
  }
};

const std::string kConcentration = "quantity = 'concentration'\n";

TEST_F(CheckInputs, SettingsThatNoUnitCanHave) {
  const std::string grid = "[grid]\nL = [10, 100]\n", law = "law = 'gaussian'\n", d = "d = 2\n";
  refuse(kConcentration + "[settings]\nlaw = 'gausian'\nd = 2\nquery = '1,0'\n" + grid,
         "'gausian' is not a law");
  refuse(kConcentration + "[settings]\nlaw = 'gaussian:cv=2'\nd = 2\nquery = '1,0'\n" + grid, "no key 'cv'");
  refuse(kConcentration + "[settings]\n" + law + d + "query = '1,0,0'\n" + grid, "query");
  refuse(kConcentration + "[settings]\n" + law + d + "U = 'identiy'\nquery = '1,0'\n" + grid, "identiy");
  refuse(kConcentration + "[settings]\n" + law + d + "U = 'none.npy'\nquery = '1,0'\n" + grid, "none.npy");
  refuse(kConcentration + "[settings]\nlaw = 'mixture:none.toml'\nd = 2\nquery = '1,0'\n" + grid,
         "none.toml");
  refuse(kConcentration + "[settings]\n" + law + d + grid, "either query or query-law");
  for (const char* quantity : {"icl-risk", "icl-flow", "icl-threshold"}) {
    const std::string axis = std::string(quantity) == "icl-threshold" ? "[grid]\nepsilon = [0.1]\n" : grid;
    const std::string head = "quantity = '" + std::string(quantity) + "'\n";
    refuse(head + "[settings]\nd = 2\ncov = 'toeplitz:x'\n" + axis, "cov");
    if (quantity != std::string("icl-risk")) {
      refuse(head + "[settings]\nd = 2\ntheta = 'unity'\n" + axis, "unity");
      refuse(head + "tolerance = 0.5\n[settings]\nd = 2\n" + axis, "tolerance");
    }
  }
  refuse("quantity = 'icl-risk'\n[settings]\nd = 2\nA = 'identity'\n" + grid, "A and b go together");
}

TEST_F(CheckInputs, TextsOfTheGridAndOfPoints) {
  refuse(kConcentration +
             "[settings]\nd = 2\nquery = '1,0'\n[grid]\nlaw = ['gaussian', 'sphere', 'bal']\nL = [10]\n",
         "no unit with law = 'bal'");
  refuse(kConcentration +
             "[settings]\nd = 2\n[grid]\nsigma = [1, 2]\nquery = ['1,0', '1,x']\nlaw = ['gaussian', "
             "'sphere']\nL = [10]\n",
         "no unit with query = '1,x'");
  refuse(kConcentration +
             "[settings]\nlaw = 'gaussian'\nd = 2\nquery = '1,0'\n[grid]\nL = [10]\n[[points]]\nL = "
             "20\nlaw = 'gausian'\n",
         "no unit with law = 'gausian'");
}

// Not every combination has to fit: those that do not fit fail on their own, like numbers outside the domain.
TEST_F(CheckInputs, OneUnitIsEnough) {
  const Study some =
      study(kConcentration +
            "[settings]\nlaw = 'gaussian'\n[grid]\nd = [1, 2, 3]\nquery = ['1', '1,0', '0,1,0']\nL = [10]\n");
  EXPECT_NO_THROW(studies::check_inputs(some));
  const StudyRun run = run_study(some, path("s.sqlite"));
  EXPECT_EQ(run.ran, 9);
  EXPECT_EQ(run.failed, 6);
  EXPECT_NO_THROW(studies::check_inputs(study("quantity = 'moments'\n[grid]\ns = [-1, 1]\nL = [10]\n")));
}

TEST_F(CheckInputs, NumbersThatNoUnitCanHave) {
  refuse("quantity = 'moments'\n[settings]\ns = -1\n[grid]\nL = [10, 100]\n", "s is -1");
  refuse("quantity = 'moments'\n[grid]\ns = [1, 2]\nL = [1e301]\n", "L is 1e+301");
  refuse(kConcentration +
             "method = 'sampled'\n[settings]\nlaw = 'gaussian'\nd = 2\nquery = '1,0'\n[grid]\nL = [1.5]\n",
         "whole number");
  for (const char* wrong : {"sigma = 0", "sigma = -1", "prompts = 0", "prompts = 1", "prompts = 2.5"}) {
    EXPECT_THROW(study(kConcentration + "[settings]\nlaw = 'gaussian'\nd = 2\nquery = '1,0'\n" + wrong +
                       "\n[grid]\nL = [10]\n"),
                 InputError)
        << wrong;
  }
  EXPECT_THROW(study("quantity = 'icl-risk'\n[settings]\nd = 2\nprompts = 1\n[grid]\nL = [10]\n"),
               InputError);
}

// A setting whose mistake shows only in the work may be corrected like any other.
TEST_F(CheckInputs, AStoreWithoutResultsTakesTheCorrectedStudy) {
  const std::string wrong =
      "quantity = 'moments'\ntolerance = 1e-100\n[settings]\ns = 1\n[grid]\nL = [10, 100]\n";
  EXPECT_EQ(run_study(study(wrong), path("s.sqlite")).failed, 2);
  const std::string right = "quantity = 'moments'\n[settings]\ns = 1\n[grid]\nL = [10, 100]\n";
  EXPECT_EQ(estimate_study(study(right), path("s.sqlite")).pending, 2);
  const StudyRun run = run_study(study(right), path("s.sqlite"));
  EXPECT_EQ(run.ran, 2);
  EXPECT_EQ(run.failed, 0);
  run_study(study(right), path("fresh.sqlite"));
  EXPECT_EQ(study_status(path("s.sqlite")).content, study_status(path("fresh.sqlite")).content);
  EXPECT_EQ(study_status(path("s.sqlite")).others, 0);
  // A store with results keeps its study, as ever. One without takes even a study of another quantity.
  EXPECT_THROW(run_study(study(wrong), path("s.sqlite")), InputError);
  EXPECT_EQ(run_study(study(wrong), path("other.sqlite")).failed, 2);
  EXPECT_EQ(
      run_study(study("quantity = 'icl-risk'\n[settings]\nd = 1\n[grid]\nL = [10]\n"), path("other.sqlite"))
          .failed,
      0);
}

}  // namespace
}  // namespace largo::test::check_inputs_test
