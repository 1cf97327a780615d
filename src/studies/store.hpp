// Where the finished units of a study are kept: one SQLite file.
//
//   study    one row: title, quantity, configuration (JSON), number of units, version of largo
//   runs     one row for each time it was run: version, when, how many units
//   units    one row for each finished unit: id (hash), ordinal (place in the study, NULL when the study no
//   longer
//            has it), inputs (JSON), state (done, failed), message (why it failed, or a warning), seconds,
//            run, and NAME and NAME_error of each result
//   results  a view of it: unit, name, value, error
//   points   and another one: the study as a table, inputs and results in its order
//
// One connection, a rollback journal and synchronous = FULL: what was committed survives a kill at any
// moment, and what was not never was.
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
  std::vector<UnitResult> results;  ///< none where it failed
  std::string failure;              ///< why, or empty
  std::string warning = {};         ///< of what a sample may have missed, or empty
};

class StudyStore {
 public:
  /// Opens the store for one study, or makes it. InputError, with nothing changed: another process has it, it
  /// is no store, one of another version or of another study, or cannot be written. Where the study has more
  /// points than before, or others, finished units take their new places.
  StudyStore(const std::filesystem::path& path, const Study& study, int threads, int processes);

  /// Numbers of the units that are to be run, in order; with `retry` those that failed, too.
  std::vector<std::int64_t> pending(bool retry) const;
  std::int64_t done() const;
  std::int64_t failed() const;

  /// All of them in one transaction. False, and nothing written, where a reader is in the way: try again.
  /// Throws std::runtime_error where the disk is full.
  bool write(const std::vector<FinishedUnit>& finished);

 private:
  void create();
  void adopt();

  std::filesystem::path path_;
  const Study& study_;
  StoreLock lock_;
  std::unique_ptr<Database> database_;
  std::int64_t run_ = 0;
  std::vector<char> state_;                      // of each unit: ' ' not run, 'd' done, 'f' failed
  std::map<std::int64_t, std::int64_t> failed_;  // rows of units that failed before
};

/// Numbers of the units of a study that its store does not have; all where there is no store. Changes
/// nothing.
std::vector<std::int64_t> pending_units(const Study& study, const std::filesystem::path& path, bool retry);

/// Opens an existing store, also one that is being written, and checks what it is. InputError otherwise.
std::unique_ptr<Database> read_store(const std::filesystem::path& path);

/// SQLite's errors in the words of a user: InputError for what is no store, std::runtime_error for the rest.
[[noreturn]] void rethrow(const std::filesystem::path& path, const SqliteError& error);

// The tables of a store, and whether a store is that of a study.

inline constexpr std::int64_t kApplicationId = 0x4c41524f;  // "LARO"
inline constexpr std::int64_t kSchemaVersion = 1;

/// SQL that makes the tables.
std::string store_schema(const Study& study);

/// Why the study with the configuration `stored` is another one than that with the configuration `wanted`;
/// empty where it is the same. Grids and points may differ, and a parameter that was fixed may vary; one that
/// is fixed in both must be the same.
std::string study_difference(const std::string& stored, const std::string& wanted);

}  // namespace largo::studies
