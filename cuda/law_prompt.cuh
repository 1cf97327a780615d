// Prompts of other problems than Gaussian regression: a warp draws tasks, queries and tokens, and leaves the
// gradients in global memory, as in src/icl/fused_regression.cpp and src/prompts/token_sums.cpp. It takes up
// to four prompts at a time: each octet of its threads has the algebra of one prompt, and the warp then draws
// the tokens of one prompt after the other.
#pragma once

#include <numbers>

#include "descent_prompt.cuh"
#include "token_draws.cuh"

namespace largo::cuda {

inline constexpr int kOctets = kWarp / kLanes;

/// The shared memory of a warp, for its prompt number `octet`. Totals are sums over the chunks so far, of w
/// and w v, and of w x and w v x for each coordinate x.
struct LawChunk {
  __device__ LawChunk(double* memory, const DescentLaws& laws, int octet)
      : totals(memory + octet * 2 * (laws.base() + 1)),
        direction(reinterpret_cast<float*>(memory + kOctets * 2 * (laws.base() + 1)) + 2 * octet * kWidest),
        values(direction + kWidest),
        weights(direction + 2 * (kOctets - octet) * kWidest),
        weighted(weights + kRow),
        tokens(weighted + kRow, laws.rows()) {}

  double* totals;
  float *direction, *values, *weights, *weighted;
  Chunk tokens;
};

LARGO_HOST_DEVICE std::size_t law_chunk_numbers(const DescentLaws& laws) {
  const int floats = kOctets * 2 * kWidest + (laws.rows() + 2) * kRow;
  return static_cast<std::size_t>(kOctets * 2 * (laws.base() + 1) + (floats + 1) / 2);
}

// Coordinate i of standard token `token` of a law.
__device__ inline float standard_coordinate(const TokenLaw& law, std::uint64_t seed, std::uint64_t stream,
                                            std::uint64_t token, int i) {
  if (law.kind == TokenKind::normal || law.kind == TokenKind::sphere) {
    const Pair<float> pair =
        token_normals(lane_of(seed, stream, law.first_lane + static_cast<std::uint64_t>(i / 2), 0), token);
    return i % 2 == 0 ? pair.first : pair.second;
  }
  int k = 0;
  while (law.coordinates[k].index != i) ++k;
  const Coordinate& c = law.coordinates[k];
  const Pair<std::uint32_t> words =
      token_words(lane_of(seed, stream, law.first_lane + static_cast<std::uint64_t>(c.lane), 0), token);
  return from_word(c, c.word == 1 ? words.second : words.first);
}

// One standard token, of at most kParts times eight coordinates.
template <int kParts>
__device__ Row<kParts> standard_token(const Team& team, const TokenLaw& law, std::uint64_t seed,
                                      std::uint64_t stream, std::uint64_t token) {
  float x[kParts], factor = 1;
  LARGO_UNROLL
  for (int m = 0; m < kParts; ++m) {
    const int i = m * kLanes + team.lane;
    x[m] = i < law.drawn ? standard_coordinate(law, seed, stream, token, i) : 0.0F;
  }
  if (law.kind == TokenKind::sphere) {
    float square = 0;
    LARGO_UNROLL
    for (int m = 0; m < kParts; ++m) {
      LARGO_UNROLL
      for (int lane = 0; lane < kLanes; ++lane) {
        const float x_i = team.from(x[m], lane);
        if (m * kLanes + lane < law.drawn) square = square + x_i * x_i;
      }
    }
    factor = to_sphere(square);
  }
  const bool has_radius = law.has_radius;
  float radius = 1;
  if (has_radius) {
    const Pair<std::uint32_t> words = token_words(lane_of(seed, stream, law.radius.lane, 0), token);
    radius = radius_of(words.first, words.second, law.radius);
  }
  Row<kParts> row;
  LARGO_UNROLL
  for (int m = 0; m < kParts; ++m) {
    const int i = m * kLanes + team.lane;
    float y = law.kind == TokenKind::sphere ? x[m] * factor : x[m];
    if (has_radius) y = y * radius;
    row.at[m] = i < law.dimension ? double{y} : 0;
  }
  return row;
}

// A token of the law: offset + map x. The map has `rows` rows.
template <int kParts>
__device__ Row<kParts> push(const Team& team, const DescentLaw& law, int rows, const Row<kParts>& x) {
  return product(team, x, law.tokens.dimension, rows, law.map, rows, 1);
}
template <int kParts>
__device__ void shift(const Team& team, const DescentLaw& law, int rows, Row<kParts>& x) {
  if (law.offset == nullptr) return;
  LARGO_UNROLL
  for (int m = 0; m < kParts; ++m) {
    const int i = m * kLanes + team.lane;
    if (i < rows) x.at[m] = x.at[m] + law.offset[i];
  }
}
template <int kParts>
__device__ Row<kParts> drawn_token(const Team& team, const DescentLaw& law, int rows, std::uint64_t seed,
                                   std::uint64_t stream, std::uint64_t token) {
  Row<kParts> x = push(team, law, rows, standard_token<kParts>(team, law.tokens, seed, stream, token));
  shift(team, law, rows, x);
  return x;
}

// Draws `count` tokens from number `first` on, a multiple of kSumsChunk.
__device__ inline void draw_law_tokens(const DescentLaws& laws, std::uint64_t seed, std::uint64_t prompt,
                                       std::uint64_t first, int count, int thread, const Chunk& chunk) {
  const int padded = (count + kLanes - 1) / kLanes * kLanes;
  ChunkDraws{laws.covariates.tokens, seed, prompt, first, thread, padded}.draw(chunk);
  if (!laws.has_noise || laws.noise_draws == prompts::NoiseDraws::spare) return;
  float* const row = chunk.tokens + laws.noise_row() * kRow;
  const TokenLaw& noise = laws.noise.tokens;
  if (laws.noise_draws == prompts::NoiseDraws::lanes) {
    ChunkDraws{noise, seed, prompt, first, thread, padded}.draw(Chunk(row, 1));
    return;
  }
  constexpr int kPairs = static_cast<int>(prompts::kSharedPairs);
  const Address at = lane_of(seed, prompt, noise.first_lane, first / 2);
  for (int item = thread; item < (count + 2 * kPairs - 1) / (2 * kPairs) * 4; item += kWarp) {
    const int block = item / 4;
    float* const to = row + place(2 * kPairs * block) - place(kPairs * block);
    draw_normals(at, block, item % 4, to, to + place(kPairs));
  }
}

// Weights relative to 2 to the power of the top score, which is returned; and the values times these weights.
__device__ inline float weigh_law(const DescentLaws& laws, int count, int thread, const LawChunk& chunk) {
  constexpr int kMine = kSumsChunk / kWarp;
  float scores[kMine], values[kMine];
  const int base = laws.base(), covariates = laws.covariates.tokens.dimension;
  LARGO_UNROLL
  for (int m = 0; m < kMine; ++m) scores[m] = values[m] = 0;
  for (int j = 0; j < base; ++j) {
    const float a = chunk.direction[j], b = chunk.values[j];
    const float* const x = chunk.tokens.tokens + (j < covariates ? j : laws.noise_row()) * kRow;
    LARGO_UNROLL
    for (int m = 0; m < kMine; ++m) {
      if (m * kWarp >= count) break;
      const float x_i = x[place(m * kWarp + thread)];
      scores[m] = scores[m] + a * x_i;
      values[m] = values[m] + b * x_i;
    }
  }
  const float top = top_of(scores, count, thread);
  LARGO_UNROLL
  for (int m = 0; m < kMine; ++m) {
    if (m * kWarp >= count) break;
    const int token = m * kWarp + thread;
    const float w = token < count ? power_of_two(scores[m] - top) : 0.0F;
    chunk.weights[place(token)] = w;
    chunk.weighted[place(token)] = token < count ? w * values[m] : 0.0F;
  }
  return top;
}

// Adds the sums of a chunk to the totals, which are relative to 2^old_top; each group of eight lanes has
// every fourth column: that of ones, then the coordinates.
__device__ inline void add_law_sums(const DescentLaws& laws, int count, int thread, std::int64_t old_top,
                                    std::int64_t chunk_top, std::int64_t top, const LawChunk& chunk) {
  const int lane = thread % kLanes, group = thread / kLanes;
  const int base = laws.base(), covariates = laws.covariates.tokens.dimension;
  const double old_scale = power_of_two(old_top - top), new_scale = power_of_two(chunk_top - top);
  for (int first = 0; first <= base; first += 4) {
    const int column = first + group;
    const int j = column <= base ? column - 1 : 0;
    const float* const x = chunk.tokens.tokens + (j < covariates ? (j < 0 ? 0 : j) : laws.noise_row()) * kRow;
    float sum = 0, sum_v = 0;
    const auto add = [&](int at) {
      const float w = chunk.weights[at], wv = chunk.weighted[at];
      const float x_i = j < 0 ? 1.0F : x[at];
      sum = sum + w * x_i;
      sum_v = sum_v + wv * x_i;
    };
    int token = 0;
    for (; token + 4 * kLanes <= count; token += 4 * kLanes) {
      LARGO_UNROLL
      for (int b = 0; b < 4; ++b) add(place(token) + lane + b * kLanes);
    }
    for (; token < count; token += kLanes) add(place(token) + lane);
    const double all = over_lanes(sum), all_v = over_lanes(sum_v);
    if (lane < 2 && column <= base) {
      double& total = chunk.totals[2 * column + lane];
      total = total * old_scale + (lane == 0 ? all : all_v) * new_scale;
    }
  }
}

// Sums over all tokens of a prompt. False if a score is out of bounds.
__device__ inline bool sum_law_tokens(const DescentLaws& laws, std::uint64_t seed, std::uint64_t prompt,
                                      std::int64_t length, int thread, const LawChunk& chunk) {
  for (int k = thread; k < 2 * (laws.base() + 1); k += kWarp) chunk.totals[k] = 0;
  __syncwarp();
  std::int64_t top = 0;
  bool within = true;
  for (std::int64_t first = 0; first < length; first += kSumsChunk) {
    const int count = length - first < kSumsChunk ? static_cast<int>(length - first) : kSumsChunk;
    draw_law_tokens(laws, seed, prompt, static_cast<std::uint64_t>(first), count, thread, chunk.tokens);
    __syncwarp();
    const double chunk_top = double{weigh_law(laws, count, thread, chunk)};
    __syncwarp();
    within = within && runtime::size_of_number(chunk_top) <= prompts::kLargestScore;
    const auto new_top = within ? static_cast<std::int64_t>(chunk_top) : 0;
    const std::int64_t old_top = first == 0 ? new_top : top;
    top = old_top < new_top ? new_top : old_top;
    add_law_sums(laws, count, thread, old_top, new_top, top, chunk);
    __syncwarp();
  }
  return within;
}

// Leaves in rows what the gradient is summed from. Prompt p of the batch has number first + p and row p; the
// octets have prompts `at`, at + apart, ..., or the last one again beyond `end`, each with its own.
template <int kParts>
__device__ void draw_law_prompts(const DescentSetting& setting, const DescentRun& run, const Shared& s,
                                 const Team& team, std::uint64_t first, std::int64_t at, std::int64_t apart,
                                 std::int64_t end, int group, double* rows) {
  const DescentLaws& laws = setting.laws;
  const int d = setting.dimension, n = d + 1, k = laws.covariates.tokens.dimension, base = laws.base();
  const int thread = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  double* const memory = s.chunks + warp * static_cast<int>(law_chunk_numbers(laws));
  while (group > 1 && at + (group - 1) * apart >= end) --group;
  const int mine = team.octet < group ? team.octet : group - 1;
  const std::int64_t p = at + mine * apart;
  const std::uint64_t id = first + static_cast<std::uint64_t>(p);
  const LawChunk chunk(memory, laws, mine);
  const std::uint64_t stream = prompts::kTaskStreams + id / prompts::kTasksInStream;
  const std::uint64_t task = id % prompts::kTasksInStream;
  const Row<kParts> w = drawn_token<kParts>(team, laws.prior, d, run.seed, stream, task);
  const Row<kParts> query = drawn_token<kParts>(team, laws.queries, d, run.seed, stream, task);
  const double scale =
      laws.has_noise_scale
          ? element(team, drawn_token<1>(team, laws.noise_scale, 1, run.seed, stream, task), 0)
          : 1;
  const Row<kParts> u = product(team, query, d, n, s.scores, n, 1);
  const Row<kParts> whitened = product(team, w, d, k, laws.covariates.map, 1, d);
  Row<kParts> a = product(team, u, d, k, laws.covariates.map, 1, d);
  const double u_y = element(team, u, d), v_y = s.v[d];
  const double noise_map = laws.has_noise ? laws.noise.map[0] : 0;
  Row<kParts> b = Row<kParts>::zero();
  double largest = 0;
  LARGO_UNROLL
  for (int m = 0; m < kParts; ++m) {
    const int i = m * kLanes + team.lane;
    if (i < k) {
      a.at[m] = a.at[m] + u_y * whitened.at[m];
      b.at[m] = s.values[i] + v_y * whitened.at[m];
    } else if (i < base) {
      a.at[m] = scale * (u_y * noise_map);
      b.at[m] = scale * (v_y * noise_map);
    }
    largest = runtime::larger_of(largest, runtime::size_of_number(b.at[m]));
  }
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    largest = runtime::larger_of(largest, team.from_partner(largest, distance));
  }
  const double value_scale = largest > 0 ? largest : 1;
  LARGO_UNROLL
  for (int m = 0; m < kParts; ++m) {
    const int i = m * kLanes + team.lane;
    if (i < base && team.octet == mine) {
      chunk.direction[i] = static_cast<float>(a.at[m] * std::numbers::log2e);
      chunk.values[i] = static_cast<float>(b.at[m] / value_scale);
    }
  }
  bool within = true;
  for (int g = 0; g < group; ++g) {
    const auto number = first + static_cast<std::uint64_t>(at + g * apart);
    const bool all = sum_law_tokens(laws, run.seed, number, run.length, thread, LawChunk(memory, laws, g));
    if (g == mine) within = all;
  }
  const double weight = chunk.totals[0], value = chunk.totals[1] / weight;
  Row<kParts> mean, spread;
  LARGO_UNROLL
  for (int m = 0; m < kParts; ++m) {
    const int i = m * kLanes + team.lane;
    mean.at[m] = i < base ? chunk.totals[2 * (i + 1)] / weight : 0;
    spread.at[m] = i < base ? (chunk.totals[2 * (i + 1) + 1] / weight - value * mean.at[m]) * value_scale : 0;
  }
  const auto label = [&](const Row<kParts>& x) {
    const double noise = laws.has_noise ? noise_map * element(team, x, k) : 0;
    return dot(team, whitened, x) + scale * noise;
  };
  Row<kParts> token_mean = push(team, laws.covariates, d, mean);
  const Row<kParts> token_spread = push(team, laws.covariates, d, spread);
  shift(team, laws.covariates, d, token_mean);
  double label_shift = 0;
  if (laws.covariates.offset != nullptr) {
    Row<kParts> offset = Row<kParts>::zero();
    shift(team, laws.covariates, d, offset);
    label_shift = dot(team, w, offset);
  }
  if (laws.noise.offset != nullptr) label_shift = label_shift + scale * laws.noise.offset[0];
  const double mean_y = label(mean) + label_shift, spread_y = label(spread);
  Row<kParts> v = Row<kParts>::zero();
  LARGO_UNROLL
  for (int m = 0; m < kParts; ++m) {
    const int i = m * kLanes + team.lane;
    if (i == d) token_mean.at[m] = mean_y;
    if (i < n) v.at[m] = s.v[i];
  }
  const double output = dot(team, v, token_mean), target = dot(team, w, query);
  const icl::LossNumbers loss = icl::loss_numbers(laws.loss, output, target);
  if (team.octet != mine) return;
  double* const row = rows + p * static_cast<std::int64_t>(law_row_width(d));
  LARGO_UNROLL
  for (int m = 0; m < kParts; ++m) {
    const int i = m * kLanes + team.lane;
    if (i < d) __stcg(row + i, query.at[m]);
    if (i < n) {
      __stcg(row + d + i, loss.slope * (i == d ? spread_y : token_spread.at[m]));
      __stcg(row + d + n + i, loss.slope * token_mean.at[m]);
    }
  }
  if (team.lane != 0) return;
  // A batch that the CPU refuses is not a number here.
  __stcg(row + d + 2 * n,
         within && is_finite(output) ? loss.value : bits_as<double>(std::uint64_t{0x7ff8000000000000}));
}

