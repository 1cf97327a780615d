// How the chunks of many prompts are distributed over launches: each launch is short enough to wait for when
// the work must stop, and its memory is bounded for prompts of any length.
#pragma once

#include <algorithm>
#include <cstdint>

namespace largo::cuda {

/// The prompts of a launch, and the chunks of each; the next launches have the next chunks of the same
/// prompts.
struct LaunchPlan {
  std::int64_t prompts = 1, chunks = 1;
};

/// For `prompts` >= 1 prompts of `chunks` >= 1 chunks each, with at most `most` >= 1 chunks in a launch.
/// Takes whole prompts if 64 or more fit, otherwise parts of 64 prompts: the chunks of a prompt are added in
/// order, by a few threads.
constexpr LaunchPlan plan_launches(std::int64_t prompts, std::int64_t chunks, std::int64_t most) {
  constexpr std::int64_t kTogether = 64;
  LaunchPlan plan;
  plan.prompts = std::min({prompts, most, std::max(kTogether, most / chunks)});
  const std::int64_t held = most / plan.prompts;
  const std::int64_t launches = (chunks + held - 1) / held;
  plan.chunks = (chunks + launches - 1) / launches;  // nearly the same in all launches
  return plan;
}

}  // namespace largo::cuda
