#include "studies/store.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"
#include "largo/version.hpp"
#include "studies/study_json.hpp"

namespace largo::studies {
namespace {

constexpr int kPatience = 100;         // ms that a commit waits for readers before it is put off
constexpr int kFirstPatience = 10000;  // ms, for readers and at the start: a commit may have much to write

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Whether the file is new, or was left by a process killed in its first transaction.
bool is_empty(Database& database) {
  return database.number("SELECT count(*) FROM sqlite_master") == 0 &&
         database.number("PRAGMA application_id") == 0;
}

void check_store(Database& database, const std::string& name) {
  if (database.number("PRAGMA application_id") != kApplicationId) {
    fail(name, "this is a database, but not a store of largo");
  }
  const std::int64_t version = database.number("PRAGMA user_version");
  if (version != kSchemaVersion) {
    fail(name, fmt::format("this store has version {}, and largo {} reads version {}", version, kVersion,
                           kSchemaVersion));
  }
}

// Whether the store belongs to this study. A store of another study is not kept if it has no result at all
// (its units all failed because of a wrong setting, say), and is refused if it has results.
bool is_of(Database& database, const std::filesystem::path& path, const Study& study) {
  Statement read(database, "SELECT configuration FROM study");
  if (!read.step()) fail(path.string(), "this store is damaged: it names no study");
  std::string other;
  try {
    other = study_difference(read.text(0), study.configuration());
  } catch (const io::Json::exception&) {
    fail(path.string(), "this store is damaged: what it says about its study cannot be read");
  }
  if (other.empty()) return true;
  if (database.number("SELECT count(*) FROM units WHERE state = 'done'") > 0) {
    fail(path.string(), fmt::format("this store is of another study: {}; give another store", other));
  }
  return false;
}

// Where the study now has the finished units, which are found by their ids.
struct Places {
  std::vector<char> state;  // state of each unit of the study
  struct Move {
    std::int64_t unit, ordinal;  // -1: none
  };
  std::vector<Move> moves;                      // rows that are not in their place
  std::map<std::int64_t, std::int64_t> failed;  // rows of units that failed
};

Places find_places(Database& database, const std::filesystem::path& path, const Study& study) {
  Places places;
  places.state.assign(static_cast<std::size_t>(study.size()), ' ');
  std::vector<std::int64_t> order(places.state.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return study.id(a) < study.id(b); });
  Statement read(database, "SELECT unit, id, ordinal, state FROM units");
  while (read.step()) {
    const std::string_view bytes = read.bytes(1);
    UnitId id;
    if (bytes.size() != id.bytes.size()) fail(path.string(), "this store is damaged: a unit has no name");
    std::memcpy(id.bytes.data(), bytes.data(), id.bytes.size());
    const auto at =
        std::lower_bound(order.begin(), order.end(), id,
                         [&](std::int64_t a, const UnitId& wanted) { return study.id(a) < wanted; });
    const std::int64_t place = at != order.end() && study.id(*at) == id ? *at : -1;
    if (place >= 0) {
      char& state = places.state[static_cast<std::size_t>(place)];
      if (state != ' ') fail(path.string(), "this store is damaged: a unit is there twice");
      state = read.bytes(3) == "done" ? 'd' : 'f';
      if (state == 'f') places.failed[place] = read.integer(0);
    }
    if (place != (read.null(2) ? -1 : read.integer(2))) places.moves.push_back({read.integer(0), place});
  }
  return places;
}

std::vector<std::int64_t> units_to_run(const std::vector<char>& state, bool retry) {
  std::vector<std::int64_t> units;
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (state[i] == ' ' || (retry && state[i] == 'f')) units.push_back(static_cast<std::int64_t>(i));
  }
  return units;
}

void check_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    fail(path.string(), "this is not a file");
  }
}

std::string quoted(const std::string& name) { return fmt::format("\"{}\"", name); }

// The parameters that are the same at every unit: null if not given. Those that vary are absent.
std::map<std::string, io::Json> fixed_of(const io::Json& configuration) {
  std::map<std::string, io::Json> fixed;
  for (const auto& name : configuration.at("parameters")) {
    const auto key = name.get<std::string>();
    const auto& settings = configuration.at("settings");
    bool varies = configuration.at("grid").contains(key);
    for (const auto& point : configuration.at("points")) varies = varies || point.contains(key);
    if (!varies) fixed[key] = settings.contains(key) ? settings.at(key) : io::Json(nullptr);
  }
  return fixed;
}

}  // namespace

