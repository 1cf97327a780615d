// The claim that the audit of heads says what attention in a real model does.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "claims/chance.hpp"
#include "claims/claims.hpp"
#include "claims/plain_mean.hpp"
#include "heads/stored_rows.hpp"
#include "largo/exact/token_classes.hpp"
#include "largo/heads/audit.hpp"
#include "largo/random/streams.hpp"
#include "largo/runtime/matrix.hpp"
#include "runtime/embedded_file.hpp"

LARGO_EMBED_FILE(largo_captured_heads, LARGO_CAPTURED_HEADS);
extern "C" const char largo_captured_heads[], largo_captured_heads_end[];

namespace largo::claims {
namespace {

// Thresholds of the verdict.
constexpr double kDirect = 1e-9;         // of sums in another order, which lose some digits
constexpr double kFactor = 2;            // a prediction of P₂ within this factor is called good
constexpr double kShareMissed = 0.4;     // heads without a good one
constexpr std::int64_t kQueries = 31;    // of each head; odd, so that the median is one of them
constexpr std::size_t kDrawnLength = 4;  // number 4 of the audit's lengths: 16 tokens

struct HeadMatrices {
  explicit HeadMatrices(const CapturedHead& head)
      : q(rows_of(head.queries)), k(rows_of(head.keys)), v(rows_of(head.values)) {}

  static RowMatrix rows_of(const StoredRows& rows) {
    RowMatrix matrix(rows.rows, rows.columns);
    heads::widen_rows(rows, 0, rows.rows, matrix.data(), rows.columns);
    return matrix;
  }

  RowMatrix q, k, v;
};

// One query's attention, straight from the definitions of docs/heads.md.
struct DirectQuery {
  DirectQuery(const HeadMatrices& head, std::int64_t number, double scale) {
    const Vector u = scale * head.q.row(number).transpose();
    const Vector scores = head.k * u;
    weights = (scores.array() - scores.maxCoeff()).exp();
    weights /= weights.sum();
    output = head.v.transpose() * weights;
    mean = head.v.colwise().mean();
    const RowMatrix centred_k = head.k.rowwise() - head.k.colwise().mean(),
                    centred_v = head.v.rowwise() - head.v.colwise().mean();
    const Matrix covariance = centred_v.transpose() * centred_k / static_cast<double>(head.k.rows());
    affine = mean + covariance * u;
  }

  Vector weights, output, mean, affine;
};

struct DirectHead {
  DirectHead(const HeadMatrices& head, double scale) {
    const std::int64_t rows = head.q.rows();
    for (std::int64_t i = 1; i <= kQueries; ++i) queries.emplace_back(head, i * rows / kQueries - 1, scale);
    std::vector<double> squares;
    for (const DirectQuery& one : queries) {
      squares.push_back(one.weights.squaredNorm());
      size += one.output.squaredNorm();
      uniform += (one.output - one.mean).squaredNorm();
      affine += (one.output - one.affine).squaredNorm();
    }
    std::nth_element(squares.begin(), squares.begin() + kQueries / 2, squares.end());
    P2 = squares[kQueries / 2];
    uniform /= size;
    affine /= size;
  }

  // The largest relative distance of what the audit says.
  double distance(const HeadAudit& found) const {
    double worst = 0;
    for (const auto& [here, there] :
         {std::pair{P2, found.P2}, {uniform, found.errors.uniform}, {affine, found.errors.affine}})
      worst = larger(worst, std::abs(there / here - 1));
    return worst;
  }

