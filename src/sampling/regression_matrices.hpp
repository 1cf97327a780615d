// The matrices of a regression task and its parameters, as blocks of prompts are multiplied by them.
#pragma once

#include <algorithm>

#include "largo/numerics/matrix.hpp"
#include "largo/sampling/regression_batch.hpp"
#include "sampling/padded_rows.hpp"

namespace largo {

/// For products with rows: x Aᵀ is A applied to each, x A its transpose.
inline RightFactor transposed(const Matrix& A, Eigen::Index columns, double scale = 1) {
  return {size_of(columns), size_of(A.rows()), A.data(), size_of(A.rows()), 1, scale};
}
inline RightFactor as_it_is(const Matrix& A) {
  return {size_of(A.rows()), size_of(A.cols()), A.data(), 1, size_of(A.rows()), 1};
}

/// What all prompts share, laid out for products with blocks of them.
struct SharedMatrices {
  SharedMatrices(const RegressionTask& task, const RegressionParameters& parameters)
      : prior(transposed(task.prior_root, task.prior_root.cols())),
        query(transposed(task.query_root, task.query_root.cols())),
        scores(transposed(parameters.U, parameters.U.cols() - 1, task.score_scale)),
        token(transposed(task.token_root, task.token_root.cols())),
        whitening(as_it_is(task.token_root)),
        values(1, size_of(parameters.v.size())) {
    PaddedRows v(1, size_of(parameters.v.size()));
    std::copy_n(parameters.v.data(), parameters.v.size(), v.row(0));
    multiply(v, 1, whitening, values);
  }

  RightFactor prior, query, scores;  // Pᵀ, C_qᵀ, (c U)ᵀ without the column that the query does not reach
  RightFactor token, whitening;      // Cᵀ, C
  PaddedRows values;                 // Cᵀ v_x
};

}  // namespace largo
