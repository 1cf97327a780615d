#include "temperature_report.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "largo/report/figure.hpp"

namespace largo {
namespace {

io::Json row_json(const TemperatureRow& row, bool has_needle) {
  const CrowdWeights& weights = row.at.weights;
  io::Json json, errors;
  const auto add = [&](const char* name, const std::optional<Estimate>& estimate) {
    json[name] = estimate ? io::Json(estimate->value) : io::Json(nullptr);
    if (estimate) errors[name] = estimate->error;
  };
  json["L"] = row.L;
  json["law"] = row.law;
  json["beta"] = row.at.beta;
  add("effective_tokens", weights.effective_tokens);
  add("entropy", weights.entropy);
  add("needle_weight", has_needle ? std::optional(weights.needle) : std::nullopt);
  add("crowd_weight", weights.crowd);
  json["planted_weights"] = io::Json::array();
  for (const Estimate& one : weights.planted) json["planted_weights"].push_back(one.value);
  add("log_partition", weights.log_partition);
  add("output_error", row.output_error);
  json["errors"] = std::move(errors);
  return json;
}

// A field in quotes: a name may have a comma, and that of a file even quotes.
std::string quoted(const std::string& text) {
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + '"';
}

}  // namespace

io::Json to_json(const TemperatureReport& report) {
  io::Json json;
  json["rows"] = io::Json::array();
  for (const TemperatureRow& row : report.rows) json["rows"].push_back(row_json(row, !report.needle.empty()));
  if (report.growth) {
    json["growth"] = {{"from", report.growth->from},
                      {"to", report.growth->to},
                      {"power", report.growth->power},
                      {"power_of_log", report.growth->power_of_log}};
  }
  return json;
}

std::string to_csv(const TemperatureReport& report) {
  std::string text = "L,law,beta,effective_tokens,entropy,needle_weight,crowd_weight,output_error\n";
  const auto number = [](double value) { return fmt::format("{}", value); };
  for (const TemperatureRow& row : report.rows) {
    const CrowdWeights& weights = row.at.weights;
    text += fmt::format("{},{},{},{},{},{},{},{}\n", number(row.L), quoted(row.law), number(row.at.beta),
                        number(weights.effective_tokens.value), number(weights.entropy.value),
                        report.needle.empty() ? "" : number(weights.needle.value),
                        number(weights.crowd.value), row.output_error ? number(row.output_error->value) : "");
  }
  return text;
}

std::string to_svg(const TemperatureReport& report) {
  Panel beta{.title = "factor on the scores", .x_label = "tokens L", .y_label = "β(L)"},
      tokens{.title = "effective tokens", .x_label = "tokens L", .y_label = "1 / E[P₂]"},
      third{.title = "entropy", .x_label = "tokens L", .y_label = "E[H]", .log_y = false};
  const bool needle = !report.needle.empty();
  if (needle) third = {.title = "weight of the needle", .x_label = "tokens L", .y_label = "mean weight"};
  std::map<std::string, int> colors;
  const std::vector<TemperatureRow>& rows = report.rows;
  for (std::size_t i = 0; i < rows.size();) {
    const std::string& law = rows[i].law;
    Curve one{.label = law, .color = colors.emplace(law, static_cast<int>(colors.size())).first->second};
    Curve two = one, three = one;
    for (; i < rows.size() && rows[i].law == law; ++i) {
      const CrowdWeights& weights = rows[i].at.weights;
      one.add(rows[i].L, rows[i].at.beta);
      two.add(rows[i].L, weights.effective_tokens.value);
      three.add(rows[i].L, needle ? weights.needle.value : weights.entropy.value);
    }
    beta.curves.push_back(std::move(one));
    tokens.curves.push_back(std::move(two));
    third.curves.push_back(std::move(three));
  }
  std::string caption = fmt::format("Softmax weights over a crowd of L tokens, {}", report.crowd);
  if (needle) caption += fmt::format(", and a needle of score {}", report.needle);
  if (report.has_planted) caption += ", beside sinks";
  return to_svg(Figure{{beta, tokens, third}, caption + ". Exact, at the marked lengths."});
}

void print_report(const TemperatureReport& report) {
  const std::vector<TemperatureRow>& rows = report.rows;
  const bool needle = !report.needle.empty(), alone = rows.front().output_error.has_value();
  std::size_t width = 6;
  for (const TemperatureRow& row : rows) width = std::max(width, row.law.size());
  fmt::print("{:>10}  {:<{}}  {:>10}  {:>12}  {:>10}", "L", "law", width, "beta", "eff. tokens", "entropy");
  if (needle) fmt::print("  {:>12}", "needle");
  fmt::print("  {:>12}\n", alone ? "output error" : "crowd");
  for (const TemperatureRow& row : rows) {
    const CrowdWeights& weights = row.at.weights;
    fmt::print("{:>10.4g}  {:<{}}  {:>10.6g}  {:>12.6g}  {:>10.6g}", row.L, row.law, width, row.at.beta,
               weights.effective_tokens.value, weights.entropy.value);
    if (needle) fmt::print("  {:>12.6g}", weights.needle.value);
    fmt::print("  {:>12.6g}\n", alone ? row.output_error->value : weights.crowd.value);
  }
  if (report.growth) {
    fmt::print(
        "from L = {:.4g} to {:.4g} beta grows like (ln L)^{:.3f}, or like L^{:.3f}: read off, not proved\n",
        report.growth->from, report.growth->to, report.growth->power_of_log, report.growth->power);
  }
}

}  // namespace largo
