#include "largo/prompts/regression_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>

#include <oneapi/tbb/enumerable_thread_specific.h>

#include "largo/runtime/check.hpp"
#include "prompts/collapsed_kernel.hpp"
#include "prompts/linear_prompt.hpp"
#include "prompts/padded_rows.hpp"
#include "prompts/prompt_layout.hpp"
#include "prompts/token_source.hpp"
#include "prompts/token_sums.hpp"
#include "random/float_draws.hpp"
#include "runtime/distribute.hpp"

namespace largo {
namespace {

constexpr const char* kRegressionGradient = "regression_gradient";
constexpr std::int64_t kBlock = prompts::kPromptsInBlock;
// Limits on the blocks whose sums are held at a time: this many numbers, but at least this many blocks, so
// that there are some for each of many threads.
constexpr std::int64_t kHeldNumbers = std::int64_t{1} << 18;
constexpr std::int64_t kFewestHeld = 64;

// The matrices that all prompts share, laid out for products with blocks of prompts.
struct SharedMatrices {
  SharedMatrices(const RegressionTask& task, const RegressionParameters& parameters)
      : prior(prompts::transposed(task.prior_root)),
        query(prompts::transposed(task.query_root)),
        scores(prompts::transposed(parameters.U, parameters.U.cols() - 1, task.score_scale)),
        token(prompts::transposed(task.token_root)),
        whitening(prompts::as_it_is(task.token_root)),
        values(1, prompts::size_of(parameters.v.size())) {
    prompts::PaddedRows v(1, prompts::size_of(parameters.v.size()));
    std::copy_n(parameters.v.data(), parameters.v.size(), v.row(0));
    prompts::multiply(v, 1, whitening, values);
  }

  prompts::RightFactor prior, query,
      scores;  // Pᵀ, C_qᵀ, (c U)ᵀ without the column of U that meets the query's zero
  prompts::RightFactor token, whitening;  // Cᵀ, C
  prompts::PaddedRows values;             // Cᵀ v_x
};

// The prompts of one block. Sums over their tokens are in whitened coordinates x = (χ, ε), with scores <a, x>
// and values <b, x>: x̄ = Σ p x and g = Σ p (<b, x> - o) x.
class PromptBlock {
 public:
  PromptBlock(const RegressionTask& task, const RegressionParameters& parameters,
              const RegressionBatch& batch, const SharedMatrices& shared, const Execution& execution)
      : task_(task),
        batch_(batch),
        shared_(shared),
        execution_(execution),
        d_(prompts::size_of(task.token_root.rows())),
        size_(d_ + 1),
        v_y_(parameters.v[task.token_root.rows()]),
        omega_(kBlock, d_),
        chi_(kBlock, d_),
        w_(kBlock, d_),
        query_(kBlock, d_),
        u_(kBlock, size_),
        whitened_w_(kBlock, d_),
        a_(kBlock, size_),
        b_(1, size_),
        e_(1, size_),
        f_(1, size_),
        mean_(kBlock, size_),
        gradient_(kBlock, size_),
        slope_(kBlock, 1),
        groups_((size_ + random::kTokensAtOnce - 1) / random::kTokensAtOnce),
        drawn_(batch.kernel == PromptKernel::full ? groups_ : 2 * groups_),
        normals_(2 * drawn_ * random::kTokensAtOnce) {
    if (batch.kernel == PromptKernel::full) {
      TokenLeaf leaf;
      leaf.base = NormalTokens{static_cast<std::ptrdiff_t>(size_)};
      source_ = prompts::make_token_source<float>(leaf, 0);
      sums_.emplace(size_, is_linear() ? prompts::SumOrder::covariance : prompts::SumOrder::gradient);
      chunk_.resize(size_ * prompts::kChunkTokens);
    }
  }

  /// Writes to `row`, for the prompts [first, first + count): the gradient in U (column by column) and the
  /// gradient in v, in rows of stride() numbers before C is applied to them, and the loss.
  void operator()(std::int64_t first, std::size_t count, std::span<double> row) {
    draw(first, count);
    double loss = 0;
    for (std::size_t n = 0; n < count; ++n) {
      const auto id = static_cast<std::uint64_t>(first) + n;
      whiten(n);
      const double output = draw_prompt(n, id);
      const double difference = output - prompts::dot(w_.row(n), query_.row(n), w_.stride());
      loss += difference * difference;
      slope_.row(n)[0] = 2 * difference;
      for (std::size_t j = 0; j < d_; ++j) query_.row(n)[j] *= 2 * difference * task_.score_scale;
      for (double* x : {mean_.row(n), gradient_.row(n)}) {
        x[d_] = prompts::dot(whitened_w_.row(n), x, whitened_w_.stride()) +
                task_.noise_deviation * x[d_];  // y of the token
      }
    }
    prompts::transposed_product(query_, count, gradient_, d_, row.data());
    prompts::transposed_product(slope_, count, mean_, 1, row.data() + d_ * mean_.stride());
    row[size_ * mean_.stride()] = loss;
  }

