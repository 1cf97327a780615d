#include "report/figure_axis.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <numbers>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "numerics/portable_math.hpp"
#include "report/figure_svg.hpp"

namespace largo::svg {
namespace {

constexpr double kRoom = 4;         // points between the outermost values and the ends of the axis
constexpr double kSame = 1e-4;      // relative: values this near are shown as one
constexpr double kZero = 1e-300;    // a linear axis does not show what is below
constexpr double kRounding = 1e-9;  // of log10, against 1000 = 10^2.9999999999999996
constexpr double kLabelGap = 7;     // between labels beside each other
constexpr double kLabelStep = 15;   // between labels one above another
constexpr double kMostLabels = 9;
constexpr double kDivided = 11;               // a decade this long has small ticks at 2 … 9
constexpr double kMinorGap = 3.5;             // between small ticks
constexpr int kPlainFrom = -3, kPlainTo = 4;  // exponents of numbers that are written without a factor

double log10_of(double value) { return portable_log(value) * std::numbers::log10e; }

// The double nearest to 10^exponent, the same on every machine; |exponent| <= 308.
double power_of_ten(int exponent) {
  const std::string text = fmt::format("1e{}", exponent);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

int floor_exponent(double log10_value) { return static_cast<int>(std::floor(log10_value + kRounding)); }

std::string integer(int n) { return decimal(n, 0); }

double coordinate(const Axis& axis, double value) {
  return axis.scale == Scale::log ? log10_of(value) : value / power_of_ten(axis.unit);
}

double place_of(const Axis& axis, double at) { return (at - axis.first) / (axis.last - axis.first); }

// The tick at n 10^exponent, where exponent counts in the axis's factor as labels do.
Tick tick_at(const Axis& axis, long long n, int exponent) {
  const double at = axis.scale == Scale::log ? log10_of(static_cast<double>(n)) + exponent + axis.unit
                    : exponent < 0           ? static_cast<double>(n) / power_of_ten(-exponent)
                                             : static_cast<double>(n) * power_of_ten(exponent);
  return {place_of(axis, at), {decimal(n, exponent), {}}};
}

bool on_axis(const Tick& tick) { return tick.place >= -kRounding && tick.place <= 1 + kRounding; }

bool labels_fit(const std::vector<Tick>& ticks, Direction direction, double length) {
  for (std::size_t i = 1; i < ticks.size(); ++i) {
    const double needed = direction == Direction::vertical
                              ? kLabelStep
                              : (ticks[i - 1].label.width() + ticks[i].label.width()) / 2 + kLabelGap;
    if ((ticks[i].place - ticks[i - 1].place) * length < std::max(needed, length / kMostLabels)) return false;
  }
  return true;
}

std::vector<Tick> decade_ticks(const Axis& axis, int step) {
  std::vector<Tick> ticks;
  const int begin = static_cast<int>(std::ceil(axis.first / step - kRounding)) * step;
  for (int decade = begin; decade <= axis.last + kRounding; decade += step) {
    ticks.push_back({place_of(axis, decade), {"10", integer(decade)}});
  }
  return ticks;
}

// Small ticks at 2 … 9 times the powers of ten, or at decades, whichever has room between them.
void add_log_minor(Axis& axis, int step, double length) {
  const double decade = length / (axis.last - axis.first);
  const auto add = [&](double at) {
    const double place = place_of(axis, at);
    const bool labelled = std::any_of(axis.ticks.begin(), axis.ticks.end(), [&](const Tick& tick) {
      return std::abs(tick.place - place) < kRounding;
    });
    if (place >= 0 && place <= 1 && !labelled) axis.minor.push_back(place);
  };
  if (step == 1 && decade >= kDivided) {
    for (int k = floor_exponent(axis.first); k <= axis.last; ++k) {
      for (int n = 2; n <= 9; ++n) add(k + log10_of(n));
    }
    return;
  }
  for (const int small : {1, 2, 5, 10, 20, 50, 100}) {
    if (small >= step || step % small != 0 || decade * small < kMinorGap) continue;
    for (int k = floor_exponent(axis.first / small) * small; k <= axis.last; k += small) {
      add(k);
    }
    return;
  }
}

bool set_decade_ticks(Axis& axis, Direction direction, double length) {
  std::vector<Tick> finer;
  int finer_step = 0;
  for (const int step : {1, 2, 3, 5, 10, 20, 50, 100, 200}) {
    std::vector<Tick> ticks = decade_ticks(axis, step);
    if (ticks.size() < 2) break;
    finer = std::move(ticks);
    finer_step = step;
    if (labels_fit(finer, direction, length)) break;
  }
  if (finer.empty()) return false;
  axis.ticks = std::move(finer);
  add_log_minor(axis, finer_step, length);
  return true;
}

// These digits times powers of ten, on a logarithmic axis of about a decade.
bool set_digit_ticks(Axis& axis, Direction direction, double length, std::initializer_list<int> digits,
                     std::size_t least = 3) {
  std::vector<Tick> ticks;
  for (int k = floor_exponent(axis.first); k <= axis.last; ++k) {
    for (const int n : digits) {
      const Tick tick = tick_at(axis, n, k - axis.unit);
      if (on_axis(tick)) ticks.push_back(tick);
    }
  }
  if (ticks.size() < least || !labels_fit(ticks, direction, length)) return false;
  axis.ticks = std::move(ticks);
  add_log_minor(axis, 1, length);
  return true;
}

// The finest steps of 1, 2 or 5 times a power of ten whose labels fit, between two labelled values.
void set_even_ticks(Axis& axis, Direction direction, double length, double from, double to) {
  for (int exponent = floor_exponent(log10_of(to - from)) - 2;; ++exponent) {
    for (const int n : {1, 2, 5}) {
      const double step = n * power_of_ten(exponent);
      std::vector<Tick> ticks;
      const auto begin = static_cast<long long>(std::ceil(from / step - kRounding));
      const auto end = static_cast<long long>(std::floor(to / step + kRounding));
      for (long long i = begin; i <= end; ++i) {
        const Tick tick = tick_at(axis, i * n, exponent);
        if (on_axis(tick)) ticks.push_back(tick);
      }
      const bool fit = labels_fit(ticks, direction, length);
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
    const double first = axis.first, last = axis.last;
    axis.first = std::clamp(log10_of(bands.lowest), first - stretch, first);
    axis.last = std::clamp(log10_of(bands.highest), last, last + stretch);
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
    axis.last = 1;
    return;
  }
  const int exponent = floor_exponent(log10_of(greatest));
  axis.unit = exponent < kPlainFrom || exponent > kPlainTo ? exponent : 0;
  axis.first = coordinate(axis, values.lowest);
  axis.last = coordinate(axis, values.highest);
  if (axis.last - axis.first < kSame * greatest / power_of_ten(axis.unit)) {
    const double around = std::max(std::abs(axis.first), std::abs(axis.last)) / 2;
    axis.first -= around;
    axis.last += around;
  }
}

void set_ticks(Axis& axis, Direction direction, double length) {
  if (axis.scale == Scale::linear) {
    set_even_ticks(axis, direction, length, axis.first, axis.last);
    return;
  }
  if (set_decade_ticks(axis, direction, length)) return;
  // Less than two decades. Plain numbers if they are short, else a factor.
  const int exponent = floor_exponent(axis.first);
  for (const int unit : {0, exponent}) {
    if (unit == 0 && (exponent < kPlainFrom || exponent > kPlainTo)) continue;
    axis.unit = unit;
    if (set_digit_ticks(axis, direction, length, {1, 2, 5})) return;
    if (set_digit_ticks(axis, direction, length, {1, 3})) return;
    // The powers are within what doubles hold once the factor is taken out.
    const auto labelled = [&](double at) { return portable_exp((at - unit) * std::numbers::ln10); };
    set_even_ticks(axis, direction, length, labelled(axis.first), labelled(axis.last));
    if (axis.ticks.size() > 1) return;
    if (set_digit_ticks(axis, direction, length, {1, 3}, 2)) return;
  }
}

}  // namespace

void Extent::include(double value) {
  lowest = std::min(lowest, value);
  highest = std::max(highest, value);
}

double TickLabel::width() const {
  return text_width(text, kTickSize) + text_width(power, kPowerSize * kTickSize);
}

std::optional<double> Axis::place(double value) const {
  if (!std::isfinite(value) || (scale == Scale::log && value <= 0)) return std::nullopt;
  return place_of(*this, coordinate(*this, value));
}

double Axis::clamped_place(double value) const {
  if (const auto found = place(value)) return std::clamp(*found, 0.0, 1.0);
  return value > 0 ? 1 : 0;
}

Axis make_axis(Scale scale, Direction direction, double length, const Extent& values, const Extent& bands) {
  Axis axis;
  axis.scale = scale;
  const Extent shown = values.empty() ? Extent{1, 10} : values;
  if (scale == Scale::log) {
    set_log_range(axis, shown, bands);
  } else {
    set_linear_range(axis, shown, bands);
  }
  const double room = (axis.last - axis.first) * kRoom / (length - 2 * kRoom);
  axis.first -= room;
  axis.last += room;
  set_ticks(axis, direction, length);
  if (axis.unit != 0) axis.factor = {"×10", integer(axis.unit)};
  return axis;
}

std::string decimal(long long n, int exponent) {
  const char* const sign = n < 0 ? "−" : "";
  if (exponent >= 0) return fmt::format("{}{}{:0<{}}", sign, std::abs(n), "", n == 0 ? 0 : exponent);
  const auto decimals = static_cast<std::size_t>(-exponent);
  const std::string digits = fmt::format("{:0{}}", std::abs(n), decimals + 1);
  const std::string_view all = digits, whole = all.substr(0, all.size() - decimals);
  return fmt::format("{}{}.{}", sign, whole, all.substr(whole.size()));
}

}  // namespace largo::svg
