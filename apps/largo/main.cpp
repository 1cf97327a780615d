// The command line. Exit codes: 0 done, 1 the work failed (or a verdict was not as expected), 2 bad input,
// 130 stopped by a signal.
#include <charconv>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include <fmt/core.h>

#include "command.hpp"
#include "largo/numerics/check.hpp"
#include "largo/numerics/simd_level.hpp"
#include "largo/version.hpp"

namespace largo {
namespace {

// CLI11 would read -1 and 2^64 as some large seed.
std::string check_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? "" : fmt::format("'{}' is not a whole number between 0 and 2^64 - 1", text);
}

}  // namespace

Arithmetic CommonOptions::arithmetic() const {
  if (precision == "float32") return Arithmetic::float32;
  if (precision == "float64") return Arithmetic::float64;
  return Arithmetic::of_tokens;
}

void add_common_options(CLI::App& command, CommonOptions& options) {
  command.add_flag("--json", options.json, "print one JSON object and nothing else");
  command.add_option("--seed", options.seed, "seed of everything random")
      ->check(check_seed, "")
      ->capture_default_str();
  command.add_option("--threads", options.threads, "threads to use; 0 means all cores")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command.add_option("--precision", options.precision, "arithmetic over prompts; auto is that of the tokens")
      ->check(CLI::IsMember({"auto", "float32", "float64"}))
      ->capture_default_str();
}

namespace {

Outcome run(int argc, char** argv) {
  CLI::App app(
      "The large-prompt limit of softmax attention: attention on measures, finite and infinite prompts.",
      "largo");
  app.set_version_flag("--version", fmt::format("largo {}", kVersion));
  app.require_subcommand(1);
  app.footer(
      "Example: largo attention --law gaussian:cov=toeplitz:0.5 --d 3 --query 1,0,-1\n"
      "largo COMMAND --help explains a command.");
  add_attention_command(app);
  add_moments_command(app);
  add_concentration_command(app);
  add_icl_command(app);
  add_reproduce_command(app);
  add_run_command(app);
  add_status_command(app);
  add_report_command(app);
  add_doctor_command(app);
  // Before any command: a bad LARGO_SIMD is refused even where no vector kernel would be used.
  app.parse_complete_callback([] { ensure_simd_level(); });
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help and --version
    return {app.exit(success), ""};
  } catch (const CLI::RuntimeError&) {  // a verdict that was not as expected; for CLI11 a kind of ParseError
    throw;
  } catch (const CLI::ParseError& error) {
    if (argc > 1 && app.get_subcommands().empty()) {
      return {2, fmt::format("'{}' is not a command (largo --help lists them)", argv[1])};
    }
    return {2, fmt::format("{} (largo --help lists the options)", error.what())};
  }
  if (std::fflush(stdout) != 0) return {1, "standard output could not be written"};
  return {};
}

Outcome outcome_of(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const InputError& error) {
    return {2, error.what()};
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
  std::signal(SIGXFSZ,
              SIG_IGN);  // a limit on the size of files is then an error of writing, as a full disk is
  try {
    const largo::Processes processes;
    return processes.end(largo::outcome_of(argc, argv));
  } catch (const std::exception& error) {  // of MPI itself
    fmt::print(stderr, "largo: {}\n", error.what());
    return 1;
  }
}
