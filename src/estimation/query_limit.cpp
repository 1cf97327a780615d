#include "estimation/query_limit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numerics/portable_math.hpp"

namespace largo::estimation {
namespace {

struct Along {
  double entropy;  // D(ν_{θa}‖μ) = θ <a, mean(ν_{θa})> - Λ(θa)
  double score;    // <a, mean(ν_{θa})>
};

// The difference is not a number if both are infinite: then no sample is large enough.
double entropy_of(double score, double log_partition) {
  const double entropy = score - log_partition;
  return std::isnan(entropy) ? std::numeric_limits<double>::infinity() : std::max(0.0, entropy);
}

Along along(const Measure& law, const Vector& direction, double theta) {
  const Tilt tilt = law.tilt(theta * direction, TiltOrder::mean);
  const double score = direction.dot(tilt.mean);
  return {entropy_of(theta * score, tilt.log_partition), score};
}

}  // namespace

QueryLimit::QueryLimit(const Measure& law, const ConstMatrixRef& U, const ConstVectorRef& at, TiltOrder order)
    : query(at), direction(U * at), tilt(law.tilt(direction, order)) {
  entropy = entropy_of(direction.dot(tilt.mean), tilt.log_partition);
}

double rare_token_entropy(const Measure& law, const QueryLimit& limit, double log_weight) {
  const Vector& a = limit.direction;
  double low = 0;
  double high = 4;
  if (along(law, limit.direction, high).score > log_weight) {
    constexpr int kSteps = 10;  // precise enough for a count of tokens
    for (int i = 0; i < kSteps; ++i) {
      const double middle = (low + high) / 2;
      (along(law, limit.direction, middle).score <= log_weight ? low : high) = middle;
    }
  }
  const Tilt carriers = law.tilt(high * a, TiltOrder::covariance);
  const double score = a.dot(carriers.mean);
  const double entropy = entropy_of(high * score, carriers.log_partition);
  // A law of two scores has the mean `score` and this variance if the higher one is above its mean by the
  // ratio below; there log dν/dμ is higher by θ times that ratio. For Gaussian scores this would add one.
  const double variance = a.dot(carriers.covariance * a), risen = score - a.dot(law.mean());
  return risen > 0 ? entropy + std::max(0.0, high * variance / risen - 1) : entropy;
}

LinearLimit::LinearLimit(const Measure& law, const QueryLimit& limit, const ConstMatrixRef& V, double L) {
  // The controls are sums of L independent terms w (z - mean) with w = e^{<a,z> - Λ(a)}: the square of such a
  // sum has mean L E[w² ‖z - mean‖²].
  const Tilt second = law.tilt(2 * limit.direction, TiltOrder::covariance);
  p2 = numerics::portable_exp(second.log_partition - 2 * limit.tilt.log_partition) / L;
  const Vector shift = second.mean - limit.tilt.mean;
  mean = p2 * (second.covariance.trace() + shift.squaredNorm());
  output = p2 * ((V * second.covariance).cwiseProduct(V).sum() + (V * shift).squaredNorm());
  entropy = along(law, limit.direction, 4).entropy;
}

}  // namespace largo::estimation
