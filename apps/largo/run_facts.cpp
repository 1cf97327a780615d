#include "run_facts.hpp"

#include <sys/utsname.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <oneapi/tbb/info.h>

#include "build_commit.hpp"
#include "largo/numerics/simd_level.hpp"
#include "largo/runtime/check.hpp"
#include "largo/version.hpp"

namespace largo {
namespace {

// See https://reproducible-builds.org/specs/source-date-epoch: seconds since 1970, in decimal.
std::optional<std::time_t> source_date_epoch() {
  const char* text = std::getenv("SOURCE_DATE_EPOCH");
  if (text == nullptr || *text == '\0') return std::nullopt;
  constexpr std::int64_t kYear9999 = 253402300799;
  std::int64_t seconds = -1;
  const char* end = text + std::strlen(text);
  const auto [read, error] = std::from_chars(text, end, seconds);
  if (error != std::errc() || read != end || seconds < 0 || seconds > kYear9999) {
    fail("run_facts", "SOURCE_DATE_EPOCH", fmt::format("'{}'", std::string_view(text).substr(0, 40)),
         "a whole number of seconds since 1970");
  }
  return static_cast<std::time_t>(seconds);
}

std::string utc(std::time_t time) { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time)); }

// The name that Linux gives, such as "Intel(R) Xeon(R) Processor"; empty if it gives none.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

std::string describe_machine() {
  utsname system{};
  uname(&system);
  const std::string processor = processor_name();
  const unsigned cores = std::thread::hardware_concurrency();
  return fmt::format("{}{}{} {}, {} {}", processor, processor.empty() ? "" : ", ", cores,
                     cores == 1 ? "core" : "cores", system.sysname, system.machine);
}

}  // namespace

std::string compiler_of_this_build() {
#ifdef __clang__
  return fmt::format("clang {}", __clang_version__);
#else
  return fmt::format("gcc {}", __VERSION__);
#endif
}

io::Json run_facts(const CommonOptions& options) {
  const auto fixed_time = source_date_epoch();
  io::Json facts;
  facts["version"] = kVersion;
  if (*kBuildCommit != '\0') {
    facts["commit"] = kBuildCommit;
    facts["modified"] = kBuildModified;
  }
  facts["compiler"] = compiler_of_this_build();
  facts["date"] =
      utc(fixed_time.value_or(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  if (fixed_time) return facts;
  facts["machine"] = describe_machine();
  facts["simd"] = simd_level();
  facts["threads"] = options.threads > 0 ? options.threads : tbb::info::default_concurrency();
  facts["processes"] = process_ranks() == nullptr ? 1 : process_ranks()->size();
  facts["device"] = options.device == "cpu" ? "cpu" : describe_devices();
  return facts;
}

}  // namespace largo
