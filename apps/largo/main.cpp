// The command line. Exit codes: 0 done, 1 the work failed (or a verdict was not as expected), 2 bad input,
// 130 stopped by a signal.
#include <cstdio>
#include <exception>
#include <iostream>
#include <limits>
#include <new>
#include <string>

#include <fmt/core.h>

#include "arguments.hpp"
#include "command.hpp"
#include "command_tree.hpp"
#include "largo/numerics/simd_level.hpp"
#include "largo/runtime/check.hpp"
#include "largo/version.hpp"
#include "threads.hpp"
#include "usage.hpp"

namespace largo {

Execution CommonOptions::execution() const {
  [[maybe_unused]] static const bool once = (check_threads(threads), true);
  return {
      .threads = threads, .ranks = process_ranks(), .stop = stop_signal(), .device = named_device(device)};
}

Arithmetic CommonOptions::arithmetic() const {
  if (precision == "float32") return Arithmetic::float32;
  if (precision == "float64") return Arithmetic::float64;
  return Arithmetic::of_tokens;
}

void add_common_options(CLI::App& command, CommonOptions& options,
                        std::initializer_list<const char*> without_effect) {
  constexpr std::uint64_t kMostThreads = 4096;
  command.add_flag("--json", options.json, "Print one JSON object and nothing else");
  command.add_option("--seed", options.seed, "Seed of all random numbers")
      ->transform(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
      ->capture_default_str();
  command.add_option("--threads", options.threads, "Number of threads; 0 means all cores")
      ->transform(whole_number(0, kMostThreads))
      ->capture_default_str();
  command
      .add_option("--precision", options.precision,
                  "Arithmetic over prompts; auto means the precision of the tokens")
      ->check(one_of({"auto", "float32", "float64"}))
      ->capture_default_str();
  for (const char* name : without_effect) {
    command.get_option(name)->group("Accepted by every command, without effect here");
  }
}

namespace {

constexpr const char* kUnwritten = "standard output could not be written";

// Without this, --json=no would mean yes.
void refuse_values_of_flags(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 0) option->disable_flag_override();
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    refuse_values_of_flags(*command);
}

Outcome run(int argc, char** argv) {
  CLI::App app(
      "The large-prompt limit of softmax attention: attention on measures, for finite and infinite prompts.",
      "largo");
  app.set_version_flag("--version", fmt::format("largo {}", kVersion));
  app.require_subcommand(1);
  app.footer(
      "Example: largo attention --law gaussian:cov=toeplitz:0.5 --d 3 --query 1,0,-1\n"
      "For help on a command: largo COMMAND --help");
  add_attention_command(app);
  add_moments_command(app);
  add_temperature_command(app);
  add_concentration_command(app);
  add_assumptions_command(app);
  add_icl_command(app);
  add_heads_command(app);
  add_reproduce_command(app);
  add_run_command(app);
  add_status_command(app);
  add_report_command(app);
  add_doctor_command(app);
  add_help_command(app);
  add_completion_command(app);
  add_manual_command(app);
  refuse_values_of_flags(app);
  // Before any command: a bad LARGO_SIMD is refused even if no vector kernel would be used.
  app.parse_complete_callback([] { ensure_simd_level(); });
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help and --version
    if (const auto wrong = wrong_word(app)) return {2, *wrong};
    app.exit(success);
    std::cout.flush();
    if (!std::cout) return {1, kUnwritten};
    return {};
  } catch (const CLI::RuntimeError&) {  // a verdict that was not as expected; for CLI11 a kind of ParseError
    throw;
  } catch (const CLI::ParseError& error) {
    if (const auto unknown = unknown_command(app)) return {2, *unknown};
    return {2, usage_error(app, error)};
  }
  if (std::fflush(stdout) != 0) return {1, kUnwritten};
  return {};
}

// Messages of the library name arguments; on the command line these are options.
std::string with_options(std::string message) {
  if (message.ends_with("give d")) message.insert(message.size() - 1, "--");
  if (message.ends_with("give another store")) message.insert(message.size() - 5, "--");
  if (message.starts_with("set ")) message.insert(0, "--");
  return message;
}

Outcome outcome_of(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const InputError& error) {
    return {2, with_options(error.what())};
  } catch (const CLI::RuntimeError& error) {  // a verdict that was not as expected
    return {error.get_exit_code(), ""};
  } catch (const Stopped&) {
    return {kStoppedCode, "stopped; nothing was written"};
  } catch (const StoppedCommand& stopped) {
    return {kStoppedCode, stopped.what()};
  } catch (const std::bad_alloc&) {
    return {1, "out of memory"};
  } catch (const OtherProcessFailed& error) {
    return {1, error.what(), true};
  } catch (const std::exception& error) {
    return {1, error.what()};
  }
}

}  // namespace
}  // namespace largo

int main(int argc, char** argv) {
  largo::hold_standard_streams();
  largo::report_sudden_ends();
  try {
    const largo::Processes processes;
    return processes.end(largo::outcome_of(argc, argv));
  } catch (const std::exception& error) {  // from MPI itself
    largo::print_error(error.what());
    return 1;
  }
}
