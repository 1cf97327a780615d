// The error of the gradient in U for every law with a known score law. With x = z' - c for any centre c,
// C = cov(ν_a) and Y = xxᵀ - C, the difference of the covariances is
//
//   C_p - C = Σ_i p_i Y_i - Σ_ij p_i p_j x_i x_jᵀ.
//
// In E‖V(C_p - C)‖² up to four weights are multiplied. 1/Σ^K = ∫ t^{K-1} e^{-tΣ} dt/Γ(K) makes the tokens
// independent, and a sum over i, j, … becomes one over the partitions of its indices: equal indices share a
// token, different ones are averaged on their own. With S = VᵀV and F_k[h] = L E[h z^k e^{-z}]/φ_0, z = t
// e^u, the integrand in ln t is φ_0^L times
//
//   two weights     F_2[xᵀSx xᵀx - 2 xᵀSCx + tr CSC] + c_2 tr(F_1[Y] S F_1[Y])
//   three (× -2/2)  F_3[xᵀSx xᵀx - xᵀSCx] + c_2 { F_2[(xᵀSx - CS)x]·F_1[x] + F_2[S(xᵀx - C)x]·F_1[x]
//                   + tr(F_1[Y] S F_2[xxᵀ]) } + c_3 F_1[x]ᵀ F_1[Y] S F_1[x]
//   four (× 1/6)    F_4[xᵀSx xᵀx] + c_2 { 2 F_3[S xᵀx x + xᵀSx x]·F_1[x] + F_2[xᵀSx] F_2[xᵀx] + 2 tr(F_2 S
//   F_2) }
//                   + c_3 { F_2[xᵀSx] ‖F_1[x]‖² + F_2[xᵀx] ‖VF_1[x]‖² + 4 F_1[x]ᵀ S F_2[xxᵀ] F_1[x] }
//                   + c_4 ‖VF_1[x]‖² ‖F_1[x]‖²,
//
// c_n = (L-1)…(L-n+1)/L^{n-1}. All the F_k are sums over the nodes of the same few features of a token.
#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "exact/score_law_table.hpp"
#include "largo/exact/score_law_error.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/simd_math.hpp"

namespace largo {
namespace {

using Array = Eigen::ArrayXd;

constexpr std::ptrdiff_t kMostNumbers = std::ptrdiff_t{1} << 21;

// Where the features of a token are in a row: 1, x and xxᵀ within the span of the means, the factors of the
// covariances, xᵀx x, xᵀSx x, and xᵀSx xᵀx.
struct FeatureLayout {
  std::ptrdiff_t r, covariances, d;

  std::ptrdiff_t x() const { return 1; }
  std::ptrdiff_t square() const { return x() + r; }
  std::ptrdiff_t spread() const { return square() + r * r; }
  std::ptrdiff_t cubic() const { return spread() + covariances; }
  std::ptrdiff_t valued_cubic() const { return cubic() + d; }
  std::ptrdiff_t quartic() const { return valued_cubic() + d; }
  std::ptrdiff_t count() const { return quartic() + 1; }
};

// An orthonormal basis of the columns, up to rounding of each of them.
Matrix span_of(Matrix columns) {
  for (std::ptrdiff_t k = 0; k < columns.cols(); ++k) columns.col(k).stableNormalize();
  Eigen::ColPivHouseholderQR<Matrix> factor(columns);
  factor.setThreshold(1e-14);
  return factor.householderQ() * Matrix::Identity(columns.rows(), factor.rank());
}

// The means of the features of a token given its score, by components.
class TokenFeatures {
 public:
  /// The centre of x is the limit plus `shift`.
  TokenFeatures(const ScoreLaw& law, const exact::Centred& centred, const ConstMatrixRef& V,
                const Vector& shift)
      : law_(law), tilted_(centred.tilted) {
    const Matrix at = centred.at.colwise() - shift;
    Matrix means(at.rows(), 2 * at.cols());
    means << at, centred.along;
    basis = span_of(means);
    at_ = basis.transpose() * at;
    along_ = basis.transpose() * centred.along;
    const Matrix V_basis = V * basis;
    valued_ = V_basis.transpose() * V_basis;
    for (const Matrix& C : law.covariances) {
      const Matrix VC = V * C;
      const double trace = C.trace(), valued_trace = VC.cwiseProduct(V).sum();
      const Matrix mixed = V_basis.transpose() * VC * basis;
      parts_.push_back({trace, valued_trace, trace * valued_trace + 2 * VC.squaredNorm(), C * basis,
                        VC.transpose() * V_basis, (mixed + mixed.transpose()) / 2});
      V_covariances.push_back(VC);
      traces.push_back(trace);
    }
    layout = {basis.cols(), std::ssize(law.covariances), at.rows()};
  }

