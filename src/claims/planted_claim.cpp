// The claim that the output error of prompts with sinks and needles beside a crowd is known exactly.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "claims/chance.hpp"
#include "claims/claims.hpp"
#include "claims/plain_mean.hpp"
#include "largo/concentration/exact_errors.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "largo/random/streams.hpp"
#include "runtime/distribute.hpp"

namespace largo::claims {
namespace {

constexpr std::ptrdiff_t kDimension = 3;
constexpr double kFar = 1e12, kFarDifference = 1e-6;  // where the limit is compared

struct PlantedSetting {
  const char* name;
  AttentionLayer layer;
};

std::vector<PlantedSetting> planted_settings() {
  const Matrix identity = Matrix::Identity(kDimension, kDimension);
  const Vector query{{1, 0.5, 0}}, no_value = Vector::Zero(kDimension);
  const auto gaussian = std::make_shared<const GaussianMeasure>(GaussianMeasure::standard(kDimension));
  const auto sphere = std::make_shared<const SphereMeasure>(kDimension, std::sqrt(3.0));
  const auto coins = std::make_shared<const ProductMeasure>(kDimension, rademacher());
  return {{"Gaussian, softmax plus one", {gaussian, identity, identity, query, {{no_value, 0.0}}}},
          {"Gaussian, sink of score 5", {gaussian, identity, identity, query, {{no_value, 5.0}}}},
          {"sphere, needle", {sphere, identity, identity, query, {{Vector{{4, 0, -1}}}}}},
          {"coins, sink and two needles",
           {coins, identity, identity, query, {{no_value, 3.0}, {Vector{{2, 2, 2}}, std::nullopt, 2}}}}};
}

// ‖T − T[μ]‖² over one prompt, from its tokens.
double squared_distance(const AttentionLayer& layer, const Vector& limit, const RowMatrix& tokens) {
  const Vector a = layer.U * std::get<Vector>(layer.queries);
  Vector sum = Vector::Zero(kDimension);
  double S = 0;
  const auto add = [&](const Vector& token, double score, double count) {
    const double w = count * std::exp(score);
    sum += w * token;
    S += w;
  };
  for (Eigen::Index i = 0; i < tokens.rows(); ++i) {
    const Vector token = tokens.row(i).transpose();
    add(token, token.dot(a), 1);
  }
  for (const PlantedToken& one : layer.planted) {
    add(one.token, one.score.value_or(one.token.dot(a)), one.count);
  }
  return (layer.V * (sum / S) - limit).squaredNorm();
}

// The error beside planted tokens over that of the crowd alone, less one, where the prompt is long.
double far_difference(AttentionLayer layer, bool with_length) {
  if (with_length) {  // a negative control
    const Vector a = layer.U * std::get<Vector>(layer.queries);
    for (PlantedToken& one : layer.planted) one.score = one.score.value_or(one.token.dot(a)) + std::log(kFar);
  }
  const double beside = ExactErrors(layer)(kFar).output.value;
  layer.planted.clear();
  return std::abs(beside / ExactErrors(layer)(kFar).output.value - 1);
}

// The error against the number of tokens in the crowd, for sinks of several scores.
Figure sink_figure() {
  Panel panel{
      .title = "output error beside a sink", .x_label = "tokens in the crowd", .y_label = "E‖T − T[μ]‖²"};
  int color = 0;
  for (const double score : {0.0, 4.0, 8.0, 12.0}) {
    AttentionLayer layer = planted_settings().front().layer;
    layer.planted = {{Vector::Zero(kDimension), score}};
    const ExactErrors errors(layer);
    Curve curve{.label = fmt::format("score {:g}", score), .color = color++};
    for (const double L : log_spaced_lengths(1, 1e8, 33)) {
      curve.x.push_back(L);
      curve.y.push_back(errors(L).output.value);
    }
    panel.curves.push_back(std::move(curve));
  }
  return {
      {panel},
      "The exact error of Gaussian prompts beside a sink without a value. While the sink has the weight, the "
      "output is zero, and the error that of zero. Then the crowd takes over: beside a strong sink the error "
      "first falls nearly like 1/L², and in the end like 1/L."};
}

}  // namespace

report::ReportSection planted_claim(const ClaimOptions& options) {
  const bool little = options.quick || options.control;
  const std::int64_t drawn = options.full ? 100000 : little ? 4000 : 20000;
  const std::vector<double> lengths = little ? std::vector<double>{3, 40} : std::vector<double>{3, 40, 400};
  report::ReportTable table{"Mean squared distances from the limit, exact and simulated.",
                            {"crowd, planted", "L", "exact", "simulated", "standard error"}};
  double worst = 0, far = 0;
  std::uint64_t seed = options.seed;
  for (const PlantedSetting& setting : planted_settings()) {
    far = larger(far, far_difference(setting.layer, options.control == 2));
    AttentionLayer told = setting.layer;
    if (options.control == 1) told.planted.clear();
    const ExactErrors exact(told);
    const Vector a = setting.layer.U * std::get<Vector>(setting.layer.queries);
    const Vector limit = setting.layer.V * setting.layer.tokens->tilt(a, TiltOrder::mean).mean;
    for (const double L : lengths) {
      const auto length = static_cast<std::int64_t>(L);
      std::vector<double> samples(static_cast<std::size_t>(drawn));
      RowMatrix tokens(length, kDimension);
      for (std::size_t k = 0; k < samples.size(); ++k) {
        runtime::check_stop(options.execution);
        setting.layer.tokens->sample(Stream(seed, k), 0, tokens);
        samples[k] = squared_distance(setting.layer, limit, tokens);
      }
      ++seed;
      const PlainMean found = mean_of(samples, [](double sample) { return sample; });
      const double value = exact(L).output.value;
      table.rows.push_back({setting.name, L, value, found.value, found.error});
      worst = larger(worst, found.z_score(value));
    }
  }
  report::ReportSection claim{
      .computed = fmt::format(
          "Four crowds in three dimensions beside sinks and needles, at one query and {} lengths: the output "
          "error exactly and as an average over {} simulated prompts, and exactly at L = {}. The figure is "
          "exact.{}",
          lengths.size() == 2 ? "two" : "three", drawn, report::shown(kFar), chance_text(table.rows.size()))};
  claim.numbers = {
      largest_distance("simulated and exact error", worst, table.rows.size()),
      {fmt::format("largest |error over that of the crowd alone − 1|, L = {}", report::shown(kFar)), far,
       kFarDifference}};
  claim.tables = {table};
  claim.figures = {{"planted", sink_figure()}};
  return decided(std::move(claim));
}

}  // namespace largo::claims
