#include "figure_data.hpp"

#include <fmt/core.h>

namespace largo {
namespace {

const char* name_of(Curve::Style style) {
  switch (style) {
    case Curve::Style::line:
      return "line";
    case Curve::Style::dashed:
      return "dashed";
    case Curve::Style::dotted:
      return "dotted";
    case Curve::Style::points:
      return "points";
  }
  return "";
}

// Quoted where the format needs it.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

Json to_json(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(number_json(value));
  return list;
}

Json to_json(const std::vector<Panel>& panels) {
  Json all = Json::array();
  for (const Panel& panel : panels) {
    Json one{{"title", panel.title},  {"x_label", panel.x_label}, {"y_label", panel.y_label},
             {"log_x", panel.log_x},  {"log_y", panel.log_y},     {"curves", Json::array()},
             {"notes", Json::array()}};
    for (const Curve& curve : panel.curves) {
      Json json{{"label", curve.label}, {"x", to_json(curve.x)}, {"y", to_json(curve.y)}};
      if (!curve.low.empty()) {
        json["low"] = to_json(curve.low);
        json["high"] = to_json(curve.high);
      }
      json["style"] = name_of(curve.style);
      json["color"] = curve.color;
      one["curves"].push_back(std::move(json));
    }
    for (const Note& note : panel.notes) {
      one["notes"].push_back({{"x", number_json(note.x)},
                              {"y", number_json(note.y)},
                              {"text", note.text},
                              {"color", note.color}});
    }
    all.push_back(std::move(one));
  }
  return all;
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

}  // namespace largo
