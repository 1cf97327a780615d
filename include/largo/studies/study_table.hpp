// The content of a study's store: its progress, and its results as a table. Both can be read while the study
// is running.
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
  std::string version;               ///< version of largo that ran it last
  std::int64_t units = 0;            ///< number of units of the study
  std::int64_t done = 0;             ///< units with results
  std::int64_t failed = 0;           ///< units that failed
  std::int64_t others = 0;           ///< units in the store that the study no longer has
  bool running = false;              ///< whether a process is running it
  double rate = 0;                   ///< units per second in the last run
  double unit_seconds = 0;           ///< total time spent in units
  std::vector<FailedUnit> failures;  ///< the first ten
  /// SHA-256 of the names and results of the finished units, in the study's order. It is the same however
  /// these results were obtained: in one run or many, on any number of threads and processes.
  std::string content;
};

/// InputError if the file is not a store that can be read. Cost: 0.3 s for 100,000 units.
StudyStatus study_status(const std::filesystem::path& store);

struct StudyTable {
  std::string title, quantity, version, content;
  std::string configuration;  ///< JSON
  std::int64_t units = 0;     ///< units of the study; rows are fewer if some have not been run
  double seed = 1;
  std::vector<std::string> parameters, results;
  std::vector<std::string>
      axes;  ///< parameters that vary: those of the grid, in its order, then those of points
  std::vector<StudyRow> rows;  ///< finished units, in the study's order
};

/// Throws the same errors as study_status.
StudyTable read_study_table(const std::filesystem::path& store);

/// Receives a text piece by piece.
using TextSink = std::function<void(std::string_view piece)>;

struct StudyExtent {
  std::int64_t units = 0;  ///< units of the study
  std::int64_t rows = 0;   ///< finished units
};

/// Writes inputs and results, one row for each unit. The columns are the parameters, NAME and NAME_error of
/// each result, message and warning. Times are not included, so the same results are the same bytes. A text
/// that a spreadsheet would take for a formula (it begins with =, +, - or @ and is not a list of numbers)
/// gets an apostrophe before it. Errors as study_status; Stopped. Memory: 16 bytes a row, here and below.
StudyExtent write_study_csv(const std::filesystem::path& store, const TextSink& sink,
                            const Execution& execution = {});

/// Writes the same as one JSON object: {"title", "quantity", "version", "content", "units", "configuration",
/// "rows": [{"inputs", "results": {NAME: {"value", "error"}}}]}. A row without results has "message"; a row
/// whose sample may have missed something has "warning". Throws std::runtime_error, with part of the text
/// written, if units were run again meanwhile.
StudyExtent write_study_json(const std::filesystem::path& store, const TextSink& sink,
                             const Execution& execution = {});

}  // namespace largo
