// Attention over a Gaussian prompt, infinite and finite, through the same call.
#include <cstdio>

#include "largo/attention/attention.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"

int main() {
  using namespace largo;
  const Matrix covariance{{1.0, 0.5}, {0.5, 1.0}};
  const GaussianMeasure law(Vector::Zero(2), covariance);
  const MergedWeights weights{Matrix::Identity(2, 2), Matrix::Identity(2, 2), 0.5};
  const RowMatrix query{{1.0, -1.0}};

  const RowMatrix limit = attend(AttentionKind::softmax, law, weights, query);
  std::printf("%10s  %9.6f  %9.6f\n", "inf", limit(0, 0), limit(0, 1));
  for (const std::int64_t length : {10, 1000, 100000}) {
    const EmpiricalMeasure prompt(sample_prompt(law, Stream(1, 0), length));
    const RowMatrix output = attend(AttentionKind::softmax, prompt, weights, query);
    std::printf("%10ld  %9.6f  %9.6f\n", static_cast<long>(length), output(0, 0), output(0, 1));
  }
}
