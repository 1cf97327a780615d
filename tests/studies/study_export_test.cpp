// CSV and JSON of a store: the numbers of the table, formulas disarmed, and damage reported in one line.
#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "largo/runtime/check.hpp"
#include "largo/studies/run_study.hpp"
#include "largo/studies/study_table.hpp"
#include "report/study_report.hpp"
#include "studies/sqlite.hpp"
#include "studies/studies.hpp"

namespace largo::test::study_export_test {
namespace {

class StudyExport : public StudyTest {
 protected:
  void execute(const std::string& sql) {
    studies::Database(path("s.sqlite"), studies::OpenMode::create, 1000).execute(sql);
  }

  void expect_damaged(const std::string& says) {
    const auto expect = [&](auto read) {
      try {
        read();
        ADD_FAILURE() << says;
      } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("this store is damaged: " + says), std::string::npos)
            << error.what();
        EXPECT_EQ(std::string(error.what()).find("json"), std::string::npos) << error.what();
      }
    };
    expect([&] { csv_of(path("s.sqlite")); });
    expect([&] { json_of(path("s.sqlite")); });
    expect([&] { read_study_table(path("s.sqlite")); });
  }
};

// A sample cannot know what it has missed, but the store keeps the warning, and all its readers see it.
TEST_F(StudyExport, WarningsAreKept) {
  run_study(study("quantity = 'concentration'\n[settings]\nlaw = 'three-point:mass=1e-7'\nd = 1\nquery = "
                  "'1'\nprompts = 200\n"
                  "[grid]\nmethod = ['exact', 'sampled']\nL = [100]\n"),
            path("s.sqlite"));
  const StudyTable table = read_study_table(path("s.sqlite"));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0].warning, "");
  const std::string& said = table.rows[1].warning;
  EXPECT_EQ(said.rfind("rare tokens carry the spread of the error", 0), 0U) << said;
  EXPECT_EQ(said.find("rare", 1), std::string::npos) << said;  // once for all results
  EXPECT_EQ(table.rows[1].message, "");
  EXPECT_EQ(study_status(path("s.sqlite")).failures.size(), 0U);
  const std::string csv = csv_of(path("s.sqlite"));
  EXPECT_NE(csv.find(",message,warning\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",\"" + said + "\"\n"), std::string::npos) << csv;
  const auto json = nlohmann::json::parse(json_of(path("s.sqlite")));
  EXPECT_FALSE(json.at("rows")[0].contains("warning"));
  EXPECT_EQ(json.at("rows")[1].at("warning"), said);
  EXPECT_TRUE(json.at("rows")[1].contains("results"));
  const auto sections = report::to_json(report::study_report(table, "largo report")).at("sections");
  EXPECT_EQ(sections.back().at("id"), "warnings");
  EXPECT_EQ(sections.back().at("tables")[0].at("rows")[0].back(), said);
}

// There are more rows than are read at a time, and their order differs from that of the study.
TEST_F(StudyExport, RowByRowIsTheTable) {
  run_study(study("quantity = 'moments'\n[grid]\ns = [1]\nL = '1e3:1e6:500'\n"), path("s.sqlite"));
  run_study(study("quantity = 'moments'\n[grid]\ns = [-1, 0.5, 1]\nL = '1e3:1e6:999'\n"), path("s.sqlite"));
  const StudyTable table = read_study_table(path("s.sqlite"));
  ASSERT_EQ(table.rows.size(), 2997U);
  const auto json = nlohmann::json::parse(json_of(path("s.sqlite")));
  EXPECT_EQ(json.at("content"), study_status(path("s.sqlite")).content);
  EXPECT_EQ(json.at("content"), table.content);
  EXPECT_EQ(json.at("units"), 2997);
  ASSERT_EQ(json.at("rows").size(), table.rows.size());
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const StudyRow& row = table.rows[i];
    const auto& other = json.at("rows")[i];
    EXPECT_EQ(other.at("inputs").at("L").get<double>(), std::get<double>(row.inputs[1]));
    EXPECT_EQ(other.contains("message"), i < 999);
    if (row.message.empty()) {
      EXPECT_EQ(other.at("results").at("P2").at("value").get<double>(), row.results[0].value);
    }
  }
  const std::string csv = csv_of(path("s.sqlite"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2998);
  const StudyExtent extent = write_study_csv(path("s.sqlite"), [](std::string_view) {});
  EXPECT_EQ(extent.rows, 2997);
  std::atomic<bool> stop = true;
  EXPECT_THROW(write_study_csv(path("s.sqlite"), [](std::string_view) {}, {.stop = &stop}), Stopped);
}

