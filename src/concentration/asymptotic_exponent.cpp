#include "largo/concentration/asymptotic_exponent.hpp"

#include "largo/exact/asymptotics.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/numerics/check.hpp"
#include "largo/numerics/factor.hpp"

namespace largo {

std::optional<AsymptoticExponent> asymptotic_exponent(const AttentionLayer& layer, double scale) {
  constexpr const char* kName = "asymptotic_exponent";
  check_layer(kName, layer);
  check_positive(kName, "scale", scale);
  if (bounded(layer.queries)) return AsymptoticExponent{};
  const auto* tokens = dynamic_cast<const GaussianMeasure*>(layer.tokens.get());
  if (tokens == nullptr) return std::nullopt;
  const Measure* const law = std::get<MeasurePtr>(layer.queries).get();
  if (const auto* mixture = dynamic_cast<const MixtureMeasure*>(law)) {
    AsymptoticExponent smallest;
    for (Eigen::Index i = 0; i < mixture->weights().size(); ++i) {
      if (mixture->weights()[i] == 0) continue;
      AttentionLayer part = layer;
      part.queries = mixture->components()[static_cast<std::size_t>(i)];
      const auto exponent = asymptotic_exponent(part, scale);
      if (!exponent) return std::nullopt;
      if (exponent->value <= smallest.value) smallest = *exponent;
    }
    return smallest;
  }
  const auto* queries = dynamic_cast<const GaussianMeasure*>(law);
  if (queries == nullptr) return std::nullopt;
  const Matrix R = covariance_root(kName, "token covariance", tokens->covariance()).root;
  const Matrix S = covariance_root(kName, "query covariance", queries->covariance()).root;
  const Matrix N = R.transpose() * layer.U * S;
  AsymptoticExponent exponent;
  exponent.spread = N.size() > 0 ? scale * Eigen::JacobiSVD<Matrix>(N).singularValues()[0] : 0;
  if (*exponent.spread > 0) exponent.value = averaged_exponent(*exponent.spread);
  return exponent;
}

}  // namespace largo
