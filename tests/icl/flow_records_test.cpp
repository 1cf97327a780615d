// Records along flows off the invariant set are continuous with the risk at the end, and honest.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "icl/regression_settings.hpp"
#include "largo/icl/named_problem.hpp"
#include "largo/icl/regression_risk.hpp"
#include "largo/icl/training/training_plan.hpp"

namespace largo::flow_records_test {
namespace {

TEST(FlowRecords, FallAndEndAtTheFinalRisk) {
  TrainingPlan plan;
  plan.problem = paper_problem(Matrix::Identity(3, 3));
  plan.parameters = Parametrisation::factored;
  plan.start = random_factored_start(3, 1);
  plan.lengths = {20, std::numeric_limits<double>::infinity()};
  plan.attention = {AttentionKind::softmax, AttentionKind::linear};
  plan.flow.end = 30;
  plan.flow.relative_tolerance = 1e-4;
  plan.flow.absolute_tolerance = 1e-7;
  for (const TrainingRun& run : train(plan)) {
    SCOPED_TRACE(::testing::Message()
                 << "L = " << run.L.name() << ", attention " << static_cast<int>(run.attention));
    const auto& points = run.path.points();
    ASSERT_TRUE(run.record_error);
    EXPECT_NEAR(points.back().risk, run.final_risk.value, 1e-12);
    // The risk used to rise by 3e-3 where the tasks quadruple; steps have an error of 1e-4 of the parameters.
    for (std::size_t i = 1; i < points.size(); ++i) {
      EXPECT_LE(points[i].risk, points[i - 1].risk + 1e-4) << "t = " << points[i].time;
    }
    // The check uses points from which record_error was not made, with more tasks and other ones.
    EXPECT_LE(*run.record_error, 5e-3);
    for (const double share : {0.2, 0.4, 0.7, 0.9}) {
      const TrajectoryPoint& point =
          points[static_cast<std::size_t>(share * static_cast<double>(points.size()))];
      const Estimate risk =
          regression_risk(plan.problem, run.attention, run.L,
                          to_parameters(run.map->map(point.parameters), 3), {.count = 1 << 18, .seed = 99});
      EXPECT_LE(std::abs(point.risk - risk.value), 3 * (*run.record_error + risk.error) + 1e-12) << share;
    }
  }
}

}  // namespace
}  // namespace largo::flow_records_test