TEST_F(StudyExport, WritersAreNotInTheWay) {
  run_study(study(kMoments), path("s.sqlite"));
  int pieces = 0;
  write_study_csv(path("s.sqlite"), [&](std::string_view) {
    if (++pieces != 2) return;
    const StudyRun run = run_study(
        study("quantity = 'moments'\n[grid]\ns = [0.5, 1, 2]\nL = [10, 100, inf]\n"), path("s.sqlite"));
    EXPECT_EQ(run.ran, 3);
  });
  EXPECT_EQ(pieces, 7);
  // JSON begins with a hash of the content, so that a result that changes meanwhile is an error.
  pieces = 0;
  EXPECT_THROW(write_study_json(path("s.sqlite"),
                                [&](std::string_view) {
                                  if (++pieces == 1) execute("UPDATE units SET P2 = 7 WHERE unit = 1");
                                }),
               std::runtime_error);
}

TEST_F(StudyExport, FormulasAreTexts) {
  run_study(study(kMoments), path("s.sqlite"));
  const auto cell = [&](const std::string& text) {
    execute("UPDATE units SET inputs = json_set(inputs, '$.method', '" + text + "') WHERE ordinal = 0");
    const std::string csv = csv_of(path("s.sqlite"));
    const std::size_t begin = csv.find("\n0.5,10,") + 8;
    return csv.substr(begin, csv.find(",1,,", begin) - begin);
  };
  for (const char* text : {"=1+1", "+cmd", "-2+3", "@SUM(A1)", "-E5", "=", "-"}) {
    EXPECT_EQ(cell(text), "'" + std::string(text));
  }
  EXPECT_EQ(cell("=HYPERLINK(\"a\",1)"), "\"'=HYPERLINK(\"\"a\"\",1)\"");
  EXPECT_EQ(cell("-1,0;2e3,-.5"), "\"-1,0;2e3,-.5\"");
  for (const char* text : {"exact", "-1", "+2.5e3", "a=b", "0.5*U.npy", "''=1"}) {
    const std::string plain = text[0] == '\'' ? text + 1 : text;
    EXPECT_EQ(cell(text), plain);
  }
  execute("UPDATE units SET state = 'failed', message = '=1' WHERE unit = 1");
  EXPECT_NE(csv_of(path("s.sqlite")).find(",'=1,\n"), std::string::npos);
}

TEST_F(StudyExport, DamageIsSaidInALine) {
  run_study(study("quantity = 'moments'\n[grid]\ns = [1, -1]\nL = [10]\n"), path("s.sqlite"));
  for (const char* inputs : {"'{'", "'[1]'", "'7'", "''", "x'00ff'", "'{\"s\":1,}'"}) {
    execute(std::string("UPDATE units SET inputs = ") + inputs);
    expect_damaged("the inputs of unit 1 are not an object of JSON");
    EXPECT_THROW(study_status(path("s.sqlite")), InputError);  // it shows the inputs of the failed unit
  }
  execute("UPDATE units SET inputs = '{}'");
  for (const char* change :
       {"'{'", "'[]'", "''", "x'00'", "json_remove(configuration, '$.grid')",
        "json_set(configuration, '$.grid', 7)", "json_set(configuration, '$.grid', json('{\"other\":[1]}'))",
        "json_set(configuration, '$.points', json('[1]'))", "json_set(configuration, '$.results', 'P2')",
        "json_set(configuration, '$.parameters[0]', 's\"')",
        "json_set(configuration, '$.settings', json('[1]'))",
        "json_set(configuration, '$.settings', json('{\"seed\":\"a\"}'))"}) {
    execute("CREATE TABLE kept AS SELECT * FROM study");
    execute(std::string("UPDATE study SET configuration = ") + change);
    expect_damaged("what it says about its study cannot be read");
    EXPECT_THROW(study_status(path("s.sqlite")), InputError) << change;
    execute("UPDATE study SET configuration = (SELECT configuration FROM kept)");
    execute("DROP TABLE kept");
  }
  EXPECT_NO_THROW(csv_of(path("s.sqlite")));
}

}  // namespace
}  // namespace largo::test::study_export_test
