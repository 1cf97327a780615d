// Runs the units of a study that are not in its store yet, on threads and processes.
//
//   const Study study = read_study("errors.toml");
//   run_study(study, "errors.sqlite", {}, {.threads = 8});
//
// A unit's results depend on its inputs alone; which process computes it, and when, decides nothing. With
// ranks, every process makes the same call; the first one has the store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "largo/runtime/execution.hpp"
#include "largo/studies/study.hpp"

namespace largo {

struct StudyRunPlan {
  bool retry = false;  ///< run units that failed before, too
  /// After each exchange between processes, on the first one, with the units finished so far and all of them.
  std::function<void(std::int64_t finished, std::int64_t units)> progress = {};
};

struct StudyRun {
  std::int64_t units = 0;   ///< of the study
  std::int64_t before = 0;  ///< done before this run, or failed
  std::int64_t ran = 0;     ///< finished by this run, or failed in it
  std::int64_t failed = 0;  ///< of all
  bool stopped = false;     ///< by Execution::stop; what was finished is kept
  double seconds = 0;
};

/// A unit that throws is recorded with its message, and the others go on. Errors: InputError as StudyStore
/// (another process has the store, it is no store, or that of another study); std::runtime_error where the
/// disk is full; what was finished before is kept in any case. Finished units are written every quarter of a
/// second at least, many in a transaction. Cost besides that of the units: some 15 µs for each. Every process
/// returns the same, except for the counts, which are those of the first.
StudyRun run_study(const Study& study, const std::filesystem::path& store, const StudyRunPlan& plan = {},
                   const Execution& execution = {});

/// What a run would take.
struct StudyEstimate {
  std::int64_t units = 0;
  std::int64_t pending = 0;
  double core_seconds = 0;  ///< of the pending units, from a few of them: an order of magnitude
  double memory = 0;        ///< bytes, for each process: the most that trying took, on all its threads
  std::int64_t tried = 0;   ///< units that were evaluated for this, and not kept
};

/// Evaluates up to three of the pending units, or as many as begin within two seconds. Writes nothing.
StudyEstimate estimate_study(const Study& study, const std::filesystem::path& store, bool retry = false,
                             const Execution& execution = {});

}  // namespace largo
