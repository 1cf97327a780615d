// R_L - R_∞ of two heads off the invariant set by plain trapezoidal rules, against which a claim checks
// exact_risk(). It shares no code with exact_risk(), only the formula of the risk given a task and a query.
#pragma once

#include <array>

namespace largo::claims {

/// In one dimension and in two. Covariates, queries and tasks are standard normal, there is no noise, and the
/// value is the label. In U the first entry is `alpha`, the entry of the label and the first coordinate of
/// the query is `beta`, and all others are zero. Domain: 2 <= L <= 1e32, alpha and beta of size one. Error:
/// 1e-7 of the results. Cost: 0.1 s.
std::array<double, 2> plain_excess(double alpha, double beta, double L);

}  // namespace largo::claims
