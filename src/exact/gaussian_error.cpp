// In whitened coordinates a token is m + R g, Γ = R Rᵀ, g ~ N(0, I). Along e = Rᵀa/s the scores see g, across
// it they do not; so the weighted covariance Ĉ of the g's has the entry B along e, and given the weights its
// other entries are quadratic forms in normals that do not know the weights. With W = RᵀVᵀVR and G = RᵀR,
// ‖V (C_p − Γ)‖² = tr (Ĉ − I) W (Ĉ − I) G, whose expectation needs E[(B−1)²], E[D], E[(B−1)P_2] and
// τ = E[P_2 − 2 P_3 + P_2²].
#include "largo/exact/gaussian_error.hpp"

#include <cmath>
#include <limits>

#include "exact/domain.hpp"
#include "largo/numerics/check.hpp"
#include "largo/numerics/factor.hpp"

namespace largo {
namespace {

// Σ c_i x_i with the errors of the x_i.
struct Combination {
  Estimate sum;
  Combination& add(double coefficient, const Estimate& x) {
    sum.value += coefficient * x.value;
    sum.error += std::abs(coefficient) * x.error;
    return *this;
  }
};

Estimate output_error(const SoftmaxMoments& m, double trace, double along) {
  // s² (p − 6 p3 + 6 q) = mse − p, and ‖VΓa‖² = s² along
  return Combination().add(trace - along, m.P2).add(along, m.mse).sum;
}

Estimate covariance_error(const SoftmaxMoments& m, const Matrix& W, const Matrix& G, const Vector& e) {
  const Vector We = W * e;
  const Vector Ge = G * e;
  const double W_ee = e.dot(We);
  const double G_ee = e.dot(Ge);
  const double cross = (We - W_ee * e).dot(Ge - G_ee * e);
  const Matrix across = Matrix::Identity(e.size(), e.size()) - e * e.transpose();
  const Matrix W_rr = across * W * across;
  const Matrix G_rr = across * G * across;
  const double traces = W_rr.trace() * G_rr.trace();
  const double product = W_rr.cwiseProduct(G_rr).sum();
  return Combination()
      .add(W_ee * G_ee, m.variance_mse)
      .add(2 * cross + W_ee * G_rr.trace() + G_ee * W_rr.trace(), m.squared_spread)
      .add(-2 * cross, m.variance_P2)
      .add(2 * product + traces, m.P2P2)
      .add(product + traces, m.P2)
      .add(-2 * (product + traces), m.P3)
      .sum;
}

}  // namespace

AttentionError gaussian_attention_error(const ConstMatrixRef& token_covariance, const ConstMatrixRef& U,
                                        const ConstMatrixRef& V, const ConstVectorRef& query, double L) {
  constexpr const char* kName = "gaussian_attention_error";
  if (L != std::numeric_limits<double>::infinity()) check_prompt_length(kName, L);
  const Matrix R = covariance_root(kName, "token_covariance", token_covariance).root;
  check_shape(kName, "U", U.rows(), U.cols(), R.rows(), query.size());
  check_size(kName, "columns of V", V.cols(), R.rows());
  check_finite(kName, "U", U);
  check_finite(kName, "V", V);
  check_finite(kName, "query", query);

  AttentionError error;
  const Vector along = R.transpose() * (U * query);
  error.s = along.stableNorm();
  error.bias = Vector::Zero(V.rows());
  if (L == std::numeric_limits<double>::infinity() || R.cols() == 0) return error;

  const SoftmaxMoments m = softmax_moments(error.s, L);
  const Vector e = error.s > 0 ? Vector(along / error.s) : Vector(Vector::Unit(R.cols(), 0));
  const Matrix VR = V * R;
  const Matrix W = VR.transpose() * VR;
  const Matrix G = R.transpose() * R;
  error.output = output_error(m, W.trace(), e.dot(W * e));
  error.bias = -m.P2.value * (VR * along);
  const double rows = static_cast<double>(V.rows());
  error.gradient_V = Combination().add(rows, output_error(m, G.trace(), e.dot(G * e))).sum;
  error.gradient_U = Combination().add(query.squaredNorm(), covariance_error(m, W, G, e)).sum;
  check_finite(kName, "output error", error.output.value);
  check_finite(kName, "gradient error in V", error.gradient_V.value);
  check_finite(kName, "gradient error in U", error.gradient_U.value);
  check_finite(kName, "bias", error.bias);
  return error;
}

}  // namespace largo