  void operator()(const exact::ScoreNode& node, Eigen::Ref<Vector> features) const {
    const ScoreComponent& component = law_.components[node.component];
    const auto k = static_cast<std::ptrdiff_t>(node.component);
    const auto along = along_.col(k);
    const Vector x = at_.col(k) + (node.v - tilted_[node.component]) * along;
    const double norm = x.squaredNorm(), valued = x.dot(valued_ * x);
    features[0] = 1;
    features.segment(layout.x(), layout.r) = x;
    Eigen::Map<Matrix> square(features.data() + layout.square(), layout.r, layout.r);
    square = x * x.transpose();
    if (node.is_tilt) square += along * along.transpose();  // v has variance 1 there
    auto cubic = features.segment(layout.cubic(), layout.d);
    auto valued_cubic = features.segment(layout.valued_cubic(), layout.d);
    cubic = basis * (norm * x);
    valued_cubic = basis * (valued * x);
    double& quartic = features[layout.quartic()];
    quartic = norm * valued;
    if (component.covariance < 0) return;
    const Part& part = parts_[static_cast<std::size_t>(component.covariance)];
    const double q = component.constant_part + component.round_part * node.one_minus_v_squared;
    features[layout.spread() + component.covariance] = q;
    cubic += basis * (q * part.trace * x) + part.C_basis * (2 * q * x);
    valued_cubic += basis * (q * part.valued_trace * x) + part.CS_basis * (2 * q * x);
    quartic += q * (valued * part.trace + norm * part.valued_trace + 4 * x.dot(part.mixed * x)) +
               *component.fourth * q * q * part.pairings;
  }

  FeatureLayout layout{};
  Matrix basis;                       // d x r
  std::vector<Matrix> V_covariances;  // V C
  std::vector<double> traces;         // tr C

 private:
  struct Part {
    double trace, valued_trace, pairings;  // tr C, tr SC, tr C tr SC + 2 tr SCC
    Matrix C_basis, CS_basis, mixed;       // C B, C S B, the symmetric part of BᵀSCB
  };
  const ScoreLaw& law_;
  const std::vector<double>& tilted_;
  Matrix at_, along_, valued_;
  std::vector<Part> parts_;
};

class CovarianceIntegrand {
 public:
  CovarianceIntegrand(const TokenFeatures& tokens, const exact::NodeTable& table, const ConstMatrixRef& V,
                      const Vector& shift, double log_partition, double length)
      : tokens_(tokens),
        layout_(tokens.layout),
        table_(table),
        V_(V),
        V_basis_(V * tokens.basis),
        shift_(shift),
        log_tilted_tokens_(std::log(length) + log_partition),
        length_(length),
        weights_(table.score.size(), 4),
        nodes_(table.score, table.expected, length) {
    // Under the tilt x has mean -shift.
    Vector tilt = (table.score - log_partition).matrix();
    numerics::exp({tilt.data(), static_cast<std::size_t>(tilt.size())},
                  {tilt.data(), static_cast<std::size_t>(tilt.size())});
    const Vector tilted = table.averages.transpose() * (tilt / length);
    limit_ = valued_square(tilted) / tilted[0] - (V * shift) * shift.transpose();
    limit_norm_ = limit_.squaredNorm();
    // What all smaller t can add: the features of two weights, and the quartic ones of three and four.
    left_ = table.averages.col(layout_.quartic()).array() * 4 + table.expected * limit_norm_ * 4;
  }

