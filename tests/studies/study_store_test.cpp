// The store: what it refuses, what it survives, and what its reports contain.
#include <sqlite3.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "largo/runtime/check.hpp"
#include "largo/studies/run_study.hpp"
#include "largo/studies/study_table.hpp"
#include "report/study_report.hpp"
#include "studies/store.hpp"
#include "studies/studies.hpp"

namespace largo::test::study_store_test {
namespace {

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void execute(const std::filesystem::path& path, const std::string& sql) {
  studies::Database(path, studies::OpenMode::create, 1000).execute(sql);
}

class StudyStoreTest : public StudyTest {
 protected:
  // Expects an InputError with these words, with nothing changed and nothing left behind.
  void refuse(const Study& one, const std::string& says) {
    const std::string before = bytes_of(path("s.sqlite"));
    try {
      run_study(one, path("s.sqlite"));
      ADD_FAILURE() << says;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
    EXPECT_EQ(bytes_of(path("s.sqlite")), before);
    EXPECT_FALSE(std::filesystem::exists(path("s.sqlite.lock")));
    EXPECT_FALSE(std::filesystem::exists(path("s.sqlite-journal")));
  }
};

TEST_F(StudyStoreTest, FilesThatAreNoStore) {
  const Study one = study(kMoments);
  write("s.sqlite", "title,value\n1,2\n" + std::string(5000, 'x'));
  refuse(one, "not a store");
  EXPECT_THROW(study_status(path("s.sqlite")), InputError);
  std::filesystem::remove(path("s.sqlite"));
  execute(path("s.sqlite"), "CREATE TABLE mine (x)");
  refuse(one, "not a store");
  EXPECT_THROW(read_study_table(path("s.sqlite")), InputError);
  EXPECT_THROW(study_status(path("missing.sqlite")), InputError);
  EXPECT_FALSE(std::filesystem::exists(path("missing.sqlite")));
  EXPECT_THROW(study_status(path(".")), InputError);
  EXPECT_THROW(run_study(one, path(".")), InputError);
  EXPECT_THROW(run_study(one, path("nowhere/s.sqlite")), InputError);
}

TEST_F(StudyStoreTest, AnEmptyFileIsANewStore) {
  write("s.sqlite", "");
  EXPECT_THROW(study_status(path("s.sqlite")), InputError);
  EXPECT_EQ(run_study(study(kMoments), path("s.sqlite")).ran, 6);
}

TEST_F(StudyStoreTest, OtherVersions) {
  const Study one = study(kMoments);
  run_study(one, path("s.sqlite"));
  execute(path("s.sqlite"), "PRAGMA user_version = 99");
  refuse(one, "version 99");
  EXPECT_THROW(study_status(path("s.sqlite")), InputError);
}

TEST_F(StudyStoreTest, OtherStudies) {
  run_study(study(kMoments), path("s.sqlite"));
  refuse(study("seed = 2\n" + kMoments), "its seed is 1, and here 2");
  refuse(study("tolerance = 0.1\n" + kMoments), "its tolerance is not given, and here 0.1");
  refuse(study("quantity = 'icl-risk'\n[grid]\nL = [10]\n"), "its quantity is \"moments\"");
  // A parameter that was fixed may vary.
  EXPECT_EQ(
      run_study(study("quantity = 'moments'\n[grid]\nseed = [1, 2]\ns = [0.5, 1]\nL = [10, 100, inf]\n"),
                path("s.sqlite"))
          .ran,
      6);
}

TEST_F(StudyStoreTest, DamagedStores) {
  const Study one = study("quantity = 'moments'\n[grid]\ns = '0.1:3:20'\nL = '1e1:1e6:20'\n");
  run_study(one, path("s.sqlite"));
  const std::string whole = bytes_of(path("s.sqlite"));
  ASSERT_GT(whole.size(), 50000U);
  for (const std::size_t size : {whole.size() / 2, whole.size() - 5000, std::size_t{1000}}) {
    write("s.sqlite", whole.substr(0, size));
    EXPECT_THROW(run_study(one, path("s.sqlite")), InputError) << size;
    EXPECT_EQ(bytes_of(path("s.sqlite")).size(), size);
  }
  std::string scribbled = whole;
  for (std::size_t i = 20000; i < 28000; ++i) scribbled[i] = 'x';
  write("s.sqlite", scribbled);
  EXPECT_THROW(run_study(one, path("s.sqlite")), InputError);
  write("s.sqlite", whole);
  execute(path("s.sqlite"), "UPDATE study SET configuration = '{'");
  EXPECT_THROW(run_study(one, path("s.sqlite")), InputError);
  EXPECT_THROW(study_status(path("s.sqlite")), InputError);
  write("s.sqlite", whole);
  execute(path("s.sqlite"), "UPDATE units SET id = (SELECT id FROM units WHERE unit = 1) WHERE unit = 2");
  EXPECT_THROW(run_study(one, path("s.sqlite")), InputError);
  write("s.sqlite", whole);
  EXPECT_EQ(run_study(one, path("s.sqlite")).ran, 0);
}

TEST_F(StudyStoreTest, OneProcessAtATime) {
  const Study one = study(kMoments);
  {
    const studies::StudyStore first(path("s.sqlite"), one, 1, 1);
    try {
      run_study(one, path("s.sqlite"));
      ADD_FAILURE();
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("another largo is running"), std::string::npos)
          << error.what();
      EXPECT_NE(std::string(error.what()).find(std::to_string(::getpid())), std::string::npos)
          << error.what();
    }
    EXPECT_TRUE(study_status(path("s.sqlite")).running);
  }
  EXPECT_FALSE(study_status(path("s.sqlite")).running);
  // A lock that a killed process has left does not count.
  write("s.sqlite.lock", "12345\n");
  EXPECT_EQ(run_study(one, path("s.sqlite")).ran, 6);
}

// Two names would mean two locks, two processes, and each unit twice.
TEST_F(StudyStoreTest, LinksAreTheStoreTheyPointTo) {
  const Study one = study(kMoments);
  std::filesystem::create_directory(path("folder"));
  std::filesystem::create_directory_symlink("folder", path("other"));
  std::filesystem::create_symlink("other/s.sqlite", path("link.sqlite"));  // the target does not exist yet
  {
    const studies::StudyStore first(path("link.sqlite"), one, 1, 1);
    EXPECT_TRUE(std::filesystem::exists(path("folder/s.sqlite.lock")));
    for (const char* name :
         {"folder/s.sqlite", "other/s.sqlite", "link.sqlite", "folder/../other/s.sqlite"}) {
      EXPECT_THROW(studies::StudyStore(path(name), one, 1, 1), InputError) << name;
      EXPECT_TRUE(study_status(path(name)).running) << name;
    }
  }
  EXPECT_EQ(run_study(one, path("other/s.sqlite")).ran, 6);
  EXPECT_EQ(run_study(one, path("link.sqlite")).ran, 0);
  std::filesystem::create_hard_link(path("folder/s.sqlite"), path("s.sqlite"));
  refuse(one, "hard links");
}

TEST_F(StudyStoreTest, NamesThatSqliteHasAMeaningFor) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(path("."));
  const StudyRun run = run_study(study(kMoments), ":memory:");
  std::filesystem::current_path(before);
  EXPECT_EQ(run.ran, 6);
  EXPECT_EQ(study_status(path(":memory:")).done, 6);
}

TEST_F(StudyStoreTest, ALockThatIsALinkIsLeftAlone) {
  write("precious", "mine");
  std::filesystem::create_symlink("precious", path("s.sqlite.lock"));
  EXPECT_THROW(run_study(study(kMoments), path("s.sqlite")), InputError);
  EXPECT_EQ(bytes_of(path("precious")), "mine");
}

// A reader holds a large store for seconds.
TEST_F(StudyStoreTest, AStartWaitsForReaders) {
  run_study(study(kMoments), path("s.sqlite"));
  auto reader = std::make_unique<studies::Database>(path("s.sqlite"), studies::OpenMode::read, 1000);
  auto read = std::make_unique<studies::Statement>(*reader, "SELECT * FROM units");
  ASSERT_TRUE(read->step());
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    read.reset();
    reader.reset();
  });
  EXPECT_EQ(run_study(study(kMoments, {{"s", "0.5,1,2"}}), path("s.sqlite")).ran, 3);
  later.join();
}

