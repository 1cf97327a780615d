// One growing prompt: attention does not depend on the order of the tokens, and converges along the prompt.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "claims/claims.hpp"
#include "estimation/growing_prompt.hpp"
#include "largo/attention/attention.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/named_law.hpp"
#include "largo/measures/named_matrix.hpp"

namespace largo::claims {
namespace {

// Thresholds of the verdict. A Gaussian walk in one dimension is beyond twice the envelope somewhere between
// 10³ and 10⁷ with probability 2e-3; these walks have two dimensions, and the envelope their total variance.
constexpr double kEnvelopeLimit = 2;
constexpr std::int64_t kEnvelopeFrom = 1000;
// Of the supremum beyond a tenth of the prompt over that beyond 100, in units of √(100/length).
constexpr double kFallLimit = 10;
constexpr std::int64_t kFallFrom = 100;
constexpr double kOrderLimit = 1e-13;
constexpr std::int64_t kOrderTokens = 100'000;

constexpr const char* kGrowingLaws[] = {"gaussian:cov=toeplitz:0.5,mean=0.5,-0.5,1", "sphere:radius=1.5",
                                        "three-point:scale=2,mass=0.2"};
constexpr std::ptrdiff_t kGrowingDimension = 3;

// A law with a layer and a query of its own.
struct GrowingCase {
  MeasurePtr law;
  MergedWeights weights;
  RowMatrix query;
  Vector direction;  // Uz

  GrowingCase(const char* name, std::uint64_t number) {
    constexpr std::ptrdiff_t d = kGrowingDimension;
    const auto random = [&](std::uint64_t k, std::ptrdiff_t rows, std::ptrdiff_t columns) {
      return named_matrix("matrix", fmt::format("random:{}", 3 * number + k), rows, columns);
    };
    law = named_law(name, d);
    weights.U = 0.7 * random(101, d, d);
    weights.V = random(102, 2, d);
    query = std::sqrt(static_cast<double>(d)) * random(103, d, d).col(0).transpose();
    direction = weights.U * query.row(0).transpose();
  }