  /// The integrand, and the size of the parts that cancel in it.
  struct Term {
    double value, magnitude;
  };
  Term evaluate(double y) {
    const double decay = nodes_.exponent(y);
    const Array& z = nodes_.z();
    left_bound_ = (left_ * z.min(1.0) * z.min(1.0)).sum();
    ratio_ = decay - z;  // e^{-z}/φ_0
    numerics::exp({ratio_.data(), static_cast<std::size_t>(ratio_.size())},
                  {ratio_.data(), static_cast<std::size_t>(ratio_.size())});
    weights_.col(0) = z * ratio_;
    // In very long prompts z² is below the range of doubles where L z² is not. (Beyond 1000 the ratio is
    // zero.)
    weights_.col(1) = weights_.col(0).array() * (z.min(1000.0) * length_);
    weights_.col(2) = weights_.col(0).array() * z * z;
    weights_.col(3) = weights_.col(2).array() * z;
    const double tilted_tokens = std::exp(log_tilted_tokens_ + y);
    const double remains = weights_.col(0).dot(table_.expected.matrix()) * std::exp(-decay) / tilted_tokens;
    // The averages under the tilt are known: while most of it is still there, sum what has gone instead.
    const bool most_remains = remains > 0.5;
    if (most_remains) weights_.col(0) = -z * nodes_.complement() * std::exp(decay);
    F_.noalias() = table_.averages.transpose() * weights_;
    F_.col(1) /= length_;
    Term term = combined(most_remains ? tilted_tokens * std::exp(decay) : 0);
    const double survival = std::exp(-length_ * decay);
    return {term.value * survival, term.magnitude * survival};
  }

  double left_bound() const { return left_bound_; }
  exact::NodesAtT& nodes() { return nodes_; }

 private:
  // V times the average of xxᵀ.
  Matrix valued_square(const Eigen::Ref<const Vector>& F) const {
    const Eigen::Map<const Matrix> square(F.data() + layout_.square(), layout_.r, layout_.r);
    Matrix result = V_basis_ * square * tokens_.basis.transpose();
    for (std::ptrdiff_t j = 0; j < layout_.covariances; ++j)
      result += F[layout_.spread() + j] * tokens_.V_covariances[static_cast<std::size_t>(j)];
    return result;
  }

  // The average of xᵀx.
  double norm(const Eigen::Ref<const Vector>& F) const {
    const Eigen::Map<const Matrix> square(F.data() + layout_.square(), layout_.r, layout_.r);
    double result = square.trace();
    for (std::ptrdiff_t j = 0; j < layout_.covariances; ++j)
      result += F[layout_.spread() + j] * tokens_.traces[static_cast<std::size_t>(j)];
    return result;
  }

  Vector mean(const Eigen::Ref<const Vector>& F) const {
    return tokens_.basis * F.segment(layout_.x(), layout_.r);
  }

  // `tilted` tokens of the tilted law are missing in the first sums.
  Term combined(double tilted) const {
    const auto F1 = F_.col(0), F2 = F_.col(1), F3 = F_.col(2), F4 = F_.col(3);
    const Vector m = mean(F1) - tilted * shift_;
    const Vector Vm = V_ * m;
    const Matrix Y = valued_square(F1) - F1[0] * limit_ + (V_ * shift_) * (tilted * shift_.transpose());
    const Matrix M = valued_square(F2);
    const double valued = M.cwiseProduct(V_).sum(), plain = norm(F2), mm = m.squaredNorm(),
                 Vmm = Vm.squaredNorm();
    const double c2 = 1 - 1 / length_, c3 = c2 * (1 - 2 / length_), c4 = c3 * (1 - 3 / length_);
    const auto cubic = [&](const auto& F) { return F.segment(layout_.cubic(), layout_.d); };
    const auto valued_cubic = [&](const auto& F) { return F.segment(layout_.valued_cubic(), layout_.d); };
    const auto quartic = [&](const auto& F) { return F[layout_.quartic()]; };
    const auto mixed = [&](const Matrix& square) { return square.cwiseProduct(limit_).sum(); };  // xᵀSCx

    // Each with the sizes of its summands, since these may cancel.
    Term sum{0, 0};
    const auto add = [&sum](double factor, std::initializer_list<double> summands) {
      for (const double summand : summands) {
        sum.value += factor * summand;
        sum.magnitude += std::abs(factor * summand);
      }
    };
    const Vector m2 = mean(F2);
    add(1, {quartic(F2), -2 * mixed(M), limit_norm_ * F2[0]});
    add(c2, {Y.squaredNorm()});
    add(-1, {quartic(F3), -mixed(valued_square(F3))});
    add(-c2, {valued_cubic(F2).dot(m), -(limit_ * m).dot(V_ * m2), Vm.dot(V_ * cubic(F2)),
              -Vm.dot(limit_ * m2), Y.cwiseProduct(M).sum()});
    add(-c3, {(Y * m).dot(Vm)});
    add(1.0 / 6, {quartic(F4)});
    add(c2 / 6,
        {2 * Vm.dot(V_ * cubic(F3)), 2 * valued_cubic(F3).dot(m), valued * plain, 2 * M.squaredNorm()});
    add(c3 / 6, {valued * mm, plain * Vmm, 4 * Vm.dot(M * m)});
    add(c4 / 6, {Vmm * mm});
    return sum;
  }