// Draws the prompts of this block of threads. A warp takes several at a time if there are enough of them.
template <int kParts>
__device__ void draw_law_batch(const DescentSetting& setting, const DescentRun& run, const Shared& s,
                               const Team& team, int cluster, int rank, std::int64_t step, double* rows) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp, warps = setting.laws.warps;
  if (warp >= warps) return;
  const std::int64_t apart = std::int64_t{warps} * cluster, each = (setting.prompts + apart - 1) / apart;
  const int group = each < kOctets ? static_cast<int>(each) : kOctets;
  const std::uint64_t first = static_cast<std::uint64_t>(step * setting.prompts);
  for (std::int64_t at = std::int64_t{warp} * cluster + rank; at < setting.prompts; at += group * apart) {
    draw_law_prompts<kParts>(setting, run, s, team, first, at, apart, setting.prompts, group, rows);
    __syncwarp();
  }
}

// Sums over the prompts in order: the gradient in U and v, and the value of the batch, which is returned.
__device__ inline double sum_law_rows(const DescentSetting& setting, const Shared& s, const double* rows,
                                      bool& finite) {
  const int d = setting.dimension, n = d + 1;
  const auto width = static_cast<std::int64_t>(law_row_width(d));
  const auto prompts = static_cast<double>(setting.prompts);
  bool mine = true;
  __shared__ double value;
  for (int e = static_cast<int>(threadIdx.x); e <= n * n + n; e += kThreads) {
    const int i = e % n, j = e / n;
    double sum = 0;
    if (e == n * n + n) {
      LARGO_UNROLL_MORE
      for (std::int64_t p = 0; p < setting.prompts; ++p) sum = sum + __ldcg(rows + p * width + d + 2 * n);
      value = sum / prompts;
      mine = mine && is_finite(value);
      continue;
    }
    if (j < d) {
      LARGO_UNROLL_MORE
      for (std::int64_t p = 0; p < setting.prompts; ++p) {
        sum = sum + __ldcg(rows + p * width + j) * __ldcg(rows + p * width + d + i);
      }
    } else if (j == n) {
      LARGO_UNROLL_MORE
      for (std::int64_t p = 0; p < setting.prompts; ++p) sum = sum + __ldcg(rows + p * width + d + n + i);
    }
    s.gradient[e] = j < n ? (setting.score_scale / prompts) * sum : sum / prompts;
    mine = mine && is_finite(s.gradient[e]);
  }
  finite = __syncthreads_and(mine) != 0;
  return value;
}

}  // namespace largo::cuda
