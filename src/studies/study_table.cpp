#include "largo/studies/study_table.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "largo/numerics/check.hpp"
#include "numerics/sha256.hpp"
#include "studies/store.hpp"
#include "studies/study_json.hpp"

namespace largo {
namespace {

constexpr std::int64_t kFailuresShown = 10;

// One finished unit after another, in the study's order.
class Rows {
 public:
  Rows(Database& database, const std::vector<std::string>& results)
      : size_(results.size()), statement_(database, query(results)) {}

  bool next() { return statement_.step(); }
  std::string_view id() const { return statement_.bytes(0); }
  std::string inputs() const { return statement_.text(1); }
  bool done() const { return statement_.bytes(2) == "done"; }
  std::string message() const { return statement_.text(3); }
  StudyResult result(std::size_t i) const {
    const int column = static_cast<int>(2 * i) + 4;
    return {statement_.real(column), statement_.real(column + 1)};
  }
  std::size_t size() const { return size_; }

 private:
  static std::string query(const std::vector<std::string>& results) {
    std::string sql = "SELECT id, inputs, state, message";
    for (const std::string& name : results) sql += fmt::format(", \"{0}\", \"{0}_error\"", name);
    return sql + " FROM units WHERE ordinal IS NOT NULL ORDER BY ordinal";
  }

  std::size_t size_;
  Statement statement_;
};

class ContentHash {
 public:
  explicit ContentHash(const std::vector<std::string>& results) {
    for (const std::string& name : results) hash_.add(fmt::format("{}\n", name));
  }
  void add(const Rows& row) {
    hash_.add(row.id());
    if (!row.done()) {
      hash_.add(fmt::format("failed: {}\n", row.message()));
      return;
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
      const StudyResult result = row.result(i);
      for (const double number : {result.value, result.error})
        hash_.add(std::isnan(number) ? kUnknown : number);
    }
  }
  std::string finish() {
    const auto digest = hash_.finish();
    return to_hex(digest.data(), digest.size());
  }

 private:
  Sha256 hash_;
};

struct Header {
  std::string title, quantity, configuration, version;
  std::int64_t units = 0;
  StudyJson json;
  std::vector<std::string> results;
};

Header read_header(Database& database, const std::string& name) {
  Header header;
  Statement read(database, "SELECT title, quantity, configuration, units, version FROM study");
  if (!read.step()) fail(name, "this store is damaged: it is about no study");
  header.title = read.text(0);
  header.quantity = read.text(1);
  header.configuration = read.text(2);
  header.units = read.integer(3);
  header.version = read.text(4);
  header.json = StudyJson::parse(header.configuration);
  header.results = header.json.at("results").get<std::vector<std::string>>();
  for (const std::string& result : header.results) {
    if (result.find('"') != std::string::npos) {
      fail(name, "this store is damaged: a result has no proper name");
    }
  }
  return header;
}

// Errors in the words of a user.
template <typename Read>
auto reading(const std::filesystem::path& store, const Read& read) {
  try {
    const auto database = read_store(store);
    Transaction transaction(*database, OpenMode::read);
    return read(*database);
  } catch (const SqliteError& error) {
    rethrow(store, error);
  } catch (const StudyJson::exception& error) {
    fail(store.string(), fmt::format("this store is damaged ({})", error.what()));
  }
}

std::vector<std::string> axes_of(const StudyJson& configuration) {
  std::vector<std::string> axes;
  const auto add = [&](const StudyJson& object) {
    for (const auto& [key, value] : object.items()) {
      if (std::find(axes.begin(), axes.end(), key) == axes.end()) axes.push_back(key);
    }
  };
  add(configuration.at("grid"));
  for (const StudyJson& point : configuration.at("points")) add(point);
  return axes;
}

}  // namespace

StudyStatus study_status(const std::filesystem::path& store) {
  const bool running = is_locked(store);
  return reading(store, [&](Database& database) {
    const Header header = read_header(database, store.string());
    StudyStatus status;
    status.title = header.title;
    status.quantity = header.quantity;
    status.version = header.version;
    status.units = header.units;
    status.running = running;
    status.others = database.number("SELECT count(*) FROM units WHERE ordinal IS NULL");
    ContentHash content(header.results);
    for (Rows rows(database, header.results); rows.next();) {
      content.add(rows);
      ++(rows.done() ? status.done : status.failed);
      if (!rows.done() && status.failed <= kFailuresShown) {
        status.failures.push_back({rows.inputs(), rows.message()});
      }
    }
    status.content = content.finish();
    Statement runs(database,
                   "SELECT started, latest, units FROM runs WHERE units > 0 ORDER BY run DESC LIMIT 1");
    if (runs.step() && runs.real(1) > runs.real(0))
      status.rate = runs.real(2) / (runs.real(1) - runs.real(0));
    Statement seconds(database, "SELECT total(seconds) FROM units WHERE ordinal IS NOT NULL");
    if (seconds.step()) status.unit_seconds = seconds.real(0);
    return status;
  });
}

StudyTable read_study_table(const std::filesystem::path& store) {
  return reading(store, [&](Database& database) {
    const Header header = read_header(database, store.string());
    StudyTable table;
    table.title = header.title;
    table.quantity = header.quantity;
    table.version = header.version;
    table.units = header.units;
    table.configuration = header.configuration;
    table.parameters = header.json.at("parameters").get<std::vector<std::string>>();
    table.results = header.results;
    table.axes = axes_of(header.json);
    table.seed = header.json.at("settings").value("seed", 1.0);
    ContentHash content(header.results);
    for (Rows rows(database, header.results); rows.next();) {
      content.add(rows);
      StudyRow row;
      const StudyJson inputs = StudyJson::parse(rows.inputs());
      for (const std::string& name : table.parameters) {
        row.inputs.push_back(inputs.contains(name) ? value_of(inputs.at(name)) : StudyValue());
      }
      for (std::size_t i = 0; i < rows.size(); ++i) row.results.push_back(rows.result(i));
      if (!rows.done()) row.message = rows.message();
      table.rows.push_back(std::move(row));
    }
    table.content = content.finish();
    return table;
  });
}

}  // namespace largo
