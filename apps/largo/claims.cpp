#include "claims.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/core.h>

#include "figure_data.hpp"
#include "report/shown_number.hpp"

namespace largo {
namespace {

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "holds";
    case Verdict::fails:
      return "fails";
    case Verdict::not_testable:
      return "not testable";
  }
  return "";
}

std::string cell_text(const Json& cell) {
  if (cell.is_string()) return cell.get<std::string>();
  if (cell.is_null()) return "";
  return shown(cell.get<double>(), 6);
}

// Columns: the names of UTF-8 characters have bytes that are not shown.
std::size_t shown_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

void print_row(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
  std::string line = " ";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += ' ';
    line.append(widths[i] - shown_width(cells[i]), ' ');
    line += cells[i];
  }
  fmt::print("{}\n", line);
}

void print_table(const ClaimTable& table) {
  std::vector<std::vector<std::string>> texts{table.columns};
  for (const auto& row : table.rows) {
    texts.emplace_back();
    for (const Json& cell : row) texts.back().push_back(cell_text(cell));
  }
  std::vector<std::size_t> widths(table.columns.size(), 0);
  for (const auto& row : texts) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], shown_width(row[i]) + 1);
  }
  fmt::print("  {}\n", table.title);
  for (const auto& row : texts) print_row(row, widths);
}

}  // namespace

void decide(Claim& claim, bool condition, const std::string& what) {
  bool holds = condition;
  claim.reason = what;
  for (const ClaimNumber& number : claim.numbers) {
    if (!number.limit) continue;
    holds = holds && number.value <= *number.limit;
    claim.reason += fmt::format("{}{}: {}, at most {}", claim.reason.empty() ? "" : "; ", number.label,
                                shown(number.value), shown(*number.limit));
  }
  claim.verdict = holds ? Verdict::holds : Verdict::fails;
}

Json to_json(const Claim& claim) {
  Json json{{"id", claim.id},
            {"title", claim.title},
            {"source", claim.source},
            {"statement", claim.statement},
            {"formula", claim.formula},
            {"computed", claim.computed},
            {"verdict", name_of(claim.verdict)},
            {"reason", claim.reason},
            {"numbers", Json::array()},
            {"tables", Json::array()},
            {"figures", Json::array()}};
  for (const ClaimNumber& number : claim.numbers) {
    Json one{{"label", number.label}, {"value", number_json(number.value)}};
    if (number.limit) one["limit"] = *number.limit;
    json["numbers"].push_back(std::move(one));
  }
  for (const ClaimTable& table : claim.tables) {
    json["tables"].push_back({{"title", table.title}, {"columns", table.columns}, {"rows", table.rows}});
  }
  for (const ClaimFigure& figure : claim.figures) {
    Json one{
        {"id", figure.id}, {"caption", figure.figure.caption}, {"panels", to_json(figure.figure.panels)}};
    if (figure.slider) {
      Json frames = Json::array();
      for (const auto& panels : figure.slider->panels) frames.push_back(to_json(panels));
      one["slider"] = {{"label", figure.slider->label},
                       {"values", to_json(figure.slider->values)},
                       {"panels", std::move(frames)}};
    }
    json["figures"].push_back(std::move(one));
  }
  return json;
}

void print(const Claim& claim) {
  fmt::print("{} ({}): {}\n  {}\n", claim.title, claim.source, claim.statement, claim.computed);
  for (const ClaimNumber& number : claim.numbers) {
    fmt::print("  {}: {}{}\n", number.label, shown(number.value, 4),
               number.limit ? fmt::format(" (at most {})", shown(*number.limit)) : "");
  }
  for (const ClaimTable& table : claim.tables) print_table(table);
  fmt::print("  verdict: {}{}\n\n", name_of(claim.verdict),
             claim.reason.empty() ? "" : fmt::format(" ({})", claim.reason));
}

std::vector<double> log_spaced(double first, double last, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(first * std::pow(last / first, i / (count - 1.0)));
  return values;
}

std::vector<double> log_spaced_lengths(double first, double last, int count) {
  std::vector<double> lengths;
  for (const double L : log_spaced(first, last, count)) {
    lengths.push_back(std::round(std::strtod(fmt::format("{:.1e}", L).c_str(), nullptr)));
  }
  return lengths;
}

}  // namespace largo
