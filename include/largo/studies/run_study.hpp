// Runs the units of a study that are not in its store yet, on threads and processes.
//
//   const Study study = read_study("errors.toml");
//   run_study(study, "errors.sqlite", {}, {.threads = 8});
//
// The results of a unit depend only on its inputs, not on which process computes it or when. With ranks,
// every process makes the same call; the first one has the store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "largo/runtime/execution.hpp"
#include "largo/studies/study.hpp"

namespace largo {

struct StudyRunPlan {
  bool retry = false;  ///< also run units that failed before
  /// Called on the first process after each exchange, with the number of units finished so far and of all
  /// units.
  std::function<void(std::int64_t finished, std::int64_t units)> progress = {};
};

struct StudyRun {
  std::int64_t units = 0;   ///< number of units of the study
  std::int64_t before = 0;  ///< units done or failed before this run
  std::int64_t ran = 0;     ///< units finished or failed in this run
  std::int64_t failed = 0;  ///< failed units among all
  bool stopped = false;     ///< stopped by Execution::stop; finished units are kept
  double seconds = 0;
};

/// Runs the pending units. A unit that throws is recorded with its message, and the others continue. Errors:
/// InputError as StudyStore (another process has the store, it is not a store, or it is that of another
/// study); std::runtime_error if the disk is full. Units that were finished before are kept in any case.
/// Finished units are written at least every quarter of a second, many in one transaction. Cost besides that
/// of the units: about 15 µs for each. Every process returns the same, except for the counts; these are those
/// of the first process.
StudyRun run_study(const Study& study, const std::filesystem::path& store, const StudyRunPlan& plan = {},
                   const Execution& execution = {});

/// The estimated cost of a run.
struct StudyEstimate {
  std::int64_t units = 0;
  std::int64_t pending = 0;
  double core_seconds = 0;  ///< for the pending units, from a few of them: an order of magnitude
  double memory = 0;        ///< bytes for each process: the most that the trial took, on all its threads
  std::int64_t tried = 0;   ///< units that were evaluated for this estimate and not kept
};

/// Evaluates up to three of the pending units, or as many as start within two seconds. Writes nothing.
StudyEstimate estimate_study(const Study& study, const std::filesystem::path& store, bool retry = false,
                             const Execution& execution = {});

}  // namespace largo
