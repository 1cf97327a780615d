// Training in single-location regression (single_location.hpp), and how long a prompt or how weak a signal
// may be.
#pragma once

#include "largo/icl/single_location.hpp"
#include "largo/runtime/execution.hpp"
#include "largo/training/gradient_flow.hpp"

namespace largo {

struct SingleLocationFlow {
  FlowResult flow;          ///< in the parameters (a, b)
  SingleLocationBest last;  ///< its end; here b need not be the best at this a
};

/// The plan of a flow to its end. The end does not depend on the errors of the path.
inline FlowPlan single_location_plan() {
  FlowPlan plan;
  plan.relative_tolerance = 1e-6;
  return plan;
}

/// The gradient flow of the risk from u = a k*, v = b v*. Domain, errors: those of gradient_flow(). Cost:
/// some 700 evaluations of the risk.
SingleLocationFlow single_location_flow(const SingleLocation& problem, double a, double b,
                                        const FlowPlan& plan = single_location_plan(),
                                        const Execution& execution = {});

struct SingleLocationThreshold {
  SingleLocation problem;   ///< with the length or the signal that was found
  SingleLocationBest best;  ///< there
};

/// The longest prompt, a whole number of tokens up to 2^53, whose best excess risk is at most ε. Domain:
/// problem.L is ignored; InputError if two tokens are too many, or 1e300 not enough. Error: the excess risk
/// is known to 1e-12. Cost: some 20 times best_single_location().
SingleLocationThreshold longest_prompt(const SingleLocation& problem, double epsilon);

/// The weakest signal m at which the best excess risk is at most ε, at this length. Domain: problem.signal is
/// ignored; InputError if m = 50 is not enough. Error and cost: as above.
SingleLocationThreshold weakest_signal(const SingleLocation& problem, double epsilon);

}  // namespace largo
