// In-context regression with covariates that are not Gaussian: gradient flow on prompts of L tokens
// approaches that on the law itself, the infinite prompt, as L grows. The tasks, the queries and the first
// tokens are the same at every length; error bars are over sets of draws.
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>
#include <vector>

#include "largo/icl/law_regression.hpp"
#include "largo/icl/prompt_risk.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "largo/training/gradient_flow.hpp"

namespace {

using largo::Matrix;
using largo::Vector;

constexpr Eigen::Index kDimension = 2;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kDraws = 100;
constexpr std::uint64_t kSeeds = 4;
constexpr double kHorizon = 6;  // where the risk of the infinite prompt is near its limit

// Trains in (A, b), from A = α I/√d and b = α.
largo::FlowResult train(const largo::PromptTaskPtr& task, double length, std::uint64_t seed) {
  const largo::PromptSetting setting{task, largo::squared_loss(), length, largo::AttentionKind::softmax, 1,
                                     seed};
  const auto risk = in_parameters(std::make_shared<const largo::PromptRisk>(setting, kDraws),
                                  largo::invariant_map(kDimension));
  const double alpha = 0.8;
  Vector start(risk->size());
  start << Matrix(alpha / std::sqrt(kDimension) * Matrix::Identity(kDimension, kDimension)).reshaped(), alpha;
  largo::FlowPlan plan;
  plan.end = kHorizon;
  plan.method = largo::FlowMethod::krylov;
  plan.relative_tolerance = 1e-5;  // far below the differences sought
  plan.absolute_tolerance = 1e-6;
  return gradient_flow(*risk, start, plan);
}

struct Average {
  double mean = 0, error = 0;
  explicit Average(const std::vector<double>& values) {
    const auto n = static_cast<double>(values.size());
    for (const double x : values) mean += x / n;
    for (const double x : values) error += (x - mean) * (x - mean) / (n - 1) / n;
    error = std::sqrt(error);
  }
};

void compare(const char* name, const largo::MeasurePtr& law) {
  const auto task = std::make_shared<largo::LawRegression>(largo::RegressionLaws{law});
  std::vector<largo::FlowResult> limit;
  std::vector<double> limit_risk;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    limit.push_back(train(task, kInfinity, seed));
    limit_risk.push_back(limit.back().last.value);
  }
  std::printf("%s\n%8s %20s %26s\n", name, "L", "largest distance", "risk beyond the limit's");
  for (const double length : {10.0, 30.0, 100.0, 300.0, 1000.0}) {
    std::vector<double> distance, excess;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const largo::FlowResult finite = train(task, length, seed);
      const largo::FlowResult& infinite = limit[seed - 1];
      distance.push_back(largest_distance(finite.trajectory, infinite.trajectory, kHorizon).value);
      excess.push_back(finite.last.value - infinite.last.value);
    }
    const Average d(distance), e(excess);
    std::printf("%8g %11.4f ± %.4f %17.4f ± %.4f\n", length, d.mean, d.error, e.mean, e.error);
  }
  const Average r(limit_risk);
  std::printf("%8s   trained risk %.4f ± %.4f, of %g for predicting zero\n\n", "inf", r.mean, r.error,
              kDimension / 2.0);
}

}  // namespace

int main() {
  // Each coordinate has variance 1.
  compare("Rademacher", std::make_shared<largo::ProductMeasure>(kDimension, largo::rademacher()));
  compare("uniform",
          std::make_shared<largo::ProductMeasure>(kDimension, largo::uniform(std::numbers::sqrt3)));
  compare("sphere", std::make_shared<largo::SphereMeasure>(kDimension, std::sqrt(kDimension)));
}
