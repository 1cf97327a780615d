// Bounds on how rare the tokens are that make up the moments of a law.
#pragma once

#include "largo/measures/measure.hpp"

namespace largo::estimation {

/// How rare the tokens are that make up the moments of a law, known from its log-partition before any is
/// drawn. With x = z − mean(μ) and W = V or the identity, whichever is worse, these are upper bounds on the
/// logarithms of E‖Wx‖⁴/(E‖Wx‖²)² and E‖Wx‖⁸/(E‖Wx‖⁴)². Of n tokens, about n over the ratio carry the second
/// and the fourth moment: an atom of probability p, with all else at zero, has the ratios 1/p.
struct TokenKurtosis {
  double fourth = 0, eighth = 0;
};

/// Moments along a coordinate are bounded by m_{2k} <= (2k)! min_t E[cosh(t x) − 1] / t^{2k}, which needs
/// only log-partitions. The bounds are within factors of 3 and 5 (k = 2, 4) for a Gaussian, 2.5 and 5 for a
/// rare atom; they are looser where rounding hides atoms, below probabilities of about 1e-13. Minkowski's
/// inequality combines them over all coordinates. The moments of a prompt are summed over its tokens, with
/// the slack of an atom. Cost: for mixtures of Gaussians, one product with a matrix per coordinate and
/// component (0.05 s for 20 components in 200 dimensions); for other laws, 20 to 150 log-partitions per
/// coordinate; for a prompt, one pass.
TokenKurtosis token_kurtosis(const Measure& law, const ConstMatrixRef& V);

}  // namespace largo::estimation
