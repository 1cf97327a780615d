#include "largo/icl/training/seed_summary.hpp"

#include <cmath>
#include <iterator>
#include <map>
#include <utility>

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

}  // namespace

std::vector<SeedSummary> summarise_seeds(const std::vector<TrainingRun>& runs) {
  std::vector<std::vector<const TrainingRun*>> groups;
  std::map<std::pair<AttentionKind, std::string>, std::size_t> places;
  for (const TrainingRun& run : runs) {
    const std::size_t place = places.try_emplace({run.attention, run.L.name()}, groups.size()).first->second;
    if (place == groups.size()) groups.emplace_back();
    groups[place].push_back(&run);
  }
  std::vector<SeedSummary> summaries;
  for (const auto& group : groups) summaries.push_back(summarise(group));
  return summaries;
}

}  // namespace largo
