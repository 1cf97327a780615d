#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>
#include <vector>

#include "largo/random/streams.hpp"
#include "largo/runtime/check.hpp"
#include "prompts/token_source.hpp"
#include "prompts/token_transforms.hpp"
#include "random/float_draws.hpp"
#include "runtime/aligned_vector.hpp"

namespace largo::prompts {
namespace {

std::size_t groups_of(std::size_t count) {
  return (count + random::kTokensAtOnce - 1) / random::kTokensAtOnce;
}

// Two coordinates come from each lane.
void draw_normals(std::uint64_t seed, std::uint64_t prompt, std::uint64_t lane, std::uint64_t first_token,
                  std::size_t count, std::size_t pairs, float* tokens) {
  // Two whole blocks fill vectors of 512 bits, and take less time than one and most of another. Rows have
  // room.
  constexpr std::size_t kTwoBlocks = 2 * random::kGroupsInBlock;
  static_assert(kChunkTokens % (kTwoBlocks * random::kTokensAtOnce) == 0);
  std::size_t groups = groups_of(count);
  if (groups % kTwoBlocks > random::kGroupsInBlock) groups = (groups / kTwoBlocks + 1) * kTwoBlocks;
  random::token_normals(lane_address(seed, prompt, lane, first_token), groups,
                        {tokens, kChunkTokens, pairs, kLaneCounters});
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
    std::copy_n(last_.data(), groups_of(count) * random::kTokensAtOnce,
                tokens + (dimension_ - 1) * kChunkTokens);
  }

 private:
  std::size_t dimension_;
  std::uint64_t lane_;
  runtime::AlignedVector<float> last_;  // a pair of coordinates of which one is used
};

// Points on a sphere, and with kSpare the normal that is left over if they take an odd number of normals.
template <bool kSpare>
class SphereSource final : public TokenSource<float> {
 public:
  SphereSource(const SphereTokens& base, std::uint64_t lane)
      : kept_(static_cast<std::size_t>(base.dimension)),
        whole_(static_cast<std::size_t>(base.whole)),
        lane_(lane),
        normals_(fits() ? 0 : 2 * pairs() * kChunkTokens) {}
  void draw(std::uint64_t seed, std::uint64_t prompt, std::uint64_t first_token, std::size_t count,
            float* tokens) override {
    float* const drawn = fits() ? tokens : normals_.data();
    draw_normals(seed, prompt, lane_, first_token, count, pairs(), drawn);
    const std::size_t padded = groups_of(count) * random::kTokensAtOnce;
    normalise(drawn, kChunkTokens, padded, whole_, kept_);
    if (fits()) return;
    for (std::size_t j = 0; j < kept_; ++j)
      std::copy_n(drawn + j * kChunkTokens, padded, tokens + j * kChunkTokens);
    if (kSpare) std::copy_n(drawn + whole_ * kChunkTokens, padded, tokens + kept_ * kChunkTokens);
  }

 private:
  std::size_t pairs() const { return (whole_ + 1) / 2; }
  // Whether the normals are as many as the coordinates asked for, so that they are drawn in place.
  bool fits() const { return 2 * pairs() == kept_ + (kSpare ? 1 : 0); }

  std::size_t kept_, whole_;
  std::uint64_t lane_;
  runtime::AlignedVector<float> normals_;
};

// One normal per token; two tokens share a pair.
class SharedPairs final : public TokenSource<float> {
 public:
  explicit SharedPairs(std::uint64_t lane) : lane_(lane) {}
  void draw(std::uint64_t seed, std::uint64_t prompt, std::uint64_t first_token, std::size_t count,
            float* tokens) override {
    const std::size_t blocks = (count + 2 * kSharedPairs - 1) / (2 * kSharedPairs);
    alignas(64) float first[kChunkTokens / 2], second[kChunkTokens / 2];
    random::token_normals(lane_address(seed, prompt, lane_, first_token / 2), blocks * random::kGroupsInBlock,
                          first, second);
    for (std::size_t b = 0; b < blocks; ++b) {
      float* const to = tokens + 2 * b * kSharedPairs;
      std::copy_n(first + b * kSharedPairs, kSharedPairs, to);
      std::copy_n(second + b * kSharedPairs, kSharedPairs, to + kSharedPairs);
    }
  }

 private:
  std::uint64_t lane_;
};
static_assert(kSharedPairs == random::kGroupsInBlock * random::kTokensAtOnce);

// The tokens of two sources, one below the other.
class StackedSource final : public TokenSource<float> {
 public:
  StackedSource(std::unique_ptr<TokenSource<float>> first, std::size_t dimension,
                std::unique_ptr<TokenSource<float>> second)
      : first_(std::move(first)), second_(std::move(second)), dimension_(dimension) {}
  void draw(std::uint64_t seed, std::uint64_t prompt, std::uint64_t first_token, std::size_t count,
            float* tokens) override {
    first_->draw(seed, prompt, first_token, count, tokens);
    second_->draw(seed, prompt, first_token, count, tokens + dimension_ * kChunkTokens);
  }

