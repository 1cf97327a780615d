#include "largo/attention/lemma.hpp"

#include <algorithm>
#include <cmath>

#include "largo/attention/attention.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/runtime/check.hpp"
#include "runtime/distribute.hpp"

namespace largo {
namespace {

constexpr std::ptrdiff_t kLargestDimension = 32;
constexpr std::uint64_t kCaseStream = 1;
constexpr std::uint64_t kPromptStream = 2;

constexpr double kLargestSpread = 1;  // standard deviation of the scores where convergence is measured

struct Case {
  Vector mean;
  Matrix covariance;
  MergedWeights weights;
  RowMatrix query;
};

Case draw_case(const Stream& stream, std::ptrdiff_t d, std::ptrdiff_t rank) {
  const std::ptrdiff_t count = d + d * rank + 2 * d * d + d;
  Vector draws(count);
  stream.normals(0, {draws.data(), static_cast<std::size_t>(count)});
  const double* next = draws.data();
  const auto take = [&](std::ptrdiff_t rows, std::ptrdiff_t columns) {
    const Matrix block = Eigen::Map<const Matrix>(next, rows, columns);
    next += rows * columns;
    return block;
  };
  Case drawn;
  const double unit = 1 / std::sqrt(static_cast<double>(d));
  drawn.mean = take(d, 1);
  const Matrix root = unit * take(d, rank);
  drawn.covariance = root * root.transpose();
  drawn.weights.U = unit * take(d, d);
  drawn.weights.V = unit * take(d, d);
  drawn.query = take(1, d);
  return drawn;
}

// E[g e^{sg}] / E[e^{sg}] for a standard normal g, by the trapezoidal rule on both integrals. The integrands
// are entire and decay like e^{-g²/2}: with this step and range the rule is exact to rounding.
double tilted_normal_mean(double s) {
  constexpr double kStep = 1.0 / 16;
  constexpr int kReach = 16 * 40;
  double numerator = 0;
  double denominator = 0;
  const double top = s * s / 2;  // the largest exponent, taken out
  for (int k = -kReach; k <= kReach; ++k) {
    const double g = k * kStep;
    const double weight = std::exp(s * g - g * g / 2 - top);
    numerator += g * weight;
    denominator += weight;
  }
  return numerator / denominator;
}

// Attention from its definition. Given the score, a Gaussian token has mean m + Γa g/s, with g = (score -
// <m,a>)/s standard normal, which leaves integrals over g alone.
Vector attention_by_definition(const Case& c) {
  const Vector a = c.weights.score_scale * (c.weights.U * c.query.row(0).transpose());
  const Vector shifted = c.covariance * a;
  const double s = std::sqrt(std::max(0.0, a.dot(shifted)));
  const Vector mean = s > 0 ? Vector(c.mean + shifted / s * tilted_normal_mean(s)) : c.mean;
  return c.weights.V * mean;
}

double case_error(const Case& c) {
  const GaussianMeasure law(c.mean, c.covariance);
  const RowMatrix closed = attend(AttentionKind::softmax, law, c.weights, c.query);
  const Vector defined = attention_by_definition(c);
  return (closed.row(0).transpose() - defined).norm() / defined.norm();
}

LemmaReport::AtLength distance_at(const Case& c, const Stream& stream, std::int64_t length, int prompts,
                                  const Execution& execution) {
  const GaussianMeasure law(c.mean, c.covariance);
  const RowMatrix limit = attend(AttentionKind::softmax, law, c.weights, c.query);
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
  Vector errors(settings.cases);
  const auto dimension_of = [](std::ptrdiff_t k) { return 1 + k % kLargestDimension; };
  // Every third case has half the rank; in one dimension, rank zero.
  const auto rank_of = [&](std::ptrdiff_t k) { return k % 3 == 2 ? dimension_of(k) / 2 : dimension_of(k); };
  runtime::parallel_for(settings.cases, execution, [&](std::ptrdiff_t k) {
    runtime::check_stop(execution);
    errors[k] =
        case_error(draw_case(cases.substream(static_cast<std::uint64_t>(k)), dimension_of(k), rank_of(k)));
  });
  for (std::ptrdiff_t k = 0; k < settings.cases; ++k) report.singular_cases += rank_of(k) < dimension_of(k);
  report.worst_error = errors.maxCoeff();

  const Stream prompts = Stream(settings.seed, kPromptStream);
  Case convergence = draw_case(prompts, 4, 4);
  // The scores have a moderate spread, whatever the draw: for a large one, the rate 1/L sets in only beyond
  // the length of any prompt.
  const Vector a = convergence.weights.U * convergence.query.row(0).transpose();
  convergence.weights.score_scale =
      std::min(0.5, kLargestSpread / std::sqrt(a.dot(convergence.covariance * a)));
  for (std::size_t k = 0; k < settings.lengths.size(); ++k) {
    report.distances.push_back(
        distance_at(convergence, prompts.substream(1 + k), settings.lengths[k], settings.prompts, execution));
  }
  if (report.distances.size() >= 2) fit_slope(report);
  return report;
}

}  // namespace largo
