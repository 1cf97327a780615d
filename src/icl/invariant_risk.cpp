#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "exact/spread_rule.hpp"
#include "icl/natural_units.hpp"
#include "icl/risk_statistics.hpp"
#include "largo/icl/invariant_risk.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"

namespace largo {
namespace {

// Of the averages of p, φ and these times y_j², which make the value, with the refinement of rule_for
// (kValues in spread_rule_test.cpp).
constexpr double kSpreadRuleError = 1e-10;
// Beside a sink, halving the step about squares the error only once the change is below one over this. Above,
// the change itself is taken for the error.
constexpr double kUnresolved = 100;
// Eigenvalues this close are equal up to rounding, and use the rule for equal ones.
constexpr double kEqual = 1e-13;

class InvariantRisk final : public Risk {
 public:
  InvariantRisk(const RegressionProblem& problem, AttentionKind attention, const LengthLaw& L)
      : problem_(problem), L_(L), linear_(attention == AttentionKind::linear) {
    const Matrix& S = problem.covariance;
    token_root_ = numerics::covariance_root("invariant_risk", "covariance", S).root;
    query_root_ =
        numerics::covariance_root("invariant_risk", "query_covariance", problem.query_covariance).root;
    weighted_ = S * problem.prior_covariance * S;
    label_ = (S * problem.prior_covariance).trace() + problem.noise_variance;
    if (linear_ || L.is_infinite()) return;
    if (problem.has_sink()) {
      sinks_ = exact::SinkTable::shared(L, problem.sink);
    } else {
      table_ = SoftmaxTable::shared(L);
    }
  }

  Eigen::Index size() const override { return problem_.dimension() * problem_.dimension() + 1; }

  RiskPoint at(const ConstVectorRef& parameters) const override {
    check_size("invariant_risk", "parameters", parameters.size(), size());
    check_finite("invariant_risk", "parameters", parameters);
    const Eigen::Index d = problem_.dimension();
    const Matrix A = problem_.score_scale * parameters.head(d * d).reshaped(d, d);
    const double b = parameters[d * d];
    Slope slope{0, 0, Matrix::Zero(d, d), 0};
    if (table_ && L_.longest() == 1) {
      add_one_token(b, slope);
    } else {
      add_limit(A, b, slope);
      if (linear_) add_linear(A, b, slope);
      if (table_ || sinks_) add_softmax(A, b, slope);
    }
    RiskPoint point{slope.value, slope.error, Vector(size())};
    point.gradient << (problem_.score_scale * slope.A).reshaped(), slope.b;
    icl::check_risk("invariant_risk", point);
    return point;
  }

 private:
  struct Slope {
    double value, error;
    Matrix A;
    double b;
  };

  // A single token has weight one, and its label does not depend on the query: ½ b² (tr ΣΩ + τ²) + ½ tr ΩΣ_q
  // for any A. (As a difference from the limit it would keep the rounding of terms that A makes large.)
  void add_one_token(double b, Slope& slope) const {
    slope.value += 0.5 * b * b * label_ + problem_.null_risk();
    slope.b += b * label_;
  }

  // ½ tr (bΣA - I) Σ_q (bΣA - I)ᵀ Ω
  void add_limit(const Matrix& A, double b, Slope& slope) const {
    const Matrix map = problem_.covariance * A;
    const Matrix residual = b * map - Matrix::Identity(A.rows(), A.rows());
    const Matrix weighted = problem_.prior_covariance * residual * problem_.query_covariance;
    slope.value += 0.5 * weighted.cwiseProduct(residual).sum();
    slope.A += b * problem_.covariance * weighted;
    slope.b += weighted.cwiseProduct(map).sum();
  }

  // ½ b² tr Aᵀ (ΣΩΣ + (tr ΣΩ + τ²) Σ) A Σ_q / L
  void add_linear(const Matrix& A, double b, Slope& slope) const {
    const Matrix pulled =
        (weighted_ + label_ * problem_.covariance) * A * problem_.query_covariance / L_.harmonic_mean();
    const double trace = pulled.cwiseProduct(A).sum();
    slope.value += 0.5 * b * b * trace;
    slope.A += b * b * pulled;
    slope.b += b * trace;
  }

  icl::RiskStatistics statistics(double square) const {
    return sinks_ ? icl::risk_statistics(*sinks_, square) : icl::risk_statistics(*table_, square);
  }

