// largo doctor: what this build includes, and a quick self-check.
#include <chrono>
#include <string>

#include <fmt/core.h>
#include <hwy/highway.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/version.h>
#include <CLI/CLI.hpp>
#include <Eigen/Core>
#include <boost/version.hpp>

#include "command.hpp"
#include "largo/attention/lemma.hpp"
#include "largo/numerics/simd_level.hpp"
#include "largo/version.hpp"
#include "output.hpp"
#include "run_facts.hpp"

namespace largo {
namespace {

constexpr double kSelfCheckBound = 1e-12;  // the Lemma's error in double precision

#ifdef NDEBUG
constexpr bool kAssertions = false;
#else
constexpr bool kAssertions = true;
#endif
#ifdef LARGO_HAS_PYTHON
constexpr bool kPython = true;
#else
constexpr bool kPython = false;
#endif

std::string describe_mpi(const std::string& mpi, int processes) {
  if (mpi.empty()) return "not in this build";
  if (processes == 1) return fmt::format("{}; one process (mpirun -n 4 largo ... starts four)", mpi);
  return fmt::format("{}; {} processes", mpi, processes);
}

void run_doctor(const CommonOptions& options) {
  io::Json json;
  json["version"] = kVersion;
  json["compiler"] = compiler_of_this_build();
  json["assertions"] = kAssertions;
  json["simd"] = simd_level();
  json["simd_available"] = simd_levels();
  json["threads"] = options.threads > 0 ? options.threads : tbb::info::default_concurrency();
  const std::string mpi = mpi_in_this_build();
  const int processes = process_ranks() == nullptr ? 1 : process_ranks()->size();
  json["mpi"] = !mpi.empty();
  if (!mpi.empty()) json["mpi_library"] = mpi;
  json["processes"] = processes;
  json["cuda"] = cuda_in_this_build();
  json["cuda_device"] = describe_devices();
  json["python"] = kPython;
  json["libraries"]["Eigen"] =
      fmt::format("{}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
  json["libraries"]["Highway"] = fmt::format("{}.{}.{}", HWY_MAJOR, HWY_MINOR, HWY_PATCH);
  json["libraries"]["oneTBB"] = TBB_runtime_version();
  json["libraries"]["Boost"] =
      fmt::format("{}.{}.{}", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100);

  const auto start = std::chrono::steady_clock::now();
  LemmaSettings settings;
  settings.seed = options.seed;
  settings.cases = 200;
  settings.lengths = {1000, 10000};
  settings.prompts = 16;
  const LemmaReport lemma = check_lemma(settings, options.execution());
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  const bool healthy = lemma.worst_error <= kSelfCheckBound &&
                       lemma.distances[1].mean_squared_distance < lemma.distances[0].mean_squared_distance;
  json["self_check"] = {
      {"passed", healthy}, {"worst_error", lemma.worst_error}, {"seconds", elapsed.count()}};

  if (options.json) {
    print_json(json);
  } else {
    fmt::print("largo {} ({}, assertions {})\n", kVersion, json["compiler"].get<std::string>(),
               json["assertions"].get<bool>() ? "on" : "off");
    fmt::print("SIMD      {} in use; available: {}; set LARGO_SIMD to choose one\n",
               json["simd"].get<std::string>(), json["simd_available"].dump());
    fmt::print("threads   {}\nMPI       {}\nCUDA      {}\nPython    {}\n", json["threads"].get<int>(),
               describe_mpi(mpi, processes), json["cuda_device"].get<std::string>(),
               json["python"].get<bool>() ? "module built; scripts/python ENV installs it"
                                          : "not in this build (install pybind11-dev and python3-dev)");
    for (const auto& [name, version] : json["libraries"].items()) {
      fmt::print("{:<9} {}\n", name, version.get<std::string>());
    }
    fmt::print("self-check {} ({} Gaussian laws, worst error {:.1e}, {:.2f} s)\n",
               healthy ? "passed" : "FAILED", lemma.cases, lemma.worst_error, elapsed.count());
  }
  if (!healthy) throw CLI::RuntimeError(1);
}

}  // namespace

void add_doctor_command(CLI::App& app) {
  const auto [command, options] =
      add_subcommand(app, "doctor", run_doctor, "Show what this build includes, and run a quick self-check");
  add_common_options(*command, *options, {"--precision"});
  command->footer("Example: largo doctor --json");
}

}  // namespace largo