TEST_F(StudyStoreTest, AReaderOnlyPutsOffWriting) {
  const Study one = study(kMoments);
  studies::StudyStore store(path("s.sqlite"), one, 1, 1);
  const std::vector<studies::FinishedUnit> finished = {
      {0, 0.1, std::vector<studies::UnitResult>(7, studies::UnitResult(1.0)), ""}};
  {
    studies::Database reader(path("s.sqlite"), studies::OpenMode::read, 1000);
    studies::Statement read(reader, "SELECT * FROM study");
    ASSERT_TRUE(read.step());
    EXPECT_FALSE(store.write(finished));
  }
  EXPECT_EQ(store.done(), 0);
  EXPECT_TRUE(store.write(finished));
  EXPECT_EQ(store.done(), 1);
  EXPECT_EQ(store.pending(false).size(), 5U);
}

TEST_F(StudyStoreTest, ViewsForOtherPrograms) {
  run_study(study(kMoments), path("s.sqlite"));
  studies::Database database(path("s.sqlite"), studies::OpenMode::read, 1000);
  EXPECT_EQ(database.number("SELECT count(*) FROM points"), 6);
  EXPECT_EQ(database.number("SELECT count(*) FROM results WHERE value IS NOT NULL"), 42);
  EXPECT_EQ(database.number("SELECT L FROM points WHERE ordinal = 1"), 100);
  EXPECT_EQ(database.number("SELECT count(*) FROM units WHERE seconds >= 0 AND run = 1"), 6);
  EXPECT_EQ(database.number("PRAGMA application_id"), studies::kApplicationId);
}