void rethrow(const std::filesystem::path& path, const SqliteError& error) {
  if (error.not_a_database()) {
    fail(path.string(), fmt::format("this is not a store of largo, or it is damaged ({})", error.what()));
  }
  if (error.cannot_open())
    fail(path.string(), fmt::format("this store cannot be written ({})", error.what()));
  if (error.busy()) {
    throw std::runtime_error(fmt::format("{}: another program holds a lock on the store", path.string()));
  }
  if (error.full()) {
    throw std::runtime_error(fmt::format(
        "{}: the store cannot be written: is the disk full? ({}) What was finished before is kept",
        path.string(), error.what()));
  }
  throw std::runtime_error(fmt::format("{}: {}", path.string(), error.what()));
}

std::unique_ptr<Database> read_store(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) fail(path.string(), "there is no such store");
  check_file(path);
  try {
    auto database = std::make_unique<Database>(file_of_store(path), OpenMode::read, kFirstPatience);
    if (is_empty(*database)) fail(path.string(), "this store is empty: nothing was run");
    check_store(*database, path.string());
    return database;
  } catch (const SqliteError& error) {
    rethrow(path, error);
  }
}

std::vector<std::int64_t> pending_units(const Study& study, const std::filesystem::path& path, bool retry) {
  std::vector<char> state(static_cast<std::size_t>(study.size()), ' ');
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && std::filesystem::file_size(path, ignored) > 0) {
    const auto database = read_store(path);
    try {
      if (is_of(*database, path, study)) state = find_places(*database, path, study).state;
    } catch (const SqliteError& error) {
      rethrow(path, error);
    }
  }
  return units_to_run(state, retry);
}

StudyStore::StudyStore(const std::filesystem::path& path, const Study& study, int threads, int processes)
    : path_(path), study_(study), lock_(path), state_(static_cast<std::size_t>(study.size()), ' ') {
  check_file(path);
  if (std::error_code none; std::filesystem::hard_link_count(path, none) > 1 && !none) {
    fail(path.string(), "this store has several names (hard links), each with a lock of its own: copy it");
  }
  try {
    database_ = std::make_unique<Database>(file_of_store(path), OpenMode::create, kFirstPatience);
    const bool fresh = is_empty(*database_);
    if (!fresh) check_store(*database_, path.string());
    Transaction transaction(*database_, OpenMode::create);
    fresh ? create() : adopt();
    Statement insert(
        *database_,
        "INSERT INTO runs (version, started, latest, units, threads, processes) VALUES (?1, ?2, ?2, "
        "0, ?3, ?4)");
    insert.bind(1, kVersion);
    insert.bind(2, now());
    insert.bind(3, std::int64_t{threads});
    insert.bind(4, std::int64_t{processes});
    insert.run();
    run_ = database_->last_row();
    transaction.commit();
    database_->wait_for_locks(kPatience);
  } catch (const SqliteError& error) {
    rethrow(path, error);
  }
}

void StudyStore::create() {
  database_->execute(store_schema(study_));
  const std::string configuration = study_.configuration();
  Statement insert(*database_, "INSERT INTO study VALUES (?, ?, ?, ?, ?)");
  insert.bind(1, study_.plan().title);
  insert.bind(2, study_.plan().quantity);
  insert.bind(3, configuration);
  insert.bind(4, study_.size());
  insert.bind(5, kVersion);
  insert.run();
}

void StudyStore::adopt() {
  if (database_->number("SELECT count(*) FROM study") != 1) {
    fail(path_.string(), "this store is damaged: it must be about one study");
  }
  {
    Statement check(*database_, "PRAGMA quick_check(1)");
    if (!check.step() || check.text(0) != "ok") {
      fail(path_.string(), fmt::format("this store is damaged ({})", check.text(0)));
    }
  }
  if (!is_of(*database_, path_, study_)) {
    database_->execute(
        "DROP VIEW results; DROP VIEW points; DROP TABLE units; DROP TABLE runs; DROP TABLE study");
    create();
    return;
  }
  Statement update(*database_, "UPDATE study SET title = ?, configuration = ?, units = ?, version = ?");
  update.bind(1, study_.plan().title);
  const std::string configuration = study_.configuration();
  update.bind(2, configuration);
  update.bind(3, study_.size());
  update.bind(4, kVersion);
  update.run();
  Places places = find_places(*database_, path_, study_);
  state_ = std::move(places.state);
  failed_ = std::move(places.failed);
  Statement place(*database_, "UPDATE units SET ordinal = ?2 WHERE unit = ?1");
  for (const auto& [unit, ordinal] : places.moves) {
    place.bind(1, unit);
    if (ordinal < 0) {
      place.bind_null(2);
    } else {
      place.bind(2, ordinal);
    }
    place.run();
  }
}

std::vector<std::int64_t> StudyStore::pending(bool retry) const { return units_to_run(state_, retry); }

std::int64_t StudyStore::done() const { return std::count(state_.begin(), state_.end(), 'd'); }
std::int64_t StudyStore::failed() const { return std::count(state_.begin(), state_.end(), 'f'); }

