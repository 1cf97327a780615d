// One node of the integrals over y = ln t for prompts whose tokens are of several classes (class_moments.cpp
// has the formulas): Φ = ∏_c φ_c^{n_c}, and R_c(k) of each class.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "exact/line_rule.hpp"
#include "exact/score_integrals.hpp"
#include "largo/exact/token_classes.hpp"

namespace largo::exact {

/// The first step of a LineRule in ClassVariable, and how often it may be halved.
inline constexpr double kClassStep = 0.3;
inline constexpr int kClassHalvings = 7;
/// The largest k of R(k), unless more are asked for.
inline constexpr int kClassPowers = 4;

/// InputError for classes that are not within the domain of class_moments().
void check_classes(std::string_view function, std::span<const TokenClass> classes);

/// The tokens of one class under the integral.
class ClassIntegrals {
 public:
  explicit ClassIntegrals(const TokenClass& given, int powers = kClassPowers);

  /// Sets log_power, and R(k) where that is not -∞.
  void at(double y, double depth);

  double R(int k) const { return values_.R[static_cast<std::size_t>(k - 1)]; }
  double count() const { return class_.count; }
  double shift() const { return class_.shift; }
  double spread() const { return sums_ ? class_.spread : 0; }  ///< zero if it does not matter
  double log_phi() const { return values_.log_phi; }
  /// n E[h(e^x)]/φ, h as in log_remainder.hpp, at the y of the last call.
  double remainder(double y) const;

  double log_power = 0;  ///< log φ^n
  double exponents = 0;  ///< size of the exponents, whose rounding is a relative error

 private:
  TokenClass class_;
  int powers_;
  double log_count_;
  std::optional<ScoreIntegrals> sums_;
  ScoreIntegrals::Values values_;
};

/// The outer variable v = Σ_c z_c(y), where z_c is that of the class alone: y = middle + width (z + 1 -
/// e^-z). A class lets nodes be apart by its width or, to the left of its middle, by that and the distance
/// from there. Classes that ask for no more than another are left out.
class ClassVariable {
 public:
  explicit ClassVariable(std::span<const TokenClass> classes);

  /// Where the largest scores put the integrands, and how wide they are there.
  double middle() const { return first_.middle; }
  double width() const { return first_.width; }

  struct Point {
    double y, slope;
  };
  Point operator()(double v);

 private:
  struct Place {
    double middle, width;
  };
  struct Value {
    double v, slope;
  };
  Value at(double y) const;

  std::vector<Place> bulks_;
  Place first_{};
  double origin_ = 0, y_ = 0;
};

class ClassNode {
 public:
  explicit ClassNode(std::span<const TokenClass> classes, int powers = kClassPowers);

  /// Sets all below, and the uncertainty of `to`. Returns false where Φ is zero.
  bool at(double v, double depth, LineValues& to);

  ClassVariable variable;
  std::vector<ClassIntegrals> classes;
  double y = 0, slope = 0, log_phi = 0;
  double weight = 0;  ///< Φ times the slope
};

}  // namespace largo::exact