  // ½ E [ b² (ΣAx)ᵀΩ(ΣAx) φ + b² (tr ΣΩ + τ²) p + 2b q xᵀΩΣAx ], φ = F - 1, q = 1 - E[A]/s, with x = X y, y
  // standard normal and the scores diagonal in y. Without a sink, q = p.
  void add_softmax(const Matrix& A, double b, Slope& slope) const {
    const Eigen::Index r = query_root_.cols();
    Matrix X = query_root_;
    Vector squares = Vector::Zero(r);
    if (r > 0 && token_root_.cols() > 0 && !A.isZero(0)) {
      const numerics::SingularValues scores =
          numerics::singular_values(token_root_.transpose() * A * query_root_);
      squares.head(scores.values.size()) = scores.values.cwiseAbs2();
      if (!squares.allFinite()) fail("invariant_risk", "the scores overflow: scale down the parameters");
      X *= scores.right;
    }
    const Averages averages = averages_over(squares);
    const Matrix B = A * X;
    const Matrix G1 = B.transpose() * weighted_ * B;
    const Matrix cross = X.transpose() * problem_.prior_covariance * problem_.covariance * B;
    const Matrix G2 = 0.5 * (cross + cross.transpose());
    const Vector &q = averages.lost, &phi = averages.phi;
    const double quadratic = G1.diagonal().dot(phi) + label_ * averages.p0;
    const double bilinear = G2.diagonal().dot(q);
    slope.value += 0.5 * b * b * quadratic + b * bilinear;
    slope.error += averages.relative_error *
                   (0.5 * b * b * (G1.diagonal().dot(phi.cwiseAbs()) + label_ * averages.lost0) +
                    std::abs(b) * G2.diagonal().cwiseAbs().dot(q));
    slope.b += b * quadratic + bilinear;
    // The part through s²: H = E[h y yᵀ] with h = b² φ' yᵀG1y + b² (tr ΣΩ + τ²) p' + 2b q' yᵀG2y.
    Matrix H(r, r);
    for (Eigen::Index k = 0; k < r; ++k) {
      double sum = b * b * label_ * averages.p_slope[k];
      for (Eigen::Index j = 0; j < r; ++j) {
        sum += b * b * G1(j, j) * averages.phi_slopes(j, k) + 2 * b * G2(j, j) * averages.lost_slopes(j, k);
      }
      for (Eigen::Index l = 0; l < k; ++l) {
        H(k, l) = H(l, k) = 2 * (b * b * G1(k, l) * averages.phi_slopes(k, l) +
                                 2 * b * G2(k, l) * averages.lost_slopes(k, l));
      }
      H(k, k) = sum;
    }
    Matrix rows = b * b * weighted_ * B * phi.asDiagonal();
    rows += b * problem_.covariance * (problem_.prior_covariance * X * q.asDiagonal());
    rows += problem_.covariance * B * H;
    slope.A += rows * X.transpose();
  }

  // Averages of p, of q and φ times y_j², and of their slopes in s² times y_j² and y_j² y_k².
  struct Averages {
    double p0 = 0, lost0 = 0;  // of p and q alone
    Vector lost, phi, p_slope;
    Matrix lost_slopes, phi_slopes;
    double relative_error = 0;
  };

