// What largo temperature found, and how it is shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "largo/exact/temperature.hpp"
#include "output.hpp"

namespace largo {

struct TemperatureReport {
  std::string crowd;         ///< in words, for the caption of the figure
  std::string needle;        ///< its score as given; empty without one
  bool has_planted = false;  ///< sinks or classes beside the crowd
  std::vector<TemperatureRow> rows = {};
  std::optional<TemperatureGrowth> growth = {};  ///< between the last two lengths, for a target
};

io::Json to_json(const TemperatureReport& report);
void print_report(const TemperatureReport& report);
/// One row per length and law, with all digits. What a row does not have is left empty.
std::string to_csv(const TemperatureReport& report);
/// β, effective tokens, and the needle's weight or the entropy, against L.
std::string to_svg(const TemperatureReport& report);

}  // namespace largo
