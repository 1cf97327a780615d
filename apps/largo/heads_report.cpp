#include "heads_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/core.h>

namespace largo {
namespace {

io::Json to_json(const ReplacementErrors& errors) {
  return {{"uniform", io::number_json(errors.uniform)},
          {"affine", io::number_json(errors.affine)},
          {"sinks_affine", io::number_json(errors.sinks_affine)},
          {"mixture", io::number_json(errors.mixture)}};
}

struct HeldOutField {
  const char* name;
  double ReplacementErrors::*value;
};
constexpr std::array kHeldOut = {
    HeldOutField{"held_out_uniform", &ReplacementErrors::uniform},
    HeldOutField{"held_out_affine", &ReplacementErrors::affine},
    HeldOutField{"held_out_sinks_affine", &ReplacementErrors::sinks_affine},
    HeldOutField{"held_out_mixture", &ReplacementErrors::mixture},
};

std::string text_of(double value) { return std::isinf(value) ? "inf" : fmt::format("{}", value); }

bool has_sequences(const std::vector<HeadAudit>& audits) {
  return std::any_of(audits.begin(), audits.end(), [](const HeadAudit& one) { return one.sequence > 0; });
}

}  // namespace

io::Json to_json(const std::vector<HeadAudit>& audits, Curves curves) {
  io::Json rows = io::Json::array();
  for (const HeadAudit& audit : audits) {
    io::Json row = {{"layer", audit.layer}, {"head", audit.head}, {"sequence", audit.sequence}};
    for (const HeadField& field : head_fields()) row[field.name] = io::number_json(field.value(audit));
    row["kind"] = name_of(audit.kind);
    row["sinks"] = audit.sinks;
    if (audit.held_out_errors) row["held_out_errors"] = to_json(*audit.held_out_errors);
    if (curves == Curves::with) {
      for (const SampledLength& one : audit.lengths) {
        row["lengths"].push_back({{"L", io::number_json(one.L)},
                                  {"measured", io::number_json(one.measured)},
                                  {"predicted", io::number_json(one.predicted)},
                                  {"certified", io::number_json(one.certified)}});
      }
      row["score_shares"] = audit.scores.shares;
    }
    rows.push_back(std::move(row));
  }
  io::Json json;
  json["heads"] = std::move(rows);
  return json;
}

std::string to_csv(const std::vector<HeadAudit>& audits) {
  std::string text = "layer,head,sequence";
  for (const HeadField& field : head_fields()) text += fmt::format(",{}", field.name);
  for (const HeldOutField& field : kHeldOut) text += fmt::format(",{}", field.name);
  text += ",kind,sinks\n";
  for (const HeadAudit& audit : audits) {
    text += fmt::format("{},{},{}", audit.layer, audit.head, audit.sequence);
    for (const HeadField& field : head_fields()) text += "," + text_of(field.value(audit));
    for (const HeldOutField& field : kHeldOut) {
      text += ",";
      if (audit.held_out_errors) text += text_of((*audit.held_out_errors).*field.value);
    }
    text += fmt::format(",{},", name_of(audit.kind));
    for (std::size_t i = 0; i < audit.sinks.size(); ++i)
      text += fmt::format("{}{}", i > 0 ? " " : "", audit.sinks[i]);
    text += "\n";
  }
  return text;
}

void print_table(const std::vector<HeadAudit>& audits) {
  std::vector<const HeadAudit*> sorted;
  for (const HeadAudit& audit : audits) sorted.push_back(&audit);
  std::stable_sort(sorted.begin(), sorted.end(), [](const HeadAudit* a, const HeadAudit* b) {
    return a->errors.affine < b->errors.affine;
  });
  const bool sequences = has_sequences(audits);
  fmt::print(
      "{:>5}  {:>4}{}  {:<9}  {:>7}  {:>7}  {:>8}  {:>8}  {:>7}  {:>8}  {:>8}  {:>8}  {:>8}  {:>8}  {:>8}\n",
      "layer", "head", sequences ? "  prompt" : "", "kind", "std", "kurt.", "P2", "P2 pred.", "sinks",
      "uniform", "affine", "+ sinks", "mixture", "length", "L pred.");
  std::map<HeadKind, int> kinds;
  for (const HeadAudit* one : sorted) {
    ++kinds[one->kind];
    fmt::print(
        "{:>5}  {:>4}{}  {:<9}  {:>7.3g}  {:>7.3g}  {:>8.3g}  {:>8.3g}  {:>7.3g}  {:>8.3g}  {:>8.3g}  "
        "{:>8.3g}  {:>8.3g}  {:>8.3g}  {:>8.3g}\n",
        one->layer, one->head, sequences ? fmt::format("  {:>6}", one->sequence) : "", name_of(one->kind),
        one->score_std, one->score_kurtosis, one->P2, one->P2_predicted, one->sink_mass, one->errors.uniform,
        one->errors.affine, one->errors.sinks_affine, one->errors.mixture, one->length_measured,
        one->length_predicted);
  }
  std::string counts;
  for (const auto& [kind, count] : kinds)
    counts += fmt::format("{} {} {}", counts.empty() ? "" : ",", count, name_of(kind));
  fmt::print("{} {}:{}\n", audits.size(), audits.size() == 1 ? "head" : "heads", counts);
}

}  // namespace largo
