#include "prompts/score_prompt.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "largo/runtime/check.hpp"
#include "numerics/portable_math.hpp"
#include "prompts/labels.hpp"

namespace largo::prompts {
ScorePrompt::ScorePrompt(ScoreLaw law, const Matrix& V, const Vector& limit) : law_(std::move(law)) {
  double sum = 0;
  for (const ScoreComponent& piece : law_.components) {
    if (piece.rate != 0) fail("sampling", "the scores of this law have no sampler: ask for the full kernel");
    sum += piece.weight;
    cumulative_.push_back(sum);
    Component component;
    component.mean = piece.mean - limit;
    component.slope = piece.slope.size() > 0 ? piece.slope : Vector(Vector::Zero(limit.size()));
    component.V_mean = V * component.mean;
    component.V_slope = V * component.slope;
    if (piece.covariance >= 0) {
      const Matrix& C = law_.covariances[static_cast<std::size_t>(piece.covariance)];
      component.trace = C.trace();
      component.V_trace = (V * C).cwiseProduct(V).sum();
    }
    if (piece.shape != ScoreShape::atom) component.shift = piece.tilted_mean();
    components_.push_back(std::move(component));
  }
}

ScorePrompt::Errors ScorePrompt::attend(std::uint64_t seed, std::uint64_t prompt, std::int64_t L,
                                        const Execution& execution) {
  for (Component& component : components_) component.sums = {};
  share_out_labels(cumulative_, seed, prompt, L, [&](std::size_t k, std::int64_t first, std::int64_t count) {
    const ScoreComponent& piece = law_.components[k];
    components_[k].sums.merge(score_sums({piece.shape, piece.order}, {seed, prompt, kScoreLanes + k}, first,
                                         count, piece.scale, components_[k].shift, execution));
  });

  double top = -std::numeric_limits<double>::infinity();
  const auto log_scale = [&](std::size_t k) {
    return law_.components[k].centre + static_cast<double>(components_[k].sums.top) * std::numbers::ln2;
  };
  for (std::size_t k = 0; k < components_.size(); ++k) {
    if (components_[k].sums.w > 0) top = std::max(top, log_scale(k));
  }
  double weight = 0, squares = 0, spread = 0, V_spread = 0;
  Errors errors;
  errors.bias = Vector::Zero(components_.front().V_mean.size());
  Vector shift = Vector::Zero(components_.front().mean.size());
  for (std::size_t k = 0; k < components_.size(); ++k) {
    const Component& component = components_[k];
    const ScoreComponent& piece = law_.components[k];
    const ScoreSums& sums = component.sums;
    if (sums.w == 0) continue;
    const double factor = numerics::portable_exp(log_scale(k) - top);
    const double w = factor * sums.w;
    const double wv = factor * (sums.wv + component.shift * sums.w);
    const double ww = factor * factor * sums.ww;
    const double wwvv =
        factor * factor * (sums.wwvv + component.shift * (2 * sums.wwv + component.shift * sums.ww));
    weight += w;
    squares += ww;
    shift += w * component.mean + wv * component.slope;
    errors.bias += w * component.V_mean + wv * component.V_slope;
    const double variance = piece.constant_part * ww + piece.round_part * std::max(0.0, ww - wwvv);
    spread += variance * component.trace;
    V_spread += variance * component.V_trace;
  }
  shift /= weight;
  errors.bias /= weight;
  errors.p2 = squares / (weight * weight);
  errors.mean = shift.squaredNorm() + spread / (weight * weight);
  errors.output = errors.bias.squaredNorm() + V_spread / (weight * weight);
  errors.log_partition = top + numerics::portable_log(weight / static_cast<double>(L));
  return errors;
}

}  // namespace largo::prompts
