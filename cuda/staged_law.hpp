// A law of tokens on the device, made from a leaf.
#pragma once

#include <cstdint>

#include "largo/measures/token_leaf.hpp"
#include "runtime.hpp"
#include "token_law.hpp"

namespace largo::cuda {

class StagedLaw {
 public:
  /// InputError, in the name of `function`, for a law that kernels cannot draw.
  StagedLaw(const char* function, const TokenLeaf& leaf, std::uint64_t first_lane);

  const TokenLaw& law() const { return law_; }

 private:
  void set_radius(const RadialLaw& squared, std::uint64_t lane);

  TokenLaw law_;
  DeviceArray<Coordinate> coordinates_;
  DeviceArray<std::int32_t> lane_begins_;
  DeviceArray<double> values_, cumulative_;  // for squared radii
};

}  // namespace largo::cuda
