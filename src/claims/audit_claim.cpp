// How fast errors fall for tokens and queries of moderate size: slopes over short lengths, and the constant.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "claims/claims.hpp"
#include "claims/random_layers.hpp"
#include "largo/concentration/concentration_grid.hpp"
#include "largo/concentration/exact_errors.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/named_matrix.hpp"

namespace largo::claims {
namespace {

// Thresholds of the verdict.
constexpr double kSlopeBound = 0.05;     // the errors are exact, but from L = 16 on: terms in 1/L² count
constexpr double kAuditConstant = 1e-6;  // at kAuditFar, where what is left falls like 1/L
constexpr double kAuditFar = 1e9;
constexpr double kAuditScores = 0.5;   // ‖U‖ |z|
constexpr double kControlTokens = 20;  // the negative control

// The slopes of one layer, and what its errors are at a very long prompt.
struct AuditedLayer {
  std::vector<ConcentrationRow> rows;  // the short lengths
  std::vector<double> slopes;          // of output, gradient in V and, if known, in U
};

AuditedLayer audit(const AttentionLayer& layer, std::vector<double> lengths, const ClaimOptions& options) {
  ConcentrationPlan plan;
  plan.lengths = std::move(lengths);
  plan.exponents = plan.certified = false;
  if (options.control == 1) plan.sigmas = {kControlTokens};
  AuditedLayer audited{concentration_grid(layer, plan, options.execution), {}};
  const SigmaSummary slopes = summarise(layer, audited.rows).sigmas.front();
  for (const auto& slope : {slopes.output, slopes.gradient_V, slopes.gradient_U})
    if (slope) audited.slopes.push_back(slope->value);
  return audited;
}

// ρ E‖Y‖² under ν_2a; the second negative control has ν_a there
double limit_constant(const AttentionLayer& layer, const ClaimOptions& options) {
  const Vector a = layer.U * std::get<Vector>(layer.queries);
  const Tilt once = layer.tokens->tilt(a), twice = layer.tokens->tilt(2 * a),
             &under = options.control == 2 ? once : twice;
  return std::exp(twice.log_partition - 2 * once.log_partition) *
         ((layer.V * under.covariance * layer.V.transpose()).trace() +
          (layer.V * (under.mean - once.mean)).squaredNorm());
}

struct SlopeRange {
  double steepest = std::numeric_limits<double>::infinity(), flattest = -steepest;
  std::size_t count = 0;

