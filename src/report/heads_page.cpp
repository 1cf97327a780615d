#include "report/heads_page.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "largo/version.hpp"

namespace largo::report {
namespace {

constexpr double kLongest = 1 << 20;  // of the lengths that a figure shows: every fourth power of two

// With a thousand heads on a page digits that nobody sees are most of its bytes.
double rounded(double value) { return std::stod(fmt::format("{:.5g}", value)); }

Figure errors_against_length(const HeadAudit& audit, double tolerance) {
  Curve measured{.label = "measured"},
      predicted{.label = "predicted", .style = Curve::Style::dashed, .color = 1},
      certified{.label = "certified bound", .style = Curve::Style::dotted, .color = 7};
  for (std::size_t i = 0; i < audit.lengths.size() && audit.lengths[i].L <= kLongest; i += 2) {
    const SampledLength& one = audit.lengths[i];
    for (Curve* curve : {&measured, &predicted, &certified}) curve->x.push_back(one.L);
    measured.y.push_back(rounded(one.measured));
    predicted.y.push_back(rounded(one.predicted));
    certified.y.push_back(rounded(one.certified));
  }
  Panel panel{.x_label = "tokens drawn from the prompt, L",
              .y_label = "relative error",
              .curves = {measured, predicted, certified}};
  return {{panel},
          fmt::format("Error of attention over L tokens drawn from those a query sees, relative to "
                      "the outputs. The tolerance {} holds from L = {} on (predicted: {}).",
                      shown(tolerance), shown(audit.length_measured), shown(audit.length_predicted))};
}

// At both ends of every interval of the histogram.
Curve normal_density() {
  Curve curve{.label = "normal density", .color = 7};
  for (std::size_t b = 0; b <= kScoreBins; ++b) {
    const double z = -kScoreRange + kScoreBinWidth * static_cast<double>(b);
    curve.x.push_back(z);
    curve.y.push_back(rounded(std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi)));
  }
  return curve;
}

// None if all scores of each query agree.
std::optional<Figure> histogram_of_scores(const HeadAudit& audit) {
  const ScoreHistogram& scores = audit.scores;
  Curve bars{.label = "scores of the head", .style = Curve::Style::bars};
  double inside = 0;
  for (std::size_t b = 0; b < kScoreBins; ++b) {
    bars.x.push_back(-kScoreRange + kScoreBinWidth * (static_cast<double>(b) + 0.5));
    bars.y.push_back(rounded(scores.shares[b] / kScoreBinWidth));
    inside += scores.shares[b];
  }
  if (inside == 0 && scores.below == 0 && scores.above == 0) return std::nullopt;
  Panel panel{.x_label = "score − mean, in standard deviations",
              .y_label = "density",
              .log_x = false,
              .log_y = false,
              .curves = {bars, normal_density()}};
  const auto percent = [](double share) { return shown(100 * share); };
  return Figure{
      {panel},
      fmt::format("Scores of {} queries, each less the mean of its query’s scores and divided by their "
                  "standard deviation. {} % of them are below {}, {} % are {} or more.",
                  audit.queries, percent(scores.below), shown(-kScoreRange), percent(scores.above),
                  shown(kScoreRange))};
}

// Quantities that spread over powers of ten have a logarithmic scale.
bool is_log(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return *low > 0 && *high > 20 * *low;
}

std::vector<std::string> labels(const std::set<std::int64_t>& numbers) {
  std::vector<std::string> texts;
  for (const std::int64_t number : numbers) texts.push_back(fmt::format("{}", number));
  return texts;
}

ReportGrid grid_of(const std::vector<const HeadAudit*>& audits, double tolerance, const std::string& id) {
  std::set<std::int64_t> layers, heads;
  for (const HeadAudit* audit : audits) {
    layers.insert(audit->layer);
    heads.insert(audit->head);
  }
  const auto place = [](const std::set<std::int64_t>& in, std::int64_t number) {
    return static_cast<std::size_t>(std::distance(in.begin(), in.find(number)));
  };
  const std::vector<std::vector<ReportCell>> empty(layers.size(), std::vector<ReportCell>(heads.size()));
  ReportGrid grid{.id = id,
                  .caption =
                      "The heads of the model. Choose a number to colour them by, and a head to see all "
                      "its numbers, its error against the length and the histogram of its scores.",
                  .row = "layer",
                  .column = "head",
                  .rows = labels(layers),
                  .columns = labels(heads)};
  GridQuantity kinds{"kind", false, empty};
  grid.details.assign(layers.size(), std::vector<std::vector<Figure>>(heads.size()));
  for (const HeadAudit* audit : audits) {
    const std::size_t i = place(layers, audit->layer), j = place(heads, audit->head);
    kinds.values[i][j] = std::string(name_of(audit->kind));
    grid.details[i][j] = {errors_against_length(*audit, tolerance)};
    if (auto histogram = histogram_of_scores(*audit)) grid.details[i][j].push_back(std::move(*histogram));
  }
  grid.quantities.push_back(std::move(kinds));
  for (const HeadField& field : head_fields()) {
    GridQuantity quantity{field.meaning, false, empty};
    std::vector<double> values;
    for (const HeadAudit* audit : audits) {
      values.push_back(rounded(field.value(*audit)));
      quantity.values[place(layers, audit->layer)][place(heads, audit->head)] = values.back();
    }
    quantity.log = is_log(values);
    grid.quantities.push_back(std::move(quantity));
  }
  return grid;
}

ReportTable table_of(std::vector<const HeadAudit*> audits) {
  std::stable_sort(audits.begin(), audits.end(), [](const HeadAudit* a, const HeadAudit* b) {
    return a->errors.affine < b->errors.affine;
  });
  ReportTable table{"Errors of replacing a head, sorted by that of the affine limit.",
                    {"layer", "head", "kind", "spread of scores", "effective tokens", "mean value", "affine",
                     "sinks and affine", "mixture", "length", "predicted"}};
  for (const HeadAudit* a : audits) {
    table.rows.push_back({a->layer, a->head, std::string(name_of(a->kind)), rounded(a->score_std),
                          rounded(a->effective_tokens), rounded(a->errors.uniform), rounded(a->errors.affine),
                          rounded(a->errors.sinks_affine), rounded(a->errors.mixture),
                          rounded(a->length_measured), rounded(a->length_predicted)});
  }
  return table;
}

ReportSection section_of(const std::vector<const HeadAudit*>& audits, double tolerance, std::string id,
                         std::string title) {
  std::string counts;
  for (const HeadKind kind : {HeadKind::averaging, HeadKind::affine, HeadKind::sink, HeadKind::local,
                              HeadKind::retrieval, HeadKind::mixed}) {
    const auto count =
        std::count_if(audits.begin(), audits.end(), [&](const HeadAudit* a) { return a->kind == kind; });
    if (count > 0) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, name_of(kind));
  }
  const HeadAudit& first = *audits.front();
  ReportSection section{
      .id = id,
      .title = std::move(title),
      .statement = fmt::format("{} heads of {} tokens: {}.", audits.size(), first.tokens, counts),
      .computed = fmt::format("Statistics are medians over {} queries of each head. Errors are sums of "
                              "squares over these queries, "
                              "divided by that of the outputs; the moments of a replacement are those of the "
                              "same prompt. They are "
                              "errors of one head, not of the model. An error of at most {} counts as small.",
                              first.queries, shown(tolerance))};
  section.grids = {grid_of(audits, tolerance, id + "-grid")};
  section.tables = {table_of(audits)};
  return section;
}

}  // namespace

Report heads_page(const std::vector<HeadAudit>& audits, double tolerance, const std::string& command) {
  Report report{.kind = "heads",
                .title = "Which heads are in the large-prompt regime?",
                .intro =
                    "Attention heads of a model on a prompt: how near each is to the limit of long prompts, "
                    "which is affine in the query, how long a prompt it needs, and what it does instead.",
                .version = kVersion,
                .command = command};
  std::set<std::int64_t> sequences;
  for (const HeadAudit& audit : audits) sequences.insert(audit.sequence);
  for (const std::int64_t sequence : sequences) {
    std::vector<const HeadAudit*> members;
    for (const HeadAudit& audit : audits)
      if (audit.sequence == sequence) members.push_back(&audit);
    const std::string id = sequences.size() == 1 ? "heads" : fmt::format("prompt-{}", sequence);
    report.sections.push_back(
        section_of(members, tolerance, id,
                   sequences.size() == 1 ? "Heads" : fmt::format("Heads on prompt {}", sequence)));
  }
  return report;
}

}  // namespace largo::report
