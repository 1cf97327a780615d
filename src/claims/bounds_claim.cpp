// The paper's bounds: constants fitted on some laws, scales and lengths, and checked on others.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "claims/claims.hpp"
#include "claims/random_layers.hpp"
#include "largo/concentration/concentration_grid.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/named_law.hpp"
#include "largo/measures/named_matrix.hpp"

namespace largo::claims {
namespace {

// For σ ≥ 1, σ² c(σ) is at least c(1) = 0.618 and at most 1: kC2 is below it, and kTooLarge above.
constexpr double kC2 = 0.4, kTooLarge = 1;
constexpr double kMargin = 2, kTooSmall = 1e-4;
constexpr double kSampledErrors = 5;  // standard errors that a sampled error is allowed above a bound
constexpr std::int64_t kBoundPrompts = 400;
constexpr std::ptrdiff_t kShownDimension = 4;
constexpr double kShownLength = 1e6;

using ErrorOf = std::optional<ErrorBar> (*)(const ConcentrationRow&);
struct BoundedError {
  const char* name;
  BoundShape shape;
  ErrorOf of;
};
constexpr std::array<BoundedError, 3> kBoundedErrors = {
    {{"output", kOutputBound, [](const ConcentrationRow& r) { return std::optional(r.output); }},
     {"gradient in V", kGradientVBound,
      [](const ConcentrationRow& r) { return std::optional(r.gradient_V); }},
     {"gradient in U", kGradientUBound, [](const ConcentrationRow& r) { return r.gradient_U; }}}};

// One of the three errors of each row that has it. The laws are 1-sub-Gaussian, so σ of the bounds is sigma.
std::vector<BoundPoint> bound_points(const std::vector<ConcentrationRow>& rows, ErrorOf of) {
  std::vector<BoundPoint> points;
  for (const ConcentrationRow& row : rows) {
    const auto error = of(row);
    if (!error) continue;
    const double sampled = row.method == ErrorMethod::sampled ? kSampledErrors * error->error : 0;
    points.push_back({row.sigma, row.L, larger(0, error->value - sampled)});
  }
  return points;
}

// Rows that constants are checked on: a law of tokens and one of queries.
struct HeldOut {
  const char *tokens, *queries;
  bool sampled = false;
  std::vector<ConcentrationRow> rows = {};
};

// One pair U, V, and everything that is computed with it.
class BoundsAt {
 public:
  BoundsAt(std::ptrdiff_t d, const ClaimOptions& options)
      : d_(d),
        options_(options),
        layer_(random_layer("gaussian", d, QueryKind::gaussian, 200 + static_cast<int>(d), 1)) {
    layer_.V = with_norm(layer_.V, 1);
    lengths_ = log_spaced_lengths(2, 1e12, 7);
    lengths_[3] = kShownLength;
    fitted_ = rows_of(layer_, {1, 2, 4}, lengths_);
    std::vector<double> longer = lengths_;
    longer.insert(longer.end(), {1e60, 1e300});
    held_out_.push_back({"gaussian", "gaussian", false, rows_of(layer_, kOthers, longer)});
    if (options.control != 1) add_other_laws();
  }

  const std::vector<ConcentrationRow>& fitted() const { return fitted_; }
  const std::vector<HeldOut>& held_out() const { return held_out_; }

  BoundConstants fit(const BoundedError& error, double c2) const {
    const double least = check_bound(error.shape, {1, c2}, bound_points(fitted_, error.of)).worst_ratio;
    return {(options_.control == 2 ? kTooSmall : kMargin) * least, c2};
  }

 private:
  static inline const std::vector<double> kOthers = {1.5, 3};

  std::vector<ConcentrationRow> rows_of(const AttentionLayer& layer, const std::vector<double>& sigmas,
                                        const std::vector<double>& lengths, bool sampled = false) const {
    ConcentrationPlan plan;
    plan.sigmas = sigmas;
    plan.lengths = lengths;
    plan.exact = !sampled;
    plan.sampled = sampled;
    plan.sampling.samples = kBoundPrompts;
    plan.seed = options_.seed;
    plan.exponents = plan.certified = false;
    return concentration_grid(layer, plan, options_.execution);
  }

