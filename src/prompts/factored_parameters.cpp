#include <algorithm>

#include "largo/prompts/regression_gradient.hpp"
#include "largo/runtime/check.hpp"
#include "prompts/padded_rows.hpp"

namespace largo {
namespace {

// A B, in the order of padded_rows.hpp. Its rows are our columns: what it sees is (A B)ᵀ = Bᵀ Aᵀ.
Matrix product(const Matrix& A, const Matrix& B) {
  PaddedRows x(size_of(B.cols()), size_of(B.rows())), y(size_of(B.cols()), size_of(A.rows()));
  for (Eigen::Index n = 0; n < B.cols(); ++n) std::copy_n(B.col(n).data(), B.rows(), x.row(size_of(n)));
  multiply(x, x.rows(), {size_of(A.cols()), size_of(A.rows()), A.data(), size_of(A.rows()), 1, 1}, y);
  Matrix result(A.rows(), B.cols());
  for (Eigen::Index n = 0; n < B.cols(); ++n) {
    std::copy_n(y.row(size_of(n)), A.rows(), result.col(n).data());
  }
  return result;
}

}  // namespace

RegressionParameters FactoredParameters::merged() const {
  check_size("merged", "rows of Q", Q.rows(), K.rows());
  check_size("merged", "output", output.size(), V.rows());
  return {product(K.transpose(), Q), product(V.transpose(), output)};
}

FactoredParameters factored_gradient(const FactoredParameters& parameters,
                                     const RegressionGradient& gradient) {
  // U = KᵀQ, v = Vᵀo
  check_size("factored_gradient", "columns of Q", parameters.Q.cols(), gradient.U.cols());
  check_size("factored_gradient", "columns of K", parameters.K.cols(), gradient.U.rows());
  check_size("factored_gradient", "columns of V", parameters.V.cols(), gradient.v.size());
  check_size("factored_gradient", "output", parameters.output.size(), parameters.V.rows());
  return {product(parameters.Q, gradient.U.transpose()), product(parameters.K, gradient.U),
          parameters.output * gradient.v.transpose(), product(parameters.V, gradient.v)};
}

}  // namespace largo
