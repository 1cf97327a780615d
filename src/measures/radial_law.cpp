#include <algorithm>
#include <cmath>
#include <utility>

#include <boost/math/quadrature/gauss.hpp>

#include "largo/measures/radial_law.hpp"
#include "largo/runtime/check.hpp"
#include "measures/sampling.hpp"
#include "measures/score_law_nodes.hpp"

namespace largo {
namespace {

// Beyond 80 e-folds below the top the integrand contributes nothing; four panels of 20 e-folds with 30 nodes
// each integrate an exponential to rounding error.
constexpr double kFolds = 80;
constexpr int kPanels = 4;
constexpr int kNodesPerPanel = 30;

// Panels of tail_nodes: 20 nodes integrate 20 e-folds to 1e-16 of the largest value.
constexpr int kNodesPerTailPanel = 20;
constexpr double kFoldsPerPanel = 20;
// Below this variance of the score, whatever is computed from it is a power series in the variance to 1e-12.
constexpr double kSmoothVariance = 0.1;
constexpr double kTailError = 2e-13;  // the largest seen, against nodes four times as dense, is 4e-14

}  // namespace

RadialLaw RadialLaw::discrete(Vector values, const Vector& weights) {
  check_size("RadialLaw", "weights", weights.size(), values.size());
  check_weights("RadialLaw", "weights", weights);
  for (std::ptrdiff_t k = 0; k < values.size(); ++k) check_nonnegative("RadialLaw", "a value", values[k]);
  if (!(values.maxCoeff() > 0)) fail("RadialLaw", "largest value", values.maxCoeff(), "positive");
  RadialLaw law;
  law.values_ = std::move(values);
  law.weights_ = weights / weights.sum();
  law.cumulative_ = measures::cumulative_sum(law.weights_);
  return law;
}

RadialLaw RadialLaw::uniform(double low, double high) {
  check_nonnegative("RadialLaw", "low", low);
  check_finite("RadialLaw", "high", high);
  if (!(high > low)) fail("RadialLaw", "high", high, "above low");
  RadialLaw law;
  law.values_ = Vector{{low, high}};
  return law;
}

RadialLaw::Nodes RadialLaw::nodes(double slope) const {
  if (weights_.size() > 0) return {values_, weights_, 0};
  using Rule = boost::math::quadrature::gauss<double, kNodesPerPanel>;
  const double high = values_[1];
  const double width = high - values_[0];
  const double window = slope * width > kFolds ? kFolds / slope : width;
  const double half_panel = window / kPanels / 2;
  Nodes nodes{Vector(kPanels * kNodesPerPanel), Vector(kPanels * kNodesPerPanel), 0};
  std::ptrdiff_t at = 0;
  for (int panel = 0; panel < kPanels; ++panel) {
    const double centre = high - (2 * panel + 1) * half_panel;
    for (std::size_t i = 0; i < Rule::abscissa().size(); ++i) {  // the positive half of a symmetric rule
      for (const double sign : {-1.0, 1.0}) {
        nodes.values[at] = centre + sign * half_panel * Rule::abscissa()[i];
        nodes.weights[at++] = half_panel * Rule::weights()[i] / width;
      }
    }
  }
  return nodes;
}

RadialLaw::Nodes RadialLaw::tail_nodes(double s) const {
  if (weights_.size() > 0) return {values_, weights_, 0};
  using Rule = boost::math::quadrature::gauss<double, kNodesPerTailPanel>;
  const double low = values_[0];
  const double high = values_[1];
  // Panels double in length away from the top, where the tails pick out the largest radii, and away from
  // zero, where the law of the score shrinks to a point.
  std::vector<double> cuts = {high};
  const double farthest = measures::tail_reach(std::sqrt(high) * s);
  for (double depth = kFoldsPerPanel * high / (farthest * farthest / 2); depth < (high - low) / 2;
       depth *= 2) {
    cuts.push_back(high - depth);
  }
  const double smooth = kSmoothVariance / (s * s);
  while (cuts.back() / 2 > low && cuts.back() > smooth) cuts.push_back(cuts.back() / 2);
  cuts.push_back(low);
  Nodes nodes{Vector((std::ssize(cuts) - 1) * kNodesPerTailPanel),
              Vector((std::ssize(cuts) - 1) * kNodesPerTailPanel), 0};
  std::ptrdiff_t at = 0;
  for (std::size_t panel = 0; panel + 1 < cuts.size(); ++panel) {
    const double centre = (cuts[panel] + cuts[panel + 1]) / 2;
    const double half = (cuts[panel] - cuts[panel + 1]) / 2;
    for (std::size_t i = 0; i < Rule::abscissa().size(); ++i) {
      for (const double sign : {-1.0, 1.0}) {
        nodes.values[at] = centre + sign * half * Rule::abscissa()[i];
        nodes.weights[at++] = half * Rule::weights()[i] / (high - low);
      }
    }
  }
  nodes.relative_error = kTailError;
  return nodes;
}

double RadialLaw::largest() const {
  if (weights_.size() == 0) return values_[1];
  double largest = 0;
  for (std::ptrdiff_t k = 0; k < values_.size(); ++k) {
    if (weights_[k] > 0) largest = std::max(largest, values_[k]);
  }
  return largest;
}

double RadialLaw::quantile(double probability) const {
  if (weights_.size() > 0) return values_[measures::pick(cumulative_, probability)];
  return values_[0] + (values_[1] - values_[0]) * probability;
}

}  // namespace largo
