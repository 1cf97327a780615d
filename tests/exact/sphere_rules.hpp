// Rules over spheres in which every node is a direction: oracles for averages over queries on a sphere.
#pragma once

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "largo/runtime/matrix.hpp"

namespace largo {

// A rule over the sphere in which every node is a query.
struct DirectRule {
  std::vector<Vector> directions;
  std::vector<double> weights;
};

// Zeros of the Legendre polynomial by Newton's method, on (-1, 1), with weights that sum to 1.
inline std::vector<std::pair<double, double>> gauss_legendre(int n) {
  constexpr double pi = std::numbers::pi;
  std::vector<std::pair<double, double>> rule;
  for (int i = 1; i <= n; ++i) {
    double x = std::cos(pi * (i - 0.25) / (n + 0.5));
    double slope = 0;
    for (int iteration = 0; iteration < 8; ++iteration) {
      double value = 1, before = 0;
      for (int k = 1; k <= n; ++k) {
        const double next = ((2 * k - 1) * x * value - (k - 1) * before) / k;
        before = value;
        value = next;
      }
      slope = n * (x * value - before) / (x * x - 1);
      x -= value / slope;
    }
    rule.emplace_back(x, 1 / ((1 - x * x) * slope * slope));
  }
  return rule;
}

// Gauss-Legendre nodes in the cosine, the trapezoidal rule in the angle.
inline DirectRule two_sphere(int n) {
  constexpr double pi = std::numbers::pi;
  DirectRule rule;
  for (const auto& [cosine, weight] : gauss_legendre(n)) {
    const double sine = std::sqrt(1 - cosine * cosine);
    for (int i = 0; i < 2 * n; ++i) {
      const double angle = pi * (i + 0.5) / n;
      rule.directions.push_back(Eigen::Vector3d(sine * std::cos(angle), sine * std::sin(angle), cosine));
      rule.weights.push_back(weight / (2 * n));
    }
  }
  return rule;
}

// In two planes: the share of the square in one is uniform, and averages over both angles are smooth in it.
inline DirectRule three_sphere(int n) {
  constexpr double pi = std::numbers::pi;
  DirectRule rule;
  for (const auto& [x, weight] : gauss_legendre(n)) {
    const double a = std::sqrt(0.5 * (1 + x)), b = std::sqrt(0.5 * (1 - x));
    for (int i = 0; i < 2 * n; ++i) {
      for (int j = 0; j < n; ++j) {  // -z is the same query
        const double first = pi * i / n, second = pi * j / n;
        rule.directions.push_back(Eigen::Vector4d(a * std::cos(first), a * std::sin(first),
                                                  b * std::cos(second), b * std::sin(second)));
        rule.weights.push_back(weight / (2 * n * n));
      }
    }
  }
  return rule;
}

}  // namespace largo
