// Shared by the tests of the kernels: a prompt's draws as a kernel addresses them, what they
// mean in a regression, and the kernels' names.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "largo/prompts/prompt_kernel.hpp"
#include "largo/prompts/regression_gradient.hpp"
#include "largo/runtime/matrix.hpp"
#include "random/float_draws.hpp"
#include "runtime/aligned_vector.hpp"

namespace largo::test {

/// The d standard normals of the task, then those of the query.
inline Vector prompt_draws(std::uint64_t seed, std::uint64_t prompt, std::ptrdiff_t d) {
  const auto groups = (static_cast<std::size_t>(d) + random::kTokensAtOnce) / random::kTokensAtOnce;
  runtime::AlignedVector<float> task(groups * random::kTokensAtOnce), query(groups * random::kTokensAtOnce);
  random::token_normals({seed, prompt, std::uint64_t{1} << 62}, groups, task.data(), query.data());
  Vector draws(2 * d);
  for (std::ptrdiff_t i = 0; i < d; ++i) {
    draws[i] = double{task[static_cast<std::size_t>(i)]};
    draws[d + i] = double{query[static_cast<std::size_t>(i)]};
  }
  return draws;
}

/// What the laws of a prompt's loss and gradient depend on, given its task w and its query: the query,
/// u = score_scale U query, Γu and Γv, where Γ is the second moment of the tokens, c = <v, Γu>, κ = <v, Γv>,
/// s² = <u, Γu> and the label y = <w, query>.
struct GivenPrompt {
  Vector query, gu, gv;
  double c, kappa, ss, y;
};

inline GivenPrompt given_prompt(const RegressionTask& task, const RegressionParameters& parameters,
                                std::uint64_t seed, std::uint64_t prompt) {
  const auto d = task.token_root.rows();
  const Vector draws = prompt_draws(seed, prompt, d);
  const Vector w = task.prior_root * draws.head(d);
  const Vector query = task.query_root * draws.tail(d);
  const Matrix covariance = task.token_root * task.token_root.transpose();
  Matrix gamma(d + 1, d + 1);
  gamma << covariance, covariance * w, (covariance * w).transpose(),
      w.dot(covariance * w) + task.noise_deviation * task.noise_deviation;
  const Vector u = task.score_scale * (parameters.U.leftCols(d) * query);
  const Vector& v = parameters.v;
  const Vector gu = gamma * u, gv = gamma * v;
  return {query, gu, gv, v.dot(gu), v.dot(gv), u.dot(gu), w.dot(query)};
}

/// The last part of the name of a test that runs with each kernel.
inline std::string kernel_name(const ::testing::TestParamInfo<PromptKernel>& kernel) {
  return kernel.param == PromptKernel::full ? "Full" : "Collapsed";
}

}  // namespace largo::test
