#include "training/natural_sizes.hpp"

#include <algorithm>
#include <cmath>

namespace largo {

double norm_of(const Vector& values) {
  const double norm = values.norm();
  return norm > 1e-140 && norm < 1e150 ? norm : values.stableNorm();
}

NaturalSizes::NaturalSizes(const RiskPoint& start) {
  const double way = std::abs(start.value) / norm_of(start.gradient);
  fallback_ = way > 0 && std::isfinite(way) ? way : 1;
}

Vector NaturalSizes::at(const Vector& parameters) const { return at(parameters, 0, 0); }

double NaturalSizes::risk_at(const Vector& parameters) const {
  if (!has_curvature()) return 0;
  const Vector sizes = parameters.cwiseAbs();
  return sizes.cwiseProduct(sizes.cwiseProduct(curvature_)).maxCoeff();  // in the order that cannot overflow
}

Vector NaturalSizes::at(const Vector& parameters, double risk, double largest) const {
  const double most = std::max(parameters.cwiseAbs().maxCoeff(), largest);
  if (most == 0) return Vector::Constant(parameters.size(), fallback_);
  if (!has_curvature()) {
    const double typical = norm_of(parameters) / std::sqrt(static_cast<double>(parameters.size()));
    return Vector::Constant(parameters.size(), typical);
  }
  const double share = std::max(risk_at(parameters), risk);
  if (share == 0) return Vector::Constant(parameters.size(), most);
  return Vector((share / curvature_.array()).sqrt().min(most).max(parameters.array().abs()));
}

}  // namespace largo
