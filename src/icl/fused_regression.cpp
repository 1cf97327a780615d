#include "icl/fused_regression.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "largo/runtime/check.hpp"
#include "prompts/collapsed_kernel.hpp"
#include "prompts/prompt_layout.hpp"
#include "random/float_draws.hpp"
#include "runtime/distribute.hpp"

namespace largo::icl {
namespace {

using prompts::PaddedRows;
using prompts::size_of;

// Laws that sample themselves have a substream by the number of their lane. Those below are taken: the labels
// of mixtures, and in prompt_forms.cpp tasks, tokens and lengths.
constexpr std::uint64_t kFirstLane = 8;
static_assert(kFirstLane > prompts::kLabelLane);
constexpr auto kBlock = static_cast<std::size_t>(kFusedPrompts);

TokenLeaf one_leaf(const Measure& law) {
  std::vector<TokenLeaf> leaves = law.token_leaves();
  if (leaves.size() == 1) return std::move(leaves[0]);
  TokenLeaf leaf;
  leaf.base = SampledTokens{&law, Vector::Zero(law.dimension())};
  return leaf;
}

std::uint64_t after(const FusedLaw& law) { return law.lane + prompts::lanes_of(law.leaf); }

std::optional<FusedLaw> optional_law(const MeasurePtr& law, std::uint64_t lane) {
  return law ? std::optional<FusedLaw>(std::in_place, *law, lane) : std::nullopt;
}

// (c U)ᵀ without the columns that meet the query's zeros
prompts::RightFactor score_factor(const RowLayout& layout, std::size_t covariates, double score_scale,
                                  const ConstVectorRef& parameters) {
  check_size("PromptBatches", "parameters", parameters.size(), layout.parameters());
  check_finite("PromptBatches", "parameters", parameters);
  const Matrix U = parameters.head(layout.d * layout.e).reshaped(layout.d, layout.e);
  return prompts::transposed(U, static_cast<Eigen::Index>(covariates), score_scale);
}

// The most numbers that a query, a row of a task or a scale of the noise is made from.
std::size_t widest_task(const FusedLaws& laws) {
  const Eigen::Index scale = laws.noise_scale ? laws.noise_scale->map.cols() : 1;
  return size_of(std::max({laws.queries.map.cols(), laws.prior.map.cols(), scale, Eigen::Index{1}}));
}

PaddedRows rows_of(const ConstMatrixRef& A) {
  PaddedRows rows(size_of(A.rows()), size_of(A.cols()));
  for (Eigen::Index k = 0; k < A.rows(); ++k) {
    for (Eigen::Index i = 0; i < A.cols(); ++i) rows.row(size_of(k))[i] = A(k, i);
  }
  return rows;
}

}  // namespace

FusedLaw::FusedLaw(const Measure& law, std::uint64_t first_lane)
    : leaf(one_leaf(law)),
      map(leaf.whole_map()),
      offset(leaf.whole_offset()),
      lane(first_lane),
      push(prompts::transposed(map)),
      pull(prompts::as_it_is(map)),
      has_offset(!offset.isZero(0)),
      padded_offset(rows_of(offset.transpose())) {}

FusedLaws::FusedLaws(const RegressionLaws& laws)
    : covariates(*laws.covariates, kFirstLane),
      noise(optional_law(laws.noise, after(covariates))),
      queries(*laws.queries, kFirstLane),
      prior(*laws.prior, after(queries)),
      noise_scale(optional_law(laws.noise_scale, after(prior))),
      outputs(size_of(laws.outputs)) {
  const std::uint64_t last =
      std::max(noise ? after(*noise) : after(covariates), noise_scale ? after(*noise_scale) : after(prior));
  if (last > prompts::kMostLanes) fail("icl", "dimension of the task", "too large", "below 2^20");
  if (task_tokens() > prompts::kMostTaskTokens) {
    fail("icl", "outputs of the task", static_cast<double>(outputs), "at most 4096, or a law of all rows");
  }
}

std::size_t FusedLaws::task_tokens() const { return outputs * dimension() / size_of(prior.map.rows()); }

FusedHead::Part::Part(const FusedLaw& one)
    : law(&one), source(prompts::make_token_source<float>(one.leaf, one.lane)) {}

FusedHead::FusedHead(const FusedLaws& laws, const PromptSetting& setting, const ConstVectorRef& parameters)
    : laws_(laws),
      setting_(setting),
      layout_(*setting.task),
      d_(laws.dimension()),
      m_(laws.outputs),
      k_(laws.covariate_base()),
      base_(laws.base()),
      scores_(score_factor(layout_, d_, setting.score_scale, parameters)),
      queries_(laws.queries),
      prior_(laws.prior),
      source_(laws.noise
                  ? prompts::make_token_source(laws.covariates.leaf, laws.noise->leaf, laws.covariates.lane)
                  : prompts::make_token_source<float>(laws.covariates.leaf, laws.covariates.lane)),
      sums_(base_, m_ == 1 ? prompts::SumOrder::gradient : prompts::SumOrder::covariance),
      standard_(kBlock * laws.task_tokens(), widest_task(laws)),
      tasks_(kBlock * laws.task_tokens(), size_of(laws.prior.map.rows())),
      w_(kBlock * m_, d_),
      query_(kBlock, d_),
      scale_(kBlock, 1),
      u_(kBlock, d_ + m_),
      whitened_(kBlock * m_, k_),
      a_(kBlock, base_),
      values_(kBlock * m_, base_),
      mean_(kBlock, base_),
      spread_(kBlock * m_, base_),
      token_mean_(kBlock, d_ + m_),
      token_spread_(kBlock * m_, d_ + m_) {
  const Eigen::Index d = layout_.d, m = layout_.m;
  V_ = rows_of(parameters.tail(m * d).reshaped<Eigen::RowMajor>(m, d));
  shared_values_ = PaddedRows(m_, k_);
  prompts::multiply(V_, m_, laws.covariates.pull, shared_values_);
  if (laws.noise_scale) noise_scale_.emplace(*laws.noise_scale);
  chunk_.resize(std::max(base_, standard_.stride()) * prompts::kChunkTokens);
  for (std::size_t n = 0; n < kBlock; ++n) scale_.row(n)[0] = 1;
}

// Draws `each` tokens of a law for each prompt, one in each row.
void FusedHead::draw_rows(Part& part, std::uint64_t first, std::size_t count, std::size_t each,
                          PaddedRows& rows) {
  // Normals come in blocks of 32 tokens.
  constexpr std::uint64_t kAligned = random::kGroupsInBlock * random::kTokensAtOnce;
  const FusedLaw& law = *part.law;
  const std::size_t width = size_of(law.map.cols());
  std::size_t row = 0;
  for (std::size_t n = 0; n < count;) {
    const std::uint64_t stream = prompts::kTaskStreams + (first + n) / prompts::kTasksInStream;
    const std::uint64_t within = (first + n) % prompts::kTasksInStream;
    const std::uint64_t here = std::min<std::uint64_t>(count - n, prompts::kTasksInStream - within);
    const std::uint64_t end = (within + here) * each;
    for (std::uint64_t token = within * each; token < end;) {
      const std::uint64_t begin = token / kAligned * kAligned;
      const std::uint64_t size = std::min<std::uint64_t>(prompts::kChunkTokens, end - begin);
      part.source->draw(setting_.seed, stream, begin, size, chunk_.data());
      for (std::uint64_t i = token - begin; i < size; ++i, ++row) {
        double* const to = standard_.row(row);
        for (std::size_t j = 0; j < width; ++j) to[j] = chunk_[j * prompts::kChunkTokens + i];
      }
      token = begin + size;
    }
    n += here;
  }
  prompts::multiply(standard_, row, law.push, rows);
  if (!law.has_offset) return;
  for (std::size_t i = 0; i < row; ++i) {
    for (Eigen::Index j = 0; j < law.offset.size(); ++j) rows.row(i)[j] += law.offset[j];
  }
}

// Tasks and queries; u = c U (x_q, 0), W M_x and M_xᵀ u_x.
void FusedHead::draw_tasks(std::uint64_t first, std::size_t count) {
  if (laws_.task_tokens() == m_) {
    draw_rows(prior_, first, count, m_, w_);
  } else {
    draw_rows(prior_, first, count, 1, tasks_);
    for (std::size_t i = 0; i < count * m_; ++i) std::copy_n(tasks_.row(i / m_) + i % m_ * d_, d_, w_.row(i));
  }
  draw_rows(queries_, first, count, 1, query_);
  if (noise_scale_) draw_rows(*noise_scale_, first, count, 1, scale_);
  prompts::multiply(query_, count, scores_, u_);
  prompts::multiply(w_, count * m_, laws_.covariates.pull, whitened_);
  prompts::multiply(u_, count, laws_.covariates.pull, a_);
}

// s Σ_k labels_k (M_ε)_k,column
double FusedHead::noise_along(std::size_t n, std::size_t column, const double* labels) const {
  const Matrix& map = laws_.noise->map;
  double sum = 0;
  for (std::size_t k = 0; k < m_; ++k)
    sum += labels[k] * map(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(column));
  return scale_.row(n)[0] * sum;
}

// Scores <a, β> and values <b_k, β> as standard tokens see them: a = Bᵀ u and b_k = Bᵀ V_k.
void FusedHead::aim(std::size_t n) {
  double* const a = a_.row(n);
  const double* const u = u_.row(n);
  for (std::size_t k = 0; k < m_; ++k) {
    const double* const t = whitened(n, k);
    for (std::size_t i = 0; i < k_; ++i) a[i] += u[d_ + k] * t[i];
  }
  for (std::size_t j = k_; j < base_; ++j) a[j] = noise_along(n, j - k_, u + d_);
  for (std::size_t l = 0; l < m_; ++l) {
    double* const b = values(n, l);
    const double* const v = V_.row(l);
    std::copy_n(shared_values_.row(l), k_, b);
    for (std::size_t k = 0; k < m_; ++k) {
      const double* const t = whitened(n, k);
      for (std::size_t i = 0; i < k_; ++i) b[i] += v[d_ + k] * t[i];
    }
    for (std::size_t j = k_; j < base_; ++j) b[j] = noise_along(n, j - k_, v + d_);
  }
}

// Values are taken relative to their size, which is returned, so that none leaves the range of float32.
double FusedHead::scale_values(double* b) const {
  double largest = 0;
  for (std::size_t i = 0; i < base_; ++i) largest = std::max(largest, std::abs(b[i]));
  if (largest == 0) return 1;
  for (std::size_t i = 0; i < base_; ++i) b[i] /= largest;
  return largest;
}

void FusedHead::attend(std::size_t n, std::uint64_t index, std::int64_t L, const Execution& execution) {
  const auto chunk = static_cast<std::int64_t>(prompts::kChunkTokens);
  const auto size = static_cast<Eigen::Index>(base_);
  const Eigen::Map<const Vector> a(a_.row(n), size), b(values(n, 0), size);
  sums_.begin(a, b);
  for (std::int64_t first = 0; first < L; first += chunk) {
    runtime::check_stop(execution);
    const auto count = static_cast<std::size_t>(std::min(chunk, L - first));
    source_->draw(setting_.seed, index, static_cast<std::uint64_t>(first), count, chunk_.data());
    sums_.add(chunk_.data(), count);
  }
}

// The weighted mean of β, and its covariance times each b_k.
void FusedHead::take_sums(std::size_t n) {
  const double weight = sums_.weight();
  const auto mean = sums_.mean();
  double* const to = mean_.row(n);
  for (std::size_t i = 0; i < base_; ++i) to[i] = mean[static_cast<Eigen::Index>(i)] / weight;
  if (m_ == 1) {
    const auto gradient = sums_.gradient();
    const double value = sums_.value() / weight;
    for (std::size_t i = 0; i < base_; ++i)
      spread_.row(n)[i] = gradient[static_cast<Eigen::Index>(i)] / weight - value * to[i];
    return;
  }
  const auto size = static_cast<Eigen::Index>(base_);
  const Eigen::Map<const Vector> at(to, size);
  const Matrix covariance = sums_.second_moment() / weight - at * at.transpose();
  for (std::size_t k = 0; k < m_; ++k) {
    Eigen::Map<Vector>(spread_.row(n * m_ + k), size) =
        covariance * Eigen::Map<const Vector>(values(n, k), size);
  }
}

// Coordinate k of the labels for given β, without the offset: <W_k M_x, β_x> + s <(M_ε)_k, β_ε>.
double FusedHead::label(std::size_t n, std::size_t k, const double* base) const {
  double noise = 0;
  for (std::size_t j = k_; j < base_; ++j)
    noise += laws_.noise->map(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(j - k_)) * base[j];
  return prompts::dot(whitened(n, k), base, whitened_.stride()) + scale_.row(n)[0] * noise;
}

void FusedHead::write(std::size_t n, double* row) {
  const FusedLaw& covariates = laws_.covariates;
  double* const mean = token_mean_.row(n);
  if (covariates.has_offset) {
    for (std::size_t i = 0; i < d_; ++i) mean[i] += covariates.padded_offset.row(0)[i];
  }
  for (std::size_t k = 0; k < m_; ++k) {
    const double* const w = w_.row(n * m_ + k);
    row[size_of(layout_.target()) + k] = prompts::dot(w, query_.row(n), w_.stride());
    double shift = covariates.has_offset ? prompts::dot(w, covariates.padded_offset.row(0), w_.stride()) : 0;
    if (laws_.noise && laws_.noise->has_offset)
      shift += scale_.row(n)[0] * laws_.noise->padded_offset.row(0)[k];
    mean[d_ + k] = label(n, k, mean_.row(n)) + shift;
    double* const spread = row + size_of(layout_.matrix()) + k * (d_ + m_);
    std::copy_n(token_spread_.row(n * m_ + k), d_, spread);
    for (std::size_t l = 0; l < m_; ++l) spread[d_ + l] = label(n, l, spread_.row(n * m_ + k));
  }
  for (std::size_t k = 0; k < m_; ++k)
    row[size_of(layout_.output()) + k] = prompts::dot(V_.row(k), mean, V_.stride());
  std::copy_n(query_.row(n), d_, row + layout_.query());
  std::copy_n(mean, d_ + m_, row + layout_.vector());
}

void FusedHead::respond(std::int64_t first, std::int64_t count, const Execution& execution,
                        std::span<double> rows) {
  const std::size_t size = size_of(count);
  draw_tasks(static_cast<std::uint64_t>(first), size);
  for (std::size_t n = 0; n < size; ++n) {
    const std::int64_t index = first + static_cast<std::int64_t>(n);
    aim(n);
    const double scale = m_ == 1 ? scale_values(values(n, 0)) : 1;
    attend(n, static_cast<std::uint64_t>(index), static_cast<std::int64_t>(drawn_length(setting_, index)),
           execution);
    take_sums(n);
    for (std::size_t i = 0; i < base_; ++i) spread_.row(n * m_)[i] *= scale;
  }
  prompts::multiply(mean_, size, laws_.covariates.push, token_mean_);
  prompts::multiply(spread_, size * m_, laws_.covariates.push, token_spread_);
  for (std::size_t n = 0; n < size; ++n) write(n, rows.data() + n * layout_.width());
}

}  // namespace largo::icl