  // Laws with sub-Gaussian constant 1, tokens and queries.
  void add_other_laws() {
    const double root = std::sqrt(static_cast<double>(d_));
    const std::vector<double> few = {2, 100, 1e4, 1e12, 1e300}, short_ones = {2, 30, 1000};
    AttentionLayer other = layer_;
    const Vector variances = Vector::LinSpaced(d_, 1.0, d_ > 1 ? 0.125 : 1.0);
    other.tokens = std::make_shared<GaussianMeasure>(Vector::Zero(d_), Matrix(variances.asDiagonal()));
    other.queries = queries_of(QueryKind::sphere, d_, 0);
    held_out_.push_back({"gaussian, condition 8", "sphere", false, rows_of(other, kOthers, few)});
    const std::pair<const char*, MeasurePtr> laws[] = {
        {"rademacher", named_law("rademacher", d_)},
        {"sphere", named_law(fmt::format("sphere:radius={}", root), d_)}};
    for (const auto& [name, law] : laws) {
      other.tokens = law;
      if (d_ <= kMostSigns) {
        other.queries = sign_queries(name, d_);
        held_out_.push_back({name, "rademacher", false, rows_of(other, kOthers, few)});
      }
      other.queries = layer_.queries;
      held_out_.push_back({name, "gaussian", true, rows_of(other, kOthers, short_ones, true)});
    }
  }

