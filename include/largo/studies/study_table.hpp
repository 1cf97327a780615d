// What a store of a study holds: its progress, and its results as a table. Both can be asked for while the
// study is running.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "largo/runtime/execution.hpp"
#include "largo/studies/study_row.hpp"

namespace largo {

struct FailedUnit {
  std::string inputs;  ///< JSON
  std::string message;
};

struct StudyStatus {
  std::string title, quantity;
  std::string version;               ///< of the largo that ran it last
  std::int64_t units = 0;            ///< of the study
  std::int64_t done = 0;             ///< of these, with results
  std::int64_t failed = 0;           ///< of these, without
  std::int64_t others = 0;           ///< units in the store that the study no longer has
  bool running = false;              ///< a process is at it
  double rate = 0;                   ///< units a second, of the last run
  double unit_seconds = 0;           ///< spent in units, all together
  std::vector<FailedUnit> failures;  ///< the first ten
  /// SHA-256 of the names and results of the finished units, in the study's order: the same for every way to
  /// the same results, in one run or many, on any number of threads and processes.
  std::string content;
};

/// InputError where the file is no store that can be read. Cost: 0.3 s for 100,000 units.
StudyStatus study_status(const std::filesystem::path& store);

struct StudyTable {
  std::string title, quantity, version, content;
  std::string configuration;  ///< JSON
  std::int64_t units = 0;     ///< of the study; fewer rows where some have not been run
  double seed = 1;
  std::vector<std::string> parameters, results;
  std::vector<std::string>
      axes;  ///< parameters that vary: those of the grid, in its order, then those of points
  std::vector<StudyRow> rows;  ///< finished units, in the study's order
};

/// Errors as study_status.
StudyTable read_study_table(const std::filesystem::path& store);

/// Takes a text piece by piece.
using TextSink = std::function<void(std::string_view piece)>;

struct StudyExtent {
  std::int64_t units = 0;  ///< of the study
  std::int64_t rows = 0;   ///< of these, finished
};

/// Inputs and results, one row for each unit: the columns are the parameters, NAME and NAME_error of each
/// result, message and warning. Nothing of times: the same results are the same bytes. A text that a
/// spreadsheet would take for a formula (it begins with =, +, - or @ and is no list of numbers) has an
/// apostrophe before it. Errors as study_status; Stopped. Memory: 16 bytes a row, here and below.
StudyExtent write_study_csv(const std::filesystem::path& store, const TextSink& sink,
                            const Execution& execution = {});

/// The same as one JSON object: {"title", "quantity", "version", "content", "units", "configuration", "rows":
/// [{"inputs", "results": {NAME: {"value", "error"}}}]}; a row without results has "message",
/// one whose sample may have missed something "warning".
/// std::runtime_error, with part of it written, where units were run anew meanwhile.
StudyExtent write_study_json(const std::filesystem::path& store, const TextSink& sink,
                             const Execution& execution = {});

}  // namespace largo