 private:
  // Draws tasks and queries; computes u = c U (x_q, 0), Cᵀ w and Cᵀ u_x. Collapsed prompts also draw the
  // normals for spread().
  void draw(std::int64_t first, std::size_t count) {
    for (std::size_t n = 0; n < count; ++n) {
      float *one = normals_.data(), *two = one + drawn_ * random::kTokensAtOnce;
      random::token_normals({batch_.seed, static_cast<std::uint64_t>(first) + n, prompts::kPromptDraws},
                            drawn_, one, two);
      std::copy_n(one, d_, omega_.row(n));
      std::copy_n(two, d_, chi_.row(n));
      if (drawn_ == groups_) continue;
      std::copy_n(one + groups_ * random::kTokensAtOnce, size_, mean_.row(n));
      std::copy_n(two + groups_ * random::kTokensAtOnce, size_, gradient_.row(n));
    }
    prompts::multiply(omega_, count, shared_.prior, w_);
    prompts::multiply(chi_, count, shared_.query, query_);
    prompts::multiply(query_, count, shared_.scores, u_);
    prompts::multiply(w_, count, shared_.whitening, whitened_w_);
    prompts::multiply(u_, count, shared_.whitening, a_);
  }

  // u and v as a whitened token sees them: <u, z> = <Cᵀ(u_x + w u_y), χ> + u_y τ ε.
  void whiten(std::size_t n) {
    const double u_y = u_.row(n)[d_];
    double *a = a_.row(n), *b = b_.row(0);
    const double *t = whitened_w_.row(n), *v = shared_.values.row(0);
    for (std::size_t i = 0; i < d_; ++i) {
      a[i] += u_y * t[i];
      b[i] = v[i] + v_y_ * t[i];
    }
    a[d_] = task_.noise_deviation * u_y;
    b[d_] = task_.noise_deviation * v_y_;
  }

  bool is_linear() const { return batch_.attention == AttentionKind::linear; }

  // Leaves x̄ and g in mean_ and gradient_ (S a and S b for linear attention, S = (1/L) Σ x xᵀ), and returns
  // the output <b, x̄>.
  double draw_prompt(std::size_t n, std::uint64_t id) {
    if (batch_.kernel == PromptKernel::full)
      return is_linear() ? attend_linearly(n, id) : draw_in_full(n, id);
    return is_linear() ? draw_linear(n, id) : draw_collapsed(n, id);
  }

  void add_tokens(std::uint64_t id) {
    for (std::int64_t first = 0; first < batch_.length; first += prompts::kChunkTokens) {
      runtime::check_stop(execution_);
      const auto count =
          static_cast<std::size_t>(std::min<std::int64_t>(prompts::kChunkTokens, batch_.length - first));
      source_->draw(batch_.seed, id, static_cast<std::uint64_t>(first), count, chunk_.data());
      sums_->add(chunk_.data(), count);
    }
  }

  double draw_in_full(std::size_t n, std::uint64_t id) {
    const auto size = static_cast<Eigen::Index>(size_);
    // Values are taken relative to their size, so that none leaves the range of float32.
    const Eigen::Map<const Vector> b(b_.row(0), size);
    const double largest = b.cwiseAbs().maxCoeff();
    const double scale = largest > 0 ? largest : 1;
    sums_->begin(Eigen::Map<const Vector>(a_.row(n), size), b / scale);
    add_tokens(id);
    const double weight = sums_->weight();
    const double output = scale * sums_->value() / weight;
    Eigen::Map<Vector> mean(mean_.row(n), size), gradient(gradient_.row(n), size);
    mean = sums_->mean() / weight;
    gradient = scale / weight * sums_->gradient() - output * mean;
    return output;
  }

