#include "largo/sampling/regression_batch.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "largo/numerics/check.hpp"
#include "largo/sampling/streams.hpp"
#include "numerics/distribute.hpp"
#include "sampling/collapsed_kernel.hpp"
#include "sampling/full_kernel.hpp"

namespace largo {
namespace {

constexpr const char* kName = "regression_gradient";
// Prompts whose gradients are summed one after the other; the sums of blocks are added in order.
constexpr std::int64_t kBlock = 16;
constexpr std::int64_t kLongest = std::int64_t{1} << 40;
// Draws of a prompt beside its tokens, far from theirs: task, query, and what is left after collapsing.
constexpr std::uint64_t kPromptDraws = std::uint64_t{1} << 63;

// Σ p x and Σ p (v - v̄) x of one prompt in whitened coordinates x = (χ, ε), with scores <a, x> and values <b,
// x>.
struct WhitenedSums {
  Vector mean, gradient;
  double value = 0;
};

class PromptWorker {
 public:
  PromptWorker(const RegressionTask& task, const RegressionParameters& parameters,
               const RegressionBatch& batch)
      : task_(task),
        parameters_(parameters),
        batch_(batch),
        d_(task.token_root.rows()),
        full_(static_cast<std::size_t>(d_ + 1)),
        draws_(4 * d_ + 2) {
    sums_.mean.resize(d_ + 1);
    sums_.gradient.resize(d_ + 1);
    sum_.U = Matrix::Zero(d_ + 1, d_ + 1);
    sum_.v = Vector::Zero(d_ + 1);
  }

  /// Adds one prompt to the sum.
  void add(std::int64_t prompt) {
    const auto id = static_cast<std::uint64_t>(prompt);
    Stream(batch_.seed, id).normals(kPromptDraws, {draws_.data(), static_cast<std::size_t>(draws_.size())});
    const Matrix& C = task_.token_root;
    w_.noalias() = task_.prior_root * draws_.head(d_);
    query_.noalias() = task_.query_root * draws_.segment(d_, d_);
    // u = c U (x_q, 0), and both u and v seen by a token (x, y): <u, z> = <u_x + w u_y, x> + u_y τ ε
    u_.noalias() = task_.score_scale * (parameters_.U.leftCols(d_) * query_);
    const Vector& v = parameters_.v;
    whiten(u_, a_);
    whiten(v, b_);
    if (batch_.kernel == PromptKernel::full) {
      draw_in_full(id);
    } else {
      draw_collapsed(id);
    }

    const double residual = sums_.value - w_.dot(query_);
    sum_.loss += residual * residual;
    // Back to tokens: (Cχ, <w, Cχ> + τ ε).
    auto unwhiten = [&](const Vector& x, Vector& z) {
      z.head(d_).noalias() = C * x.head(d_);
      z[d_] = w_.dot(z.head(d_)) + task_.noise * x[d_];
    };
    z_.resize(d_ + 1);
    unwhiten(sums_.mean, z_);
    sum_.v.noalias() += (2 * residual) * z_;
    unwhiten(sums_.gradient, z_);
    sum_.U.leftCols(d_).noalias() += (2 * residual * task_.score_scale) * z_ * query_.transpose();
  }

  /// Moves the sum of the prompts so far to a row of numbers.
  void take(std::span<double> row) {
    row[0] = std::exchange(sum_.loss, 0);
    std::copy_n(sum_.U.data(), sum_.U.size(), row.begin() + 1);
    std::copy_n(sum_.v.data(), sum_.v.size(), row.begin() + 1 + sum_.U.size());
    sum_.U.setZero();
    sum_.v.setZero();
  }

 private:
  void whiten(const Vector& u, Vector& a) {
    a.resize(d_ + 1);
    z_ = u.head(d_) + u[d_] * w_;
    a.head(d_).noalias() = task_.token_root.transpose() * z_;
    a[d_] = task_.noise * u[d_];
  }

  void draw_in_full(std::uint64_t id) {
    full_({batch_.seed, id, 0}, batch_.length, a_.data(), b_.data(), full_sums_);
    sums_.value = full_sums_.value;
    sums_.mean = Eigen::Map<const Vector>(full_sums_.mean.data(), d_ + 1);
    sums_.gradient = Eigen::Map<const Vector>(full_sums_.gradient.data(), d_ + 1);
  }

