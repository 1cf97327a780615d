#include "prompts/coordinate_source.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>

#include "largo/runtime/check.hpp"
#include "prompts/token_source.hpp"
#include "prompts/token_transforms.hpp"
#include "random/float_draws.hpp"

namespace largo {
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

// Two halves that mirror each other and fall off from zero as exponentials.
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
    return Quantile{law};  // a law of the user's without pieces
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
    const std::size_t groups = (count + kTokensAtOnce - 1) / kTokensAtOnce;
    const auto draw_lane = [&](std::uint64_t lane) {
      token_words(lane_address(seed, prompt, lane_ + lane, first_token), groups, words_[0], words_[1]);
    };
    for (std::size_t k = 0; k < coins_.size(); ++k) {
      if (k % kCoinsPerLane == 0) draw_lane(k / kCoinsPerLane);
      const Coin coin = std::get<Coin>(coins_[k].recipe);
      coins(words_[k / 32 % 2], groups * kTokensAtOnce, static_cast<int>(k % 32), coin.low, coin.high,
            tokens + coins_[k].coordinate * kChunkTokens);
    }
    for (std::size_t k = 0; k < others_.size(); ++k) {
      if (k % 2 == 0) draw_lane(coin_lanes() + k / 2);
      float* row = tokens + others_[k].coordinate * kChunkTokens;
      const std::uint32_t* words = words_[k % 2];
      if (const auto* few = std::get_if<Atoms>(&others_[k].recipe)) {
        atoms(words, groups * kTokensAtOnce, *few, row);
      } else if (const auto* segment = std::get_if<Segment>(&others_[k].recipe)) {
        interval(words, groups * kTokensAtOnce, segment->centre, segment->half_width, row);
      } else if (const auto* laplace = std::get_if<TwoSided>(&others_[k].recipe)) {
        two_sided(words, groups * kTokensAtOnce, *laplace, row);
      } else {
        const CoordinateLaw& law = *std::get<Quantile>(others_[k].recipe).law;
        for (std::size_t i = 0; i < groups * kTokensAtOnce; ++i) {
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

}  // namespace largo
