// The draws and functions that device_draws.hpp declares, for host and device.
#pragma once

#include "chi_squared.cuh"
#include "device_draws.hpp"

namespace largo::cuda {

LARGO_HOST_DEVICE TokenDraws token_draws(const Address& at, std::uint64_t t) {
  const Pair<std::uint32_t> words = token_words(at, t);
  const Pair<float> x = token_normals(at, t);
  const prompts::Atoms atoms{{-1.5F, 0.25F, 3, 7}, {0x20000000u, 0x90000000u, 0xf0000000u}};
  return {{words.first, words.second},
          {x.first, x.second},
          coin(words.first, 11, -2, 0.5F),
          interval(words.first, 0.1F, 3),
          atom(words.second, atoms),
          to_sphere(x.first * x.first),
          two_sided(words.first, {0.7, 2.5, 0.97}),
          power_of_two(-9 * x.first * x.first),
          weight<false>(7, x.first),
          weight<true>(30, x.first - 6.7F)};
}

LARGO_HOST_DEVICE Functions functions(double x) {
  struct {
    Address normal_draws, uniform_draws;
    std::uint64_t used = 0;
    LARGO_HOST_DEVICE prompts::Candidate operator()() {
      return candidate(normal_draws, uniform_draws, used++);
    }
    LARGO_HOST_DEVICE static double logarithm(double y) { return cuda::logarithm(y); }
  } next{{1, static_cast<std::uint64_t>(runtime::size_of_number(x) * 1000), 0},
         {1, static_cast<std::uint64_t>(runtime::size_of_number(x) * 1000), prompts::kUniforms}};
  const double positive = runtime::size_of_number(x) + 1e-3;
  return {exponential(x), logarithm(positive), root(positive),
          prompts::chi_squared(static_cast<std::int64_t>(positive), next)};
}

}  // namespace largo::cuda
