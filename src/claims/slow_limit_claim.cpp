// The claim about risks off the invariant set: how slowly they approach their limit.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "claims/claims.hpp"
#include "claims/plain_excess.hpp"
#include "claims/trained_regression.hpp"
#include "largo/icl/exact_risk.hpp"
#include "largo/icl/regression_risk.hpp"
#include "report/report.hpp"

namespace largo::claims {
namespace {

// Thresholds of the verdict, for R_L - R_∞ by quadrature and by plain rules, whose error is 1e-7.
constexpr double kMostDifference = 1e-5;
constexpr double kMostError = 1e-6;
// The head: the entries of U that couple the query's first coordinate to the covariate's, and to the label.
constexpr double kAlpha = 0.5, kBeta = 0.7;
constexpr double kFirstFalling = 1e4;  // from here on the exponents must fall

struct Head {
  RegressionProblem problem;
  RegressionParameters parameters;
};

Head head_of(Eigen::Index d) {
  Head head{paper_problem(Matrix::Identity(d, d)), {Matrix::Zero(d + 1, d + 1), Vector::Unit(d + 1, d)}};
  head.parameters.U(0, 0) = kAlpha;
  head.parameters.U(d, 0) = kBeta;
  return head;
}

}  // namespace

report::ReportSection slow_limit_claim(const ClaimOptions& options) {
  std::vector<double> lengths = {1e2, 1e4, 1e8, 1e16, 1e32};
  if (!options.quick && !options.control) lengths = {1e2, 1e3, 1e4, 1e6, 1e8, 1e12, 1e16, 1e24, 1e32};
  if (options.control == 2) std::reverse(lengths.begin(), lengths.end());
  report::ReportTable table{"Risk of L tokens less its limit, by quadrature and by plain rules.",
                            {"d", "L", "quadrature", "its error", "plain rules", "exponent"}};
  Panel panel{.x_label = "prompt length L", .y_label = "limit − risk of L tokens"};
  double worst = 0, worst_error = 0;
  bool falls = true;
  const double beta = options.control == 1 ? 1.01 * kBeta : kBeta;
  const auto plain = side_by_side(lengths, options.execution,
                                  [&](double L, const Execution&) { return plain_excess(kAlpha, beta, L); });
  for (const Eigen::Index d : {1, 2}) {
    const Head head = head_of(d);
    const auto risk = [&](double L, const Execution& execution) {
      return regression_risk(head.problem, AttentionKind::softmax, L, head.parameters, {}, execution);
    };
    const double limit = risk(kInfinity, options.execution).value;
    const std::vector<Estimate> risks = side_by_side(lengths, options.execution, risk);
    Curve exact{.label = fmt::format("d = {}, quadrature", d), .color = static_cast<int>(d) - 1},
        rules{.label = fmt::format("d = {}, plain rules", d),
              .style = Curve::Style::points,
              .color = static_cast<int>(d) - 1};
    double before = kInfinity;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const double L = lengths[i];
      const Estimate& here = risks[i];
      const double excess = here.value - limit, other = plain[i][static_cast<std::size_t>(d) - 1];
      worst = larger(worst, std::abs(other / excess - 1));
      worst_error = larger(worst_error, here.error / std::abs(excess));
      report::ReportCell exponent;
      if (i > 0) {
        const double found = std::log(exact.y.back() / -excess) / std::log(L / lengths[i - 1]);
        if (lengths[i - 1] >= kFirstFalling) falls = falls && found > 0 && found < before;
        if (lengths[i - 1] >= kFirstFalling) before = found;
        exponent = found;
      }
      table.rows.push_back({d, L, excess, here.error, other, exponent});
      exact.add(L, -excess);
      rules.add(L, -other);
    }
    panel.curves.push_back(std::move(exact));
    panel.curves.push_back(std::move(rules));
  }
  report::ReportSection claim{
      .computed = fmt::format(
          "The exact risk of one head in one dimension and in two, covariates, queries and tasks standard "
          "normal, no noise, U₁₁ = {} and U₂₁ = {} for the first coordinate and zero elsewhere, V = I; and "
          "the same difference by plain trapezoidal rules over the task, the query, and the prompt, which "
          "share the formula above with it, but no code. The exponents are those of L between one length and "
          "the one before. Other dimensions and heads were not computed here.",
          report::shown(kAlpha), report::shown(kBeta))};
  claim.numbers = {{"largest difference of quadrature and plain rules, of the difference to the limit", worst,
                    kMostDifference},
                   {"largest error reported, of the same", worst_error, kMostError}};
  claim.tables = {table};
  claim.figures = {
      {"slow-limit",
       {{panel},
        "How far the risk of L tokens is below its limit; a power of L would be a straight line. Lines are "
        "quadrature, filled marks plain rules."}}};
  return decided(std::move(claim), {{falls, "exponents are positive and fall from L = 10⁴ on",
                                     "exponents do not fall at every step from L = 10⁴ on"}});
}

}  // namespace largo::claims
