#include "report/axis.hpp"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "numerics/portable_math.hpp"
#include "report/svg_text.hpp"

namespace largo::report {
namespace {

constexpr double kRoom = 4;         // points between the outermost values and the ends of the axis
constexpr double kSame = 1e-4;      // relative: values closer than this are shown as one
constexpr double kZero = 1e-300;    // a linear axis takes smaller values for zero
constexpr double kRounding = 1e-9;  // of log10, since 1000 may be 10^2.9999999999999996
constexpr double kLabelGap = 7;     // between labels side by side
constexpr double kLabelStep = 15;   // between labels one above another
constexpr double kMostLabels = 9;
constexpr double kDivided = 11;               // a decade at least this long has small ticks at 2 … 9
constexpr double kMinorGap = 3.5;             // between small ticks at decades
constexpr int kPlainFrom = -3, kPlainTo = 4;  // exponents of numbers written without a factor

using Ticks = std::vector<Tick>;

double log10_of(double value) { return numerics::portable_log(value) * std::numbers::log10e; }

// The double nearest to 10^exponent, the same on every machine; |exponent| <= 308.
double power_of_ten(int exponent) {
  const std::string text = fmt::format("1e{}", exponent);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

int floor_exponent(double log10_value) { return static_cast<int>(std::floor(log10_value + kRounding)); }

bool is_plain(int exponent) { return exponent >= kPlainFrom && exponent <= kPlainTo; }

double coordinate(const Axis& axis, double value) {
  return axis.log ? log10_of(value) : value / power_of_ten(axis.unit);
}

double place_of(const Axis& axis, double at) { return (at - axis.first) / (axis.last - axis.first); }

// Adds the tick at n 10^exponent, where the exponent is relative to the axis's factor, as in the labels.
void add_tick(Ticks& ticks, const Axis& axis, long long n, int exponent) {
  const double at = axis.log       ? log10_of(static_cast<double>(n)) + exponent + axis.unit
                    : exponent < 0 ? static_cast<double>(n) / power_of_ten(-exponent)
                                   : static_cast<double>(n) * power_of_ten(exponent);
  const double place = place_of(axis, at);
  if (place >= -kRounding && place <= 1 + kRounding) ticks.push_back({place, {decimal(n, exponent), {}}});
}

bool labels_fit(const Ticks& ticks, const AxisRoom& room) {
  const auto width = [](const Tick& tick) {
    return text_width(tick.label.text, tick.label.power, kTickSize);
  };
  for (std::size_t i = 1; i < ticks.size(); ++i) {
    const double needed =
        room.vertical ? kLabelStep : (width(ticks[i - 1]) + width(ticks[i])) / 2 + kLabelGap;
    const double distance = (ticks[i].place - ticks[i - 1].place) * room.length;
    if (distance < std::max(needed, room.length / kMostLabels)) return false;
  }
  return true;
}

// Small ticks at 2 … 9 times the powers of ten, or at decades between labelled ones.
void add_minor(Axis& axis, int step, const AxisRoom& room) {
  const double decade = room.length / (axis.last - axis.first);
  if (decade < (step == 1 ? kDivided : kMinorGap)) return;
  for (int k = floor_exponent(axis.first); k <= axis.last; ++k) {
    for (int n = step == 1 ? 2 : 1; n <= (step == 1 ? 9 : 1); ++n) {
      const double place = place_of(axis, k + log10_of(n));
      const bool labelled = std::any_of(axis.ticks.begin(), axis.ticks.end(), [&](const Tick& tick) {
        return std::abs(tick.place - place) < kRounding;
      });
      if (place >= 0 && place <= 1 && !labelled) axis.minor.push_back(place);
    }
  }
}

bool set_decade_ticks(Axis& axis, const AxisRoom& room) {
  int chosen = 0;
  for (const int step : {1, 2, 3, 5, 10, 20, 50, 100, 200}) {
    Ticks ticks;
    const int begin = static_cast<int>(std::ceil(axis.first / step - kRounding)) * step;
    for (int decade = begin; decade <= axis.last + kRounding; decade += step) {
      ticks.push_back({place_of(axis, decade), {"10", decimal(decade, 0)}});
    }
    if (ticks.size() < 2) break;
    axis.ticks = std::move(ticks);
    chosen = step;
    if (labels_fit(axis.ticks, room)) break;
  }
  if (chosen > 0) add_minor(axis, chosen, room);
  return chosen > 0;
}

// Sets ticks at these digits times powers of ten, on a logarithmic axis of about a decade.
bool set_digit_ticks(Axis& axis, const AxisRoom& room, std::initializer_list<int> digits, std::size_t least) {
  Ticks ticks;
  for (int k = floor_exponent(axis.first); k <= axis.last; ++k) {
    for (const int n : digits) add_tick(ticks, axis, n, k - axis.unit);
  }
  if (ticks.size() < least || !labels_fit(ticks, room)) return false;
  axis.ticks = std::move(ticks);
  add_minor(axis, 1, room);
  return true;
}

// Sets ticks from `from` to `to`, as labelled, in the finest steps of 1, 2 or 5 times 10^k that fit.
void set_even_ticks(Axis& axis, const AxisRoom& room, double from, double to) {
  for (int exponent = floor_exponent(log10_of(to - from)) - 2;; ++exponent) {
    for (const int n : {1, 2, 5}) {
      const double step = n * power_of_ten(exponent);
      Ticks ticks;
      const auto end = static_cast<long long>(std::floor(to / step + kRounding));
      for (auto i = static_cast<long long>(std::ceil(from / step - kRounding)); i <= end; ++i) {
        add_tick(ticks, axis, i * n, exponent);
      }
      const bool fit = labels_fit(ticks, room);
      if (!ticks.empty()) axis.ticks = std::move(ticks);
      if (fit || step > to - from) return;
    }
  }
}

void set_log_range(Axis& axis, const Extent& values, const Extent& bands) {
  axis.first = log10_of(values.lowest);
  axis.last = log10_of(values.highest);
  const double stretch = std::max(1.0, (axis.last - axis.first) / 4);
  if (!bands.empty()) {
    axis.first = std::clamp(log10_of(bands.lowest), axis.first - stretch, axis.first);
    axis.last = std::clamp(log10_of(bands.highest), axis.last, axis.last + stretch);
  }
  if (axis.last - axis.first < kSame * std::numbers::log10e) {
    axis.first -= 0.5;
    axis.last += 0.5;
  }
}

void set_linear_range(Axis& axis, Extent values, const Extent& bands) {
  if (!bands.empty()) {
    values.include(bands.lowest);
    values.include(bands.highest);
  }
  const double greatest = std::max(std::abs(values.lowest), std::abs(values.highest));
  if (greatest < kZero) {
    axis.first = -1;
    return;
  }
  const int exponent = floor_exponent(log10_of(greatest));
  axis.unit = is_plain(exponent) ? 0 : exponent;
  axis.first = coordinate(axis, values.lowest);
  axis.last = coordinate(axis, values.highest);
  if (axis.last - axis.first < kSame * greatest / power_of_ten(axis.unit)) {
    const double around = std::max(std::abs(axis.first), std::abs(axis.last)) / 2;
    axis.first -= around;
    axis.last += around;
  }
}

void set_ticks(Axis& axis, const AxisRoom& room) {
  if (!axis.log) return set_even_ticks(axis, room, axis.first, axis.last);
  if (set_decade_ticks(axis, room)) return;
  // There are less than two decades: use plain numbers if they are short, otherwise a factor.
  const int exponent = floor_exponent(axis.first);
  for (const int unit : {0, exponent}) {
    if (unit == 0 && !is_plain(exponent)) continue;
    axis.unit = unit;
    if (set_digit_ticks(axis, room, {1, 2, 5}, 3) || set_digit_ticks(axis, room, {1, 3}, 3)) return;
    // Without the factor, the powers are in the range of doubles.
    const auto labelled = [&](double at) { return numerics::portable_exp((at - unit) * std::numbers::ln10); };
    set_even_ticks(axis, room, labelled(axis.first), labelled(axis.last));
    if (axis.ticks.size() > 1 || set_digit_ticks(axis, room, {1, 3}, 2)) return;
  }
}

}  // namespace

std::optional<double> Axis::place(double value) const {
  if (!std::isfinite(value) || (log && value <= 0)) return std::nullopt;
  return place_of(*this, coordinate(*this, value));
}

double Axis::clamped_place(double value) const {
  if (const auto found = place(value)) return std::clamp(*found, 0.0, 1.0);
  return value > 0 ? 1 : 0;
}

Axis make_axis(bool log, const AxisRoom& room, const Extent& values, const Extent& bands) {
  Axis axis;
  axis.log = log;
  const Extent shown = values.empty() ? Extent{1, 10} : values;
  log ? set_log_range(axis, shown, bands) : set_linear_range(axis, shown, bands);
  const double beside = (axis.last - axis.first) * kRoom / (room.length - 2 * kRoom);
  axis.first -= beside;
  axis.last += beside;
  set_ticks(axis, room);
  if (axis.unit != 0) axis.factor = {"×10", decimal(axis.unit, 0)};
  return axis;
}

std::string decimal(long long n, int exponent) {
  const char* const sign = n < 0 ? "−" : "";
  if (exponent >= 0) return fmt::format("{}{}{:0<{}}", sign, std::abs(n), "", n == 0 ? 0 : exponent);
  const auto decimals = static_cast<std::size_t>(-exponent);
  const std::string digits = fmt::format("{:0{}}", std::abs(n), decimals + 1);
  const std::size_t whole = digits.size() - decimals;
  return fmt::format("{}{}.{}", sign, digits.substr(0, whole), digits.substr(whole));
}

}  // namespace largo::report
