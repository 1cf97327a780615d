// Stochastic descent with whole runs inside one kernel: a cluster of blocks of threads draws the prompts of a
// batch, eight threads or more to each, sums their gradients and moves the parameters, step after step.
//
// Every number is made by the operations of the CPU's code, in its order (src/sampling/regression_batch.cpp
// and src/training/stochastic_descent.cpp), so runs have its bits: partial sums over tokens by lane and
// chunk, gradients over blocks of eight prompts, and these one after the other.
#include "descent_kernel.hpp"

#include <cuda_runtime.h>

#include "chi_squared.cuh"
#include "octet.cuh"

namespace largo::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarp = 32;
constexpr std::uint64_t kPromptDraws = std::uint64_t{1} << 62, kMatrixDraws = std::uint64_t{1} << 63;
constexpr std::int64_t kFirstBatches = 16;

__device__ void wait_for_cluster(int cluster) {
#if __CUDA_ARCH__ >= 900
  if (cluster > 1) {
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
    return;
  }
#endif
  __syncthreads();
}

// Tokens of a thread that are taken together: each fills the waiting times of the others.
constexpr int kTogether = 4;

// use(g, h, count) for the tokens of this thread's lane in a chunk, kTogether at a time and in order, the
// first `count` of them being inside. Of every two blocks of 32 tokens the threads of even lanes draw the
// counters of the first, those of odd lanes of the second, and each hands the words that it has no use for to
// its neighbour.
template <typename Use>
__device__ void for_tokens(const Team& team, const Address& at, std::int64_t chunk, int count,
                           const Use& use) {
  const int j = team.lane / 2, k = team.lane % 2;
  const std::uint64_t first = static_cast<std::uint64_t>(chunk) * (kCollapsedChunk / 2);
  for (int two = 0; two < count; two += 2 * kBlockTokens) {
    const std::uint64_t counter = first + static_cast<std::uint64_t>(two / 2 + k * kBlockCounters + j);
    std::uint32_t words[2][3][2];  // of both blocks: of two counters of radii and one of angles
    LARGO_UNROLL
    for (int c = 0; c < 3; ++c) {
      const Words mine = philox(at, counter + static_cast<std::uint64_t>(4 * c));
      LARGO_UNROLL
      for (int w = 0; w < 2; ++w) {
        const std::uint32_t kept = k == 0 ? mine.word[w] : mine.word[2 + w];
        const std::uint32_t got = team.from_partner(k == 0 ? mine.word[2 + w] : mine.word[w], 1);
        words[0][c][w] = k == 0 ? kept : got;
        words[1][c][w] = k == 0 ? got : kept;
      }
    }
    LARGO_UNROLL
    for (int b = 0; b < 2; ++b) {
      const int left = count - (two + b * kBlockTokens + team.lane);
      if (count <= two + b * kBlockTokens) break;
      float g[kTogether], h[kTogether];
      LARGO_UNROLL
      for (int v = 0; v < kTogether; ++v) {
        const Pair<float> x = normals(words[b][v / 2][v % 2], angle_of(words[b][2][v / 2], v));
        g[v] = x.first;
        h[v] = x.second;
      }
      use(g, h, (left + kLanes - 1) / kLanes);
    }
  }
}

