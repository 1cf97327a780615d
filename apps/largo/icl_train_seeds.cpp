#include "icl_train_seeds.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/core.h>

#include "icl_train_report.hpp"

namespace largo {

OverSeeds over_seeds(const std::vector<double>& values) {
  OverSeeds over;
  const auto count = static_cast<double>(values.size());
  for (const double x : values) over.mean += x / count;
  if (values.size() < 2) return over;
  double squares = 0;
  for (const double x : values) squares += (x - over.mean) * (x - over.mean);
  over.deviation = std::sqrt(squares / (count - 1));
  over.error = *over.deviation / std::sqrt(count);
  return over;
}

namespace {

Json to_json(const OverSeeds& over) {
  Json json{{"mean", over.mean}};
  if (over.deviation) json["standard_deviation"] = *over.deviation;
  if (over.error) json["standard_error"] = *over.error;
  return json;
}

SeedSummary summarise(const std::vector<TrainingRun>& runs, double L, AttentionKind attention) {
  std::vector<double> risks, flow_risks, excesses, predictions;
  for (const TrainingRun& run : runs) {
    if (run.L != L || run.attention != attention) continue;
    (run.method == TrainingMethod::flow ? flow_risks : risks).push_back(run.final_risk.value);
    if (run.noise) excesses.push_back(run.noise->excess);
    if (run.predicted_noise) predictions.push_back(run.predicted_noise->excess);
  }
  SeedSummary summary{L, attention, std::ssize(risks), over_seeds(risks), {}, {}, {}};
  if (!flow_risks.empty()) summary.flow_risk = over_seeds(flow_risks).mean;
  if (excesses.size() == risks.size()) summary.excess = over_seeds(excesses);
  if (predictions.size() == risks.size()) summary.predicted_excess = over_seeds(predictions).mean;
  return summary;
}

}  // namespace

std::vector<SeedSummary> summarise_seeds(const std::vector<TrainingRun>& runs) {
  std::vector<SeedSummary> summaries;
  for (const TrainingRun& run : runs) {
    if (run.method != TrainingMethod::descent) continue;
    const bool known = std::any_of(summaries.begin(), summaries.end(), [&](const SeedSummary& one) {
      return one.L == run.L && one.attention == run.attention;
    });
    if (!known) summaries.push_back(summarise(runs, run.L, run.attention));
  }
  return summaries;
}

Json to_json(const SeedSummary& summary) {
  Json json{{"L", length_json(summary.L)},
            {"attention", name_of(summary.attention)},
            {"count", summary.count},
            {"final_risk", to_json(summary.final_risk)}};
  if (summary.flow_risk) json["flow_risk"] = *summary.flow_risk;
  if (summary.excess) json["excess"] = to_json(*summary.excess);
  if (summary.predicted_excess) json["predicted_excess"] = *summary.predicted_excess;
  return json;
}

void print_table(const std::vector<SeedSummary>& summaries, double null_risk) {
  const auto shown = [](const std::optional<double>& value, const char* format) {
    return value ? fmt::format(fmt::runtime(format), *value) : std::string();
  };
  fmt::print("{:>8} {:>9} {:>5} {:>14} {:>9} {:>9} {:>14} {:>10} {:>9} {:>10}\n", "L", "attention", "seeds",
             "mean risk", "error", "deviation", "flow", "excess", "error", "predicted");
  for (const SeedSummary& one : summaries) {
    fmt::print("{:>8} {:>9} {:>5} {:>14.8g} {:>9} {:>9} {:>14} {:>10} {:>9} {:>10}\n", length_text(one.L),
               name_of(one.attention), one.count, shown_risk(one.final_risk.mean, null_risk),
               shown(one.final_risk.error, "{:.1e}"), shown(one.final_risk.deviation, "{:.1e}"),
               shown(one.flow_risk, "{:.8g}"),
               one.excess ? fmt::format("{:+.2e}", one.excess->mean) : std::string(),
               one.excess ? shown(one.excess->error, "{:.1e}") : std::string(),
               shown(one.predicted_excess, "{:+.2e}"));
  }
  fmt::print(
      "over seeds: mean of the risk after training, its standard error and the standard deviation of one "
      "run; "
      "excess: over the flow's risk, in the last fifth of the time\n");
}

}  // namespace largo