bool StudyStore::write(const std::vector<FinishedUnit>& finished) {
  if (finished.empty()) return true;
  try {
    Transaction transaction(*database_, OpenMode::create);
    const std::size_t names = study_.quantity().results().size();
    std::string marks = "?";
    for (std::size_t i = 0; i < 7 + 2 * names; ++i) marks += ", ?";
    Statement insert(*database_, fmt::format("INSERT OR REPLACE INTO units VALUES ({})", marks));
    for (const FinishedUnit& one : finished) {
      const UnitId& id = study_.id(one.unit);
      const std::string inputs = study_.inputs_json(one.unit);
      const bool good = one.failure.empty();
      const auto before = failed_.find(one.unit);  // a unit that is tried again replaces its row
      if (before == failed_.end()) {
        insert.bind_null(1);
      } else {
        insert.bind(1, before->second);
      }
      insert.bind_bytes(2, id.bytes.data(), id.bytes.size());
      insert.bind(3, one.unit);
      insert.bind(4, inputs);
      insert.bind(5, good ? "done" : "failed");
      const std::string& message = good ? one.warning : one.failure;
      if (message.empty()) {
        insert.bind_null(6);
      } else {
        insert.bind(6, message);
      }
      insert.bind(7, one.seconds);
      insert.bind(8, run_);
      for (std::size_t i = 0; i < names; ++i) {
        const UnitResult result = good ? one.results[i] : UnitResult();
        insert.bind(static_cast<int>(2 * i) + 9, result.value);
        insert.bind(static_cast<int>(2 * i) + 10, result.error);
      }
      insert.run();
    }
    Statement run(*database_, "UPDATE runs SET latest = ?, units = units + ? WHERE run = ?");
    run.bind(1, now());
    run.bind(2, static_cast<std::int64_t>(finished.size()));
    run.bind(3, run_);
    run.run();
    transaction.commit();
  } catch (const SqliteError& error) {
    if (error.busy()) return false;
    rethrow(path_, error);
  }
  for (const FinishedUnit& one : finished) {
    state_[static_cast<std::size_t>(one.unit)] = one.failure.empty() ? 'd' : 'f';
  }
  return true;
}

// One row holds all of a unit, and is written once, at the end of the table: a second table and an index on
// the names would take as long as a small unit does.
std::string store_schema(const Study& study) {
  std::string sql = fmt::format(
      "PRAGMA application_id = {}; PRAGMA user_version = {};"
      "CREATE TABLE study (title TEXT, quantity TEXT, configuration TEXT, units INTEGER, version TEXT);"
      "CREATE TABLE runs (run INTEGER PRIMARY KEY, version TEXT, started REAL, latest REAL, units INTEGER,"
      " threads INTEGER, processes INTEGER);"
      "CREATE TABLE units (unit INTEGER PRIMARY KEY, id BLOB NOT NULL, ordinal INTEGER, inputs TEXT NOT NULL,"
      " state TEXT NOT NULL, message TEXT, seconds REAL, run INTEGER REFERENCES runs",
      kApplicationId, kSchemaVersion);
  std::string results, points = "SELECT ordinal";
  for (const std::string& name : study.parameters()) {
    points += fmt::format(", json_extract(inputs, '$.\"{}\"') AS {}", name, quoted(name));
  }
  for (const std::string& name : study.results()) {
    const std::string columns = fmt::format("{}, {}", quoted(name), quoted(name + "_error"));
    sql += fmt::format(", {} REAL, {} REAL", quoted(name), quoted(name + "_error"));
    points += fmt::format(", {}", columns);
    results += fmt::format("{}SELECT unit, '{}' AS name, {} AS value, {} AS error FROM units",
                           results.empty() ? "" : " UNION ALL ", name, quoted(name), quoted(name + "_error"));
  }
  return fmt::format(
      "{}); CREATE VIEW results AS {}; CREATE VIEW points AS {} FROM units WHERE ordinal IS NOT NULL "
      "ORDER BY ordinal",
      sql, results, points);
}

std::string study_difference(const std::string& stored, const std::string& wanted) {
  const io::Json before = io::Json::parse(stored), here = io::Json::parse(wanted);
  if (before.at("quantity") != here.at("quantity")) {
    return fmt::format("its quantity is {}", io::to_text(before.at("quantity")));
  }
  if (before.at("results") != here.at("results") || before.at("parameters") != here.at("parameters")) {
    return "its quantity has other parameters or results";
  }
  const auto fixed_before = fixed_of(before), fixed_here = fixed_of(here);
  for (const auto& [key, value] : fixed_before) {
    const auto other = fixed_here.find(key);
    if (other == fixed_here.end() || other->second == value) continue;
    const auto shown = [](const io::Json& json) { return json.is_null() ? "not given" : io::to_text(json); };
    return fmt::format("its {} is {}, and here {}", key, shown(value), shown(other->second));
  }
  return {};
}

}  // namespace largo::studies