  std::ptrdiff_t d_;
  const ClaimOptions& options_;
  AttentionLayer layer_;
  std::vector<double> lengths_;
  std::vector<ConcentrationRow> fitted_;
  std::vector<HeldOut> held_out_;
};

// Errors and bounds against L at the σ that were not fitted.
Panel length_panel(const BoundsAt& at, const BoundedError& error, const BoundConstants& constants) {
  Panel panel{.title = error.name, .x_label = "prompt length L", .y_label = "averaged error"};
  for (const double sigma : {1.5, 3.0}) {
    const int color = static_cast<int>(panel.curves.size() / 2);
    Curve exact{.label = fmt::format("σ = {:g}", sigma), .color = color},
        bound{.style = Curve::Style::dashed, .color = color};
    for (const BoundPoint& point : bound_points(at.held_out().front().rows, error.of)) {
      if (point.sigma != sigma || point.L > 1e12) continue;
      exact.add(point.L, point.error);
      bound.add(point.L, bound_value(error.shape, constants, sigma, point.L));
    }
    panel.curves.insert(panel.curves.end(), {exact, bound});
  }
  return panel;
}

// The role of σ: the output error and its bound at one length, at the σ of the fit and at the others.
Panel sigma_panel(const BoundsAt& at, const BoundConstants& constants) {
  std::vector<BoundPoint> points = bound_points(at.fitted(), kBoundedErrors[0].of);
  const std::vector<BoundPoint> others = bound_points(at.held_out().front().rows, kBoundedErrors[0].of);
  points.insert(points.end(), others.begin(), others.end());
  std::sort(points.begin(), points.end(),
            [](const BoundPoint& a, const BoundPoint& b) { return a.sigma < b.sigma; });
  Curve exact{.label = fmt::format("L = {}", report::shown(kShownLength)), .color = 2},
      bound{.style = Curve::Style::dashed, .color = 2};
  for (const BoundPoint& point : points) {
    if (point.L != kShownLength) continue;
    exact.add(point.sigma, point.error);
    bound.add(point.sigma, bound_value(kOutputBound, constants, point.sigma, point.L));
  }
  return {.title = fmt::format("output, L = {}", report::shown(kShownLength)),
          .x_label = "σ",
          .y_label = "averaged error",
          .log_x = false,
          .curves = {exact, bound}};
}

}  // namespace

report::ReportSection bounds_claim(const ClaimOptions& options) {
  report::ReportTable constants_table{
      "The constants that are checked, with c₂ = 0.4: twice those fitted to Gaussian tokens and queries.",
      {"d", "c₁, output", "gradient in V", "gradient in U"}};
  report::ReportTable checks{
      "The largest error/bound where constants were not fitted.",
      {"d", "tokens", "queries", "method", "output", "gradient in V", "gradient in U"}};
  Figure figure{.caption =
                    "Exact errors for Gaussian tokens and queries in d = 4, and the bounds with one pair of "
                    "constants for all σ and L (dashed): at σ that were not fitted, and against σ. Open "
                    "marks show what was computed."};
  std::array<double, 3> exact{}, sampled{};
  std::size_t points = 0, sampled_points = 0;
  const double c2 = options.control == 1 ? kTooLarge : kC2;
  const std::vector<std::ptrdiff_t> dimensions =
      options.control == 1   ? std::vector<std::ptrdiff_t>{kShownDimension}
      : options.control == 2 ? std::vector<std::ptrdiff_t>{1}
      : options.quick        ? std::vector<std::ptrdiff_t>{1, kShownDimension}
                             : std::vector<std::ptrdiff_t>{1, 2, kShownDimension, 8};
  for (const std::ptrdiff_t d : dimensions) {
    const BoundsAt at(d, options);
    std::array<BoundConstants, 3> constants;
    constants_table.rows.push_back({d});
    for (std::size_t k = 0; k < 3; ++k) {
      constants[k] = at.fit(kBoundedErrors[k], c2);
      constants_table.rows.back().push_back(constants[k].c1);
      if (d == kShownDimension) figure.panels.push_back(length_panel(at, kBoundedErrors[k], constants[k]));
    }
    if (d == kShownDimension) figure.panels.push_back(sigma_panel(at, constants[0]));
    for (const HeldOut& group : at.held_out()) {
      checks.rows.push_back({d, group.tokens, group.queries, group.sampled ? "sampled" : "exact"});
      for (std::size_t k = 0; k < 3; ++k) {
        const std::vector<BoundPoint> found = bound_points(group.rows, kBoundedErrors[k].of);
        const BoundVerdict verdict = check_bound(kBoundedErrors[k].shape, constants[k], found);
        report::ReportCell& cell = checks.rows.back().emplace_back();
        if (!found.empty()) cell = verdict.worst_ratio;
        double& worst = (group.sampled ? sampled : exact)[k];
        worst = larger(worst, verdict.worst_ratio);
        (group.sampled ? sampled_points : points) += verdict.points;
      }
    }
  }
  report::ReportSection claim{
      .computed = fmt::format(
          "This verdict says little more than that c₂ = 0.4 is small enough for these laws. "
          "For d = {}, one random pair U, V of operator norm 1 each. The constants may "
          "depend on d, U and V alone, so for each pair c₁ is fitted once, with c₂ = 0.4 (below σ² c(σ), "
          "at least 0.618 for σ ≥ 1 and ‖U‖ = 1, by the heuristic of averaged-exponent), to exact errors of "
          "N(0, σ²I) tokens averaged over standard Gaussian queries, σ = 1, 2, 4, lengths from 2 to 10¹². "
          "Twice that c₁ (a factor of our choice) is then checked at σ = 1.5 and 3: for the same laws up to "
          "L = 10³⁰⁰, for Gaussian "
          "tokens of condition 8 and queries on the sphere of radius √d, and for tokens of coordinates ±1 "
          "and on the sphere, exactly with queries of coordinates ±1 (up to 4 dimensions), and with Gaussian "
          "queries by {} prompts of up to 1000 tokens, less five standard errors. All laws have the "
          "sub-Gaussian constant σ (tokens) or 1 (queries). {} exact and {} sampled errors are checked. The "
          "largest ratio of the fit is at σ = 1, L = 2. At σ = 1.5 and 3 the bounds are therefore at least 6 "
          "times too large, and 50 times for gradients in U. The check could fail only for a c₂ well above "
          "0.4, at the longest lengths. Neither σ ≫ 1 nor other laws at σ = 1 were computed. "
          "The bound falls with L only beyond exp(σ²/c₂), that of the gradient in U beyond exp(2σ²/c₂). The "
          "lecture notes show the gradient bound with its norm not squared and with exponents that cannot be "
          "read; what is checked is Proposition 3.4.",
          fmt::join(dimensions, ", "), kBoundPrompts, points, sampled_points)};
  for (std::size_t k = 0; k < 3; ++k)
    claim.numbers.push_back({fmt::format("largest error/bound, {}", kBoundedErrors[k].name), exact[k], 1});
  if (sampled_points > 0) {
    claim.numbers.push_back({"largest sampled error, less five standard errors, over its bound",
                             *std::max_element(sampled.begin(), sampled.end()), 1});
  }
  claim.tables = {constants_table, checks};
  claim.figures = {{"bounds", figure}};
  return decided(std::move(claim));
}

}  // namespace largo::claims
