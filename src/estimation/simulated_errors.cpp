#include "estimation/simulated_errors.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "largo/exact/score_law_error.hpp"
#include "largo/measures/elliptical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "largo/random/streams.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/larger.hpp"

namespace largo::estimation {
namespace {

// Random matrices, each from where the last one ended in the stream.
class Drawing {
 public:
  Drawing(std::uint64_t seed, std::uint64_t id) : stream_(Stream(seed, id).substream(0)) {}
  Matrix normals(std::ptrdiff_t rows, std::ptrdiff_t columns) {
    Matrix values(rows, columns);
    stream_.normals(next_, {values.data(), static_cast<std::size_t>(values.size())});
    next_ += static_cast<std::uint64_t>(values.size());
    return values;
  }

 private:
  Stream stream_;
  std::uint64_t next_ = 0;
};

// In standard errors, with room for float32 rounding: at L = 1 all prompts have the same gradient in U.
double distance(const SampledMean& sampled, const Estimate& exact) {
  const double rounding = 1e-6 * std::abs(exact.value);
  return std::abs(sampled.value - exact.value) / (sampled.standard_error + rounding);
}

ErrorSampling sampling_of(const ErrorSimulation& settings, std::int64_t length, std::uint64_t id) {
  ErrorSampling sampling;
  sampling.length = length;
  sampling.seed = settings.seed;
  sampling.plan.samples = settings.prompts;
  sampling.plan.first = id * static_cast<std::uint64_t>(settings.prompts);
  return sampling;
}

void check(const char* name, const ErrorSimulation& settings) {
  if (settings.dimension < 1) fail(name, "dimension", settings.dimension, "at least 1");
}

}  // namespace

double SimulatedErrors::worst_z_score() const {
  const double of_values = numerics::larger(distance(sampled.output, exact.output),
                                            distance(sampled.gradient_V, exact.gradient_V));
  return numerics::larger(of_values, distance(sampled.gradient_U, exact.gradient_U));
}

std::vector<SimulatedErrors> simulate_gaussian_errors(const ErrorSimulation& settings,
                                                      const Execution& execution) {
  check("simulate_gaussian_errors", settings);
  const std::ptrdiff_t d = settings.dimension;
  std::vector<SimulatedErrors> results;
  for (const std::int64_t L : settings.lengths) {
    const std::uint64_t id = results.size();
    Drawing drawing(settings.seed, id);
    const Matrix R = 0.6 * drawing.normals(d, d);
    const Matrix covariance = R * R.transpose();
    const Matrix U = drawing.normals(d, d);
    const Matrix V = drawing.normals(d, d);
    const Vector query = drawing.normals(d, 1);
    ErrorSampling sampling = sampling_of(settings, L, id);
    sampling.gradient_U = true;
    const Matrix known = settings.transposed ? Matrix(U.transpose()) : U;
    results.push_back({L, gaussian_attention_error(covariance, known, V, query, static_cast<double>(L)),
                       sample_attention_errors(GaussianMeasure(Vector::Zero(d), covariance), U, V, query,
                                               sampling, execution)});
  }
  return results;
}

double SimulatedLaw::z_score() const { return distance(sampled, exact); }

std::vector<SimulatedLaw> simulate_law_errors(const ErrorSimulation& settings, const Execution& execution) {
  check("simulate_law_errors", settings);
  const std::ptrdiff_t d = settings.dimension;
  Drawing drawing(settings.seed, 1000);
  const Matrix R = 0.6 * drawing.normals(d, d);
  const Matrix covariance = R * R.transpose();
  const Vector centre = drawing.normals(d, 1);
  const auto gaussian = [&](const Vector& mean) {
    return std::make_shared<GaussianMeasure>(mean, covariance);
  };
  const std::pair<const char*, MeasurePtr> laws[] = {
      {"rademacher", std::make_shared<ProductMeasure>(d, rademacher())},
      {"sphere", std::make_shared<SphereMeasure>(d, std::sqrt(static_cast<double>(d)))},
      {"elliptical", std::make_shared<EllipticalMeasure>(
                         covariance, EllipticalBase::gaussian,
                         RadialLaw::discrete(Vector::LinSpaced(3, 0.25, 2), Vector::Ones(3)))},
      {"mixture of Gaussians",
       std::make_shared<MixtureMeasure>(Vector::Ones(2),
                                        std::vector<MeasurePtr>{gaussian(centre), gaussian(-centre)})},
  };
  const Matrix U = 0.8 * drawing.normals(d, d);
  const Matrix V = drawing.normals(d, d);
  const Vector query = drawing.normals(d, 1);
  const Vector direction = (settings.transposed ? Matrix(U.transpose()) : U) * query;
  std::vector<SimulatedLaw> results;
  for (const auto& [name, law] : laws) {
    for (const std::int64_t L : settings.lengths) {
      const ScoreLaw scores = law->score_law(direction);
      const OutputError output = score_law_error(scores, V, static_cast<double>(L));
      const Estimate gradient = score_law_covariance_error(scores, V, static_cast<double>(L)).value();
      const double square = query.squaredNorm();
      ErrorSampling sampling = sampling_of(settings, L, 100 + results.size() / 2);
      sampling.gradient_U = true;
      const SampledErrors sampled = sample_attention_errors(*law, U, V, query, sampling, execution);
      results.push_back({name, "output", L, {output.mse, output.error}, sampled.output});
      results.push_back(
          {name, "gradient in U", L, {square * gradient.value, square * gradient.error}, sampled.gradient_U});
    }
  }
  return results;
}

}  // namespace largo::estimation
