// What largo icl train found, as text, JSON, CSV and a figure.
#pragma once

#include <string>
#include <vector>

#include "largo/icl/training/training_plan.hpp"
#include "output.hpp"

namespace largo {

struct TrainReport {
  TrainingPlan plan;
  std::vector<TrainingRun> runs;
  double null_risk = 0;
  std::vector<std::string> warnings;
};

const char* name_of(TrainingMethod method);

io::Json to_json(const TrainReport& report);
std::string to_csv(const TrainReport& report);  ///< one row for each point of each path
std::string to_svg(const TrainReport& report);
void print_report(const TrainReport& report);

}  // namespace largo