// The sums over L tokens in every thread of the team: each octet takes a chunk at a time, and adds those of
// all in order.
template <bool kFixed>
__device__ void sum_tokens(const Team& team, const Address& at, std::int64_t L, CollapsedToken token,
                           double (&total)[kCollapsedSums]) {
  const std::int64_t chunks = (L + kCollapsedChunk - 1) / kCollapsedChunk;
  float top = 0;
  LARGO_UNROLL
  for (double& sum : total) sum = 0;
  for (std::int64_t first = 0; first < chunks; first += team.count) {
    const std::int64_t chunk = first + team.octet;
    const std::int64_t left = L - chunk * kCollapsedChunk;
    const int count = left > kCollapsedChunk ? kCollapsedChunk : left < 0 ? 0 : static_cast<int>(left);
    float sum[kCollapsedSums] = {};
    if (!kFixed) {
      float largest = -bits_as<float>(0x7f800000);
      for_tokens(team, at, chunk, count,
                 [&](const float(&g)[kTogether], const float(&)[kTogether], int inside) {
                   LARGO_UNROLL
                   for (int v = 0; v < kTogether; ++v)
                     largest = v < inside && largest < g[v] ? g[v] : largest;
                 });
      token.top = team.largest(largest);
    }
    for_tokens(team, at, chunk, count,
               [&](const float(&g)[kTogether], const float(&h)[kTogether], int inside) {
                 float w[kTogether];
                 LARGO_UNROLL
                 for (int v = 0; v < kTogether; ++v) {
                   w[v] = weight<!kFixed>(token.rate, kFixed ? g[v] : g[v] - token.top);
                   w[v] = v < inside ? w[v] : 0.0F;
                 }
                 LARGO_UNROLL
                 for (int v = 0; v < kTogether; ++v) add_token(token, g[v], h[v], w[v], sum);
               });
    const float my_top = token.top;
    const int here = chunks - first < team.count ? static_cast<int>(chunks - first) : team.count;
    for (int octet = 0; octet < here; ++octet) {
      Scales scale;
      if (!kFixed) {
        token.top = team.from_octet(my_top, octet);
        if (first == 0 && octet == 0) top = token.top;
        scale = scales(token, top);
        top = top < token.top ? token.top : top;
      }
      LARGO_UNROLL
      for (int k = 0; k < kCollapsedSums; ++k) {
        const double more = double{team.from_octet(sum[k], octet)};
        if (kFixed) {
          total[k] = total[k] + more;
        } else {
          const double old_scale = k < kW2 ? scale.old_scale : scale.old_scale * scale.old_scale;
          const double new_scale = k < kW2 ? scale.new_scale : scale.new_scale * scale.new_scale;
          total[k] = total[k] * old_scale + more * new_scale;
        }
      }
    }
  }
  LARGO_UNROLL
  for (double& sum : total) sum = team.total(sum);
}

// Candidates for chi-squared variables, eight at a time.
struct TeamCandidates {
  const Team& team;
  Address normal_draws, uniform_draws;
  std::uint64_t used = 0;
  Candidate mine = {};

  __device__ Candidate operator()() {
    const int lane = static_cast<int>(used % kLanes);
    if (lane == 0) {
      mine = candidate(normal_draws, uniform_draws, used + static_cast<std::uint64_t>(team.lane));
    }
    ++used;
    return {team.from(mine.normal, lane), team.from(mine.uniform, lane)};
  }
};

// What all prompts of a step read, and where they leave their results.
struct Shared {
  double *token_root, *query_root, *prior_root;
  double *parameters, *momentum, *squares;      // of the descent
  double *U, *v, *scores, *values;              // merged; c U, and Cᵀ v_x
  double* gradient;                             // merged: of U and v
  double* row;                                  // the sum of all blocks
  double *query, *slope, *mean, *along, *loss;  // of a pass, one prompt after the other
};

// The prompts at a time of a block of threads.
constexpr int kPass = kThreads / kLanes;

std::size_t shared_numbers(int d, Parameters parameters) {
  const auto n = static_cast<std::size_t>(d + 1), dd = static_cast<std::size_t>(d * d);
  const std::size_t pass = kPass;
  return 3 * dd + 3 * parameter_count(d, parameters) + 2 * (n * n + n) + (n * n + n) + row_width(d) +
         pass * (n + 1 + 2 * n + 1);
}

__device__ Shared lay_out(double* memory, int d, Parameters parameters) {
  const int n = d + 1, count = static_cast<int>(parameter_count(d, parameters));
  const auto take = [&](int numbers) {
    double* const begin = memory;
    memory += numbers;
    return begin;
  };
  Shared s;
  s.token_root = take(d * d);
  s.query_root = take(d * d);
  s.prior_root = take(d * d);
  s.parameters = take(count);
  s.momentum = take(count);
  s.squares = take(count);
  s.U = take(n * n);
  s.v = take(n);
  s.scores = take(n * n);
  s.values = take(n);
  s.gradient = take(n * n + n);
  s.row = take(static_cast<int>(row_width(d)));
  s.query = take(kPass * n);
  s.slope = take(kPass);
  s.mean = take(kPass * n);
  s.along = take(kPass * n);
  s.loss = take(kPass);
  return s;
}