  // The part along e (the scores) and f (the rest of the values) comes from the kernel; the part orthogonal
  // to both is Gaussian.
  double draw_collapsed(std::size_t n, std::uint64_t id) {
    const std::size_t stride = a_.stride();
    double *e = e_.row(0), *f = f_.row(0);
    const prompts::CollapsedFrame frame = prompts::collapse(a_.row(n), b_.row(0), stride, e, f);
    const prompts::CollapsedSums sums = prompts::collapsed_sums({batch_.seed, id, 0}, batch_.length, frame.s,
                                                                frame.alpha, frame.beta, execution_);
    prompts::spread(sums, e, f, stride, mean_.row(n), gradient_.row(n));
    return frame.alpha * sums.g + frame.beta * sums.h;
  }

  // Scores of zero give every token the weight one.
  double attend_linearly(std::size_t n, std::uint64_t id) {
    sums_->begin(Vector::Zero(static_cast<Eigen::Index>(size_)), Vector());
    add_tokens(id);
    return prompts::attend_second_moment(sums_->second_moment() / sums_->weight(), a_.row(n), b_.row(0),
                                         mean_.row(n), gradient_.row(n));
  }

  double draw_linear(std::size_t n, std::uint64_t id) {
    const random::DrawAddress address{batch_.seed, id, prompts::kMatrixDraws};
    return prompts::draw_linear_prompt(address, batch_.length,
                                       {a_.row(n), b_.row(0), e_.row(0), f_.row(0), a_.stride()},
                                       mean_.row(n), gradient_.row(n));
  }

