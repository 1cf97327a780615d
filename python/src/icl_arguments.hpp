// What the bindings of icl share.
#pragma once

#include <vector>

#include <pybind11/pybind11.h>

#include "largo/attention/attention.hpp"
#include "largo/icl/regression_flow.hpp"
#include "largo/icl/regression_problem.hpp"
#include "largo/icl/threshold.hpp"
#include "largo/prompts/regression_gradient.hpp"

namespace largo::python {

/// Numbers, and texts that name laws of lengths.
std::vector<LengthLaw> lengths_of(const pybind11::sequence& lengths);

/// A pair (A, b), where A is d x d or a name; both must be finite.
InvariantPoint point_of(Eigen::Index d, const pybind11::object& point);

/// The paper's start; α may be None.
InvariantPoint start_of(const RegressionProblem& problem, const pybind11::object& alpha,
                        const pybind11::object& theta);

/// The exact threshold, showing progress, and stopped by Ctrl-C.
Threshold watched_threshold(const RegressionProblem& problem, double epsilon, const InvariantPoint& start,
                            AttentionKind attention, int threads, const pybind11::object& progress);

/// U, (d+1) x (d+1), and v, or those of a point on the invariant set; they must be finite.
RegressionParameters parameters_of(Eigen::Index d, const pybind11::object& point, const pybind11::object& U,
                                   const pybind11::object& v);

/// The sizes of a head: U is tokens x queries, and v is (tokens,) for one output, else (outputs, tokens).
struct HeadSizes {
  Eigen::Index tokens, queries, outputs;
};

/// U and v, which must be finite; the rows of v one after the other.
RegressionParameters head_of(const char* function, const HeadSizes& sizes, const pybind11::object& U,
                             const pybind11::object& v);

}  // namespace largo::python
