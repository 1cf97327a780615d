// Prompts: the empirical measure Σ_l p_l δ_{z_l} of L tokens, with equal or other weights. Any law on
// finitely many points is of this form. Its tilt is softmax: weights ∝ p_l e^{<a,z_l>}, so attention over it
// is the usual softmax attention over the prompt.
//
// tilts() and tilted_covariance_products() read the tokens once for up to 64 directions, at any SIMD level
// and number of threads, and never store a score per token. Tokens are float32 or float64, in any memory that
// outlives the measure or is kept alive by `owner`, such as a matrix or a mapped file.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "largo/measures/measure.hpp"
#include "largo/runtime/array_view.hpp"

namespace largo {

namespace measures {
class KeptPrompt;  // measures/tilt_engine.hpp
}

/// Arithmetic used in the pass over the tokens.
///   float32: about 1e-6 relative to the spread of the tokens, for scores up to about 10
///   float64: compensated sums; given the scores, log-partition and mean are correct to a few ulp
/// Errors of covariances are relative to the covariances themselves, not to the spread of the prompt: if
/// softmax concentrates on a few tokens, covariances are taken around the tilted mean, in another pass.
enum class Arithmetic : std::uint8_t { of_tokens, float32, float64 };

class EmpiricalMeasure final : public Measure {
 public:
  /// Borrows the tokens, or shares their `owner`. Weights are normalised; without weights each token has 1/L.
  explicit EmpiricalMeasure(ArrayView tokens, std::shared_ptr<const void> owner = nullptr,
                            const std::optional<Vector>& weights = std::nullopt,
                            Arithmetic arithmetic = Arithmetic::of_tokens);
  /// Owns the tokens.
  explicit EmpiricalMeasure(RowMatrix tokens, const std::optional<Vector>& weights = std::nullopt,
                            Arithmetic arithmetic = Arithmetic::of_tokens);

  std::int64_t length() const { return tokens_.rows; }
  const ArrayView& tokens() const { return tokens_; }
  /// The probabilities of the tokens, which sum to one; empty if all are equal.
  const Vector& probabilities() const { return probabilities_; }

  double log_partition(const ConstVectorRef& direction) const override;
  Tilt tilt(const ConstVectorRef& direction, TiltOrder order) const override;
  std::vector<Tilt> tilts(const ConstMatrixRef& directions, TiltOrder order,
                          const Execution& execution = {}) const override;
  Matrix tilted_covariance_products(const ConstMatrixRef& directions, const ConstMatrixRef& vectors,
                                    const Execution& execution = {}) const override;
  /// An upper bound by Hoeffding's inequality: the largest distance of a token from the mean.
  double sub_gaussian_constant() const override;
  SubGaussianKind sub_gaussian_kind() const override { return SubGaussianKind::at_most; }
  /// Draws tokens from the prompt with replacement, with its weights as probabilities.
  void sample(const Stream& stream, std::uint64_t first_token, Eigen::Ref<RowMatrix> tokens) const override;
  /// One atom per token; tokens of weight zero are left out.
  ScoreLaw score_law(const ConstVectorRef& direction) const override;

  /// The same prompt, for calls on that device. From the first pass on, the device keeps the tokens, as far
  /// as it has room, for as long as the result or a copy of it lives. The device must outlive these.
  EmpiricalMeasure kept_on(const Device& device) const;

  /// The L softmax weights along one direction, in float64; they sum to one.
  Vector softmax_weights(const ConstVectorRef& direction) const;

 private:
  EmpiricalMeasure(std::pair<ArrayView, std::shared_ptr<const void>> held,
                   const std::optional<Vector>& weights, Arithmetic arithmetic);
  template <typename T>
  std::vector<Tilt> tilts_in(const ConstMatrixRef& directions, TiltOrder order,
                             const Execution& execution) const;
  template <typename T>
  Matrix products_in(const ConstMatrixRef& directions, const ConstMatrixRef& vectors,
                     const Execution& execution) const;
  std::shared_ptr<measures::KeptPrompt> kept_for(const Execution& execution) const;
  std::vector<Tilt> tilts_on_device(const ConstMatrixRef& directions, TiltOrder order,
                                    const Execution& execution) const;
  Matrix products_on_device(const ConstMatrixRef& directions, const ConstMatrixRef& vectors,
                            const Execution& execution) const;
  template <typename T>
  void check_tokens() const;
  Vector moment_centre() const;
  [[noreturn]] void explain_non_finite() const;

  ArrayView tokens_;
  std::shared_ptr<const void> owner_;
  Vector probabilities_;  // empty for equal weights
  std::vector<double> cumulative_;
  Vector log_weights_;  // log(L p_l), so that a weighted and an unweighted uniform law agree
  Arithmetic arithmetic_;
  const Device* keeper_ = nullptr;
  std::shared_ptr<measures::KeptPrompt> kept_;  // the copy kept by that device
};

}  // namespace largo
