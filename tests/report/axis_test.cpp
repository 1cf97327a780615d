// Ticks over many ranges: there are enough of them, they are in order, and each is labelled with its value.
#include "report/axis.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace largo::report::axis_test {
namespace {

// Labels have at most 6 digits; a wrong one would be off by at least a thousandth of the axis.
constexpr double kPlaceTolerance = 1e-6;

double parsed(std::string text) {
  const std::string minus = "−";
  if (text.starts_with(minus)) text.replace(0, minus.size(), "-");
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  EXPECT_EQ(*end, '\0') << text;
  return value;
}

// The value in the label of the tick, in the coordinate of the axis.
double written(const Axis& axis, const Tick& tick) {
  if (!tick.label.power.empty()) {
    EXPECT_EQ(tick.label.text, "10");
    return parsed(tick.label.power);
  }
  const double value = parsed(tick.label.text);
  return axis.log ? std::log10(value) + axis.unit : value;
}

void expect_sensible(const Axis& axis, double length, const std::string& what) {
  ASSERT_TRUE(std::isfinite(axis.first) && std::isfinite(axis.last)) << what;
  EXPECT_GE(axis.ticks.size(), 2U) << what;
  EXPECT_LE(axis.ticks.size(), 11U) << what;
  std::set<std::string> labels;
  double last = -1e-6;
  for (const Tick& tick : axis.ticks) {
    EXPECT_GT(tick.place, last) << what;
    EXPECT_LT(tick.place, 1 + 1e-6) << what;
    last = tick.place;
    const double expected = (written(axis, tick) - axis.first) / (axis.last - axis.first);
    EXPECT_NEAR(tick.place, expected, kPlaceTolerance) << what << ": " << tick.label.text << tick.label.power;
    EXPECT_TRUE(labels.insert(tick.label.text + "^" + tick.label.power).second) << what;
    EXPECT_LT(tick.label.text.size(), 12U) << what << ": " << tick.label.text;
    for (const double small : axis.minor) EXPECT_GT(std::abs(small - tick.place), 1e-6) << what;
  }
  EXPECT_EQ(axis.factor.text.empty(), axis.unit == 0) << what;
  EXPECT_LE(static_cast<double>(axis.minor.size()), 0.75 * length) << what << ": a comb";
}

const std::vector<double> kLengths = {80, 112, 184, 400};

TEST(FigureAxis, LogTicksOnManyRanges) {
  const double lows[] = {5e-324, 1e-300, 3.7e-200, 9.99e-9, 2.4e-3, 0.1, 0.999, 1, 2, 16, 4.2e4, 1e12, 3e290};
  const double ratios[] = {1,  1 + 1e-15, 1.0002, 1.005, 1.02, 1.3,  2,    3,    7,    12,    40,    64,
                           95, 150,       1e3,    3e4,   1e7,  1e12, 1e17, 1e30, 1e65, 1e140, 1e290, 1e308};
  int ranges = 0;
  for (const double low : lows) {
    for (const double ratio : ratios) {
      const double high = low * ratio;
      if (!std::isfinite(high)) continue;
      for (const double length : kLengths) {
        for (const bool vertical : {false, true}) {
          const Axis axis = make_axis(true, {length, vertical}, {low, high});
          expect_sensible(axis, length,
                          std::to_string(length) + ": " + std::to_string(std::log10(low)) + " to " +
                              std::to_string(std::log10(high)));
          EXPECT_GT(*axis.place(low), 0);
          EXPECT_LT(*axis.place(high), 1);
          ++ranges;
        }
      }
    }
  }
  EXPECT_GT(ranges, 2000);
}

TEST(FigureAxis, LinearTicksOnManyRanges) {
  const double ends[] = {-1.7e308, -4e7, -1, -0.01, -3e-200, 0,   5e-324,    1e-12, 0.0317,
                         0.032,    0.5,  1,  1.01,  99.9,    1e5, 1.00001e5, 3e19,  1.7e308};
  for (const double low : ends) {
    for (const double high : ends) {
      if (low > high) continue;
      for (const double length : kLengths) {
        for (const bool vertical : {false, true}) {
          const Axis axis = make_axis(false, {length, vertical}, {low, high});
          expect_sensible(axis, length, std::to_string(low) + " to " + std::to_string(high));
          EXPECT_GT(*axis.place(low), 0);
          EXPECT_LT(*axis.place(high), 1);
        }
      }
    }
  }
}

std::string labels(const Axis& axis) {
  std::string out;
  for (const Tick& tick : axis.ticks) {
    if (!out.empty()) out += ' ';
    out += tick.label.text;
    if (!tick.label.power.empty()) out += "^" + tick.label.power;
  }
  return out;
}

TEST(FigureAxis, LabelsAreTheUsualOnes) {
  const auto log_labels = [](double low, double high) {
    return labels(make_axis(true, {112, true}, {low, high}));
  };
  EXPECT_EQ(log_labels(0.01, 1000), "10^−2 10^−1 10^0 10^1 10^2 10^3");
  EXPECT_EQ(log_labels(1e-12, 1), "10^−12 10^−10 10^−8 10^−6 10^−4 10^−2 10^0");
  EXPECT_EQ(log_labels(1e-16, 1), "10^−15 10^−12 10^−9 10^−6 10^−3 10^0");
  EXPECT_EQ(log_labels(2, 1e300), "10^0 10^50 10^100 10^150 10^200 10^250 10^300");
  EXPECT_EQ(log_labels(30, 700), "50 100 200 500");
  EXPECT_EQ(labels(make_axis(false, {112, true}, {-1, 1})), "−1.0 −0.5 0.0 0.5 1.0");
  const Axis small = make_axis(false, {112, true}, {0, 4e-8});
  EXPECT_EQ(labels(small), "0 1 2 3 4");
  EXPECT_EQ(small.factor.text + "^" + small.factor.power, "×10^−8");
}

TEST(FigureAxis, FewDecadesHaveSmallTicksAtTheDigits) {
  const Axis axis = make_axis(true, {200, false}, {1, 1000});
  ASSERT_EQ(labels(axis), "10^0 10^1 10^2 10^3");
  const double two = (std::log10(2.0) - axis.first) / (axis.last - axis.first);
  const auto near_two = [&](double place) { return std::abs(place - two) < 1e-9; };
  EXPECT_EQ(std::count_if(axis.minor.begin(), axis.minor.end(), near_two), 1);
}

TEST(FigureAxis, PlacesOnlyWhatHasOne) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Axis log = make_axis(true, {100, true}, {1, 100});
  for (const double value : {0.0, -1.0, infinity, -infinity, std::nan("")})
    EXPECT_FALSE(log.place(value)) << value;
  EXPECT_NEAR(*log.place(10), 0.5, 1e-12);
  EXPECT_EQ(log.clamped_place(0), 0);
  EXPECT_EQ(log.clamped_place(-infinity), 0);
  EXPECT_EQ(log.clamped_place(1e-300), 0);
  EXPECT_EQ(log.clamped_place(infinity), 1);
  EXPECT_EQ(log.clamped_place(1e300), 1);
  const Axis linear = make_axis(false, {100, true}, {-1, 1});
  EXPECT_NEAR(*linear.place(0), 0.5, 1e-12);
  EXPECT_FALSE(linear.place(infinity));
  EXPECT_EQ(linear.clamped_place(-infinity), 0);
}

// An error bar that reaches almost to zero must not squeeze the curves into the top of the panel.
TEST(FigureAxis, BandsStretchALogAxisALittle) {
  const Axis axis = make_axis(true, {100, true}, {1e-2, 1}, {1e-90, 1.5});
  EXPECT_GT(axis.first, -3.5);
  EXPECT_LT(axis.first, -3.0);
  EXPECT_GT(*axis.place(1.5), 0.9);
  EXPECT_LT(*axis.place(1.5), 1);
  const Axis linear = make_axis(false, {100, true}, {1, 2}, {-5, 9});
  EXPECT_GT(*linear.place(-5), 0);
  EXPECT_LT(*linear.place(9), 1);
}

TEST(FigureAxis, WritesDecimals) {
  EXPECT_EQ(decimal(0, 0), "0");
  EXPECT_EQ(decimal(0, 3), "0");
  EXPECT_EQ(decimal(0, -2), "0.00");
  EXPECT_EQ(decimal(25, -3), "0.025");
  EXPECT_EQ(decimal(-25, -3), "−0.025");
  EXPECT_EQ(decimal(-25, -1), "−2.5");
  EXPECT_EQ(decimal(7, 2), "700");
}

}  // namespace
}  // namespace largo::report::axis_test
