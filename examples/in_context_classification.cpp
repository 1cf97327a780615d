// In-context classification of a Gaussian mixture, with the logistic loss: the head is trained on short
// prompts, on long ones and on the infinite one, and tested on fresh tasks.
#include <cmath>
#include <cstdio>
#include <limits>

#include "largo/icl/mixture_classification.hpp"
#include "largo/icl/prompt_risk.hpp"
#include "largo/icl/regression_maps.hpp"

namespace {

using largo::Matrix;
using largo::Vector;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Eigen::Index kDimension = 2;
constexpr double kMeanScale = 1.2;

// A loss of one's own: 1 for a wrong sign. It has no slope, but it can be averaged.
class Mistake final : public largo::Loss {
 public:
  largo::LossPoint at(double output, double target) const override {
    return {output * target > 0 ? 0.0 : 1.0, 0};
  }
};

// Gradient descent in (A, b), with U = [[A, 0], [0, 0]] and v = (0, b): for the infinite prompt, the output
// of the head is b tanh <m, A x_q>.
Vector train(const largo::PromptSetting& setting) {
  const auto risk = in_parameters(std::make_shared<const largo::PromptRisk>(setting, 500),
                                  largo::invariant_map(kDimension));
  Vector at(risk->size());
  at << Matrix(0.5 * Matrix::Identity(kDimension, kDimension)).reshaped(), 0.5;
  for (int step = 0; step < 150; ++step) at -= 1.0 * risk->at(at).gradient;
  return at;
}

// If m is known, Bayes' rule is Fisher's: the sign of <m, Σ⁻¹ x_q>. Here m = E[x y].
double best_accuracy(const largo::PromptSetting& setting, std::int64_t draws, const Vector& variances) {
  double right = 0;
  for (std::int64_t i = 0; i < draws; ++i) {
    const largo::PromptDraw draw = draw_prompt(setting, i);
    const Vector mean = draw.tokens->covariance().topRightCorner(kDimension, 1);
    const double score = mean.cwiseQuotient(variances).dot(draw.query.head(kDimension));
    right += score * draw.target[0] > 0 ? 1 : 0;
  }
  return right / static_cast<double>(draws);
}

}  // namespace

int main() {
  const Vector variances{{1.0, 0.25}};
  const auto task =
      std::make_shared<largo::MixtureClassification>(kMeanScale, Matrix(variances.asDiagonal()));
  constexpr std::int64_t kTests = 4000;
  std::printf("%6s %20s %20s   A, b\n", "L", "risk on fresh tasks", "accuracy");
  for (const double length : {20.0, 200.0, kInfinity}) {
    largo::PromptSetting setting{task, largo::logistic_loss(), length, largo::AttentionKind::softmax, 1, 1};
    const Vector trained = train(setting);
    const Vector head = largo::invariant_map(kDimension)->map(trained);
    setting.seed = 2;
    const largo::RiskPoint risk = largo::PromptRisk(setting, kTests).at(head);
    setting.loss = std::make_shared<Mistake>();
    const largo::RiskPoint mistakes = largo::PromptRisk(setting, kTests).at(head);
    std::printf("%6g %11.4f ± %.4f %11.4f ± %.4f   [%.3f %.3f; %.3f %.3f], %.3f\n", length, risk.value,
                risk.error, 1 - mistakes.value, mistakes.error, trained[0], trained[2], trained[1],
                trained[3], trained[4]);
  }
  const largo::PromptSetting limit{task, largo::logistic_loss(), kInfinity, largo::AttentionKind::softmax, 1,
                                   2};
  std::printf("means known: accuracy %.4f\n", best_accuracy(limit, kTests, variances));
}
