#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "icl/general_risk.hpp"
#include "icl/polynomial_risk.hpp"
#include "icl/risk_statistics.hpp"
#include "icl/risk_table.hpp"
#include "icl/task_points.hpp"
#include "largo/icl/regression_risks.hpp"
#include "largo/numerics/check.hpp"
#include "largo/numerics/factor.hpp"
#include "numerics/distribute.hpp"

namespace largo {
namespace {

constexpr Eigen::Index kBlock = 128;  // nodes whose sums are added in one go

class GeneralSoftmaxRisk final : public Risk {
 public:
  GeneralSoftmaxRisk(const RegressionProblem& problem, double L, const TaskNodes& nodes, Execution execution)
      : problem_(problem), d_(problem.dimension()), table_(L), execution_(execution) {
    const Matrix prior = covariance_root("general_risk", "prior_covariance", problem.prior_covariance).root;
    const Matrix query = covariance_root("general_risk", "query_covariance", problem.query_covariance).root;
    points_ = task_points(prior.cols(), query.cols(), nodes.count, nodes.seed);
    tasks_ = points_->points.leftCols(prior.cols()) * prior.transpose();
    queries_ = points_->points.rightCols(query.cols()) * query.transpose();
    labels_ = tasks_.cwiseProduct(queries_).rowwise().sum();
  }

  Eigen::Index size() const override { return (d_ + 1) * (d_ + 2); }

  RiskPoint at(const ConstVectorRef& parameters) const override {
    check_size("general_risk", "parameters", parameters.size(), size());
    check_finite("general_risk", "parameters", parameters);
    RiskPoint point;
    const RegressionParameters given = to_parameters(parameters, d_);
    const Eigen::Index count = tasks_.rows(), each = count / kParts;
    const Eigen::Index block = std::min(kBlock, each);
    const auto width = static_cast<std::size_t>(1 + (d_ + 1) * (d_ + 1));
    const AlignedVector<double> rows = distribute_rows(
        count / block, width, execution_,
        [&](std::ptrdiff_t i, std::span<double> row) { add_block(given, i * block, block, row); });
    // In order: sums of parts for the error, of all for the rest.
    Vector sum = Vector::Zero(static_cast<Eigen::Index>(width)), parts = Vector::Zero(kParts);
    for (Eigen::Index i = 0; i < count / block; ++i) {
      const Eigen::Map<const Vector> row(rows.data() + i * sum.size(), sum.size());
      parts[i * block / each] += row[0];
      sum += row;
    }
    for (Eigen::Index i = 0; i < kParts; ++i) parts[i] /= points_->weights.segment(i * each, each).sum();
    point.value = sum[0];
    point.error = std::sqrt((parts.array() - sum[0]).square().sum() / (kParts * (kParts - 1)));
    RegressionParameters slope{Matrix::Zero(d_ + 1, d_ + 1), sum.tail(d_ + 1)};
    slope.U.leftCols(d_) = problem_.score_scale * sum.segment(1, (d_ + 1) * d_).reshaped(d_ + 1, d_);
    point.gradient = to_vector(slope);
    check_risk("general_risk", point);
    return point;
  }

 private:
  // ½ [ (c - y)² + c² φ + κ p + 2 c y p ], φ = F - 1, its slope in U (before the scale of scores) and in v,
  // summed over nodes.
  void add_block(const RegressionParameters& given, Eigen::Index first, Eigen::Index count,
                 std::span<double> row) const {
    const auto W = tasks_.middleRows(first, count), X = queries_.middleRows(first, count);
    const double noise = problem_.noise;
    const Matrix u = problem_.score_scale * X * given.U.leftCols(d_).transpose();
    const auto u_y = u.col(d_);
    const double v_y = given.v[d_];
    // Γu and Γv, from g = u_x + u_y w and k = v_x + v_y w
    const Matrix g = u.leftCols(d_) + u_y.asDiagonal() * W;
    Matrix k = v_y * W;
    k.rowwise() += given.v.head(d_).transpose();
    Matrix gamma_u(count, d_ + 1), gamma_v(count, d_ + 1);
    gamma_u.leftCols(d_) = g * problem_.covariance;
    gamma_v.leftCols(d_) = k * problem_.covariance;
    const Vector square = gamma_u.leftCols(d_).cwiseProduct(g).rowwise().sum() + noise * u_y.cwiseAbs2();
    const Vector c = gamma_u.leftCols(d_).cwiseProduct(k).rowwise().sum() + Vector(noise * v_y * u_y);
    const Vector kappa = gamma_v.leftCols(d_).cwiseProduct(k).rowwise().sum().array() + noise * v_y * v_y;
    gamma_u.col(d_) = gamma_u.leftCols(d_).cwiseProduct(W).rowwise().sum() + noise * u_y;
    gamma_v.col(d_) = gamma_v.leftCols(d_).cwiseProduct(W).rowwise().sum().array() + noise * v_y;
    if (!square.allFinite()) fail("general_risk", "the scores overflow: scale down the parameters");
    Vector along(count), across(count), p(count);
    for (Eigen::Index i = 0; i < count; ++i) {
      const RiskStatistics f = table_(square[i]);
      const double y = labels_[first + i], weight = points_->weights[first + i];
      const double miss = c[i] - y;
      row[0] += weight * (0.5 * (miss * miss + c[i] * c[i] * f.phi + kappa[i] * f.p) + c[i] * y * f.p);
      across[i] = weight * (miss + c[i] * f.phi + y * f.p);
      along[i] = weight * (c[i] * c[i] * f.phi_slope + (kappa[i] + 2 * c[i] * y) * f.p_slope);
      p[i] = weight * f.p;
    }
    const Matrix slope_u = across.asDiagonal() * gamma_v + along.asDiagonal() * gamma_u;
    Eigen::Map<Matrix>(row.data() + 1, d_ + 1, d_) = slope_u.transpose() * X;
    Eigen::Map<Vector>(row.data() + 1 + (d_ + 1) * d_, d_ + 1) =
        gamma_u.transpose() * across + gamma_v.transpose() * p;
  }

  RegressionProblem problem_;
  Eigen::Index d_;
  RiskTable table_;
  Execution execution_;
  std::shared_ptr<const TaskPoints> points_;
  Matrix tasks_, queries_;  // a row for each node
  Vector labels_;
};

}  // namespace

std::shared_ptr<const Risk> softmax_risk_over_nodes(const RegressionProblem& problem, double L,
                                                    const TaskNodes& nodes, const Execution& execution) {
  return std::make_shared<GeneralSoftmaxRisk>(problem, L, nodes, execution);
}

std::shared_ptr<const Risk> general_risk(const RegressionProblem& problem, AttentionKind attention, double L,
                                         const TaskNodes& nodes, const Execution& execution) {
  check(problem);
  check_length("general_risk", L);
  if (attention == AttentionKind::linear) return std::make_shared<PolynomialRisk>(problem, 1 / L);
  if (std::isinf(L)) return std::make_shared<PolynomialRisk>(problem, 0);
  return softmax_risk_over_nodes(problem, L, nodes, execution);
}

}  // namespace largo
