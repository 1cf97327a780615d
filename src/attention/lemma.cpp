#include "largo/attention/lemma.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "largo/attention/attention.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/larger.hpp"
#include "runtime/distribute.hpp"

namespace largo {
namespace {

constexpr std::ptrdiff_t kLargestDimension = 32;
constexpr std::uint64_t kCaseStream = 1;
constexpr std::uint64_t kPromptStream = 2;

constexpr double kLargestSpread = 1;  // standard deviation of the scores where convergence is measured

constexpr int kDirections = 3;  // at which log-partitions are compared

struct Case {
  Vector mean;
  Matrix covariance;
  FactoredWeights weights;
  RowMatrix query;
  Matrix directions;  // one per column

  // a = KᵀQz, as the definition has it: <Kz', Qz> for each token z'
  Vector tilt(bool exchanged) const {
    const Vector z = query.row(0).transpose();
    return weights.score_scale * (exchanged ? Vector(weights.Q.transpose() * (weights.K * z))
                                            : Vector(weights.K.transpose() * (weights.Q * z)));
  }
};

Case draw_case(const Stream& stream, std::ptrdiff_t d, std::ptrdiff_t rank, std::ptrdiff_t keys) {
  const std::ptrdiff_t count = d + d * rank + 2 * keys * d + d * d + d + d * kDirections;
  Vector draws(count);
  stream.normals(0, {draws.data(), static_cast<std::size_t>(count)});
  const double* next = draws.data();
  const auto take = [&](std::ptrdiff_t rows, std::ptrdiff_t columns) {
    const Matrix block = Eigen::Map<const Matrix>(next, rows, columns);
    next += rows * columns;
    return block;
  };
  const double unit = 1 / std::sqrt(static_cast<double>(d));
  const Vector mean = take(d, 1);
  const Matrix root = unit * take(d, rank);
  const Matrix K = unit * take(keys, d);
  const Matrix Q = take(keys, d) / std::sqrt(static_cast<double>(keys));
  const Matrix V = unit * take(d, d);
  const RowMatrix query = take(1, d);
  return {mean, root * root.transpose(), {K, Q, V}, query, unit * take(d, kDirections)};
}

struct TiltedNormal {
  double log_partition, mean, variance;
};

// The standard normal law tilted by e^{sg}, from its definition, by the trapezoidal rule on all integrals.
// The integrands are entire and decay like e^{-g²/2}: with this step and range the rule is exact to rounding.
TiltedNormal tilted_normal(double s) {
  constexpr double kStep = 1.0 / 16;
  constexpr int kReach = 16 * 40;
  double mass = 0, first = 0, second = 0;
  const double top = s * s / 2;  // the largest exponent, taken out
  for (int k = -kReach; k <= kReach; ++k) {
    const double g = k * kStep;
    const double weight = std::exp(s * g - g * g / 2 - top);
    mass += weight;
    first += g * weight;
    second += (g - s) * (g - s) * weight;  // around a point near the mean: little cancels
  }
  const double mean = first / mass;
  return {top + std::log(mass * kStep / std::sqrt(2 * std::numbers::pi)), mean,
          second / mass - (mean - s) * (mean - s)};
}

double spread_along(const Case& c, const Vector& a) {
  return std::sqrt(std::max(0.0, a.dot(c.covariance * a)));
}

// log ∫ e^{<b,z>} dN(m, Γ), by integration over the score
double log_partition_by_definition(const Case& c, const Vector& b) {
  return c.mean.dot(b) + tilted_normal(spread_along(c, b)).log_partition;
}

struct CaseErrors {
  double attention = 0, covariance = 0, log_partition = 0;
};

// Given the score, a Gaussian token has mean m + Γa g/s, with g = (score − <m,a>)/s standard normal, and the
// covariance Γ − Γa(Γa)ᵀ/s². That leaves integrals over g alone.
CaseErrors case_errors(const Case& c, const LemmaSettings& settings) {
  const Matrix closed_covariance = settings.doubled ? Matrix(2 * c.covariance) : c.covariance;
  const GaussianMeasure law(c.mean, closed_covariance);
  const Vector a = c.tilt(settings.exchanged), shifted = c.covariance * a;
  const double s = spread_along(c, a);
  Vector mean = c.mean;
  Matrix covariance = c.covariance;
  if (s > 0) {
    const TiltedNormal score = tilted_normal(s);
    mean += shifted / s * score.mean;
    covariance += shifted * shifted.transpose() * ((score.variance - 1) / (s * s));
  }
  CaseErrors errors;
  const RowMatrix closed = attend(AttentionKind::softmax, law, c.weights, c.query);
  const Vector defined = c.weights.V * mean;
  errors.attention = (closed.row(0).transpose() - defined).norm() / defined.norm();
  const double size = c.covariance.norm();
  if (size > 0) {
    const Tilt tilt = law.tilt(c.tilt(false), TiltOrder::covariance);
    errors.covariance = (tilt.covariance - covariance).norm() / size;
  }
  // Λ_ν of the law that the Lemma names
  const GaussianMeasure tilted(c.mean + closed_covariance * c.tilt(false), closed_covariance);
  const double at_a = log_partition_by_definition(c, a);
  for (Eigen::Index k = 0; k < c.directions.cols(); ++k) {
    const Vector b = c.directions.col(k);
    const double there = log_partition_by_definition(c, a + b);
    errors.log_partition =
        numerics::larger(errors.log_partition, std::abs(tilted.log_partition(b) - (there - at_a)) /
                                                   (1 + std::abs(there) + std::abs(at_a)));
  }
  return errors;
}

LemmaReport::AtLength distance_at(const Case& c, const Stream& stream, std::int64_t length,
                                  const LemmaSettings& settings, const Execution& execution) {
  const GaussianMeasure law(c.mean, c.covariance), known(c.mean, (settings.doubled ? 2 : 1) * c.covariance);
  const RowMatrix limit = attend(AttentionKind::softmax, known, c.weights, c.query);
  const int prompts = settings.prompts;
  Vector squares(prompts);
  runtime::parallel_for(prompts, execution, [&](std::ptrdiff_t k) {
    const Execution alone{.threads = 1, .stop = execution.stop};
    const EmpiricalMeasure prompt(
        sample_prompt(law, stream.substream(static_cast<std::uint64_t>(k)), length, alone));
    const RowMatrix output = attend(AttentionKind::softmax, prompt, c.weights, c.query, alone);
    squares[k] = (output - limit).squaredNorm();
  });
  const double mean = squares.mean();
  const double variance = (squares.array() - mean).square().sum() / (prompts - 1);
  return {length, mean, std::sqrt(variance / prompts)};
}

void fit_slope(LemmaReport& report) {
  const auto n = static_cast<double>(report.distances.size());
  double mean_x = 0;
  double mean_y = 0;
  for (const auto& at : report.distances) {
    mean_x += std::log(static_cast<double>(at.length)) / n;
    mean_y += std::log(at.mean_squared_distance) / n;
  }
  double xx = 0;
  double xy = 0;
  double variance = 0;
  for (const auto& at : report.distances) {
    const double x = std::log(static_cast<double>(at.length)) - mean_x;
    const double relative = at.standard_error / at.mean_squared_distance;
    xx += x * x;
    xy += x * (std::log(at.mean_squared_distance) - mean_y);
    variance += x * x * relative * relative;
  }
  report.slope = xy / xx;
  report.slope_error = std::sqrt(variance) / xx;
}

}  // namespace

LemmaReport check_lemma(const LemmaSettings& settings, const Execution& execution) {
  if (settings.cases < 1) fail("check_lemma", "cases", settings.cases, "at least 1");
  if (settings.prompts < 2) fail("check_lemma", "prompts", settings.prompts, "at least 2");
  LemmaReport report;
  report.cases = settings.cases;
  const Stream cases = Stream(settings.seed, kCaseStream);
  std::vector<CaseErrors> errors(static_cast<std::size_t>(settings.cases));
  const auto dimension_of = [](std::ptrdiff_t k) { return 1 + k % kLargestDimension; };
  // Every third case has half the rank; in one dimension, rank zero.
  const auto rank_of = [&](std::ptrdiff_t k) { return k % 3 == 2 ? dimension_of(k) / 2 : dimension_of(k); };
  // All numbers of rows from 1 to d in turn, each with all kinds of Γ.
  const auto keys_of = [&](std::ptrdiff_t k) { return 1 + k / kLargestDimension % dimension_of(k); };
  runtime::parallel_for(settings.cases, execution, [&](std::ptrdiff_t k) {
    runtime::check_stop(execution);
    const Stream stream = cases.substream(static_cast<std::uint64_t>(k));
    errors[static_cast<std::size_t>(k)] =
        case_errors(draw_case(stream, dimension_of(k), rank_of(k), keys_of(k)), settings);
  });
  for (std::ptrdiff_t k = 0; k < settings.cases; ++k) {
    report.singular_cases += rank_of(k) < dimension_of(k);
    report.low_rank_cases += keys_of(k) < dimension_of(k);
    const CaseErrors& at = errors[static_cast<std::size_t>(k)];
    // Unlike std::max, keeps what is not a number.
    const auto take_larger = [](double& worst, double error) {
      if (error > worst || std::isnan(error)) worst = error;
    };
    take_larger(report.worst_error, at.attention);
    take_larger(report.worst_covariance, at.covariance);
    take_larger(report.worst_log_partition, at.log_partition);
  }

  const Stream prompts = Stream(settings.seed, kPromptStream);
  Case convergence = draw_case(prompts, 4, 4, 4);
  // The scores have a moderate spread, whatever the draw: for a large one, the rate 1/L sets in only beyond
  // the length of any prompt.
  convergence.weights.score_scale =
      std::min(0.5, kLargestSpread / spread_along(convergence, convergence.tilt(false)));
  for (std::size_t k = 0; k < settings.lengths.size(); ++k) {
    report.distances.push_back(
        distance_at(convergence, prompts.substream(1 + k), settings.lengths[k], settings, execution));
  }
  if (report.distances.size() >= 2) fit_slope(report);
  return report;
}

}  // namespace largo
