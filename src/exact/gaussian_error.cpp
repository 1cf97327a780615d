#include "largo/exact/gaussian_error.hpp"

#include <cmath>

#include "exact/attention_forms.hpp"
#include "largo/exact/domain.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"

namespace largo {

AttentionError gaussian_attention_error(const ConstMatrixRef& token_covariance, const ConstMatrixRef& U,
                                        const ConstMatrixRef& V, const ConstVectorRef& query, double L) {
  constexpr const char* kName = "gaussian_attention_error";
  check_prompt_length(kName, L);
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
  if (R.cols() == 0) return error;

  const SoftmaxMoments m = softmax_moments(error.s, L);
  const Vector e = error.s > 0 ? Vector(along / error.s) : Vector(Vector::Unit(R.cols(), 0));
  const AttentionForms forms(R, V);
  DirectionValues at;
  at.W = e.dot(forms.W * e);
  at.G = e.dot(forms.G * e);
  at.WG = e.dot(forms.WG * e);
  at.W_G = at.W * at.G;
  error.output = output_combination(forms, at).of(m);
  error.bias = -m.P2.value * (V * (R * along));
  error.gradient_V = value_gradient_combination(forms, at).of(m);
  error.gradient_U = covariance_combination(forms, at).of(m);
  error.gradient_U.value *= query.squaredNorm();
  error.gradient_U.error *= query.squaredNorm();
  check_finite(kName, "output error", error.output.value);
  check_finite(kName, "gradient error in V", error.gradient_V.value);
  check_finite(kName, "gradient error in U", error.gradient_U.value);
  check_finite(kName, "bias", error.bias);
  return error;
}

}  // namespace largo
