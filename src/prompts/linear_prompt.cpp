#include "prompts/linear_prompt.hpp"

#include <algorithm>

#include "prompts/chi_squared.hpp"

namespace largo::prompts {

CollapsedSums linear_sums(const random::DrawAddress& address, std::int64_t L, double alpha, double beta) {
  random::DrawAddress uniforms = address;
  uniforms.first += kUniforms;
  ChiSquaredDraws draws(address, uniforms);
  return linear_sums(L, alpha, beta, draws);
}

double draw_linear_prompt(const random::DrawAddress& address, std::int64_t L,
                          const LinearDirections& directions, double* mean, double* gradient) {
  const auto& [a, b, e, f, stride] = directions;
  const CollapsedFrame frame = collapse(a, b, stride, e, f);
  const CollapsedSums sums = linear_sums(address, L, frame.alpha, frame.beta);
  spread(sums, e, f, stride, mean, gradient);
  for (std::size_t i = 0; i < stride; ++i) mean[i] *= frame.s;  // S e becomes S a
  return frame.s * sums.vg;
}

double attend_second_moment(const Matrix& S, const double* a, const double* b, double* mean,
                            double* gradient) {
  std::fill_n(mean, S.rows(), 0.0);
  std::fill_n(gradient, S.rows(), 0.0);
  for (Eigen::Index j = 0; j < S.cols(); ++j) {
    for (Eigen::Index i = 0; i < S.rows(); ++i) {
      mean[i] += S(i, j) * a[j];
      gradient[i] += S(i, j) * b[j];
    }
  }
  double output = 0;
  for (Eigen::Index i = 0; i < S.rows(); ++i) output += b[i] * mean[i];
  return output;
}

}  // namespace largo::prompts
