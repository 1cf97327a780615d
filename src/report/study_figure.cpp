#include "report/study_figure.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"
#include "report/report.hpp"
#include "studies/study_json.hpp"

namespace largo::report {
namespace {

constexpr std::size_t kMostCurves = 8;      // the number of colours
constexpr std::size_t kMostSettings = 40;   // of a slider
constexpr std::size_t kMostOfCurve = 1000;  // points; more cannot be told apart
constexpr std::size_t kFewOfCurve = 100;    // points that a curve may have, however many curves there are
constexpr std::size_t kMostPoints = 50000;  // points of all figures, so that the page stays below 3 MB
constexpr double kSeenError = 1e-3;         // relative: a smaller error is thinner than its curve
constexpr double kLogFrom = 20;  // largest over smallest value, from which on an axis is logarithmic

// Rounds to as many digits as a figure, or its tooltip, can show.
double drawn(double value) {
  return std::isfinite(value) ? std::strtod(fmt::format("{:.8g}", value).c_str(), nullptr) : value;
}

std::string named(const ReportAxis& axis, const StudyValue& value) {
  return fmt::format("{} = {}", axis.name, shown_value(value));
}

class View {
 public:
  View(const StudyTable& table, const ReportLayout& layout, std::size_t result, std::size_t points)
      : table_(table),
        layout_(layout),
        result_(result),
        points_(points),
        log_y_(log_y()),
        band_(has_band()) {}

  ReportFigure make() const {
    ReportFigure figure;
    figure.figure.caption = statement_of(table_, layout_, result_);
    figure.x = layout_.x->name;
    if (!layout_.slider) {
      figure.figure.panels = {panel(std::nullopt)};
      return figure;
    }
    const std::size_t of_frame = curves() * std::min(layout_.x->values.size(), of_curve());
    const std::vector<StudyValue> settings =
        spread(layout_.slider->values, std::min(kMostSettings, std::max<std::size_t>(1, points_ / of_frame)));
    figure.figure.panels = {panel(settings.front())};
    figure.slider = FigureSlider{.label = layout_.slider->name};
    for (const StudyValue& setting : settings) {
      figure.slider->values.push_back(std::get<double>(setting));
      figure.slider->panels.push_back({panel(setting)});
    }
    return figure;
  }

 private:
  const StudyResult& of(const StudyRow& row) const { return row.results[result_]; }

  bool shown(const StudyRow& row) const {
    if (std::isnan(of(row).value)) return false;
    return std::all_of(layout_.held.begin(), layout_.held.end(), [&](const ReportAxis& axis) {
      return row.inputs[axis.parameter] == axis.values.front();
    });
  }

  bool log_y() const {
    double least = HUGE_VAL, most = 0;
    for (const StudyRow& row : table_.rows) {
      if (!shown(row) || !std::isfinite(of(row).value)) continue;
      least = std::min(least, of(row).value);
      most = std::max(most, of(row).value);
    }
    return least > 0 && most > kLogFrom * least;
  }

  bool has_band() const {
    return std::any_of(table_.rows.begin(), table_.rows.end(), [&](const StudyRow& row) {
      return shown(row) && of(row).error > kSeenError * std::abs(of(row).value);
    });
  }

  std::size_t curves() const {
    return layout_.curves ? std::min(layout_.curves->values.size(), kMostCurves) : 1;
  }

  std::size_t of_curve() const { return std::clamp(points_ / curves(), kFewOfCurve, kMostOfCurve); }

  Curve curve(const StudyValue& which, const std::optional<StudyValue>& setting, std::size_t color) const {
    std::vector<std::pair<double, StudyResult>> points;
    for (const StudyRow& row : table_.rows) {
      if (!shown(row) || (layout_.curves && row.inputs[layout_.curves->parameter] != which)) continue;
      if (setting && row.inputs[layout_.slider->parameter] != *setting) continue;
      points.emplace_back(std::get<double>(row.inputs[layout_.x->parameter]), of(row));
    }
    std::stable_sort(points.begin(), points.end(),
                     [](const auto& one, const auto& other) { return one.first < other.first; });
    Curve curve;
    if (layout_.curves) curve.label = named(*layout_.curves, which);
    curve.color = static_cast<int>(color);
    for (const auto& [x, result] : spread(points, of_curve())) {
      curve.x.push_back(drawn(x));
      curve.y.push_back(drawn(result.value));
      if (!band_) continue;
      const double error = std::isnan(result.error) ? 0 : result.error;
      curve.low.push_back(drawn(result.value - error));
      curve.high.push_back(drawn(result.value + error));
    }
    return curve;
  }

  Panel panel(const std::optional<StudyValue>& setting) const {
    Panel panel;
    if (setting) panel.title = named(*layout_.slider, *setting);
    panel.x_label = layout_.x->name;
    panel.y_label = table_.results[result_];
    panel.log_x = is_log_spaced(*layout_.x);
    panel.log_y = log_y_;
    const std::vector<StudyValue> which =
        layout_.curves ? spread(layout_.curves->values, kMostCurves) : std::vector<StudyValue>(1);
    for (std::size_t i = 0; i < which.size(); ++i) {
      Curve one = curve(which[i], setting, i);
      if (!one.x.empty()) panel.curves.push_back(std::move(one));
    }
    return panel;
  }