  const TokenFeatures& tokens_;
  FeatureLayout layout_;
  const exact::NodeTable& table_;
  Matrix V_, V_basis_;
  Vector shift_;
  double log_tilted_tokens_;  // log(L E e^u)
  double length_;
  Matrix limit_;  // V cov(ν_a)
  double limit_norm_ = 0;
  double left_bound_ = 0;
  Array left_, ratio_;
  Matrix weights_;  // column k - 1: z^k e^{-z}/φ_0, for k = 2 times L
  Matrix F_;        // column k - 1: F_k of all features
  exact::NodesAtT nodes_;
};

exact::SumOverT integrate_covariance(CovarianceIntegrand& integrand, double log_partition, double length,
                                     double step) {
  exact::SumOverT sum;
  const auto add = [&](double y) {
    const CovarianceIntegrand::Term term = integrand.evaluate(y);
    sum.value += step * term.value;
    sum.magnitude += step * term.magnitude;
    return term.magnitude;
  };
  const auto is_rest_small = [&] { return integrand.left_bound() <= exact::kNegligibleTerm * sum.magnitude; };
  sum.peak = exact::sum_over_t(integrand.nodes(), log_partition, length, step, add, is_rest_small);
  return sum;
}

}  // namespace

std::optional<Estimate> score_law_covariance_error(const ScoreLaw& law, const ConstMatrixRef& value_map,
                                                   double length) {
  constexpr auto kCovarianceError = "score_law_covariance_error";
  if (!law.has_fourth_moments()) return std::nullopt;
  const std::ptrdiff_t d = value_map.cols();
  const Matrix identity = Matrix::Identity(d, d);
  // The centre is the mean of the outputs, so that little cancels where a few tokens far from the limit have
  // all the weight. This call also checks law and length.
  const Vector shift = score_law_error(law, identity, length).bias;
  check_finite(kCovarianceError, "value map", value_map);
  if (std::isinf(length)) return Estimate{};
  const exact::Centred centred = exact::centred_values(law, identity);
  const TokenFeatures tokens(law, centred, value_map, shift);
  const auto at_coarsening = [&](int coarsening) -> std::optional<exact::SumOverT> {
    const exact::NodeTable table =
        exact::make_node_table(law, centred.reference, length, {.log_length = std::log(length)}, coarsening,
                               tokens.layout.count(), kMostNumbers, tokens);
    if (table.score.size() == 0) return std::nullopt;
    if (!table.averages.allFinite()) return std::nullopt;  // the fourth power of a token overflows
    CovarianceIntegrand integrand(tokens, table, value_map, shift, centred.log_partition, length);
    return integrate_covariance(integrand, centred.log_partition, length, coarsening * exact::kStepInLogT);
  };
  const auto fine = at_coarsening(1);
  if (!fine) return std::nullopt;
  const auto coarse = at_coarsening(2);
  if (!coarse || !std::isfinite(fine->value) || !std::isfinite(fine->magnitude)) return std::nullopt;
  return Estimate{std::max(0.0, fine->value), exact::error_of_sum(law, *fine, coarse->value)};
}

}  // namespace largo
