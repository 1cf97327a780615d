// Running a study: finished units are kept, nothing is run twice, and no number of threads or processes
// changes a bit.
#include "largo/studies/run_study.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <filesystem>

#include "largo/exact/softmax_moments.hpp"
#include "largo/runtime/check.hpp"
#include "largo/studies/study_table.hpp"
#include "studies/studies.hpp"
#include "support/fake_device.hpp"
#include "support/thread_ranks.hpp"

namespace largo::test::run_study_test {
namespace {

const std::string kManyMoments = "quantity = 'moments'\n[grid]\ns = '0.1:3:12'\nL = '1e1:1e6:16'\n";

TEST_F(StudyTest, ResultsAreThoseOfTheLibrary) {
  const Study one = study(kMoments);
  const StudyRun run = run_study(one, path("s.sqlite"));
  EXPECT_EQ(run.units, 6);
  EXPECT_EQ(run.before, 0);
  EXPECT_EQ(run.ran, 6);
  EXPECT_EQ(run.failed, 0);
  EXPECT_FALSE(run.stopped);
  const StudyTable table = read_study_table(path("s.sqlite"));
  ASSERT_EQ(table.rows.size(), 6U);
  EXPECT_EQ(table.axes, (std::vector<std::string>{"s", "L"}));
  for (const StudyRow& row : table.rows) {
    const SoftmaxMoments expected =
        softmax_moments(std::get<double>(row.inputs[0]), std::get<double>(row.inputs[1]));
    EXPECT_EQ(row.results[0].value, expected.P2.value);
    EXPECT_EQ(row.results[0].error, expected.P2.error);
    EXPECT_EQ(row.results[5].value, expected.mse.value);
    EXPECT_EQ(row.results[6].value, 1 / expected.P2.value);  // infinite for the infinite prompt
  }
}

// Units are named after the content that a file had when the study was read.
TEST_F(StudyTest, AFileThatChangesMeanwhileEndsTheRun) {
  const std::string tokens = write("t.csv", "1\n2\n");
  const Study one = study("quantity = 'concentration'\n[settings]\nlaw = 'tokens:" + tokens +
                          "'\nquery = '1'\n[grid]\nL = [10, 20]\n");
  write("t.csv", "1\n25\n");
  try {
    run_study(one, path("s.sqlite"));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("t.csv has changed while"), std::string::npos) << error.what();
  }
  EXPECT_EQ(study_status(path("s.sqlite")).done, 0);
}

TEST_F(StudyTest, ASecondRunHasNothingToDo) {
  const Study one = study(kMoments);
  run_study(one, path("s.sqlite"));
  const std::string content = study_status(path("s.sqlite")).content;
  const StudyRun again = run_study(one, path("s.sqlite"));
  EXPECT_EQ(again.before, 6);
  EXPECT_EQ(again.ran, 0);
  EXPECT_EQ(study_status(path("s.sqlite")).content, content);
}

TEST_F(StudyTest, MorePointsRunOnlyTheNewOnes) {
  run_study(study(kMoments), path("s.sqlite"));
  // New values lie in the middle of both axes, so that all places change.
  const Study more =
      study("quantity = 'moments'\n[grid]\ns = [0.25, 0.5, 0.75, 1]\nL = [10, 30, 100, inf]\n");
  const StudyRun run = run_study(more, path("s.sqlite"));
  EXPECT_EQ(run.before, 6);
  EXPECT_EQ(run.ran, 10);
  run_study(more, path("fresh.sqlite"));
  EXPECT_EQ(study_status(path("s.sqlite")).content, study_status(path("fresh.sqlite")).content);
  EXPECT_EQ(csv_of(path("s.sqlite")), csv_of(path("fresh.sqlite")));
  // And back: units that are no longer in the study are kept, but not shown.
  EXPECT_EQ(run_study(study(kMoments), path("s.sqlite")).ran, 0);
  const StudyStatus status = study_status(path("s.sqlite"));
  EXPECT_EQ(status.units, 6);
  EXPECT_EQ(status.done, 6);
  EXPECT_EQ(status.others, 10);
  run_study(study(kMoments), path("small.sqlite"));
  EXPECT_EQ(status.content, study_status(path("small.sqlite")).content);
}

TEST_F(StudyTest, ThreadsDoNotMatter) {
  const Study one = study(kManyMoments);
  std::string content;
  for (const int threads : {1, 2, 3}) {
    const auto store = path(std::to_string(threads) + ".sqlite");
    EXPECT_EQ(run_study(one, store, {}, {.threads = threads}).ran, one.size());
    const std::string here = study_status(store).content;
    if (content.empty()) content = here;
    EXPECT_EQ(here, content) << threads;
  }
}

TEST_F(StudyTest, ProcessesDoNotMatter) {
  const Study one =
      study(kManyMoments + "[[points]]\ns = -1\nL = 10\n");  // the failure has a message to send
  run_study(one, path("one.sqlite"), {}, {.threads = 1});
  for (const int size : {2, 3}) {
    const auto store = path(std::to_string(size) + ".sqlite");
    std::vector<StudyRun> runs(static_cast<std::size_t>(size));
    const auto thrown = run_on(size, [&](const Ranks& ranks) {
      runs[static_cast<std::size_t>(ranks.rank())] =
          run_study(one, store, {}, {.threads = 1, .ranks = &ranks});
    });
    for (const auto& error : thrown) EXPECT_FALSE(error);
    EXPECT_EQ(runs[0].ran, one.size());
    EXPECT_EQ(runs[0].failed, 1);
    EXPECT_EQ(study_status(store).content, study_status(path("one.sqlite")).content);
  }
}

TEST_F(StudyTest, WarningsAreSentToTheProcessThatWrites) {
  const Study one = study(
      "quantity = 'concentration'\n[settings]\nlaw = 'three-point:mass=1e-7'\nd = 1\nquery = '1'\nprompts = "
      "100\n"
      "method = 'sampled'\n[grid]\nL = [10, 20, 30, 40]\n");
  run_on(2,
         [&](const Ranks& ranks) { run_study(one, path("s.sqlite"), {}, {.threads = 1, .ranks = &ranks}); });
  const StudyTable table = read_study_table(path("s.sqlite"));
  ASSERT_EQ(table.rows.size(), 4U);
  for (const StudyRow& row : table.rows) EXPECT_EQ(row.warning.rfind("rare tokens", 0), 0U) << row.warning;
}

TEST_F(StudyTest, AllProcessesHearOfAFailure) {
  const Study one = study(kMoments);
  write("bad.sqlite", "this is no store, but a text that is long enough to be looked at as one");
  const auto thrown =
      run_on(3, [&](const Ranks& ranks) { run_study(one, path("bad.sqlite"), {}, {.ranks = &ranks}); });
  EXPECT_THROW(std::rethrow_exception(thrown[0]), InputError);
  EXPECT_THROW(std::rethrow_exception(thrown[1]), OtherProcessFailed);
  EXPECT_THROW(std::rethrow_exception(thrown[2]), OtherProcessFailed);
}

TEST_F(StudyTest, DevicesDrawWhatIsSampled) {
  const FakeDevice device;  // without an engine
  const Study sampled = study(
      "quantity = 'concentration'\n[settings]\nlaw = 'rademacher'\nd = 2\nquery = '1,0'\nmethod = "
      "'sampled'\nprompts = 10\n[grid]\nL = [5, 10]\n");
  const StudyRun run = run_study(sampled, path("s.sqlite"), {}, {.device = &device});
  EXPECT_EQ(run.failed, 2);
  EXPECT_THAT(study_status(path("s.sqlite")).failures.at(0).message,
              ::testing::HasSubstr("this process cannot do this work"));
  EXPECT_THROW(run_study(study(kMoments), path("m.sqlite"), {}, {.device = &device}), InputError);
  EXPECT_FALSE(std::filesystem::exists(path("m.sqlite")));
}

TEST_F(StudyTest, StoppedRunsGoOn) {
  const Study one = study(kManyMoments);
  run_study(one, path("whole.sqlite"));
  std::atomic<bool> stop = false;
  const auto until = [&](std::int64_t most) {
    return StudyRunPlan{
        .progress = [&stop, most](std::int64_t finished, std::int64_t) { stop = finished >= most; }};
  };
  std::int64_t ran = 0;
  int stops = 0;
  for (std::int64_t most = 1; ran < one.size(); most += 20) {
    ASSERT_LT(stops, 100);
    stop = false;
    const StudyRun run = run_study(one, path("s.sqlite"), until(most), {.threads = 1, .stop = &stop});
    EXPECT_EQ(run.before, ran);
    ran += run.ran;
    if (run.stopped) ++stops;
    EXPECT_EQ(study_status(path("s.sqlite")).done, ran);
  }
  EXPECT_GT(stops, 0);
  EXPECT_EQ(ran, one.size());
  EXPECT_EQ(study_status(path("s.sqlite")).content, study_status(path("whole.sqlite")).content);
}

TEST_F(StudyTest, FailuresAreKeptAndTheOthersGoOn) {
  const Study one = study("quantity = 'moments'\n[grid]\ns = [1, -1, 2]\nL = [10]\n");
  EXPECT_EQ(run_study(one, path("s.sqlite")).failed, 1);
  StudyStatus status = study_status(path("s.sqlite"));
  EXPECT_EQ(status.done, 2);
  ASSERT_EQ(status.failures.size(), 1U);
  EXPECT_NE(status.failures[0].message.find("-1"), std::string::npos) << status.failures[0].message;
  EXPECT_NE(status.failures[0].inputs.find("\"s\":-1"), std::string::npos);
  EXPECT_EQ(run_study(one, path("s.sqlite")).ran, 0);
  const std::string content = status.content;
  EXPECT_EQ(run_study(one, path("s.sqlite"), {.retry = true}).failed, 1);
  status = study_status(path("s.sqlite"));
  EXPECT_EQ(status.done + status.failed, 3);
  EXPECT_EQ(status.content, content);
}

TEST_F(StudyTest, ToleranceBoundsErrors) {
  EXPECT_EQ(run_study(study("tolerance = 1e-6\n" + kMoments), path("a.sqlite")).failed, 0);
  EXPECT_GT(run_study(study("tolerance = 1e-17\n" + kMoments), path("b.sqlite")).failed, 0);
}

// method = "auto" is exact here, and the tolerance bounds its error as well.
TEST_F(StudyTest, ToleranceBoundsErrorsOfWhateverIsExact) {
  const std::string text =
      "quantity = 'concentration'\n[settings]\nlaw = 'gaussian'\nd = 2\nquery = '1,0'\n[grid]\nL = "
      "[10]\nmethod = "
      "['auto', 'exact']\n";
  EXPECT_EQ(run_study(study("tolerance = 1e-6\n" + text), path("a.sqlite")).failed, 0);
  EXPECT_EQ(run_study(study("tolerance = 1e-18\n" + text), path("b.sqlite")).failed, 2);
}

// For a sampled number the tolerance is the goal and `prompts` the limit; reaching either is no failure.
TEST_F(StudyTest, ToleranceStopsSampling) {
  const std::string text = "quantity = 'icl-risk'\n[settings]\nd = 2\nnoise = 0.1\n[grid]\nL = [10]\n";
  const auto error = [&](const std::string& tolerance, const std::string& store) {
    EXPECT_EQ(run_study(study(tolerance + text), path(store)).failed, 0);
    const StudyResult ridge = read_study_table(path(store)).rows.at(0).results.at(2);
    return ridge.error / ridge.value;
  };
  const double all = error("", "a.sqlite");
  EXPECT_EQ(error("tolerance = 1e-8\n", "b.sqlite"), all);  // out of reach, so that all samples are drawn
  const double some = error("tolerance = 0.02\n", "c.sqlite");
  EXPECT_GT(some, all);
  EXPECT_LE(some, 0.02);
}

// There is no memory for a matrix of 10^24 numbers, and the other units still run.
TEST_F(StudyTest, AUnitThatIsTooLargeFailsAlone) {
  const StudyRun run =
      run_study(study("quantity = 'concentration'\n[settings]\nlaw = 'gaussian'\nquery-law = "
                      "'gaussian'\n[grid]\nd = [1000000000000, 2, 3]\nL = [10]\n"),
                path("s.sqlite"), {}, {.threads = 1});
  EXPECT_EQ(run.ran, 3);
  EXPECT_EQ(run.failed, 1);
  EXPECT_EQ(study_status(path("s.sqlite")).failures.at(0).message, "out of memory");
}

TEST_F(StudyTest, ProcessesWithDifferentStudiesStop) {
  const Study one = study(kMoments), other = study(kMoments, {{"s", "0.5,2"}});
  const auto thrown = run_on(2, [&](const Ranks& ranks) {
    run_study(ranks.rank() == 0 ? one : other, path("s.sqlite"), {}, {.threads = 1, .ranks = &ranks});
  });
  EXPECT_THROW(std::rethrow_exception(thrown[0]), InputError);
  EXPECT_THROW(std::rethrow_exception(thrown[1]), InputError);
}

TEST_F(StudyTest, EveryQuantityRuns) {
  const std::vector<std::string> studies = {
      "quantity = 'concentration'\n[settings]\nlaw = 'gaussian'\nd = 2\nquery = '1,0'\n[grid]\nmethod = "
      "['exact', "
      "'sampled']\nprompts = 500\nL = [20]\n",
      "quantity = 'concentration'\n[settings]\nlaw = 'rademacher'\nd = 2\nquery-law = 'rademacher'\nprompts "
      "= "
      "500\n[grid]\nL = [20]\n",
      "quantity = 'icl-risk'\n[settings]\nd = 2\nA = '0.5*identity'\nb = 2\n[grid]\nnoise = [0, 0.1]\nL = "
      "[10, inf]\n",
      "quantity = 'icl-flow'\n[settings]\nd = 2\n[grid]\nattention = ['softmax', 'linear']\nL = [50, inf]\n",
      "quantity = 'icl-threshold'\n[settings]\nd = 2\nattention = 'linear'\n[grid]\nepsilon = [0.1]\n",
  };
  for (std::size_t i = 0; i < studies.size(); ++i) {
    const auto store = path(std::to_string(i) + ".sqlite");
    const StudyRun run = run_study(study(studies[i]), store);
    EXPECT_EQ(run.failed, 0) << studies[i] << (run.failed > 0 ? study_status(store).failures[0].message : "");
    EXPECT_EQ(run.ran, run.units);
    EXPECT_FALSE(csv_of(store).empty());
  }
}

// The best linear predictor of in-context regression with isotropic data has the risk
// d (d + 1) / (2 (L + d + 1)).
TEST_F(StudyTest, ThresholdsOfLinearAttention) {
  run_study(study("quantity = 'icl-threshold'\n[settings]\nd = 2\nattention = 'linear'\n[grid]\nepsilon = "
                  "[0.1, 0.02]\n"),
            path("s.sqlite"));
  const StudyTable table = read_study_table(path("s.sqlite"));
  ASSERT_EQ(table.rows.size(), 2U);
  for (const StudyRow& row : table.rows) {
    const auto at = std::find(table.parameters.begin(), table.parameters.end(), "epsilon");
    const double epsilon =
        std::get<double>(row.inputs[static_cast<std::size_t>(at - table.parameters.begin())]);
    EXPECT_EQ(row.results[0].value, std::ceil(3 / epsilon - 3 - 1e-9));
  }
}

TEST_F(StudyTest, EstimatesWriteNothing) {
  const Study one = study(kManyMoments);
  const StudyEstimate estimate = estimate_study(one, path("s.sqlite"));
  EXPECT_EQ(estimate.units, one.size());
  EXPECT_EQ(estimate.pending, one.size());
  EXPECT_GT(estimate.core_seconds, 0);
  EXPECT_FALSE(std::filesystem::exists(path("s.sqlite")));
  run_study(study(kMoments), path("s.sqlite"));
  EXPECT_EQ(estimate_study(study(kMoments), path("s.sqlite")).pending, 0);
}

}  // namespace
}  // namespace largo::test::run_study_test
