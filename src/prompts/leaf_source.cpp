#include "prompts/leaf_source.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "largo/random/streams.hpp"
#include "largo/runtime/check.hpp"
#include "prompts/coordinate_source.hpp"
#include "prompts/token_transforms.hpp"
#include "runtime/aligned_vector.hpp"

namespace largo {
namespace {

std::size_t groups_of(std::size_t count) { return (count + kTokensAtOnce - 1) / kTokensAtOnce; }

// Two coordinates a lane.
void draw_normals(std::uint64_t seed, std::uint64_t prompt, std::uint64_t lane, std::uint64_t first_token,
                  std::size_t count, std::size_t pairs, float* tokens) {
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    float* rows = tokens + 2 * pair * kChunkTokens;
    token_normals(lane_address(seed, prompt, lane + pair, first_token), groups_of(count), rows,
                  rows + kChunkTokens);
  }
}

class NormalSource final : public TokenSource<float> {
 public:
  NormalSource(std::size_t dimension, std::uint64_t lane)
      : dimension_(dimension), lane_(lane), last_(2 * kChunkTokens) {}
  void draw(std::uint64_t seed, std::uint64_t prompt, std::uint64_t first_token, std::size_t count,
            float* tokens) override {
    draw_normals(seed, prompt, lane_, first_token, count, dimension_ / 2, tokens);
    if (dimension_ % 2 == 0) return;
    draw_normals(seed, prompt, lane_ + dimension_ / 2, first_token, count, 1, last_.data());
    std::copy_n(last_.data(), groups_of(count) * kTokensAtOnce, tokens + (dimension_ - 1) * kChunkTokens);
  }

 private:
  std::size_t dimension_;
  std::uint64_t lane_;
  AlignedVector<float> last_;  // a pair of which one is used
};

class SphereSource final : public TokenSource<float> {
 public:
  SphereSource(const SphereTokens& base, std::uint64_t lane)
      : kept_(static_cast<std::size_t>(base.dimension)),
        whole_(static_cast<std::size_t>(base.whole)),
        lane_(lane),
        normals_((whole_ + 1) / 2 * 2 * kChunkTokens) {}
  void draw(std::uint64_t seed, std::uint64_t prompt, std::uint64_t first_token, std::size_t count,
            float* tokens) override {
    draw_normals(seed, prompt, lane_, first_token, count, (whole_ + 1) / 2, normals_.data());
    normalise(normals_.data(), kChunkTokens, groups_of(count) * kTokensAtOnce, whole_, kept_);
    std::copy_n(normals_.data(), kept_ * kChunkTokens, tokens);
  }

 private:
  std::size_t kept_, whole_;
  std::uint64_t lane_;
  AlignedVector<float> normals_;
};

// One token after the other in float64, as the streams give them, then turned round.
template <typename T>
class RowSource final : public TokenSource<T> {
 public:
  RowSource(const TokenLeaf& leaf, std::uint64_t lane)
      : base_(leaf.base),
        lane_(lane),
        rows_(static_cast<Eigen::Index>(kChunkTokens), leaf.base_dimension()) {}
  void draw(std::uint64_t seed, std::uint64_t prompt, std::uint64_t first_token, std::size_t count,
            T* tokens) override {
    const Stream stream = Stream(seed, prompt).substream(lane_);
    auto rows = rows_.topRows(static_cast<Eigen::Index>(count));
    std::visit([&](const auto& base) { fill(base, stream, first_token, rows); }, base_);
    check_finite("sampling", "tokens of a law", rows);
    for (Eigen::Index j = 0; j < rows.cols(); ++j) {
      T* row = tokens + static_cast<std::size_t>(j) * kChunkTokens;
      for (std::size_t i = 0; i < count; ++i) row[i] = static_cast<T>(rows(static_cast<Eigen::Index>(i), j));
      std::fill(row + count, row + groups_of(count) * kTokensAtOnce, T{0});
    }
  }

