// The numbers of SoftmaxMoments and SoftmaxStatistics by name, for whoever prints or returns them all.
#pragma once

#include <array>

#include "largo/exact/softmax_moments.hpp"
#include "largo/exact/softmax_table.hpp"

namespace largo {

struct MomentField {
  const char* name;
  Estimate SoftmaxMoments::*estimate;
  double SoftmaxStatistics::*value;
  const char* meaning;
};

inline constexpr std::array kMomentFields = {
    MomentField{"P2", &SoftmaxMoments::P2, &SoftmaxStatistics::P2, "E[P_2], P_k = sum of p_i^k"},
    MomentField{"P3", &SoftmaxMoments::P3, &SoftmaxStatistics::P3, "E[P_3]"},
    MomentField{"P2P2", &SoftmaxMoments::P2P2, &SoftmaxStatistics::P2P2, "E[P_2^2]"},
    MomentField{"mean", &SoftmaxMoments::mean, &SoftmaxStatistics::mean,
                "E[A], A = sum of p_i g_i; s if L = inf"},
    MomentField{"bias", &SoftmaxMoments::bias, &SoftmaxStatistics::bias, "E[A] - s"},
    MomentField{"mse", &SoftmaxMoments::mse, &SoftmaxStatistics::mse, "E[(A - s)^2]"},
    MomentField{"variance", &SoftmaxMoments::variance, &SoftmaxStatistics::variance,
                "E[B], B = sum of p_i (g_i - A)^2; 1 if L = inf"},
    MomentField{"variance_mse", &SoftmaxMoments::variance_mse, &SoftmaxStatistics::variance_mse,
                "E[(B - 1)^2]"},
    MomentField{"variance_P2", &SoftmaxMoments::variance_P2, &SoftmaxStatistics::variance_P2,
                "E[(B - 1) P_2]"},
    MomentField{"squared_spread", &SoftmaxMoments::squared_spread, &SoftmaxStatistics::squared_spread,
                "E[D], D = sum of p_i^2 (g_i - A)^2"},
    MomentField{"P2_slope", &SoftmaxMoments::P2_slope, &SoftmaxStatistics::P2_slope, "d E[P_2] / ds"},
    MomentField{"P3_slope", &SoftmaxMoments::P3_slope, &SoftmaxStatistics::P3_slope, "d E[P_3] / ds"},
    MomentField{"P2P2_slope", &SoftmaxMoments::P2P2_slope, &SoftmaxStatistics::P2P2_slope, "d E[P_2^2] / ds"},
};

}  // namespace largo
