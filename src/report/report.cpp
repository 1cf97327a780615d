#include "report/report.hpp"

#include <cstddef>
#include <map>

#include <fmt/format.h>

namespace largo::report {
namespace {

const char* name_of(Curve::Style style) {
  switch (style) {
    case Curve::Style::line: return "line";
    case Curve::Style::dashed: return "dashed";
    case Curve::Style::dotted: return "dotted";
    case Curve::Style::points: return "points";
    case Curve::Style::bars: return "bars";
  }
  return "";
}

// Quotes a field where CSV requires it.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

io::Json to_json(const std::vector<double>& values) {
  io::Json list = io::Json::array();
  for (const double value : values) list.push_back(io::number_json(value));
  return list;
}

// Lists of numbers that several curves have, such as the same x: they are written once, and the curves have
// the number of the list. Only grids, where there may be thousands of curves, share lists.
class SharedLists {
 public:
  SharedLists() = default;
  explicit SharedLists(const ReportGrid& grid) {
    std::map<std::vector<double>, int> uses;
    each_list(grid, [&](const std::vector<double>& list) { ++uses[list]; });
    each_list(grid, [&](const std::vector<double>& list) {
      if (list.size() < kShort || uses[list] < 2 || numbers_.contains(list)) return;
      numbers_.emplace(list, lists_.size());
      lists_.push_back(to_json(list));
    });
  }

  io::Json of(const std::vector<double>& list) const {
    const auto found = numbers_.find(list);
    return found == numbers_.end() ? to_json(list) : io::Json(found->second);
  }
  const io::Json& lists() const { return lists_; }

 private:
  static constexpr std::size_t kShort = 4;

  template <typename Act>
  static void each_list(const ReportGrid& grid, const Act& act) {
    for (const auto& row : grid.details)
      for (const auto& cell : row)
        for (const Figure& figure : cell)
          for (const Panel& panel : figure.panels)
            for (const Curve& curve : panel.curves)
              for (const auto* list : {&curve.x, &curve.y, &curve.low, &curve.high}) act(*list);
  }

  std::map<std::vector<double>, std::size_t> numbers_;
  io::Json lists_ = io::Json::array();
};

io::Json to_json(const std::vector<Panel>& panels, const SharedLists& lists = {}) {
  io::Json all = io::Json::array();
  for (const Panel& panel : panels) {
    io::Json one{{"title", panel.title}, {"x_label", panel.x_label}, {"y_label", panel.y_label},
                 {"log_x", panel.log_x}, {"log_y", panel.log_y},     {"curves", io::Json::array()}};
    for (const Curve& curve : panel.curves) {
      io::Json json{{"label", curve.label}, {"x", lists.of(curve.x)}, {"y", lists.of(curve.y)}};
      if (!curve.low.empty()) {
        json["low"] = lists.of(curve.low);
        json["high"] = lists.of(curve.high);
      }
      json["style"] = name_of(curve.style);
      json["color"] = curve.color;
      one["curves"].push_back(std::move(json));
    }
    all.push_back(std::move(one));
  }
  return all;
}

io::Json to_json(const ReportCell& cell) {
  if (const double* number = std::get_if<double>(&cell.value)) return io::number_json(*number);
  if (const std::string* text = std::get_if<std::string>(&cell.value)) return *text;
  return nullptr;
}

io::Json to_json(const std::vector<std::vector<ReportCell>>& rows) {
  io::Json all = io::Json::array();
  for (const auto& row : rows) {
    io::Json cells = io::Json::array();
    for (const ReportCell& cell : row) cells.push_back(to_json(cell));
    all.push_back(std::move(cells));
  }
  return all;
}

io::Json to_json(const ReportTable& table) {
  return {{"title", table.title}, {"columns", table.columns}, {"rows", to_json(table.rows)}};
}

io::Json to_json(const FigureSlider& slider) {
  io::Json panels = io::Json::array();
  for (const auto& one : slider.panels) panels.push_back(to_json(one));
  return {{"label", slider.label}, {"values", to_json(slider.values)}, {"panels", std::move(panels)}};
}

io::Json to_json(const ReportFigure& figure) {
  io::Json json = io::Json::object();
  if (!figure.id.empty()) json["id"] = figure.id;
  json["caption"] = figure.figure.caption;
  if (!figure.x.empty()) json["x"] = figure.x;
  json["panels"] = to_json(figure.figure.panels);
  if (figure.slider) json["slider"] = to_json(*figure.slider);
  for (const ReportFigure& view : figure.views) json["views"].push_back(to_json(view));
  return json;
}

io::Json to_json(const ReportGrid& grid) {
  io::Json json{{"id", grid.id},
                {"caption", grid.caption},
                {"row", grid.row},
                {"column", grid.column},
                {"rows", grid.rows},
                {"columns", grid.columns},
                {"quantities", io::Json::array()}};
  for (const GridQuantity& one : grid.quantities) {
    json["quantities"].push_back({{"label", one.label}, {"log", one.log}, {"values", to_json(one.values)}});
  }
  const SharedLists lists(grid);
  if (!lists.lists().empty()) json["lists"] = lists.lists();
  for (const auto& row : grid.details) {
    io::Json cells = io::Json::array();
    for (const auto& figures : row) {
      io::Json views = io::Json::array();
      for (const Figure& one : figures)
        views.push_back({{"caption", one.caption}, {"panels", to_json(one.panels, lists)}});
      cells.push_back(std::move(views));
    }
    json["details"].push_back(std::move(cells));
  }
  return json;
}

}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds: return "holds";
    case Verdict::fails: return "fails";
    case Verdict::not_testable: return "not testable";
  }
  return "";
}