  // Along e (the scores) and f (the rest of the values) from the kernel, across both Gaussian.
  void draw_collapsed(std::uint64_t id) {
    const double s = a_.norm();
    e_ = s > 0 ? Vector(a_ / s) : Vector(Vector::Unit(d_ + 1, 0));
    const double alpha = b_.dot(e_);
    f_ = b_ - alpha * e_;
    f_ -= f_.dot(e_) * e_;
    double beta = f_.norm();
    if (beta > 1e-12 * b_.norm()) {
      f_ /= beta;
    } else {
      beta = 0;
      f_.setZero();  // the values do not tell f from the rest
    }
    const CollapsedSums c = collapsed_sums({batch_.seed, id, 0}, batch_.length, s, alpha, beta);
    const double share = c.p2v / c.p2;
    const double rest = std::sqrt(std::max(0.0, c.p2vv - c.p2v * share));
    const auto across = [&](Eigen::Index first, Vector& n) {
      n = draws_.segment(first, d_ + 1);
      n -= n.dot(e_) * e_;
      n -= n.dot(f_) * f_;
    };
    across(2 * d_, n1_);
    across(3 * d_ + 1, n2_);
    const double root = std::sqrt(c.p2);
    sums_.value = alpha * c.g + beta * c.h;
    sums_.mean = c.g * e_ + c.h * f_ + root * n1_;
    sums_.gradient = c.vg * e_ + c.vh * f_ + share * root * n1_ + rest * n2_;
  }

  const RegressionTask& task_;
  const RegressionParameters& parameters_;
  const RegressionBatch& batch_;
  Eigen::Index d_;
  FullKernel full_;
  FullSums full_sums_;
  Vector draws_, w_, query_, u_, a_, b_, e_, f_, n1_, n2_, z_;
  WhitenedSums sums_;
  RegressionGradient sum_;
};

void check(const RegressionTask& task, const RegressionParameters& parameters, const RegressionBatch& batch) {
  const auto d = task.token_root.rows();
  if (d < 1) fail(kName, "dimension", static_cast<double>(d), "at least 1");
  check_shape(kName, "token_root", d, task.token_root.cols(), d, d);
  check_shape(kName, "query_root", task.query_root.rows(), task.query_root.cols(), d, d);
  check_shape(kName, "prior_root", task.prior_root.rows(), task.prior_root.cols(), d, d);
  check_shape(kName, "U", parameters.U.rows(), parameters.U.cols(), d + 1, d + 1);
  check_size(kName, "v", parameters.v.size(), d + 1);
  for (const Matrix* matrix : {&task.token_root, &task.query_root, &task.prior_root, &parameters.U}) {
    check_finite(kName, "a matrix", *matrix);
  }
  check_finite(kName, "v", parameters.v);
  check_finite(kName, "noise", task.noise);
  check_finite(kName, "score_scale", task.score_scale);
  if (batch.prompts < 1) fail(kName, "prompts", static_cast<double>(batch.prompts), "at least 1");
  if (batch.first < 0) fail(kName, "first", static_cast<double>(batch.first), "at least 0");
  if (batch.length < 1 || batch.length >= kLongest) {
    fail(kName, "length", static_cast<double>(batch.length), "between 1 and 2^40");
  }
}

}  // namespace

RegressionGradient regression_gradient(const RegressionTask& task, const RegressionParameters& parameters,
                                       const RegressionBatch& batch, const Execution& execution) {
  check(task, parameters, batch);
  const std::int64_t blocks = (batch.prompts + kBlock - 1) / kBlock;
  const auto d = task.token_root.rows();
  const Eigen::Index width = 1 + (d + 1) * (d + 1) + (d + 1);
  const std::vector<double> rows = distribute_rows(
      blocks, static_cast<std::size_t>(width), execution, [&](std::ptrdiff_t block, std::span<double> row) {
        PromptWorker worker(task, parameters, batch);
        const std::int64_t end = std::min(batch.prompts, (block + 1) * kBlock);
        for (std::int64_t i = block * kBlock; i < end; ++i) worker.add(batch.first + i);
        worker.take(row);
      });
  Vector sum = Vector::Zero(width);
  for (std::int64_t block = 0; block < blocks; ++block) {
    sum += Eigen::Map<const Vector>(rows.data() + block * width, width);
  }
  RegressionGradient mean{sum[0], Eigen::Map<const Matrix>(sum.data() + 1, d + 1, d + 1), sum.tail(d + 1)};
  const double scale = 1 / static_cast<double>(batch.prompts);
  mean.loss *= scale;
  mean.U *= scale;
  mean.v *= scale;
  check_finite(kName, "loss", mean.loss);
  return mean;
}

FactoredParameters factored_gradient(const FactoredParameters& parameters,
                                     const RegressionGradient& gradient) {
  // U = KᵀQ, v = Vᵀo
  return {parameters.Q * gradient.U.transpose(), parameters.K * gradient.U,
          parameters.output * gradient.v.transpose(), parameters.V * gradient.v};
}

}  // namespace largo
