// What every subcommand shares. A command registers its options and a callback; it reads text, calls the
// library and prints. There is no mathematics here.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "device_option.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/runtime/execution.hpp"
#include "processes.hpp"
#include "signals.hpp"

namespace largo {

struct CommonOptions {
  bool json = false;
  std::uint64_t seed = 1;
  int threads = 0;
  std::string precision = "auto";
  std::string device = "cpu";  ///< for commands with --device

  /// How to run the work of a command. From this call on, Ctrl-C ends the work in order. Throws InputError if
  /// the threads cannot be started.
  Execution execution() const;
  Arithmetic arithmetic() const;
};

/// --json, --seed, --threads, --precision, which every command accepts so that scripts need not know which of
/// them matters where. Help lists those `without_effect` under a heading that says so.
void add_common_options(CLI::App& command, CommonOptions& options,
                        std::initializer_list<const char*> without_effect = {});

/// A subcommand, and the options that it reads into.
template <typename Options>
struct Subcommand {
  CLI::App* command;
  std::shared_ptr<Options> options;
};

/// Adds a subcommand that calls run(options), and keeps the options as long as itself.
template <typename Options>
Subcommand<Options> add_subcommand(CLI::App& parent, const char* name, void (*run)(const Options&),
                                   const char* help) {
  const auto options = std::make_shared<Options>();
  CLI::App* const command = parent.add_subcommand(name, help);
  command->callback([options, run] { run(*options); });
  return {command, options};
}

void add_assumptions_command(CLI::App& app);
void add_attention_command(CLI::App& app);
void add_concentration_command(CLI::App& app);
void add_icl_command(CLI::App& app);
void add_doctor_command(CLI::App& app);
void add_heads_command(CLI::App& app);
void add_moments_command(CLI::App& app);
void add_report_command(CLI::App& app);
void add_reproduce_command(CLI::App& app);
void add_run_command(CLI::App& app);
void add_status_command(CLI::App& app);
void add_temperature_command(CLI::App& app);

}  // namespace largo
