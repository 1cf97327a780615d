// How rare the tokens are that make up the moments of a law: known from its log-partition, before any is
// drawn.
#pragma once

#include "largo/measures/measure.hpp"

namespace largo::estimation {

/// How rare the tokens are that make up the moments of a law: known from its log-partition, before any is
/// drawn. With x = z − mean(μ) and W = V or the identity, whichever is worse: upper bounds of the logarithms
/// of E‖Wx‖⁴/(E‖Wx‖²)² and E‖Wx‖⁸/(E‖Wx‖⁴)². Among n tokens about n over the ratio carry the second and the
/// fourth moment: an atom of probability p beside zero has the ratios 1/p.
struct TokenKurtosis {
  double fourth = 0, eighth = 0;
};

/// Moments along a coordinate are bounded by m_{2k} <= (2k)! min_t E[cosh(t x) − 1] / t^{2k}, which needs
/// log-partitions alone: within factors of 3 and 5 (k = 2, 4) for a Gaussian, 2.5 and 5 for a rare atom. They
/// are combined by Minkowski's inequality over all coordinates. Looser where rounding hides atoms, below
/// probabilities of some 1e-13. Those of a prompt are summed over its tokens, with the slack of an atom.
/// Cost: one product with its matrix a coordinate and component for mixtures of Gaussians (0.05 s for 20 of
/// them in 200 dimensions); for other laws 20 to 150 log-partitions a coordinate; one pass over a prompt.
TokenKurtosis token_kurtosis(const Measure& law, const ConstMatrixRef& V);

}  // namespace largo::estimation