// U and v from the parameters, and what prompts are multiplied by.
__device__ void merge_parameters(const DescentSetting& setting, const Shared& s) {
  const int d = setting.dimension, n = d + 1;
  const double *K = s.parameters, *Q = K + n * n, *V = Q + n * n, *o = V + n * n;
  for (int e = static_cast<int>(threadIdx.x); e < n * n + n; e += kThreads) {
    const int i = e % n, j = e / n;  // row and column; column n is v
    double x = 0;
    switch (setting.parameters) {
      case Parameters::invariant:
        if (j < d && i < d) x = s.parameters[i + j * d];
        if (j == n && i == d) x = s.parameters[d * d];
        break;
      case Parameters::merged:
        x = s.parameters[e];
        break;
      case Parameters::factored:
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
  for (int i = static_cast<int>(threadIdx.x); i < d; i += kThreads) {
    double x = 0;
    for (int k = 0; k < d; ++k) x = fused(s.v[k], s.token_root[k + i * d], x);
    s.values[i] = x;
  }
  __syncthreads();
}

// One prompt: its gradient before the tokens' covariance is applied, at place `at` of the pass.
template <int kParts>
__device__ void draw_prompt(const DescentSetting& setting, const DescentRun& run, const Shared& s,
                            const Team& team, std::uint64_t id, int at) {
  const int d = setting.dimension, n = d + 1;
  const int groups = d / kLanes + 1;  // of eight, for d + 1 numbers
  const double v_y = s.v[d];
  Row<kParts> omega, chi, mean, gradient;
  const Address prompt_draws{run.seed, id, kPromptDraws};
  LARGO_UNROLL
  for (int m = 0; m < kParts; ++m) {
    const int i = m * kLanes + team.lane;
    const Pair<float> task = token_normals(prompt_draws, static_cast<std::uint64_t>(i));
    const Pair<float> across = token_normals(prompt_draws, static_cast<std::uint64_t>(groups * kLanes + i));
    omega.at[m] = i < d ? double{task.first} : 0;
    chi.at[m] = i < d ? double{task.second} : 0;
    mean.at[m] = i < n ? double{across.first} : 0;
    gradient.at[m] = i < n ? double{across.second} : 0;
  }
  const Row<kParts> w = product(team, omega, d, d, s.prior_root, d, 1);
  const Row<kParts> query = product(team, chi, d, d, s.query_root, d, 1);
  const Row<kParts> u = product(team, query, d, n, s.scores, n, 1);
  const Row<kParts> whitened_w = product(team, w, d, d, s.token_root, 1, d);
  Row<kParts> a = product(team, u, d, d, s.token_root, 1, d);
  // u and v as a whitened token sees them.
  const double u_y = element(team, u, d);
  Row<kParts> b = Row<kParts>::zero();
  LARGO_UNROLL
  for (int m = 0; m < kParts; ++m) {
    const int i = m * kLanes + team.lane;
    if (i < d) {
      a.at[m] = a.at[m] + u_y * whitened_w.at[m];
      b.at[m] = s.values[i] + v_y * whitened_w.at[m];
    } else if (i == d) {
      a.at[m] = setting.noise * u_y;
      b.at[m] = setting.noise * v_y;
    }
  }
  const Frame<kParts> frame = collapse(team, a, b);
  double output = 0;
  bool refused = false;
  if (run.attention == Attention::linear) {
    const Address normal_draws{run.seed, id, kMatrixDraws};
    TeamCandidates next{team, normal_draws, {run.seed, id, kMatrixDraws + kUniforms}};
    const CollapsedSums sums = linear_sums(run.length, frame.alpha, frame.beta, next);
    spread(team, sums, frame, mean, gradient);
    LARGO_UNROLL
    for (int m = 0; m < kParts; ++m) mean.at[m] = mean.at[m] * frame.s;
    output = frame.s * sums.vg;
  } else {
    refused = !(frame.s <= kLargestSpread);
    const CollapsedSetting tokens =
        collapsed_setting(run.length, refused ? 0 : frame.s, frame.alpha, frame.beta);
    const Address token_draws{run.seed, id, 0};
    double total[kCollapsedSums];
    if (tokens.fixed) {
      sum_tokens<true>(team, token_draws, run.length, tokens.token, total);
    } else {
      sum_tokens<false>(team, token_draws, run.length, tokens.token, total);
    }
    const CollapsedSums sums = collapsed_sums(tokens, run.length, total);
    spread(team, sums, frame, mean, gradient);
    output = frame.alpha * sums.g + frame.beta * sums.h;
  }
  const double difference = output - dot(team, w, query);
  const double mean_y = dot(team, whitened_w, mean) + setting.noise * element(team, mean, d);
  const double gradient_y = dot(team, whitened_w, gradient) + setting.noise * element(team, gradient, d);
  if (team.octet != 0) return;
  LARGO_UNROLL
  for (int m = 0; m < kParts; ++m) {
    const int i = m * kLanes + team.lane;
    if (i < d) s.query[at * n + i] = query.at[m] * (2 * difference * setting.score_scale);
    if (i < n) {
      s.mean[at * n + i] = i == d ? mean_y : mean.at[m];
      s.along[at * n + i] = i == d ? gradient_y : gradient.at[m];
    }
  }
  if (team.lane == 0) {
    s.slope[at] = 2 * difference;
    s.loss[at] = refused ? bits_as<double>(std::uint64_t{0x7ff8000000000000}) : difference * difference;
  }
}

// The gradients of the blocks of prompts of a pass, as rows.
__device__ void sum_blocks(const DescentSetting& setting, const Shared& s, int prompts, double* rows) {
  const int d = setting.dimension, n = d + 1, width = static_cast<int>(row_width(d));
  const int blocks = (prompts + kPromptsInBlock - 1) / kPromptsInBlock;
  for (int e = static_cast<int>(threadIdx.x); e < blocks * width; e += kThreads) {
    const int block = e / width, at = e % width, i = at % n, j = at / n;
    const int first = block * kPromptsInBlock;
    const int end = prompts < first + kPromptsInBlock ? prompts : first + kPromptsInBlock;
    double sum = 0;
    if (at == n * n) {
      for (int p = first; p < end; ++p) sum = sum + s.loss[p];
    } else {
      const double* const left = j < d ? s.query + j : s.slope;
      const double* const right = (j < d ? s.along : s.mean) + i;
      const int step = j < d ? n : 1;
      LARGO_UNROLL
      for (int k = 0; k < kPromptsInBlock; ++k) {
        const int p = first + k < end ? first + k : first;
        const double more = fused(left[p * step], right[p * n], sum);
        sum = first + k < end ? more : sum;
      }
    }
    __stcg(rows + e, sum);
  }
}

// The gradient in U and v and the loss, from the rows of all blocks. Returns the value of the batch.
__device__ double sum_rows(const DescentSetting& setting, const Shared& s, const double* rows, bool& finite) {
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
              j = e / n;  // the last row, which is v's, goes behind the column of U that no query sees
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
__device__ double pull_back(const DescentSetting& setting, const Shared& s, int e) {
  const int d = setting.dimension, n = d + 1;
  if (setting.parameters == Parameters::invariant) {
    return e < d * d ? s.gradient[e % d + e / d * n] : s.gradient[n * n + d];
  }
  if (setting.parameters == Parameters::merged) return s.gradient[e];
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

// Parameter e, by the formulas of largo/training/stochastic_descent.hpp.
__device__ void move(const DescentSetting& setting, const Shared& s, int e, double g, double size,
                     double momentum_power, double squares_power) {
  double &theta = s.parameters[e], &m = s.momentum[e], &q = s.squares[e];
  switch (setting.optimiser) {
    case Step::plain:
      theta = theta - size * g;
      return;
    case Step::momentum:
      m = setting.momentum * m + g;
      theta = theta - size * m;
      return;
    case Step::adam:
      m = setting.momentum * m + (1 - setting.momentum) * g;
      q = setting.squares * q + (1 - setting.squares) * (g * g);
      theta = theta - size * (m / (1 - momentum_power)) / (root(q / (1 - squares_power)) + setting.epsilon);
      return;
  }
}

// Parameters a thread may have to move: those of the largest dimension of a kernel.
template <int kParts>
constexpr int kMostMoved =
    static_cast<int>((parameter_count(kParts * kLanes - 1, Parameters::factored) + kThreads - 1) / kThreads);

// Where a run stands: what every thread knows. The rest of it is in shared memory, and the first thread's.
struct Place {
  std::int64_t step, records;
};

// A record of the run, with the mean loss since the last one, or that of the start.
__device__ void record(const DescentSetting& setting, DescentRun& run, const Shared& s, Place& place,
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

// The gradients of the prompts of this block of threads, as rows.
template <int kParts>
__device__ void draw_batch(const DescentSetting& setting, const DescentRun& run, const Shared& s,
                           const Team& team, int cluster, int rank, std::int64_t step, double* rows) {
  const auto width = static_cast<std::int64_t>(row_width(setting.dimension));
  // Blocks of prompts in order: the first ones are the first block of threads'.
  const auto blocks = static_cast<std::int64_t>(block_count(setting.prompts));
  const std::int64_t share = (blocks + cluster - 1) / cluster * kPromptsInBlock;
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
    sum_blocks(setting, s, here, rows + first / kPromptsInBlock * width);
    __syncthreads();
  }
}

// One step. All threads of the cluster have the same numbers, and decide alike.
template <int kParts>
__device__ Ending make_step(const DescentSetting& setting, DescentRun& run, const Shared& s, const Team& team,
                            int cluster, int rank, double* rows, Place& place) {
  const int count = static_cast<int>(parameter_count(setting.dimension, setting.parameters));
  double* const step_rows = rows + (place.step & 1) * static_cast<std::int64_t>(block_count(setting.prompts) *
                                                                                row_width(setting.dimension));
  const double size = setting.step_sizes[place.step - setting.first_step];
  merge_parameters(setting, s);
  draw_batch<kParts>(setting, run, s, team, cluster, rank, place.step, step_rows);
  wait_for_cluster(cluster);
  bool finite = true;
  const double value = sum_rows(setting, s, step_rows, finite);
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
  const double loss = size_of_number(value);
  const double first_loss =
      place.step < kFirstBatches || run.first_loss == 0 ? larger_of(run.first_loss, loss) : run.first_loss;
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
    if (setting.optimiser == Step::adam) {
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

template <int kParts>
__global__ void __launch_bounds__(kThreads, 2)
    descend(const __grid_constant__ DescentSetting setting, DescentRun* runs, int cluster, int octets) {
  extern __shared__ double memory[];
  __shared__ DescentRun run;
  const int d = setting.dimension;
  const int rank = static_cast<int>(blockIdx.x) % cluster;
  DescentRun& saved = runs[static_cast<int>(blockIdx.x) / cluster];
  if (threadIdx.x == 0) run = saved;
  __syncthreads();
  const auto count = static_cast<std::int64_t>(parameter_count(d, setting.parameters));
  double* const values = setting.values + run.place * 3 * count;
  double* const rows =
      setting.rows + run.place * static_cast<std::int64_t>(2 * block_count(setting.prompts) * row_width(d));
  const Shared s = lay_out(memory, d, setting.parameters);
  for (int e = static_cast<int>(threadIdx.x); e < d * d; e += kThreads) {
    s.token_root[e] = setting.token_root[e];
    s.query_root[e] = setting.query_root[e];
    s.prior_root[e] = setting.prior_root[e];
  }
  for (std::int64_t e = threadIdx.x; e < 3 * count; e += kThreads) s.parameters[e] = values[e];
  const int in_warp = static_cast<int>(threadIdx.x) % kWarp, size = kLanes * octets;
  const unsigned all = octets == kWarp / kLanes ? 0xffffffffu : (1u << size) - 1;
  const Team team{all << (in_warp / size * size), 0xffu << (in_warp / kLanes * kLanes), octets,
                  in_warp % size / kLanes, in_warp % kLanes};
  wait_for_cluster(cluster);  // all have read what one of them writes at the end
  Place place{run.step, 0};
  Ending ending = Ending::in_order;
  while (place.step < run.until && ending == Ending::in_order) {
    ending = make_step<kParts>(setting, run, s, team, cluster, rank, rows, place);
  }
  __syncthreads();
  if (rank != 0) return;
  for (std::int64_t e = threadIdx.x; e < 3 * count; e += kThreads) values[e] = s.parameters[e];
  if (threadIdx.x != 0) return;
  run.step = place.step;
  run.records = place.records;
  run.ending = ending;
  saved = run;
}

constexpr std::size_t kMoreThanHalf = 116 * 1024;

using Kernel = void (*)(DescentSetting, DescentRun*, int, int);
Kernel kernel_of(int d) {
  const int parts = (d + kLanes) / kLanes;  // of d + 1 numbers
  return parts == 1 ? descend<1> : parts == 2 ? descend<2> : descend<4>;
}

}  // namespace

const char* launch_descents(const DescentSetting& setting, DescentRun* runs, int count, DescentShape shape,
                            void* stream) {
  const Kernel kernel = kernel_of(setting.dimension);
  std::size_t bytes = shared_numbers(setting.dimension, setting.parameters) * sizeof(double);
  // More than half of the memory there is: no two blocks on one multiprocessor.
  if (shape.apart && bytes < kMoreThanHalf) bytes = kMoreThanHalf;
  cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (error == cudaSuccess && shape.cluster > 8) {
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  }
  if (error != cudaSuccess) return cudaGetErrorString(error);
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(count * shape.cluster));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = bytes;
  config.stream = static_cast<cudaStream_t>(stream);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = static_cast<unsigned>(shape.cluster);
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = shape.cluster > 1 ? 1 : 0;
  error = cudaLaunchKernelEx(&config, kernel, setting, runs, shape.cluster, shape.octets);
  return error == cudaSuccess ? "" : cudaGetErrorString(error);
}

Residents resident_blocks(const DescentSetting& setting) {
  const Kernel kernel = kernel_of(setting.dimension);
  const std::size_t bytes = shared_numbers(setting.dimension, setting.parameters) * sizeof(double);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  int device = 0, processors = 0, blocks = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreads, bytes);
  return {processors, blocks * processors};
}

}  // namespace largo::cuda
