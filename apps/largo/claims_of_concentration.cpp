// The claims about how fast finite prompts reach the limit: a published audit, the bounds, linear attention.
#include <cmath>
#include <vector>

#include <fmt/core.h>

#include "claims.hpp"
#include "largo/concentration/concentration_summary.hpp"
#include "largo/concentration/linear_attention.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/numerics/factor.hpp"

namespace largo {
namespace {

// Thresholds of the verdicts, printed with them.
constexpr double kSlopeLow = -1.15;
constexpr double kSlopeHigh = -0.8;

MeasurePtr gaussian(const Matrix& covariance) {
  return std::make_shared<GaussianMeasure>(Vector::Zero(covariance.rows()), covariance);
}

Matrix with_norm(const Matrix& A, double norm) { return A * (norm / operator_norm(A)); }

Json audit_json(const ClaimOptions& options) {
  Json claim = new_claim(
      "audit", "For tokens of moderate size the error of the output and of both gradients falls like 1/L.",
      "Exact errors averaged over standard Gaussian queries, d = 4, U and V random with operator norms 0.22 "
      "and 0.75, three covariances, L = 16 to 1024, per coordinate of the output; slopes by least squares.");
  constexpr std::ptrdiff_t d = 4;
  const struct {
    const char* name;
    Matrix covariance;
  } kLaws[] = {{"isotropic", Matrix::Identity(d, d)},
               {"toeplitz:0.5", named_matrix("covariance", "toeplitz:0.5", d, d)},
               {"condition 8", named_matrix("covariance", "0.2666666666666667*diag:1,2,4,8", d, d)}};
  bool holds = true;
  for (const auto& [name, covariance] : kLaws) {
    const AttentionLayer layer{gaussian(covariance), with_norm(named_matrix("U", "random:1", d, d), 0.22),
                               with_norm(named_matrix("V", "random:2", d, d), 0.75),
                               gaussian(Matrix::Identity(d, d))};
    ConcentrationPlan plan;
    plan.lengths = {16, 32, 64, 128, 256, 512, 1024};
    plan.exponents = false;
    const auto rows = concentration_grid(layer, plan, options.execution);
    const ScaleSummary slopes = summarise(layer, rows).scales.front();
    Json law{{"covariance", name}};
    for (const ConcentrationRow& row : rows) {
      law["L"].push_back(row.L);
      law["output_per_coordinate"].push_back(row.output.value / d);
    }
    for (const auto& [what, slope] : {std::pair{"output", slopes.output},
                                      {"gradient_V", slopes.gradient_V},
                                      {"gradient_U", slopes.gradient_U}}) {
      law["slopes"][what] = slope->value;
      holds = holds && slope->value >= kSlopeLow && slope->value <= kSlopeHigh;
    }
    claim["laws"].push_back(std::move(law));
  }
  claim["slope_range"] = {kSlopeLow, kSlopeHigh};
  return with_verdict(claim, holds);
}

void print_audit(const Json& claim) {
  print_head("Rate 1/L", claim);
  fmt::print("  {:<14} {:>11} {:>11} {:>11}   {:>8} {:>10} {:>10}\n", "covariance", "L = 16", "L = 128",
             "L = 1024", "slopes:", "gradient V", "gradient U");
  for (const Json& law : claim["laws"]) {
    const Json& error = law["output_per_coordinate"];
    const Json& slopes = law["slopes"];
    fmt::print("  {:<14} {:>11.4e} {:>11.4e} {:>11.4e}   {:>8.3f} {:>10.3f} {:>10.3f}\n",
               law["covariance"].get<std::string>(), error[0].get<double>(), error[3].get<double>(),
               error[6].get<double>(), slopes["output"].get<double>(), slopes["gradient_V"].get<double>(),
               slopes["gradient_U"].get<double>());
  }
  fmt::print("  slopes between {} and {}\n", kSlopeLow, kSlopeHigh);
  print_verdict(claim);
}

// Errors of d = 4, U = V = I over standard Gaussian queries.
std::vector<BoundPoint> bound_points(const std::vector<ConcentrationRow>& rows,
                                     std::optional<ErrorBar> (*which)(const ConcentrationRow&)) {
  std::vector<BoundPoint> points;
  for (const ConcentrationRow& row : rows) {  // standard tokens: σ is the scale
    const ErrorBar error = *which(row);
    points.push_back({row.scale, row.L, error.value, error.error});
  }
  return points;
}

std::vector<double> log_spaced(double first, double last, int count) {
  std::vector<double> lengths;
  for (int i = 0; i < count; ++i) lengths.push_back(first * std::pow(last / first, i / (count - 1.0)));
  return lengths;
}

Json bounds_json(const ClaimOptions& options) {
  Json claim = new_claim("bounds",
                         "There are constants c1, c2 > 0 such that for sigma-sub-Gaussian tokens, sigma >> "
                         "1, and L >= 2 the error "
                         "of the output and of the gradient in V is at most c1 sigma^6 ln L / "
                         "L^(c2/sigma^2), that of the gradient "
                         "in U at most c1 sigma^12 ln^2 L / L^(c2/sigma^2).",
                         "Exact errors averaged over standard Gaussian queries, d = 4, U and V the identity. "
                         "c1 fitted at sigma = 1, "
                         "2, 4 and 9 lengths from 2 to 1e300, with c2 = 0.4; twice that c1 checked at other "
                         "sigma, 1 to 3, and other "
                         "lengths.");
  // Below sigma^2 c(sigma) for all sigma >= 1, the smallest being c(1) = 0.618.
  constexpr double kC2 = 0.4;
  constexpr double kMargin = 2;
  constexpr std::ptrdiff_t d = 4;
  const Matrix identity = Matrix::Identity(d, d);
  const AttentionLayer layer{gaussian(identity), identity, identity, gaussian(identity)};
  ConcentrationPlan fit, check;
  fit.scales = {1, 2, 4};
  fit.lengths = log_spaced(2, 1e300, 9);
  check.scales = {1, 1.2, 1.7, 2.5, 3};
  check.lengths = log_spaced(3, 1e12, 8);
  check.lengths.push_back(1e60);
  check.lengths.push_back(1e150);
  fit.exponents = check.exponents = false;
  const auto fitted = concentration_grid(layer, fit, options.execution);
  const auto checked = concentration_grid(layer, check, options.execution);
  using Which = std::optional<ErrorBar> (*)(const ConcentrationRow&);
  const struct {
    const char* name;
    BoundShape shape;
    Which of;
  } kErrors[] = {
      {"output", kOutputBound, [](const ConcentrationRow& r) { return std::optional(r.output); }},
      {"gradient_V", kGradientVBound, [](const ConcentrationRow& r) { return std::optional(r.gradient_V); }},
      {"gradient_U", kGradientUBound, [](const ConcentrationRow& r) { return r.gradient_U; }}};
  bool holds = true;
  for (const auto& [name, shape, of] : kErrors) {
    BoundConstants constants = *fit_bound(shape, bound_points(fitted, of), kC2);
    constants.c1 *= kMargin;
    const BoundVerdict verdict = check_bound(shape, constants, bound_points(checked, of));
    claim["constants"][name] = {{"c1", constants.c1},
                                {"c2", constants.c2},
                                {"points", verdict.points},
                                {"worst_ratio", verdict.worst_ratio}};
    holds = holds && verdict.holds && constants.c2 > 0;
  }
  const ConcentrationSummary summary = summarise(layer, checked);
  for (const ScaleSummary& s : summary.scales) {
    claim["scales"].push_back({{"sigma", s.scale},
                               {"slope", s.output->value},
                               {"asymptotic_exponent", s.asymptotic->value},
                               {"largest_c2", s.scale * s.scale * s.asymptotic->value}});
  }
  return with_verdict(claim, holds);
}

void print_bounds(const Json& claim) {
  print_head("Bounds", claim);
  for (const auto& [what, fit] : claim["constants"].items()) {
    fmt::print("  {:<11} c1 = {:>9.3g}  c2 = {:>6.4f}  largest error/bound {:.3f} over {} other points\n",
               what, fit["c1"].get<double>(), fit["c2"].get<double>(), fit["worst_ratio"].get<double>(),
               fit["points"].get<std::size_t>());
  }
  fmt::print("  {:>6} {:>22} {:>16} {:>34}\n", "sigma", "slope over the lengths", "exponent, L->inf",
             "sigma^2 times that, the largest c2");
  for (const Json& s : claim["scales"]) {
    fmt::print("  {:>6} {:>22.4f} {:>16.4f} {:>34.4f}\n", s["sigma"].get<double>(), s["slope"].get<double>(),
               s["asymptotic_exponent"].get<double>(), s["largest_c2"].get<double>());
  }
  print_verdict(claim);
}

Json softmax_linear_json(const ClaimOptions&) {
  Json claim = new_claim(
      "softmax-linear",
      "Over long prompts of centred Gaussian tokens softmax attention may be replaced by linear attention "
      "over the same tokens.",
      "The shortest prompts over which the two differ by less than a tolerance (mean squared, relative to "
      "the limit), d = 4, U = V = I, at a query of unit length and averaged over standard Gaussian ones.");
  constexpr std::ptrdiff_t d = 4;
  const Matrix identity = Matrix::Identity(d, d);
  const AttentionLayer at_query{gaussian(identity), identity, identity, Vector(Vector::Unit(d, 0))};
  const AttentionLayer averaged{gaussian(identity), identity, identity, gaussian(identity)};
  bool holds = true;
  for (const double tolerance : {0.1, 0.01, 0.001}) {
    const auto one = length_for_tolerance(at_query, tolerance);
    const auto mean = length_for_tolerance(averaged, tolerance * d);  // E|z|² = d
    holds = holds && one && mean;
    if (!holds) break;
    claim["rows"].push_back({{"tolerance", tolerance},
                             {"L_at_query", length_json(one->L)},
                             {"L_averaged", length_json(mean->L)}});
  }
  return with_verdict(claim, holds);
}

void print_softmax_linear(const Json& claim) {
  print_head("Softmax and linear attention", claim);
  fmt::print("  {:>9} {:>16} {:>24}\n", "tolerance", "L at |z| = 1", "L averaged over queries");
  for (const Json& row : claim["rows"]) {
    fmt::print("  {:>9} {:>16} {:>24}\n", row["tolerance"].get<double>(), row["L_at_query"].get<double>(),
               row["L_averaged"].get<double>());
  }
  print_verdict(claim);
}

}  // namespace

Claim audit_claim(const ClaimOptions& options) { return {audit_json(options), print_audit}; }
Claim bounds_claim(const ClaimOptions& options) { return {bounds_json(options), print_bounds}; }
Claim softmax_linear_claim(const ClaimOptions& options) {
  return {softmax_linear_json(options), print_softmax_linear};
}

}  // namespace largo
