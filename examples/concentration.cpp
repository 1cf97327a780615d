// How long must a prompt be while a layer is trained? The largest error along a path of parameters.
#include <cstdio>
#include <memory>
#include <vector>

#include "largo/concentration/error_path.hpp"
#include "largo/measures/gaussian.hpp"

int main() {
  const int d = 4;
  const auto gaussian = std::make_shared<largo::GaussianMeasure>(largo::GaussianMeasure::standard(d));
  const largo::Matrix identity = largo::Matrix::Identity(d, d);

  // The scores overshoot before they settle, while the values grow.
  std::vector<largo::PathPoint> path;
  for (int t = 0; t <= 10; ++t) {
    const double x = 0.1 * t;
    path.push_back({(0.1 + 0.7 * x + 2.4 * x * x * (1 - x)) * identity, (0.1 + 0.9 * x) * identity});
  }

  std::printf("%8s  %12s  %12s  %12s\n", "L", "output", "gradient V", "gradient U");
  for (const double L : {1e2, 1e4, 1e6, 1e8}) {
    const largo::PathErrors errors =
        largo::errors_along_path(gaussian, gaussian, path, L, largo::ErrorMethod::exact);
    std::printf("%8g  %12.4e  %12.4e  %12.4e   largest at t = %zu, %zu, %zu\n", L, errors.output.error.value,
                errors.gradient_V.error.value, errors.gradient_U->error.value, errors.output.at,
                errors.gradient_V.at, errors.gradient_U->at);
  }
}
