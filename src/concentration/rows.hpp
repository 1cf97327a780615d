// Rows of a grid or a path from the two engines.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "largo/concentration/attention_layer.hpp"
#include "largo/concentration/concentration_plan.hpp"
#include "largo/concentration/exact_errors.hpp"
#include "largo/numerics/estimate.hpp"

namespace largo {

/// LayerErrors as so many numbers, which processes exchange.
inline constexpr std::size_t kErrorNumbers = 10;
void pack_errors(const LayerErrors& errors, double* to);
LayerErrors unpack_errors(const double* from);

/// Without exponents.
ConcentrationRow exact_row(const AttentionLayer& layer, const LayerErrors& errors, double L, double scale);

/// Throws InputError unless prompts of L tokens can be drawn.
void check_sampled_length(std::string_view function, double L);

/// Points with different numbers draw different prompts. plan.sampling.drawn is called as they are drawn.
ConcentrationRow sampled_row(const AttentionLayer& layer, const ConcentrationPlan& plan, double L,
                             double scale, std::size_t point, const Execution& execution);

// The slope of a curve in a log-log plot, by least squares.

struct CurvePoint {
  double x = 0, y = 0;
  double error = 0;  ///< of y
};

/// d ln y / d ln x over all points with x and y positive and finite, all with the same weight (curves are not
/// straight, and weights would look at a part of them). `error` is what the errors of the points, taken as
/// independent, make of it. None for fewer than two different x.
std::optional<Estimate> log_slope(std::span<const CurvePoint> points);

}  // namespace largo
