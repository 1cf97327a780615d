// Candidates for chi-squared variables, as src/prompts/chi_squared.cpp draws them.
#pragma once

#include "collapsed.cuh"
#include "draws.cuh"
#include "prompts/wishart_sums.hpp"

namespace largo::cuda {

/// The i-th candidate; every group of eight tokens gives sixteen.
LARGO_HOST_DEVICE prompts::Candidate candidate(const Address& normal_draws, const Address& uniform_draws,
                                               std::uint64_t i) {
  const std::uint64_t group = i / 16, t = i % 8;
  const Address normals_at{normal_draws.seed, normal_draws.stream, normal_draws.first + 16 * group};
  const Address words_at{uniform_draws.seed, uniform_draws.stream, uniform_draws.first + 4 * group};
  const Pair<float> x = token_normals(normals_at, t);
  const Pair<std::uint32_t> words = token_words(words_at, t);
  const bool second = i % 16 >= 8;
  return {double{second ? x.second : x.first},
          (static_cast<double>(second ? words.second : words.first) + 0.5) * 0x1p-32};
}

}  // namespace largo::cuda
