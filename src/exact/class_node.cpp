#include "exact/class_node.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "exact/bulk.hpp"
#include "exact/log_remainder.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/wright_omega.hpp"

namespace largo::exact {
namespace {

constexpr double kRounding = 32;  // of a term of an integrand, in epsilons
// Spreads below have the statistics of zero, to rounding.
constexpr double kSmallestSpread = 1e-9;
constexpr double kNothing = -745;  // e^x is zero below
// A class is left out of the outer variable if another is at most so much wider.
constexpr double kEnoughWidth = 1.5;

}  // namespace

void check_classes(std::string_view function, std::span<const TokenClass> classes) {
  if (classes.empty()) fail(function, "there is no class, and so no token");
  if (classes.size() > kMostClasses)
    fail(function, "number of classes", static_cast<double>(classes.size()), "at most 64");
  for (const TokenClass& one : classes) {
    if (!(one.count >= 1 && one.count <= kLargestL))
      fail(function, "count", one.count, "between 1 and 1e300");
    if (!(std::abs(one.shift) <= kLargestShift)) fail(function, "shift", one.shift, "between -1e6 and 1e6");
    if (!(one.spread >= 0 && one.spread <= kLargestScoreSpread))
      fail(function, "spread", one.spread, "between 0 and 1e6");
  }
}

ClassIntegrals::ClassIntegrals(const TokenClass& given, int powers)
    : class_(given), powers_(powers), log_count_(std::log(given.count)) {
  if (given.spread < kSmallestSpread) return;
  std::vector<Block> blocks;
  for (int k = 1; k <= powers; ++k) blocks.push_back({k, 0, 0});
  sums_.emplace(given.spread, given.count, std::move(blocks));
}

void ClassIntegrals::at(double y, double depth) {
  const double here = y + class_.shift;
  if (sums_) {
    sums_->at(here, depth, values_);
    log_power = class_.count * values_.log_phi;
    exponents = values_.exponents;
    return;
  }
  log_power = -std::exp(here + log_count_);
  values_.log_phi = -std::exp(here);
  exponents = powers_ * std::abs(here) + log_count_;
  values_.R.resize(static_cast<std::size_t>(powers_));
  for (int k = 1; k <= powers_ && log_power > kNothing; ++k) {
    values_.R[static_cast<std::size_t>(k - 1)] = std::exp(k * here + log_count_);
  }
}

double ClassIntegrals::remainder(double y) const {
  return std::exp(log_count_ - values_.log_phi) * mean_log_remainder(y + class_.shift, spread());
}

ClassVariable::ClassVariable(std::span<const TokenClass> classes) {
  std::vector<Place> all;
  for (const TokenClass& one : classes) {
    const Bulk bulk(one.spread, one.count);
    all.push_back({bulk.middle - one.shift, bulk.width});
  }
  std::sort(all.begin(), all.end(), [](const Place& a, const Place& b) { return a.middle < b.middle; });
  for (const Place& one : all) {
    const auto enough = [&](const Place& other) { return other.width <= kEnoughWidth * one.width; };
    if (std::none_of(bulks_.begin(), bulks_.end(), enough)) bulks_.push_back(one);
  }
  first_ = all.front();
  y_ = first_.middle;
  origin_ = at(y_).v;
}

// With several classes by Newton's method, from the last point: v is increasing and convex in y, so from the
// second step on it comes down to the solution.
ClassVariable::Point ClassVariable::operator()(double v) {
  if (bulks_.size() == 1)
    return {first_.middle + first_.width * (v - std::expm1(-v)), first_.width * (1 + std::exp(-v))};
  constexpr int kMostSteps = 100;
  for (int i = 0; i < kMostSteps; ++i) {
    const Value here = at(y_);
    const double change = (v + origin_ - here.v) / here.slope;
    y_ += change;
    if (std::abs(change) <= 4e-16 * (1 + std::abs(y_))) return {y_, 1 / here.slope};
  }
  return {y_, 1 / at(y_).slope};
}

ClassVariable::Value ClassVariable::at(double y) const {
  Value sum{0, 0};
  for (const Place& bulk : bulks_) {
    const double zeta = (y - bulk.middle) / bulk.width;
    const double q = numerics::wright_omega(1 - zeta);
    sum.v += zeta - 1 + q;
    sum.slope += 1 / ((1 + q) * bulk.width);
  }
  return sum;
}

ClassNode::ClassNode(std::span<const TokenClass> given, int powers) : variable(given) {
  for (const TokenClass& one : given) classes.emplace_back(one, powers);
}

bool ClassNode::at(double v, double depth, LineValues& to) {
  const auto [y_here, slope_here] = variable(v);
  y = y_here;
  slope = slope_here;
  log_phi = 0;
  double exponents = 0;
  for (ClassIntegrals& one : classes) {
    one.at(y, depth);
    log_phi += one.log_power;
    exponents = std::max(exponents, one.exponents);
  }
  if (std::isnan(log_phi)) {
    fail("token classes",
         "a class of this spread is too far from the others: its integrals leave the range of doubles");
  }
  if (log_phi <= kNothing) {
    weight = 0;
    to.uncertainty = kRounding;
    return false;
  }
  weight = std::exp(log_phi) * slope;
  to.uncertainty = (1 - log_phi) * (kRounding + 6 * exponents);
  return true;
}

}  // namespace largo::exact
