// largo run: the units of a study that have not been run yet.
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/core.h>

#include "arguments.hpp"
#include "command.hpp"
#include "io/files.hpp"
#include "largo/runtime/check.hpp"
#include "largo/studies/run_study.hpp"
#include "largo/studies/study_table.hpp"
#include "output.hpp"
#include "processes.hpp"
#include "progress.hpp"
#include "signals.hpp"

namespace largo {
namespace {

constexpr const char* kRunCommand = "run";

struct RunOptions : CommonOptions {
  std::string study, store;
  std::vector<std::string> changes;
  bool dry_run = false, retry = false;
};

std::vector<StudyChange> read_changes(const RunOptions& options) {
  std::vector<StudyChange> changes;
  for (const std::string& text : options.changes) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      fail(kRunCommand, "--set", fmt::format("'{}'", text), "KEY=VALUE");
    }
    changes.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return changes;
}

std::string store_of(const RunOptions& options) {
  if (!options.store.empty()) return options.store;
  return std::filesystem::path(options.study).replace_extension(".sqlite").string();
}

// A run begins by making a lock next to the store. A dry run writes nothing, but fails if this is impossible.
void check_folder(const std::string& store) {
  if (!first_process()) return;
  std::error_code missing;
  const std::filesystem::path there = std::filesystem::canonical(store, missing);
  io::AtomicFile(kRunCommand,
                 missing ? std::filesystem::path(store) : std::filesystem::path(there).concat(".lock"));
}

void describe(const RunOptions& options, const Study& study, const std::string& store,
              const Execution& execution) {
  check_folder(store);
  const StudyEstimate estimate = estimate_study(study, store, options.retry, execution);
  io::Json json{{"store", store},
                {"units", estimate.units},
                {"pending", estimate.pending},
                {"core_seconds", estimate.core_seconds},
                {"memory_MB", std::ceil(estimate.memory / 1e6)}};
  if (options.json) return print_json(json);
  fmt::print("{} units, {} of them still to run\n", estimate.units, estimate.pending);
  fmt::print("about {:.2g} s on one core, at most about {:.0f} MB of memory\n", estimate.core_seconds,
             json["memory_MB"].get<double>());
}

void print_run(const RunOptions& options, const StudyRun& run, const std::string& store) {
  const std::int64_t done = run.before + run.ran - run.failed;
  if (options.json) {
    io::Json json{{"store", store}, {"units", run.units},     {"done", done},          {"failed", run.failed},
                  {"ran", run.ran}, {"stopped", run.stopped}, {"seconds", run.seconds}};
    json["content"] = study_status(store).content;
    return print_json(json);
  }
  fmt::print("{}: {} of {} units done, {} run now\n", store, done, run.units, run.ran);
  if (run.stopped) fmt::print("stopped; run the same command again to continue\n");
  if (run.failed == 0) return;
  const FailedUnit first = study_status(store).failures.at(0);
  fmt::print("{} {} failed; the first one:\n  {}\n  {}\n", run.failed, run.failed == 1 ? "unit" : "units",
             first.inputs, first.message);
}

void run_run(const RunOptions& options) {
  const Study study = read_study(options.study, read_changes(options));
  const std::string store = store_of(options);
  const Execution execution = options.execution();
  if (options.dry_run) return describe(options, study, store, execution);
  StudyRun run;
  {
    ProgressLine line(study.plan().title);
    StudyRunPlan plan{.retry = options.retry};
    std::optional<std::int64_t> before;  // units found in the store say nothing about speed
    plan.progress = [&](std::int64_t finished, std::int64_t units) {
      if (!before) before = finished;
      if (finished > *before) {
        line.show(static_cast<double>(finished - *before) / static_cast<double>(units - *before));
      }
    };
    run = run_study(study, store, plan, execution);
  }
  if (!first_process()) return;
  print_run(options, run, store);
  if (run.stopped) throw CLI::RuntimeError(kStoppedCode);
  if (run.failed > 0) throw CLI::RuntimeError(1);
}

}  // namespace

void add_run_command(CLI::App& app) {
  const auto [command, options] =
      add_subcommand(app, "run", run_run, "Run a study: one quantity at many points, declared in a file");
  add_text_option(*command, "study", options->study, "TOML file of the study")->required();
  add_text_option(*command, "--store", options->store,
                  "SQLite file for the results (default: STUDY.sqlite, next to the study)");
  command
      ->add_option(
          "--set", options->changes,
          "Change a parameter: KEY=VALUE, where VALUE may be a list or a range for the grid; may be repeated")
      ->take_all();
  add_device_option(*command, options->device);
  command->add_flag("--retry", options->retry, "Also run the units that failed before");
  command->add_flag("--dry-run", options->dry_run,
                    "Print the number of units and the time and memory that they need, and stop");
  add_common_options(*command, *options);
  // The study file sets both. Given here, they change the study as --set does.
  for (const char* name : {"--seed", "--precision"}) {
    CLI::Option* option = command->get_option(name);
    option->each([options = options, key = std::string(name + 2)](const std::string& value) {
      options->changes.push_back(fmt::format("{}={}", key, value));
    });
  }
  command->footer(
      "A study can be stopped at any time; run the same command again to continue. If points are added,\n"
      "only the new ones are run.\n"
      "Exit codes: 0 if all units are done, 1 if some failed, 130 if stopped by Ctrl-C.\n\n"
      "Examples:\n"
      "  largo run examples/studies/errors.toml\n"
      "  largo run errors.toml --set L=1e1:1e8:15 --store wide.sqlite\n"
      "  mpirun -n 3 largo run errors.toml");
}

}  // namespace largo
