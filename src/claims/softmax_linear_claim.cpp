// How long prompts must be for linear attention to replace softmax attention.
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "claims/claims.hpp"
#include "largo/concentration/linear_attention.hpp"
#include "largo/measures/gaussian.hpp"
#include "report/report.hpp"

namespace largo::claims {
namespace {

constexpr double kConstantBound = 0.01;  // distance from a limit, which falls like the tolerance

}  // namespace

report::ReportSection softmax_linear_claim(const ClaimOptions& options) {
  constexpr std::ptrdiff_t d = 4;
  const Matrix identity = Matrix::Identity(d, d);
  const auto standard = std::make_shared<GaussianMeasure>(GaussianMeasure::standard(d));
  const AttentionLayer at_query{standard, identity, identity, Vector(Vector::Unit(d, 0))};
  const AttentionLayer averaged{standard, identity, identity, standard};
  report::ReportTable table{
      "The shortest prompts over which softmax and linear attention differ by at most ε.",
      {"ε", "L at |z| = 1", "ε L", "L averaged over queries"}};
  // To first order in 1/L, the two differ by an average of L independent terms. With g the score of a token
  // and w = exp(g − 1/2), a term is w (g − 1) − (g² − 1) along z, with second moment 2e − 2, and w − g times
  // a standard normal in each of the d − 1 directions orthogonal to z, with second moment e − 1.
  // The first negative control drops the first.
  const double constant = (options.control == 1 ? d - 1 : d + 1) * (std::numbers::e - 1);
  double last = std::numeric_limits<double>::infinity();
  Curve one{.label = "at |z| = 1"}, mean{.label = "averaged over queries", .color = 1},
      asymptote{
          .label = fmt::format("{}/ε", report::shown(constant)), .style = Curve::Style::dashed, .color = 7};
  bool found = true;
  const std::vector<double> tolerances = options.control == 2 ? std::vector{1e-305}
                                         : options.quick || options.control
                                             ? std::vector{0.1, 0.01, 0.001}
                                             : std::vector{0.3, 0.1, 0.03, 0.01, 0.003, 0.001};
  for (const double tolerance : tolerances) {
    const auto here = length_for_tolerance(at_query, tolerance, 1, options.execution);
    const auto overall = length_for_tolerance(averaged, tolerance * d, 1, options.execution);  // E|z|² = d
    found = found && here && overall;
    if (!found) break;
    last = tolerance * here->L;
    table.rows.push_back({tolerance, here->L, last, overall->L});
    asymptote.add(tolerance, constant / tolerance);
    one.add(tolerance, here->L);
    mean.add(tolerance, overall->L);
  }
  report::ReportSection claim{.computed =
                                  "The shortest prompts over which the two differ by at most a tolerance ε "
                                  "(mean squared, relative to the squared limit), d = 4, U = V = I, at a "
                                  "query of unit length and averaged over standard Gaussian ones."};
  claim.tables = {table};
  if (!one.x.empty()) {
    claim.figures = {
        {"softmax-linear",
         {{{.x_label = "tolerance ε, relative to the squared limit",
            .y_label = "prompt length L",
            .curves = {one, mean, asymptote}}},
          "The shortest prompts over which linear attention is within a tolerance of softmax attention."}}};
  }
  claim.numbers = {
      {"|ε L / ((d + 1)(e − 1)) − 1| at the smallest ε", std::abs(last / constant - 1), kConstantBound}};
  return decided(std::move(claim), {{found, "there is a length for every tolerance",
                                     "no length up to 10³⁰⁰ for some tolerance"}});
}

}  // namespace largo::claims
