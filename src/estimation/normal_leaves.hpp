// Laws that are mixtures of Gaussians, by their leaves.
#pragma once

#include <algorithm>
#include <variant>
#include <vector>

#include "largo/measures/token_leaf.hpp"

namespace largo {

inline bool all_normal(const std::vector<TokenLeaf>& leaves) {
  return std::all_of(leaves.begin(), leaves.end(), [](const TokenLeaf& leaf) {
    return std::holds_alternative<NormalTokens>(leaf.base) && !leaf.squared_radius;
  });
}

}  // namespace largo