  Vector limit() const { return weights.V * law->tilt(direction, TiltOrder::mean).mean; }
  // lim L E‖T[μ̂_L] − T[μ]‖² = ρ E‖V(x − mean(ν_a))‖² under ν_2a
  double variance() const {
    const Tilt once = law->tilt(direction), twice = law->tilt(2 * direction);
    const double second = (weights.V * twice.covariance * weights.V.transpose()).trace() +
                          (weights.V * (twice.mean - once.mean)).squaredNorm();
    return std::exp(twice.log_partition - 2 * once.log_partition) * second;
  }
};

// √(2 ln ln L / L) times the scale, of the law of the iterated logarithm
double envelope(double variance, double L) { return std::sqrt(variance * 2 * std::log(std::log(L)) / L); }

struct GrowingPath {
  std::vector<double> lengths, suprema, distances;  // sup over L > n up to the end, and the distance at n
  double largest_ratio = 0;                         // of distance and envelope, from kEnvelopeFrom on
  double fall = 0;  // the supremum beyond a tenth of the prompt over that beyond kFallFrom
};

GrowingPath follow(const GrowingCase& grown, const std::vector<std::int64_t>& ends, std::uint64_t number,
                   const ClaimOptions& options) {
  const Vector limit = options.control == 1 ? Vector(grown.weights.V * grown.law->mean()) : grown.limit();
  const auto stretches = estimation::follow_growing_prompt(
      *grown.law, grown.weights.V, grown.direction, limit, Stream(options.seed, 7001).substream(number), ends,
      options.execution);
  GrowingPath path;
  const double variance = grown.variance();
  double supremum = 0, from = 0;
  for (std::size_t k = stretches.size() - 1; k > 0; --k) {
    // The envelope at the beginning of a stretch, with the factor 1/√L of each length itself.
    const auto n = static_cast<double>(ends[k - 1]);
    supremum = larger(supremum, stretches[k].largest_distance);
    if (ends[k - 1] >= kEnvelopeFrom) {
      path.largest_ratio =
          larger(path.largest_ratio, stretches[k].largest_scaled / (envelope(variance, n) * std::sqrt(n)));
    }
    path.lengths.push_back(n);
    path.suprema.push_back(supremum);
    path.distances.push_back(stretches[k - 1].distance);
    if (ends[k - 1] == kFallFrom) from = supremum;
  }
  for (std::vector<double>* numbers : {&path.lengths, &path.suprema, &path.distances})
    std::reverse(numbers->begin(), numbers->end());
  // The last stretches would be short: the supremum beyond a tenth of the prompt.
  const auto tenth = static_cast<double>(ends.back()) / 10;
  const auto at = std::lower_bound(path.lengths.begin(), path.lengths.end(), tenth) - path.lengths.begin();
  path.fall = path.suprema[static_cast<std::size_t>(at)] / from;
  return path;
}

// The largest relative difference of attention over a prompt and over rearrangements of it that are the same
// measure; and the number of outputs whose bits depend on the number of threads.
struct OrderCheck {
  double difference = 0;
  int other_bits = 0;
};

OrderCheck check_order(const GrowingCase& grown, std::uint64_t number, const ClaimOptions& options) {
  const RowMatrix tokens = sample_prompt(*grown.law, Stream(options.seed, 7001).substream(number),
                                         kOrderTokens, options.execution);
  const auto output = [&](const RowMatrix& prompt, const std::optional<Vector>& weights, int threads) {
    Execution execution = options.execution;
    execution.threads = threads;
    return attend(AttentionKind::softmax, EmpiricalMeasure(prompt, weights), grown.weights, grown.query,
                  execution);
  };
  std::vector<double> draws(static_cast<std::size_t>(kOrderTokens));
  Stream(options.seed, 7002).substream(number).uniforms(0, draws);
  std::vector<Eigen::Index> order(draws.size());
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  std::sort(order.begin(), order.end(), [&](Eigen::Index i, Eigen::Index j) {
    return draws[static_cast<std::size_t>(i)] < draws[static_cast<std::size_t>(j)];
  });
  RowMatrix shuffled = tokens, twice(2 * tokens.rows(), tokens.cols());
  for (std::size_t i = 0; i < order.size(); ++i)
    shuffled.row(static_cast<Eigen::Index>(i)) = tokens.row(order[i]);
  twice << tokens, shuffled;
  const RowMatrix first = output(tokens, std::nullopt, options.execution.threads);
  OrderCheck check;
  if (options.control == 2) shuffled.row(0) = shuffled.row(1);
  const auto compare = [&](const RowMatrix& other) {
    check.difference = larger(check.difference, (other - first).norm() / first.norm());
  };
  compare(output(tokens.colwise().reverse(), std::nullopt, options.execution.threads));
  compare(output(shuffled, std::nullopt, options.execution.threads));
  compare(output(twice, std::nullopt, options.execution.threads));
  compare(output(tokens, Vector(Vector::Constant(tokens.rows(), 3)), options.execution.threads));
  const RowMatrix& for_three = options.control == 2 ? shuffled : tokens;
  check.other_bits = static_cast<int>(
      (output(tokens, std::nullopt, 1).array() != output(for_three, std::nullopt, 3).array()).count());
  return check;
}

// 1, 2, 5, 10, … up to the last length
std::vector<std::int64_t> stretch_ends(std::int64_t last) {
  std::vector<std::int64_t> ends;
  for (std::int64_t decade = 1; decade <= last; decade *= 10) {
    for (const std::int64_t digit : {1, 2, 5})
      if (digit * decade <= last) ends.push_back(digit * decade);
  }
  return ends;
}

}  // namespace

report::ReportSection almost_sure_claim(const ClaimOptions& options) {
  const std::int64_t last = options.quick || options.control ? 1'000'000 : 10'000'000;
  const std::vector<std::int64_t> ends = stretch_ends(last);
  report::ReportTable table{
      "Suprema of the distance from the limit over all longer prefixes, the largest ratio of distance and "
      "envelope, and the largest difference that the order of the tokens makes.",
      {"law"}};
  for (std::int64_t n = kFallFrom; n < last; n *= 10)
    table.columns.push_back(fmt::format("sup L > {}", report::shown(static_cast<double>(n))));
  table.columns.insert(table.columns.end(), {"distance/envelope", "order"});
  Figure figure{.caption =
                    fmt::format("One prompt of {} tokens for each law: the distance of attention over "
                                "its first L tokens from the limit (filled marks), the largest distance "
                                "over all longer prefixes (lines), and the envelope of the law of the "
                                "iterated logarithm (dashed).",
                                report::shown(static_cast<double>(last)))};
  double ratio = 0, fall = 0, difference = 0, other_bits = 0;
  for (std::uint64_t k = 0; k < std::size(kGrowingLaws); ++k) {
    const GrowingCase grown(kGrowingLaws[k], k);
    const GrowingPath path = follow(grown, ends, k, options);
    const OrderCheck order = check_order(grown, k, options);
    ratio = larger(ratio, path.largest_ratio);
    fall = larger(fall, path.fall);
    difference = larger(difference, order.difference);
    other_bits += order.other_bits;
    std::string name = kGrowingLaws[k];
    name = name.substr(0, name.find(':'));
    table.rows.push_back({name});
    Curve supremum{.label = "largest at longer prefixes", .color = 1},
        distance{.label = "distance at L", .style = Curve::Style::points},
        above{.label = "envelope", .style = Curve::Style::dashed, .color = 7};
    for (std::size_t i = 0; i < path.lengths.size(); ++i) {
      const double n = path.lengths[i];
      if (n < kFallFrom) continue;
      supremum.add(n, path.suprema[i]);
      distance.add(n, path.distances[i]);
      above.add(n, envelope(grown.variance(), n));
      if (std::fmod(std::log10(n) + 1e-9, 1) < 1e-6) table.rows.back().push_back(path.suprema[i]);
    }
    table.rows.back().insert(table.rows.back().end(), {path.largest_ratio, order.difference});
    figure.panels.push_back({.title = name,
                             .x_label = "prompt length L",
                             .y_label = "distance from the limit",
                             .curves = {distance, supremum, above}});
  }
  report::ReportSection claim{
      .computed = fmt::format(
          "For each of three laws in d = {} (Gaussian with a mean, on a sphere, three points), random U, V "
          "and query, one prompt of {} tokens: the distance of T[μ̂_L](z) from the limit at every L, not "
          "only its mean. At every L ≥ {} it is compared with √(2 ln ln L / L) times the root of the limit "
          "of L E‖T[μ̂_L](z) − T[μ](z)‖², which follows from tilts of the law. By the law of the iterated "
          "logarithm it stays below 1 + ε times that in the end; a Gaussian walk in one dimension goes "
          "beyond twice it with a probability of about 0.002. A path shows convergence, and does not prove "
          "it. Then attention over the first {} tokens is compared with attention over them in reverse, "
          "shuffled, each "
          "taken twice, and with equal weights given, and is computed by one thread and by three.",
          kGrowingDimension, report::shown(static_cast<double>(last)), kEnvelopeFrom,
          report::shown(static_cast<double>(kOrderTokens)))};
  claim.numbers = {
      {fmt::format("largest distance over envelope, L ≥ {}", kEnvelopeFrom), ratio, kEnvelopeLimit},
      {fmt::format("sup beyond L = {} over sup beyond {}", report::shown(static_cast<double>(last) / 10),
                   kFallFrom),
       fall, kFallLimit * std::sqrt(10.0 * kFallFrom / static_cast<double>(last))},
      {"largest relative difference of outputs over rearranged prompts", difference, kOrderLimit},
      {"outputs whose bits depend on the number of threads", other_bits, 0}};
  claim.tables = {table};
  claim.figures = {{"almost-sure", figure}};
  return decided(std::move(claim));
}

}  // namespace largo::claims