  const RegressionTask& task_;
  const RegressionBatch& batch_;
  const SharedMatrices& shared_;
  const Execution& execution_;
  std::size_t d_, size_;
  double v_y_;
  std::unique_ptr<prompts::TokenSource<float>> source_;  // used by the full kernel only, like the next two
  std::optional<prompts::TokenSums<float>> sums_;
  runtime::AlignedVector<float> chunk_;
  prompts::PaddedRows omega_, chi_, w_, query_, u_, whitened_w_, a_, b_, e_, f_, mean_, gradient_, slope_;
  std::size_t groups_, drawn_;  // groups of normals for a vector, and for a prompt
  runtime::AlignedVector<float> normals_;
};

void check(const RegressionTask& task, const RegressionParameters& parameters, const RegressionBatch& batch) {
  const auto d = task.token_root.rows();
  if (d < 1) fail(kRegressionGradient, "dimension", static_cast<double>(d), "at least 1");
  check_shape(kRegressionGradient, "token_root", d, task.token_root.cols(), d, d);
  check_shape(kRegressionGradient, "query_root", task.query_root.rows(), task.query_root.cols(), d, d);
  check_shape(kRegressionGradient, "prior_root", task.prior_root.rows(), task.prior_root.cols(), d, d);
  check_shape(kRegressionGradient, "U", parameters.U.rows(), parameters.U.cols(), d + 1, d + 1);
  check_size(kRegressionGradient, "v", parameters.v.size(), d + 1);
  check_finite(kRegressionGradient, "token_root", task.token_root);
  check_finite(kRegressionGradient, "query_root", task.query_root);
  check_finite(kRegressionGradient, "prior_root", task.prior_root);
  check_finite(kRegressionGradient, "U", parameters.U);
  check_finite(kRegressionGradient, "v", parameters.v);
  check_finite(kRegressionGradient, "noise", task.noise_deviation);
  check_finite(kRegressionGradient, "score_scale", task.score_scale);
  if (batch.prompts < 1)
    fail(kRegressionGradient, "prompts", static_cast<double>(batch.prompts), "at least 1");
  if (batch.first < 0) fail(kRegressionGradient, "first", static_cast<double>(batch.first), "at least 0");
  const bool no_tokens = batch.attention == AttentionKind::linear && batch.kernel == PromptKernel::collapsed;
  if (batch.length < 1 || batch.length >= (no_tokens ? prompts::kMostLinear : prompts::kMostTokens)) {
    fail(kRegressionGradient, "length", static_cast<double>(batch.length),
         no_tokens ? "between 1 and 2^53" : "between 1 and 2^40");
  }
}

}  // namespace

RegressionGradient regression_gradient(const RegressionTask& task, const RegressionParameters& parameters,
                                       const RegressionBatch& batch, const Execution& execution) {
  check(task, parameters, batch);
  const SharedMatrices shared(task, parameters);
  const std::int64_t blocks = (batch.prompts + kBlock - 1) / kBlock;
  const Eigen::Index d = task.token_root.rows();
  // The gradients, in rows as wide as padded ones, then the loss.
  prompts::PaddedRows whitened(prompts::size_of(d + 1), prompts::size_of(d + 1)),
      tokens(prompts::size_of(d + 1), prompts::size_of(d));
  const auto numbers = static_cast<Eigen::Index>(whitened.rows() * whitened.stride());
  const auto width = numbers + static_cast<Eigen::Index>(prompts::PaddedRows::kPadding);
  const std::int64_t held = std::max(kFewestHeld, kHeldNumbers / width);
  // One for each thread: allocating them anew for every block would take a tenth of the time of a short
  // prompt. oneTBB's own allocator would pass memory between threads unseen by ThreadSanitizer.
  tbb::enumerable_thread_specific<PromptBlock, std::allocator<PromptBlock>> prompts(
      [&] { return PromptBlock(task, parameters, batch, shared, execution); });
  prompts::PaddedRows sums(1, prompts::size_of(width));
  for (std::int64_t start = 0; start < blocks; start += held) {
    const std::int64_t count = std::min(held, blocks - start);
    const runtime::AlignedVector<double> rows = runtime::distribute_rows(
        count, prompts::size_of(width), execution, [&](std::ptrdiff_t block, std::span<double> row) {
          const std::int64_t first = (start + block) * kBlock;
          prompts.local()(batch.first + first, prompts::size_of(std::min(kBlock, batch.prompts - first)),
                          row);
        });
    prompts::add_rows(rows.data(), prompts::size_of(count), sums);
  }
  // Back to tokens: C is applied to the first d coordinates; the last one is already that of the token.
  std::copy_n(sums.row(0), numbers, whitened.row(0));
  prompts::multiply(whitened, prompts::size_of(d + 1), shared.token, tokens);
  RegressionGradient mean{sums.row(0)[numbers], Matrix::Zero(d + 1, d + 1), Vector(d + 1)};
  for (Eigen::Index j = 0; j <= d; ++j) {
    double* const column = j < d ? mean.U.col(j).data() : mean.v.data();
    std::copy_n(tokens.row(prompts::size_of(j)), d, column);
    column[d] = whitened.row(prompts::size_of(j))[d];
  }
  const double scale = 1 / static_cast<double>(batch.prompts);
  mean.loss *= scale;
  mean.U *= scale;
  mean.v *= scale;
  if (!std::isfinite(mean.loss) || !mean.U.allFinite() || !mean.v.allFinite()) {
    fail(kRegressionGradient, "the loss or its gradient overflows: scale down U, v or the roots of the task");
  }
  return mean;
}

namespace {

// A B, summed in the order of padded_rows.hpp. Rows there are columns here: it computes (A B)ᵀ = Bᵀ Aᵀ.
Matrix product(const Matrix& A, const Matrix& B) {
  prompts::PaddedRows x(prompts::size_of(B.cols()), prompts::size_of(B.rows())),
      y(prompts::size_of(B.cols()), prompts::size_of(A.rows()));
  for (Eigen::Index n = 0; n < B.cols(); ++n)
    std::copy_n(B.col(n).data(), B.rows(), x.row(prompts::size_of(n)));
  prompts::multiply(
      x, x.rows(),
      {prompts::size_of(A.cols()), prompts::size_of(A.rows()), A.data(), prompts::size_of(A.rows()), 1, 1},
      y);
  Matrix result(A.rows(), B.cols());
  for (Eigen::Index n = 0; n < B.cols(); ++n) {
    std::copy_n(y.row(prompts::size_of(n)), A.rows(), result.col(n).data());
  }
  return result;
}

}  // namespace

RegressionParameters FactoredParameters::merged() const {
  check_size("merged", "rows of Q", Q.rows(), K.rows());
  check_size("merged", "output", output.size(), V.rows());
  return {product(K.transpose(), Q), product(V.transpose(), output)};
}

FactoredParameters factored_gradient(const FactoredParameters& parameters,
                                     const RegressionGradient& gradient) {
  // U = KᵀQ, v = Vᵀo
  check_size("factored_gradient", "columns of Q", parameters.Q.cols(), gradient.U.cols());
  check_size("factored_gradient", "columns of K", parameters.K.cols(), gradient.U.rows());
  check_size("factored_gradient", "columns of V", parameters.V.cols(), gradient.v.size());
  check_size("factored_gradient", "output", parameters.output.size(), parameters.V.rows());
  return {product(parameters.Q, gradient.U.transpose()), product(parameters.K, gradient.U),
          parameters.output * gradient.v.transpose(), product(parameters.V, gradient.v)};
}

}  // namespace largo