TEST_F(StudyStoreTest, ReportsHaveFiguresForTheAxes) {
  const Study one = study(
      "title = 'Moments'\nquantity = 'moments'\n[grid]\nL = '1e1:1e6:6'\ns = [1, 2]\nseed = [1, "
      "2]\n[[points]]\ns = "
      "-1\nL = 10\n");
  run_study(one, path("s.sqlite"));
  const StudyTable table = read_study_table(path("s.sqlite"));
  const auto data = report::to_json(report::study_report(table, "largo report s.sqlite"));
  EXPECT_EQ(data.at("kind"), "study");
  EXPECT_EQ(data.at("title"), "Moments");
  ASSERT_EQ(data.at("sections").size(), 8U);
  EXPECT_EQ(data.at("sections").at(7).at("title"), "Failed units");
  for (std::size_t i = 0; i < 7; ++i) {
    const auto& section = data.at("sections").at(i);
    const auto& figure = section.at("figures").at(0);
    const auto& panel = figure.at("panels").at(0);
    EXPECT_EQ(panel.at("x_label"), "L");
    EXPECT_EQ(panel.at("log_x"), true);
    ASSERT_EQ(panel.at("curves").size(), 2U);  // values of s; the third one, -1, has no results
    EXPECT_EQ(panel.at("curves").at(0).at("x").size(), 6U);
    EXPECT_EQ(panel.at("curves").at(0).at("label"), "s = 1");
    EXPECT_EQ(figure.at("slider").at("label"), "seed");
    EXPECT_EQ(figure.at("slider").at("panels").size(), 2U);
    EXPECT_EQ(section.at("tables").at(0).at("rows").size(), 25U);
    EXPECT_EQ(section.at("tables").at(0).at("columns").size(), 5U);
  }
  EXPECT_EQ(io::to_text(report::to_json(report::study_report(table, ""))).find("nan"), std::string::npos);
}

