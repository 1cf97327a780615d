#include "largo/numerics/simd_level.hpp"

#include <atomic>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hwy/highway.h"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

std::atomic<std::int64_t> level_in_use{0};  // a Highway target bit; 0 until the first use
std::mutex choosing;

// One name for the baseline, whether Highway builds it as one lane or as emulated 128-bit vectors (that
// depends on the compiler), and the instruction set's usual name for what Highway calls AVX3.
std::string name_of(std::int64_t target) {
  if (target == HWY_SCALAR || target == HWY_EMU128) return "SCALAR";
  if (target == HWY_AVX3) return "AVX512";
  if (target == HWY_AVX3_DL) return "AVX512_DL";
  return hwy::TargetName(target);
}

// The levels of this CPU, asked for once, before any level is forced: forcing narrows Highway's answer.
const std::vector<std::int64_t>& available_targets() {
  static const std::vector<std::int64_t> targets = [] {
    hwy::SetSupportedTargetsForTest(0);
    return hwy::SupportedAndGeneratedTargets();
  }();
  return targets;
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

std::int64_t target_named(std::string_view function, std::string_view argument, std::string_view level) {
  const std::string wanted = upper(level);
  for (const std::int64_t target : available_targets()) {
    if (wanted == name_of(target) || wanted == hwy::TargetName(target)) return target;
  }
  fail(function, argument, fmt::format("'{}'", level),
       fmt::format("one of {}", fmt::join(simd_levels(), ", ")));
}

void use(std::int64_t target) {
  hwy::SetSupportedTargetsForTest(target);  // for dispatch tables that have not been used yet
  hwy::GetChosenTarget().Update(target);    // for all others
  level_in_use.store(target, std::memory_order_release);
}

}  // namespace

void ensure_simd_level() {
  if (level_in_use.load(std::memory_order_acquire) != 0) return;
  const std::lock_guard lock(choosing);
  if (level_in_use.load(std::memory_order_relaxed) != 0) return;
  const char* const requested = std::getenv("LARGO_SIMD");
  const bool named = requested != nullptr && *requested != '\0';
  use(named ? target_named("environment", "LARGO_SIMD", requested) : available_targets().front());
}

std::string simd_level() {
  ensure_simd_level();
  return name_of(level_in_use.load(std::memory_order_acquire));
}

std::vector<std::string> simd_levels() {
  std::vector<std::string> names;
  for (const std::int64_t target : available_targets()) names.push_back(name_of(target));
  return names;
}

void force_simd_level(std::string_view level) {
  const std::int64_t target = target_named("force_simd_level", "level", level);
  const std::lock_guard lock(choosing);
  use(target);
}

}  // namespace largo
