// How long must a prompt be? The error of attention over L Gaussian tokens, averaged over Gaussian queries.
#include <cmath>
#include <cstdio>
#include <limits>

#include "largo/exact/query_average.hpp"
#include "largo/exact/softmax_moments.hpp"

int main() {
  const int d = 5;
  const largo::Matrix identity = largo::Matrix::Identity(d, d);
  largo::Matrix tokens(d, d);  // covariance 0.5^|i-j|
  for (int i = 0; i < d; ++i) {
    for (int j = 0; j < d; ++j) tokens(i, j) = std::pow(0.5, std::abs(i - j));
  }
  const largo::Matrix U = 0.8 * identity;
  const largo::Vector mean = largo::Vector::Zero(d);

  std::printf("%8s  %12s  %12s  %12s  %12s  %8s\n", "L", "output", "of it bias", "gradient V", "gradient U",
              "error");
  for (const double L : {1.0, 10.0, 1e3, 1e6, 1e12, 1e24, std::numeric_limits<double>::infinity()}) {
    const auto error = largo::averaged_attention_error(tokens, U, identity, mean, identity, L);
    std::printf("%8g  %12.5e  %12.5e  %12.5e  %12.5e  %8.0e\n", L, error.output.value,
                error.squared_bias.value, error.gradient_V.value, error.gradient_U.value, error.output.error);
  }
  // The spread of the scores is at most σ|z|, with σ² the largest eigenvalue of UᵀΓU.
  const double sigma = 0.8 * std::sqrt(tokens.selfadjointView<Eigen::Lower>().eigenvalues().maxCoeff());
  std::printf("sigma = %.3f: for long prompts the error falls like L^-%.3f\n", sigma,
              largo::averaged_exponent(sigma));
}