  std::vector<DirectQuery> queries;
  double P2 = 0, size = 0, uniform = 0, affine = 0;
};

// The relative error of L tokens drawn from those of the prompt with replacement, over drawn prompts. The
// control draws them by their weights.
PlainMean drawn_error(const HeadMatrices& head, const DirectHead& direct, std::int64_t L, int prompts,
                      const Stream& stream, bool by_weight) {
  const auto n = static_cast<double>(head.k.rows());
  std::vector<double> samples(static_cast<std::size_t>(prompts)), draws(static_cast<std::size_t>(L));
  std::uint64_t first = 0;
  for (double& sample : samples) {
    for (const DirectQuery& query : direct.queries) {
      stream.uniforms(first, draws);
      first += draws.size();
      double S = 0;
      Vector sum = Vector::Zero(head.v.cols());
      for (double draw : draws) {
        auto token = static_cast<std::ptrdiff_t>(draw * n);
        if (by_weight) {
          for (token = 0; token + 1 < head.k.rows() && draw >= query.weights[token]; ++token)
            draw -= query.weights[token];
        }
        S += query.weights[token];
        sum += query.weights[token] * head.v.row(token).transpose();
      }
      sample += (sum / S - query.output).squaredNorm() / direct.size;
    }
  }
  return mean_of(samples, [](double sample) { return sample; });
}

// What P₂ would be if the scores were normal with this spread; the audit's own number knows sinks, too.
double normal_P2(double spread, std::int64_t tokens) {
  return class_moments(std::vector<TokenClass>{{static_cast<double>(tokens), 0, spread}}).P2.value;
}

bool is_within_factor(double predicted, double measured) {
  return predicted <= kFactor * measured && measured <= kFactor * predicted;
}

Panel length_panel(const HeadAudit& head, const PlainMean& drawn) {
  Panel panel{.title = fmt::format("layer {}, head {}: {}", head.layer, head.head, name_of(head.kind)),
              .x_label = "tokens drawn from the prompt",
              .y_label = "relative error"};
  Curve measured{.label = "exact, for these tokens"},
      predicted{.label = "for Gaussian tokens", .style = Curve::Style::dashed, .color = 1},
      certified{.label = "bound", .style = Curve::Style::dotted, .color = 7},
      points{.label = "drawn", .style = Curve::Style::points, .color = 2};
  for (const SampledLength& at : head.lengths) {
    if (at.L > 1e5) break;
    measured.add(at.L, at.measured);
    predicted.add(at.L, at.predicted);
    certified.add(at.L, at.certified);
  }
  add_point(points, head.lengths[kDrawnLength].L, drawn);
  panel.curves = {measured, predicted, certified, points};
  return panel;
}

}  // namespace

report::ReportSection real_heads_claim(const ClaimOptions& options) {
  const bool little = options.quick || options.control;
  const int prompts = options.full ? 2000 : little ? 50 : 200;
  const std::span bytes(largo_captured_heads, largo_captured_heads_end);
  const Capture capture = Capture::from_bytes(std::as_bytes(bytes), "the captured heads of this report");
  const double scale = 1 / std::sqrt(static_cast<double>(capture.heads().front().keys.columns));
  AuditOptions audited{.queries = kQueries};
  if (options.control == 1) audited.scale = 1.01 * scale;
  const std::vector<HeadAudit> found = audit(capture, audited, options.execution);

  report::ReportTable table{
      "Heads by the error of their affine limit; errors are relative.",
      {"layer", "head", "kind", "spread of the scores", "P₂", "P₂ predicted", "error of the mean",
       "error of the affine limit", "error with sinks kept", "tokens for an error of 10 %"}};
  std::vector<std::pair<double, std::size_t>> order;
  std::vector<PlainMean> drawn;
  double direct_distance = 0, worst_z = 0;
  std::size_t missed = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const HeadAudit& head = found[i];
    const HeadMatrices matrices(capture.heads()[i]);
    const DirectHead direct(matrices, scale);
    direct_distance = larger(direct_distance, direct.distance(head));
    const SampledLength& at = head.lengths[kDrawnLength];
    drawn.push_back(drawn_error(matrices, direct, static_cast<std::int64_t>(at.L), prompts,
                                Stream(options.seed, i), options.control == 3));
    worst_z = larger(worst_z, drawn.back().z_score(at.measured));
    const double predicted =
        options.control == 2 ? normal_P2(2 * head.score_std, head.tokens) : head.P2_predicted;
    if (!is_within_factor(predicted, head.P2)) ++missed;
    order.emplace_back(head.errors.affine, i);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [error, i] : order) {
    const HeadAudit& head = found[i];
    table.rows.push_back({head.layer, head.head, std::string(name_of(head.kind)), head.score_std, head.P2,
                          head.P2_predicted, head.errors.uniform, head.errors.affine,
                          head.errors.sinks_affine, head.length_measured});
  }

  const HeadAudit& any = found.front();
  report::ReportSection claim{
      .computed = fmt::format(
          "{} heads of all-MiniLM-L6-v2, the first four heads of each of its layers 0, 2 and 5 (here 0, 1 "
          "and 2), over the "
          "{} "
          "tokens of largo's licence, {} queries of each: the audit of largo heads, attention in plain "
          "loops, "
          "and {} prompts of {} drawn tokens for each head and query. Other models and texts were not looked "
          "at "
          "here, and tokens drawn with replacement are not a shorter text.{}",
          found.size(), any.tokens, kQueries, prompts, any.lengths[kDrawnLength].L,
          chance_text(found.size()))};
  claim.numbers = {{"largest relative distance of audit and plain loops", direct_distance, kDirect},
                   largest_distance("drawn and exact error", worst_z, found.size()),
                   {"share of heads whose P₂ is not predicted within a factor of 2",
                    static_cast<double>(missed) / static_cast<double>(found.size()), kShareMissed}};
  claim.tables = {table};
  std::vector<Panel> panels;
  for (const std::size_t place : {std::size_t{0}, order.size() / 2, order.size() - 1}) {
    const std::size_t i = order[place].second;
    panels.push_back(length_panel(found[i], drawn[i]));
  }
  claim.figures = {
      {"real-heads",
       {std::move(panels),
        "Attention over L tokens drawn from the prompt, against attention over all of it: the head with the "
        "smallest error of its affine limit, that in the middle, and that with the largest. Points are "
        "means over drawn prompts, with two standard errors."}}};
  return decided(std::move(claim));
}

}  // namespace largo::claims