 private:
  std::unique_ptr<TokenSource<float>> first_, second_;
  std::size_t dimension_;
};

// Draws one token after the other in float64, in the order of the streams, and transposes them.
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
      std::fill(row + count, row + groups_of(count) * random::kTokensAtOnce, T{0});
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

// Multiplies each token of another source by a radius of its own.
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
    random::token_words(lane_address(seed, prompt, lane_, first_token), groups_of(count), high, low);
    for (std::size_t i = 0; i < groups_of(count) * random::kTokensAtOnce; ++i) {
      factors_[i] = static_cast<T>(std::sqrt(squared_radius_.quantile(open_uniform(high[i], low[i]))));
    }
    for (std::size_t j = 0; j < dimension_; ++j) {
      T* row = tokens + j * kChunkTokens;
      for (std::size_t i = 0; i < groups_of(count) * random::kTokensAtOnce; ++i) row[i] *= factors_[i];
    }
  }

 private:
  std::unique_ptr<TokenSource<T>> base_;
  RadialLaw squared_radius_;
  std::size_t dimension_;
  std::uint64_t lane_;
  runtime::AlignedVector<T> factors_;
};

struct LanesOf {
  std::uint64_t operator()(const NormalTokens& base) const { return half(base.dimension); }
  std::uint64_t operator()(const SphereTokens& base) const { return half(base.whole); }
  std::uint64_t operator()(const ProductTokens& base) const { return coordinate_lanes(base.coordinates); }
  std::uint64_t operator()(const SampledTokens&) const { return 1; }
  static std::uint64_t half(std::ptrdiff_t count) { return (static_cast<std::uint64_t>(count) + 1) / 2; }
};

// The fast sources in float32; null for a law that only samples itself.
struct FloatSource {
  std::uint64_t lane;
  using Result = std::unique_ptr<TokenSource<float>>;
  Result operator()(const NormalTokens& base) const {
    return std::make_unique<NormalSource>(static_cast<std::size_t>(base.dimension), lane);
  }
  Result operator()(const SphereTokens& base) const {
    return std::make_unique<SphereSource<false>>(base, lane);
  }
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

NoiseDraws noise_draws(const TokenLeaf& covariates, const TokenLeaf& noise) {
  const auto* normal = std::get_if<NormalTokens>(&noise.base);
  if (normal == nullptr || normal->dimension != 1 || noise.squared_radius) return NoiseDraws::lanes;
  if (covariates.squared_radius) return NoiseDraws::shared;
  std::ptrdiff_t normals = 0;
  if (const auto* base = std::get_if<NormalTokens>(&covariates.base)) normals = base->dimension;
  if (const auto* base = std::get_if<SphereTokens>(&covariates.base)) normals = base->whole;
  return normals % 2 == 1 ? NoiseDraws::spare : NoiseDraws::shared;
}

std::unique_ptr<TokenSource<float>> make_token_source(const TokenLeaf& covariates, const TokenLeaf& noise,
                                                      std::uint64_t first_lane) {
  const auto dimension = static_cast<std::size_t>(covariates.base_dimension());
  const std::uint64_t next = first_lane + lanes_of(covariates);
  std::unique_ptr<TokenSource<float>> alone;
  switch (noise_draws(covariates, noise)) {
    case NoiseDraws::spare:
      if (const auto* sphere = std::get_if<SphereTokens>(&covariates.base)) {
        return std::make_unique<SphereSource<true>>(*sphere, first_lane);
      }
      return std::make_unique<NormalSource>(dimension + 1, first_lane);
    case NoiseDraws::shared: alone = std::make_unique<SharedPairs>(next); break;
    case NoiseDraws::lanes: alone = make_token_source<float>(noise, next); break;
  }
  return std::make_unique<StackedSource>(make_token_source<float>(covariates, first_lane), dimension,
                                         std::move(alone));
}

namespace {

Recipe recipe_of_atoms(const std::vector<ScoreComponent>& pieces) {
  if (pieces.size() == 2 && pieces[0].weight == 0.5) {
    return Coin{static_cast<float>(pieces[0].centre), static_cast<float>(pieces[1].centre)};
  }
  Atoms law;
  law.value.fill(static_cast<float>(pieces.back().centre));
  law.below.fill(0);
  double cumulative = 0;
  for (std::size_t k = 0; k + 1 < pieces.size(); ++k) {
    cumulative += pieces[k].weight;
    law.value[k] = static_cast<float>(pieces[k].centre);
    law.below[k] = static_cast<std::uint32_t>(std::min(std::round(cumulative * 0x1p32), 0x1p32 - 1));
  }
  return law;
}

bool is_interval(const ScoreComponent& piece) {
  return piece.shape == ScoreShape::bounded && piece.order == 3;
}

// Recognises two halves that mirror each other and decay exponentially away from zero.
std::optional<TwoSided> two_sided_of(const std::vector<ScoreComponent>& pieces) {
  if (pieces.size() != 2 || !is_interval(pieces[0]) || !is_interval(pieces[1])) return std::nullopt;
  const ScoreComponent &left = pieces[0], &right = pieces[1];
  const bool mirrored = left.weight == right.weight && left.centre == -right.centre &&
                        left.scale == right.scale && right.scale == right.centre && left.rate == -right.rate;
  if (!mirrored || !(right.rate < 0)) return std::nullopt;
  TwoSided law;
  law.scale = -right.scale / right.rate;
  law.bound = 2 * right.scale;
  law.mass = -std::expm1(-law.bound / law.scale);
  if (!(law.mass >= kLeastMass)) return std::nullopt;
  return law;
}

}  // namespace

Recipe recipe_of(const CoordinateLawPtr& law) {
  std::vector<ScoreComponent> pieces;
  try {
    pieces = law->pieces();
  } catch (const InputError&) {
    return Quantile{law};  // a user's law without pieces
  }
  const auto is_atom = [](const ScoreComponent& piece) { return piece.shape == ScoreShape::atom; };
  if (!pieces.empty() && pieces.size() <= kMostAtoms && std::all_of(pieces.begin(), pieces.end(), is_atom)) {
    return recipe_of_atoms(pieces);
  }
  if (pieces.size() == 1 && is_interval(pieces[0]) && pieces[0].rate == 0) {
    return Segment{static_cast<float>(pieces[0].centre), static_cast<float>(pieces[0].scale)};
  }
  if (const std::optional<TwoSided> laplace = two_sided_of(pieces)) return *laplace;
  return Quantile{law};
}

namespace {

class CoordinateSource final : public TokenSource<float> {
 public:
  CoordinateSource(const std::vector<CoordinateLawPtr>& coordinates, std::uint64_t lane) : lane_(lane) {
    for (std::size_t j = 0; j < coordinates.size(); ++j) {
      const Recipe recipe = recipe_of(coordinates[j]);
      if (std::holds_alternative<Coin>(recipe)) {
        coins_.push_back({j, recipe});
      } else {
        others_.push_back({j, recipe});
      }
    }
  }

