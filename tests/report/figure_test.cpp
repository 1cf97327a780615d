#include "largo/report/figure.hpp"

#include <algorithm>
#include <clocale>
#include <cmath>
#include <cstdio>
#include <limits>

#include "largo/numerics/simd_level.hpp"
#include "report/svg_text.hpp"
#include "sample_figures.hpp"
#include "support/fixtures.hpp"

namespace largo::test::figure_test {
namespace {

const double kNaN = std::numeric_limits<double>::quiet_NaN();

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

Figure figure_of(Curve curve) {
  Figure figure;
  figure.panels.resize(1);
  figure.panels[0].title = "a panel";
  figure.panels[0].curves = {std::move(curve)};
  return figure;
}

Curve named(std::vector<double> x, std::vector<double> y) {
  Curve curve;
  curve.label = "σ = 1";
  curve.x = std::move(x);
  curve.y = std::move(y);
  return curve;
}

// The d attribute of the first stroked line: only lines have round joins.
std::string line_path(const std::string& svg) {
  const std::size_t start = svg.find("stroke-linejoin=\"round\" d=\"");
  if (start == std::string::npos) return {};
  const std::size_t from = svg.find(" d=\"", start) + 4;
  return svg.substr(from, svg.find('"', from) - from);
}

TEST(Figure, EscapesText) {
  EXPECT_EQ(report::escaped("a < b & \"c\" > 'd'"), "a &lt; b &amp; &quot;c&quot; &gt; &#39;d&#39;");
  EXPECT_EQ(report::escaped("E‖T[μ̂_L]‖² 中 😀"), "E‖T[μ̂_L]‖² 中 😀");
  EXPECT_EQ(report::escaped("a\tb\r\nc"), "a b  c");
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(report::escaped(std::string_view("a\0b\x01", 4)), "a" + bad + "b" + bad);
  EXPECT_EQ(report::escaped("\xff"), bad);
  EXPECT_EQ(report::escaped("\xc3"), bad) << "cut off";
  EXPECT_EQ(report::escaped("\xc0\xaf"), bad + bad) << "overlong";
  EXPECT_EQ(report::escaped("\xed\xa0\x80"), bad + bad + bad) << "surrogate";
  EXPECT_EQ(report::escaped("\xef\xbf\xbf"), bad) << "U+FFFF is not allowed in XML";
}

TEST(Figure, WritesShortNumbers) {
  EXPECT_EQ(report::number(1.5), "1.5");
  EXPECT_EQ(report::number(100), "100");
  EXPECT_EQ(report::number(-0.001), "0");
  EXPECT_EQ(report::number(0.126), "0.13");
  EXPECT_EQ(report::number(-2.999), "-3");
}

TEST(Figure, WrapsAtSpaces) {
  const double em = report::text_width("aaaa", 10) / 4;
  EXPECT_EQ(report::wrapped("aaaa aaaa  aaaaaaaaaaaa a", 10, 10 * em),
            (std::vector<std::string>{"aaaa aaaa", "aaaaaaaaaaaa", "a"}));
  EXPECT_TRUE(report::wrapped("  ", 10, 10).empty());
}

TEST(Figure, BreaksACurveWhereItHasNoPlace) {
  const std::string whole = line_path(to_svg(figure_of(named({1, 2, 3, 4, 5}, {5, 4, 3, 2, 1}))));
  EXPECT_EQ(count(whole, "M"), 1U);
  EXPECT_EQ(count(whole, "L"), 4U);
  for (const double gap : {0.0, -1.0, kInfinity}) {
    const std::string broken = line_path(to_svg(figure_of(named({1, 2, 3, 4, 5}, {5, 4, gap, 2, 1}))));
    EXPECT_EQ(count(broken, "M"), 2U) << gap;
    EXPECT_EQ(count(broken, "L"), 2U) << gap;
  }
  const std::string ended = line_path(to_svg(figure_of(named({1, 2, kInfinity}, {3, 2, 1}))));
  EXPECT_EQ(count(ended, "M"), 1U);
  EXPECT_EQ(count(ended, "L"), 1U);

  Figure linear = figure_of(named({1, 2, 3}, {1, 0, -1}));
  linear.panels[0].log_y = false;
  EXPECT_EQ(count(line_path(to_svg(linear)), "L"), 2U);
}

// Some places are known without the code: on square logarithmic axes a line of slope one is straight, with
// its middle in the middle.
TEST(Figure, PutsValuesWhereTheyBelong) {
  const std::string path = line_path(to_svg(figure_of(named({1, 10, 100}, {1, 10, 100}))));
  double x[3], y[3];
  ASSERT_EQ(std::sscanf(path.c_str(), "M%lf %lfL%lf %lfL%lf %lf", &x[0], &y[0], &x[1], &y[1], &x[2], &y[2]),
            6);
  EXPECT_LT(x[0], x[2]);
  EXPECT_GT(y[0], y[2]) << "upwards is towards smaller y";
  EXPECT_NEAR(x[1], (x[0] + x[2]) / 2, 0.011);
  EXPECT_NEAR(y[1], (y[0] + y[2]) / 2, 0.011);
}

TEST(Figure, ShowsAPointThatIsAlone) {
  const std::string alone = to_svg(figure_of(named({10}, {2})));
  EXPECT_TRUE(line_path(alone).empty() || count(line_path(alone), "L") == 0);
  EXPECT_EQ(count(alone, "a1.9 1.9"), 4U) << "a circle of two arcs, and the same in the legend";
  Curve long_line = curve_of(
      "", log_spaced(1, 1e6, 30), [](double) { return 1.0; }, 0);
  EXPECT_EQ(count(to_svg(figure_of(long_line)), "a1.9 1.9"), 0U);
  long_line.y[20] = long_line.y[22] = 0;
  EXPECT_EQ(count(to_svg(figure_of(long_line)), "a1.9 1.9"), 2U) << "one point stands between zeros";
}

TEST(Figure, SaysWhenThereIsNothingToDraw) {
  const std::string svg = to_svg(figure_of(named({1, 2}, {0, 0})));
  EXPECT_EQ(count(svg, "no values to draw"), 1U);
  EXPECT_EQ(count(svg, "σ = 1"), 0U) << "a legend for a curve that is not there";
  EXPECT_EQ(count(to_svg(figure_of(named({}, {}))), "no values to draw"), 1U);
}

Figure bars_figure() {
  Curve bars = named({-1, 0, 1}, {1, 2, 0.5});
  bars.style = Curve::Style::bars;
  Figure figure = figure_of(bars);
  figure.panels[0].log_x = figure.panels[0].log_y = false;
  return figure;
}

// Bars touch, stand on zero and are as high as their values say; the legend has one more.
TEST(Figure, BarsStandOnZero) {
  const std::string svg = to_svg(bars_figure());
  const std::size_t start = svg.find("stroke-width=\"0.5\" d=\"M", svg.find("fill-opacity"));
  ASSERT_NE(start, std::string::npos);
  double left[3], foot[3], top[3], right[3], again[3];
  ASSERT_EQ(std::sscanf(svg.c_str() + svg.find('M', start),
                        "M%lf %lfV%lfH%lfV%lfzM%lf %lfV%lfH%lfV%lfzM%lf %lfV%lfH%lfV%lfz", &left[0], &foot[0],
                        &top[0], &right[0], &again[0], &left[1], &foot[1], &top[1], &right[1], &again[1],
                        &left[2], &foot[2], &top[2], &right[2], &again[2]),
            15);
  constexpr double kDecimals = 0.011;  // of coordinates
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(foot[i], foot[0]);
    EXPECT_EQ(again[i], foot[0]);
    EXPECT_NEAR(right[i] - left[i], right[0] - left[0], 2 * kDecimals);
  }
  for (int i = 1; i < 3; ++i) EXPECT_NEAR(left[i], right[i - 1], kDecimals);
  const double unit = foot[0] - top[0];
  EXPECT_GT(unit, 10);
  EXPECT_NEAR((foot[1] - top[1]) / unit, 2, 4 * kDecimals / unit);
  EXPECT_NEAR((foot[2] - top[2]) / unit, 0.5, 2 * kDecimals / unit);
  EXPECT_EQ(count(svg, "fill-opacity=\"0.2\""), 2U);

