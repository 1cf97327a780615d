// One step of a descent: sums the gradients of all prompts in order and moves the parameters, as in
// src/prompts/regression_gradient.cpp and src/training/stochastic_descent.cpp.
#pragma once

#include "descent_prompt.cuh"
#include "law_prompt.cuh"
#include "training/first_batches.hpp"

namespace largo::cuda {

__device__ inline void wait_for_cluster(int cluster) {
#if __CUDA_ARCH__ >= 900
  if (cluster > 1) {
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
    return;
  }
#endif
  __syncthreads();
}

// Computes U and v from the parameters, and the factors that prompts are multiplied by.
__device__ inline void merge_parameters(const DescentSetting& setting, const Shared& s) {
  const int d = setting.dimension, n = d + 1;
  const double *K = s.parameters, *Q = K + n * n, *V = Q + n * n, *o = V + n * n;
  for (int e = static_cast<int>(threadIdx.x); e < n * n + n; e += kThreads) {
    const int i = e % n, j = e / n;  // row and column; column n is v
    double x = 0;
    switch (setting.parameters) {
      case Parametrisation::invariant:
        if (j < d && i < d) x = s.parameters[i + j * d];
        if (j == n && i == d) x = s.parameters[d * d];
        break;
      case Parametrisation::merged: x = s.parameters[e]; break;
      case Parametrisation::factored:
        LARGO_UNROLL_SOME
        for (int k = 0; k < n; ++k) {
          x = j < n ? fused(Q[k + j * n], K[k + i * n], x) : fused(o[k], V[k + i * n], x);
        }
        break;
    }
    (j < n ? s.U : s.v)[j < n ? e : i] = x;
    if (j < n) s.scores[e] = setting.score_scale * x;
  }
  __syncthreads();
  const int base = setting.has_laws ? setting.laws.covariates.tokens.dimension : d;
  const double* const map = setting.has_laws ? setting.laws.covariates.map : s.token_root;
  for (int i = static_cast<int>(threadIdx.x); i < base; i += kThreads) {
    double x = 0;
    for (int k = 0; k < d; ++k) x = fused(s.v[k], map[k + i * d], x);
    s.values[i] = x;
  }
  __syncthreads();
}

// Sums the gradients of each block of prompts of a pass, as rows.
__device__ inline void sum_blocks(const DescentSetting& setting, const Shared& s, int prompts, double* rows) {
  const int d = setting.dimension, n = d + 1, width = static_cast<int>(row_width(d));
  const int blocks = (prompts + prompts::kPromptsInBlock - 1) / prompts::kPromptsInBlock;
  for (int e = static_cast<int>(threadIdx.x); e < blocks * width; e += kThreads) {
    const int block = e / width, at = e % width, i = at % n, j = at / n;
    const int first = block * prompts::kPromptsInBlock;
    const int end = prompts < first + prompts::kPromptsInBlock ? prompts : first + prompts::kPromptsInBlock;
    double sum = 0;
    if (at == n * n) {
      for (int p = first; p < end; ++p) sum = sum + s.loss[p];
    } else {
      const double* const left = j < d ? s.query + j : s.slope;
      const double* const right = (j < d ? s.along : s.mean) + i;
      const int step = j < d ? n : 1;
      LARGO_UNROLL
      for (int k = 0; k < prompts::kPromptsInBlock; ++k) {
        const int p = first + k < end ? first + k : first;
        const double more = fused(left[p * step], right[p * n], sum);
        sum = first + k < end ? more : sum;
      }
    }
    __stcg(rows + e, sum);
  }
}

// Sums the rows of all blocks into the gradient in U and v and the loss. Returns the value of the batch.
__device__ inline double sum_rows(const DescentSetting& setting, const Shared& s, const double* rows,
                                  bool& finite) {
  const int d = setting.dimension, n = d + 1, width = static_cast<int>(row_width(d));
  const auto blocks = static_cast<std::int64_t>(block_count(setting.prompts));
  for (int e = static_cast<int>(threadIdx.x); e < width; e += kThreads) {
    double sum = 0;
    LARGO_UNROLL_MORE
    for (std::int64_t block = 0; block < blocks; ++block) sum = sum + __ldcg(rows + block * width + e);
    s.row[e] = sum;
  }
  __syncthreads();
  const double scale = 1 / static_cast<double>(setting.prompts);
  bool mine = true;
  for (int e = static_cast<int>(threadIdx.x); e < n * n + n; e += kThreads) {
    const int i = e % n,
              j = e / n;  // the last row is v's, and goes behind the column of U that no query sees
    const int row = j < d ? j : d;
    double x = 0;
    if (j != d) {
      if (i < d) {
        for (int k = 0; k < d; ++k) x = fused(s.row[row * n + k], s.token_root[i + k * d], x);
      } else {
        x = s.row[row * n + d];
      }
    }
    x = x * scale;
    mine = mine && is_finite(x);
    s.gradient[e] = x * setting.loss_factor;
  }
  const double loss = s.row[n * n] * scale;
  finite = __syncthreads_and(mine && is_finite(loss)) != 0;
  return setting.loss_factor * loss;
}

// Element e of the gradient in the parameters of the descent.
__device__ inline double pull_back(const DescentSetting& setting, const Shared& s, int e) {
  const int d = setting.dimension, n = d + 1;
  if (setting.parameters == Parametrisation::invariant) {
    return e < d * d ? s.gradient[e % d + e / d * n] : s.gradient[n * n + d];
  }
  if (setting.parameters == Parametrisation::merged) return s.gradient[e];
  const double *K = s.parameters, *Q = K + n * n, *V = Q + n * n, *o = V + n * n;
  const double *G = s.gradient, *g = G + n * n;
  const int part = e / (n * n), i = e % n, j = e / n % n;
  if (part == 2) return o[i] * g[j];
  double x = 0;
  for (int k = 0; k < n; ++k) {
    if (part == 0) x = fused(G[j + k * n], Q[i + k * n], x);
    if (part == 1) x = fused(G[k + j * n], K[i + k * n], x);
    if (part == 3) x = fused(g[k], V[i + k * n], x);
  }
  return x;
}

// Moves parameter e, by the formulas of largo/training/stochastic_descent.hpp.
__device__ inline void move(const DescentSetting& setting, const Shared& s, int e, double g, double size,
                            double momentum_power, double squares_power) {
  double &theta = s.parameters[e], &m = s.momentum[e], &q = s.squares[e];
  switch (setting.optimizer) {
    case Optimizer::plain: theta = theta - size * g; return;
    case Optimizer::momentum:
      m = setting.momentum * m + g;
      theta = theta - size * m;
      return;
    case Optimizer::adam:
      m = setting.momentum * m + (1 - setting.momentum) * g;
      q = setting.squares * q + (1 - setting.squares) * (g * g);
      theta = theta - size * (m / (1 - momentum_power)) / (root(q / (1 - squares_power)) + setting.epsilon);
      return;
  }
}

// The most parameters that a thread may have to move, for the largest dimension of a kernel.
template <int kParts>
inline constexpr int kMostMoved = static_cast<int>(
    (parameter_count(kParts * kLanes - 1, Parametrisation::factored) + kThreads - 1) / kThreads);

// The part of a run's state that every thread knows. The first thread updates the rest, in shared memory.
struct Place {
  std::int64_t step, records;
};

// Writes a record of the run, with the mean loss since the last one, or the loss at the start.
__device__ inline void record(const DescentSetting& setting, DescentRun& run, const Shared& s, Place& place,
                              double loss, bool writes) {
  const auto count = static_cast<std::int64_t>(parameter_count(setting.dimension, setting.parameters));
  double* const to =
      setting.records + (run.place * setting.most_records + place.records) * (count + kRecordHead);
  if (writes) {
    for (std::int64_t e = threadIdx.x; e < count; e += kThreads) to[kRecordHead + e] = s.parameters[e];
    if (threadIdx.x == 0) {
      to[0] = static_cast<double>(place.step);
      to[1] = run.time;
      to[2] = loss;
    }
  }
  ++place.records;
}

// Computes the gradients of the prompts of this block of threads, as rows.
template <int kParts>
__device__ void draw_batch(const DescentSetting& setting, const DescentRun& run, const Shared& s,
                           const Team& team, int cluster, int rank, std::int64_t step, double* rows) {
  const auto width = static_cast<std::int64_t>(row_width(setting.dimension));
  // Blocks of prompts are taken in order: the first block of threads has the first ones.
  const auto blocks = static_cast<std::int64_t>(block_count(setting.prompts));
  const std::int64_t share = (blocks + cluster - 1) / cluster * prompts::kPromptsInBlock;
  const std::int64_t begin = rank * share;
  const std::int64_t end = begin + share < setting.prompts ? begin + share : setting.prompts;
  const int teams = kPass / team.count, mine = static_cast<int>(threadIdx.x) / (kLanes * team.count);
  for (std::int64_t first = begin; first < end; first += teams) {
    const int here = end - first < teams ? static_cast<int>(end - first) : teams;
    if (mine < here) {
      const std::int64_t id = step * setting.prompts + first + mine;
      draw_prompt<kParts>(setting, run, s, team, static_cast<std::uint64_t>(id), mine);
    }
    __syncthreads();
    sum_blocks(setting, s, here, rows + first / prompts::kPromptsInBlock * width);
    __syncthreads();
  }
}

// Makes one step. All threads of the cluster have the same numbers, and decide alike.
template <int kParts, bool kLaws>
__device__ Ending make_step(const DescentSetting& setting, DescentRun& run, const Shared& s, const Team& team,
                            int cluster, int rank, double* rows, Place& place) {
  const int count = static_cast<int>(parameter_count(setting.dimension, setting.parameters));
  double* const step_rows = rows + (place.step & 1) * static_cast<std::int64_t>(step_numbers(setting));
  const double size = setting.step_sizes[place.step - setting.first_step];
  merge_parameters(setting, s);
  bool finite = true;
  double value = 0;
  if constexpr (kLaws) {
    draw_law_batch<kParts>(setting, run, s, team, cluster, rank, place.step, step_rows);
    wait_for_cluster(cluster);
    value = sum_law_rows(setting, s, step_rows, finite);
  } else {
    draw_batch<kParts>(setting, run, s, team, cluster, rank, place.step, step_rows);
    wait_for_cluster(cluster);
    value = sum_rows(setting, s, step_rows, finite);
  }
  double gradient[kMostMoved<kParts>];
  LARGO_UNROLL
  for (int m = 0; m < kMostMoved<kParts>; ++m) {
    const int e = m * kThreads + static_cast<int>(threadIdx.x);
    if (e < count) {
      gradient[m] = pull_back(setting, s, e);
      finite = finite && is_finite(gradient[m]);
    }
  }
  finite = __syncthreads_and(finite && is_finite(value)) != 0;
  const double loss = runtime::size_of_number(value);
  const double first_loss = place.step < training::kFirstBatches || run.first_loss == 0
                                ? runtime::larger_of(run.first_loss, loss)
                                : run.first_loss;
  if (!finite || loss > setting.divergence_factor * first_loss) return Ending::refused;
  if (place.step == 0) record(setting, run, s, place, value, rank == 0);
  const double momentum_power = run.momentum_power * setting.momentum;
  const double squares_power = run.squares_power * setting.squares;
  __syncthreads();  // all have read the run, and a record of the start has been written
  bool still_finite = true;
  LARGO_UNROLL
  for (int m = 0; m < kMostMoved<kParts>; ++m) {
    const int e = m * kThreads + static_cast<int>(threadIdx.x);
    if (e < count) {
      move(setting, s, e, gradient[m], size, momentum_power, squares_power);
      still_finite = still_finite && is_finite(s.parameters[e]);
    }
  }
  if (threadIdx.x == 0) {
    run.first_loss = first_loss;
    run.loss_sum = run.loss_sum + value;
    ++run.loss_count;
    if (setting.optimizer == Optimizer::adam) {
      run.momentum_power = momentum_power;
      run.squares_power = squares_power;
    }
  }
  if (__syncthreads_and(still_finite) == 0) return Ending::not_finite;
  ++place.step;
  if (threadIdx.x == 0) run.time = run.time + size;
  if (setting.record_every > 0 && place.step % setting.record_every == 0) {
    record(setting, run, s, place, run.loss_sum / static_cast<double>(run.loss_count), rank == 0);
    __syncthreads();
    if (threadIdx.x == 0) {
      run.loss_sum = 0;
      run.loss_count = 0;
    }
  }
  return Ending::in_order;
}

}  // namespace largo::cuda
