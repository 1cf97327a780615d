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

namespace largo::concentration {

/// LayerErrors as this many numbers, which processes exchange.
inline constexpr std::size_t kErrorNumbers = 10;
void pack_errors(const LayerErrors& errors, double* to);
LayerErrors unpack_errors(const double* from);

/// The row of exact errors, without exponents.
ConcentrationRow exact_row(const AttentionLayer& layer, const LayerErrors& errors, double L, double sigma);

/// Throws InputError unless prompts of L tokens can be drawn.
void check_sampled_length(std::string_view function, double L);

/// Points with different numbers draw different prompts. plan.sampling.drawn is called as they are drawn.
ConcentrationRow sampled_row(const AttentionLayer& layer, const ConcentrationPlan& plan, double L,
                             double sigma, std::size_t point, const Execution& execution);

}  // namespace largo::concentration
