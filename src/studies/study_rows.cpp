#include "studies/study_rows.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"
#include "studies/quantity.hpp"
#include "studies/store.hpp"
#include "studies/study_json.hpp"

namespace largo::studies {
namespace {

constexpr std::size_t kRowsAtOnce = 1000;

std::vector<std::string> names_of(const io::Json& list) {
  auto names = list.get<std::vector<std::string>>();
  for (const std::string& name : names) {
    if (name.find('"') != std::string::npos) throw std::out_of_range(name);  // it would end the name in SQL
  }
  return names;
}

std::vector<std::string> axes_of(const io::Json& configuration, const std::vector<std::string>& parameters) {
  std::vector<std::string> axes;
  const auto add = [&](const io::Json& object) {
    for (const auto& [key, value] : object.get_ref<const io::Json::object_t&>()) {
      if (std::find(parameters.begin(), parameters.end(), key) == parameters.end())
        throw std::out_of_range(key);
      if (std::find(axes.begin(), axes.end(), key) == axes.end()) axes.push_back(key);
    }
  };
  add(configuration.at("grid"));
  for (const io::Json& point : configuration.at("points")) add(point);
  return axes;
}

std::string query_for(const std::vector<std::string>& results) {
  std::string sql = "SELECT ordinal, id, inputs, state, message";
  for (const std::string& name : results) sql += fmt::format(", \"{0}\", \"{0}_error\"", name);
  return sql + " FROM units WHERE unit = ?1";
}

StoredUnit read_unit(const Statement& row, std::size_t results) {
  StoredUnit unit;
  unit.ordinal = row.null(0) ? -1 : row.integer(0);
  unit.id = row.bytes(1);
  unit.inputs = row.text(2);
  unit.done = row.bytes(3) == "done";
  unit.message = row.text(4);
  for (std::size_t i = 0; i < results; ++i) {
    const int column = static_cast<int>(2 * i) + 5;
    unit.results.push_back({row.real(column), row.real(column + 1)});
  }
  return unit;
}

}  // namespace

StudyRows::StudyRows(const std::filesystem::path& store) : store_(store), database_(read_store(store)) {
  try {
    const Transaction transaction(*database_, OpenMode::read);
    read_header();
    Statement read(*database_, "SELECT ordinal, unit FROM units WHERE ordinal IS NOT NULL");
    while (read.step()) places_.push_back({read.integer(0), read.integer(1)});
  } catch (const SqliteError& error) {
    rethrow(store_, error);
  }
  std::sort(places_.begin(), places_.end(),
            [](const Place& one, const Place& other) { return one.ordinal < other.ordinal; });
}

void StudyRows::refuse(std::string_view reason) const {
  fail(store_.string(), fmt::format("this store is damaged: {}", reason));
}

void StudyRows::read_header() {
  Statement read(*database_, "SELECT title, quantity, configuration, units, version FROM study");
  if (!read.step()) refuse("it is about no study");
  header_.title = read.text(0);
  header_.quantity = read.text(1);
  header_.configuration = read.text(2);
  header_.units = read.integer(3);
  header_.version = read.text(4);
  try {
    const io::Json json = io::Json::parse(header_.configuration);
    header_.parameters = names_of(json.at("parameters"));
    header_.results = names_of(json.at("results"));
    header_.axes = axes_of(json, header_.parameters);
    header_.seed = json.at("settings").value("seed", 1.0);
  } catch (const std::exception&) {  // malformed JSON, or a name that is missing or not allowed
    refuse("what it says about its study cannot be read");
  }
}

void StudyRows::for_each(const std::function<void(const StoredUnit&)>& see) {
  std::vector<StoredUnit> units;
  for (std::span<const Place> left = places_; !left.empty();) {
    const auto some = left.first(std::min(kRowsAtOnce, left.size()));
    left = left.subspan(some.size());
    units.clear();
    try {
      const Transaction transaction(*database_, OpenMode::read);
      Statement read(*database_, query_for(header_.results));
      for (const Place& place : some) {
        read.bind(1, place.unit);
        if (read.step()) units.push_back(read_unit(read, header_.results.size()));
        if (units.empty() || units.back().ordinal != place.ordinal) {
          throw std::runtime_error(
              fmt::format("{}: the study was changed while this was reading it: try again", store_.string()));
        }
        read.reset();
      }
    } catch (const SqliteError& error) {
      rethrow(store_, error);
    }
    for (const StoredUnit& unit : units) see(unit);
  }
}

StudyRow StudyRows::row_of(const StoredUnit& unit) const {
  StudyRow row;
  const io::Json inputs = io::Json::parse(unit.inputs, nullptr, false);
  if (!inputs.is_object()) {
    refuse(fmt::format("the inputs of unit {} are not an object of JSON", unit.ordinal + 1));
  }
  for (const std::string& name : header_.parameters) {
    const auto value = inputs.find(name);
    row.inputs.push_back(value == inputs.end() ? StudyValue() : value_of(*value));
  }
  row.results = unit.results;
  if (unit.done) {
    row.warning = unit.message;
  } else {
    row.message = unit.message.empty() ? "failed" : unit.message;
  }
  return row;
}

ContentHash::ContentHash(const StudyHeader& header) {
  for (const std::string& name : header.results) hash_.add(fmt::format("{}\n", name));
}

void ContentHash::add(const StoredUnit& unit) {
  hash_.add(unit.id);
  if (!unit.done) {
    hash_.add(fmt::format("failed: {}\n", unit.message));
    return;
  }
  for (const StudyResult& result : unit.results) {
    for (const double number : {result.value, result.error}) {
      hash_.add(std::isnan(number) ? kUnknown : number);
    }
  }
}

std::string ContentHash::finish() {
  const auto digest = hash_.finish();
  return runtime::to_hex(digest.data(), digest.size());
}

}  // namespace largo::studies