io::Json to_json(const ReportSection& section) {
  io::Json json{{"id", section.id}, {"title", section.title}};
  if (!section.source.empty()) json["source"] = section.source;
  json["statement"] = section.statement;
  if (!section.formula.empty()) json["formula"] = section.formula;
  json["computed"] = section.computed;
  if (!section.control.empty()) json["control"] = section.control;
  if (section.verdict) {
    json["verdict"] = name_of(*section.verdict);
    json["reason"] = section.reason;
  }
  for (const char* list : {"numbers", "tables", "figures"}) json[list] = io::Json::array();
  for (const ReportNumber& number : section.numbers) {
    io::Json one{{"label", number.label}, {"value", io::number_json(number.value)}};
    if (number.limit) one["limit"] = *number.limit;
    json["numbers"].push_back(std::move(one));
  }
  for (const ReportTable& table : section.tables) json["tables"].push_back(to_json(table));
  for (const ReportGrid& grid : section.grids) json["grids"].push_back(to_json(grid));
  for (const ReportFigure& figure : section.figures) json["figures"].push_back(to_json(figure));
  if (!section.command.empty()) json["command"] = section.command;
  return json;
}

io::Json to_json(const Report& report) {
  io::Json json{{"kind", report.kind},          {"title", report.title},     {"intro", report.intro},
                {"version", report.version},    {"command", report.command}, {"seed", report.seed},
                {"sections", io::Json::array()}};
  for (const ReportSection& section : report.sections) json["sections"].push_back(to_json(section));
  for (const auto& [label, text] : report.about) json["about"].push_back({{"label", label}, {"value", text}});
  return json;
}

std::string to_csv(const Figure& figure) {
  std::string csv = "panel,label,x,y,low,high\n";
  for (const Panel& panel : figure.panels) {
    const std::string name = field(panel.title.empty() ? panel.y_label : panel.title);
    for (const Curve& curve : panel.curves) {
      for (std::size_t i = 0; i < curve.x.size(); ++i) {
        csv += fmt::format("{},{},{},{}", name, field(curve.label), curve.x[i], curve.y[i]);
        csv += curve.low.empty() ? ",,\n" : fmt::format(",{},{}\n", curve.low[i], curve.high[i]);
      }
    }
  }
  return csv;
}

}  // namespace largo::report
