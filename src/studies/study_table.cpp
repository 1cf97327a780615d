#include "largo/studies/study_table.hpp"

#include "studies/store.hpp"
#include "studies/store_lock.hpp"
#include "studies/study_json.hpp"
#include "studies/study_rows.hpp"

namespace largo {
namespace {

constexpr std::int64_t kFailuresShown = 10;

// How fast the last run was, and how long all units took.
void read_times(studies::Database& database, StudyStatus& status) {
  const studies::Transaction transaction(database, studies::OpenMode::read);
  status.others = database.number("SELECT count(*) FROM units WHERE ordinal IS NULL");
  studies::Statement runs(
      database, "SELECT started, latest, units FROM runs WHERE units > 0 ORDER BY run DESC LIMIT 1");
  if (runs.step() && runs.real(1) > runs.real(0)) status.rate = runs.real(2) / (runs.real(1) - runs.real(0));
  studies::Statement seconds(database, "SELECT total(seconds) FROM units WHERE ordinal IS NOT NULL");
  if (seconds.step()) status.unit_seconds = seconds.real(0);
}

}  // namespace

StudyStatus study_status(const std::filesystem::path& store) {
  StudyStatus status;
  status.running = studies::is_locked(store);
  studies::StudyRows rows(store);
  const studies::StudyHeader& header = rows.header();
  status.title = header.title;
  status.quantity = header.quantity;
  status.version = header.version;
  status.units = header.units;
  studies::ContentHash content(header);
  rows.for_each([&](const studies::StoredUnit& unit) {
    content.add(unit);
    ++(unit.done ? status.done : status.failed);
    if (unit.done || status.failed > kFailuresShown) return;
    status.failures.push_back({unit.inputs, rows.row_of(unit).message});
  });
  status.content = content.finish();
  try {
    read_times(rows.database(), status);
  } catch (const studies::SqliteError& error) {
    studies::rethrow(store, error);
  }
  return status;
}

StudyTable read_study_table(const std::filesystem::path& store) {
  studies::StudyRows rows(store);
  const studies::StudyHeader& header = rows.header();
  StudyTable table;
  table.title = header.title;
  table.quantity = header.quantity;
  table.version = header.version;
  table.units = header.units;
  table.configuration = header.configuration;
  table.parameters = header.parameters;
  table.results = header.results;
  table.axes = header.axes;
  table.seed = header.seed;
  table.rows.reserve(static_cast<std::size_t>(rows.size()));
  studies::ContentHash content(header);
  rows.for_each([&](const studies::StoredUnit& unit) {
    content.add(unit);
    table.rows.push_back(rows.row_of(unit));
  });
  table.content = content.finish();
  return table;
}

}  // namespace largo