 private:
  using Rows = Eigen::Ref<RowMatrix>;
  void fill(const NormalTokens&, const Stream& stream, std::uint64_t first_token, Rows rows) {
    stream.normals(first_token * static_cast<std::uint64_t>(rows.cols()),
                   {rows.data(), static_cast<std::size_t>(rows.size())});
  }
  void fill(const SphereTokens& base, const Stream& stream, std::uint64_t first_token, Rows rows) {
    normals_.resize(rows.rows(), base.whole);
    stream.normals(first_token * static_cast<std::uint64_t>(base.whole),
                   {normals_.data(), static_cast<std::size_t>(normals_.size())});
    for (Eigen::Index i = 0; i < rows.rows(); ++i) {
      double square = 0;
      for (Eigen::Index j = 0; j < base.whole; ++j) square += normals_(i, j) * normals_(i, j);
      rows.row(i) = normals_.row(i).head(base.dimension) / std::sqrt(square);
    }
  }
  void fill(const ProductTokens& base, const Stream& stream, std::uint64_t first_token, Rows rows) {
    stream.uniforms(first_token * static_cast<std::uint64_t>(rows.cols()),
                    {rows.data(), static_cast<std::size_t>(rows.size())});
    for (Eigen::Index i = 0; i < rows.rows(); ++i) {
      for (Eigen::Index j = 0; j < rows.cols(); ++j) {
        rows(i, j) = base.coordinates[static_cast<std::size_t>(j)]->quantile(rows(i, j));
      }
    }
  }
  void fill(const SampledTokens& base, const Stream& stream, std::uint64_t first_token, Rows rows) {
    base.law->sample(stream, first_token, rows);
    rows.rowwise() -= base.centre.transpose();
  }

  decltype(TokenLeaf::base) base_;
  std::uint64_t lane_;
  RowMatrix rows_, normals_;
};

// Another source, each token multiplied by a radius of its own.
template <typename T>
class RadiusSource final : public TokenSource<T> {
 public:
  RadiusSource(std::unique_ptr<TokenSource<T>> base, const TokenLeaf& leaf, std::uint64_t lane)
      : base_(std::move(base)),
        squared_radius_(*leaf.squared_radius),
        dimension_(static_cast<std::size_t>(leaf.base_dimension())),
        lane_(lane),
        factors_(kChunkTokens) {}
  void draw(std::uint64_t seed, std::uint64_t prompt, std::uint64_t first_token, std::size_t count,
            T* tokens) override {
    base_->draw(seed, prompt, first_token, count, tokens);
    alignas(64) std::uint32_t high[kChunkTokens], low[kChunkTokens];
    token_words(lane_address(seed, prompt, lane_, first_token), groups_of(count), high, low);
    for (std::size_t i = 0; i < groups_of(count) * kTokensAtOnce; ++i) {
      factors_[i] = static_cast<T>(std::sqrt(squared_radius_.quantile(open_uniform(high[i], low[i]))));
    }
    for (std::size_t j = 0; j < dimension_; ++j) {
      T* row = tokens + j * kChunkTokens;
      for (std::size_t i = 0; i < groups_of(count) * kTokensAtOnce; ++i) row[i] *= factors_[i];
    }
  }

 private:
  std::unique_ptr<TokenSource<T>> base_;
  RadialLaw squared_radius_;
  std::size_t dimension_;
  std::uint64_t lane_;
  AlignedVector<T> factors_;
};

struct LanesOf {
  std::uint64_t operator()(const NormalTokens& base) const { return half(base.dimension); }
  std::uint64_t operator()(const SphereTokens& base) const { return half(base.whole); }
  std::uint64_t operator()(const ProductTokens& base) const { return coordinate_lanes(base.coordinates); }
  std::uint64_t operator()(const SampledTokens&) const { return 1; }
  static std::uint64_t half(std::ptrdiff_t count) { return (static_cast<std::uint64_t>(count) + 1) / 2; }
};

// The fast sources of float32; null for a law that only samples itself.
struct FloatSource {
  std::uint64_t lane;
  using Result = std::unique_ptr<TokenSource<float>>;
  Result operator()(const NormalTokens& base) const {
    return std::make_unique<NormalSource>(static_cast<std::size_t>(base.dimension), lane);
  }
  Result operator()(const SphereTokens& base) const { return std::make_unique<SphereSource>(base, lane); }
  Result operator()(const ProductTokens& base) const {
    return make_coordinate_source(base.coordinates, lane);
  }
  Result operator()(const SampledTokens&) const { return nullptr; }
};

}  // namespace

std::uint64_t lanes_of(const TokenLeaf& leaf) {
  return std::visit(LanesOf{}, leaf.base) + (leaf.squared_radius.has_value() ? 1 : 0);
}

template <typename T>
std::unique_ptr<TokenSource<T>> make_token_source(const TokenLeaf& leaf, std::uint64_t first_lane) {
  std::unique_ptr<TokenSource<T>> source;
  if constexpr (std::is_same_v<T, float>) source = std::visit(FloatSource{first_lane}, leaf.base);
  if (source == nullptr) source = std::make_unique<RowSource<T>>(leaf, first_lane);
  if (!leaf.squared_radius.has_value()) return source;
  return std::make_unique<RadiusSource<T>>(std::move(source), leaf, first_lane + lanes_of(leaf) - 1);
}

template std::unique_ptr<TokenSource<float>> make_token_source(const TokenLeaf&, std::uint64_t);
template std::unique_ptr<TokenSource<double>> make_token_source(const TokenLeaf&, std::uint64_t);

}  // namespace largo
