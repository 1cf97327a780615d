#include "icl/fused_regression.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "largo/runtime/check.hpp"
#include "prompts/prompt_layout.hpp"
#include "runtime/distribute.hpp"

namespace largo::icl {
namespace {

constexpr std::uint64_t kFirstLane = prompts::kLabelLane + 1;

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

}  // namespace

FusedLaw::FusedLaw(const Measure& law, std::uint64_t first_lane) : leaf(one_leaf(law)), lane(first_lane) {
  const Eigen::Index d = law.dimension();
  map = leaf.map.rows() == 0 ? Matrix(leaf.scale * Matrix::Identity(d, d)) : Matrix(leaf.scale * leaf.map);
  offset = leaf.offset.size() == 0 ? Vector(Vector::Zero(d)) : leaf.offset;
}

FusedLaws::FusedLaws(const RegressionLaws& laws)
    : covariates(*laws.covariates, kFirstLane),
      queries(*laws.queries, after(covariates)),
      prior(*laws.prior, after(queries)),
      noise(optional_law(laws.noise, after(prior))),
      noise_scale(optional_law(laws.noise_scale, noise ? after(*noise) : 0)),
      outputs(laws.outputs) {
  const std::uint64_t last = noise_scale ? after(*noise_scale) : noise ? after(*noise) : after(prior);
  if (last > prompts::kMostLanes) fail("icl", "dimension of the task", "too large", "below 2^20");
}

FusedHead::Part::Part(const FusedLaw& one)
    : law(&one), source(prompts::make_token_source<float>(one.leaf, one.lane)) {}

FusedHead::FusedHead(const FusedLaws& laws, const PromptSetting& setting, const ConstVectorRef& parameters)
    : laws_(laws),
      seed_(setting.seed),
      score_scale_(setting.score_scale),
      layout_(*setting.task),
      covariates_(laws.covariates),
      queries_(laws.queries),
      prior_(laws.prior),
      base_(laws.covariates.map.cols() + (laws.noise ? laws.noise->map.cols() : 0)),
      sums_(static_cast<std::size_t>(base_),
            layout_.m == 1 ? prompts::SumOrder::gradient : prompts::SumOrder::covariance) {
  const auto [d, e, m] = layout_;
  check_size("PromptBatches", "parameters", parameters.size(), layout_.parameters());
  check_finite("PromptBatches", "parameters", parameters);
  U_ = parameters.head(d * e).reshaped(d, e);
  V_ = parameters.tail(m * d).reshaped<Eigen::RowMajor>(m, d);
  if (laws.noise) noise_.emplace(*laws.noise);
  if (laws.noise_scale) noise_scale_.emplace(*laws.noise_scale);
  const Eigen::Index widest =
      std::max({base_, laws.queries.map.cols(), laws.prior.map.cols(), Eigen::Index{1}});
  chunk_.resize(static_cast<std::size_t>(widest) * prompts::kChunkTokens);
}

// `count` tokens of a law, one in each column.
Matrix FusedHead::draw_rows(Part& part, std::uint64_t index, Eigen::Index count) {
  part.source->draw(seed_, index, 0, static_cast<std::size_t>(count), chunk_.data());
  const FusedLaw& law = *part.law;
  const Eigen::Map<const Eigen::MatrixXf, 0, Eigen::OuterStride<>> drawn(
      chunk_.data(), count, law.map.cols(), Eigen::OuterStride<>(prompts::kChunkTokens));
  return (law.map * drawn.cast<double>().transpose()).colwise() + law.offset;
}

void FusedHead::attend(std::uint64_t index, std::int64_t L, const Execution& execution) {
  const auto chunk = static_cast<std::int64_t>(prompts::kChunkTokens);
  const Eigen::Index first_noise = covariates_.law->map.cols();
  for (std::int64_t first = 0; first < L; first += chunk) {
    runtime::check_stop(execution);
    const auto count = static_cast<std::size_t>(std::min(chunk, L - first));
    const auto at = static_cast<std::uint64_t>(first);
    covariates_.source->draw(seed_, index, at, count, chunk_.data());
    if (noise_) noise_->source->draw(seed_, index, at, count, chunk_.data() + first_noise * chunk);
    sums_.add(chunk_.data(), count);
  }
}

void FusedHead::respond(std::uint64_t index, std::int64_t L, const Execution& execution,
                        std::span<double> row) {
  const auto [d, e, m] = layout_;
  const Eigen::Index covariates = d - m;
  const Matrix rows = draw_rows(prior_, index, m * covariates / laws_.prior.map.rows());
  const Matrix W = rows.reshaped(covariates, m).transpose();
  const Vector x = draw_rows(queries_, index, 1).col(0);
  const double s = noise_scale_ ? draw_rows(*noise_scale_, index, 1)(0, 0) : 1.0;

  Matrix B = Matrix::Zero(d, base_);
  Vector offset(d);
  const Eigen::Index k = laws_.covariates.map.cols();
  B.topLeftCorner(covariates, k) = laws_.covariates.map;
  B.bottomLeftCorner(m, k) = W * laws_.covariates.map;
  offset.head(covariates) = laws_.covariates.offset;
  offset.tail(m) = W * laws_.covariates.offset;
  if (noise_) {
    B.bottomRightCorner(m, base_ - k) = s * laws_.noise->map;
    offset.tail(m) += s * laws_.noise->offset;
  }

  Eigen::Map<Vector>(row.data() + layout_.target(), m) = W * x;
  Eigen::Map<Vector>(row.data() + layout_.query(), covariates) = x;
  const Vector a = score_scale_ * (U_.leftCols(covariates) * x);
  const Matrix VB = V_ * B;
  // Values are taken relative to their size, so that none leaves the range of float32.
  const double largest = VB.cwiseAbs().maxCoeff(), scale = largest > 0 ? largest : 1;
  sums_.begin(B.transpose() * a, m == 1 ? Vector(VB.row(0).transpose() / scale) : Vector());
  attend(index, L, execution);
  const double weight = sums_.weight();
  const Vector base_mean = sums_.mean() / weight;
  Eigen::Map<Vector> mean(row.data() + layout_.vector(), d);
  mean = offset + B * base_mean;
  Eigen::Map<Matrix> spread(row.data() + layout_.matrix(), d, m);
  if (m == 1) {
    spread.col(0) = scale * (B * (sums_.gradient() / weight - sums_.value() / weight * base_mean));
  } else {
    spread = B * ((sums_.second_moment() / weight - base_mean * base_mean.transpose()) * VB.transpose());
  }
  Eigen::Map<Vector>(row.data() + layout_.output(), m) = V_ * mean;
}

}  // namespace largo::icl