TEST_F(StudyStoreTest, ReportsCanHaveAnyNumberOnTheXAxis) {
  run_study(study("quantity = 'moments'\n[grid]\ns = [0.5, 1, 2]\nL = '1e2:1e6:3'\nseed = [1, 2]\n"),
            path("s.sqlite"));
  const StudyTable table = read_study_table(path("s.sqlite"));
  const auto figure_over = [&](const std::string& x) {
    return report::to_json(report::study_report(table, "", x)).at("sections").at(0).at("figures").at(0);
  };
  const auto figure = figure_over("");
  EXPECT_EQ(figure.at("x"), "s");
  ASSERT_EQ(figure.at("views").size(), 2U);
  EXPECT_EQ(figure.at("views").at(0).at("x"), "L");
  EXPECT_EQ(figure.at("views").at(1).at("x"), "seed");
  EXPECT_EQ(figure.at("panels").at(0).at("curves").at(2).at("label"), "L = 10⁶") << "not 1000000";
  const auto over_L = figure_over("L");
  EXPECT_EQ(over_L.at("x"), "L");
  EXPECT_EQ(over_L.at("views").at(0).at("x"), "s");
  // The values are those of the table, whatever the axis.
  const auto& curve = over_L.at("panels").at(0).at("curves").at(1);  // s = 1
  EXPECT_EQ(curve.at("label"), "s = 1");
  EXPECT_EQ(curve.at("x"), (std::vector<double>{100, 1e4, 1e6}));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(curve.at("y").at(i), figure.at("panels").at(0).at("curves").at(i).at("y").at(1)) << i;
  }
  EXPECT_EQ(over_L.at("slider").at("label"), "seed");
  try {
    report::study_report(table, "", "law");
    FAIL() << "there is no such axis";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("'law'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("s, L, seed"), std::string::npos) << error.what();
  }
}

TEST_F(StudyStoreTest, ReportsSayWhatFailed) {
  run_study(study("quantity = 'moments'\ntolerance = 1e-100\n[grid]\ns = [1, 2]\nL = [10]\n"),
            path("s.sqlite"));
  const auto data = report::to_json(report::study_report(read_study_table(path("s.sqlite")), ""));
  ASSERT_EQ(data.at("sections").size(), 1U);
  const auto& table = data.at("sections").at(0).at("tables").at(0);
  EXPECT_EQ(table.at("columns"), (std::vector<std::string>{"s", "L", "message"}));
  ASSERT_EQ(table.at("rows").size(), 2U);
  EXPECT_EQ(table.at("rows").at(1).at(0), 2);
  EXPECT_NE(table.at("rows").at(1).at(2).get<std::string>().find("tolerance"), std::string::npos);
}

TEST_F(StudyStoreTest, ReportsSayWhatHasNoPlaceInAFigure) {
  for (const bool infinite : {false, true}) {
    const std::string lengths = infinite ? "[10, 100, inf]" : "[10, 100]",
                      store = infinite ? "i.sqlite" : "f.sqlite";
    run_study(study("quantity = 'moments'\n[settings]\ns = 1\n[grid]\nL = " + lengths + "\n"), path(store));
    const std::string data =
        io::to_text(report::to_json(report::study_report(read_study_table(path(store)), "")));
    EXPECT_EQ(data.find("L = inf has no place on the axis") != std::string::npos, infinite);
  }
}

TEST_F(StudyStoreTest, CsvQuotesWhatNeedsIt) {
  run_study(
      study(
          "quantity = 'concentration'\n[settings]\nlaw = 'gaussian'\nd = 2\nquery = '1,0'\n[grid]\nL = [10, "
          "inf]\n"),
      path("s.sqlite"));
  const std::string csv = csv_of(path("s.sqlite"));
  EXPECT_NE(csv.find("\ngaussian,2,identity,identity,\"1,0\",,1,10,auto,"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",inf,auto,"), std::string::npos) << csv;
  const auto json = nlohmann::json::parse(json_of(path("s.sqlite")));
  EXPECT_EQ(json.at("rows").at(1).at("inputs").at("L"), "inf");
  EXPECT_EQ(json.at("rows").at(1).at("results").at("output").at("value"), 0);
}

}  // namespace
}  // namespace largo::test::study_store_test
