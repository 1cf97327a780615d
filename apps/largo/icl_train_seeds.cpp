#include "icl_train_seeds.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

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

SeedSummary summarise(const std::vector<const TrainingRun*>& runs) {
  SeedSummary summary;
  summary.L = runs.front()->L;
  summary.attention = runs.front()->attention;
  std::vector<double> risks, flow_risks, excesses, predictions;
  for (const TrainingRun* run : runs) {
    (run->method == TrainingMethod::flow ? flow_risks : risks).push_back(run->final_risk.value);
    if (run->noise) excesses.push_back(run->noise->excess);
    if (run->predicted_noise) predictions.push_back(run->predicted_noise->excess);
    if (summary.no_prediction.empty()) summary.no_prediction = run->no_prediction;
  }
  summary.count = std::ssize(risks);
  if (!flow_risks.empty()) summary.flow_risk = over_seeds(flow_risks).mean;
  if (risks.empty()) return summary;
  summary.final_risk = over_seeds(risks);
  if (excesses.size() == risks.size()) summary.excess = over_seeds(excesses);
  if (predictions.size() == risks.size()) summary.predicted_excess = over_seeds(predictions).mean;
  return summary;
}

// Prints a line for each reason, with the lengths that it applies to.
void print_reasons(const std::vector<SeedSummary>& summaries) {
  std::vector<std::pair<std::string, std::string>> reasons;
  for (const SeedSummary& one : summaries) {
    if (one.no_prediction.empty()) continue;
    const std::string where = fmt::format("{} ({})", length_text(one.L), name_of(one.attention));
    const auto known = std::find_if(reasons.begin(), reasons.end(),
                                    [&](const auto& reason) { return reason.first == one.no_prediction; });
    if (known == reasons.end()) {
      reasons.emplace_back(one.no_prediction, where);
    } else {
      known->second += fmt::format(", {}", where);
    }
  }
  for (const auto& [reason, where] : reasons) fmt::print("no prediction at L = {}: {}\n", where, reason);
}

}  // namespace

std::vector<SeedSummary> summarise_seeds(const std::vector<TrainingRun>& runs) {
  std::vector<std::vector<const TrainingRun*>> groups;
  std::map<std::pair<AttentionKind, double>, std::size_t> places;
  for (const TrainingRun& run : runs) {
    const std::size_t place = places.try_emplace({run.attention, run.L}, groups.size()).first->second;
    if (place == groups.size()) groups.emplace_back();
    groups[place].push_back(&run);
  }
  std::vector<SeedSummary> summaries;
  for (const auto& group : groups) summaries.push_back(summarise(group));
  return summaries;
}

Json to_json(const SeedSummary& summary) {
  Json json{
      {"L", number_json(summary.L)}, {"attention", name_of(summary.attention)}, {"count", summary.count}};
  if (summary.final_risk) json["final_risk"] = to_json(*summary.final_risk);
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
    const OverSeeds risk = one.final_risk.value_or(OverSeeds()), excess = one.excess.value_or(OverSeeds());
    fmt::print("{:>8} {:>9} {:>5} {:>14} {:>9} {:>9} {:>14} {:>10} {:>9} {:>10}\n", length_text(one.L),
               name_of(one.attention), one.count > 0 ? fmt::format("{}", one.count) : "",
               one.final_risk ? fmt::format("{:.8g}", shown_risk(risk.mean, null_risk)) : "",
               shown(risk.error, "{:.1e}"), shown(risk.deviation, "{:.1e}"),
               one.flow_risk ? fmt::format("{:.8g}", shown_risk(*one.flow_risk, null_risk)) : "",
               one.excess ? fmt::format("{:+.2e}", excess.mean) : "", shown(excess.error, "{:.1e}"),
               shown(one.predicted_excess, "{:+.2e}"));
  }
  fmt::print(
      "mean risk: mean over seeds after training, with its standard error and the standard deviation of one "
      "run; excess: risk above the flow's, in the last fifth of the time\n");
  print_reasons(summaries);
}

}  // namespace largo
