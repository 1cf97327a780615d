#include "concentration/layer_average.hpp"

#include "largo/measures/gaussian.hpp"
#include "largo/measures/sphere.hpp"

namespace largo::concentration {

const Measure* law_of(const Queries& queries) {
  const auto* law = std::get_if<MeasurePtr>(&queries);
  return law != nullptr ? law->get() : nullptr;
}

std::optional<QueryAverage> average_over(const Matrix& covariance, const AttentionLayer& layer) {
  const Measure* const law = law_of(layer.queries);
  if (const auto* gaussian = dynamic_cast<const GaussianMeasure*>(law)) {
    return QueryAverage::over_gaussian(covariance, layer.U, layer.V, gaussian->mean(),
                                       gaussian->covariance());
  }
  if (const auto* sphere = dynamic_cast<const SphereMeasure*>(law)) {
    return QueryAverage::over_sphere(covariance, layer.U, layer.V, sphere->radius());
  }
  const FiniteQueries finite = finite_queries(layer.queries);
  if (finite.rows.rows() == 0) return std::nullopt;
  return QueryAverage::over_rows(covariance, layer.U, layer.V, finite.rows, finite.probabilities);
}

}  // namespace largo::concentration
