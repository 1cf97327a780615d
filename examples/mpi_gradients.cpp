// The gradient of a large batch of the published experiment, shared by all processes:
//
//   mpi_gradients [PROMPTS [LENGTH]]
//   mpirun -n 4 mpi_gradients
//
// The bits of the result do not depend on the number of processes, as a hash of them shows.
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>

#include "largo/mpi/mpi_session.hpp"
#include "largo/prompts/regression_gradient.hpp"
#include "largo/random/streams.hpp"

namespace {

constexpr int d = 5;

// Token covariance 0.5^|i-j|, noise of variance 0.1, tasks w ~ N(0, I/d).
largo::RegressionTask published_task() {
  largo::Matrix covariance(d, d);
  for (int i = 0; i < d; ++i) {
    for (int j = 0; j < d; ++j) covariance(i, j) = std::pow(0.5, std::abs(i - j));
  }
  const largo::Matrix root = covariance.llt().matrixL();
  return {.token_root = root,
          .query_root = root,
          .prior_root = largo::Matrix::Identity(d, d) / std::sqrt(d),
          .noise_deviation = std::sqrt(0.1),
          .score_scale = 1 / std::sqrt(d + 1)};
}

largo::Matrix small_normals(int rows, int columns, std::uint64_t stream) {
  largo::Matrix values(rows, columns);
  largo::Stream(1, stream).normals(0, {values.data(), static_cast<std::size_t>(values.size())});
  return values / std::sqrt(columns);
}

// FNV-1a, a word at a time.
std::uint64_t hash(const largo::RegressionGradient& gradient) {
  std::uint64_t value = 0xcbf29ce484222325;
  const auto add = [&](double x) { value = (value ^ std::bit_cast<std::uint64_t>(x)) * 0x100000001b3; };
  add(gradient.loss);
  for (const double x : gradient.U.reshaped()) add(x);
  for (const double x : gradient.v) add(x);
  return value;
}

void run(const largo::RegressionBatch& batch) {
  // MPI is started only if mpirun or srun asks for it, because it takes a while.
  std::optional<largo::MpiSession> session;
  if (largo::started_by_mpi()) session.emplace();
  const largo::Ranks* ranks = session ? &session->ranks() : nullptr;

  const largo::FactoredParameters parameters{small_normals(d + 1, d + 1, 1), small_normals(d + 1, d + 1, 2),
                                             small_normals(d + 1, d + 1, 3), small_normals(d + 1, 1, 4)};
  const auto start = std::chrono::steady_clock::now();
  const auto gradient =
      largo::regression_gradient(published_task(), parameters.merged(), batch, {.ranks = ranks});
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  const largo::FactoredParameters slope = largo::factored_gradient(parameters, gradient);

  if (ranks != nullptr && ranks->rank() != 0) return;  // all processes have the same gradient; one prints it
  std::printf("batch      %lld prompts of %lld tokens, d = %d\n", static_cast<long long>(batch.prompts),
              static_cast<long long>(batch.length), d);
  std::printf("loss       %.10f\n", gradient.loss);
  std::printf("gradient   |K| %.6e  |Q| %.6e  |V| %.6e  |output| %.6e\n", slope.K.norm(), slope.Q.norm(),
              slope.V.norm(), slope.output.norm());
  std::printf("bits       %016llx\n", static_cast<unsigned long long>(hash(gradient)));
  std::printf("processes  %d\n", ranks == nullptr ? 1 : ranks->size());
  std::printf(
      "speed      %.1f million tokens a second\n",
      1e-6 * static_cast<double>(batch.prompts) * static_cast<double>(batch.length) / elapsed.count());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run({.prompts = argc > 1 ? std::atoll(argv[1]) : 100000,
         .length = argc > 2 ? std::atoll(argv[2]) : 1000});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mpi_gradients: %s\n", error.what());
    return 1;
  }
}
