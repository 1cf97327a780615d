// The dense types used everywhere: double precision, dynamic size.
#pragma once

#include <Eigen/Dense>

namespace largo {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;
/// One token per row, contiguous: the layout of a prompt in memory and on disk.
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

using ConstVectorRef = Eigen::Ref<const Vector>;
using ConstMatrixRef = Eigen::Ref<const Matrix>;
/// A reference to tokens or queries, one per row, without a copy.
using ConstRowsRef = Eigen::Ref<const RowMatrix, 0, Eigen::OuterStride<>>;

}  // namespace largo