  void add(const std::vector<double>& slopes) {
    for (const double slope : slopes) {
      steepest = std::min(steepest, slope);
      flattest = larger(flattest, slope);
      ++count;
    }
  }
  void add(const SlopeRange& other) {
    steepest = std::min(steepest, other.steepest);
    flattest = larger(flattest, other.flattest);
    count += other.count;
  }
};

// Gaussian tokens of three covariances, averaged over Gaussian queries: a table, three panels.
SlopeRange audit_covariances(const ClaimOptions& options, report::ReportTable& table,
                             std::vector<Panel>& panels) {
  constexpr std::ptrdiff_t d = 4;
  const struct {
    const char* name;
    Matrix covariance;
  } kLaws[] = {{"isotropic", Matrix::Identity(d, d)},
               {"toeplitz:0.5", named_matrix("covariance", "toeplitz:0.5", d, d)},
               {"condition 8", named_matrix("covariance", "0.2666666666666667*diag:1,2,4,8", d, d)}};
  panels = {{.title = "output"}, {.title = "gradient in V"}, {.title = "gradient in U"}};
  SlopeRange range;
  for (const auto& [name, covariance] : kLaws) {
    const AttentionLayer layer{std::make_shared<GaussianMeasure>(Vector::Zero(d), covariance),
                               with_norm(named_matrix("U", "random:1", d, d), 0.22),
                               with_norm(named_matrix("V", "random:2", d, d), 0.75),
                               std::make_shared<GaussianMeasure>(GaussianMeasure::standard(d))};
    const AuditedLayer audited = audit(layer, {16, 32, 64, 128, 256, 512, 1024}, options);
    range.add(audited.slopes);
    Curve curves[3];
    for (Curve& curve : curves) curve = {.label = name, .color = static_cast<int>(panels[0].curves.size())};
    for (const ConcentrationRow& row : audited.rows) {
      curves[0].add(row.L, row.output.value / d);
      curves[1].add(row.L, row.gradient_V.value);
      curves[2].add(row.L, row.gradient_U->value);
    }
    const auto& y = curves[0].y;
    table.rows.push_back({name, y[0], y[3], y[6], audited.slopes[0], audited.slopes[1], audited.slopes[2]});
    for (std::size_t k = 0; k < 3; ++k) panels[k].curves.push_back(std::move(curves[k]));
  }
  for (Panel& panel : panels) panel.y_label = "averaged error";
  return range;
}

// Other laws and dimensions, at a query and averaged over all signs of its coordinates: the slopes, and the
// constant of long prompts.
SlopeRange audit_laws(const ClaimOptions& options, report::ReportTable& table, Panel& panel,
                      double& from_limit) {
  // Heavier tails than those of the covariances above reach the rate 1/L later.
  const std::vector<double> kLawLengths = {256, 1024, 4096, 16384};
  SlopeRange all;
  int draw = 100;
  for (const char* law : kTokenLaws) {
    SlopeRange range;
    double largest = 0;
    const std::string name = law;
    Curve curve{.label = name.substr(0, name.find(':')), .color = static_cast<int>(panel.curves.size())};
    for (const std::ptrdiff_t d : {1, 2, 4, 8}) {
      const double norm = kAuditScores / std::sqrt(static_cast<double>(d));
      const AttentionLayer layer = random_layer(law, d, QueryKind::one, draw++, norm);
      const AuditedLayer audited = audit(layer, kLawLengths, options);
      range.add(audited.slopes);
      const double constant = limit_constant(layer, options);
      largest =
          larger(largest, std::abs(kAuditFar * ExactErrors(layer)(kAuditFar).output.value / constant - 1));
      if (d == 4) {
        for (const ConcentrationRow& row : audited.rows) {
          curve.add(row.L, row.L * row.output.value / constant);
        }
      }
      if (d > kMostSigns || options.control) continue;
      range.add(audit({layer.tokens, layer.U, layer.V, sign_queries(law, d)}, kLawLengths, options).slopes);
    }
    panel.curves.push_back(std::move(curve));
    table.rows.push_back({law, range.steepest, range.flattest, largest});
    from_limit = larger(from_limit, largest);
    all.add(range);
  }
  return all;
}

}  // namespace

report::ReportSection audit_claim(const ClaimOptions& options) {
  report::ReportTable covariances{
      "Gaussian tokens, averaged over Gaussian queries: output errors at three lengths, and slopes of the "
      "three errors.",
      {"covariance", "L = 16", "L = 128", "L = 1024", "slope: output", "gradient in V", "gradient in U"}};
  report::ReportTable laws{
      "Other laws, at a query and averaged over all signs of the coordinates of queries.",
      {"tokens", "steepest slope", "flattest slope", "|L error/C − 1| at L = 10⁹"}};
  std::vector<Panel> panels;
  double from_limit = 0;
  SlopeRange range = audit_covariances(options, covariances, panels);
  Panel constants{.title = "at a query", .y_label = "L × output error / C", .log_y = false};
  range.add(audit_laws(options, laws, constants, from_limit));
  panels.push_back(std::move(constants));
  for (Panel& panel : panels) panel.x_label = "prompt length L";
  report::ReportSection claim{
      .computed = fmt::format(
          "Exact errors, and {} slopes of ln error against ln L by least squares. First averaged over "
          "standard Gaussian queries, L = 16 to 1024, d = 4, U and V random with operator norms 0.22 and "
          "0.75, Gaussian tokens of three covariances (output errors are per coordinate). Then {} laws of "
          "tokens in 1, 2, 4 and 8 dimensions, L = 256 to 16384, random U and V, ‖U‖ |z| = {:g}, at a query "
          "and, up to 4 dimensions, averaged over all queries with coordinates ±1; gradients in U where they "
          "are known exactly. C is computed from tilts alone, without the exact error that it is compared "
          "with.",
          range.count, kTokenLaws.size(), kAuditScores)};
  claim.numbers = {{"largest |slope + 1|", larger(std::abs(range.steepest + 1), std::abs(range.flattest + 1)),
                    kSlopeBound},
                   {fmt::format("largest |L error/C − 1| at a query, L = {}", report::shown(kAuditFar)),
                    from_limit, kAuditConstant},
                   {"steepest slope", range.steepest},
                   {"flattest slope", range.flattest}};
  claim.tables = {covariances, laws};
  claim.figures = {{"audit",
                    {panels,
                     "Exact errors averaged over queries, for three covariances of Gaussian tokens; and at a "
                     "query in d = 4, for several laws, L times the output error over its limit."}}};
  return decided(std::move(claim));
}

}  // namespace largo::claims
