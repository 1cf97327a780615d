// What the claim about certified bounds compares: errors and bounds for many laws of tokens and queries,
// dimensions, layers and lengths.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "claims/claims.hpp"
#include "claims/random_layers.hpp"

namespace largo::claims {

inline constexpr std::ptrdiff_t kCertifiedShown = 4;  ///< the dimension in the table and the figure
inline constexpr double kAllowedErrors = 5;           ///< standard errors that are taken off a sampled error

/// A law of tokens, a dimension, a kind of queries.
struct CertifiedSetting {
  std::size_t law;  ///< in kTokenLaws
  std::ptrdiff_t d;
  QueryKind queries;
  int draw;

  AttentionLayer layer() const;
  /// Whether errors are sampled because no formula is known.
  bool is_sampled() const;
};

/// All settings, but for Gaussian queries with bounded tokens: such a bound takes a second, so each law has
/// its turn in one dimension. For negative controls those at a query, and for the second one more.
std::vector<CertifiedSetting> certified_settings(const ClaimOptions& options);

/// In place of an error, which is never negative.
inline constexpr double kNoFormula = -1;

/// Errors and bounds of output, gradient in V and gradient in U at one length.
struct CertifiedPoint {
  double L = 0;
  std::array<double, 3> error{};      ///< kNoFormula if it is not known
  std::array<double, 3> allowance{};  ///< five standard errors of a sampled error
  std::array<double, 3> bound{};
};

/// The points of each setting, in the order of their lengths: none where no bound is known.
std::vector<std::vector<CertifiedPoint>> certified_points(const std::vector<CertifiedSetting>& settings,
                                                          const ClaimOptions& options);

}  // namespace largo::claims
