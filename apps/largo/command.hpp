// What every subcommand shares. A command registers its options and a callback; it reads text, calls the
// library and prints: no mathematics here.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "device_option.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/numerics/execution.hpp"
#include "processes.hpp"
#include "signals.hpp"

namespace largo {

struct CommonOptions {
  bool json = false;
  std::uint64_t seed = 1;
  int threads = 0;
  std::string precision = "auto";
  std::string device = "cpu";  ///< of commands with --device

  /// For the work of a command, which Ctrl-C ends in order from here on.
  Execution execution() const {
    return {
        .threads = threads, .ranks = process_ranks(), .stop = stop_signal(), .device = named_device(device)};
  }
  Arithmetic arithmetic() const;
};

/// --json, --seed, --threads, --precision
void add_common_options(CLI::App& command, CommonOptions& options);

void add_attention_command(CLI::App& app);
void add_concentration_command(CLI::App& app);
void add_icl_command(CLI::App& app);
void add_doctor_command(CLI::App& app);
void add_moments_command(CLI::App& app);
void add_report_command(CLI::App& app);
void add_reproduce_command(CLI::App& app);
void add_run_command(CLI::App& app);
void add_status_command(CLI::App& app);

}  // namespace largo
