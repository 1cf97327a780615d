// The store of a study's finished units: one SQLite file.
//
//   study    one row: title, quantity, configuration (JSON), number of units, version of largo
//   runs     one row for each time it was run: version, when, how many units
//   units    one row for each finished unit: id (hash), ordinal (place in the study, NULL if the study no
//            longer has it), inputs (JSON), state (done, failed), message (why it failed, or a warning),
//            seconds, run, and NAME and NAME_error of each result
//   results  a view of the units: unit, name, value, error
//   points   another view: the study as a table, with inputs and results in its order
//
// There is one connection, with a rollback journal and synchronous = FULL: what was committed survives a kill
// at any moment, and what was not committed leaves no trace.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "largo/studies/study.hpp"
#include "studies/quantity.hpp"
#include "studies/sqlite.hpp"
#include "studies/store_lock.hpp"

namespace largo::studies {

struct FinishedUnit {
  std::int64_t unit = 0;
  double seconds = 0;
  std::vector<UnitResult> results;  ///< empty if it failed
  std::string failure;              ///< why it failed, or empty
  std::string warning = {};         ///< what a sample may have missed, or empty
};

class StudyStore {
 public:
  /// Opens the store of a study, or makes it. Throws InputError and changes nothing if another process has
  /// the store, if the file is not a store or one of another version or study, or if it cannot be written. If
  /// the study has more points than before, or different ones, finished units take their new places.
  StudyStore(const std::filesystem::path& path, const Study& study, int threads, int processes);

  /// Numbers of the units to be run, in order; with `retry`, also of those that failed.
  std::vector<std::int64_t> pending(bool retry) const;
  std::int64_t done() const;
  std::int64_t failed() const;

  /// Writes all of them in one transaction. Returns false and writes nothing if a reader is in the way: try
  /// again. Throws std::runtime_error if the disk is full.
  bool write(const std::vector<FinishedUnit>& finished);

 private:
  void create();
  void adopt();

  std::filesystem::path path_;
  const Study& study_;
  StoreLock lock_;
  std::unique_ptr<Database> database_;
  std::int64_t run_ = 0;
  std::vector<char> state_;                      // state of each unit: ' ' not run, 'd' done, 'f' failed
  std::map<std::int64_t, std::int64_t> failed_;  // rows of units that failed before
};

/// Numbers of the units that the study's store lacks; of all units if there is no store. Changes nothing.
std::vector<std::int64_t> pending_units(const Study& study, const std::filesystem::path& path, bool retry);

/// Opens an existing store, even while it is written, and checks it. Throws InputError if it is no store.
std::unique_ptr<Database> read_store(const std::filesystem::path& path);

/// Rethrows an error of SQLite in a user's words: as InputError if the file is not a store or cannot be
/// opened, otherwise as std::runtime_error.
[[noreturn]] void rethrow(const std::filesystem::path& path, const SqliteError& error);

// The tables of a store, and whether a store is that of a study.

inline constexpr std::int64_t kApplicationId = 0x4c41524f;  // "LARO"
inline constexpr std::int64_t kSchemaVersion = 1;

/// The SQL that makes the tables.
std::string store_schema(const Study& study);

/// Says how the study with the configuration `stored` differs from the one with the configuration `wanted`;
/// empty if they are the same. Grids and points may differ, and a parameter that was fixed may vary; one that
/// is fixed in both must be the same.
std::string study_difference(const std::string& stored, const std::string& wanted);

}  // namespace largo::studies
