#include "staged_law.hpp"

#include <algorithm>
#include <span>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"
#include "prompts/token_source.hpp"
#include "token_limit.hpp"

namespace largo::cuda {
namespace {

[[noreturn]] void refuse(const char* function, const char* law) {
  fail(function, fmt::format("{} not drawn on a GPU: draw them on the CPU", law));
}

// What the kernel makes the coordinates from: coins first, 64 per lane, then the others, two per lane.
struct Recipes {
  std::vector<Coordinate> coordinates;
  std::vector<std::int32_t> lane_begins = {0};
};

Coordinate to_coordinate(const char* function, const prompts::Recipe& recipe) {
  Coordinate c;
  if (const auto* coin = std::get_if<prompts::Coin>(&recipe)) {
    c.low = coin->low;
    c.high = coin->high;
  } else if (const auto* segment = std::get_if<prompts::Segment>(&recipe)) {
    c.kind = Coordinate::Kind::interval;
    c.low = segment->centre;
    c.high = segment->half_width;
  } else if (const auto* few = std::get_if<prompts::Atoms>(&recipe)) {
    c.kind = Coordinate::Kind::atoms;
    c.atoms = *few;
  } else if (const auto* laplace = std::get_if<prompts::TwoSided>(&recipe)) {
    c.kind = Coordinate::Kind::two_sided;
    c.two_sided = *laplace;
  } else {
    refuse(function, "coordinates that only their quantiles tell about are");
  }
  return c;
}

Recipes recipes_of(const char* function, const ProductTokens& base) {
  std::vector<Coordinate> coins, others;
  for (std::size_t j = 0; j < base.coordinates.size(); ++j) {
    Coordinate c = to_coordinate(function, prompts::recipe_of(base.coordinates[j]));
    c.index = static_cast<std::int32_t>(j);
    (c.kind == Coordinate::Kind::coin ? coins : others).push_back(c);
  }
  Recipes recipes;
  const auto end_lane = [&] {
    recipes.lane_begins.push_back(static_cast<std::int32_t>(recipes.coordinates.size()));
  };
  for (std::size_t k = 0; k < coins.size(); ++k) {
    coins[k].word = static_cast<std::int32_t>(k / 32 % 2);
    coins[k].bit = static_cast<std::int32_t>(k % 32);
    coins[k].lane = static_cast<std::int32_t>(recipes.lane_begins.size()) - 1;
    recipes.coordinates.push_back(coins[k]);
    if ((k + 1) % prompts::kCoinsPerLane == 0 || k + 1 == coins.size()) end_lane();
  }
  for (std::size_t k = 0; k < others.size(); ++k) {
    others[k].word = static_cast<std::int32_t>(k % 2);
    others[k].lane = static_cast<std::int32_t>(recipes.lane_begins.size()) - 1;
    recipes.coordinates.push_back(others[k]);
    if (k % 2 == 1 || k + 1 == others.size()) end_lane();
  }
  return recipes;
}

// Whether all coordinates are of one kind, with the same numbers.
bool are_alike(const std::vector<Coordinate>& coordinates, Coordinate::Kind kind) {
  return std::all_of(coordinates.begin(), coordinates.end(), [&](const Coordinate& c) {
    return c.kind == kind && c.low == coordinates.front().low && c.high == coordinates.front().high;
  });
}

}  // namespace

StagedLaw::StagedLaw(const char* function, const TokenLeaf& leaf, std::uint64_t first_lane) {
  law_.first_lane = first_lane;
  if (leaf.squared_radius.has_value())
    set_radius(*leaf.squared_radius, first_lane + prompts::lanes_of(leaf) - 1);
  law_.dimension = law_.drawn = static_cast<std::int32_t>(leaf.base_dimension());
  if (std::holds_alternative<SampledTokens>(leaf.base)) {
    refuse(function, "laws that only sample themselves are");
  }
  if (const auto* sphere = std::get_if<SphereTokens>(&leaf.base)) {
    law_.kind = TokenKind::sphere;
    law_.drawn = static_cast<std::int32_t>(sphere->whole);
  } else if (const auto* product = std::get_if<ProductTokens>(&leaf.base)) {
    law_.kind = TokenKind::words;
    const Recipes recipes = recipes_of(function, *product);
    coordinates_ = DeviceArray<Coordinate>(std::span<const Coordinate>(recipes.coordinates));
    lane_begins_ = DeviceArray<std::int32_t>(std::span<const std::int32_t>(recipes.lane_begins));
    law_.coordinates = coordinates_.data();
    law_.lane_begins = lane_begins_.data();
    law_.lanes = static_cast<std::int32_t>(recipes.lane_begins.size()) - 1;
    law_.low = recipes.coordinates.front().low;
    law_.high = recipes.coordinates.front().high;
    if (are_alike(recipes.coordinates, Coordinate::Kind::coin)) law_.kind = TokenKind::coins;
    if (are_alike(recipes.coordinates, Coordinate::Kind::interval)) law_.kind = TokenKind::intervals;
  }
  check_token_numbers(function, law_.drawn);
}

void StagedLaw::set_radius(const RadialLaw& squared, std::uint64_t lane) {
  law_.has_radius = true;
  law_.radius.lane = lane;
  const Vector& values = squared.values();
  if (squared.cumulative().empty()) {
    law_.radius.low = values[0];
    law_.radius.high = values[1];
    return;
  }
  values_ = DeviceArray<double>(std::span<const double>(values.data(), squared.cumulative().size()));
  cumulative_ = DeviceArray<double>(std::span<const double>(squared.cumulative()));
  law_.radius.values = values_.data();
  law_.radius.cumulative = cumulative_.data();
  law_.radius.count = static_cast<std::int32_t>(values_.size());
}

}  // namespace largo::cuda
