// Exact statistics of softmax weights over prompts whose tokens are of several classes.
//
// Class c has n_c tokens with scores x = b_c + s_c g, g ~ N(0,1), all independent; s_c = 0 is a given score.
// So a prompt may have a crowd, a sink (one token of a given score), needles, a recent window, and the
// constant logit of "softmax plus one". With S = Σ_j e^{x_j} and p_i = e^{x_i}/S:
//
//   weight of c      W_c = E Σ_{i in c} p_i
//   power sums       E[P_2], E[P_3], E[P_2²],   P_k = Σ_i p_i^k
//   log-partition    E ln S
//   entropy          E H,   H = -Σ_i p_i ln p_i
//
//   const std::vector<TokenClass> prompt = {{1000, 0, 1.5}, {1, 6, 0}};   // a crowd and a needle
//   class_moments(prompt).weights[1].value                                // the needle's weight
//
// docs/token-classes.md derives the formulas.
#pragma once

#include <span>
#include <vector>

#include "largo/numerics/estimate.hpp"

namespace largo {

struct TokenClass {
  double count = 1;   ///< n, at least 1; need not be a whole number
  double shift = 0;   ///< b, the mean of the scores
  double spread = 0;  ///< s, their standard deviation

  bool operator==(const TokenClass&) const = default;
};

inline constexpr double kLargestShift = 1e6;
inline constexpr std::size_t kMostClasses = 64;

struct ClassMoments {
  std::vector<Estimate> weights;  ///< W_c, in the order of the classes
  std::vector<Estimate> squares;  ///< E Σ_{i in c} p_i²
  Estimate P2;                    ///< their sum, E[P_2]; 1/P2 is the effective number of tokens
  Estimate P3;                    ///< E[P_3]
  Estimate P2P2;                  ///< E[P_2²]
  Estimate log_partition;         ///< E ln S
  Estimate mean_score;            ///< E Σ_i p_i x_i
  Estimate entropy;               ///< E H
  double self_check = 0;          ///< Σ_c W_c - 1, computed like the rest: zero except for errors
};

/// Domain: 1 to kMostClasses classes; counts from 1 to kLargestL, |shifts| up to kLargestShift, spreads from
/// 0 to kLargestScoreSpread; otherwise InputError. Relative errors: 1e-10 for spreads up to 20, usually
/// 1e-13, also of weights and entropies far below one; that of log_partition is relative to the larger of 1
/// and its size, that of mean_score to the larger of 1 and the sizes of its terms. Each comes with its
/// estimate. Values below 1e-290 have an absolute error only. Cost: 0.3 ms for each class (spreads up to 3);
/// where the entropy is far smaller than its terms, twice as much.
ClassMoments class_moments(std::span<const TokenClass> classes);

/// E max_i p_i, the largest weight of a token. Domain: as above. Relative error: 1e-10 for spreads up to 20,
/// usually 1e-13, with its estimate. Cost: 0.5 ms for each class.
Estimate mean_largest_weight(std::span<const TokenClass> classes);

}  // namespace largo
