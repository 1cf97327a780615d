// Certified bounds beside errors: never below them, and how sharp they are.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "claims/certified_points.hpp"
#include "claims/claims.hpp"
#include "largo/concentration/certified_bound.hpp"

namespace largo::claims {
namespace {

constexpr double kMedianLimit = 3;  // of bound/error, where L >= 100 ρ
constexpr double kLong = 100;

double median(std::vector<double>& values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double log_rho(const AttentionLayer& layer) {
  const Vector a = layer.U * std::get<Vector>(layer.queries);
  return layer.tokens->log_partition(2 * a) - 2 * layer.tokens->log_partition(a);
}

// The comparison of errors and bounds, setting by setting.
struct CertifiedCheck {
  double worst = 0, worst_sampled = 0;
  std::size_t points = 0, sampled_points = 0;
  std::vector<double> ratios = {};  // bound/error of the output where L >= 100 ρ, at given queries
  std::size_t missing_settings = 0;

  void add(const CertifiedSetting& setting, const std::vector<CertifiedPoint>& found) {
    const AttentionLayer layer = setting.layer();
    if (found.empty()) {
      ++missing_settings;
      return;
    }
    for (const CertifiedPoint& point : found) {
      for (std::size_t k = 0; k < 3; ++k) {
        if (point.error[k] == kNoFormula) continue;
        double& largest = setting.is_sampled() ? worst_sampled : worst;
        largest = larger(largest, (point.error[k] - point.allowance[k]) / point.bound[k]);
        ++(setting.is_sampled() ? sampled_points : points);
      }
      if (setting.queries == QueryKind::one && std::log(point.L) >= std::log(kLong) + log_rho(layer))
        ratios.push_back(point.bound[0] / point.error[0]);
    }
  }
};

// A row of the table and two curves of the figure.
void show(const CertifiedSetting& setting, const std::vector<CertifiedPoint>& found,
          report::ReportTable& table, Panel& panel) {
  std::string name = kTokenLaws[setting.law];
  table.rows.push_back({name, name_of(setting.queries),
                        found.empty() ? "no bound" : (setting.is_sampled() ? "sampled" : "exact")});
  for (const double L : {2.0, 1000.0, 1e6, 1e300}) {
    const auto at =
        std::find_if(found.begin(), found.end(), [&](const CertifiedPoint& p) { return p.L == L; });
    report::ReportCell& cell = table.rows.back().emplace_back();
    if (at != found.end()) cell = at->bound[0] / at->error[0];
  }
  if (found.empty() || setting.law % 3 != 0) return;  // all laws together could not be told apart
  Curve error{.label = setting.queries == QueryKind::one ? name.substr(0, name.find(':')) : "",
              .color = static_cast<int>(setting.law)},
      bound{.style = Curve::Style::dashed, .color = static_cast<int>(setting.law)};
  if (setting.is_sampled()) error.style = Curve::Style::points;
  for (const CertifiedPoint& point : found) {
    if (point.L > 1e6) continue;
    error.add(point.L, point.error[0]);
    if (setting.is_sampled()) {
      error.low.push_back(point.error[0] - point.allowance[0]);
      error.high.push_back(point.error[0] + point.allowance[0]);
    }
    bound.add(point.L, point.bound[0]);
  }
  panel.curves.insert(panel.curves.end(), {error, bound});
}

}  // namespace

report::ReportSection certified_claim(const ClaimOptions& options) {
  const std::vector<CertifiedSetting> settings = certified_settings(options);
  const std::vector<std::vector<CertifiedPoint>> points = certified_points(settings, options);
  report::ReportTable table{"Ratios of the certified bound to the output error, d = 4.",
                            {"tokens", "queries", "errors", "L = 2", "L = 1000", "L = 10⁶", "L = 10³⁰⁰"}};
  std::array<Panel, kQueryKinds.size()> panels = {
      {{.title = "at a query"}, {.title = "Gaussian queries"}, {.title = "on a sphere"}, {.title = "signs"}}};
  CertifiedCheck check;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    check.add(settings[i], points[i]);
    if (settings[i].d == kCertifiedShown)
      show(settings[i], points[i], table, panels[static_cast<std::size_t>(settings[i].queries)]);
  }
  Figure figure{
      .caption =
          "Output errors, exact (lines) and sampled (filled marks, bars of five standard errors), "
          "and their certified bounds (dashed), d = 4, random U and V: at a query, and averaged "
          "over three laws of queries, for three laws of tokens. Open marks show the computed lengths."};
  for (Panel& panel : panels) {
    panel.x_label = "prompt length L";
    panel.y_label = "output error";
    if (!panel.curves.empty()) figure.panels.push_back(panel);
  }
  const auto slow = std::count_if(settings.begin(), settings.end(), [](const CertifiedSetting& s) {
    return s.queries == QueryKind::gaussian && s.law > 0 && s.law + 1 < kTokenLaws.size();
  });
  report::ReportSection claim{
      .computed = fmt::format(
          "{} laws of tokens, d = {}, random U and V, L from 2 to 10⁶ and 10³⁰⁰: at a "
          "query of random direction, and averaged over queries that are Gaussian, on a sphere, and of "
          "coordinates ±1. {} errors are exact: at a query, for Gaussian tokens, and over all 2^{{d}} signs, "
          "d ≤ {}. {} are sampled, 200 prompts each (8 of 10⁶ tokens), and compared less five standard "
          "errors. With Gaussian queries bounded laws are compared in {} settings only, since each of these "
          "bounds takes a second. No constant is fitted. The bounds have a factor 1 + 10⁻¹² for rounding, "
          "which is all of their margin at 10³⁰⁰. In {} of {} settings there is no "
          "bound: for Gaussian tokens under queries of coordinates ±1, and for laws that are neither "
          "Gaussian nor "
          "bounded under a law of queries.",
          kTokenLaws.size(), options.quick ? "1 and 4" : "1, 2, 4 and 8", check.points, kMostSigns,
          check.sampled_points, slow, check.missing_settings, settings.size())};
  if (options.quick) claim.computed += " A quick run leaves out most bounded laws under queries on a sphere.";
  claim.numbers = {{"largest error/bound, exact errors", check.worst, 1},
                   {"largest error/bound, sampled errors less five standard errors", check.worst_sampled, 1},
                   {fmt::format("median bound/error of the output at a query, L ≥ {:g} ρ", kLong),
                    median(check.ratios), kMedianLimit}};
  claim.tables = {table};
  claim.figures = {{"certified", figure}};
  return decided(std::move(claim));
}

}  // namespace largo::claims
