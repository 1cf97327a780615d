// The thresholds by which a head gets its word, in this order: the first that applies is taken.
//
//   averaging   error of `uniform` at most the tolerance
//   affine      error of `affine` at most the tolerance
//   sink        median weight of the sinks at least kSinkMass; or error of `sinks_affine` at most the
//               tolerance and weight of the sinks at least kSinkShare
//   local       median weight of keys less than kLocalWindow tokens away at least kLocalMass
//   retrieval   median largest weight at least kRetrievalWeight
//   mixed       none of these
#pragma once

#include <cstdint>

#include "largo/heads/head_audit.hpp"

namespace largo {

inline constexpr double kSinkMass = 0.5;
inline constexpr double kSinkShare = 0.1;
inline constexpr std::int64_t kLocalWindow = 8;
inline constexpr double kLocalMass = 0.5;
inline constexpr double kRetrievalWeight = 0.5;

// Sinks are found by themselves at positions of a mean weight, over the queries that see them, of at least
// kFoundSinkWeight, and at least kFoundSinkRatio times an equal share.
inline constexpr double kFoundSinkWeight = 0.05;
inline constexpr double kFoundSinkRatio = 10;
inline constexpr std::int64_t kMostFoundSinks = 4;

HeadKind kind_of(const HeadAudit& audit, double tolerance);

}  // namespace largo