  std::uint64_t coin_lanes() const { return (coins_.size() + kCoinsPerLane - 1) / kCoinsPerLane; }
  std::uint64_t lanes() const { return coin_lanes() + (others_.size() + 1) / 2; }

  void draw(std::uint64_t seed, std::uint64_t prompt, std::uint64_t first_token, std::size_t count,
            float* tokens) override {
    const std::size_t groups = (count + random::kTokensAtOnce - 1) / random::kTokensAtOnce;
    const auto draw_lane = [&](std::uint64_t lane) {
      random::token_words(lane_address(seed, prompt, lane_ + lane, first_token), groups, words_[0],
                          words_[1]);
    };
    for (std::size_t k = 0; k < coins_.size(); ++k) {
      if (k % kCoinsPerLane == 0) draw_lane(k / kCoinsPerLane);
      const Coin coin = std::get<Coin>(coins_[k].recipe);
      coins(words_[k / 32 % 2], groups * random::kTokensAtOnce, static_cast<int>(k % 32), coin.low, coin.high,
            tokens + coins_[k].coordinate * kChunkTokens);
    }
    for (std::size_t k = 0; k < others_.size(); ++k) {
      if (k % 2 == 0) draw_lane(coin_lanes() + k / 2);
      float* row = tokens + others_[k].coordinate * kChunkTokens;
      const std::uint32_t* words = words_[k % 2];
      if (const auto* few = std::get_if<Atoms>(&others_[k].recipe)) {
        atoms(words, groups * random::kTokensAtOnce, *few, row);
      } else if (const auto* segment = std::get_if<Segment>(&others_[k].recipe)) {
        interval(words, groups * random::kTokensAtOnce, segment->centre, segment->half_width, row);
      } else if (const auto* laplace = std::get_if<TwoSided>(&others_[k].recipe)) {
        two_sided(words, groups * random::kTokensAtOnce, *laplace, row);
      } else {
        const CoordinateLaw& law = *std::get<Quantile>(others_[k].recipe).law;
        for (std::size_t i = 0; i < groups * random::kTokensAtOnce; ++i) {
          row[i] = static_cast<float>(law.quantile((words[i] + 0.5) * 0x1p-32));
        }
      }
    }
  }

 private:
  struct Placed {
    std::size_t coordinate;
    Recipe recipe;
  };
  std::uint64_t lane_;
  std::vector<Placed> coins_, others_;
  alignas(64) std::uint32_t words_[2][kChunkTokens] = {};
};

}  // namespace

std::uint64_t coordinate_lanes(const std::vector<CoordinateLawPtr>& coordinates) {
  return CoordinateSource(coordinates, 0).lanes();
}

std::unique_ptr<TokenSource<float>> make_coordinate_source(const std::vector<CoordinateLawPtr>& coordinates,
                                                           std::uint64_t first_lane) {
  return std::make_unique<CoordinateSource>(coordinates, first_lane);
}

}  // namespace largo::prompts