  const StudyTable& table_;
  const ReportLayout& layout_;
  std::size_t result_;
  std::size_t points_;  // the most points it may have
  bool log_y_, band_;
};

// Parameters that have more than one value.
std::vector<ReportAxis> axes_of(const StudyTable& table) {
  std::vector<ReportAxis> axes;
  for (const std::string& name : table.axes) {
    const auto at = std::find(table.parameters.begin(), table.parameters.end(), name);
    if (at == table.parameters.end()) continue;
    ReportAxis axis{name, static_cast<std::size_t>(at - table.parameters.begin()), {}, true};
    std::set<StudyValue> seen;
    for (const StudyRow& row : table.rows) {
      const StudyValue& value = row.inputs[axis.parameter];
      axis.numeric = axis.numeric && std::holds_alternative<double>(value);
      if (seen.insert(value).second) axis.values.push_back(value);
    }
    if (axis.values.size() > 1) axes.push_back(std::move(axis));
  }
  return axes;
}

// Puts the axis named `x`, if there is one, on the x axis.
ReportLayout layout_with(const std::string& x, std::vector<ReportAxis> axes) {
  const auto take = [&](auto&& fits) -> std::optional<ReportAxis> {
    const auto at = std::find_if(axes.begin(), axes.end(), fits);
    if (at == axes.end()) return std::nullopt;
    ReportAxis axis = std::move(*at);
    axes.erase(at);
    return axis;
  };
  ReportLayout layout;
  layout.x = take([&](const ReportAxis& axis) { return axis.name == x; });
  layout.curves = take([](const ReportAxis&) { return true; });
  layout.slider = take([](const ReportAxis& axis) { return axis.numeric; });
  layout.held = std::move(axes);
  return layout;
}

}  // namespace

std::string shown_value(const StudyValue& value) {
  constexpr int kDigits = 6;
  const double* number = std::get_if<double>(&value);
  return number != nullptr && !std::isnan(*number) ? shown(*number, kDigits) : studies::value_text(value);
}

std::string statement_of(const StudyTable& table, const ReportLayout& layout, std::size_t result) {
  std::string text = table.results[result];
  if (layout.x) text += fmt::format(" against {}", layout.x->name);
  if (layout.curves) text += fmt::format(", a curve for each {}", layout.curves->name);
  if (layout.curves && layout.curves->values.size() > kMostCurves) {
    text += fmt::format(" ({} of its {} values)", kMostCurves, layout.curves->values.size());
  }
  if (layout.slider) text += fmt::format(", {} by the slider", layout.slider->name);
  for (const ReportAxis& axis : layout.held) text += fmt::format(", {}", named(axis, axis.values.front()));
  const auto no_place = [](const StudyValue& value) { return !std::isfinite(std::get<double>(value)); };
  if (layout.x && std::any_of(layout.x->values.begin(), layout.x->values.end(), no_place)) {
    text += fmt::format("; {} = inf has no place on the axis, and is in the table", layout.x->name);
  }
  return fmt::format("{}.", text);
}

ReportFigure study_figure(const StudyTable& table, std::span<const ReportLayout> layouts,
                          std::size_t result) {
  const std::size_t points = kMostPoints / (table.results.size() * layouts.size());
  ReportFigure figure = View(table, layouts.front(), result, points).make();
  figure.id = table.results[result];
  for (const ReportLayout& layout : layouts.subspan(1)) {
    figure.views.push_back(View(table, layout, result, points).make());
  }
  return figure;
}

bool is_log_spaced(const ReportAxis& axis) {
  std::vector<double> values;
  for (const StudyValue& value : axis.values) {
    const double x = std::get<double>(value);
    if (!(x > 0)) return false;
    if (std::isfinite(x)) values.push_back(x);
  }
  std::sort(values.begin(), values.end());
  if (values.size() < 2) return true;
  if (values.size() == 2) return values[1] / values[0] >= 10;
  const auto unevenness = [&](auto&& of) {
    double least = HUGE_VAL, most = 0;
    for (std::size_t i = 1; i < values.size(); ++i) {
      const double step = of(values[i]) - of(values[i - 1]);
      least = std::min(least, step);
      most = std::max(most, step);
    }
    return most / least;
  };
  return unevenness([](double x) { return std::log(x); }) < unevenness([](double x) { return x; });
}

std::vector<ReportLayout> layouts_of(const StudyTable& table, const std::string& first) {
  const std::vector<ReportAxis> axes = axes_of(table);
  std::vector<std::string> names;
  for (const ReportAxis& axis : axes) {
    if (axis.numeric) names.push_back(axis.name);
  }
  if (!first.empty()) {
    const auto at = std::find(names.begin(), names.end(), first);
    if (at == names.end()) {
      fail("report", "x axis", fmt::format("'{}'", first),
           names.empty()
               ? "left out: no parameter of the study varies and is a number"
               : fmt::format("a parameter that varies and is a number: {}", fmt::join(names, ", ")));
    }
    std::rotate(names.begin(), at, at + 1);
  }
  if (names.empty()) return {layout_with("", axes)};
  std::vector<ReportLayout> layouts;
  for (const std::string& name : names) layouts.push_back(layout_with(name, axes));
  return layouts;
}

}  // namespace largo::report
