// A law of one's own: the log-partition is enough to attend over it.
#include <cmath>
#include <cstdio>

#include "largo/attention/attention.hpp"

namespace {

// Independent logistic coordinates, tilted where |a| < 1/√d: E e^{aX} = πa / sin(πa) for |a| < 1. (Logistic
// tokens are not sub-Gaussian, so their attention exists for small queries only.)
class LogisticMeasure final : public largo::Measure {
 public:
  explicit LogisticMeasure(std::ptrdiff_t dimension) : Measure(dimension) {}

  double log_partition(const largo::ConstVectorRef& direction) const override {
    double sum = 0;
    for (const double a : direction) {
      if (a != 0) sum += std::log(M_PI * a / std::sin(M_PI * a));
    }
    return sum;
  }
};

}  // namespace

int main() {
  const LogisticMeasure law(2);
  const largo::MergedWeights weights{largo::Matrix::Identity(2, 2), largo::Matrix::Identity(2, 2)};
  const largo::RowMatrix queries{{0.1, 0.0}, {0.2, -0.2}};
  const largo::RowMatrix softmax = attend(largo::AttentionKind::softmax, law, weights, queries);
  // The derivative of log(πa / sin πa) is 1/a - π cot πa.
  for (std::ptrdiff_t q = 0; q < queries.rows(); ++q) {
    const double a = queries(q, 0);
    std::printf("%.12f  exact %.12f\n", softmax(q, 0), 1 / a - M_PI / std::tan(M_PI * a));
  }
}
