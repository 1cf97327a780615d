// What largo moments says of softmax weights: over classes of tokens, and how its numbers are shown.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "largo/exact/token_classes.hpp"
#include "largo/numerics/estimate.hpp"

namespace largo {

/// What softmax_moments() does not have, from the formulas for classes of tokens.
struct WeightMoments {
  Estimate entropy, log_partition, max_weight;
};

struct WeightField {
  const char* name;
  Estimate WeightMoments::*estimate;
  const char* meaning;
};

inline constexpr std::array kWeightFields = {
    WeightField{"entropy", &WeightMoments::entropy, "E[H], H = - sum of p_i ln p_i"},
    WeightField{"log_partition", &WeightMoments::log_partition, "E[ln S], S = sum of exp(scores)"},
    WeightField{"max_weight", &WeightMoments::max_weight, "E[max p_i]"},
};

/// The relative error, or the absolute error of a number that is zero to within its error, like E[A] at L
/// = 1.
double relative_error(const Estimate& estimate);
/// The largest of them.
double error_estimate(const WeightMoments& weights);

/// A row: name, value, relative error, meaning.
void print_number(const char* name, const Estimate& estimate, const std::string& meaning);

struct ClassQuestion {
  std::vector<TokenClass> classes;
  std::optional<int> heaviest = {};   ///< the mass of so many tokens
  std::optional<double> needle = {};  ///< the score of one more token, whose weight is followed
  std::vector<double> below = {};     ///< its chances of at most these weights
};

/// Computes and prints the answer.
void answer_classes(const ClassQuestion& question, bool json);

}  // namespace largo
