// A token law μ on R^d, described by its exponential tilts.
//
// For a in R^d, Λ(a) = log ∫ e^{<a,z>} dμ(z) is the log-partition and dν_a ∝ e^{<a,·>} dμ the tilted law.
// Then ∇Λ(a) = mean(ν_a) and ∇²Λ(a) = cov(ν_a). Softmax attention, its limit and its gradients need nothing
// else. So a law is anything that answers tilt(a). A prompt of L tokens (EmpiricalMeasure) and a Gaussian are
// asked the same question.
//
// Laws are immutable, so threads can share them; composite laws hold their parts by MeasurePtr.
//
// To define your own law, derive from this class and provide log_partition(). Everything else has a default:
//   tilt                   8th-order differences of log_partition, step 0.02 of the law's own length scale:
//                          about 1e-12 (mean) and 1e-9 (covariance) relative to the spread of the law
//   tilts                  tilt() for each direction, in parallel
//   mean, covariance       tilt(0)
//   sub_gaussian_constant  an estimate from below, not a bound, by a search of many directions and radii
//   sample, score_law      none: they throw InputError
//   token_leaves           calls sample
// Override what you know in closed form.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "largo/measures/score_law.hpp"
#include "largo/random/streams.hpp"
#include "largo/runtime/execution.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo {

/// How much of a tilt to compute; each order includes the ones before it.
enum class TiltOrder : std::uint8_t { log_partition, mean, covariance };

struct Tilt {
  double log_partition = 0;
  Vector mean;        ///< empty unless asked for
  Matrix covariance;  ///< empty unless asked for
};

/// The meaning of Measure::sub_gaussian_constant() of a law.
enum class SubGaussianKind : std::uint8_t {
  smallest,  ///< the σ of the law
  at_most,   ///< a proved upper bound, maybe larger than necessary
  at_least,  ///< found by a search of Λ; values of Λ at points cannot prove a bound
};

/// "smallest", "at most", "at least"
const char* name_of(SubGaussianKind kind);

/// How deeply a law is composed of other laws.
struct Nesting {
  int depth = 0;         ///< 0: not composed of other laws
  double innermost = 1;  ///< number of laws at the bottom; a law that is used twice counts twice
};

struct TokenLeaf;

class Measure {
 public:
  virtual ~Measure() = default;

  std::ptrdiff_t dimension() const { return dimension_; }

  /// Λ(a). It is finite for every a, because all laws of largo are sub-Gaussian.
  virtual double log_partition(const ConstVectorRef& direction) const = 0;

  virtual Tilt tilt(const ConstVectorRef& direction, TiltOrder order = TiltOrder::covariance) const;

  /// The tilts along each column of a d x n matrix.
  virtual std::vector<Tilt> tilts(const ConstMatrixRef& directions, TiltOrder order,
                                  const Execution& execution = {}) const;

  /// Column q is cov(ν_{a_q}) h_q, where a_q and h_q are the q-th columns of the two d x n matrices. A
  /// vector-Jacobian product of attention needs this; it is computed without a d x d matrix if the law can
  /// avoid it.
  virtual Matrix tilted_covariance_products(const ConstMatrixRef& directions, const ConstMatrixRef& vectors,
                                            const Execution& execution = {}) const;

  virtual Vector mean() const;
  virtual Matrix covariance() const;

  /// A σ with Λ(a) − <a, mean> ≤ σ²‖a‖²/2 for every a (σ² is a variance proxy of every projection of the
  /// centred law). It is the smallest one, an upper bound, or an estimate; sub_gaussian_kind() says which.
  virtual double sub_gaussian_constant() const;
  /// The default is at_least: nothing is known of a law of your own, even if it provides a constant. A law
  /// composed of others returns the weakest kind among theirs.
  virtual SubGaussianKind sub_gaussian_kind() const { return SubGaussianKind::at_least; }

  /// Fills row i with token number first_token + i of the stream. A token depends only on the stream and its
  /// number, so a prompt can be drawn in any pieces.
  virtual void sample(const Stream& stream, std::uint64_t first_token, Eigen::Ref<RowMatrix> tokens) const;

  /// The law of the score <direction, z> and the moments of z given the score (score_law.hpp). It is known
  /// for Gaussian, round, elliptical and discrete laws, for products of discrete coordinates and at most one
  /// continuous one (among the coordinates that the direction does not ignore), and for images and mixtures
  /// of these. Other laws throw InputError.
  virtual ScoreLaw score_law(const ConstVectorRef& direction) const;

  /// The law as a mixture of images of standard laws (token_leaf.hpp), for kernels that draw prompts without
  /// storing them. The default is one leaf that calls sample(). The leaves may refer to this object.
  virtual std::vector<TokenLeaf> token_leaves() const;

  virtual Nesting nesting() const { return {}; }

 protected:
  explicit Measure(std::ptrdiff_t dimension);
  Measure(const Measure&) = default;
  Measure& operator=(const Measure&) = default;

  /// Throws InputError unless the direction is finite and has the law's dimension.
  void check_direction(const ConstVectorRef& direction) const;
  /// Returns the tilt unchanged, or throws InputError if a number in it is not finite.
  Tilt finite(Tilt tilt) const;
  /// Calls check_direction for each column of both, and requires the same number of columns.
  void check_pairs(const ConstMatrixRef& directions, const ConstMatrixRef& vectors) const;
  /// Checks the pairs, and has product(direction, vector), a vector, in a column for each. One pair at a
  /// time: the last bits of a product of matrices depend on the number of columns.
  template <typename Product>
  Matrix product_of_each_pair(const ConstMatrixRef& directions, const ConstMatrixRef& vectors,
                              const Product& product) const {
    check_pairs(directions, vectors);
    Matrix products(vectors.rows(), vectors.cols());
    for (std::ptrdiff_t q = 0; q < vectors.cols(); ++q) {
      products.col(q) = product(ConstVectorRef(directions.col(q)), ConstVectorRef(vectors.col(q)));
    }
    return products;
  }

 private:
  double length_scale() const;

  std::ptrdiff_t dimension_;
};

using MeasurePtr = std::shared_ptr<const Measure>;

/// Draws a prompt of `length` i.i.d. tokens, one per row, numbered from 0, in pieces on the threads of the
/// call.
RowMatrix sample_prompt(const Measure& law, const Stream& stream, std::int64_t length,
                        const Execution& execution = {});

}  // namespace largo
