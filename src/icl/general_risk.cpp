#include "largo/icl/general_risk.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "icl/polynomial_risk.hpp"
#include "icl/risk_statistics.hpp"
#include "icl/standard_coordinates.hpp"
#include "icl/task_kernel.hpp"
#include "icl/task_points.hpp"
#include "largo/runtime/check.hpp"
#include "runtime/distribute.hpp"

namespace largo {
namespace {

// Student's t with kParts - 1 = 7 degrees of freedom exceeds this in size with probability 1e-3.
constexpr double kQuantile = 5.41;
constexpr double kSumRounding = 1e-13;  // relative rounding of sums over all nodes

double error_of(const Vector& parts, double average) {
  return kQuantile * std::sqrt((parts.array() - average).square().sum() / (icl::kParts * (icl::kParts - 1)));
}

class GeneralSoftmaxRisk final : public Risk {
 public:
  GeneralSoftmaxRisk(const RegressionProblem& problem, const LengthLaw& L, const TaskNodes& nodes,
                     Execution execution)
      : coordinates_(problem), table_(L), execution_(execution) {
    refuse_sink(problem);
    const Matrix &Q = coordinates_.queries(), &P = coordinates_.tasks();
    const auto points = icl::task_points(P.cols(), Q.cols(), nodes.count, nodes.seed, execution);
    const Matrix tasks = points->points.leftCols(P.cols()) * P.transpose();
    const Matrix chi = points->points.rightCols(Q.cols());
    const Vector labels = (chi * Q.transpose()).cwiseProduct(tasks).rowwise().sum();
    runtime::check_stop(execution);
    tasks_.emplace(chi, tasks * coordinates_.tokens(), labels, points->weights);
    part_weights_ =
        points->weights.reshaped(points->weights.size() / icl::kParts, icl::kParts).colwise().sum();
  }

  Eigen::Index size() const override { return coordinates_.size(); }

  RiskPoint at(const ConstVectorRef& parameters) const override { return point_and_parts(parameters).point; }

  struct PointAndParts {
    RiskPoint point;
    Vector parts;  ///< averages over eight parts of the nodes
  };
  PointAndParts point_and_parts(const ConstVectorRef& parameters) const {
    const icl::StandardParameters standard = coordinates_.from(parameters);
    const std::size_t width = icl::sums_width(*tasks_);
    const auto blocks = static_cast<std::ptrdiff_t>(tasks_->blocks());
    const runtime::AlignedVector<double> rows =
        runtime::distribute_rows(blocks, width, execution_, [&](std::ptrdiff_t i, std::span<double> row) {
          if (!icl::add_task_block(*tasks_, static_cast<std::size_t>(i), standard, coordinates_.noise(),
                                   table_, row)) {
            fail("general_risk", "the scores overflow: scale down the parameters");
          }
        });
    // Added in order: the parts for the error, all blocks for the rest.
    RiskPoint point;
    Vector sum = Vector::Zero(static_cast<Eigen::Index>(width));
    Vector parts = Vector::Zero(icl::kParts);
    for (Eigen::Index i = 0; i < blocks; ++i) {
      const Eigen::Map<const Vector> row(rows.data() + i * sum.size(), sum.size());
      parts[i * icl::kParts / blocks] += row[0];
      sum += row;
    }
    point.value = sum[0];
    parts.array() /= part_weights_.array();
    point.error = error_of(parts, point.value);
    point.gradient = coordinates_.gradient(icl::task_slope(*tasks_, standard, {sum.data(), width}));
    icl::check_risk("general_risk", point);
    return {point, parts};
  }

 private:
  icl::StandardCoordinates coordinates_;
  std::optional<icl::TaskBlocks> tasks_;
  Vector part_weights_;
  icl::RiskTable table_;
  Execution execution_;
};

}  // namespace

std::shared_ptr<const Risk> softmax_risk_over_nodes(const RegressionProblem& problem, const LengthLaw& L,
                                                    const TaskNodes& nodes, const Execution& execution) {
  return std::make_shared<GeneralSoftmaxRisk>(problem, L, nodes, execution);
}

Estimate softmax_risk_estimate(const RegressionProblem& problem, const LengthLaw& L,
                               const RegressionParameters& given, const TaskNodes& nodes,
                               const Execution& execution) {
  const Vector parameters = to_vector(given);
  const auto over_nodes = [&](const LengthLaw& length) {
    return GeneralSoftmaxRisk(problem, length, nodes, execution).point_and_parts(parameters);
  };
  const auto here = over_nodes(L), limit = over_nodes(std::numeric_limits<double>::infinity());
  const double rest = here.point.value - limit.point.value;
  const Estimate beside{icl::PolynomialRisk(problem, 0).at(parameters).value + rest,
                        error_of(here.parts - limit.parts, rest) + kSumRounding * here.point.value};
  return beside.error < here.point.error ? beside : Estimate{here.point.value, here.point.error};
}

std::shared_ptr<const Risk> general_risk(const RegressionProblem& problem, AttentionKind attention,
                                         const LengthLaw& L, const TaskNodes& nodes,
                                         const Execution& execution) {
  check(problem);
  if (attention == AttentionKind::linear)
    return std::make_shared<icl::PolynomialRisk>(problem, 1 / L.harmonic_mean());
  if (L.is_infinite()) return std::make_shared<icl::PolynomialRisk>(problem, 0);
  return softmax_risk_over_nodes(problem, L, nodes, execution);
}

}  // namespace largo
