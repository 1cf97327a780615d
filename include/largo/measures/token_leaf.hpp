// How the tokens of a law are made from standard ones, for kernels that draw whole prompts themselves.
//
// Every law is a mixture of leaves. A token of a leaf, chosen with its probability, is
//
//   offset + scale map (r x),     x standard (one of the kinds below), r a radius drawn for each token.
//
// A kernel never applies the map to a token: the score <a, token> is <mapᵀa, x> plus a constant, and weighted
// sums of x are mapped once per prompt.
#pragma once

#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

#include "largo/measures/coordinate_law.hpp"
#include "largo/measures/measure.hpp"
#include "largo/measures/radial_law.hpp"

namespace largo {

/// x ~ N(0, I)
struct NormalTokens {
  std::ptrdiff_t dimension = 1;
};
/// The first coordinates of a uniform point on the unit sphere of R^whole.
struct SphereTokens {
  std::ptrdiff_t dimension = 1;
  std::ptrdiff_t whole = 1;
};
/// Independent coordinates.
struct ProductTokens {
  std::vector<CoordinateLawPtr> coordinates;
};
/// z - centre, where the law itself samples z. The centre is subtracted because kernels work in float32 and
/// need tokens near zero. The law must outlive the leaf.
struct SampledTokens {
  const Measure* law = nullptr;
  Vector centre;
};

struct TokenLeaf {
  double probability = 1;
  std::variant<NormalTokens, SphereTokens, ProductTokens, SampledTokens> base;
  std::optional<RadialLaw> squared_radius;  ///< the law of r²; none: r = 1
  double scale = 1;
  Matrix map;     ///< no rows: the identity
  Vector offset;  ///< empty: zero

  /// The dimension of x.
  std::ptrdiff_t base_dimension() const;
  /// scale map, as a matrix.
  Matrix whole_map() const;
  /// The offset, in full.
  Vector whole_offset() const;
  /// The transposed map, without radius and offset, times a direction: the direction as x sees it.
  Vector pull_back(const ConstVectorRef& direction) const;
  /// The token for a given r x, without the offset.
  Vector push_forward(const ConstVectorRef& x) const;
};

}  // namespace largo