  Averages averages_over(const Vector& squares) const {
    const Eigen::Index r = squares.size();
    const double largest = r > 0 ? squares.maxCoeff() : 0;
    Averages averages;
    if (!(largest > kLeastSquare)) {  // all scores are equal: y is independent of them
      const icl::RiskStatistics f = statistics(0);
      averages.p0 = f.p;
      averages.lost0 = f.lost;
      averages.lost = Vector::Constant(r, f.lost);
      averages.phi = Vector::Constant(r, f.phi);
      averages.p_slope = Vector::Constant(r, f.p_slope);
      averages.lost_slopes = Matrix::Constant(r, r, f.lost_slope);
      averages.lost_slopes.diagonal() *= 3;
      averages.phi_slopes = Matrix::Constant(r, r, f.phi_slope);
      averages.phi_slopes.diagonal() *= 3;
      averages.relative_error = f.relative_error;
      return averages;
    }
    const std::shared_ptr<const exact::SpreadRule> rule = rule_for(squares / largest, std::sqrt(largest));
    // Without a sink, q is p, and has no columns of its own.
    const Eigen::Index lost = sinks_ ? 4 : 0, lost_slope = sinks_ ? 5 : 2;
    Matrix values(rule->size(), sinks_ ? 6 : 4);
    double table_error = 0;
    for (Eigen::Index i = 0; i < rule->size(); ++i) {
      const icl::RiskStatistics f = statistics(largest * rule->squares()[i]);
      values.row(i).head(4) << f.p, f.phi, f.p_slope, f.phi_slope;
      if (sinks_) values.row(i).tail(2) << f.lost, f.lost_slope;
      table_error = std::max(table_error, f.relative_error);
    }
    const Matrix all = rule->weights() * values;
    averages.p0 = all(0, 0);
    averages.lost0 = all(0, lost);
    averages.lost = all.col(lost).segment(1, r);
    averages.phi = all.col(1).segment(1, r);
    averages.p_slope = all.col(2).segment(1, r);
    averages.lost_slopes.resize(r, r);
    averages.phi_slopes.resize(r, r);
    for (Eigen::Index j = 0; j < r; ++j) {
      for (Eigen::Index k = 0; k <= j; ++k) {
        const Eigen::Index row = exact::SpreadRule::moment_row(r, j, k);
        averages.lost_slopes(j, k) = averages.lost_slopes(k, j) = all(row, lost_slope);
        averages.phi_slopes(j, k) = averages.phi_slopes(k, j) = all(row, 3);
      }
    }
    // Halving the step of a trapezoidal rule about squares its error.
    if (!sinks_) {
      const double halving = rule->coarse_averages(values.leftCols(1))(0, 0) / averages.p0 - 1;
      averages.relative_error = table_error + kSpreadRuleError + halving * halving;
      return averages;
    }
    // Beside a sink all three statistics have a change of their own; where it is not resolved, nothing is
    // squared.
    const Matrix coarse = rule->coarse_averages(values);
    double halving = 0;
    for (Eigen::Index row = 0; row <= r; ++row) {
      const double size = all(row, lost);
      for (const Eigen::Index column : {Eigen::Index{0}, Eigen::Index{1}, lost}) {
        if (size > 0) halving = std::max(halving, std::abs(coarse(row, column) - all(row, column)) / size);
      }
    }
    averages.relative_error = table_error + kSpreadRuleError + halving * std::min(1.0, kUnresolved * halving);
    return averages;
  }

  // The last rule is kept: if A moves along a line, or all λ_j are equal, the ratios do not change.
  std::shared_ptr<const exact::SpreadRule> rule_for(const Vector& given, double spread) const {
    const Vector ratios = given.minCoeff() >= 1 - kEqual ? Vector(Vector::Ones(given.size())) : Vector(given);
    const int refinement =
        sinks_ ? exact::SpreadRule::refinement(spread, L_.shortest(), L_.longest(), problem_.sink)
               : exact::SpreadRule::refinement(spread, L_.longest());
    {
      const std::lock_guard lock(mutex_);
      if (rule_ && refinement_ == refinement && ratios_ == ratios) return rule_;
    }
    auto rule = std::make_shared<const exact::SpreadRule>(ratios, L_.longest(), refinement);
    const std::lock_guard lock(mutex_);
    refinement_ = refinement;
    ratios_ = ratios;
    rule_ = rule;
    return rule;
  }

  static constexpr double kLeastSquare = 1e-200;

  RegressionProblem problem_;
  LengthLaw L_;
  bool linear_;
  Matrix token_root_, query_root_;
  Matrix weighted_;                                // ΣΩΣ
  double label_ = 0;                               // tr ΣΩ + τ²
  std::shared_ptr<const SoftmaxTable> table_;      // softmax at finite L, without a sink
  std::shared_ptr<const exact::SinkTable> sinks_;  // and with one
  mutable std::mutex mutex_;
  mutable int refinement_ = 0;
  mutable Vector ratios_;
  mutable std::shared_ptr<const exact::SpreadRule> rule_;
};

}  // namespace

std::shared_ptr<const Risk> invariant_risk(const RegressionProblem& problem, AttentionKind attention,
                                           const LengthLaw& L) {
  check(problem);
  const icl::NaturalUnits units(problem);
  const auto natural = std::make_shared<InvariantRisk>(units.problem(), attention, L);
  return units.are_given() ? natural : icl::in_given_units(natural, units);
}

}  // namespace largo
