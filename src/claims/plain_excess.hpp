// R_L - R_∞ of two heads off the invariant set, by plain trapezoidal rules: what a claim about exact_risk()
// is held against. Shares no code with it, only the formula of the risk given a task and a query.
#pragma once

#include <array>

namespace largo::claims {

/// In one dimension and in two: covariates, queries and tasks standard normal, no noise, the label as value;
/// in U the first entry is `alpha`, that of the label and the first coordinate of the query is `beta`, and
/// all others are zero. Domain: 2 <= L <= 1e32, alpha and beta of size one. Error: 1e-7 of the results. Cost:
/// 0.1 s.
std::array<double, 2> plain_excess(double alpha, double beta, double L);

}  // namespace largo::claims