  Figure infinite = bars_figure();
  infinite.panels[0].curves[0].y[1] = kInfinity;
  const std::string left_out = to_svg(infinite);
  EXPECT_EQ(count(left_out.substr(left_out.find("fill-opacity")), "H"), 3U) << "two bars and the legend";
}

TEST(Figure, RefusesBarsThatAreNone) {
  const auto refusal = [](const auto& change) {
    Figure figure = bars_figure();
    change(figure.panels[0], figure.panels[0].curves[0]);
    return message_of([&] { to_svg(figure); });
  };
  const std::string even = "evenly spaced and increasing, for bars";
  expect_contains(refusal([](Panel&, Curve& bars) { bars.x[1] = 0.5; }),
                  {"x[1] of curve 'σ = 1' is 0.5", even});
  expect_contains(refusal([](Panel&, Curve& bars) { bars.x = {1, 1, 1}; }), {"x[1]", even});
  expect_contains(refusal([](Panel&, Curve& bars) { bars.x = {1, 0, -1}; }), {"x[1]", even});
  expect_contains(refusal([](Panel&, Curve& bars) { bars.x[2] = kInfinity; }), {"x[2]", even});
  expect_contains(refusal([](Panel& panel, Curve&) { panel.log_y = true; }), {"linear axes"});
  expect_contains(refusal([](Panel& panel, Curve&) { panel.log_x = true; }), {"linear axes"});
  expect_contains(refusal([](Panel&, Curve& bars) { bars.low = bars.high = bars.y; }), {"no low and high"});
}

TEST(Figure, DependsOnNothingElse) {
  const Figure figure = concentration_figure();
  const std::string expected = to_svg(figure);
  const std::string level = simd_level();
  for (const std::string& other : simd_levels()) {
    force_simd_level(other);
    EXPECT_EQ(to_svg(figure), expected) << other;
  }
  force_simd_level(level);
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* const name : {"de_DE.UTF-8", "fr_FR.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) != nullptr) break;
  }
  EXPECT_EQ(to_svg(figure), expected);
  std::setlocale(LC_ALL, before.c_str());
}

TEST(Figure, RefusesWhatCannotBeDrawn) {
  const auto refusal = [](const Figure& figure) { return message_of([&] { to_svg(figure); }); };
  expect_contains(refusal(Figure{}), {"to_svg: the figure has no panels"});
  Figure empty;
  empty.panels.resize(1);
  empty.panels[0].title = "left";
  expect_contains(refusal(empty), {"to_svg: panel 'left' has no curves"});

  expect_contains(refusal(figure_of(named({1, kNaN}, {1, 1}))),
                  {"x[1] of curve 'σ = 1' is nan, must be a number"});
  expect_contains(refusal(figure_of(named({1, 2}, {kNaN, 1}))), {"y[0] of curve 'σ = 1' is nan"});
  expect_contains(refusal(figure_of(named({1, 2}, {1}))), {"size of y of curve 'σ = 1' is 1, must be 2"});
  Curve curve = named({1, 2}, {1, 2});
  curve.low = {1, 1};
  expect_contains(refusal(figure_of(curve)), {"size of high of curve 'σ = 1' is 0, must be 2"});
  curve.high = {2, kNaN};
  expect_contains(refusal(figure_of(curve)), {"high[1] of curve 'σ = 1' is nan"});
  curve = named({kNaN}, {1});
  curve.label.clear();
  expect_contains(refusal(figure_of(curve)), {"x[0] of curve 1 of panel 'a panel' is nan"});
  curve = named({1}, {1});
  curve.color = -1;
  expect_contains(refusal(figure_of(curve)), {"color of curve 'σ = 1' is -1, must be non-negative"});
}

TEST(Figure, MergesPointsThatNobodySees) {
  const std::string svg = to_svg(figure_of(curve_of(
      "", log_spaced(1, 1e6, 100'000), [](double x) { return 1 / x; }, 0)));
  EXPECT_LT(svg.size(), 60'000U);
}

TEST(Figure, NamesEachCurveOnce) {
  const std::string svg = to_svg(concentration_figure());
  for (const char* const label : {">σ = 0.2<", ">σ = 2<", ">bound of the paper<", ">sampled<"}) {
    EXPECT_EQ(count(svg, label), 1U) << label;
  }
  const std::string crowded = to_svg(crowded_figure());
  for (char c = 'a'; c < 'm'; ++c) EXPECT_EQ(count(crowded, std::string(">run ") + c + "<"), 1U) << c;
}

double distance(report::Point a, report::Point b) { return std::hypot(a.x - b.x, a.y - b.y); }

// If one look has two labels, the legend says which panel each belongs to.
TEST(Figure, LegendsOfPanelsThatDiffer) {
  Figure figure = figure_of(named({1, 10}, {1, 10}));
  figure.panels.push_back(figure.panels[0]);
  EXPECT_EQ(count(to_svg(figure), ">a panel:<"), 0U);
  figure.panels[1].title = "another";
  figure.panels[1].curves[0].label = "distance";
  const std::string svg = to_svg(figure);
  const std::size_t first = svg.find(">a panel:<"), second = svg.find(">another:<");
  ASSERT_NE(second, std::string::npos);
  EXPECT_LT(first, svg.find(">σ = 1<"));
  EXPECT_LT(svg.find(">σ = 1<"), second);
  EXPECT_LT(second, svg.find(">distance<"));
}

// The centres of the circles (the markers of colour 0) that have this fill.
std::vector<report::Point> circles(const std::string& svg, const std::string& fill) {
  std::vector<report::Point> found;
  const std::string start = "<path fill=\"" + fill + "\" stroke=\"#0072B2\" stroke-width=\"0.8\" d=\"";
  for (std::size_t at = svg.find(start); at != std::string::npos; at = svg.find(start, at + 1)) {
    const std::size_t from = at + start.size();
    const std::string path = svg.substr(from, svg.find('"', from) - from);
    for (std::size_t m = path.find('M'); m != std::string::npos; m = path.find('M', m + 1)) {
      report::Point left;
      if (std::sscanf(path.c_str() + m, "M%lf %lfa", &left.x, &left.y) == 2)
        found.push_back({left.x + 1.9, left.y});
    }
  }
  return found;
}

std::vector<report::Point> vertices(const std::string& path) {
  std::vector<report::Point> found;
  for (std::size_t at = path.find_first_of("ML"); at != std::string::npos;
       at = path.find_first_of("ML", at + 1)) {
    report::Point p;
    if (std::sscanf(path.c_str() + at + 1, "%lf %lf", &p.x, &p.y) == 2) found.push_back(p);
  }
  return found;
}

// A marker means that a value was computed there.
TEST(Figure, MarkersStandOnThePointsOfALine) {
  // Points are uneven, like the lengths of a training: places between them would be far from all of them.
  Figure sparse = figure_of(named({10, 100, 1e4, 1e6}, {1.5, 0.4, 5e-3, 5e-5}));
  std::string svg = to_svg(sparse);
  const std::vector<report::Point> points = vertices(line_path(svg));
  std::vector<report::Point> marks = circles(svg, "#fff");
  ASSERT_EQ(points.size(), 4U);
  ASSERT_EQ(marks.size(), 5U) << "each point, and the legend";
  for (std::size_t i = 0; i < points.size(); ++i) EXPECT_LT(distance(points[i], marks[i]), 0.02) << i;

  // There are too many points for a marker each: some have one, and no marker is elsewhere.
  Figure dense = figure_of(curve_of(
      "", log_spaced(1, 1e6, 60), [](double x) { return 1 / (1 + x); }, 0));
  dense.panels[0].curves.push_back(curve_of(
      "", {1, 1e6}, [](double) { return 0.5; }, 1));
  svg = to_svg(dense);
  const std::vector<report::Point> many = vertices(line_path(svg));
  marks = circles(svg, "#fff");
  EXPECT_GT(marks.size(), 3U);
  EXPECT_LT(marks.size(), 12U);
  for (const report::Point& mark : marks) {
    const bool on = std::any_of(many.begin(), many.end(),
                                [&](const report::Point& p) { return distance(p, mark) < 0.02; });
    EXPECT_TRUE(on) << mark.x << ", " << mark.y;
  }
}

TEST(Figure, TheLegendShowsTheMarksThatAreDrawn) {
  const std::string solid = "#0072B2";
  Figure figure = figure_of(named({1, 10, 100}, {3, 2, 1}));
  figure.panels[0].curves.push_back(curve_of(
      "other", {1, 100}, [](double) { return 2.5; }, 1));
  EXPECT_EQ(circles(to_svg(figure), "#fff").size(), 4U) << "three points and the legend";
  // Points of a colour have its marker, and then the line has none. The same holds in the legend, whatever
  // the label of the points.
  Curve points = named({1, 10, 100}, {3, 2, 1});
  points.style = Curve::Style::points;
  points.label.clear();
  figure.panels[0].curves.push_back(points);
  EXPECT_EQ(circles(to_svg(figure), "#fff").size(), 0U);
  EXPECT_EQ(circles(to_svg(figure), solid).size(), 4U) << "three points, and the legend's line";
  figure.panels[0].curves.back().label = "sampled";
  EXPECT_EQ(circles(to_svg(figure), solid).size(), 4U) << "three points, and the legend's point";
  // One point does not show where the line was computed.
  figure.panels[0].curves.back() = named({10}, {2});
  figure.panels[0].curves.back().style = Curve::Style::points;
  figure.panels[0].curves.back().label = "sampled";
  EXPECT_EQ(circles(to_svg(figure), "#fff").size(), 4U);
  // Every marker has an inside.
  for (int color = 0; color < 8; ++color) {
    points.color = color;
    const std::string svg = to_svg(figure_of(points));
    EXPECT_EQ(count(svg, "z\"/>"), 1U) << color;
  }
}

TEST(Figure, NotesStandBesideTheirCurvesApart) {
  Figure figure = figure_of(named({1, 10, kInfinity}, {1, 10, 5}));
  for (int i = 0; i < 12; ++i) {
    figure.panels[0].curves.push_back(named({1, 10}, {1, 10}));
    figure.panels[0].curves.back().note = "−0.98";
  }
  figure.panels[0].curves.push_back(named({0, 0}, {1, 1}));
  figure.panels[0].curves.back().note = "no place";
  const std::string svg = to_svg(figure);
  EXPECT_EQ(count(svg, ">no place<"), 0U);
  std::vector<double> heights;
  for (std::size_t at = svg.find(">−0.98<"); at != std::string::npos; at = svg.find(">−0.98<", at + 1)) {
    double x = 0, y = 0;
    ASSERT_EQ(std::sscanf(svg.c_str() + svg.rfind("<text", at), "<text x=\"%lf\" y=\"%lf\"", &x, &y), 2);
    EXPECT_GT(x, circles(svg, "#fff").back().x - 0.01);
    heights.push_back(y);
  }
  ASSERT_EQ(heights.size(), 12U);
  for (std::size_t i = 1; i < heights.size(); ++i) EXPECT_GE(heights[i] - heights[i - 1], 6.9);
}

}  // namespace
}  // namespace largo::test::figure_test
