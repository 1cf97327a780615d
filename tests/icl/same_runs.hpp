// Expects that training runs are the same, to the bit.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "largo/icl/training/training_plan.hpp"

namespace largo::test {

inline void expect_same_noise(const std::optional<DescentNoise>& one,
                              const std::optional<DescentNoise>& other) {
  ASSERT_EQ(one.has_value(), other.has_value());
  if (!one) return;
  EXPECT_EQ(one->excess, other->excess);
  EXPECT_EQ(one->spread, other->spread);
}

inline void expect_same_distance(const std::optional<PathDistance>& one,
                                 const std::optional<PathDistance>& other) {
  ASSERT_EQ(one.has_value(), other.has_value());
  if (!one) return;
  EXPECT_EQ(one->parameters.value, other->parameters.value);
  EXPECT_EQ(one->parameters.time, other->parameters.time);
  EXPECT_EQ(one->predictions.value, other->predictions.value);
  EXPECT_EQ(one->predictions.time, other->predictions.time);
}

inline void expect_same(const std::vector<TrainingRun>& one, const std::vector<TrainingRun>& other) {
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    SCOPED_TRACE(::testing::Message() << "run " << i);
    const auto &p = one[i].path.points(), &q = other[i].path.points();
    ASSERT_EQ(p.size(), q.size());
    for (std::size_t k = 0; k < p.size(); ++k) {
      EXPECT_EQ(p[k].time, q[k].time);
      EXPECT_EQ(p[k].parameters, q[k].parameters);
      EXPECT_EQ(p[k].risk, q[k].risk);
    }
    EXPECT_EQ(one[i].last.U, other[i].last.U);
    EXPECT_EQ(one[i].last.v, other[i].last.v);
    EXPECT_EQ(one[i].final_risk.value, other[i].final_risk.value);
    EXPECT_EQ(one[i].final_risk.error, other[i].final_risk.error);
    EXPECT_EQ(one[i].gradient_gap, other[i].gradient_gap);
    EXPECT_EQ(one[i].steps, other[i].steps);
    EXPECT_EQ(one[i].L, other[i].L);
    EXPECT_EQ(one[i].attention, other[i].attention);
    EXPECT_EQ(one[i].method, other[i].method);
    EXPECT_EQ(one[i].seed, other[i].seed);
    EXPECT_EQ(one[i].stationary, other[i].stationary);
    EXPECT_EQ(one[i].balance_drift, other[i].balance_drift);
    EXPECT_EQ(one[i].to_theorem, other[i].to_theorem);
    const double middle = 0.37 * one[i].path.end();
    EXPECT_EQ(one[i].map->map(one[i].path.at(middle)), other[i].map->map(other[i].path.at(middle)));
    expect_same_distance(one[i].to_limit_flow, other[i].to_limit_flow);
    expect_same_distance(one[i].to_flow, other[i].to_flow);
    expect_same_noise(one[i].noise, other[i].noise);
    expect_same_noise(one[i].predicted_noise, other[i].predicted_noise);
    EXPECT_EQ(one[i].no_prediction, other[i].no_prediction);
  }
}

}  // namespace largo::test
