// Quadrature nodes for one component of a score law.
#pragma once

#include <cstdint>
#include <vector>

#include "largo/measures/score_law.hpp"

namespace largo::measures {

struct ScoreNodes {
  std::vector<double> score;       // u minus the reference, ascending
  std::vector<double> v;           // the standard variable there
  std::vector<double> log_weight;  // logarithms of probabilities that sum to one
  std::vector<double> one_minus_v_squared;
  // The scores lie on the lattice step · (first + i), which is the same for all Gaussian components of about
  // this scale, so that their nodes may be merged. Step 0: they lie on no lattice.
  double step = 0;
  std::int64_t first = 0;
  // The nodes end before the law tilted by e^u begins: tilt_node() stands for it.
  bool tilt_apart = false;
};

/// The tokens that matter.
struct ScoreReach {
  double log_length = 0;  // ln L, for prompts of L tokens
  // Whether prompts count whose tokens all have low scores: then the nodes reach as far down as the law
  // tilted by e^{-2u}, and not only as far as the law itself.
  bool low = false;
};

/// The trapezoidal rule in u for a Gaussian, in x with v = tanh(π/2 sinh x) for a bounded law; an atom is its
/// own node. For f analytic and bounded where |Im u| < π/2, such as e^{-t e^u}, E[f(u) e^{ku}], k = 0, 1, 2,
/// has relative error 1e-15 at coarsening 1, and about its square root at coarsening 2, with half the nodes.
/// Left out are, on the left, nodes below kNegligible of the law (see ScoreReach); on the right, nodes below
/// kNegligible of the law tilted by e^{2u}; for a Gaussian also nodes that a prompt of length L meets with a
/// probability below kNegligible/L, unless they are part of the law tilted by e^u. Cost: about 50 + 100 scale
/// nodes for a Gaussian, 150 + 50 scale for a bounded law.
ScoreNodes score_nodes(const ScoreComponent& component, double reference, const ScoreReach& prompts,
                       int coarsening);

/// One node for the whole of a Gaussian tilted by e^u, with its mass E e^u. It serves a tilt that is out of
/// reach of the prompt and therefore matters only through its limit.
ScoreNodes tilt_node(const ScoreComponent& component, double reference);

/// kNegligible = e^{-45}: rounding of what is kept, with room for factors of u² and ‖z‖².
inline constexpr double kNegligibleLog = -45;

/// Where a Gaussian tilted by e^{2sg} becomes negligible.
double tail_reach(double s);

}  // namespace largo::measures
