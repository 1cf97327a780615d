#include "icl_train_report.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "icl_options.hpp"
#include "largo/icl/training/seed_summary.hpp"

namespace largo {
namespace {

io::Json supremum_json(const TrajectoryDistance& distance) {
  return {{"value", distance.value}, {"time", distance.time}};
}

io::Json distance_json(const PathDistance& distance) {
  return {{"parameters", supremum_json(distance.parameters)},
          {"predictions", supremum_json(distance.predictions)}};
}

// The name of a law may contain commas.
std::string csv_field(const std::string& text) {
  return text.find(',') == std::string::npos ? text : fmt::format("\"{}\"", text);
}

// The last column of U meets the zero of a query (x_q, 0), and has no effect.
double norm_of_scores(const TrainingPlan& plan, const RegressionParameters& head) {
  return plan.other ? head.U.norm() : head.U.leftCols(plan.problem.dimension()).norm();
}

io::Json evaluated_json(const TrainReport& report, const TrainingRun& run) {
  io::Json json = io::Json::array();
  for (std::size_t i = 0; i < run.evaluated.size(); ++i) {
    json.push_back({{"L", length_json(report.plan.evaluate[i])},
                    {"risk", run.evaluated[i].value},
                    {"error", run.evaluated[i].error}});
  }
  return json;
}

io::Json run_json(const TrainReport& report, const TrainingRun& run) {
  io::Json json{
      {"L", length_json(run.L)}, {"attention", name_of(run.attention)}, {"method", name_of(run.method)},
      {"seed", run.seed},        {"final_risk", run.final_risk.value},  {"risk_error", run.final_risk.error}};
  if (run.record_error) json["record_error"] = *run.record_error;
  if (!run.evaluated.empty()) json["evaluated"] = evaluated_json(report, run);
  if (run.average) json["average"] = name_of(*run.average);
  const Eigen::Index d = token_dimension(report.plan) - 1;
  if (report.plan.parameters == Parametrisation::invariant) {
    json["b"] = run.last.v[d];
    json["A"] = largo::to_json(Matrix(run.last.U.topLeftCorner(d, d)));
  } else {
    json["U"] = largo::to_json(run.last.U);
    if (run.last.v.size() == d + 1) {
      json["v"] = largo::to_json(Matrix(run.last.v.transpose()))[0];
    } else {
      json["V"] = largo::to_json(Matrix(run.last.v.reshaped(d + 1, run.last.v.size() / (d + 1)).transpose()));
    }
  }
  json["time"] = run.path.end();
  json["steps"] = run.steps;
  if (run.method == TrainingMethod::flow) json["stationary"] = run.stationary;
  if (run.flat) json["flat"] = true;
  if (run.balance_drift) json["balance_drift"] = *run.balance_drift;
  if (run.to_limit_flow) {
    json["distance_to_limit_flow"] = run.to_limit_flow->parameters.value;
    json["distances_to_limit_flow"] = distance_json(*run.to_limit_flow);
  }
  if (run.to_theorem) json["distance_to_theorem_limit"] = *run.to_theorem;
  if (run.gradient_gap) json["gradient_gap"] = *run.gradient_gap;
  if (run.to_flow) json["distances_to_flow"] = distance_json(*run.to_flow);
  if (run.noise) json["noise"] = {{"excess", run.noise->excess}, {"spread", run.noise->spread}};
  if (run.predicted_noise) {
    json["predicted_noise"] = {{"excess", run.predicted_noise->excess},
                               {"spread", run.predicted_noise->spread}};
  }
  if (!run.no_prediction.empty()) json["no_prediction"] = run.no_prediction;
  return json;
}

io::Json over_json(const OverSeeds& over) {
  io::Json json{{"mean", over.mean}};
  if (over.deviation) json["standard_deviation"] = *over.deviation;
  if (over.error) json["standard_error"] = *over.error;
  return json;
}

io::Json summary_json(const SeedSummary& summary) {
  io::Json json{
      {"L", length_json(summary.L)}, {"attention", name_of(summary.attention)}, {"count", summary.count}};
  if (summary.final_risk) json["final_risk"] = over_json(*summary.final_risk);
  if (summary.flow_risk) json["flow_risk"] = *summary.flow_risk;
  if (summary.excess) json["excess"] = over_json(*summary.excess);
  if (summary.predicted_excess) json["predicted_excess"] = *summary.predicted_excess;
  return json;
}

}  // namespace

const char* name_of(TrainingMethod method) { return method == TrainingMethod::flow ? "flow" : "sgd"; }

io::Json to_json(const TrainReport& report) {
  io::Json json;
  json["runs"] = io::Json::array();
  for (const TrainingRun& run : report.runs) json["runs"].push_back(run_json(report, run));
  for (const SeedSummary& one : summarise_seeds(report.runs)) {
    if (one.count > 0) json["seeds"].push_back(summary_json(one));  // a flow alone has no summary
  }
  json["null"] = {{"value", report.null_risk}};
  if (!report.warnings.empty()) json["warnings"] = report.warnings;
  return json;
}

std::string to_csv(const TrainReport& report) {
  const bool invariant = report.plan.parameters == Parametrisation::invariant;
  const Eigen::Index d = token_dimension(report.plan) - 1;
  std::string text = "L,attention,method,seed,time,risk,";
  text += invariant ? "norm_A,b\n" : "norm_U,norm_v\n";
  for (const TrainingRun& run : report.runs) {
    for (const TrajectoryPoint& point : run.path.points()) {
      const RegressionParameters here = to_head(report.plan, run.map->map(point.parameters));
      text += fmt::format("{},{},{},{},{:.17g},{:.17g},{:.17g},{:.17g}\n", csv_field(length_text(run.L)),
                          name_of(run.attention), name_of(run.method), run.seed, point.time, point.risk,
                          norm_of_scores(report.plan, here), invariant ? here.v[d] : here.v.norm());
    }
  }
  return text;
}

namespace {

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

// The width of the column of lengths: laws have long names.
template <typename Rows>
std::size_t length_width(const Rows& rows) {
  std::size_t width = 8;
  for (const auto& row : rows) width = std::max(width, length_text(row.L).size());
  return width;
}

// Prints a header, a line for each summary, and why predictions are missing.
void print_table(const std::vector<SeedSummary>& summaries, double null_risk) {
  const auto shown = [](const std::optional<double>& value, const char* format) {
    return value ? fmt::format(fmt::runtime(format), *value) : std::string();
  };
  const std::size_t width = length_width(summaries);
  fmt::print("{:>{}} {:>9} {:>5} {:>14} {:>9} {:>9} {:>14} {:>10} {:>9} {:>10}\n", "L", width, "attention",
             "seeds", "mean risk", "error", "deviation", "flow", "excess", "error", "predicted");
  for (const SeedSummary& one : summaries) {
    const OverSeeds risk = one.final_risk.value_or(OverSeeds()), excess = one.excess.value_or(OverSeeds());
    fmt::print("{:>{}} {:>9} {:>5} {:>14} {:>9} {:>9} {:>14} {:>10} {:>9} {:>10}\n", length_text(one.L),
               width, name_of(one.attention), one.count > 0 ? fmt::format("{}", one.count) : "",
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

// Prints the risks at other lengths: a row for each run, a column for each length.
void print_evaluated(const TrainReport& report) {
  if (report.plan.evaluate.empty()) return;
  const std::size_t width = std::max<std::size_t>(length_width(report.runs), 10);
  const auto heading = [](const LengthLaw& L) { return fmt::format("L = {}", length_text(L)); };
  fmt::print("risks of what was trained, at the lengths of --evaluate:\n{:>{}} {:>9} {:>6}", "trained at",
             width, "attention", "method");
  for (const LengthLaw& L : report.plan.evaluate) fmt::print(" {:>14}", heading(L));
  fmt::print("\n");
  for (const TrainingRun& run : report.runs) {
    fmt::print("{:>{}} {:>9} {:>6}", length_text(run.L), width, name_of(run.attention), name_of(run.method));
    for (std::size_t i = 0; i < run.evaluated.size(); ++i) {
      const std::size_t column = std::max<std::size_t>(14, heading(report.plan.evaluate[i]).size());
      fmt::print(" {:>{}.8g}", shown_risk(run.evaluated[i].value, report.null_risk), column);
    }
    fmt::print("\n");
  }
}

// How averages over the prompts of flows are known.
std::string averages_of(const std::vector<TrainingRun>& runs) {
  std::string names;
  for (const TrainingRun& run : runs) {
    if (!run.average || *run.average == PromptAverage::limit) continue;
    const std::string name = name_of(*run.average);
    if (names.find(name) == std::string::npos) names += names.empty() ? name : " and " + name;
  }
  return names.empty() ? "no" : names;
}

// Prints a line for each run.
void print_runs(const TrainReport& report) {
  const bool invariant = report.plan.parameters == Parametrisation::invariant;
  const std::size_t width = length_width(report.runs);
  fmt::print("{:>{}} {:>9} {:>6} {:>14} {:>8} {:>10} {:>10} {:>10} {:>11} {:>11}\n", "L", width, "attention",
             "method", "final risk", "error", "|A| or |U|", invariant ? "b" : "|v|", "time", "to limit",
             "gap");
  const Eigen::Index d = token_dimension(report.plan) - 1;
  for (const TrainingRun& run : report.runs) {
    const double weight = invariant ? run.last.v[d] : run.last.v.norm();
    fmt::print("{:>{}} {:>9} {:>6} {:>14.8g} {:>8.0e} {:>10.5g} {:>10.5g} {:>10} {:>11} {:>11}\n",
               length_text(run.L), width, name_of(run.attention), name_of(run.method),
               shown_risk(run.final_risk.value, report.null_risk), run.final_risk.error,
               norm_of_scores(report.plan, run.last), weight,
               run.stationary ? "end"
               : run.flat     ? "flat"
                              : fmt::format("{:.4g}", run.path.end()),
               run.to_limit_flow ? fmt::format("{:.4g}", run.to_limit_flow->parameters.value) : "",
               run.gradient_gap ? fmt::format("{:.4g}", *run.gradient_gap) : "");
  }
  fmt::print(
      "to limit: largest distance over time from the flow of the infinite prompt; gap: largest difference of "
      "gradients along it\n");
  if (report.plan.other) {
    fmt::print("error: standard error over {} fresh draws", kDrawsAtEnds * report.plan.prompts);
    if (has(report.plan, TrainingMethod::flow)) {
      fmt::print("; flows average over {} draws of their own ({} prompts)", report.plan.prompts,
                 averages_of(report.runs));
    }
    fmt::print("\n");
  }
  print_evaluated(report);
  const auto flat = [](const TrainingRun& run) { return run.flat; };
  if (std::any_of(report.runs.begin(), report.runs.end(), flat)) {
    fmt::print(
        "flat: the flow stopped before its end, because its motion cannot be told from rounding; the risk "
        "could still fall\n");
  }
  for (const TrainingRun& run : report.runs) {
    if (!run.noise) continue;
    fmt::print(
        "sgd at L = {} ({}): risk minus the flow's {:+.2e}, spread {:.1e}, in the last fifth of the time",
        length_text(run.L), name_of(run.attention), run.noise->excess, run.noise->spread);
    if (run.predicted_noise) {
      fmt::print("; predicted {:+.2e}, spread {:.1e}", run.predicted_noise->excess,
                 run.predicted_noise->spread);
    } else {
      fmt::print("; no prediction: {}", run.no_prediction);
    }
    fmt::print("\n");
  }
}

}  // namespace

void print_report(const TrainReport& report) {
  if (report.plan.seeds > 1) {
    print_table(summarise_seeds(report.runs), report.null_risk);
  } else {
    print_runs(report);
  }
  for (const TrainingRun& run : report.runs) {
    if (!run.to_theorem) continue;
    fmt::print("the flow of the infinite prompt ends at a distance of {} from the paper's limit (A, b)\n",
               *run.to_theorem < 1e-9 ? "less than 1e-9" : fmt::format("{:.3g}", *run.to_theorem));
  }
  for (const std::string& warning : report.warnings) fmt::print("warning: {}\n", warning);
}

}  // namespace largo
