#include "largo/training/parameter_map.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "largo/runtime/check.hpp"
#include "training/risks.hpp"

namespace largo::parameter_map_test {
namespace {

// Maps polar coordinates to Cartesian ones.
class PolarMap final : public ParameterMap {
 public:
  Eigen::Index size() const override { return 2; }
  Eigen::Index mapped_size() const override { return 2; }
  Vector map(const ConstVectorRef& x) const override {
    return Vector{{x[0] * std::cos(x[1]), x[0] * std::sin(x[1])}};
  }
  Vector pull_back(const ConstVectorRef& x, const ConstVectorRef& g) const override {
    const double c = std::cos(x[1]), s = std::sin(x[1]);
    return Vector{{c * g[0] + s * g[1], x[0] * (c * g[1] - s * g[0])}};
  }
};

class Batches final : public StochasticRisk {
 public:
  Eigen::Index size() const override { return 2; }
  RiskPoint batch(const ConstVectorRef& parameters, std::int64_t step) const override {
    RiskPoint point = test::product_risk().at(parameters);
    point.value += static_cast<double>(step);
    return point;
  }
};

// ½ (xy - 1)² = ½ (r² sin(2φ)/2 - 1)².
TEST(InParameters, RiskAndGradient) {
  const auto risk =
      in_parameters(std::make_shared<test::FunctionRisk>(test::product_risk()), std::make_shared<PolarMap>());
  EXPECT_EQ(risk->size(), 2);
  const double r = 1.7, angle = 0.4;
  const RiskPoint point = risk->at(Vector{{r, angle}});
  const double miss = r * r * std::sin(2 * angle) / 2 - 1;
  EXPECT_NEAR(point.value, miss * miss / 2, 1e-15);
  EXPECT_NEAR(point.gradient[0], miss * r * std::sin(2 * angle), 1e-15);
  EXPECT_NEAR(point.gradient[1], miss * r * r * std::cos(2 * angle), 1e-15);
}

TEST(InParameters, Batches) {
  const auto risk = in_parameters(std::make_shared<Batches>(), std::make_shared<PolarMap>());
  const double r = 1.7, angle = 0.4, miss = r * r * std::sin(2 * angle) / 2 - 1;
  const RiskPoint point = risk->batch(Vector{{r, angle}}, 5);
  EXPECT_NEAR(point.value, 5 + miss * miss / 2, 1e-14);
  EXPECT_NEAR(point.gradient[0], miss * r * std::sin(2 * angle), 1e-15);
}

TEST(InParameters, SizesMustMatch) {
  EXPECT_THROW(in_parameters(std::make_shared<test::FunctionRisk>(test::quartic_risk(3, 1)),
                             std::make_shared<PolarMap>()),
               InputError);
}

}  // namespace
}  // namespace largo::parameter_map_test
